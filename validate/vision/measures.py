"""What the paper measures along rounds: R_90, final accuracy, and the effect of the temperature.

Every statistic over repetitions carries its interval and says how it was made (`validate.vision.estimates`).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedbounds.errors import reject
from fedbounds.model.problem import Array
from fedbounds.vision.records import ImageRun, rounds_to
from validate.vision import estimates, paper
from validate.vision.estimates import Estimate, PValue

Runs = Sequence[ImageRun]
# The initial models of a pair agree; a machine's rounding may flip a borderline prediction of 10 000 or so.
SAME_MODEL = 1e-3


def whole(runs: Runs) -> list[ImageRun]:
    """The runs that did every round whatever came out.

    A run that ended because it reached the target says nothing about later rounds, and that it ended is decided by
    its own accuracy: averaging it in would be wrong.
    """
    return [run for run in runs if run.whole]


def final_accuracy(runs: Runs) -> Estimate:
    """Mean test accuracy of the last model, Student's interval, over the whole runs."""
    return estimates.mean([float(run.accuracy[-1]) for run in whole(runs)], within=estimates.SHARE)


@dataclass(frozen=True)
class Speed:
    """R_90 over repetitions: each run's value (None: not reached), and the estimate."""

    values: tuple[int | None, ...]
    estimate: Estimate

    @property
    def said(self) -> str:
        """``3 of 5`` reached the level."""
        return f"{sum(x is not None for x in self.values)} of {len(self.values)}"


def speed(runs: Runs, level: float = paper.LEVEL) -> Speed:
    """R_90 of repetitions with an interval that holds for few and for censored runs.

    If every run reached the level: the mean with Student's interval, which is what the paper's +/- 1.96 s/sqrt(n)
    is for large n, with the quantile that small n needs. If a run did not, the mean is not identified (it depends
    on rounds that were never run) and leaving the run out would flatter the slow weighting: then the median with
    the interval of order statistics, exact for any law; a run censored after R rounds counts as anything from
    R + 1 to infinity, so an upper end is infinite where too few runs reached the level.
    """
    low, high = ends(runs, level)
    values = tuple(int(x) if math.isfinite(x) else None for x in high)
    complete = None not in values
    result = estimates.mean(high, within=(1.0, math.inf)) if complete else estimates.median(low, high)
    return Speed(values, result)


def ends(runs: Runs, level: float) -> tuple[Array, Array]:
    """The smallest and the largest value that R_90 of each run can have."""
    result = [rounds_to(run.accuracy, level) for run in runs]
    low = [run.rounds + 1 if r is None else r for run, r in zip(runs, result, strict=True)]
    return np.array(low, dtype=float), np.array([math.inf if r is None else r for r in result])


@dataclass(frozen=True)
class Paired:
    """``first`` minus ``second`` in one quantity over runs of the same seed, with the p-value of "none".

    ``smaller``, ``larger``, ``equal``, ``unknown``: pairs in which the first has less, more, as much, or both are
    censored so that nobody knows.
    """

    difference: Estimate
    test: PValue
    smaller: int
    larger: int
    equal: int
    unknown: int

    def said(self, words: tuple[str, str], unit: str, digits: int, scale: float = 1.0) -> str:
        """``faster on 8 of 10 pairs, slower on 1; mean difference ...``; words: the first is less, is more."""
        count = self.smaller + self.larger + self.equal + self.unknown
        counts = f"{words[0]} on {self.smaller} of {count} pairs, {words[1]} on {self.larger}"
        counts += f", equal on {self.equal}" if self.equal else ""
        counts += f", unknown on {self.unknown}" if self.unknown else ""
        return f"{counts}; {self.difference.kind} difference {estimates.text(self.difference, digits, scale)} {unit}"


def paired(low: Array, high: Array) -> Paired:
    """The comparison of pairs whose differences lie between ``low`` and ``high`` (n,)."""
    difference, test = estimates.paired(low, high)
    smaller, larger = int((high < 0).sum()), int((low > 0).sum())
    equal = int(((low == 0) & (high == 0)).sum())
    return Paired(difference, test, smaller, larger, equal, len(low) - smaller - larger - equal)


def pairs(first: Runs, second: Runs) -> list[tuple[ImageRun, ImageRun]]:
    """Runs of two weightings with the same settings, seed and repetition: one partition and one initial model.

    Errors: InputError where runs that should share both have other p or another accuracy before training.
    """
    partners = {(run.experiment, run.seed, run.repetition): run for run in second}
    result = []
    for run in first:
        other = partners.get((run.experiment, run.seed, run.repetition))
        if other is None:
            continue
        if not np.array_equal(run.p, other.p) or abs(run.accuracy[0] - other.accuracy[0]) > SAME_MODEL:
            what = f"{run.source} and {other.source} must share partition and initial model"
            raise reject(what, "other p or another accuracy at round 0", "run both again with one seed")
        result.append((run, other))
    return result


def compare_speed(first: Runs, second: Runs, level: float = paper.LEVEL) -> Paired:
    """Paired difference of R_level. Without censored pairs: mean, Student's interval and exact sign flips. With

    them the mean is not identified: median with order statistics and the exact sign test, both of which take an
    unknown difference as badly as it can be. No p-value is corrected here for other comparisons.
    """
    matched = pairs(first, second)
    (low_a, high_a), (low_b, high_b) = (ends([pair[k] for pair in matched], level) for k in (0, 1))
    return paired(low_a - high_b, high_a - low_b)


def compare(first: Runs, second: Runs, measure: Callable[[ImageRun], float]) -> Paired:
    """Paired difference of a measure over whole runs: mean, Student's interval and exact sign flips."""
    result = np.array([measure(a) - measure(b) for a, b in pairs(whole(first), whole(second))])
    return paired(result, result)


def last_accuracy(run: ImageRun) -> float:
    """The final accuracy of one run."""
    return float(run.accuracy[-1])


def gains(first: Mapping[str, Runs], second: Mapping[str, Runs], names: tuple[str, str]) -> Paired:
    """Is R_90(base) - R_90(other) larger in ``first`` than in ``second``, repetition by repetition?"""
    base, other = names

    def gain(case: Mapping[str, Runs]) -> dict[tuple[int, int], tuple[float, float]]:
        result = {}
        for a, b in pairs(case[other], case[base]):
            low, high = ends((a, b), paper.LEVEL)
            result[a.seed, a.repetition] = (float(low[1] - high[0]), float(high[1] - low[0]))
        return result

    x, y = gain(first), gain(second)
    shared = sorted(x.keys() & y.keys())
    low, high = (np.array([x[key][k] - y[key][1 - k] for key in shared]) for k in (0, 1))
    return paired(low, high)


def temperature(weighting: str) -> float | None:
    """T of "fedsoftmax:T" (1 without a number); infinity for "fedavg", its limit; None for other weightings."""
    kind, _, argument = weighting.partition(":")
    if kind == "fedavg":
        return math.inf
    return float(argument or 1) if kind == "fedsoftmax" else None


def trend(columns: Sequence[Runs], level: float = paper.LEVEL) -> estimates.Trend | None:
    """Does R_90 rise or fall along the columns? Over the seeds that every column has, and whose order is known."""
    result = [{(run.seed, run.repetition): run for run in column} for column in columns]
    shared = sorted(set.intersection(*(set(column) for column in result))) if result else []
    rows = [row for key in shared if (row := _ordered([column[key] for column in result], level)) is not None]
    return estimates.trend(rows) if rows and len(columns) > 2 else None


def _ordered(runs: Runs, level: float) -> list[float] | None:
    """R_90 of one seed, infinity where not reached; None where a run ended too early for its place to be known.

    Runs that have not reached the level tie if they went on equally long, at least until the last other one had.
    """
    result = [rounds_to(run.accuracy, level) or math.inf for run in runs]
    lasted = {run.rounds for run, r in zip(runs, result, strict=True) if math.isinf(r)}
    latest = max((r for r in result if math.isfinite(r)), default=0)
    return None if len(lasted) > 1 or any(rounds < latest for rounds in lasted) else result
