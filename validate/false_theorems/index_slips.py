"""A claim with an index off by one, or with rho_bar and rho_tilde exchanged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

import sympy as sp

from fedbounds.study.bounds import main_bound
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import Delta, Delta_next, T, eta, rho_bar, rho_tilde, t


def shifted(claim: Claim) -> Iterator[tuple[str, Claim]]:
    """An index off by one: eta_t for eta_{t+1}, Delta_t for Delta_{t+1} on either side, T for T + 1.

    The shift of eta is a formula only for the theory's own step size, which that claim then requires.
    """
    used = set().union(*(sp.sympify(term).free_symbols for term in claim.terms.values()))
    if eta in used:
        main = main_bound()
        other = _substituted(claim, "eta", {eta: next_step(main.steps)})
        definitions = {**claim.definitions, **main.definitions}
        yield "eta: eta_t read as eta_{t+1}", replace(other, eta=main.eta, definitions=definitions)
    if Delta in used:
        yield "Delta_t: Delta_t read as Delta_{t+1}", _substituted(claim, "Delta_t", {Delta: Delta_next})
    if claim.lhs == Delta_next:
        earlier = replace(claim, key=f"{claim.key} (left side, a step earlier)", lhs=Delta)
        yield "left side: Delta_{t+1} read as Delta_t", earlier
    if T in used:
        yield "T: T read as T + 1", _substituted(claim, "T", {T: T + 1})


@cache
def next_step(steps: sp.Expr) -> sp.Expr:
    """eta_{t+1} in terms of eta_t, for a step size that determines t."""
    (when,) = sp.solve(sp.Eq(eta, steps), t)
    return sp.factor(steps.subs(t, when + 1))


def swapped(claim: Claim) -> Iterator[tuple[str, Claim]]:
    """rho_bar and rho_tilde exchanged: in each term that has one of them, and in all terms at once."""
    exchange = {rho_bar: rho_tilde, rho_tilde: rho_bar}
    having = [name for name, term in claim.terms.items() if sp.sympify(term).free_symbols & set(exchange)]
    change = "rho_bar and rho_tilde swapped"
    for name in having:
        yield f"{name}: {change}", _substituted(claim, f"{name}, {change}", exchange, (name,))
    if len(having) > 1:
        yield f"all terms: {change}", _substituted(claim, change, exchange)


def _substituted(
    claim: Claim, change: str, exchange: dict[sp.Symbol, sp.Expr], names: Sequence[str] | None = None
) -> Claim:
    terms = {
        name: sp.sympify(term).subs(exchange, simultaneous=True) if names is None or name in names else term
        for name, term in claim.terms.items()
    }
    return replace(claim, key=f"{claim.key} ({change})", terms=terms)
