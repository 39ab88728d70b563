"""Slips that authors make: a logarithm or a 1/N lost, an exponent off by one, a mean for a maximum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import sympy as sp

from fedbounds.referee.mutants import FACTORS, Mutant
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import L, N, T, eta, mu, tau

# What an exponent may be off by one of; eta L and kappa are pure numbers, so that no dimension gives the slip away.
BASES = {"T": T, "tau": tau, "N": N, "kappa": L / mu, "eta": eta * L}
# The kinds of changes, as the report counts them.
CONSTANT, INDEX, ASSUMPTION, WEIGHTS = "constant or sign", "index", "assumption dropped", "rho_bar for rho_tilde"
LOGARITHM, CLIENTS, MEAN = "logarithm dropped", "1/N dropped or added", "mean for max"


def kind(change: str) -> str:
    """The kind of a mutant's change."""
    if change in FACTORS or change == "any":
        return CONSTANT
    if change == "condition dropped":
        return ASSUMPTION
    if change.startswith("rho_bar"):
        return WEIGHTS
    return INDEX if " read as " in change else change.partition(" (")[0]


def slips(claim: Claim) -> Iterator[Mutant]:
    """A claim with one such slip in one of its terms; its assumptions and its left side stay."""
    for name, stated in claim.terms.items():
        term = sp.sympify(stated)
        for change, wrong in _changes(term):
            key = f"{claim.key} ({name}, {change})"
            yield Mutant(claim, name, change, replace(claim, key=key, terms={**claim.terms, name: wrong}))


def _changes(term: sp.Expr) -> Iterator[tuple[str, sp.Expr]]:
    """(kind and detail, the term with that slip)."""
    if term.has(sp.log):
        yield LOGARITHM, term.replace(sp.log, lambda *argument: sp.Integer(1))
    if term.has(sp.Max):
        yield MEAN, term.replace(sp.Max, lambda *of: sp.Add(*of) / len(of))
    for name, base in BASES.items():
        if base.free_symbols <= term.free_symbols and name != "N":
            yield f"exponent of {name} (times {base})", term * base
            yield f"exponent of {name} (divided by {base})", term / base
    yield f"{CLIENTS} (divided by N)", term / N
    if N in term.free_symbols:
        yield f"{CLIENTS} (times N)", term * N
