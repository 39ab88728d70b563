"""Few repetitions: means and medians with intervals, and paired differences with exact p-values.

Repetitions are a frame with columns ``low`` and ``high``, a row a repetition: the ends between which its value lies.
A run that never reached a level is censored: it counts as anything from the round after its last to infinity. The
mean of these is not identified, and leaving them out would flatter the slow weighting: a median stands then.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fedbounds.model.problem import Array

CONFIDENCE = 0.95
# Below this many repetitions even the interval from the smallest to the largest covers a median less often than 95%.
MIN_ORDER = 6
# Sums of the same numbers in another order agree to this relative error: such repetitions count as equal.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Estimate:
    """A mean or median with ``lower`` <= it <= ``upper`` at ``confidence``; limits are infinite where there are none.

    Of censored repetitions the median may be known to lie between ``least`` and ``most`` only.
    """

    kind: str
    least: float
    most: float
    lower: float
    upper: float
    count: int
    confidence: float

    @property
    def value(self) -> float:
        return self.least if self.least == self.most else math.nan

    def text(self, digits: int, scale: float = 1.0) -> str:
        """``12.4 [11.8, 13.0]``; a median only known from one side is ``>=51``, an open interval ``[31, inf)``."""

        def number(x: float) -> str:
            return f"{scale * x:g}" if self.kind == "median" else f"{scale * x:z.{digits}f}"

        if not math.isfinite(self.least):
            return "-"
        shown = number(self.least)
        if self.least != self.most:
            shown = f"{shown} to {number(self.most)}" if math.isfinite(self.most) else f">={shown}"
        if math.isinf(self.lower) and math.isinf(self.upper):
            return shown
        left = f"[{number(self.lower)}" if math.isfinite(self.lower) else "(-inf"
        return f"{shown} {left}, " + (f"{number(self.upper)}]" if math.isfinite(self.upper) else "inf)")


def known(values: pd.Series) -> pd.DataFrame:
    """Repetitions of which each value is known."""
    return pd.DataFrame({"low": values, "high": values}, dtype=float)


def estimate(
    found: pd.DataFrame, confidence: float = CONFIDENCE, within: tuple[float, float] = (-math.inf, math.inf)
) -> Estimate:
    """The mean where every value is known, else the median. ``within`` are the values that a mean can have at all."""
    low, high = found.low.to_numpy(), found.high.to_numpy()
    return _mean(low, confidence, within) if np.array_equal(low, high) else _median(low, high, confidence)


def _mean(x: Array, confidence: float, within: tuple[float, float]) -> Estimate:
    """Student's interval, exact for Gaussian repetitions only. Equal ones give no spread, and so no limits."""
    from scipy.stats import ttest_1samp

    centre = float(x.mean()) if len(x) else math.nan
    if len(x) < 2 or x.std(ddof=1) <= ROUNDING * np.abs(x).max():
        return Estimate("mean", centre, centre, -math.inf, math.inf, len(x), 0.0)
    limits = ttest_1samp(x, 0).confidence_interval(confidence)
    return Estimate(
        "mean", centre, centre, max(limits.low, within[0]), min(limits.high, within[1]), len(x), confidence
    )


def _median(low: Array, high: Array, confidence: float) -> Estimate:
    """[low_(k), high_(n+1-k)] covers the median of any law with probability at least 1 - 2 P(Bin(n, 1/2) < k).

    k is the largest with that at least ``confidence``, or 1; ``confidence`` of the result is what it attains.
    """
    from scipy.stats import binom

    low, high, n = np.sort(low), np.sort(high), len(low)
    k = max(1, int(binom.ppf((1 - confidence) / 2, n, 0.5)))
    attained = 1 - 2 * float(binom.cdf(k - 1, n, 0.5))
    ends = high[(n - 1) // 2], high[n // 2]
    most = sum(ends) / 2 if math.isfinite(ends[1]) else math.inf
    limits = (float(low[k - 1]), float(high[n - k])) if attained > 0 else (-math.inf, math.inf)
    return Estimate("median", float(np.median(low)), float(most), *limits, n, attained)


def minus(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """The differences of the repetitions that both have."""
    both = pd.concat({"first": first, "second": second}, axis=1, join="inner")
    a, b = both["first"], both["second"]
    return pd.DataFrame({"low": a.low - b.high, "high": a.high - b.low})


def counts(differences: pd.DataFrame) -> tuple[int, int, int, int]:
    """In how many pairs the first is less, more, equal, and how many nobody knows, as both are censored."""
    low, high = differences.low, differences.high
    less, more, equal = int((high < 0).sum()), int((low > 0).sum()), int(((low == 0) & (high == 0)).sum())
    return less, more, equal, len(differences) - less - more - equal


def p_value(differences: pd.DataFrame) -> float:
    """The exact two-sided p-value of "no difference".

    Where all are known, sign flips of their mean: the share of the 2^n sign patterns whose |mean| is as large (Fisher
    1935). Else the sign test, unknown signs being counted, or left out, so that the p-value is largest.
    """
    from scipy.stats import binomtest, permutation_test

    if len(differences) < 2:
        return 1.0
    if (differences.low == differences.high).all():
        flips = permutation_test(
            (differences.low.to_numpy(),), np.mean, permutation_type="samples", n_resamples=np.inf
        )
        return float(flips.pvalue)
    down, up, _, unknown = counts(differences)
    possible = [(up + k, down + m) for k in range(unknown + 1) for m in range(unknown + 1 - k)]
    return max(float(binomtest(k, k + m).pvalue) if k + m else 1.0 for k, m in possible)


def said(differences: pd.DataFrame, words: tuple[str, str], unit: str, digits: int, scale: float = 1.0) -> str:
    """``faster on 8 of 10 pairs, slower on 1; mean difference ...``; words: the first is less, is more."""
    less, more, equal, unknown = counts(differences)
    text = f"{words[0]} on {less} of {len(differences)} pairs, {words[1]} on {more}"
    text += f", equal on {equal}" if equal else ""
    text += f", unknown on {unknown}" if unknown else ""
    difference = estimate(differences)
    return f"{text}; {difference.kind} difference {difference.text(digits, scale)} {unit}"


def trend(columns: Sequence[pd.DataFrame]) -> tuple[float, float, int]:
    """Do the columns rise, repetition by repetition: mean rank correlation, p-value (Page's test) and repetitions.

    Censored values tie as the largest, in repetitions whose censored runs all lasted equally long, beyond the others.
    """
    from scipy.stats import page_trend_test, spearmanr

    low, high = (
        pd.concat([column[end] for column in columns], axis=1, join="inner").to_numpy() for end in ("low", "high")
    )
    censored, order = np.isinf(high), np.arange(len(columns))
    lasted, latest = np.where(censored, low, math.inf).min(axis=1), np.where(censored, 0, high).max(axis=1)
    ordered = (np.where(censored, low, lasted[:, None]) == lasted[:, None]).all(axis=1) & (lasted > latest)
    rows = high[ordered]
    if len(rows) < 2 or len(columns) < 3:
        return math.nan, 1.0, len(rows)
    varied = [row for row in rows if len(set(row)) > 1]
    mean = sum(float(spearmanr(row, order).statistic) for row in varied) / len(rows)
    return mean, min(1.0, 2 * min(float(page_trend_test(sign * rows).pvalue) for sign in (1, -1))), len(rows)


def holm(rates: Sequence[float]) -> Array:
    """Holm's adjusted p-values: the k-th smallest of n becomes the largest of (n - j + 1) rate_j over j <= k."""
    order = np.argsort(rates, kind="stable")
    adjusted = np.empty(len(rates))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(np.arange(len(rates), 0, -1) * np.array(rates)[order]))
    return adjusted
