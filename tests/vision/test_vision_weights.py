"""alpha - p, participation and temperatures of made-up runs whose answers are known."""

import itertools
import json
import math

import numpy as np
import pytest
from made_runs import NEVER, plausible, reaching, record, runs_reaching

from fedbounds.vision import weights
from fedbounds.vision.runs import from_json

P = np.full(6, 1 / 6)
SIGNS = np.array([1.0, -1.0, 0.5, -0.5, 0.25, -0.25])


def drifting(size, repetition=0, rounds=40, weighting="fedsoftmax:0.2"):
    """A run whose largest |alpha_i - p_i| in round t is ``size(t)``."""
    t = np.arange(1, rounds + 1)
    alpha = P + size(t)[:, None] * SIGNS
    made = record([0.5] * (rounds + 1), weighting, repetition, p=P.tolist(), alpha=alpha.tolist())
    return from_json(made | {"client_losses": [None] * (rounds + 1)}, "made")


def drift(power, floor=0.0, repetitions=4):
    return [drifting(lambda t, k=k: floor + 0.005 * t ** (power + 0.02 * (k - 1.5)), k) for k in range(repetitions)]


def test_distances():
    largest, mean = weights.distance(drifting(lambda t: 0.1 / t))
    np.testing.assert_allclose(largest, 0.1 / np.arange(1, 41))
    np.testing.assert_allclose(mean, largest * np.abs(SIGNS).mean())


@pytest.mark.parametrize(
    ("runs", "slope", "finding"),
    [
        (drift(-1), -1, "compatible with 1/t over rounds 21 to 40"),
        (drift(-2), -2, "falls faster than 1/t"),
        (drift(-0.5), -0.5, "falls, but slower than 1/t"),
        (drift(0.0), 0, "levelled off"),
        (drift(0.7), 0.7, "rises"),
    ],
)
def test_decline_says_which_power(runs, slope, finding):
    for measure in ("largest", "mean"):
        found = weights.decline(runs, measure)
        assert found.slope.value == pytest.approx(slope, abs=1e-9) and found.tail.value == pytest.approx(
            slope, abs=1e-9
        )
        assert finding in found.finding and found.rounds == (21, 40)
        assert found.one_sided.value == found.persistence.value == pytest.approx(1)


def test_decline_admits_what_it_cannot_say():
    assert weights.decline(drift(-1, floor=0.01)).tail.lower > -1
    assert "one repetition" in weights.decline(drift(-1, repetitions=1)).finding
    short = weights.decline([drifting(lambda t: 0.1 / t, k, rounds=10) for k in range(3)])
    assert "too few rounds" in short.finding and math.isnan(short.tail.value)
    tiny = weights.decline([drifting(lambda t: 0.1 / t, k, rounds=1) for k in range(3)])
    assert "too few rounds" in tiny.finding
    equal = weights.decline(runs_reaching(5, 6))
    assert equal.finding == "alpha equals p in every round" and math.isnan(equal.remaining.value)
    assert equal.one_sided.value == 0
    noise = np.random.default_rng(0).choice([-1, 1], (4, 40)) * 0.05
    scattered = weights.decline([drifting(lambda t, k=k: noise[k] / t**0, k) for k in range(4)])
    assert scattered.one_sided.value == 0
    json.dumps([found.to_json() for found in (short, equal, scattered)], allow_nan=False)


def test_participation_by_hand():
    table = np.array([[0.6, 0.3, 0.1, 0.0], [0.5, 0.1, 0.4, 0.0], [0.25, 0.25, 0.25, 0.25]])
    found = weights.participation(table, 2)
    assert found.top.tolist() == [[True, True, False, False], [True, False, True, False], [False] * 4]
    assert (found.ever, found.share.tolist()) == (3, pytest.approx([2 / 3, 1 / 3, 1 / 3, 0]))
    # {0, 1} and {0, 2} share one of three; then nothing is marked.
    assert found.overlap == pytest.approx((1 / 3 + 0) / 2)
    np.testing.assert_allclose(found.effective, [1 / 0.46, 1 / 0.42, 4])
    np.testing.assert_allclose(found.used, [1, 1, 1, 1 / 3])


def test_overlap_by_chance_is_that_of_random_subsets():
    sets = [set(s) for s in itertools.combinations(range(6), 3)]
    expected = np.mean([len(sets[0] & s) / len(sets[0] | s) for s in sets])
    top = np.eye(6)[[0, 1]] + np.eye(6)[[2, 3]] + np.eye(6)[[4, 5]]
    assert weights.participation(top / 3, 3).by_chance == pytest.approx(expected)


def test_top_losses_and_summary():
    run = from_json(plausible("fedmax", 0), "made")
    single = weights.participation(run.alpha)
    assert single.effective.tolist() == [1] * 50
    assert single.used.sum() == pytest.approx(1)
    losses = weights.top_losses(run)
    assert losses.top.shape == (50, 20) and losses.top.sum(axis=1).max() == 10
    found = weights.participation_summary([run])
    assert found["effective-all"].value == pytest.approx(1 / np.square(run.alpha.mean(axis=0)).sum())
    assert found["ever-used"].value == (single.used > 0).sum() and found["losses-ever"].value == losses.ever
    plain = from_json(plausible("fedavg", 0), "made")
    assert weights.top_losses(plain) is None
    assert weights.participation_summary([plain])["losses-ever"] is None


def test_temperature_sweep():
    assert weights.temperature("fedavg") == math.inf and weights.temperature("fedmax") is None
    assert (weights.temperature("fedsoftmax:0.2"), weights.temperature("fedsoftmax")) == (0.2, 1)
    values = {
        "fedavg": (15, 16),
        "fedsoftmax:0.2": (12, 13),
        "fedsoftmax:0.1": (9, 10),
        "fedsoftmax:0.05": (8, NEVER),
    }
    runs = [run for name, found in values.items() for run in runs_reaching(*found, weighting=name)]
    found = weights.temperature_sweep([*runs, reaching(3, weighting="fedmax")])
    assert found.inverse == pytest.approx((0, 5, 10, 20))
    assert [s.values for s in found.speeds] == list(values.values())
    assert found.trend.repetitions == 2 and found.trend.correlation == pytest.approx((-1 + 0.5) / 2)
    assert weights.temperature_sweep(runs[:6]).trend is None
    # A run that was cut before another one reached the level could come before or after it: the seed is left out.
    cut = [reaching(NEVER, rounds=10, weighting="fedsoftmax:0.05", repetition=1)]
    assert weights.temperature_sweep([*runs[:-1], *cut]).trend.repetitions == 1
