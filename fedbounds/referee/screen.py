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
from fedbounds.evidence.ball_arithmetic import Undecided
from fedbounds.evidence.evaluate import Measurement, evaluate, first_of, names_in
from fedbounds.evidence.exact.compare import excluded, judge_assumptions, of_minima
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.exact.run import run
from fedbounds.evidence.exact.stated_steps import with_steps
from fedbounds.referee.limit_cases import battery, cost, evenly_spaced
from fedbounds.theory.assumption import Assumption, Part
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading
from fedbounds.theory.symbols import Delta, Delta_0

# A violation of less than this, relative to the sides, may be rounding.
VISIBLE = 1e-9
# An instance has at most so many outcomes of chance.
OUTCOMES = 2**10
# What a known instance is varied by: its steps times these, over so many times its rounds.
SHARES, LONGER = (Q(1), Q(1, 2), Q(1, 4), Q(1, 8)), (1, 2, 4)


def variations(claim: Claim, known: Iterable[Instance]) -> Iterator[Instance]:
    """Known instances with shorter steps, over more rounds."""
    for instance, longer, share in itertools.product(known, LONGER, SHARES):
        eta = tuple(share * step for step in instance.eta) * longer
        weights = instance.weights * longer if len(instance.weights) == instance.rounds else instance.weights
        with contextlib.suppress(InputError, KeyError):
            varied = with_steps(instance.with_(eta=eta, weights=weights), claim.steps)
            if not varied.chance.too_many(OUTCOMES):
                yield varied


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
        """Whether nobody would state it: a term or a factor is negative throughout, or a distance is not reduced.

        Not where the claim has that factor, or a negative term of that name, or reduces neither distance either.
        """
        terms = {name: term for name, term in changed.terms.items() if term != self.claim.terms.get(name)}
        stated = (self.claim.terms.get(name, sp.Integer(0)) for name in terms)
        new = [term for term, old in zip(terms.values(), stated, strict=True) if not self.negative(old, always=True)]
        new += self._sum_factors(changed) - self._sum_factors(self.claim)
        if any(self.negative(sp.sympify(piece), always=True) for piece in new):
            return True
        before, after = (sp.expand(item.sides(self.reading).rhs) for item in (self.claim, changed))
        coefficients = ((before.coeff(distance), after.coeff(distance)) for distance in (Delta, Delta_0))
        return any(new != old and self.negative(old - 1) and not self.negative(new - 1) for old, new in coefficients)

    def _sum_factors(self, claim: Claim) -> set[sp.Expr]:
        """The sums that are factors of terms."""
        terms = claim.sides(self.reading).terms.values()
        bases = (factor.as_base_exp()[0] for term in terms for factor in sp.Mul.make_args(sp.sympify(term)))
        return {base for base in bases if base.is_Add}

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
        return np.repeat(np.array(of_runs, dtype=bool), [len(run.times(self.claim.scope)) for _, run in self.runs])

    def _with_steps(self, item: Assumption) -> NDArray[np.bool_]:
        """At every place of a whole run whether all its steps meet an assumption."""
        alone = replace(self.claim, assumptions=(item,), eta=None, repair=None)
        return self._at_places([not excluded(instance, alone, self.reading) for instance, _ in self.runs])

    def _meets(self, part: Part) -> NDArray[np.bool_]:
        """At every place whether a relation holds."""
        first, second = self._value(part.left), self._value(part.right)
        near = np.abs(first - second) <= VISIBLE * np.maximum(np.abs(first), np.abs(second))
        return np.asarray(near if part.sign == "=" else near | (first < second))


def _values(run: Measurement[Any], scope: Any, name: str) -> NDArray[np.float64]:
    values, count = first_of(run.varying(scope), run.constants), len(run.times(scope))
    with contextlib.suppress(KeyError, OverflowError, TypeError, ZeroDivisionError):
        value = values[name]
        several = name in run.varying(scope)
        return np.array([float(x) for x in itertools.islice(value, count)] if several else [float(value)] * count)
    return np.full(count, np.nan)


def screen(claim: Claim, reading: Reading, known: Sequence[Instance], seconds: float) -> Screen:
    """What exact instances are worth against claims near this one: those ``known``, their variations, the battery."""
    result = Screen(claim, reading, [], known)
    fixed = evenly_spaced(sorted(battery(claim, claim.coverage(reading)), key=cost))
    end = time.process_time() + seconds
    for instance in itertools.chain(known, variations(claim, known), fixed):
        if time.process_time() > end:
            break
        with contextlib.suppress(InputError, ZeroDivisionError, KeyError, Undecided):
            result.runs += _measured(claim, reading, instance)
    return result


def _measured(claim: Claim, reading: Reading, instance: Instance) -> Iterator[tuple[Instance, Measurement[Any]]]:
    if not excluded(instance, claim, reading):
        record = run(instance, OUTCOMES)
        if not any(judge_assumptions(claim, record, reading)) and not record.beyond(claim, reading):
            yield instance, record.measurement(claim, reading)
