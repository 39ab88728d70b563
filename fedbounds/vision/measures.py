"""What the paper measures on its experiments: R_90, stability, alpha_i - p_i, participation, temperatures.

Every statistic over repetitions carries its interval and says how it was made (`fedbounds.vision.estimates`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fedbounds.errors import reject
from fedbounds.vision import estimates, paper
from fedbounds.vision.estimates import CONFIDENCE, Estimate, PValue
from fedbounds.vision.runs import Run, require

# The paper's experiments last this many rounds: the shorter variant of stability stops here.
PAPER_ROUNDS = int(paper.PARAMETERS["rounds"].value)
# The initial models of a pair agree; a machine's rounding may flip a borderline prediction of 10 000 or so.
SAME_MODEL = 1e-3


def rounds_to(accuracy: ArrayLike, level: float = paper.LEVEL) -> int | None:
    """R_level: the first round r >= 1 with accuracy[r] >= level; None if none of the R rounds reached it.

    ``accuracy`` (R + 1,) starts with the untrained model. None means right-censored: R_level > R.
    """
    reached = np.flatnonzero(np.asarray(accuracy, dtype=float)[1:] >= level)
    return int(reached[0]) + 1 if reached.size else None


def final_accuracy(runs: Sequence[Run]) -> Estimate:
    """Mean test accuracy of the last model, Student's interval, over the runs that were not ended early."""
    return _comparable(runs, lambda run: float(run.accuracy[-1]), estimates.SHARE)


def _comparable(runs: Sequence[Run], measure: Callable[[Run], float], within: estimates.Limits) -> Estimate:
    """The mean of a measure over the whole runs; nan without one, or if these differ in length.

    A run that ended because it reached the target says nothing about later rounds, and that it ended is decided by
    its own accuracy: averaging it in would be wrong.
    """
    require(runs)
    whole = [run for run in runs if run.whole]
    if not whole:
        note = "no run did every round whatever its accuracy"
        return Estimate("mean", math.nan, -math.inf, math.inf, math.nan, math.nan, 0, 0.0, note)
    if len(whole) < len(runs):
        found, note = _comparable(whole, measure, within), f"{len(whole)} of {len(runs)} runs did every round"
        return replace(found, note="; ".join(part for part in (note, found.note) if part))
    lengths = sorted({run.rounds for run in runs})
    if len(lengths) > 1:
        note = f"runs stopped after {lengths[0]} to {lengths[-1]} rounds: not comparable"
        return Estimate("mean", math.nan, -math.inf, math.inf, math.nan, math.nan, len(runs), 0.0, note)
    return estimates.mean([measure(run) for run in runs], within=within)


@dataclass(frozen=True)
class Speed:
    """R_90 over repetitions: each run's value (None: not reached), how many reached it, and the estimate."""

    values: tuple[int | None, ...]
    reached: int
    level: float
    estimate: Estimate

    @property
    def said(self) -> str:
        """``3 of 5``."""
        return f"{self.reached} of {len(self.values)}"


def speed(runs: Sequence[Run], level: float = paper.LEVEL, confidence: float = CONFIDENCE) -> Speed:
    """R_90 of repetitions with an interval that holds for few and for censored runs.

    If every run reached the level: the mean with Student's interval, which is what the paper's +/- 1.96 s/sqrt(n)
    is for large n, with the quantile that small n needs. If a run did not, the mean is not identified (it depends
    on rounds that were never run) and leaving the run out would flatter the slow weighting: then the median with
    the interval of order statistics, exact for any law; a run censored after R rounds counts as anything from
    R + 1 to infinity, so an upper end is infinite where too few runs reached the level.
    Errors: InputError without runs, or for a confidence outside (0, 1).
    """
    require(runs)
    low, high = ends(runs, level)
    values = tuple(int(x) if math.isfinite(x) else None for x in high)
    reached = sum(x is not None for x in values)
    complete = reached == len(values)
    found = estimates.mean(high, confidence, (1.0, math.inf)) if complete else estimates.median(low, high, confidence)
    return Speed(values, reached, level, found)


def ends(runs: Sequence[Run], level: float) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest value that R_90 of each run can have."""
    found = [rounds_to(run.accuracy, level) for run in runs]
    low = [run.rounds + 1 if r is None else r for run, r in zip(runs, found, strict=True)]
    return np.array(low, dtype=float), np.array([math.inf if r is None else r for r in found])


def stability(accuracy: ArrayLike, first: int = 0, last: int | None = None) -> float:
    """std / |mean| of the one-round changes accuracy[r+1] - accuracy[r] for first <= r < last; smaller is smoother.

    The paper's "normalized standard deviation of the variations over one round", with divisor n - 1. The mean
    change is only (accuracy[last] - accuracy[first])/n, so the value depends on how many rounds follow after
    the accuracy has levelled off. nan if the mean change is 0 or there are fewer than two changes.
    """
    changes = np.diff(np.asarray(accuracy, dtype=float)[first : None if last is None else last + 1])
    if len(changes) < 2:
        return math.nan
    drift = abs(float(changes.mean()))
    # A sum that cancels leaves rounding, not a drift.
    if drift <= estimates.ROUNDING * max(float(np.abs(changes).max()), 1.0):
        return math.nan
    return float(changes.std(ddof=1)) / drift


# Variants of the measure: over which rounds. The paper leaves open whether the jump of the untrained model counts.
STABILITIES: dict[str, tuple[int, int | None]] = {
    "all": (0, None),
    "first-50": (0, PAPER_ROUNDS),
    "trained": (1, None),
}
# And one that ends in round R_90, over the runs that reached it.
UNTIL = "until"


def stabilities(runs: Sequence[Run]) -> dict[str, Estimate]:
    """Mean stability over repetitions with Student's interval: all rounds, the first 50, from w_1, up to R_90."""

    def over(first: int, last: int | None) -> Estimate:
        # Runs cut to the same rounds are comparable, however long they went on.
        shared = last is not None and all(run.rounds >= last for run in runs)
        if shared:
            return estimates.mean([stability(run.accuracy, first, last) for run in runs], within=(0.0, math.inf))
        return _comparable(runs, lambda run: stability(run.accuracy, first, last), (0.0, math.inf))

    found = {name: over(first, last) for name, (first, last) in STABILITIES.items()}
    ends = [rounds_to(run.accuracy) for run in runs]
    early = [math.nan if r is None else stability(run.accuracy, 0, r) for run, r in zip(runs, ends, strict=True)]
    return {**found, UNTIL: estimates.mean(early, within=(0.0, math.inf))}


@dataclass(frozen=True)
class Comparison:
    """A paired comparison: ``first`` minus ``second`` in one quantity, over runs of the same seed.

    ``smaller``, ``larger``, ``equal``, ``unknown``: pairs in which ``first`` has less, more, as much, or
    both are censored so that nobody knows. ``unpaired``: runs of either without a partner.
    """

    quantity: str
    first: str
    second: str
    difference: Estimate
    test: PValue
    smaller: int
    larger: int
    equal: int
    unknown: int
    unpaired: int

    @property
    def pairs(self) -> int:
        """How many pairs were compared."""
        return self.smaller + self.larger + self.equal + self.unknown

    def to_json(self) -> dict[str, Any]:
        """The comparison as a JSON object."""
        counts = {key: getattr(self, key) for key in ("pairs", "smaller", "larger", "equal", "unknown", "unpaired")}
        names = {"quantity": self.quantity, "first": self.first, "second": self.second}
        return {**names, "difference": self.difference.to_json(), "test": self.test.to_json(), **counts}


def pairs(first: Sequence[Run], second: Sequence[Run]) -> list[tuple[Run, Run]]:
    """Runs of two weightings with the same settings, seed and repetition: one partition and one initial model.

    Errors: InputError where runs that should share both have other p or another accuracy before training.
    """
    partners = {(run.experiment, run.seed, run.repetition): run for run in second}
    found = []
    for run in first:
        other = partners.get((run.experiment, run.seed, run.repetition))
        if other is None:
            continue
        if not np.array_equal(run.p, other.p) or abs(run.accuracy[0] - other.accuracy[0]) > SAME_MODEL:
            what = f"{run.source} and {other.source} must share partition and initial model"
            raise reject(what, "other p or another accuracy at round 0", "run both again with one seed")
        found.append((run, other))
    return found


def compare(
    first: Sequence[Run],
    second: Sequence[Run],
    quantity: str = "R_90",
    level: float = paper.LEVEL,
    confidence: float = CONFIDENCE,
) -> Comparison:
    """Paired comparison of two weightings in ``quantity``: "R_90", "final accuracy" or "stability".

    Without censored pairs: the mean difference with Student's interval and the exact sign-flip p-value. With
    them the mean is not identified: the median difference with order statistics and the exact sign test, both
    of which take an unknown difference as badly as it can be. No p-value is corrected for other comparisons.
    Errors: InputError for another quantity, without runs, or from :func:`pairs`.
    """
    require(first)
    require(second)
    matched = pairs(first, second)
    low, high = _differences(matched, quantity, level)
    difference, test = estimates.paired(low, high, confidence)
    smaller, larger = int((high < 0).sum()), int((low > 0).sum())
    equal = int(((low == 0) & (high == 0)).sum())
    unpaired = len(first) + len(second) - 2 * len(matched)
    unknown = len(matched) - smaller - larger - equal
    names = (first[0].weighting, second[0].weighting)
    return Comparison(quantity, *names, difference, test, smaller, larger, equal, unknown, unpaired)


def _differences(matched: Sequence[tuple[Run, Run]], quantity: str, level: float) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest value that each pair's difference can have; nan where undefined."""
    if quantity == "R_90":
        (low_a, high_a), (low_b, high_b) = (ends([pair[k] for pair in matched], level) for k in (0, 1))
        return low_a - high_b, high_a - low_b
    measures: dict[str, Callable[[Run], float]] = {
        "final accuracy": lambda run: float(run.accuracy[-1]),
        "stability": lambda run: stability(run.accuracy),
    }
    if quantity not in measures:
        known = ", ".join(("R_90", *measures))
        raise reject("a comparison is in a quantity that is known", repr(quantity), f"use one of {known}")
    measure = measures[quantity]
    found = np.array([measure(a) - measure(b) if a.whole and b.whole else math.nan for a, b in matched])
    return found, found
