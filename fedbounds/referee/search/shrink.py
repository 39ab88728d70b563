"""From a violation found in floating point to the smallest exact one: rationalise, then shrink.

Every candidate is judged by the exact evaluator alone; sizes are counted in clients, steps and digits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any

import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence.evaluate import rational
from fedbounds.evidence.exact.compare import Sides, compare, judge_assumptions
from fedbounds.evidence.exact.instance import Instance, Rows, Vector
from fedbounds.evidence.exact.outcomes import run
from fedbounds.evidence.exact.paths import quantity_values
from fedbounds.evidence.exact.record import ExactRun
from fedbounds.referee.search.family import Batch, schedule
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading

# Denominators tried for the first exact instance, coarsest first: the smallest that keeps the violation wins.
DENOMINATORS = (1, 2, 3, 4, 6, 8, 12, 20, 50, 100, 1000, 10**4, 10**6)
# Simple values tried for every number while shrinking.
SIMPLE = tuple(Fraction(a, b) for b in (1, 2, 3, 4, 5, 6, 8, 10) for a in (0, 1, -1, 2, -2, 3))
# Constants that a person who checks an instance needs whether or not the claim uses them.
BY_HAND = frozenset({"G_sq", "sigma_sq", "C", "rho_bar", "rho_tilde", "Gamma"})

Judge = Callable[[Instance], Sides | None]
Change = dict[str, Any]


def judge(claim: Claim, reading: Reading) -> Judge:
    """instance -> a violated place (the latest), exactly, or None if there is none or an assumption fails."""

    def violation(instance: Instance) -> Sides | None:
        try:
            record = run(instance)
        except InputError:
            return None  # too many outcomes, or too many digits
        if any(judge_assumptions(claim, record, reading)):
            return None
        return next((s for s in compare(claim, record, reading, latest=True) if s.violated(claim.kind)), None)

    return violation


def by_hand(instance: Instance, claim: Claim, reading: Reading) -> dict[str, Any]:
    """What checks a violation by hand: the weights visited, the constants, and each term at the worst place.

    Numbers are fractions as text; ``varying`` holds the symbols that belong to that place alone.
    """
    record = run(instance)
    seen = record.measurement(reading, quantity_values(claim, record, reading))
    left, _, terms = claim.sides(reading)
    used = {s.name for side in (left, *terms.values()) for s in side.free_symbols}
    used = used.union(*(assumption.symbols() for assumption in claim.assumptions_in(reading)))
    found = [s for s in compare(claim, record, reading) if s.violated(claim.kind)]
    values, place = dict(seen.constants), {}
    if found:
        worst = min(found, key=lambda s: s.margin)
        k = next(i for i, t in enumerate(seen.times(claim.scope)) if _is_place(record, claim, worst, i, t))
        place = {name: column[k] for name, column in seen.places(claim.scope).items()}
        values |= place
    shown = {name: str(values[name]) for name in values if name in BY_HAND or (name in used and name not in place)}
    return {
        "alpha": [[str(a) for a in row] for row in sorted(record.alphas)],
        "constants": shown,
        "varying": {name: str(value) for name, value in place.items() if name in used},
        "terms": {name: str(rational(term, values)) for name, term in terms.items()},
    }


def _is_place(record: ExactRun, claim: Claim, worst: Sides, k: int, t: int) -> bool:
    """Whether place k of a scope is where ``worst`` was found."""
    if claim.scope == "constant":
        return True
    return t == worst.t and (claim.scope != "point" or record.points[k][1] == worst.client)


def rationalise(batch: Batch, claim: Claim, violates: Judge) -> Instance | None:
    """The first member of a population as an exact instance that still violates the claim, or None."""
    for denominator in DENOMINATORS:
        try:
            instance = round_to(batch, claim, denominator)
        except InputError:
            continue  # at this denominator some p, curvature or step became 0
        if violates(instance) is not None:
            return instance
    return None


def round_to(batch: Batch, claim: Claim, denominator: int) -> Instance:
    """The first member of a population with every number rounded to a denominator of at most that size."""

    def near(x: float) -> Fraction:
        return Fraction(float(x)).limit_denominator(denominator)

    def simplex(row: object) -> Vector:
        parts = [near(x) for x in row]  # type: ignore[attr-defined]
        total = sum(parts)
        return tuple(x / total for x in parts) if total else (Fraction(0),) * len(parts)

    def table(rows: object) -> Rows:
        return tuple(tuple(near(x) for x in row) for row in rows)  # type: ignore[attr-defined]

    family, formula = batch.family, schedule(claim, batch.family)
    searched = family.schedule in ("free", "start")
    instance = Instance(
        curvatures=table(batch.curvatures[0]),
        minima=table(batch.minima[0]),
        p=simplex(batch.p[0]),
        w0=tuple(near(x) for x in batch.w0[0]),
        eta=tuple(near(x) for x in batch.eta[0]) if searched else (Fraction(1),) * family.total,
        tau=family.tau,
        weighting=family.weighting,
        weights=tuple(simplex(row) for row in batch.weights[0]) if family.weighting == "fixed" else (),
        noise=tuple(near(x) for x in batch.noise[0]),
        present=family.present,
    )
    return with_steps(instance, formula)


def with_steps(instance: Instance, formula: sp.Expr | None) -> Instance:
    """The instance with the step sizes of a formula in L, mu, tau, N, eta_0 and t, if there is one."""
    if formula is None:
        return instance
    values = {"L": instance.L, "mu": instance.mu, "tau": Fraction(instance.tau), "N": Fraction(instance.N)}
    values["eta_0"] = instance.eta[0]
    eta = tuple(rational(formula, {**values, "t": Fraction(t)}) or Fraction(0) for t in range(instance.total))
    return instance.with_(eta=eta)


def size(instance: Instance) -> tuple[int, ...]:
    """(clients, dimensions, steps, what is not plain, characters, numerators plus denominators): made smaller so."""
    numbers = [x for row in (*instance.curvatures, *instance.minima, *instance.weights) for x in row]
    numbers += [*instance.p, *instance.w0, *instance.eta, *filter(None, instance.noise)]
    characters = sum(len(str(x)) for x in numbers)
    odd = instance.N - instance.present + (instance.weighting != "fedavg")
    height = sum(abs(x.numerator) + x.denominator for x in numbers)
    return instance.N, instance.d, instance.total, odd, characters, height


def shrink(instance: Instance, formula: sp.Expr | None, violates: Judge, seconds: float) -> Instance:
    """Replace the instance by smaller violating ones until none is found or the time is up.

    Numbers are simplified one after the other, the plainest replacement first; then all over again.
    """
    deadline = time.monotonic() + seconds

    def better(changes: Iterable[Change], current: Instance) -> Instance | None:
        for candidate in _candidates(current, changes, formula):
            if time.monotonic() > deadline:
                return None
            if size(candidate) < size(current) and violates(candidate) is not None:
                return candidate
        return None

    while True:
        before = instance
        while (smaller := better(_structural(instance), instance)) is not None:
            instance = smaller
        for slot in _slots(instance, formula is None):
            instance = better(_simplified(instance, *slot), instance) or instance
        if instance == before or time.monotonic() > deadline:
            return instance


def _candidates(instance: Instance, changes: Iterable[Change], formula: sp.Expr | None) -> Iterator[Instance]:
    """The instances that changes lead to, where they are instances."""
    for change in changes:
        try:
            candidate = with_steps(instance.with_(**change), formula)
        except InputError:
            continue  # the change broke the instance (p = 0, weights off the simplex, ...)
        if formula is not None or max(candidate.eta) * candidate.L <= 1:
            yield candidate  # a larger step than 1/L would be a cheaper violation of less interest


def _structural(instance: Instance) -> Iterator[Change]:
    kept = instance.rounds
    for rounds in sorted({1, 2, kept // 2, kept - 2, kept - 1} & set(range(1, kept))):
        weights = instance.weights[:rounds] if len(instance.weights) > 1 else instance.weights
        yield {"eta": instance.eta[: rounds * instance.tau], "weights": weights}
    for tau in range(1, instance.tau):
        steps = [r * instance.tau + j for r in range(instance.rounds) for j in range(tau)]
        yield {"eta": tuple(instance.eta[t] for t in steps), "tau": tau}
    if len(set(instance.weights)) == 1 and len(instance.weights) > 1:
        yield {"weights": instance.weights[:1]}
    start = instance.argmin(instance.p)
    yield {"w0": start}
    flat = tuple((Fraction(1),) * instance.d for _ in instance.curvatures)
    for unit, curvatures in ((instance.L, flat), (instance.mu, None)):
        scaled = tuple(tuple(c / unit for c in row) for row in instance.curvatures)
        rest = {name: tuple(s / unit for s in getattr(instance, name)) for name in ("noise", "floor")}
        yield {"curvatures": curvatures or scaled, "eta": tuple(step * unit for step in instance.eta), **rest}
    if instance.weighting != "fedavg":
        yield {"weighting": "fedavg", "weights": ()}
    if any(instance.noise):
        yield {"noise": ()}
    if instance.present < instance.N:
        yield {"present": instance.N}
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

    rest = {name: cut(getattr(instance, name)) for name in ("curvatures", "minima", "noise", "floor")}
    present = min(instance.present, instance.N - 1)
    return {
        **rest,
        "present": present,
        "p": drop(instance.p),
        "weights": tuple(drop(row) for row in instance.weights),
    }


def _slots(instance: Instance, free_steps: bool) -> list[tuple[str, int | None, int]]:
    """(field, row or None, position) of every number that may change by itself."""
    flat = ("p", "w0", *(("eta",) if free_steps else ()), *(("noise",) if any(instance.noise) else ()))
    slots: list[tuple[str, int | None, int]] = [(f, None, k) for f in flat for k in range(len(getattr(instance, f)))]
    for name in ("curvatures", "minima", "weights"):
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
    """Numbers near x, or plain ones, written with fewer characters."""
    near = {x.limit_denominator(q) for q in (1, 2, 3, 4, 5, 6, 8, 10, 20, 100)}
    if x and abs(x) < 1:
        b = round(1 / abs(x))
        near |= {
            Fraction(x.numerator, x.denominator * n // m)
            for n, m in ((1, 2), (2, 1), (3, 4), (4, 3))
            if x.denominator * n // m
        }
        near |= {Fraction(1 if x > 0 else -1, y) for y in (b, *_round_numbers(b)) if y}
    if x.denominator == 1 and abs(x) > 1:
        near |= {Fraction(round(x / 2)), Fraction(10 ** (len(str(abs(x.numerator))) - 1))}
    candidates = (near | set(SIMPLE)) - {x}
    length = len(str(x))
    yield from sorted((y for y in candidates if len(str(y)) < length or _plainer(y, x)), key=_plainness)


def _round_numbers(b: int) -> tuple[int, ...]:
    """The two numbers of one significant digit around b, and the powers of ten."""
    scale = 10 ** (len(str(b)) - 1)
    return b // scale * scale, (b // scale + 1) * scale, scale, 10 * scale


def _plainness(x: Fraction) -> tuple[int, int, bool]:
    return len(str(abs(x))), x.denominator + abs(x.numerator), x < 0


def _plainer(y: Fraction, x: Fraction) -> bool:
    """Same number of characters, but smaller numerator and denominator."""
    return len(str(y)) == len(str(x)) and _plainness(y) < _plainness(x)
