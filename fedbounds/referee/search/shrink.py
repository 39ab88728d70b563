"""From a violation in floats to an exact one, and to the smallest one near it.

Numbers are rounded, coarsest first. Every candidate is judged by the exact evaluator alone; sizes are counted in
clients, steps and digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence.ball_arithmetic import Ball, midpoint
from fedbounds.evidence.exact.compare import Sides, violation
from fedbounds.evidence.exact.instance import Instance, Rows, Vector
from fedbounds.evidence.exact.instance_json import text
from fedbounds.evidence.exact.run import MAX_OUTCOMES, needs_every_outcome
from fedbounds.evidence.exact.stated_steps import with_steps
from fedbounds.model.problem import Array
from fedbounds.referee.search.family import RARE, Population, schedule
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading

# Denominators tried for the first exact instance, coarsest first: the smallest that keeps the violation wins.
DENOMINATORS = (1, 2, 3, 4, 6, 8, 12, 20, 50, 100, 1000, 10**4, 10**6)
# Cosines and sines of a turn are fractions of at most this denominator already.
OF_TURNS = 100
# What floats may be off by, relative to the numbers that a difference is of.
ROUNDING = 1e-14
# Beyond every denominator of a double of interest: the numbers are taken as they are.
AS_THEY_ARE = 2**120
# Simple values tried for every number while shrinking.
SIMPLE = tuple(Fraction(a, b) for b in (1, 2, 3, 4, 5, 6, 8, 10) for a in (0, 1, -1, 2, -2, 3))

# Outcomes beyond which a linear run is taken along 2 N T + 1 paths: enumerating thousands takes seconds.
FEW_OUTCOMES = 2**8
# What any run costs, in numbers of a longer one.
OVERHEAD = 50
# A minimiser that is a ball is replaced by a fraction so near.
CLOSE = 1000

# Tables of numbers with a row a client.
OF_CLIENTS = ("curvatures", "minima", "upper", "kinks", "widths")

Judge = Callable[[Instance], Sides | None]
Change = dict[str, Any]


def rationalise(population: Population, claim: Claim, violates: Judge) -> Instance | None:
    """The first member of a population as an exact instance that still violates the claim, or None."""
    for denominator in (*DENOMINATORS, AS_THEY_ARE):
        try:
            instance = round_to(population, claim, denominator)
        except InputError:
            continue  # at this denominator some p, curvature or step became 0
        if violates(instance) is not None:
            return instance
    return None


def round_to(population: Population, claim: Claim, denominator: int) -> Instance:
    """The first member of a population with every number rounded to a denominator of at most that size."""

    def near(x: float, most: int = denominator) -> Fraction:
        return Fraction(float(x)).limit_denominator(most)

    def simplex(row: Any) -> Vector:
        parts = [near(x) for x in row]
        total = sum(parts)
        return tuple(x / total for x in parts) if total else (Fraction(0),) * len(parts)

    def table(rows: Any, most: int = denominator) -> Rows:
        return tuple(tuple(near(x, most) for x in row) for row in rows)

    shape, losses, formula = population.shape, population.losses, schedule(claim, population.shape)
    searched = shape.schedule in ("free", "constant", "start")
    more: dict[str, Any] = {}
    minima = table(losses.minima[0])
    if losses.kinks is not None:
        above = table(losses.kinks[0] - losses.minima[0])
        more["kinks"] = tuple(
            tuple(a + m for a, m in zip(*pair, strict=True)) for pair in zip(above, minima, strict=True)
        )
        more["upper"] = table(losses.upper[0])
    if losses.widths is not None:
        more["widths"] = table(losses.widths[0])
    if losses.turns is not None:
        more["turns"] = table(losses.turns[0], OF_TURNS)
    for name in ("noise", "growth"):
        if getattr(losses, name) is not None:
            more[name] = tuple(near(x) for x in getattr(losses, name)[0])
    if shape.noise == "rare":
        more["rare"] = Fraction(RARE)
    instance = Instance(
        curvatures=table(losses.curvatures[0]),
        minima=minima,
        p=simplex(losses.p[0]),
        w0=tuple(near(x) for x in population.w0[0]),
        eta=tuple(near(x) for x in population.eta[0]) if searched else (Fraction(1),) * shape.total,
        tau=shape.tau,
        weighting=shape.weighting,
        weights=tuple(simplex(row) for row in population.weights[0]) if shape.weighting == "fixed" else (),
        present=shape.present,
        q=Fraction(shape.q),
        server_step=Fraction(1) if population.server_step is None else near(population.server_step[0]),
        **more,
    )
    if at_rest(population) and not losses.widths:
        instance = instance.with_(w0=instance.argmin(instance.p))
    return with_steps(instance, formula)


def at_rest(population: Population) -> bool:
    """Whether the first member starts at w* up to rounding: its sides may be nothing but rounding then."""
    start, star = population.w0[0], population.losses.w_star[0]
    return bool((np.abs(start - star) <= rounding_of(start, population.losses.minima[0])).all())


def rounding_of(w0: Array, minima: Array) -> Array:
    """What floats may be off by in a start (..., d) among minima (..., N, d)."""
    return np.asarray(ROUNDING * np.maximum(np.abs(w0), np.abs(minima).max(-2)))


def judge(claim: Claim, reading: Reading) -> Judge:
    """instance -> a violated place (the latest), exactly, or None if there is none or an assumption fails."""

    @cache
    def every_outcome(bent: bool, biased: bool) -> bool:
        return bool(needs_every_outcome(claim, reading, bent, biased))

    def violated(instance: Instance) -> Sides | None:
        few = instance.chance.linear or instance.chance.pairwise
        few = few and not every_outcome(bool(instance.kinks), instance.weighting != "fedavg")
        try:
            result = violation(instance, claim, reading, FEW_OUTCOMES if few else MAX_OUTCOMES)
        except InputError:
            return None  # too many outcomes, or too many digits
        return None if result is None else result[1]

    return violated


def size(instance: Instance) -> tuple[int, ...]:
    """(clients, dimensions, steps, what is not plain, characters, numerators plus denominators): made smaller so."""
    tables = (getattr(instance, name) for name in (*OF_CLIENTS, "weights"))
    numbers = [x for table in tables for row in table for x in row]
    numbers += [*instance.p, *instance.w0, *instance.eta, *filter(None, (*instance.noise, *instance.growth))]
    characters = sum(len(text(x)) for x in numbers)
    odd = instance.N - instance.present + bool(instance.q) + (instance.weighting != "fedavg") + (instance.rare != 1)
    odd += instance.server_step != 1
    height = sum(abs(x.numerator) + x.denominator for x in numbers)
    return instance.N, instance.d, instance.total, odd, characters, height


def numbers(instance: Instance) -> int:
    """About how many numbers an exact run of an instance computes."""
    return instance.N * instance.d * instance.total * min(instance.chance.paths(FEW_OUTCOMES), MAX_OUTCOMES)


def shrink(
    instance: Instance,
    formula: sp.Expr | None,
    violates: Judge,
    effort: int,
    so_far: Callable[[Instance], None] = lambda instance: None,
) -> Instance:
    """Replace the instance by smaller violating ones until none is found or so many numbers were computed.

    Numbers are simplified one after the other, the plainest replacement first; then all over again. ``so_far`` is
    called with the smallest instance after every one that was tried; it may end the search by raising.
    """
    left = effort

    def better(changes: Iterable[Change], current: Instance) -> Instance | None:
        nonlocal left
        for candidate in _candidates(current, changes, formula):
            if left <= 0:
                return None
            if size(candidate) < size(current):
                left -= OVERHEAD + numbers(candidate)
                so_far(current)
                if violates(candidate) is not None:
                    return candidate
        return None

    while True:
        before = instance
        while (smaller := better(_structural(instance), instance)) is not None:
            instance = smaller
        for slot in _slots(instance, formula is None):
            instance = better(_simplified(instance, *slot), instance) or instance
        if instance == before or left <= 0:
            return instance


def _candidates(instance: Instance, changes: Iterable[Change], formula: sp.Expr | None) -> Iterator[Instance]:
    """The instances that changes lead to, where they are instances."""
    largest_step: Any = max(instance.eta) * instance.L
    for change in changes:
        try:
            candidate = with_steps(instance.with_(**change), formula)
        except InputError:
            continue  # the change broke the instance (p = 0, weights off the simplex, ...)
        if formula is not None or max(candidate.eta) * candidate.L <= max(1, largest_step):
            yield candidate  # a larger step than 1/L would be a cheaper violation of less interest


def _structural(instance: Instance) -> Iterator[Change]:
    before = instance.rounds
    for rounds in sorted({1, 2, before // 2, before - 2, before - 1} & set(range(1, before))):
        weights = instance.weights[:rounds] if len(instance.weights) > 1 else instance.weights
        yield {"eta": instance.eta[: rounds * instance.tau], "weights": weights}
    for tau in range(1, instance.tau):
        steps = [r * instance.tau + j for r in range(instance.rounds) for j in range(tau)]
        yield {"eta": tuple(instance.eta[t] for t in steps), "tau": tau}
    if len(set(instance.weights)) == 1 and len(instance.weights) > 1:
        yield {"weights": instance.weights[:1]}
    start = instance.argmin(instance.p)
    yield {"w0": tuple(Fraction(midpoint(x)).limit_denominator(CLOSE) if isinstance(x, Ball) else x for x in start)}
    flat = tuple((Fraction(1),) * instance.d for _ in instance.curvatures)
    for unit, curvatures in ((instance.L, flat), (instance.mu, None)):
        scaled = {
            name: tuple(tuple(c / unit for c in row) for row in getattr(instance, name))
            for name in ("curvatures", "upper")
        }
        scaled |= {"curvatures": curvatures} if curvatures else {}
        rest = {name: tuple(s / unit for s in getattr(instance, name)) for name in ("noise", "floor")}
        yield {"eta": tuple(step * unit for step in instance.eta), **scaled, **rest}
    if instance.weighting != "fedavg":
        yield {"weighting": "fedavg", "weights": ()}
    if instance.stochastic:
        yield {"noise": (), "growth": (), "rare": Fraction(1)}
        yield {"growth": (), "rare": Fraction(1)}
    simpler = (("widths",), ("upper", "kinks", "widths"), ("turns",))
    yield from (dict.fromkeys(names, ()) for names in simpler if getattr(instance, names[0]))
    if instance.present < instance.N:
        yield {"present": instance.N}
    if instance.q:
        yield from ({"q": simple} for simple in (Fraction(0), Fraction(1, 2)))
    if instance.server_step != 1:
        yield from ({"server_step": Fraction(number)} for number in (1, 2))
    if instance.N > 2:
        for i in range(instance.N):
            yield _without(instance, i)


def _without(instance: Instance, i: int) -> Change:
    """The instance less client i, weights renormalised."""

    def drop(row: Vector) -> Vector:
        rest = row[:i] + row[i + 1 :]
        total = sum(rest) or Fraction(1)
        return tuple(x / total for x in rest)

    def cut(rows: tuple[Any, ...]) -> tuple[Any, ...]:
        return rows[:i] + rows[i + 1 :]

    rest = {name: cut(getattr(instance, name)) for name in (*OF_CLIENTS, "turns", "noise", "growth", "floor")}
    present = min(instance.present, instance.N - 1)
    return {
        **rest,
        "present": present,
        "p": drop(instance.p),
        "weights": tuple(drop(row) for row in instance.weights),
    }


def _slots(instance: Instance, free_steps: bool) -> list[tuple[str, int | None, int]]:
    """(field, row or None, position) of every number that may change by itself."""
    chance = tuple(name for name in ("noise", "growth") if any(getattr(instance, name)))
    flat = ("p", "w0", *(("eta",) if free_steps else ()), *chance)
    slots: list[tuple[str, int | None, int]] = [(f, None, k) for f in flat for k in range(len(getattr(instance, f)))]
    for name in (*OF_CLIENTS, "weights"):
        slots += [(name, i, k) for i, row in enumerate(getattr(instance, name)) for k in range(len(row))]
    return slots


def _simplified(instance: Instance, name: str, i: int | None, k: int) -> Iterator[Change]:
    """One number replaced by simpler ones; distributions keep their sum through another entry."""
    table = getattr(instance, name)
    row = table if i is None else table[i]
    for y in _simpler(row[k]):
        changed = (*row[:k], y, *row[k + 1 :])
        if name in ("p", "weights"):
            changed = _balanced(changed, k)
        yield {name: changed if i is None else (*table[:i], changed, *table[i + 1 :])}


def _balanced(row: Vector, changed: int) -> Vector:
    """The row with its last (or, if that changed, first) entry set so that it sums to 1."""
    k = len(row) - 1 if changed != len(row) - 1 else 0
    return (*row[:k], row[k] + 1 - sum(row), *row[k + 1 :])


def _simpler(x: Fraction) -> Iterator[Fraction]:
    """Plainer numbers, near x or plain anyway, the plainest first."""
    near = {*SIMPLE, *(x.limit_denominator(q) for q in (1, 2, 3, 4, 5, 6, 8, 10, 20, 100))}
    if x and abs(x) < 1:
        b = round(1 / abs(x))
        near |= {Fraction(1 if x > 0 else -1, y) for y in (b, *_round_numbers(b)) if y}
    if x.denominator == 1 and abs(x) > 1:
        near |= {Fraction(round(x / 2)), Fraction(10 ** (len(text(Fraction(abs(x.numerator)))) - 1))}
    yield from sorted((y for y in near if _plainness(y) < _plainness(x)), key=_plainness)


def _round_numbers(b: int) -> tuple[int, ...]:
    """The two numbers of one significant digit around b, and the powers of ten."""
    scale = 10 ** (len(text(Fraction(b))) - 1)
    return b // scale * scale, (b // scale + 1) * scale, scale, 10 * scale


def _plainness(x: Fraction) -> tuple[int, int, bool]:
    return len(text(abs(x))), x.denominator + abs(x.numerator), x < 0
