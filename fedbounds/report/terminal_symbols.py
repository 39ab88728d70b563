"""Symbols and formulas in a terminal, by the paper's letters."""

from __future__ import annotations

import sympy as sp

# How a symbol reads in a terminal; sympy turns the names of Greek letters into the letters.
TERMINAL = {
    "G_sq": sp.Symbol("G") ** 2,
    "sigma_sq": sp.Symbol("sigma") ** 2,
    "sigma_p_sq": sp.Symbol("Σpᵢ²σᵢ²"),
    "rho_bar": sp.Symbol("rhobar"),
    "rho_tilde": sp.Symbol("rhotilde"),
    "rho_pairs": sp.Symbol("rhobar_×"),
    "pi_min": sp.Symbol("pi"),
    "pi_max": sp.Symbol("Pi"),
    "p_min": sp.Symbol("p_min"),
    "eta": sp.Symbol("eta_t"),
    "eta_ratio": sp.Symbol("(max ηₛ/ηₜ)"),
    "eta_growth": sp.Symbol("(max ηₜ/ηₛ)"),
    "Delta_0": sp.Symbol("‖w₀-w*‖²"),
    "Delta": sp.Symbol("E‖wₜ-w*‖²"),
    "Delta_next": sp.Symbol("E‖wₜ₊₁-w*‖²"),
    "drift": sp.Symbol("E∑αᵢ‖wₜ-wₜⁱ‖²"),
    "gap": sp.Symbol("(E[F(w_T)]-F*)"),
    "Delta_T": sp.Symbol("E‖w_T-w*‖²"),
    "gap_t": sp.Symbol("(E[F(wₜ)]-F*)"),
    "sigma_opt_sq": sp.Symbol("Σpᵢ²σᵢ²(w*)"),
    "sigma_dif_sq": sp.Symbol("σ²_dif"),
    "L_sample": sp.Symbol("L_ξ"),
    "grad_sq": sp.Symbol("‖∇Fᵢ(w)‖²"),
    "skew": sp.Symbol("r"),
    "kept": sp.Symbol("q"),
    "excess": sp.Symbol("(Fᵢ(w)-Fᵢ*)"),
}
# The same for symbols whose letters sympy need not turn.
PLAIN = {
    "eta_0": "η₀",
    "eta_round": "η_t₀",
    "eta_sum": "Σηₜ",
    "sigma_0_sq": "σ₀²",
    "growth": "c",
    "turn": "h",
    "reach": "y",
    "push": "b",
    "zeta_sq": "ζ²",
    "zeta_star_sq": "ζ*²",
    "p_sq": "Σpᵢ²",
    "optimum_spread": "Σpᵢ‖wᵢ*-w*‖²",
    "spread_of_optima": "Σpᵢ‖wᵢ*-Σpⱼwⱼ*‖²",
    "optimum_to_mean": "‖w*-Σpᵢwᵢ*‖²",
    "slope_sq": "EΣpᵢ‖∇Fᵢ(wₜ)‖²",
    "mean_slope_sq": "E‖∇F(wₜ)‖²",
    "slope_variance": "EΣpᵢ‖∇Fᵢ(wₜ)-∇F(wₜ)‖²",
    "mean_excess": "E[F(wₜ)-ΣpᵢFᵢ*]",
    "moved_sq": "E‖wₜ₊₁-wₜ‖²",
    "dispersion": "EΣpᵢ‖wₜⁱ-Σpⱼwₜʲ‖²",
    "client_error": "EΣpᵢ‖wₜⁱ-w*‖²",
    "models_slope_sq": "EΣpᵢ‖∇Fᵢ(wₜⁱ)‖²",
    "average_models_gap": "(E[F(Σpᵢwₜⁱ)]-F*)",
    "average_models_slope_sq": "E‖∇F(Σpᵢwₜⁱ)‖²",
    "chi_sq": "EΣ(αᵢ-pᵢ)²/pᵢ",
    "displaced_sq": "E‖w_α-w*‖²",
    "displaced_gap": "(E[F(w_α)]-F*)",
    "Delta_round": "E‖w_rτ-w*‖²",
    "Delta_round_next": "E‖w_(r+1)τ-w*‖²",
    "average_gap": "(E[F(mean of w₀...)]-F*)",
    "tail_gap": "(E[F(mean of w_T/2...)]-F*)",
    "gap_0": "(F(w₀)-F*)",
    "gap_round": "(E[F(w_rτ)]-F*)",
    "gap_round_next": "(E[F(w_(r+1)τ)]-F*)",
    "gap_sum": "Σ(E[F(wₜ)]-F*)",
    "gone_sq": "(1-Π(1-ηₛμ))²",
    "parting": "(1-max(2max αᵢ-1,0)²)",
}
TERMINAL |= {name: sp.Symbol(letter) for name, letter in PLAIN.items()}


def pretty(expression: sp.Expr) -> str:
    """An expression as two-dimensional Unicode text, in the paper's notation."""
    expression = sp.sympify(expression)
    # Plain symbols: sympy's printers choose by a class's name, and theirs of a Quantity is a physical one.
    named = expression.xreplace({s: TERMINAL.get(s.name, sp.Symbol(s.name)) for s in expression.free_symbols})
    # sympy typesets functions that it does not know, but not its own Max and Min.
    for kind, name in ((sp.Max, "max"), (sp.Min, "min")):
        named = named.replace(kind, sp.Function(name))
    return str(sp.pretty(named, use_unicode=True, wrap_line=False))


def one_line(name: str) -> str:
    """A symbol on one line, by the paper's letter where there is one."""
    letter = TERMINAL.get(name, sp.Symbol(name))
    if isinstance(letter, sp.Pow):
        return f"{pretty(letter.base)}²"
    return name if name not in TERMINAL and "_" in name else pretty(letter)
