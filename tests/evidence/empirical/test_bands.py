"""Bands, critical values and the floor fit, against simulation, closed forms and scipy."""

import numpy as np
import pytest
from scipy import special, stats

from fedbounds.errors import InputError
from fedbounds.evidence.empirical.bands import (
    LEVELS,
    MAX_LEVEL,
    TABLE,
    band,
    band_from_moments,
    critical_value,
    normal_quantile,
)
from fedbounds.evidence.empirical.decay import floor_fit
from validate import calibration, critical_values


def test_source_reproduces_a_row_of_the_table():
    values, worst = critical_values.table(draws=12_000, replicates=(16,))
    np.testing.assert_allclose(values[0], [critical_value(16, a) if a <= MAX_LEVEL else TABLE[16][0] for a in LEVELS],
                               rtol=4 * worst)  # fmt: skip


@pytest.mark.parametrize("level", [0.0, 1e-13, 0.2, float("nan")])
def test_critical_value_rejects_levels_outside_the_table(level):
    with pytest.raises(InputError, match="level of one comparison"):
        critical_value(64, level)


def test_normal_quantiles_are_those_of_scipy():
    levels = [*LEVELS, *10 ** np.random.default_rng(0).uniform(-12, -1, 2000)]
    assert [normal_quantile(level) for level in levels] == pytest.approx(
        [-special.ndtri(level) for level in levels], rel=1e-14
    )


@pytest.mark.parametrize("replicates", [8, 20, 10**6])
def test_critical_values_exceed_student_s(replicates):
    levels = np.geomspace(1e-12, 0.1, 23)
    assert all(critical_value(replicates, level) > -special.stdtrit(replicates - 1, level) for level in levels)


def test_band_is_bonferroni_with_the_critical_value():
    x = np.random.default_rng(0).standard_normal((20, 7)) * np.geomspace(1e-200, 1e200, 7)
    result = band(x, 0.01)
    half = (
        critical_value(20, 0.01 / 14) * stats.sem(x / np.geomspace(1e-200, 1e200, 7)) * np.geomspace(1e-200, 1e200, 7)
    )
    np.testing.assert_allclose(result.mean, x.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(result.upper - result.mean, half, rtol=1e-12)
    np.testing.assert_allclose(result.mean - result.lower, half, rtol=1e-12)
    assert "7 means x 2 sides" in result.family and result.error_rate == 0.01
    y = x[:, 3:4]
    streamed = band_from_moments(y.mean(axis=0), y.std(axis=0, ddof=1), 20, 0.01)
    np.testing.assert_allclose(streamed.upper, band(y, 0.01).upper, rtol=1e-12)


def test_constant_columns_are_certain_only_on_the_callers_word():
    x = np.random.default_rng(0).standard_normal((16, 3))
    x[:, 1] = 0.1 + 0.2
    by_chance = band(x)
    assert by_chance.upper[1] == np.inf and by_chance.lower[1] == -np.inf and np.isfinite(by_chance.upper[0])
    told = band(x, deterministic=np.array([False, True, False]))
    assert told.lower[1] == told.mean[1] == told.upper[1] == 0.1 + 0.2
    assert np.all(told.upper[[0, 2]] > told.lower[[0, 2]])
    with pytest.raises(InputError, match="must not vary"):
        band(x, deterministic=True)
    # Rounding is not variation either.
    x[:, 1] += 1e-17 * np.arange(16)
    assert band(x).upper[1] == np.inf


def test_few_replicates_give_no_band_but_one_deterministic_run_does():
    x = np.random.default_rng(0).standard_normal((7, 2))
    assert np.all(band(x).upper == np.inf) and np.all(band(x).lower == -np.inf)
    one = band(x[:1], deterministic=True)
    np.testing.assert_array_equal(one.lower, x[0])
    np.testing.assert_array_equal(one.upper, x[0])
    assert np.all(band(x[:1]).upper == np.inf)


@pytest.mark.parametrize(
    ("samples", "rate", "message"),
    [
        (np.ones(5), 1e-3, "shape"),
        (np.full((9, 2), np.nan), 1e-3, "finite"),
        (np.eye(9), 0.0, "error rate"),
        (np.eye(9), 1e-11, "level of one comparison"),
    ],
)
def test_band_rejects_bad_input(samples, rate, message):
    with pytest.raises(InputError, match=message):
        band(samples, rate)


def test_student_fails_and_the_reference_band_covers_on_chi_square():
    records = calibration.measure("chi-square", 64, 50, 2000, np.random.default_rng(5))
    at = {(r["band"], r["error_rate"]): r for r in records}
    # Nominal is 0.1% for both sides together; Student misses above many times that, beyond doubt.
    assert at["student", 1e-3]["above_interval"][0] > 0.02
    for rate in (1e-2, 1e-3):
        # By construction the reference law takes rate/2 on the heavy side: the measured interval must contain it.
        lo, hi = at["ours", rate]["above_interval"]
        assert lo <= rate / 2 <= hi
        assert at["ours", rate]["below"] == 0


GAMMA = 8.0
TIMES = {"dense": np.arange(1001), "thin": np.arange(0, 1001, 50)}
NO_FLOOR = {
    "1/x": lambda x: 1 / x,
    "x^-1/2": lambda x: x**-0.5,
    "x^-2": lambda x: x**-2.0,
    "x^-1/2 + 10 x^-2": lambda x: x**-0.5 + 10 * x**-2.0,
    "1/x - 5/x^2": lambda x: 1 / x - 5 / x**2,
    "log x/x": lambda x: np.log(x) / x,
    "1/log x": lambda x: 1 / np.log(x),
    "exponential": lambda x: np.exp(-(x - GAMMA) / 5),
    "slow exponential": lambda x: np.exp(-(x - GAMMA) / 200),
    "rounding floor": lambda x: np.exp(-(x - GAMMA) / 5) + 1e-33,
}


def exact_fit(gap, times, **options):
    return floor_fit(gap(times + GAMMA)[None], times, GAMMA, deterministic=True, **options)


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("name", NO_FLOOR)
def test_no_floor_is_faked(name, times):
    fit = exact_fit(NO_FLOOR[name], TIMES[times])
    assert fit.decision != "floor"
    if name in ("1/x", "x^-2", "1/x - 5/x^2", "exponential", "slow exponential", "log x/x"):
        assert fit.decision == "no-floor-seen"
        last = NO_FLOOR[name](TIMES[times][-1] + GAMMA)
        assert 0 <= fit.excluded <= max(last, 1e-20) * (1 + 1e-9)
        assert "no floor above" in fit.detail and "prove" not in fit.detail


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("fast", [lambda x: 1 / x, lambda x: x**-2.0, lambda x: np.exp(-(x - GAMMA) / 5)])
def test_a_floor_is_found_and_contained(fast, times):
    fit = exact_fit(lambda x: 0.1 + fast(x), TIMES[times])
    assert fit.decision == "floor"
    # 1e-12: the containing interval is as narrow as rounding where the transient is exactly 1/T.
    assert 0 < fit.c0[0] - 1e-12 <= 0.1 <= fit.c0[1] + 1e-12
    assert fit.power < 0.25


def sgd_gaps(R, bias, seed=0, dimension=20, steps=1000):
    """F gaps ((R, steps + 1)) of SGD with eta = 2/(t + 8) on |w|^2/2, measured from a point ``bias`` away."""
    rng, w = np.random.default_rng(seed), np.ones((R, dimension))
    gaps = [((w + bias) ** 2).mean(axis=1) / 2]
    for t in range(steps):
        eta = 2 / (t + 2 * GAMMA)
        w = (1 - eta) * w - eta * rng.standard_normal(w.shape)
        gaps.append(((w + bias) ** 2).mean(axis=1) / 2)
    return np.stack(gaps, axis=1)


def test_noisy_runs_with_and_without_a_floor():
    none = floor_fit(sgd_gaps(128, 0.0), TIMES["dense"], 2 * GAMMA)
    assert none.decision == "no-floor-seen" and none.c1[0] > 0
    biased = floor_fit(sgd_gaps(128, 0.5), TIMES["dense"], 2 * GAMMA)
    assert biased.decision == "floor" and biased.c0[0] <= 0.125 <= biased.c0[1]


@pytest.mark.parametrize(
    ("gaps", "times", "gamma", "message"),
    [
        (np.ones(4), np.arange(4), 1.0, "shape"),
        (np.ones((9, 4)), np.arange(4), 0.0, "positive and increasing"),
        (np.full((9, 99), np.nan), np.arange(99), 1.0, "finite"),
    ],
)
def test_floor_fit_rejects_bad_input(gaps, times, gamma, message):
    with pytest.raises(InputError, match=message):
        floor_fit(gaps, times, gamma)
