"""R_90, accuracy, stability and paired comparisons of made-up runs whose answers are known."""

import math

import numpy as np
import pytest
from made_runs import NEVER, reaching, record, runs_reaching
from scipy import stats

from fedbounds.errors import InputError
from fedbounds.vision import measures
from fedbounds.vision.runs import from_json


def test_rounds_to_counts_from_the_first_round():
    assert measures.rounds_to([0.95, 0.5, 0.9, 0.8]) == 2
    assert measures.rounds_to([0.95, 0.5, 0.89]) is None
    assert measures.rounds_to([0.1, 0.5, 0.6], 0.5) == 1


def test_speed_is_a_mean_if_all_runs_reached_the_level():
    found = measures.speed(runs_reaching(7, 9, 8, 12))
    exact = stats.ttest_1samp([7, 9, 8, 12], 0).confidence_interval()
    assert (found.values, found.said, found.estimate.kind) == ((7, 9, 8, 12), "4 of 4", "mean")
    assert (found.estimate.value, found.estimate.upper) == pytest.approx((9, exact.high))
    assert measures.speed(runs_reaching(1, 9)).estimate.lower == 1


def test_speed_with_censored_runs_is_a_median_and_leaves_no_run_out():
    found = measures.speed(runs_reaching(7, NEVER, 8, NEVER, 9))
    assert (found.values, found.said, found.estimate.kind) == ((7, None, 8, None, 9), "3 of 5", "median")
    assert (found.estimate.value, found.estimate.lower, found.estimate.upper) == (9, 7, math.inf)
    assert found.estimate.confidence == pytest.approx(1 - 2 / 32)
    none = measures.speed(runs_reaching(NEVER, NEVER))
    assert (none.reached, none.estimate.least, none.estimate.lower) == (0, 21, 21)
    single = measures.speed(runs_reaching(NEVER))
    assert single.estimate.confidence == 0 and single.estimate.least == 21
    with pytest.raises(InputError, match="at least one run"):
        measures.speed([])
    with pytest.raises(InputError, match="confidence"):
        measures.speed(runs_reaching(3, 4), confidence=1.0)


def test_runs_stopped_early_are_censored_where_they_stopped_and_have_no_common_end():
    runs = [reaching(5, rounds=8), reaching(NEVER, rounds=6, repetition=1), reaching(7, rounds=20, repetition=2)]
    assert measures.speed(runs).estimate.lower == 5
    assert measures.speed(runs).estimate.least == 7
    end = measures.final_accuracy(runs)
    assert math.isnan(end.value) and "6 to 20 rounds" in end.note
    assert math.isnan(measures.stabilities(runs)["all"].value)


def test_runs_that_ended_at_the_target_count_for_its_round_and_for_nothing_else():
    def run(reached, weighting, repetition, last):
        stop = {"rounds": 20, "stop_after": 0} if last < 20 else {"rounds": 20, "stop_after": None}
        made = reaching(reached, rounds=20, weighting=weighting, repetition=repetition).accuracy[: last + 1]
        return from_json(record(made, weighting, repetition, settings=stop), "made")

    slow = [run(9, "fedavg", 0, 20), run(12, "fedavg", 1, 20), run(7, "fedavg", 2, 7)]
    fast = [run(5, "fedmax", 0, 20), run(8, "fedmax", 1, 20), run(7, "fedmax", 2, 7)]
    assert {one.experiment for one in slow} == {slow[0].experiment}
    assert measures.speed(slow).values == (9, 12, 7)
    assert measures.final_accuracy(slow).count == 2 and "2 of 3 runs" in measures.final_accuracy(slow).note
    alone = measures.stabilities(slow[:2])["all"]
    assert measures.stabilities(slow)["all"].value == alone.value
    assert measures.compare(fast, slow).difference.count == 3
    # The third pair stopped in the same round, which makes its ends no more comparable.
    assert measures.compare(fast, slow, "final accuracy").difference.count == 2


def test_a_run_that_was_to_end_at_the_target_is_not_whole_when_it_never_reached_it():
    """That it went on to the last round is its own outcome: averaging it in would select the worst."""
    settings = {"rounds": 20, "stop_after": 0}
    stuck = from_json(record([0.1] + [0.5] * 20, settings=settings), "made")
    ended = from_json(record([0.1] + [0.5] * 15 + [0.91], repetition=1, settings=settings), "made")
    assert stuck.complete and not stuck.whole and not ended.complete
    for runs in ([stuck], [stuck, ended], [ended]):
        assert math.isnan(measures.final_accuracy(runs).value)
        assert math.isnan(measures.stabilities(runs)["all"].value)
    assert measures.compare([stuck], [stuck], "final accuracy").difference.count == 0
    assert measures.speed([stuck, ended]).values == (None, 16)


def test_stability_until_the_level_is_over_the_runs_that_reached_it():
    rising = [0.1, 0.4, 0.6, 0.92]
    runs = [from_json(record([*rising, 0.5, 0.9], repetition=0), "made"), reaching(NEVER, rounds=5, repetition=1)]
    found = measures.stabilities(runs)[measures.UNTIL]
    assert found.value == pytest.approx(measures.stability(rising)) and "undefined in 1 of 2" in found.note


def test_stability_by_hand():
    assert measures.stability([0.0, 0.1, 0.3, 0.3]) == pytest.approx(1.0)
    assert measures.stability([0.5, 0.0, 0.1, 0.3, 0.3], first=1) == pytest.approx(1.0)
    assert measures.stability([0.0, 0.1, 0.3, 0.3, 0.9], last=3) == pytest.approx(1.0)
    assert measures.stability([0.0, 0.2, 0.4]) == pytest.approx(0)
    for undefined in ([0.5, 0.5, 0.5], [0.1, 0.4, 0.7, 0.1], [0.1, 0.2]):
        assert math.isnan(measures.stability(undefined))


def test_stabilities_over_repetitions():
    runs = [from_json(record([0.0, 0.1, k / 10, k / 10], repetition=k), "made") for k in (3, 4, 5)]
    values = [measures.stability(run.accuracy) for run in runs]
    assert measures.stabilities(runs)["all"].value == pytest.approx(np.mean(values))
    long = [from_json(record(np.linspace(0, 1, R + 1) ** 2, repetition=R), "made") for R in (50, 60)]
    assert math.isnan(measures.stabilities(long)["all"].value)
    assert math.isfinite(measures.stabilities(long)["first-50"].value)
    constant = measures.stabilities([from_json(record([0.5] * 5), "made")])["all"]
    assert math.isnan(constant.value) and "undefined in 1 of 1" in constant.note


def test_paired_comparison():
    slow, fast = runs_reaching(12, 13, 12, 15), runs_reaching(9, 11, 10, 11, 7, weighting="fedsoftmax:0.2")
    found = measures.compare(fast, slow)
    assert (found.first, found.second, found.pairs, found.unpaired) == ("fedsoftmax:0.2", "fedavg", 4, 1)
    exact = stats.ttest_rel([9, 11, 10, 11], [12, 13, 12, 15]).confidence_interval()
    difference = found.difference
    assert (difference.value, difference.lower, difference.upper) == pytest.approx((-2.75, exact.low, exact.high))
    assert (found.smaller, found.larger, found.equal, found.unknown) == (4, 0, 0, 0)
    assert found.test.p_value == found.test.smallest == 2 / 16
    assert measures.compare(fast, slow, "final accuracy").equal == 4
    with pytest.raises(InputError, match="quantity"):
        measures.compare(fast, slow, "beauty")


def test_censored_pairs_use_signs_and_bounds():
    slow, fast = runs_reaching(12, NEVER, NEVER, 15), runs_reaching(9, 11, NEVER, 16, weighting="fedmax")
    found = measures.compare(fast, slow)
    assert (found.smaller, found.larger, found.equal, found.unknown) == (2, 1, 0, 1)
    assert (found.difference.kind, found.test.name, found.test.p_value) == ("median", "signs", 1)
    # Differences: -3, at most 11 - 21, anything, 1.
    assert (found.difference.least, found.difference.most) == (-math.inf, -1)


def test_pairs_must_share_partition_and_initial_model():
    other = reaching(5, weighting="fedmax", p=[0.1, 0.2, 0.3, 0.4], alpha=[[0.25] * 4] * 20)
    with pytest.raises(InputError, match="share partition and initial model"):
        measures.pairs([reaching(5)], [other])
