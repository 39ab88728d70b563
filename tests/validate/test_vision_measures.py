"""R_90, accuracy, stability, weights and paired comparisons of made-up runs whose answers are known."""

import math

import numpy as np
import pytest
from made_runs import NEVER, plausible, reaching, record, runs_reaching
from scipy import stats

from fedbounds.errors import InputError
from fedbounds.vision.records import from_json
from validate.vision import measures, weights

P = np.full(6, 1 / 6)
SIGNS = np.array([1.0, -1.0, 0.5, -0.5, 0.25, -0.25])


def drifting(size, repetition=0, rounds=40):
    """A run whose largest |alpha_i - p_i| in round t is ``size(t)``."""
    alpha = P + size(np.arange(1, rounds + 1))[:, None] * SIGNS
    made = record([0.5] * (rounds + 1), "fedsoftmax:0.2", repetition, p=P.tolist(), alpha=alpha.tolist())
    return from_json(made | {"client_losses": [None] * (rounds + 1)}, "made")


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
    assert (none.said, none.estimate.least, none.estimate.lower) == ("0 of 2", 21, 21)


def test_runs_that_ended_at_the_target_count_for_its_round_and_for_nothing_else():
    def run(reached, weighting, repetition, last):
        stop = {"rounds": 20, "stop_after": 0} if last < 20 else {"rounds": 20, "stop_after": None}
        made = reaching(reached, rounds=20, weighting=weighting, repetition=repetition).accuracy[: last + 1]
        return from_json(record([float(share) for share in made], weighting, repetition, settings=stop), "made")

    slow = [run(9, "fedavg", 0, 20), run(12, "fedavg", 1, 20), run(7, "fedavg", 2, 7)]
    fast = [run(5, "fedmax", 0, 20), run(8, "fedmax", 1, 20), run(7, "fedmax", 2, 7)]
    assert {one.experiment for one in slow} == {slow[0].experiment}
    assert measures.speed(slow).values == (9, 12, 7)
    assert measures.final_accuracy(slow).count == 2
    assert measures.stabilities(slow)["all"] == measures.stabilities(slow[:2])["all"]
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
    assert math.isnan(measures.stabilities([stuck, ended])["all"].value)
    assert measures.speed([stuck, ended]).values == (None, 16)


def test_stability_by_hand():
    assert measures.stability([0.0, 0.1, 0.3, 0.3]) == pytest.approx(1.0)
    assert measures.stability([0.5, 0.0, 0.1, 0.3, 0.3], first=1) == pytest.approx(1.0)
    assert measures.stability([0.0, 0.1, 0.3, 0.3, 0.9], last=3) == pytest.approx(1.0)
    for undefined in ([0.5, 0.5, 0.5], [0.1, 0.4, 0.7, 0.1], [0.1, 0.2]):
        assert math.isnan(measures.stability(undefined))
    rising = [0.1, 0.4, 0.6, 0.92]
    runs = [from_json(record([*rising, 0.5, 0.9], repetition=0), "made"), reaching(NEVER, rounds=5, repetition=1)]
    until = measures.stabilities(runs)["until"]
    assert until.value == pytest.approx(measures.stability(rising)) and "undefined in 1 of 2" in until.note


def test_paired_comparison():
    slow, fast = runs_reaching(12, 13, 12, 15), runs_reaching(9, 11, 10, 11, 7, weighting="fedsoftmax:0.2")
    found = measures.compare_speed(fast, slow)
    exact = stats.ttest_rel([9, 11, 10, 11], [12, 13, 12, 15]).confidence_interval()
    difference = found.difference
    assert (difference.value, difference.lower, difference.upper) == pytest.approx((-2.75, exact.low, exact.high))
    assert (found.smaller, found.larger, found.equal, found.unknown) == (4, 0, 0, 0)
    assert found.test.p_value == found.test.smallest == 2 / 16
    assert measures.compare(fast, slow, measures.last_accuracy).equal == 4
    assert found.said(("faster", "slower"), "rounds", 1).startswith("faster on 4 of 4 pairs, slower on 0; mean diff")


def test_censored_pairs_use_signs_and_bounds():
    slow, fast = runs_reaching(12, NEVER, NEVER, 15), runs_reaching(9, 11, NEVER, 16, weighting="fedmax")
    found = measures.compare_speed(fast, slow)
    assert (found.smaller, found.larger, found.equal, found.unknown) == (2, 1, 0, 1)
    assert (found.difference.kind, found.test.name, found.test.p_value) == ("median", "signs", 1)
    # Differences: -3, at most 11 - 21, anything, 1.
    assert (found.difference.least, found.difference.most) == (-math.inf, -1)


def test_pairs_must_share_partition_and_initial_model():
    other = reaching(5, weighting="fedmax", p=[0.1, 0.2, 0.3, 0.4], alpha=[[0.25] * 4] * 20)
    with pytest.raises(InputError, match="share partition and initial model"):
        measures.pairs([reaching(5)], [other])


def test_gains_are_compared_repetition_by_repetition():
    def case(base, other):
        return {"fedavg": runs_reaching(*base), "fedmax": runs_reaching(*other, weighting="fedmax")}

    found = measures.gains(case((12, 13), (9, 8)), case((10, 10, 9), (9, NEVER, 2)), ("fedavg", "fedmax"))
    # 3 - 1, and 5 minus at most 10 - 21.
    assert (found.larger, found.difference.least) == (2, pytest.approx((2 + 16) / 2))


def test_a_trend_over_temperatures():
    values = {"fedsoftmax:0.2": (12, 13), "fedsoftmax:0.1": (9, 10), "fedsoftmax:0.05": (8, NEVER)}
    columns = [runs_reaching(*found, weighting=name) for name, found in values.items()]
    found = measures.trend(columns)
    assert found.repetitions == 2 and found.correlation == pytest.approx((-1 + 0.5) / 2)
    assert measures.trend(columns[:2]) is None
    # A run that was cut before another one reached the level could come before or after it: the seed is left out.
    cut = reaching(NEVER, rounds=10, weighting="fedsoftmax:0.05", repetition=1)
    assert measures.trend([*columns[:2], [columns[2][0], cut]]).repetitions == 1
    names = ("fedavg", "fedmax", "fedsoftmax", "fedsoftmax:0.2", "fedsoftmax:0.2@local")
    assert [measures.temperature(name) for name in names] == [math.inf, None, 1, 0.2, None]


@pytest.mark.parametrize("power", [-1, -2, -0.5, 0.0, 0.7])
def test_slopes_of_powers_are_their_exponents(power):
    runs = [drifting(lambda t, k=k: 0.005 * t ** (power + 0.02 * (k - 1.5)), k) for k in range(4)]
    found = weights.decline(runs)
    assert found.tail.value == pytest.approx(power) == pytest.approx(found.slope.value)
    assert found.mean_tail.value == pytest.approx(power) and found.rounds == (21, 40)
    assert found.persistence.value == pytest.approx(1)
    sizes = [np.arange(1, 41) ** (power + 0.02 * (k - 1.5)) for k in range(4)]
    assert found.remaining.value == pytest.approx(np.mean([d[20:].mean() / d.max() for d in sizes]))


def test_a_decline_admits_what_it_cannot_say():
    short = weights.decline([drifting(lambda t: 0.1 / t, k, rounds=10) for k in range(3)])
    assert math.isnan(short.tail.value)
    equal = weights.decline(runs_reaching(5, 6))
    assert math.isnan(equal.tail.value) and math.isnan(equal.remaining.value)


def test_sharing_by_hand():
    assert weights.effective(np.array([5.0, 5, 0, 0])) == 2 and weights.effective(np.ones(7)) == pytest.approx(7)
    assert math.isnan(weights.effective(np.zeros(3)))
    assert weights.top_share(np.array([1.0, 2, 3, 4]), 2) == pytest.approx(0.7)
    one, rounds = np.zeros((40, 20), dtype=bool), np.arange(40)
    one[rounds, rounds % 20] = True
    assert weights.effective(one.sum(axis=0).astype(float)) == pytest.approx(20)
    # Counts of 40 throws into 20 boxes: E sum c^2 = 40 + 40 * 39 / 20 = 118.
    assert weights.chance(one) == pytest.approx(40**2 / 118, rel=0.05)


def test_early_and_late_rounds_are_told_apart():
    losses = np.tile(np.arange(20.0), (51, 1))
    for r in range(25):  # at first everyone takes turns among the ten largest
        losses[r] = np.roll(losses[r], r)
    made = plausible("fedsoftmax:0.2", 0) | {"client_losses": losses.tolist()}
    runs = [from_json(made, "made")]
    early, late = (weights.sharing(runs, part, losses=True) for part in (slice(0, 25), slice(25, None)))
    assert early.effective.value > 19 and late.effective.value == 10 and late.share.value == 1
    weight = weights.sharing(runs, slice(None), losses=False).effective.value
    assert weight == pytest.approx(1 / np.square(runs[0].alpha.mean(axis=0)).sum())
