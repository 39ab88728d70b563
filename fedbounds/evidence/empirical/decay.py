"""How fast the measured gap falls at the end of a run: its log-log slope with an interval, and the floor.

The slope is that of log E[F(w_T) - F*] in log(T + gamma) between the last two quarters of log(T + gamma). Its
interval is Fieller's: the slopes a at which the mean of (late gap) - e^(a d) (earlier gap) may be 0, with d their
distance in log(T + gamma). A run of finite length never proves a rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fedbounds.evidence.empirical.bands import Array, critical_value
from fedbounds.evidence.empirical.error_floor import floor_fit
from fedbounds.theory.verdict import finite_or_none

# The power of T that O(1/T) asks for, and the slowest upper end of an interval that still says something of it.
FIRST_ORDER, INFORMATIVE = -1.0, -0.5


@dataclass(frozen=True)
class Decay:
    """``slope`` with its interval, the interval of the ``floor`` c0, and the smallest floor that is ``excluded``.

    ``decision``: "floor", "no-floor-seen" or "undecided" (`error_floor.floor_fit`). None: not estimated.
    """

    slope: float | None
    slope_low: float | None
    slope_high: float | None
    floor_low: float | None
    floor_high: float | None
    excluded: float | None
    decision: str
    error_rate: float

    @property
    def answer(self) -> str:
        """Whether the run looks like O(1/T): "yes", "no" (a floor), "slower" (at the end) or "open"."""
        if self.decision == "floor":
            return "no"
        if self.slope_low is None or self.slope_high is None:
            return "open"
        if self.slope_low > FIRST_ORDER:
            return "slower"
        return "yes" if self.decision == "no-floor-seen" and self.slope_high < INFORMATIVE else "open"


def decay_of(gaps: Array, times: Array, gamma: float, error_rate: float, deterministic: bool = False) -> Decay:
    """The decay of the mean of ``gaps`` (R, K) at ``times`` (K,).

    Raises InputError for wrong shapes, unordered times or T_min + gamma <= 0.
    """
    fit = floor_fit(gaps, times, gamma, error_rate, deterministic=deterministic)
    slope, low, high = _slope(np.asarray(gaps), np.log(np.asarray(times) + gamma), error_rate, deterministic)
    slopes = finite_or_none(slope), finite_or_none(low), finite_or_none(high)
    floors = finite_or_none(fit.c0[0]), finite_or_none(fit.c0[1]), finite_or_none(fit.excluded)
    return Decay(*slopes, *floors, fit.decision, 0.0 if deterministic else error_rate)


def _slope(gaps: Array, log_x: Array, error_rate: float, deterministic: bool) -> tuple[float, float, float]:
    """(slope, low, high); nan where a quarter holds no time or a mean is not positive."""
    unknown = (math.nan, math.nan, math.nan)
    if len(log_x) < 2:
        return unknown
    quarters_back = 4 * (log_x[-1] - log_x) / (log_x[-1] - log_x[0])
    density = np.gradient(log_x)
    late, early = (np.where((quarters_back >= k) & (quarters_back <= k + 1), density, 0.0) for k in (0, 1))
    if not (late.any() and early.any()):
        return unknown
    late, early = late / late.sum(), early / early.sum()
    distance = float((late - early) @ log_x)
    samples = gaps @ np.stack([late, early], axis=1)
    end, before = samples.mean(axis=0)
    if not (distance > 0 and end > 0 and before > 0):
        return unknown
    slope = math.log(end / before) / distance
    if deterministic:
        return slope, slope, slope
    replicates = len(samples)
    q = critical_value(replicates, error_rate / 2)
    if not math.isfinite(q):
        return slope, math.nan, math.nan
    (a, b), (_, c) = np.array([[end**2, end * before], [0, before**2]]) - q**2 / replicates * np.cov(samples.T)
    # a - 2 b k + c k^2 <= 0 at the ratios k of the two means that are not rejected.
    root = b**2 - a * c
    if not (c > 0 and root >= 0):
        return slope, math.nan, math.nan
    ratios = (b - math.sqrt(root)) / c, (b + math.sqrt(root)) / c
    low, high = (math.log(ratio) / distance if ratio > 0 else math.nan for ratio in ratios)
    return slope, low, high
