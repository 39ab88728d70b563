"""A claim in words and formulas, for people: what `fedbounds claims KEY` shows."""

from collections.abc import Mapping
from typing import Any

import sympy as sp

from fedbounds.theory.claim import FEDAVG, Claim, Kind, statement
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import QUANTITIES

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


def pretty(expression: sp.Expr) -> str:
    """An expression as two-dimensional Unicode text, in the paper's notation."""
    expression = sp.sympify(expression)
    # Plain symbols: sympy's printers choose by a class's name, and theirs of a Quantity is a physical one.
    named = expression.xreplace({s: TERMINAL.get(s.name, sp.Symbol(s.name)) for s in expression.free_symbols})
    # sympy typesets functions that it does not know, but not its own Max and Min.
    for kind, name in ((sp.Max, "max"), (sp.Min, "min")):
        named = named.replace(kind, sp.Function(name))
    return str(sp.pretty(named, use_unicode=True, wrap_line=False))


def explain(claim: Claim) -> dict[str, Any]:
    repair = claim.repair
    return {
        "key": claim.key,
        "title": claim.title,
        "source": claim.source,
        "algorithm": claim.algorithm,
        "kind": str(claim.kind),
        "scope": claim.scope,
        "latex": statement(claim),
        "left": pretty(claim.lhs),
        "terms": {name: pretty(term) for name, term in claim.terms.items()},
        "sides": sides(claim),
        "where": {str(symbol): pretty(value) for symbol, value in claim.definitions.items()},
        "step": None if claim.eta is None else pretty(claim.eta),
        "assumptions": {item.key: item.statement for item in claim.assumptions},
        "readings": {name: READINGS[name].summary for name in claim.readings},
        "repair": None
        if repair is None
        else {
            "why": repair.why,
            "assumptions": {item.key: item.statement for item in repair.assumptions},
            "substitutions": {str(symbol): str(value) for symbol, value in repair.substitutions.items()},
        },
        "symbols": {name: QUANTITIES[name].meaning for name in sorted(_used(claim)) if name in QUANTITIES}
        | {symbol.name: symbol.meaning for symbol in claim.computed},
        "remark": claim.remark,
    }


def sides(claim: Claim) -> dict[str, Any]:
    """The left side, and per reading the terms of the right side with definitions put in, as plain formulas."""
    right = {name: {key: str(term) for key, term in claim.sides(READINGS[name]).terms.items()} for name in READINGS}
    return {"left": str(claim.lhs), "right": right}


def _used(claim: Claim) -> set[str]:
    parts = (claim.lhs, *claim.terms.values(), *claim.definitions.values(), *claim.definitions)
    return {symbol.name for part in parts for symbol in sp.sympify(part).free_symbols}


RELATIONS = {Kind.IDENTITY: "=", Kind.RATE: "= O(1/T)"}


def to_text(told: Mapping[str, Any]) -> str:
    lines = [f"{told['key']}: {told['title']}", f"Source: {told['source']}"]
    lines += [f"Algorithm: {told['algorithm']}"] if told["algorithm"] != FEDAVG else []
    lines += ["", "Statement"]
    relation = RELATIONS.get(Kind(told["kind"]), "<=")
    lines += _indented(told["left"])
    if told["kind"] == Kind.RATE:
        lines[-1] += f" {relation}"
    else:
        lines.append(f"  {relation}  the sum of")
        for name, term in told["terms"].items():
            lines += ["", *_beside(f"    {name}: ", term)]
        if not told["terms"]:
            lines.append("    0")
    lines.append("")
    for name, value in told["where"].items():
        lines += _beside(f"  where {pretty(sp.Symbol(name))} = ", value)
    if told["step"]:
        lines += _beside("  with the step size ηₜ = ", told["step"])
    lines += ["", "LaTeX", f"  {told['latex']}", "", "Assumptions"]
    lines += [f"  {key}: {text}" for key, text in told["assumptions"].items()] or ["  none"]
    lines += ["", "Readings", *(f"  {name}: {text}" for name, text in told["readings"].items())]
    if told["repair"]:
        repair = told["repair"]
        lines += ["", f"Repair: {repair['why']}"]
        lines += [f"  also assumes {key}: {text}" for key, text in repair["assumptions"].items()]
        lines += [f"  {name} becomes {value}" for name, value in repair["substitutions"].items()]
    lines += ["", "Symbols", *(f"  {name}: {meaning}" for name, meaning in told["symbols"].items())]
    if told["remark"]:
        lines += ["", f"Remark: {told['remark']}"]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _indented(block: str) -> list[str]:
    return [f"  {line}" for line in block.splitlines()]


def _beside(label: str, block: str) -> list[str]:
    """A label in front of the middle line of a block of text."""
    rows = block.splitlines()
    middle = len(rows) // 2
    return [(label if k == middle else " " * len(label)) + row for k, row in enumerate(rows)]
