"""Exact runs that meet a claim's assumptions, as columns of floats: what violates a changed claim is seen at once."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction as Q
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from fedbounds.errors import InputError
from fedbounds.evidence.evaluate import evaluate, names_in
from fedbounds.evidence.exact.compare import examine, excluded, judge_assumptions, of_minima
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.exact.run import run
from fedbounds.evidence.exact.stated_steps import with_steps
from fedbounds.referee.limit_cases import battery, cost, evenly_spaced, in_reach
from fedbounds.theory.assumption import Assumption, Part
from fedbounds.theory.claim import Claim
from fedbounds.theory.coverage import Coverage
from fedbounds.theory.measurement import Measurement, first_of
from fedbounds.theory.reading import Reading
from fedbounds.theory.symbols import Delta, Delta_0
from fedbounds.theory.verdict import Status

# An instance has at most so many outcomes of chance.
OUTCOMES = 2**10
# What a known instance is varied by: its steps times these, over so many times its rounds.
SHARES, LONGER = (Q(1), Q(1, 2), Q(1, 4), Q(1, 8)), (1, 2, 4)
# Steps in units of 1/L, and how much the last one of a round falls. Curvatures, noise, and raw weights.
MULTIPLES, FALLS = (Q(1), Q(1, 2), Q(1, 4), Q(1, 10), Q(3, 2), Q(2)), (Q(1), Q(1), Q(1, 2), Q(1, 20))
CURVATURES, NOISES, WEIGHTS = (Q(1), Q(1), Q(2), Q(10), Q(100)), (Q(0), Q(1), Q(4)), (Q(1), Q(1), Q(3), Q(1, 50))


def variations(claim: Claim, known: Iterable[Instance]) -> Iterator[Instance]:
    """Known instances with shorter steps, over more rounds."""
    for instance, longer, share in itertools.product(known, LONGER, SHARES):
        eta = tuple(share * step for step in instance.eta) * longer
        weights = instance.weights * longer if len(instance.weights) == instance.rounds else instance.weights
        with contextlib.suppress(InputError, KeyError):
            varied = with_steps(instance.with_(eta=eta, weights=weights), claim.steps)
            if not varied.chance.too_many(OUTCOMES):
                yield varied


def random_instances(claim: Claim, claimed: Coverage, rng: np.random.Generator) -> Iterator[Instance]:
    """Without end; those that a coverage leaves out by their sizes are not among them."""
    while True:
        with contextlib.suppress(InputError, KeyError):
            instance = with_steps(_any(claim, rng), claim.steps)
            if in_reach(claimed, instance) and not instance.chance.too_many(OUTCOMES):
                yield instance


def _any(claim: Claim, rng: np.random.Generator) -> Instance:
    """Clients that are alike or not, steps up to the edge, starts at w*, noise, absent clients."""

    def some(values: Sequence[Q]) -> Q:
        return values[int(rng.integers(len(values)))]

    def rows(alike: bool, make: list[Q]) -> tuple[tuple[Q, ...], ...]:
        return (tuple(make[:d]),) * N if alike else tuple(tuple(make[k * d : k * d + d]) for k in range(N))

    N, d = int(rng.integers(1, 5)), int(rng.integers(1, 3))
    tau = int(rng.integers(1, 4)) if claim.scope != "horizon" or rng.random() < 0.5 else 1
    rounds = int(rng.choice([1, 2, 3, 4, 8])) if claim.scope == "horizon" else int(rng.choice([1, 1, 2]))
    alike, centred, equal, noisy, absent = rng.random(5) < (0.4, 0.4, 0.5, 0.5, 0.4)
    curvatures = rows(bool(alike), [some(CURVATURES) for _ in range(N * d)])
    minima = rows(bool(centred), [Q(int(x), 2) for x in rng.integers(-4, 5, N * d)])
    raw = [Q(1) if equal else some(WEIGHTS) for _ in range(N)]
    top, low = (pick(pick(row) for row in curvatures) for pick in (max, min))
    first = some([*(multiple / top for multiple in MULTIPLES), 2 / (top + low), 1 / (top + low)])
    fall = some(FALLS) if claim.steps is None else Q(1)
    made = Instance(
        curvatures=curvatures, minima=minima, p=tuple(x / sum(raw) for x in raw),
        w0=tuple(Q(int(x), 2) for x in rng.integers(-6, 7, d)),
        eta=tuple(first * (fall if k == tau - 1 > 0 else 1) for _ in range(rounds) for k in range(tau)), tau=tau,
        weighting="fedavg" if absent or rng.random() < 0.6 else str(rng.choice(["fedmax", f"fedmax:{N}"])),
        noise=tuple(some(NOISES) for _ in range(N)) if noisy else (),
        present=int(rng.integers(1, N + 1)) if absent else 0,
    )  # fmt: skip
    return made.with_(w0=made.argmin(made.p)) if rng.random() < 0.3 else made


# A violation of less than this, relative to the sides, may be rounding.
VISIBLE = 1e-9
# The share of the time for what is no random instance.
SHARE_OF_FIXED = 0.6
# So many runs under noise over more rounds than these come first: they show what a bound is outgrown by.
LONG, MANY = 4, 20
# Growth goes on where the last doubling of a run adds nearly all of what the one before it did.
NEARLY = 0.9


@dataclass
class Screen:
    """Runs that a claim speaks of, those ``known`` among them, and the values of symbols at every place of theirs."""

    claim: Claim
    reading: Reading
    runs: list[tuple[Instance, Measurement[Any]]]
    known: Sequence[Instance] = ()
    columns: dict[str, NDArray[np.float64]] = field(default_factory=dict)

    def column(self, name: str) -> NDArray[np.float64]:
        """A symbol's values, NaN where a run has none."""
        if name not in self.columns:
            parts = [_values(item, self.claim.scope, name) for _, item in self.runs]
            self.columns[name] = np.concatenate(parts) if parts else np.zeros(0)
        return self.columns[name]

    def _value(self, expression: sp.Expr) -> Any:
        """Of an expression at every place."""
        return evaluate(expression, {name: self.column(name) for name in names_in(sp.sympify(expression))})

    def violates(self, changed: Claim) -> bool:
        """Whether a run is seen to violate a claim that assumes at least the same, or none of them is among its."""
        share, there = self._shares(changed)
        return bool(self.runs) and bool(not there.any() or np.any(share[there] < -VISIBLE))

    def refuting(self, changed: Claim) -> Instance | None:
        """An instance that violates a claim in fractions; None where none is seen to."""
        share, there = self._shares(changed)
        ends = np.cumsum([len(item.times(self.claim.scope)) for _, item in self.runs])
        for place in np.flatnonzero(there & (share < -VISIBLE))[:1]:
            instance = self.runs[int(np.searchsorted(ends, place, side="right"))][0]
            if examine(instance, changed, self.reading).status is Status.REFUTED:
                return instance
        return None

    def add(self, instance: Instance) -> bool:
        """Whether the claim speaks of an instance, which is then one of the runs, as variations of it are."""
        more = list(_measured(self.claim, self.reading, instance))
        for varied in variations(self.claim, [instance]) if more else ():
            with contextlib.suppress(InputError, ZeroDivisionError, KeyError):
                more += _measured(self.claim, self.reading, varied)
        self.runs += more
        self.columns.clear()
        return bool(more)

    def trivial(self, changed: Claim) -> bool:
        """Whether the left side is 0 wherever a claim says something."""
        lhs = np.broadcast_to(self._value(changed.sides(self.reading).lhs), self.column("tau").shape)
        return not np.any(lhs[self._shares(changed)[1]])

    def negative(self, expression: sp.Expr, always: bool = False) -> bool:
        """Whether an expression is negative in some run, and positive in none if it is to be ``always``."""
        with np.errstate(all="ignore"):
            value = np.broadcast_to(self._value(expression), self.column("tau").shape)
        seen = value[np.isfinite(value)]
        return bool(np.any(seen < -VISIBLE)) and not (always and np.any(seen > VISIBLE))

    def absurd(self, changed: Claim) -> bool:
        """Whether nobody would state it: a factor of a term is negative throughout, or a distance is not reduced.

        Not where the claim has that factor, or reduces neither Delta_t nor Delta_0 either.
        """
        present, terms = self._factors(self.claim), self._factors(changed)
        if any(self.negative(factor, always=True) for factor in terms - present):
            return True
        stated, other = (sp.expand(item.sides(self.reading).rhs) for item in (self.claim, changed))
        coefficients = ((stated.coeff(distance), other.coeff(distance)) for distance in (Delta, Delta_0))
        return any(new != old and self.negative(old - 1) and not self.negative(new - 1) for old, new in coefficients)

    def _factors(self, claim: Claim) -> set[sp.Expr]:
        """The sums that are factors of terms."""
        terms = claim.sides(self.reading).terms.values()
        bases = (factor.as_base_exp()[0] for term in terms for factor in sp.Mul.make_args(sp.sympify(term)))
        return {base for base in bases if base.is_Add}

    def outgrown(self, changed: Claim) -> bool:
        """Whether a bound on whole runs falls behind: the left side grows with T, by no less at the end of a run, and
        by more than the right; or it shrinks, and its share of the right side grows likewise.

        Of a run whose first quarter is long enough for the start to fade.
        """
        if self.claim.scope != "horizon":
            return False
        share, there = self._shares(changed)
        with np.errstate(all="ignore"):
            sides = [np.broadcast_to(self._value(side), share.shape) for side in changed.sides(self.reading)[:2]]
        ends = np.cumsum([len(item.times(self.claim.scope)) for _, item in self.runs])
        parts = [np.split(np.where(there, column, np.nan), ends[:-1]) for column in (*sides, 1 - share)]
        return any(
            self._settled(instance, len(lhs)) and _falls_behind(lhs, rhs, ratio)
            for (instance, _), lhs, rhs, ratio in zip(self.runs, *parts, strict=True)
        )

    @staticmethod
    def _settled(instance: Instance, count: int) -> bool:
        """Whether a quarter of a run is long beside 1/(eta mu)."""
        quarter = (count - 1) // 4
        return bool(quarter > 1 and quarter * instance.eta[0] * instance.mu >= 1)

    def implies(self, other: Claim, changed: Claim) -> bool:
        """Whether another claim speaks wherever one does, and its right side is no larger there.

        At the start of a run, where bounds may have log T, neither need.
        """
        here, there = self._shares(changed)[1] & self._begun, self._shares(other)[1]
        with np.errstate(all="ignore"):
            both = (self._value(item.sides(self.reading).rhs) for item in (changed, other))
            larger, smaller = (np.broadcast_to(values, here.shape)[here] for values in both)
            below = smaller <= larger + VISIBLE * np.abs(larger)
        return bool(here.any() and there[here].all() and below.all())

    def room(self, changed: Claim) -> float:
        """The mean of (rhs - lhs)/max(|lhs|, |rhs|) over the places after the start, 1 where a claim says nothing."""
        share, there = self._shares(changed)
        begun = np.where(there, share, 1.0)[self._begun]
        return float(np.mean(begun)) if len(begun) else 1.0

    @property
    def _begun(self) -> NDArray[np.bool_]:
        """The places that are not the start of a whole run."""
        tau = self.column("tau")
        return self.column("T") > 0 if self.claim.scope == "horizon" else np.ones(tau.shape, dtype=bool)

    def _shares(self, changed: Claim) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """(rhs - lhs)/max(|lhs|, |rhs|) at every place, and where a claim says something."""
        left, right, _ = changed.sides(self.reading)
        with np.errstate(all="ignore"):
            lhs, rhs = self._value(left), self._value(right)
            share = (rhs - lhs) / np.maximum(np.maximum(np.abs(lhs), np.abs(rhs)), np.finfo(float).tiny)
            share = np.broadcast_to(share, self.column("tau").shape)
            there, stated = np.isfinite(share), self.claim.assumptions_in(self.reading)
            further = (item for item in changed.assumptions_in(self.reading) if item not in stated)
            for item in further:
                if "eta" in item.symbols() and self.claim.scope in ("horizon", "constant"):
                    there = there & self._with_steps(item)
                    continue
                for part in item.parts:
                    there = there & self._meets(part)
            if of_minima(changed) and not of_minima(self.claim):
                there = there & self._at_places([instance.convex for instance, _ in self.runs])
        return share, there

    def _at_places(self, of_runs: Sequence[bool]) -> NDArray[np.bool_]:
        """At every place what is said of its run."""
        return np.repeat(of_runs, [len(run.times(self.claim.scope)) for _, run in self.runs])

    def _with_steps(self, item: Assumption) -> NDArray[np.bool_]:
        """At every place of a whole run whether all its steps meet an assumption."""
        alone = replace(self.claim, assumptions=(item,), eta=None, repair=None)
        return self._at_places([not excluded(instance, alone, self.reading) for instance, _ in self.runs])

    def _meets(self, part: Part) -> NDArray[np.bool_]:
        """At every place whether a relation holds."""
        first, second = self._value(part.left), self._value(part.right)
        near = np.abs(first - second) <= VISIBLE * np.maximum(np.abs(first), np.abs(second))
        return np.asarray(near if part.sign == "=" else near | (first < second))


def _falls_behind(lhs: NDArray[Any], rhs: NDArray[Any], ratio: NDArray[Any]) -> bool:
    """Whether the left side of a run grows by more than the right when T doubles, or its share does if it shrinks."""
    ends = [part * ((len(lhs) - 1) // 4) for part in (1, 2, 4)]
    rises = lhs[ends[2]] - lhs[ends[1]] > VISIBLE * abs(lhs[ends[2]])
    first, before, last = (lhs if rises else ratio)[ends]
    faster = not rises or last - before > rhs[ends[2]] - rhs[ends[1]]
    if not rises and lhs[ends[2]] > NEARLY * lhs[ends[1]]:  # it stays: the right side, as a + b/(T + c), may too
        once, twice = -np.diff(rhs[ends])
        faster = twice >= 2 * once or rhs[ends[2]] - twice * (once + twice) / (2 * once - twice) < lhs[ends[2]]
    return bool(faster and before - first > VISIBLE * abs(before) and last - before >= NEARLY * (before - first))


def _values(run: Measurement[Any], scope: Any, name: str) -> NDArray[np.float64]:
    values, count = first_of(run.places(scope), run.constants), len(run.times(scope))
    with contextlib.suppress(KeyError, OverflowError, TypeError, ZeroDivisionError):
        value = values[name]
        several = name in run.places(scope)
        return np.array([float(x) for x in itertools.islice(value, count)] if several else [float(value)] * count)
    return np.full(count, np.nan)


def screen(claim: Claim, reading: Reading, known: Sequence[Instance], seconds: float) -> Screen:
    """What exact instances are worth against claims near this one: those ``known``, the battery, and random ones."""
    begun, claimed = time.process_time(), claim.coverage(reading)
    result = Screen(claim, reading, [], known)
    fixed = sorted(battery(claim, claimed), key=cost)
    growing = [instance for instance in fixed if any(instance.noise) and instance.rounds > MANY]
    plain = itertools.chain(known, variations(claim, known), growing[:LONG], evenly_spaced(fixed))
    for share, instances in (
        (SHARE_OF_FIXED, plain),
        (1.0, random_instances(claim, claimed, np.random.default_rng(0))),
    ):
        for instance in instances:
            if time.process_time() > begun + share * seconds:
                break
            with contextlib.suppress(InputError, ZeroDivisionError, KeyError):
                result.runs += _measured(claim, reading, instance)
    return result


def _measured(claim: Claim, reading: Reading, instance: Instance) -> Iterator[tuple[Instance, Measurement[Any]]]:
    if not excluded(instance, claim, reading):
        record = run(instance, OUTCOMES)
        if not any(judge_assumptions(claim, record, reading)) and not record.beyond(claim, reading):
            yield instance, record.measurement(claim, reading)
