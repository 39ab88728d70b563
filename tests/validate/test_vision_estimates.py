"""Estimates over few repetitions agree with scipy and brute force."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from validate.vision import estimates


def test_mean_is_students():
    x = [3.0, 4.0, 8.0, 5.0]
    result, exact = estimates.mean(x, 0.9), stats.ttest_1samp(x, 0).confidence_interval(0.9)
    assert (result.value, result.lower, result.upper) == pytest.approx((5, exact.low, exact.high))
    assert (result.count, result.confidence, result.note) == (4, 0.9, "")
    assert estimates.mean(x, within=(0, 6)).upper == 6


def test_no_interval_without_spread():
    for values, words in (([7.0], "one repetition"), ([7.0, 7.0, 7.0], "all 3 repetitions are equal")):
        result = estimates.mean(values)
        assert (result.value, result.lower, result.upper, result.confidence) == (7, -math.inf, math.inf, 0)
        assert words in result.note
    result = estimates.mean([1.0, math.nan, 3.0])
    assert result.value == 2 and result.count == 2 and "undefined in 1 of 3 runs" in result.note
    assert math.isnan(estimates.mean([math.nan]).value)


@pytest.mark.parametrize("n", [2, 5, 6, 9, 12])
def test_order_statistics_cover_as_often_as_they_say(n):
    result = estimates.median(np.arange(n), np.arange(n))
    # A continuous law: each repetition is below its median with probability 1/2, independently.
    below = np.array([sum(pattern) for pattern in itertools.product((0, 1), repeat=n)])
    k, last = int(result.lower) + 1, int(result.upper) + 1
    covered = (below >= k) & (below <= last - 1)
    assert result.confidence == pytest.approx(covered.mean())
    assert (result.confidence >= 0.95) == (n >= estimates.MIN_ORDER) == (result.note == "")
    assert result.value == (n - 1) / 2


def test_censored_medians_are_known_from_below_only():
    inf = math.inf
    known = estimates.median([3, 5, 21, 9, 21], [3, 5, inf, 9, inf])
    assert (known.value, known.lower, known.upper) == (9, 3, inf)
    unknown = estimates.median([3, 21, 21, 21], [3, inf, inf, inf])
    assert math.isnan(unknown.value) and (unknown.least, unknown.most) == (21, inf)
    assert estimates.text(unknown, 1) == ">=21 [3, inf)"
    assert estimates.text(known, 1) == "9 [3, inf)"


def test_sign_flips_are_exact():
    d = [0.3, -0.1, 0.7, 0.2, 0.4, -0.2, 0.1]
    exact = stats.permutation_test((d,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert estimates.sign_flips(d).p_value == pytest.approx(exact.pvalue)
    five = estimates.sign_flips([-1.0] * 5)
    assert five.p_value == five.smallest == 2 / 32
    assert estimates.sign_flips([0.0, 0.0]).p_value == 1
    many = estimates.sign_flips(np.full(30, 0.1))
    assert many.p_value == many.smallest == 1 / estimates.DRAWS


def test_unknown_signs_count_as_badly_as_they_can():
    low, high = [-3, -2, -5, -4, -1, -9], [-3, -2, -5, -4, -1, math.inf]
    result = estimates.signs(low, high)
    assert result.p_value == pytest.approx(stats.binomtest(1, 6).pvalue)
    assert estimates.signs(low[:5], high[:5]).p_value == pytest.approx(2 / 32)
    assert estimates.signs([0, -math.inf], [0, math.inf]).p_value == 1


def test_trend_against_every_permutation():
    rows = np.array([[9.0, 7.0, 7.0], [8.0, 6.0, 5.0]])
    result = estimates.trend(rows)
    values = [stats.spearmanr(row, range(3)).statistic for row in rows]
    assert result.correlation == pytest.approx(np.mean(values))
    both = itertools.product(*(itertools.permutations(row) for row in rows))
    every = [np.mean([stats.spearmanr(row, range(3)).statistic for row in pair]) for pair in both]
    # 0.02: 20000 drawings have a standard error of 0.0035 at most.
    assert result.p_value == pytest.approx(np.mean(np.abs(every) >= abs(result.correlation) - 1e-9), abs=0.02)
    assert estimates.trend([[1.0, 1.0, 1.0]]).p_value == 1
