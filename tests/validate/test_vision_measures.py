"""Estimates over few repetitions, R_90, pairs and the map, of made-up runs whose answers are known."""

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
from made_runs import NEVER, reaching, record, runs_reaching
from scipy import stats

from fedbounds.errors import InputError
from fedbounds.vision.records import from_json
from validate.vision import measures, page, statistics
from validate.vision.experiments import MAP_STEPS, MAP_TEMPERATURES, map_of
from validate.vision.statistics import estimate, known, minus, p_value


def frame(low, high=None):
    return pd.DataFrame({"low": low, "high": low if high is None else high}, dtype=float)


def test_a_mean_is_students():
    x = [3.0, 4.0, 8.0, 5.0]
    result, exact = estimate(frame(x), 0.9), stats.ttest_1samp(x, 0).confidence_interval(0.9)
    assert (result.value, result.lower, result.upper) == pytest.approx((5, exact.low, exact.high))
    assert (result.kind, result.count, result.confidence) == ("mean", 4, 0.9)
    assert estimate(frame(x), within=(0, 6)).upper == 6
    assert estimate(frame([2.0, 2.0])).text(1) == "2.0" and math.isnan(estimate(frame([])).value)


@pytest.mark.parametrize("n", [5, 9])
def test_order_statistics_cover_as_often_as_they_say(n):
    result = statistics._median(np.arange(n), np.arange(n), 0.95)
    # A continuous law: each repetition is below its median with probability 1/2, independently.
    below = np.array([sum(pattern) for pattern in itertools.product((0, 1), repeat=n)])
    k, last = int(result.lower) + 1, int(result.upper) + 1
    assert result.confidence == pytest.approx(((below >= k) & (below <= last - 1)).mean())
    assert (result.confidence >= 0.95) == (n >= statistics.MIN_ORDER) and result.value == (n - 1) / 2


def test_censored_medians_are_known_from_below_only():
    inf = math.inf
    some = estimate(frame([3, 5, 21, 9, 21], [3, 5, inf, 9, inf]))
    assert (some.value, some.lower, some.upper) == (9, 3, inf)
    unknown = estimate(frame([3, 21, 21, 21], [3, inf, inf, inf]))
    assert math.isnan(unknown.value) and (unknown.least, unknown.most) == (21, inf)
    assert (unknown.text(1), some.text(1)) == (">=21 [3, inf)", "9 [3, inf)")


def test_p_values_are_exact():
    assert p_value(frame([-1.0] * 5)) == 2 / 32 and p_value(frame([0.0, 0.0])) == 1
    d = np.array([0.3, -0.1, 0.7, 0.2, 0.4])
    flips = [abs(np.dot(pattern, d)) >= abs(d.sum()) - 1e-12 for pattern in itertools.product((1, -1), repeat=5)]
    assert p_value(frame(d)) == pytest.approx(np.mean(flips))
    # Two ups, a tie, and one that nobody knows: at worst it is a down.
    assert p_value(frame([1, 2, 0, -1], [1, 2, 0, math.inf])) == pytest.approx(1.0)
    np.testing.assert_allclose(statistics.holm([0.04, 0.01, 0.03]), [0.06, 0.03, 0.06])


def test_a_trend_over_repetitions():
    rising = [frame(np.arange(6.0) + 10 * k) for k in range(4)]
    correlation, p, count = statistics.trend(rising)
    assert correlation == pytest.approx(1) and p < 1e-6 and count == 6
    assert statistics.trend(rising[::-1])[0] == pytest.approx(-1)
    early = frame([0, 1, 2, 3, 4, 5.0], [math.inf, *range(1, 6)])
    assert statistics.trend([*rising, early])[2] == 5  # its first run ended before the others had got there


def test_speed_is_a_mean_if_all_runs_reached_the_level_and_else_a_median_that_leaves_no_run_out():
    exact = stats.ttest_1samp([7, 9, 8, 12], 0).confidence_interval()
    result = estimate(measures.rounds(runs_reaching(7, 9, 8, 12)), within=page.ROUNDS)
    assert (result.kind, result.value, result.upper) == ("mean", pytest.approx(9), pytest.approx(exact.high))
    censored = runs_reaching(7, NEVER, 8, NEVER, 9)
    result = estimate(measures.rounds(censored))
    assert (result.kind, result.value, result.lower, result.upper) == ("median", 9, 7, math.inf)
    assert result.confidence == pytest.approx(1 - 2 / 32) and page.speed_cells(censored)[1] == "3 of 5"


def test_runs_that_ended_at_the_target_count_for_its_round_and_for_nothing_else():
    """One that never reached it went on to the last round by its own outcome: its mean would be of the worst."""

    def run(reached, weighting, repetition, last):
        stop = {"rounds": 20, "stop_after": 0} if last < 20 else {"rounds": 20, "stop_after": None}
        made = reaching(reached, rounds=20, weighting=weighting, repetition=repetition).accuracy[: last + 1]
        return from_json(record([float(share) for share in made], weighting, repetition, settings=stop), "made")

    slow = [run(9, "fedavg", 0, 20), run(12, "fedavg", 1, 20), run(7, "fedavg", 2, 7)]
    fast = [run(5, "fedmax", 0, 20), run(8, "fedmax", 1, 20), run(7, "fedmax", 2, 7)]
    assert list(measures.rounds(slow).low) == [9, 12, 7] and len(measures.accuracy(slow)) == 2
    assert len(minus(measures.rounds(fast), measures.rounds(slow))) == 3
    stuck = from_json(record([0.1] + [0.5] * 20, settings={"rounds": 20, "stop_after": 0}), "made")
    assert stuck.complete and measures.accuracy([stuck]).empty


def test_paired_comparison():
    slow, fast = runs_reaching(12, 13, 12, 15), runs_reaching(9, 11, 10, 11, 7, weighting="fedsoftmax:0.2")
    found = minus(measures.rounds(fast), measures.rounds(slow))
    exact = stats.ttest_rel([9, 11, 10, 11], [12, 13, 12, 15]).confidence_interval()
    difference = estimate(found)
    assert (difference.value, difference.lower, difference.upper) == pytest.approx((-2.75, exact.low, exact.high))
    assert statistics.counts(found) == (4, 0, 0, 0) and p_value(found) == 2 / 16
    assert statistics.counts(minus(measures.accuracy(fast), measures.accuracy(slow))) == (0, 0, 4, 0)
    said = statistics.said(found, ("faster", "slower"), "rounds", 1)
    assert said.startswith("faster on 4 of 4 pairs, slower on 0; mean diff")
    assert known(pd.Series([1.0])).equals(frame([1.0]))


def test_pairs_must_share_partition_and_initial_model():
    other = reaching(5, weighting="fedmax", p=[0.1, 0.2, 0.3, 0.4], alpha=[[0.25] * 4] * 20)
    with pytest.raises(InputError, match="share partition and initial model"):
        measures.paired([reaching(5)], [other])


FASTER, SLOWER = [0.1, 0.65, 0.75, 0.85, 0.95], [0.1, 0.5, 0.65, 0.75, 0.85]


@pytest.fixture
def results(tmp_path):
    """NIID at two steps: FedSoftMax(0.1) is faster at the first and slower at the second."""
    for step, soft, plain in ((MAP_STEPS[0], FASTER, SLOWER), (MAP_STEPS[1], SLOWER, FASTER)):
        folder = tmp_path / f"map/niid-lr-{step:g}"
        folder.mkdir(parents=True)
        settings = map_of(MAP_STEPS, MAP_TEMPERATURES)[f"map/{folder.name}"].settings.to_json()
        for weighting, accuracy, repetition in (
            ("fedavg", plain, 0),
            ("fedsoftmax:0.1", soft, 0),
            ("fedavg", soft, 1),
        ):
            full = accuracy + [accuracy[-1]] * (settings["rounds"] + 1 - len(accuracy))
            made = record(full, weighting, repetition, settings=settings)
            (folder / f"run-{weighting.replace(':', '-')}-{repetition:03d}.json").write_text(json.dumps(made))
    return tmp_path


def test_the_map_counts_the_cells_of_first_repetitions(results):
    inf, found = math.inf, measures.cells(results)
    soft = found[found["T"] == 0.1]
    assert list(soft.soft) == [1, 2, 3, 4, 2, 3, 4, inf] and list(soft.plain) == [2, 3, 4, inf, 1, 2, 3, 4]
    rows = {row[0]: row[1:] for row in measures.band_counts(found)}
    assert rows["at most 0.03"] == (3, 0, 0, 1, 0, 0) and rows["between"] == (0, 0, 3, 0, 1, 0)
    words = [measures.compared(*pair) for pair in ((2, 4), (4, 2), (3, 3), (3, inf), (inf, 5), (inf, inf))]
    assert words == ["faster", "slower", "even", "only FedSoftMax", "only FedAvg", "neither"]


def test_what_the_page_says_of_step_over_T_is_so():
    """The sentences above the map: nowhere slower at the lowest step/T, nowhere faster at the highest."""
    found = measures.load().cells
    low, between, high = (dict(zip(measures.WORDS, row[1:], strict=True)) for row in measures.band_counts(found))
    assert low["slower"] == low["only FedAvg"] == 0 and low["faster"] + low["only FedSoftMax"] > low["even"]
    assert between["faster"] > 0 and between["slower"] + between["only FedAvg"] > 0
    assert high["faster"] == high["only FedSoftMax"] == 0 and high["slower"] > high["even"]
    assert len(found) == 2 * 4 * len(MAP_STEPS) * (1 + len(MAP_TEMPERATURES))
    ninety = found[(found.level == 0.9) & (found.soft < math.inf)]
    assert set(ninety.step) == {0.1} and (ninety.plain - ninety.soft <= 1).all()
