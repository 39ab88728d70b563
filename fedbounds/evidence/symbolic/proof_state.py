"""What is known while a proof is checked: its scope, what lines rest on, and the outcomes of its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import sympy as sp

from fedbounds.evidence.symbolic import definitions
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.derivation import Derivation, Step
from fedbounds.theory import vectors
from fedbounds.theory.assumption import Assumption, Sign
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading
from fedbounds.theory.vector_normal_form import normal_fraction

STRICT = ("<", ">")
# Characters of what an unproved identity leaves that a message shows, and terms up to which it is cancelled.
SHOWN, TERMS = 300, 30


class Unproved(Exception):
    """Why a step does not check."""


@dataclass(frozen=True)
class Used:
    """A fact that a line uses: ``0 sign value``, from the assumption of that key; ``total`` as in `Grounds`.

    ``free`` are its symbols but those that the derivation which used it gives a meaning.
    """

    key: str
    value: sp.Expr
    sign: Sign
    total: bool
    free: frozenset[sp.Basic]


@dataclass(frozen=True)
class Grounds:
    """What a line rests on: keys of assumptions and definitions, the facts used of them, and open inductions.

    A line is ``total`` if it holds for the expectation over the whole run, not for that given a round's start.
    """

    keys: frozenset[str] = frozenset()
    open: frozenset[str] = frozenset()
    total: bool = False
    used: frozenset[Used] = frozenset()

    def __or__(self, other: Grounds) -> Grounds:
        return Grounds(
            self.keys | other.keys, self.open | other.open, self.total or other.total, self.used | other.used
        )


def union(several: Iterable[Grounds]) -> Grounds:
    """All of several grounds."""
    total = Grounds()
    for grounds in several:
        total |= grounds
    return total


@dataclass(frozen=True)
class Total:
    """A combination of facts: an expression that is at least zero, positive or zero, and its grounds."""

    value: sp.Expr
    sign: Sign
    grounds: Grounds = field(default_factory=Grounds)


@dataclass(frozen=True)
class StepCheck:
    """One step: whether it checks and why not, and its grounds."""

    ok: bool
    message: str = ""
    grounds: Grounds = field(default_factory=Grounds)


@dataclass(frozen=True)
class Shown:
    """A condition of a derivation as it was resolved: its symbol, what it stands for, and whether it is positive."""

    symbol: sp.Expr
    expression: sp.Expr
    strict: bool
    why: str


@dataclass(frozen=True)
class Checked:
    """A derivation in a reading, with the outcome of each step; ``fault`` is empty when all check.

    ``assumptions`` are the keys its last line rests on, ``setting`` the definitions with their statements,
    ``universe`` every assumption that it may name, ``claim`` the claim that it was checked against.
    """

    derivation: Derivation
    reading: Reading
    outcomes: Mapping[str, StepCheck]
    assumptions: frozenset[str]
    setting: Mapping[str, str]
    universe: Mapping[str, Assumption]
    schedule: Mapping[sp.Basic, sp.Expr]
    abbreviations: Mapping[sp.Basic, sp.Expr]
    claim: Claim | None = None
    conditions: tuple[Shown, ...] = ()
    fault: str = ""


@dataclass
class Shelf:
    """Derivations that may cite each other, with the checks made so far by (key, reading)."""

    derivations: Mapping[str, Derivation]
    checker: Callable[[str, Shelf, Reading], Checked]
    checked: dict[tuple[str, str], Checked] = field(default_factory=dict)
    pending: set[tuple[str, str]] = field(default_factory=set)


@dataclass(frozen=True)
class Context:
    """Everything known when a step is checked; ``slacks`` maps a symbol to what it stands for and its grounds.

    ``sums`` are the sequences of the claim's own sums over steps.
    """

    derivation: Derivation
    reading: Reading
    shelf: Shelf
    universe: Mapping[str, Assumption]
    schedule: Mapping[sp.Basic, sp.Expr]
    states: Mapping[sp.Basic, sp.Expr]
    abbreviations: Mapping[sp.Basic, sp.Expr]
    outcomes: Mapping[str, StepCheck]
    slacks: Mapping[sp.Basic, tuple[sp.Expr, Grounds]] = field(default_factory=dict)
    sums: Mapping[sp.Expr, tuple[sp.Expr, sp.Expr, sp.Expr]] = field(default_factory=dict)

    def step(self, label: str) -> Step | None:
        """The derivation's step of that label."""
        return next((item for item in self.derivation.steps if item.label == label), None)

    @property
    def numbers(self) -> dict[sp.Basic, sp.Expr]:
        """What the symbols mean that are no random variables."""
        slacks = {symbol: expression for symbol, (expression, _) in self.slacks.items()}
        return {**self.schedule, **self.abbreviations, **slacks}

    def unfolded(self, expression: sp.Expr) -> sp.Expr:
        """The expression with what its symbols mean put in, the states Delta, gap, ... left as they are."""
        meaning = {**definitions.OF_A_CLIENT, **self.numbers}
        for _ in meaning:  # each is made of others, in no circle
            if not expression.has(*meaning):
                break
            expression = expression.xreplace(meaning)
        return expression

    def is_zero(self, expression: sp.Expr) -> bool:
        """Whether an expression vanishes, first with the states Delta, gap, ... as they are, then unfolded."""
        return bool(self.rest(expression) == 0)

    def rest(self, expression: sp.Expr) -> sp.Expr:
        """The normal form of an expression; a long one, which is not read, is not cancelled: that takes minutes."""
        if not expression.has(vectors.Vec, vectors.Noise, vectors.Grad, vectors.Loss):
            form = normal_fraction(expression, {**definitions.OF_A_CLIENT, **self.numbers}, TERMS)
            if form == 0:
                return form
        elif self.schedule:  # what vanishes for every step size does for the claim's
            anywhere = {key: value for key, value in self.numbers.items() if key not in self.schedule}
            if normal_fraction(expression, {**self.states, **anywhere}, TERMS) == 0:
                return sp.Integer(0)
        return normal_fraction(expression, {**self.states, **self.numbers}, TERMS)

    def require_zero(self, expression: sp.Expr, what: str) -> None:
        """Raise what remains of an expression that should vanish."""
        rest = self.rest(expression)
        if rest != 0:
            text = str(rest)
            raise Unproved(f"{what} there remains {text if len(text) <= SHOWN else text[:SHOWN] + ' ...'}")


def excess(step: Step) -> sp.Expr:
    """What a step says is not negative (or zero)."""
    return step.lhs - step.rhs if step.relation in (">", ">=", "=") else step.rhs - step.lhs


def line(step: Step) -> tuple[sp.Expr, Sign]:
    """What a step says, as an expression and its sign."""
    if step.relation == "->":
        raise Unproved(f"step {step.label} is not an inequality")
    if step.relation == "=":
        return excess(step), "="
    return excess(step), "<" if step.relation in STRICT else "<="


def earlier(label: str, scope: Context) -> Total:
    """The line of an earlier step that checks."""
    before, outcome = scope.step(label), scope.outcomes.get(label)
    if outcome is None or before is None:
        raise Unproved(f"there is no earlier step {label}")
    if not outcome.ok:
        raise Unproved(f"it rests on step {label}, which does not check")
    return Total(*line(before), outcome.grounds)


def citations(derivation: d.Derivation) -> set[str]:
    """The derivations that one cites."""
    keys: set[str] = set()

    def visit(uses: tuple[d.Use, ...]) -> None:
        for _, fact in uses:
            if isinstance(fact, d.Cited):
                keys.add(fact.derivation)
            elif isinstance(fact, d.Averaged | d.Beyond):
                visit(fact.uses)

    for step in derivation.steps:
        rule = step.because
        if isinstance(rule, tuple):
            visit(rule)
        elif isinstance(rule, d.Cases):
            visit(rule.first.uses + rule.second.uses)
    return keys
