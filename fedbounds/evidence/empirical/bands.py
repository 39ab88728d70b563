"""Simultaneous confidence bands for means of skewed replicates, and the floor of a 1/T decay.

Squared distances are right-skewed: a sample whose values happen to be small also has a small standard
deviation, so Student's quantiles miss the mean far more often above the band than below it. The
critical values here are those of the t-statistic of the most skewed Gaussian quadratic form, a single
chi-square variable; its heavier tail serves both sides, as a paired difference may be skewed either way.
No band covers every law (Bahadur and Savage 1956); measured miss rates are in docs/calibration.md.
"""

from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedbounds.errors import reject
from fedbounds.theory.reading import ERROR_RATE

Array = NDArray[np.float64]

# Below this many replicates the critical values exceed 10 even at level 1e-2: no band is given.
MIN_REPLICATES = 8
# Replicates of a deterministic run agree to rounding; a larger spread, relative to the largest entry, is a mistake.
DETERMINISTIC_SPREAD = 1e-9
# A standard deviation below this multiple of the largest |entry| of its column is rounding, not variation.
ROUNDING = 64 * float(np.finfo(float).eps)

# The interpolation is 1.6% low between the first two levels, so the first only guides the curve.
MAX_LEVEL = 0.1

# q with P(sqrt(R) (1 - xbar)/s > q) = level for R chi-square variables (one degree of freedom), a row per R;
# written by `python -m validate.critical_values`, relative standard error below 6e-4.
LEVELS = (0.25, 0.1, 0.03, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-10, 1e-12)
# fmt: off
TABLE: dict[int, tuple[float, ...]] = {
    8: (1.3877, 3.2141, 6.3369, 10.158, 22.658, 45.045, 84.987, 156.12, 282.69, 507.83, 1620.3, 5138.4),
    10: (1.2618, 2.8369, 5.3568, 8.2507, 16.881, 30.645, 52.536, 87.294, 142.43, 229.85, 588.06, 1487.9),
    12: (1.1784, 2.5963, 4.7606, 7.1386, 13.801, 23.627, 38.101, 59.39, 90.676, 136.63, 303.13, 661.92),
    14: (1.1211, 2.4327, 4.3645, 6.4176, 11.913, 19.57, 30.243, 45.107, 65.79, 94.552, 190.11, 374.66),
    16: (1.0771, 2.3106, 4.0771, 5.9068, 10.634, 16.942, 25.373, 36.64, 51.689, 71.776, 134.34, 245.64),
    20: (1.0148, 2.1402, 3.6854, 5.2256, 9.007, 13.747, 19.716, 27.241, 36.728, 48.684, 82.724, 136.72),
    24: (0.97203, 2.0256, 3.4284, 4.7886, 8.0103, 11.877, 16.552, 22.218, 29.089, 37.423, 59.778, 92.627),
    32: (0.91607, 1.879, 3.108, 4.2554, 6.8451, 9.7788, 13.142, 17.016, 21.486, 26.648, 39.506, 56.671),
    48: (0.85893, 1.7306, 2.7888, 3.7343, 5.7547, 7.9011, 10.223, 12.755, 15.527, 18.571, 25.594, 34.098),
    64: (0.82726, 1.6502, 2.6201, 3.4646, 5.213, 7.0037, 8.8791, 10.864, 12.978, 15.236, 20.245, 26.011),
    96: (0.79274, 1.5638, 2.4414, 3.1824, 4.6617, 6.1141, 7.5803, 9.0811, 10.63, 12.235, 15.648, 19.368),
    128: (0.77319, 1.5158, 2.3438, 3.0305, 4.3718, 5.6563, 6.9256, 8.2002, 9.4924, 10.81, 13.545, 16.441),
    256: (0.74037, 1.4355, 2.1813, 2.7789, 3.8994, 4.9235, 5.8959, 6.8384, 7.7634, 8.6788, 10.501, 12.333),
    512: (0.71892, 1.3843, 2.0796, 2.6237, 3.6153, 4.4924, 5.3023, 6.0681, 6.8031, 7.5156, 8.8941, 10.233),
    1024: (0.70493, 1.3513, 2.0149, 2.5257, 3.4389, 4.2284, 4.9434, 5.6079, 6.2357, 6.8355, 7.9734, 9.0521),
}
# fmt: on


@dataclass(frozen=True)
class Band:
    """Means (m,) with simultaneous limits: P(lower <= mean of the law <= upper everywhere) >= 1 - error_rate.

    Nominal for Gaussian quadratic forms; ``family`` says over what the error rate is shared.
    """

    mean: Array
    lower: Array
    upper: Array
    error_rate: float
    family: str


# (claim, reading) -> the tested times (m,), the means (m,) of both sides there, and the band of their difference.
ComparedBands = dict[tuple[str, str], tuple[NDArray[np.int64], Array, Array, Band]]


@lru_cache(maxsize=4096)
def critical_value(replicates: int, level: float) -> float:
    """The q with P(sqrt(R) (mean - xbar)/s > q) = level for R chi-square variables, always above Student's quantile.

    Interpolated in TABLE (log q, monotone piecewise cubic in 1/sqrt(R) and in the normal quantile of
    the level; measured error below 0.5%); beyond the last R the excess over the normal quantile shrinks
    as 1/sqrt(R), its leading order, which overstates it. Infinite below MIN_REPLICATES.
    Errors: InputError for a level outside [1e-12, 0.1]. Source: validate/critical_values.py.
    """
    if not LEVELS[-1] <= level <= MAX_LEVEL:
        raise reject(
            f"the level of one comparison, error_rate/(2 m), must lie in [{LEVELS[-1]:g}, {MAX_LEVEL:g}]",
            level,
            "change the error rate or test fewer times",
        )
    if replicates < MIN_REPLICATES:
        return float("inf")
    z = normal_quantile(level)
    sizes = np.array(list(TABLE))
    logs = _monotone(np.array(list(map(normal_quantile, LEVELS))), np.log(list(TABLE.values())).T, z)
    if replicates > sizes[-1]:
        return z + (float(np.exp(logs[-1])) - z) * float(np.sqrt(sizes[-1] / replicates))
    return float(np.exp(_monotone(-1 / np.sqrt(sizes), logs, -1 / np.sqrt(replicates))))


def normal_quantile(level: float) -> float:
    """The z with P(Z > z) = level for a normal Z: scipy's, whose import takes a third of a second, up to rounding."""
    return -NormalDist().inv_cdf(level)


def _monotone(x: Array, y: Array, at: float) -> Array:
    """The monotone piecewise cubic (Fritsch and Butland 1984) through strictly monotone columns y (n, ...) at x (n,).

    scipy's PchipInterpolator to the last bit, whose import takes a quarter of a second.
    """
    h = np.diff(x).reshape(-1, *[1] * (y.ndim - 1))
    m = np.diff(y, axis=0) / h
    near, far = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    inside = 1 / ((near / m[:-1] + far / m[1:]) / (near + far))
    ends = [((2 * h[i] + h[j]) * m[i] - h[i] * m[j]) / (h[i] + h[j]) for i, j in ((0, 1), (-1, -2))]
    first, last = (np.where(end * m[i] > 0, end, 0.0) for i, end in zip((0, -1), ends, strict=True))
    d = np.concatenate([[first], inside, [last]])
    i = int(np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(m) - 1))
    s, t = at - x[i], (d[i] + d[i + 1] - 2 * m[i]) / h[i]
    return np.asarray(y[i] + d[i] * s + ((m[i] - d[i]) / h[i] - t) * (s * s) + t / h[i] * (s * s * s))


def columns_that_vary(samples: Array, deterministic: NDArray[np.bool_]) -> bool:
    """Whether columns of samples (R, m) that should not vary do, by more than rounding."""
    spread = np.max(np.ptp(samples, axis=0), where=deterministic, initial=0.0)
    return bool(spread > DETERMINISTIC_SPREAD * np.abs(samples).max())


def band(samples: ArrayLike, error_rate: float = ERROR_RATE, deterministic: bool | NDArray[np.bool_] = False) -> Band:
    """Simultaneous band for the means of ``samples`` (R, m): rows independent, columns dependent in any way.

    xbar -/+ critical_value(R, error_rate/(2m)) s/sqrt(R): Bonferroni over m columns and two sides.
    ``deterministic`` (a bool, or a mask (m,)) is the caller's word that a column does not vary: its limits
    are then the extremes of its replicates, which agree to rounding. A column that merely came out
    constant has unbounded limits, as do all others for R < MIN_REPLICATES.
    Errors: InputError for non-finite entries, a wrong shape or rate, or deterministic columns that vary.
    """
    x = np.asarray(samples, dtype=float)
    if x.ndim != 2 or x.size == 0:
        raise reject("samples need shape (replicates, m)", f"shape {x.shape}", "give one row a replicate")
    low, high = x.min(axis=0), x.max(axis=0)
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise reject("samples must be finite", "nan or infinity", "drop the times at which the run diverged")
    fixed = np.broadcast_to(np.asarray(deterministic, dtype=bool), low.shape)
    size = np.maximum(np.abs(low), np.abs(high))
    if columns_that_vary(x, fixed):
        spread = np.max(high - low, where=fixed, initial=0.0)
        raise reject("deterministic columns must not vary", f"spread {spread:.3g}", "pass deterministic=False")
    mean, std = x[0], np.zeros_like(x[0])
    if len(x) > 1:
        # Scaling by powers of two is exact and keeps the squares in range.
        unit = np.ldexp(1.0, np.frexp(np.where(size > 0, size, 1.0))[1])
        scaled = x / unit
        mean, std = np.mean(scaled, axis=0) * unit, np.std(scaled, axis=0, ddof=1) * unit
    result = band_from_moments(mean, np.where(std > ROUNDING * size, std, 0.0), len(x), error_rate, fixed)
    lower, upper = np.where(fixed, low, result.lower), np.where(fixed, high, result.upper)
    return Band(np.clip(mean, low, high), lower, upper, error_rate, result.family)


def band_from_moments(
    mean: Array,
    std: Array,
    replicates: int,
    error_rate: float = ERROR_RATE,
    deterministic: bool | NDArray[np.bool_] = False,
) -> Band:
    """The band of :func:`band` from means (m,) and standard deviations (m,).

    ``std`` has divisor R - 1; where it is 0 the limits are unbounded unless the column is deterministic.
    Errors: InputError for a rate outside (0, 1) or a level beyond the table.
    """
    mean, std = np.asarray(mean, dtype=float), np.asarray(std, dtype=float)
    if not 0 < error_rate < 1:
        raise reject("the error rate must lie strictly between 0 and 1", error_rate, "use for example 1e-3")
    q = critical_value(replicates, error_rate / (2 * mean.size))
    with np.errstate(over="ignore"):
        half = np.where(std > 0, q * np.where(std > 0, std, 1.0) / np.sqrt(replicates), np.inf)
    half = np.where(deterministic, 0.0, half)
    family = f"{mean.size} means x 2 sides, Bonferroni, chi-square reference, {replicates} replicates"
    return Band(mean, mean - half, mean + half, error_rate, family)
