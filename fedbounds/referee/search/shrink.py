"""From an exact violation to the smallest one near it.

Every candidate is judged by the exact evaluator alone; sizes are counted in clients, steps and digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence.ball_arithmetic import Ball, has_roots, midpoint
from fedbounds.evidence.evaluate import evaluate, names_in, rational
from fedbounds.evidence.exact.compare import Sides, compare, violation
from fedbounds.evidence.exact.instance import Instance, Vector
from fedbounds.evidence.exact.instance_json import text
from fedbounds.evidence.exact.run import MAX_OUTCOMES, ExactRun, needs_every_outcome, run
from fedbounds.evidence.exact.stated_steps import with_steps
from fedbounds.referee.search.rounding import Judge
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading

# Simple values tried for every number while shrinking.
SIMPLE = tuple(Fraction(a, b) for b in (1, 2, 3, 4, 5, 6, 8, 10) for a in (0, 1, -1, 2, -2, 3))

# What everybody's taking part with FedAvg's weights makes 1, which a person need not check.
FAIR = {"C": "1", "pi_min": "1", "pi_max": "1"}

# Outcomes beyond which a linear run is taken along 2 N T + 1 paths: enumerating thousands takes seconds.
FEW_OUTCOMES = 2**8

# What any run costs, in numbers of a longer one.
OVERHEAD = 50
# A minimiser that is a ball is replaced by a fraction so near.
CLOSE = 1000

Change = dict[str, Any]
# Tables of numbers with a row a client.
OF_CLIENTS = ("curvatures", "minima", "upper", "kinks", "widths")


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


def by_hand(instance: Instance, claim: Claim, reading: Reading) -> dict[str, Any]:
    """What checks a violation by hand: the weights visited, the constants, and each term at the worst place.

    Numbers are fractions as text; ``varying`` holds the symbols that belong to that place alone.
    """
    result = violation(instance, claim, reading)
    record = run(instance) if result is None else result[0]
    seen = record.measurement(claim, reading)
    left, _, terms = claim.sides(reading)
    used = {s.name for side in (left, *terms.values()) for s in side.free_symbols}
    assumed = frozenset[str]().union(*(assumption.symbols() for assumption in claim.assumptions_in(reading)))
    failing = [s for s in compare(claim, record, reading) if s.violated(claim.kind)]
    values, place = {name: seen.constants[name] for name in seen.constants if name in used | assumed}, {}
    if failing:
        worst = min(failing, key=lambda s: s.margin)
        k = next(i for i, t in enumerate(seen.times(claim.scope)) if _is_place(record, claim, worst, i, t))
        place = {name: column[k] for name, column in seen.varying(claim.scope).items()}
        values |= place
    shown = {name: text(value) for name, value in values.items() if name in used | assumed and name not in place}
    for name in FAIR.keys() - used:
        if shown.get(name) == FAIR[name]:
            del shown[name]
    return {
        "alpha": [list(map(text, row)) for row in sorted(record.alphas)],
        "constants": shown,
        "varying": {name: text(value) for name, value in place.items() if name in used | assumed},
        "terms": {name: _term(term, values) for name, term in terms.items()},
    }


def _term(term: sp.Expr, values: dict[str, Fraction]) -> str:
    """A term as a fraction, or about its value where it is none."""
    in_balls = has_roots(term) or any(isinstance(values.get(name), Ball) for name in names_in(term))
    exact = None if in_balls else rational(term, values)
    floats = {name: midpoint(value) for name, value in values.items()}
    return f"about {float(evaluate(term, floats)):.6g}" if exact is None else text(exact)


def _is_place(record: ExactRun, claim: Claim, worst: Sides, k: int, t: int) -> bool:
    """Whether place k of a scope is where ``worst`` was found."""
    if claim.scope == "constant":
        return True
    return t == worst.t and (claim.scope != "point" or record.points[k][1] == worst.client)


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
