"""How a sequence of gaps decays: the floor of a 1/T decay, and the rate of a geometric one."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fedbounds.errors import reject
from fedbounds.evidence.empirical.bands import ROUNDING, Array, band, critical_value
from fedbounds.theory.reading import ERROR_RATE
from fedbounds.theory.verdict import finite_or_none

Interval = tuple[float, float]
# Times must span this factor (T_max + gamma)/(T_min + gamma) before a fit may tell 1/T from a constant.
MIN_SPAN = 4.0
# A fit needs this many times in each window: two coefficients and two more to show a misfit.
MIN_POINTS = 4
# "floor" needs the gap itself, over the last two quarters of log(T + gamma), to fall slower than (T + gamma)^-1/4,
# which excludes every non-negative mixture of faster powers.
FLAT_GAP = 0.25
# ... and the fitted floor to fall, from the early half to the late, slower than the power -1/10: with a true
# floor and a 1/T transient it does not fall at all.
FLAT_FLOOR = 0.1
# A gap that falls faster than (T + gamma)^-1/2 has, if it is c0 + c1/(T + gamma), less than half of itself in c0.
STEEP_GAP = 0.5
# The interval of c0 allows for a transient (T + gamma)^-p with any single p from here up.
SLOWEST_TRANSIENT = 0.5
# "no-floor-seen" must exclude floors as large as half of the present gap, or it would say nothing.
INFORMATIVE = 0.5
# A floor below this fraction of the largest gap is rounding: distances near 1e-10, relative to where they started.
NEGLIGIBLE = 1e-20


@dataclass(frozen=True)
class FloorFit:
    """What a run says about gap(T) = c0 + c1/(T + gamma); it never says that a rate is proved.

    ``c0``, ``c1``: hulls of the simultaneous intervals of two nested windows, that of c0 also over a
    correction for transients other than 1/T. ``power``: p if the gap falls as (T + gamma)^-p at the end (0 at a
    floor, nan where unknown). ``excluded``: the smallest floor excluded, if the gap does not rise again.
    ``decision``: "floor", "no-floor-seen" or "undecided".
    """

    c0: Interval
    c1: Interval
    span: float
    power: float
    excluded: float
    decision: str
    detail: str


def floor_fit(
    gaps: ArrayLike,
    times: ArrayLike,
    gamma: float,
    error_rate: float = ERROR_RATE,
    deterministic: bool = False,
) -> FloorFit:
    """Does the mean of ``gaps`` (R, K) at ``times`` (K,) approach a floor c0 > 0, or 0 like c1/(T + gamma)?

    With x = T + gamma, each replicate is fitted by least squares (weights x^2 dlog x) on the last half and the last
    three quarters of log x; the fit on the first half (the middle half if times are few) bounds the error of c0 from
    a transient x^-p, p >= 1/2. One simultaneous band over these functionals decides. A decay slower than x^(-1/10)
    cannot be told from a floor. Errors: InputError for wrong input.
    """
    y, x = _floor_input(gaps, times, gamma)
    span = float(x[-1] / x[0])
    functionals = _floor_functionals(x) if x.size > 1 and span >= MIN_SPAN else None
    if functionals is None:
        inf = float("inf")
        why = f"T + gamma spans a factor {span:.3g} in {x.size} times: too little to tell a floor from a decay"
        return FloorFit((-inf, inf), (-inf, inf), span, float("nan"), inf, "undecided", why)
    rows = functionals.rows
    estimates = band(y @ np.array(list(rows.values())).T, error_rate, deterministic)
    # Rounding of these sums counts as uncertainty: an exact 1/T law has c0 = +/- 1e-17, which is no floor.
    rounding = ROUNDING * np.array([np.abs(row) @ np.abs(y).mean(axis=0) for row in rows.values()])
    low = dict(zip(rows, (estimates.lower - rounding).tolist(), strict=True))
    high = dict(zip(rows, (estimates.upper + rounding).tolist(), strict=True))
    resolution = NEGLIGIBLE * float(np.abs(y).max())
    return _decide(low, high, functionals, y.mean(axis=0), span, resolution)


def _floor_input(gaps: ArrayLike, times: ArrayLike, gamma: float) -> tuple[Array, Array]:
    """The gaps (R, K) and x = T + gamma (K,), checked."""
    y, x = np.asarray(gaps, dtype=float), np.asarray(times, dtype=float) + gamma
    if y.ndim != 2 or x.shape != y.shape[1:] or x.size < 1:
        raise reject("gaps need shape (R, K) and times (K,)", f"{y.shape} and {x.shape}", "give one column a time")
    if not (np.isfinite(x).all() and x[0] > 0 and (np.diff(x) > 0).all()):
        received = f"T + gamma from {x[0]:.6g} to {x[-1]:.6g}"
        raise reject("T + gamma must be positive and increasing", received, "sort the times; use gamma > 0")
    return y, x


@dataclass(frozen=True)
class _Functionals:
    """Rows (K,) acting on gaps, and the log-distance ``step`` between the end blocks.

    A bias of c0 proportional to x^-p is e^(p shift) times as large in the early half, so that c0 lies between
    the late value (p infinite) and the corrected one (p = SLOWEST_TRANSIENT), both linear in the gaps.
    """

    rows: dict[str, Array]
    step: float
    end: Array
    before: Array


def _floor_functionals(x: Array) -> _Functionals | None:
    """The functionals of :func:`floor_fit` on times x, or None where a window holds too few times."""
    log_x = np.log(x)
    density = np.gradient(log_x)
    # Distance from the end in quarters of log x; the slack keeps a point on a boundary, whatever the rounding.
    back = 4 * (log_x[-1] - log_x) / (log_x[-1] - log_x[0])
    late, long, first, middle, end, before = (
        np.where((back >= a - 1e-9) & (back <= b + 1e-9), density, 0.0)
        for a, b in ((0, 2), (0, 3), (2, 4), (1, 3), (0, 1), (1, 2))
    )
    # Evenly spaced times are few early in log x: the middle half then stands in for the first.
    moved = first if np.count_nonzero(first) >= MIN_POINTS else middle
    if min(np.count_nonzero(w) for w in (late, moved)) < MIN_POINTS or not (end.any() and before.any()):
        return None
    (c0_late, c1_late), (c0_long, c1_long), (c0_moved, _) = (_fit_rows(x, w) for w in (late, long, moved))
    late, moved, end, before = (w / w.sum() for w in (late, moved, end, before))
    shift, step = float((late - moved) @ log_x), float((end - before) @ log_x)
    correction = (c0_late - c0_moved) / np.expm1(SLOWEST_TRANSIENT * shift)
    rows = {
        "c0 late": c0_late,
        "c0 long": c0_long,
        "c1 late": c1_late,
        "c1 long": c1_long,
        "c0 corrected": c0_late + correction,
        "c0 mirrored": c0_late - correction,
        "flat floor": c0_late - np.exp(-FLAT_FLOOR * shift) * c0_moved,
        "flat gap": end - np.exp(-FLAT_GAP * step) * before,
        "steep gap": end - np.exp(-STEEP_GAP * step) * before,
        "last": (np.arange(x.size) == x.size - 1).astype(float),
    }
    return _Functionals(rows, step, end, before)


def _fit_rows(x: Array, weight: Array) -> Array:
    """The rows (2, K) that map gaps to the least-squares (c0, c1), with weights ``weight`` x^2."""
    root = np.sqrt(weight) * x
    # The second column is scaled to 1 at the end, so that the system stays well conditioned.
    basis = np.stack([np.ones_like(x), x[-1] / x], axis=1)
    return np.asarray(np.linalg.pinv(basis * root[:, None]) * root * np.array([[1.0], [x[-1]]]))


def _decide(
    low: dict[str, float],
    high: dict[str, float],
    on: _Functionals,
    mean: Array,
    span: float,
    resolution: float,
) -> FloorFit:
    """The decision from the simultaneous limits of the functionals; see :func:`floor_fit`."""
    kinds = ("c0 late", "c0 long", "c0 corrected")
    c0 = (min(low[kind] for kind in kinds), max(high[kind] for kind in kinds))
    c1 = (min(low["c1 late"], low["c1 long"]), max(high["c1 late"], high["c1 long"]))
    last = max(high["last"], resolution)
    steep = high["steep gap"] <= 0
    # A transient that is not yet a power (a slow exponential) can bias c0 the other way: allow as much there.
    excluded = max(c0[1], high["c0 mirrored"], 0.0)
    end, before = float(on.end @ mean), float(on.before @ mean)
    power = float(np.log(before / end)) / on.step if min(end, before) > 0 else float("nan")
    if c0[0] > resolution and low["flat gap"] > 0 and low["flat floor"] > 0:
        decision, detail = "floor", f"a floor: c0 in [{c0[0]:.4g}, {c0[1]:.4g}]; the gap is flat at the end"
    elif last <= resolution or (c0[0] <= 0 and (steep or excluded <= INFORMATIVE * float(mean[-1]))):
        decision, excluded = "no-floor-seen", min(excluded, last) if steep or last <= resolution else excluded
        detail = f"no floor above {excluded:.4g} in this run; slope c1 in [{c1[0]:.4g}, {c1[1]:.4g}]"
    else:
        decision = "undecided"
        detail = f"c0 in [{c0[0]:.4g}, {c0[1]:.4g}]; the gap ends at {mean[-1]:.4g}, falling like T^-{power:.2g}"
    return FloorFit(c0, c1, span, power, excluded, decision, detail)


# The power of T that O(1/T) asks for, and the slowest upper end of an interval that still says something of it.
FIRST_ORDER, INFORMATIVE_SLOPE = -1.0, -0.5


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
        """Whether the run looks like O(1/T): "yes", "no" (a floor), "slower" or "stalled" (at the end), or "open"."""
        if self.decision == "floor":
            return "no"
        if self.slope_low is None or self.slope_high is None:
            return "open"
        if self.slope_low > FIRST_ORDER:
            return "stalled" if self.slope_low > -FLAT_GAP else "slower"
        return "yes" if self.decision == "no-floor-seen" and self.slope_high < INFORMATIVE_SLOPE else "open"


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
