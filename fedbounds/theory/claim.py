"""A claim: a statement in sympy terms, the assumptions it is made under, and how it is repaired.

A claim carries no evidence and no opinion on its own truth; evidence carries its claim.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import sympy as sp

from fedbounds.evidence.constants import Run, Value, evaluate, with_growth, with_pairs
from fedbounds.theory import symbols
from fedbounds.theory.quantity import Constant
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
class Assumption:
    """A condition that executes: ``check(run)`` says whether it holds on a run, and on which grounds."""

    key: str
    statement: str
    check: Callable[[Run], tuple[bool, str]]


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

    def values_on(self, run: Run) -> dict[str, Value]:
        """Constant symbols on a run, those that cost something only where the claim needs them."""
        used = set().union(*(sp.sympify(term).free_symbols for term in (self.lhs, *self.terms.values())))
        costly: dict[str, Constant] = {}
        if symbols.rho_pairs in used:
            costly |= with_pairs(run)
        if symbols.growth in used:
            costly |= with_growth(run)
        return {name: constant.value for name, constant in costly.items()} | run.values()


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
    formula = sp.sympify(eta).subs(dict(definitions))

    def check(run: Run) -> tuple[bool, str]:
        times = np.arange(len(run.trajectory.eta), dtype=float)
        wanted = np.broadcast_to(evaluate(formula, run.values() | {"t": times}), times.shape)
        wrong = np.abs(run.trajectory.eta - wanted) > SCHEDULE_TOLERANCE * np.abs(wanted)
        if not wrong.any():
            return True, "the run used this step size"
        k = int(np.argmax(wrong))
        return False, f"the run used eta_{k} = {run.trajectory.eta[k]:.4g}, the claim asks {wanted[k]:.4g}"

    where = ", ".join(f"{name} = {value}" for name, value in definitions.items())
    return Assumption("step-size", f"eta_t = {eta}" + (f" with {where}" if where else ""), check)
