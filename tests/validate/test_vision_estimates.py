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


@pytest.mark.parametrize("n", [5, 9])
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
