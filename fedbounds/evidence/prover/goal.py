"""What is to be proved: a statement's parameters, the multipliers made of them, and what was found to show it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import sympy as sp

from fedbounds.evidence.prover import draws
from fedbounds.evidence.symbolic import definitions
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.derivation import Condition, Premise, premise
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim

ELL = sp.Symbol("ell", nonnegative=True)
PARAMETERS = (sy.mu, sy.L, sy.eta, sy.N, sy.m, sy.tau, sy.eta_0, sy.growth)


@dataclass(frozen=True)
class Frame:
    """``letters`` are non-negative, each with its power of metre^2/joule; ``numbers`` unfold them in generators.

    ``equal`` is what says that L = mu, and what it says is 0.
    """

    conditions: tuple[Condition, ...]
    letters: tuple[tuple[sp.Expr, int], ...]
    numbers: Mapping[sp.Basic, sp.Expr]
    bounded: bool
    equal: tuple[Premise, sp.Expr] | None = None

    @cached_property
    def field(self) -> Any:
        """Quotients of polynomials in what is free."""
        free = {symbol for value in self.numbers.values() for symbol in value.free_symbols}
        free |= {symbol for letter, _ in self.letters for symbol in letter.free_symbols} | set(PARAMETERS)
        return sp.QQ.frac_field(*sorted(free - self.numbers.keys(), key=str)).field

    def samples(self) -> Iterator[dict[sp.Symbol, sp.Rational]]:
        """Values of what is free at which every letter is positive: of curvatures and of step sizes."""
        letters = [letter for letter, _ in self.letters]
        for _ in self.numbers:
            letters = [letter.xreplace(dict(self.numbers)) for letter in letters]
        free = [generator.as_expr() for generator in self.field.gens]
        for (ell, m), step in product(((2, 2), (30, 3)), ("3/5", "2/5", "1/4", "1/14", "1/40", "1/97")):
            known = {sy.mu: 1, ELL: ell, sy.L: 1 + ell, sy.N: 5, sy.m: m, sy.tau: 3}
            known |= {draws.BEYOND_ONE: m - 1, draws.LEFT_SHARE: sp.Rational(1, 3)}
            values = {symbol: sp.Rational(known.get(symbol, step)) for symbol in free}
            if all(letter.subs(values).is_positive for letter in letters):
                yield values

    def scales(self, steps: bool) -> list[sp.Expr]:
        """Letters without a unit, by which the vectors of a square may be multiplied."""
        if steps:
            return [letter * sy.eta**-unit for letter, unit in self.letters]
        return [letter / sy.L for letter, unit in self.letters if unit == -1 and ELL in dict(self.letters)]

    def multipliers(self, power: int, degree: int, steps: bool, below: int = 1) -> Iterator[sp.Expr]:
        """Products of letters of unit (metre^2/joule)^power, of that degree, with mu^``below`` in a denominator."""
        if not steps:
            yield from self._of_curvatures(power, degree, below)
            return
        letters = self.scales(steps)
        total = [degree] if self.bounded else range(degree + 1)
        for powers in product(range(degree + 1), repeat=len(letters)):
            if sum(powers) in total:
                yield sy.eta**power * sp.Mul(*(x**k for x, k in zip(letters, powers, strict=True)))

    def _of_curvatures(self, power: int, degree: int, below: int) -> Iterator[sp.Expr]:
        curvatures = [letter for letter, unit in self.letters if unit == -1]
        if ELL not in curvatures:
            yield from {curvature**-power for curvature in curvatures}
            return
        for i, j in product(range(-below, degree + 1), range(degree + 1)):
            if i + j + power >= 0 and i + j <= degree:
                yield sy.mu**i * ELL**j / sy.L ** (i + j + power)


def unit_of(expression: sp.Expr) -> int | None:
    """The power of metre^2/joule of an expression in curvatures and step sizes; None where it has none."""
    put = {sy.mu: sp.Rational(3, 7), sy.L: sp.Rational(5, 3), sy.eta: sp.Rational(2, 11), sy.t: 3, sy.gamma: 40}
    put |= {sy.N: 5, sy.m: 2, sy.tau: 3, sy.growth: sp.Rational(7, 5), sy.eta_0: sp.Rational(1, 13)}
    scaled = {
        s: v * {sy.eta: 2, sy.eta_0: 2, sy.mu: sp.Rational(1, 2), sy.L: sp.Rational(1, 2)}.get(s, 1)
        for s, v in put.items()
    }
    before, after = (sp.sympify(expression).subs(values) for values in (put, scaled))
    if not (before.is_Rational and after.is_Rational) or before == 0:
        return None
    ratio = after / before
    return next((k for k in range(-4, 5) if ratio == sp.Integer(2) ** k), None)


def frame(
    assumptions: Iterable[Assumption],
    steps: sp.Expr | None,
    limits_shown: Iterable[tuple[Condition, sp.Expr]] = (),
    further: Iterable[sp.Expr] = (),
) -> Frame:
    """The parameters under a claim's assumptions, at its own step size where it has one, and ``further`` numbers."""
    assumptions = tuple(assumptions)
    curved = a.strongly_convex in assumptions or a.polyak_lojasiewicz in assumptions
    both = a.smooth in assumptions and curved
    conditions, numbers, letters = [], {}, []
    equal = unit_condition_number(assumptions)
    if equal is not None:
        numbers[sy.L] = sy.mu
        letters.append((sy.mu, -1))
    elif both:
        conditions.append(Condition(ELL, premise("curvatures")))
        numbers[sy.L] = sy.mu + ELL
        letters += [(sy.mu, -1), (ELL, -1)]
    else:
        letters += [(sy.mu, -1), (sy.L, -1)] if curved else [(sy.L, -1)]
    bounded = False
    if steps is not None:
        numbers[sy.eta] = steps
        bounded = both and unit_of(steps) == 1
    for key, index, value, strict in limits(assumptions):
        unit = unit_of(value)
        if unit is None or not value.has(sy.eta) or value.has(sy.m):
            continue
        slack = sp.Symbol(f"slack_{len(conditions)}", **{"positive" if strict else "nonnegative": True})
        conditions.append(Condition(slack, premise(key, *index)))
        numbers[slack] = value
        letters.append((slack * (sy.L**unit if unit > 0 else sy.eta**-unit), 0))
        bounded = bounded or (sp.diff(value, sy.eta).is_negative is True and not value.has(sy.growth))
    drawn = draws.Draws.of({item.key: item for item in assumptions})
    conditions += drawn.conditions
    numbers |= drawn.numbers
    letters += [(letter, 0) for letter in drawn.letters]
    bounded = bounded and not drawn.conditions
    for condition, value in limits_shown:
        conditions.append(condition)
        numbers[condition.symbol] = value
        letters.append((condition.symbol, 0))
        bounded = True
    letters += [(number, 0) for number in further]
    return Frame(tuple(conditions), tuple(letters), numbers, bounded, equal)


def unit_condition_number(assumptions: Iterable[Assumption]) -> tuple[Premise, sp.Expr] | None:
    """What says that L = mu, and what it says is 0."""
    for assumption in assumptions:
        for k, part in enumerate(assumption.parts if assumption.gives is None else ()):
            if part.sign == "=" and {part.left, part.right} == {sy.L, sy.mu}:
                index = (sp.Integer(k),) if len(assumption.parts) > 1 else ()
                return premise(assumption.key, *index), part.right - part.left
    return None


def limits(assumptions: Iterable[Assumption]) -> Iterator[tuple[str, tuple[sp.Expr, ...], sp.Expr, bool]]:
    """(key, which of its facts, what is not negative, whether it is positive) of relations among parameters."""
    for assumption in assumptions:
        facts = assumption.facts()
        for k, fact in enumerate(facts):
            value = fact.right - fact.left
            value = value if value.has(sy.m) else sp.expand(value)
            if assumption.gives is None and fact.sign in ("<=", "<") and value.free_symbols <= set(PARAMETERS):
                index = (sp.Integer(k),) if len(facts) > 1 else ()
                yield assumption.key, index, value, fact.sign == "<"


SAME_STEP, SAME_GRADIENTS = "single-step", "single-step-gradients"
COMMON, ONE_FUNCTION, GROWING = "common-optimum", "one-function", "growing-variance"


@dataclass(frozen=True)
class Goal:
    """``left`` <= ``right`` of a scope, and what it may rest on: assumptions and definitions by key.

    The ``claim`` says what quantities of its own mean. An ``identity`` is equal, and rests on what is.
    """

    left: sp.Expr
    right: sp.Expr
    scope: str
    universe: Mapping[str, Assumption]
    steps: sp.Expr | None = None
    limits: tuple[tuple[d.Condition, sp.Expr], ...] = ()
    claim: Claim | None = None
    identity: bool = False

    @cached_property
    def frame(self) -> Frame:
        """The parameters."""
        further = [sy.rho_bar] if self.skewed else []
        if sy.tau in self.left.free_symbols | self.right.free_symbols:
            further.append(sy.tau)
        if GROWING in self.universe:
            further.append(sy.growth / sy.N if a.equal_p.key in self.universe else sy.growth)
        return frame(self.universe.values(), self.steps, self.limits, further)

    @property
    def client(self) -> bool:
        """Whether it is about one client."""
        return self.scope == "point"

    @property
    def together(self) -> bool:
        """Whether local models are the virtual iterate."""
        return {SAME_STEP, a.full_participation.key} <= self.universe.keys()

    @property
    def drawn(self) -> bool:
        """Whether clients are drawn for each step."""
        return draws.drawn(self.universe)

    @property
    def unbiased(self) -> bool:
        """Whether alpha is p."""
        return {a.unbiased.key, a.full_participation.key} <= self.universe.keys()

    @property
    def equal(self) -> bool:
        """Whether L = mu is assumed."""
        return unit_condition_number(self.universe.values()) is not None

    @property
    def shared(self) -> bool:
        """Whether w* minimises every F_i."""
        return COMMON in self.universe

    @property
    def identical(self) -> bool:
        """Whether every F_i is the same function."""
        return ONE_FUNCTION in self.universe

    @property
    def skewed(self) -> bool:
        """Whether it speaks of the smallest skew, whatever the weights."""
        spoken = self.left.free_symbols | self.right.free_symbols
        return sy.rho_bar in spoken and {"rho-bar", "strongly-convex"} <= self.universe.keys() and self.together

    @cached_property
    def meanings(self) -> dict[sp.Basic, sp.Expr]:
        """What symbols stand for, as the checker reads them."""
        return definitions.meanings(True, a.full_participation.key in self.universe, self.claim)


@dataclass(frozen=True)
class Lines:
    """Steps that show what is needed, the uses of the last one, and the conditions whose symbols they have."""

    steps: tuple[d.Step, ...]
    uses: tuple[d.Use, ...]
    conditions: tuple[d.Condition, ...]
