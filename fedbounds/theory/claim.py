"""A claim: a statement in sympy terms, the assumptions it is made under, and how it is repaired.

A claim carries no evidence and no opinion on its own truth; evidence carries its claim.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import sympy as sp

from fedbounds.theory import symbols
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.reading import Reading

# Step sizes computed in different orders differ by a few units in the last place.
SCHEDULE_TOLERANCE = 1e-9


class Kind(enum.StrEnum):
    """What sort of statement a claim is: lhs <= rhs, lhs = rhs, or lhs = O(1/T)."""

    INEQUALITY = "inequality"
    IDENTITY = "identity"
    RATE = "rate"


Scope = Literal["point", "step", "horizon", "constant"]


@dataclass(frozen=True)
class Repair:
    """What the repaired reading adds: further assumptions, and substitutions made at once in the terms."""

    why: str
    assumptions: tuple[Assumption, ...] = ()
    substitutions: Mapping[sp.Symbol, sp.Expr] = field(default_factory=dict)


@dataclass(frozen=True)
class Claim:
    """One lemma, theorem, corollary or remark.

    ``scope`` says what it ranges over: every visited ``point`` and client, every ``step`` t -> t+1,
    every ``horizon`` T, or the run's ``constant`` quantities alone. The right-hand side is the sum of
    the named ``terms``; ``definitions`` are symbols the statement itself defines (gamma = 4 L / mu) and
    ``eta`` is the step size it requires, in t. ``readings`` are those in which it says different things.
    """

    key: str
    title: str
    source: str
    scope: Scope
    lhs: sp.Expr
    terms: Mapping[str, sp.Expr]
    kind: Kind = Kind.INEQUALITY
    assumptions: tuple[Assumption, ...] = ()
    definitions: Mapping[sp.Symbol, sp.Expr] = field(default_factory=dict)
    eta: sp.Expr | None = None
    readings: tuple[str, ...] = ("literal", "sync", "repaired")
    repair: Repair | None = None
    remark: str = ""

    @property
    def rhs(self) -> sp.Expr:
        """The right-hand side, as stated."""
        return sp.Add(*self.terms.values())

    def terms_in(self, reading: Reading) -> dict[str, sp.Expr]:
        """The terms as evaluated in a reading: the repair's substitutions, then the definitions."""
        substitutions = self.repair.substitutions if reading.repaired and self.repair else {}
        return {
            name: sp.sympify(term).subs(dict(substitutions), simultaneous=True).subs(dict(self.definitions))
            for name, term in self.terms.items()
        }

    def assumptions_in(self, reading: Reading) -> tuple[Assumption, ...]:
        """The assumptions that must hold on a run for the claim to apply in a reading."""
        extra = self.repair.assumptions if reading.repaired and self.repair else ()
        schedule = (step_size(self.eta, self.definitions),) if self.eta is not None else ()
        return (*self.assumptions, *schedule, *extra)

    @property
    def symbols(self) -> frozenset[str]:
        """Names of the symbols that either side uses, the definitions not put in."""
        sides = (self.lhs, *self.terms.values())
        return frozenset(s.name for side in sides for s in sp.sympify(side).free_symbols)


def statement(claim: Claim) -> str:
    """LaTeX of the claim, from the same sympy terms that are evaluated."""
    if claim.kind is Kind.RATE:
        return f"{symbols.latex(claim.lhs)} = O(1/T)"
    relation = "=" if claim.kind is Kind.IDENTITY else r"\leq"
    right = " + ".join(symbols.latex(sp.sympify(term)) for term in claim.terms.values()) or "0"
    right = right.replace("+ -", "- ")
    where = [f"{symbols.latex(name)} = {symbols.latex(value)}" for name, value in claim.definitions.items()]
    if claim.eta is not None:
        where.insert(0, f"{symbols.latex(symbols.eta)} = {symbols.latex(claim.eta)}")
    tail = r",\quad " + ",\\ ".join(where) if where else ""
    return f"{symbols.latex(sp.sympify(claim.lhs))} {relation} {right}{tail}"


def step_size(eta: sp.Expr, definitions: Mapping[sp.Symbol, sp.Expr]) -> Assumption:
    """The assumption that the run used the step size a claim is stated for."""
    where = ", ".join(f"{name} = {value}" for name, value in definitions.items())
    return Assumption(
        "step-size",
        f"eta_t = {eta}" + (f" with {where}" if where else ""),
        sp.Eq(symbols.eta, sp.sympify(eta).subs(dict(definitions)), evaluate=False),
        found="the run used eta_{t:g} = {eta:.4g}, the claim asks {right:.4g}",
        tolerance=SCHEDULE_TOLERANCE,
    )
