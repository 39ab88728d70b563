"""R_90, accuracy and paired comparisons of made-up runs whose answers are known."""

import math

import pytest
from made_runs import NEVER, reaching, record, runs_reaching
from scipy import stats

from fedbounds.errors import InputError
from fedbounds.vision.records import from_json
from validate.vision import measures


def test_speed_is_a_mean_if_all_runs_reached_the_level():
    result = measures.speed(runs_reaching(7, 9, 8, 12))
    exact = stats.ttest_1samp([7, 9, 8, 12], 0).confidence_interval()
    assert (result.values, result.said, result.estimate.kind) == ((7, 9, 8, 12), "4 of 4", "mean")
    assert (result.estimate.value, result.estimate.upper) == pytest.approx((9, exact.high))
    assert measures.speed(runs_reaching(1, 9)).estimate.lower == 1


def test_speed_with_censored_runs_is_a_median_and_leaves_no_run_out():
    result = measures.speed(runs_reaching(7, NEVER, 8, NEVER, 9))
    assert (result.values, result.said, result.estimate.kind) == ((7, None, 8, None, 9), "3 of 5", "median")
    assert (result.estimate.value, result.estimate.lower, result.estimate.upper) == (9, 7, math.inf)
    assert result.estimate.confidence == pytest.approx(1 - 2 / 32)
    none = measures.speed(runs_reaching(NEVER, NEVER))
    assert (none.said, none.estimate.least, none.estimate.lower) == ("0 of 2", 21, 21)


def test_runs_that_ended_at_the_target_count_for_its_round_and_for_nothing_else():
    def run(reached, weighting, repetition, last):
        stop = {"rounds": 20, "stop_after": 0} if last < 20 else {"rounds": 20, "stop_after": None}
        made = reaching(reached, rounds=20, weighting=weighting, repetition=repetition).accuracy[: last + 1]
        return from_json(record([float(share) for share in made], weighting, repetition, settings=stop), "made")

    slow = [run(9, "fedavg", 0, 20), run(12, "fedavg", 1, 20), run(7, "fedavg", 2, 7)]
    fast = [run(5, "fedmax", 0, 20), run(8, "fedmax", 1, 20), run(7, "fedmax", 2, 7)]
    assert {item.experiment for item in slow} == {slow[0].experiment}
    assert measures.speed(slow).values == (9, 12, 7)
    assert measures.final_accuracy(slow).count == 2
    assert measures.compare_speed(fast, slow).difference.count == 3
    # The third pair stopped in the same round, which makes its ends no more comparable.
    assert measures.compare(fast, slow, measures.last_accuracy).difference.count == 2


def test_a_run_that_was_to_end_at_the_target_is_not_whole_when_it_never_reached_it():
    """That it went on to the last round is its own outcome: averaging it in would select the worst."""
    settings = {"rounds": 20, "stop_after": 0}
    stuck = from_json(record([0.1] + [0.5] * 20, settings=settings), "made")
    ended = from_json(record([0.1] + [0.5] * 15 + [0.91], repetition=1, settings=settings), "made")
    assert stuck.complete and not stuck.whole and not ended.complete
    assert math.isnan(measures.final_accuracy([stuck, ended]).value)
    assert measures.speed([stuck, ended]).values == (None, 16)


def test_paired_comparison():
    slow, fast = runs_reaching(12, 13, 12, 15), runs_reaching(9, 11, 10, 11, 7, weighting="fedsoftmax:0.2")
    result = measures.compare_speed(fast, slow)
    exact = stats.ttest_rel([9, 11, 10, 11], [12, 13, 12, 15]).confidence_interval()
    difference = result.difference
    assert (difference.value, difference.lower, difference.upper) == pytest.approx((-2.75, exact.low, exact.high))
    assert (result.smaller, result.larger, result.equal, result.unknown) == (4, 0, 0, 0)
    assert result.test.p_value == result.test.smallest == 2 / 16
    assert measures.compare(fast, slow, measures.last_accuracy).equal == 4
    assert result.said(("faster", "slower"), "rounds", 1).startswith("faster on 4 of 4 pairs, slower on 0; mean diff")


def test_pairs_must_share_partition_and_initial_model():
    other = reaching(5, weighting="fedmax", p=[0.1, 0.2, 0.3, 0.4], alpha=[[0.25] * 4] * 20)
    with pytest.raises(InputError, match="share partition and initial model"):
        measures.pairs([reaching(5)], [other])
