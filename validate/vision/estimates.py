"""Few repetitions, honest limits: means and medians with intervals, paired differences with exact p-values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from fedbounds.model.problem import Array

CONFIDENCE = 0.95
# Below this many repetitions even the interval from the smallest to the largest covers a median less often than 95%.
MIN_ORDER = 6
# All sign patterns of up to this many pairs are enumerated (65536 means); more are drawn.
MAX_ENUMERATED = 16
DRAWS = 20_000
# Sums of the same numbers in another order agree to this relative error: equal statistics count as equal.
ROUNDING = 1e-12

Kind = Literal["mean", "median"]
Limits = tuple[float, float]
ANYWHERE: Limits = (-math.inf, math.inf)
SHARE: Limits = (0.0, 1.0)


@dataclass(frozen=True)
class Estimate:
    """A mean or median of ``count`` repetitions with ``lower`` <= it <= ``upper`` at ``confidence``.

    Limits are infinite where the repetitions give none, and ``confidence`` is then 0. ``least`` and ``most``: of
    censored repetitions only these ends of the median may be known, and ``value`` is then nan; otherwise both
    equal ``value``. ``note`` says what went wrong.
    """

    kind: Kind
    value: float
    lower: float
    upper: float
    least: float
    most: float
    count: int
    confidence: float
    note: str = ""


def mean(values: ArrayLike, confidence: float = CONFIDENCE, within: Limits = ANYWHERE) -> Estimate:
    """Mean of repetitions (n,) with Student's interval: xbar -/+ t s/sqrt(n), n - 1 degrees of freedom.

    The level is nominal: exact for Gaussian repetitions only. One repetition, or repetitions that all came
    out equal (possible as R_90 is a whole number), give no spread and so no limits. nan entries are left out
    and counted in the note. ``within``: the values that a mean can have at all, to which limits are cut.
    """
    from scipy.stats import t

    x = np.asarray(values, dtype=float).ravel()
    kept = x[np.isfinite(x)]
    n, note = len(kept), f"undefined in {len(x) - len(kept)} of {len(x)} runs" if len(kept) < len(x) else ""
    if n == 0:
        return Estimate("mean", math.nan, -math.inf, math.inf, math.nan, math.nan, 0, 0.0, note or "no repetitions")
    centre, spread = float(kept.mean()), float(kept.std(ddof=1)) if n > 1 else 0.0
    if spread <= ROUNDING * float(np.abs(kept).max()):
        why = "one repetition: no interval" if n == 1 else f"all {n} repetitions are equal: no interval"
        note = f"{note}; {why}" if note else why
        return Estimate("mean", centre, -math.inf, math.inf, centre, centre, n, 0.0, note)
    half = float(t.isf((1 - confidence) / 2, n - 1)) * spread / math.sqrt(n)
    lower, upper = max(centre - half, within[0]), min(centre + half, within[1])
    return Estimate("mean", centre, lower, upper, centre, centre, n, confidence, note)


def median(lowest: ArrayLike, highest: ArrayLike, confidence: float = CONFIDENCE) -> Estimate:
    """Median of repetitions (n,) each known to lie in [lowest, highest], with an interval of order statistics.

    [L_(k), U_(n+1-k)] of the sorted ends covers the median of any law with probability at least
    1 - 2 P(Bin(n, 1/2) < k); k is the largest with that at least ``confidence``, and ``confidence`` of the
    result is what it attains. Fewer than 6 repetitions cannot attain 95%: k = 1 then, and the note says so.
    A right-censored repetition has an infinite upper end.
    """
    from scipy.stats import binom

    low, high = np.sort(np.asarray(lowest, dtype=float)), np.sort(np.asarray(highest, dtype=float))
    n = len(low)
    if n == 0:
        return Estimate("median", math.nan, -math.inf, math.inf, math.nan, math.nan, 0, 0.0, "no repetitions")
    k = max(1, int(binom.ppf((1 - confidence) / 2, n, 0.5)))
    attained = 1 - 2 * float(binom.cdf(k - 1, n, 0.5))
    note = ""
    if attained < confidence:
        note = (
            f"an interval of {n} repetitions covers the median at {attained:.4g} at most"
            if n > 1
            else "one repetition: no interval"
        )
    least, most = float(np.median(low)), _middle(high)
    limits = (float(low[k - 1]), float(high[n - k])) if attained > 0 else (-math.inf, math.inf)
    return Estimate("median", least if least == most else math.nan, *limits, least, most, n, attained, note)


def _middle(ordered: Array) -> float:
    """The median, without inf - inf."""
    a, b = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return float((a + b) / 2) if math.isfinite(b) else math.inf


@dataclass(frozen=True)
class PValue:
    """An exact two-sided p-value, which test gave it, and the smallest one that so many pairs can give."""

    name: str
    p_value: float
    smallest: float


def sign_flips(differences: ArrayLike, seed: int = 0) -> PValue:
    """Sign-flip test of paired differences (n,): are both members of a pair exchangeable?

    p = share of the 2^n sign patterns whose |mean| is at least that observed: exact for n <= 16, else from
    20000 drawn patterns, the observed one counted among them. Source: Fisher (1935), "The Design of Experiments".
    """
    d = np.asarray(differences, dtype=float)
    n = len(d)
    if n == 0:
        return PValue("sign flips", 1.0, 1.0)
    if n <= MAX_ENUMERATED:
        signs = 1 - 2.0 * (np.arange(2**n)[:, None] >> np.arange(n) & 1)
    else:
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], (DRAWS, n))
        signs[0] = 1
    reached = np.abs(signs @ d) >= abs(d.sum()) - ROUNDING * np.abs(d).sum()
    return PValue("sign flips", float(reached.mean()), max(2.0 ** (1 - n), 1 / len(signs)))


def signs(lowest: ArrayLike, highest: ArrayLike) -> PValue:
    """Sign test of paired differences (n,), each known to lie in [lowest, highest] (censored pairs).

    Differences of 0 are left out. Pairs whose sign is unknown are counted, or left out, in the way that makes the
    two-sided binomial p-value largest, so that the level holds whatever the unknown values are.
    """
    from scipy.stats import binomtest

    low, high = np.asarray(lowest, dtype=float), np.asarray(highest, dtype=float)
    up, down = int((low > 0).sum()), int((high < 0).sum())
    unknown = len(low) - up - down - int(((low == 0) & (high == 0)).sum())
    possible = [(up + k, down + m) for k in range(unknown + 1) for m in range(unknown + 1 - k)]
    values = [float(binomtest(k, k + m).pvalue) if k + m else 1.0 for k, m in possible]
    return PValue("signs", max(values), min(1.0, 2.0 ** (1 - len(low))))


def paired(lowest: ArrayLike, highest: ArrayLike, confidence: float = CONFIDENCE) -> tuple[Estimate, PValue]:
    """The difference of pairs (n,) and the p-value of "none".

    Mean and sign flips (nan entries left out) where all are known; median and sign test where some are known only
    to lie between ``lowest`` and ``highest``.
    """
    low, high = np.asarray(lowest, dtype=float), np.asarray(highest, dtype=float)
    if np.array_equal(low, high, equal_nan=True):
        return mean(low, confidence), sign_flips(low[np.isfinite(low)])
    return median(low, high, confidence), signs(low, high)


@dataclass(frozen=True)
class Trend:
    """Mean rank correlation over repetitions (-1 ... 1) and the p-value of "no trend" (permutation)."""

    correlation: float
    p_value: float
    repetitions: int


def trend(table: ArrayLike, seed: int = 0) -> Trend:
    """Does a row of ``table`` (repetitions, conditions), the conditions in order, rise or fall?

    Statistic: the mean over rows of Spearman's correlation with the order of the columns (a row of ties counts
    0; infinite entries tie as the largest). p: share of 20000 drawings, each permuting every row by itself, whose
    |statistic| is at least that observed, the observed one counted among them: valid with ties.
    """
    from scipy.stats import rankdata

    values = np.atleast_2d(np.asarray(table, dtype=float))
    ranks: Array = rankdata(values, axis=1)
    centred = ranks - ranks.mean(axis=1, keepdims=True)
    order = np.arange(values.shape[1]) - (values.shape[1] - 1) / 2
    size = np.sqrt((centred**2).sum(axis=1) * (order**2).sum())
    unit = np.divide(centred, size[:, None], out=np.zeros_like(centred), where=size[:, None] > 0)
    observed = float((unit @ order).mean())
    drawn = _permuted(unit, order, np.random.default_rng(seed))
    reached = int((np.abs(drawn) >= abs(observed) - ROUNDING).sum())
    return Trend(observed, (reached + 1) / (DRAWS + 1), len(values))


def _permuted(unit: Array, order: Array, rng: np.random.Generator) -> Array:
    """The statistic of DRAWS tables whose rows are permuted independently."""
    total = np.zeros(DRAWS)
    for row in unit:
        total += rng.permuted(np.broadcast_to(row, (DRAWS, len(row))), axis=1) @ order
    return total / len(unit)


def holm(rates: Sequence[float]) -> list[float]:
    """The smallest rates at which each of several decisions stands in the family of all (Holm 1979).

    The k-th smallest of n becomes the largest of (n - j + 1) rate_j over j <= k, at most 1.
    """
    adjusted, largest = [0.0] * len(rates), 0.0
    for rank, index in enumerate(sorted(range(len(rates)), key=rates.__getitem__)):
        largest = max(largest, (len(rates) - rank) * rates[index])
        adjusted[index] = min(1.0, largest)
    return adjusted


def text(estimate: Estimate, digits: int, scale: float = 1.0) -> str:
    """``12.4 [11.8, 13.0]``; a median only known from one side is ``>=51``, an open interval ``[31, inf)``."""

    def number(x: float) -> str:
        return f"{scale * x:g}" if estimate.kind == "median" else f"{scale * x:z.{digits}f}"

    known = (math.isfinite(estimate.least), math.isfinite(estimate.most))
    if not any(known):
        return "-"
    shown = number(estimate.least if known[0] else estimate.most)
    if known == (True, True) and estimate.least != estimate.most:
        shown = f"{shown} to {number(estimate.most)}"
    elif known != (True, True):
        shown = (">=" if known[0] else "<=") + shown
    lower, upper = estimate.lower, estimate.upper
    if math.isinf(lower) and math.isinf(upper):
        return shown
    left = f"[{number(lower)}" if math.isfinite(lower) else "(-inf"
    return f"{shown} {left}, " + (f"{number(upper)}]" if math.isfinite(upper) else "inf)")
