"""The shipped quantities: the one source of notation, meaning, units and definition for formulas, tables and plots.

Every right-hand side in the package is a sympy expression in these symbols. One more is one entry here; a user's own
is made in the same way (`fedbounds.theory.quantity`) and needs no entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import sympy as sp

from fedbounds.theory import path_formulas as on
from fedbounds.theory.computed_quantities import Delta_round as Delta_round
from fedbounds.theory.computed_quantities import Delta_round_next as Delta_round_next
from fedbounds.theory.computed_quantities import average_gap as average_gap
from fedbounds.theory.computed_quantities import dissimilarity as dissimilarity
from fedbounds.theory.computed_quantities import eta_round as eta_round
from fedbounds.theory.computed_quantities import eta_sum as eta_sum
from fedbounds.theory.computed_quantities import gap_round as gap_round
from fedbounds.theory.computed_quantities import gap_sum as gap_sum
from fedbounds.theory.computed_quantities import gone_sq as gone_sq
from fedbounds.theory.computed_quantities import parting as parting
from fedbounds.theory.computed_quantities import tail_gap as tail_gap
from fedbounds.theory.computed_quantities import weighted_gap as weighted_gap
from fedbounds.theory.computed_quantities import zeta_sq as zeta_sq
from fedbounds.theory.computed_quantities import zeta_star_sq as zeta_star_sq
from fedbounds.theory.quantity import (
    CURVATURE,
    LENGTH_SQ,
    NUMBER,
    SLOPE_SQ,
    STEP,
    VALUE,
    Formula,
    Quantity,
    Statistic,
)
from fedbounds.theory.quantity import (
    Scope as Scope,
)

# Fields of the protocol rather than of the random path.
PROTOCOL_FIELDS = ("time", "eta")


def _given(
    name: str,
    latex: str,
    meaning: str,
    units: tuple[int, int] = NUMBER,
    on_path: Formula | None = None,
    statistic: Statistic = "constant",
    **signs: Any,
) -> Quantity:
    """A constant that every run gives; one without ``on_path`` is defined by a claim, or over all paths together."""
    signs = signs or {"nonnegative": True}
    return Quantity(name, on_path, statistic, latex, meaning, units, recorded={}, **signs)


def _varying(
    name: str,
    latex: str,
    meaning: str,
    units: tuple[int, int],
    on_path: Formula,
    recorded: Mapping[Scope, str],
    **signs: Any,
) -> Quantity:
    """What engines record along a run."""
    statistic: Statistic = "scheduled" if set(recorded.values()) <= set(PROTOCOL_FIELDS) else "measured"
    signs = signs or {"nonnegative": True}
    return Quantity(name, on_path, statistic, latex, meaning, units, recorded=recorded, **signs)


L = _given("L", "L", "smoothness constant of every F_i (Assumption 1)", CURVATURE, lambda f: f.L, positive=True)
mu = _given(
    "mu", r"\mu", "strong-convexity constant of every F_i (Assumption 2)", CURVATURE, lambda f: f.mu, positive=True
)
Gamma = _given("Gamma", r"\Gamma", "heterogeneity F* - sum_i p_i F_i*", VALUE, on.heterogeneity)
gamma = _given("gamma", r"\gamma", "offset of the step size", positive=True)
tau = _given("tau", r"\tau", "local steps a round", NUMBER, lambda path: path.tau, "largest", positive=True)
N = _given("N", "N", "number of clients", NUMBER, lambda f: len(f.p), positive=True)
G_sq = _given(
    "G_sq",
    "G^2",
    "bound on the second moment of stochastic gradients (Assumption 4)",
    SLOPE_SQ,
    lambda path: on.second_moments(path).ravel(),
    "largest",
)
sigma_sq = _given(
    "sigma_sq",
    r"\sigma^2",
    "bound on the variance of stochastic gradients (Assumption 3)",
    SLOPE_SQ,
    lambda path: on.variances(path).ravel(),
    "largest",
)
sigma_0_sq = _given("sigma_0_sq", r"\sigma_0^2", "variance of stochastic gradients where grad F_i = 0", SLOPE_SQ)
growth = _given("growth", "c", "growth of the variance with ||grad F_i||^2")
sigma_p_sq = _given(
    "sigma_p_sq",
    r"\sum_i p_i^2\sigma_i^2",
    "variance of the p-weighted stochastic gradient",
    SLOPE_SQ,
    on.mean_variance,
    "largest",
)
sigma_opt_sq = _given(
    "sigma_opt_sq",
    r"\sum_i p_i^2\sigma_{i,\star}^2",
    "variance of the p-weighted stochastic gradient at w*",
    SLOPE_SQ,
    on.mean_variance_at_optimum,
    "largest",
)
sigma_dif_sq = _given(
    "sigma_dif_sq",
    r"\sigma_{\mathrm{dif}}^2",
    "sum_i p_i E||g_i(w*)||^2, second moment of the gradients at w*",
    SLOPE_SQ,
    on.second_moment_at_optimum,
    "largest",
)
L_sample = _given(
    "L_sample", r"L_{\xi}", "smoothness constant of the loss of every single sample", CURVATURE, positive=True
)
rho_bar = _given("rho_bar", r"\overline{\rho}", "smallest weighting skew rho(t, w_t)", NUMBER, on.skews, "smallest")
rho_tilde = _given(
    "rho_tilde", r"\tilde{\rho}", "largest weighting skew rho(t, w*)", NUMBER, on.skews_at_optimum, "largest"
)
rho_pairs = _given("rho_pairs", r"\overline{\rho}_{\times}", "smallest skew over pairs of visited points")
pi_min = _given("pi_min", r"\pi", "smallest ratio alpha_t^i / p_i", NUMBER, on.weight_ratios, "smallest")
pi_max = _given("pi_max", r"\Pi", "largest ratio alpha_t^i / p_i", NUMBER, on.weight_ratios, "largest")
p_min = _given("p_min", r"\min_i p_i", "smallest client weight", NUMBER, lambda f: f.p.min(), positive=True)
m = _given("m", "m", "number of clients selected a round", positive=True)
Delta_0 = _given(
    "Delta_0",
    r"\Vert w_0-w^\star\Vert^2",
    "squared distance of the start to w*",
    LENGTH_SQ,
    lambda path: on.distance_sq(path)[:1],
    "largest",
)
C = _given(
    "C", "C", "share of the clients that take part in a round", NUMBER, on.participation, "smallest", positive=True
)
eta_ratio = _given(
    "eta_ratio",
    r"\left(\max_{s\leq t}\eta_s/\eta_t\right)",
    "largest ratio of two step sizes of one round",
    NUMBER,
    on.step_ratios,
    "largest",
    positive=True,
)
eta_0 = _given(
    "eta_0", r"\eta_0", "step size of the first step", STEP, lambda path: path.eta[:1], "largest", positive=True
)
# What some claims define.
turn = _given("turn", "h", "what a step of a local model turns by, over what it contracts by")
reach = _given("reach", "y", "local steps whose deviations gain most in a round, less one")
push = _given("push", "b", "largest way of the mean in a round from w*, over the root of sigma_dif^2", STEP)
skew = _given("skew", "r", "smallest weighting skew, as far as a contraction may use it")
kept = _given("kept", "q", "what a step at a constant size keeps of the squared distance")

t = _varying("t", "t", "local step", NUMBER, lambda path: path.t, {"step": "time"})
T = _varying("T", "T", "number of local steps taken", NUMBER, lambda path: path.t, {"horizon": "time"})
eta = _varying("eta", r"\eta_t", "step size", STEP, lambda path: path.eta, {"step": "eta"}, positive=True)
Delta = _varying(
    "Delta",
    r"\mathbb{E}\Vert w_t-w^\star\Vert^2",
    "squared distance to w*",
    LENGTH_SQ,
    on.distance_sq,
    {"step": "distance_sq"},
)
Delta_next = _varying(
    "Delta_next",
    r"\mathbb{E}\Vert w_{t+1}-w^\star\Vert^2",
    "squared distance to w* one step later",
    LENGTH_SQ,
    on.next_distance_sq,
    {"step": "next_mean"},
)
drift = _varying(
    "drift",
    r"\mathbb{E}\sum_i\alpha_t^i\Vert w_t-w_t^i\Vert^2",
    "discrepancy of the local models from the virtual iterate",
    LENGTH_SQ,
    on.drift,
    {"step": "drift"},
)
gap = _varying(
    "gap", r"\mathbb{E}[F(w_T)]-F^\star", "suboptimality of the global model", VALUE, on.gap, {"horizon": "gap"}
)
Delta_T = _varying(
    "Delta_T",
    r"\mathbb{E}\Vert w_T-w^\star\Vert^2",
    "squared distance of w_T to w*",
    LENGTH_SQ,
    on.distance_sq,
    {"horizon": "distance_sq"},
)
gap_t = _varying(
    "gap_t", r"\left(\mathbb{E}[F(w_t)]-F^\star\right)", "suboptimality at a step", VALUE, on.gap, {"step": "gap"}
)
grad_sq = _varying(
    "grad_sq",
    r"\Vert\nabla F_i(w)\Vert^2",
    "squared gradient norm of a client",
    SLOPE_SQ,
    on.client_gradient_sq,
    {"point": "grad_sq"},
)
excess = _varying(
    "excess", r"\left(F_i(w)-F_i^\star\right)", "gap of a client", VALUE, on.client_gap, {"point": "local_excess"}
)

# Name -> every shipped quantity, and those among them that engines record or every run gives.
QUANTITIES: Mapping[str, Quantity] = {
    q.name: q
    for q in sorted((v for v in list(globals().values()) if isinstance(v, Quantity)), key=lambda q: q.computed)
}
RECORDED: Mapping[str, Quantity] = {name: q for name, q in QUANTITIES.items() if q.recorded is not None}


@cache
def in_scope(scope: Scope) -> Mapping[str, str]:
    """The symbols that vary over a scope -> the recorded field that fills each.

    >>> in_scope("step")["Delta"], "L" in in_scope("step")
    ('distance_sq', False)
    """
    fields = {name: (q.recorded or {}).get(scope) for name, q in RECORDED.items()}
    return {name: field for name, field in fields.items() if field is not None}


@cache
def measured_fields() -> Mapping[str, str]:
    """The recorded symbols that stand for an expectation -> the field behind each, whatever the scope.

    >>> measured_fields()["Delta"]
    'distance_sq'
    """
    chosen = [q for q in RECORDED.values() if q.statistic == "measured"]
    return {q.name: field for q in chosen for field in (q.recorded or {}).values()}


def latex(expression: sp.Expr) -> str:
    """LaTeX of an expression in the paper's notation.

    >>> latex(eta**2 * sigma_sq)
    '\\\\eta_t^{2} \\\\sigma^2'
    """
    notation = ((s, s if isinstance(s, Quantity) else QUANTITIES.get(s.name)) for s in expression.free_symbols)
    names = {symbol: quantity.latex for symbol, quantity in notation if quantity is not None}
    return str(sp.latex(expression, symbol_names=names))
