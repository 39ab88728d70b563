"""Records are read or refused in one sentence; estimates over few repetitions agree with scipy and brute force."""

import itertools
import json
import math

import numpy as np
import pytest
from made_runs import plausible, record
from scipy import stats

from fedbounds.errors import InputError
from fedbounds.vision import estimates
from fedbounds.vision.runs import differing, experiments, from_json, read


def write(folder, made, name="run-a-0.json"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(made if isinstance(made, str) else json.dumps(made))
    return folder / name


def test_records_come_back_as_arrays(tmp_path):
    made = plausible("fedsoftmax:0.2", 0) | {"client_losses": [None, *[[1.0] * 19 + [None]] * 50]}
    path = write(tmp_path / "deep" / "er", made)
    write(tmp_path, plausible("fedavg", 1), "run-b-1.json")
    write(tmp_path, "{}", "something-else.json")
    (run,) = read(path)
    np.testing.assert_array_equal(run.accuracy, made["accuracy"])
    assert run.client_losses.shape == (51, 20)
    assert np.isnan(run.client_losses[0]).all() and np.isnan(run.client_losses[1:]).sum() == 50
    assert (run.data, run.partition, run.rounds, run.weighting) == (
        "mnist",
        "shards:60,unbalanced",
        50,
        made["weighting"],
    )
    assert [found.weighting for found in read(tmp_path)] == ["fedsoftmax:0.2", "fedavg"]


GOOD = record([0.1, 0.5, 0.9])


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ("[1, 2]", "must be a JSON object, but received a JSON list"),
        ('{"a": 1}', "must be a record with settings"),
        ("{", "readable JSON"),
        (GOOD | {"settings": {"data": "mnist"}}, "settings name data and partition"),
        (GOOD | {"weighting": 3}, "weighting is a name"),
        (GOOD | {"weighting": "fedsoftmax:abc"}, "T > 0"),
        (GOOD | {"weighting": "fedsoftmax:0"}, "T > 0"),
        (GOOD | {"settings": {**GOOD["settings"], "rounds": "many"}}, "whole number of rounds"),
        (GOOD | {"settings": {**GOOD["settings"], "rounds": None}}, "whole number of rounds"),
        (GOOD | {"settings": {**GOOD["settings"], "rounds": math.inf}}, "whole number of rounds"),
        (GOOD | {"seed": "7"}, "seed is a whole number"),
        (GOOD | {"accuracy": [0.1, 1.5, 0.9]}, r"accuracy lies in \[0, 1\]"),
        (GOOD | {"accuracy": [0.1, None, 0.9]}, r"accuracy lies in \[0, 1\]"),
        (GOOD | {"accuracy": ["a"]}, "table of numbers"),
        (GOOD | {"accuracy": [0.1]}, "at least one round"),
        (GOOD | {"alpha": [[0.25] * 4]}, r"alpha has shape \(2, 4\)"),
        (GOOD | {"alpha": [[0.2] * 4] * 2}, "alpha is non-negative with sum 1"),
        (GOOD | {"alpha": [[1.0, 0.5, -0.5, 0.0]] * 2}, "alpha is non-negative with sum 1"),
        (GOOD | {"p": [0.5] * 4}, "p is non-negative with sum 1"),
        (GOOD | {"test_loss": [1.0]}, "test_loss has shape"),
        (GOOD | {"client_losses": [1.0, 2.0, 3.0]}, "client_losses"),
    ],
)
def test_foreign_json_gets_one_sentence(tmp_path, made, message):
    path = write(tmp_path, made)
    with pytest.raises(InputError, match=message) as wrong:
        read(tmp_path)
    assert path.name in str(wrong.value)
    assert "\n" not in str(wrong.value)


def test_folders_without_records_and_repeated_repetitions_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"must hold run-\*\.json"):
        read(tmp_path)
    write(tmp_path, GOOD)
    write(tmp_path, GOOD | {"seconds": [9.0, 9.0]}, "run-b-0.json")
    with pytest.raises(InputError, match="same repetition"):
        read(tmp_path)


def test_runs_of_other_settings_are_not_repetitions():
    made = [
        from_json(record([0.1, 0.9], repetition=k, settings={"lr": lr, "seed": k}), "made")
        for lr in (1, 2)
        for k in (0, 1)
    ]
    assert [len(group) for group in experiments(made).values()] == [2, 2]
    assert differing(made) == ["lr"]


def test_mean_is_students():
    x = [3.0, 4.0, 8.0, 5.0]
    found, exact = estimates.mean(x, 0.9), stats.ttest_1samp(x, 0).confidence_interval(0.9)
    assert (found.value, found.lower, found.upper) == pytest.approx((5, exact.low, exact.high))
    assert (found.count, found.confidence, found.note) == (4, 0.9, "")
    assert estimates.mean(x, within=(0, 6)).upper == 6


def test_no_interval_without_spread():
    for values, words in (([7.0], "one repetition"), ([7.0, 7.0, 7.0], "all 3 repetitions are equal")):
        found = estimates.mean(values)
        assert (found.value, found.lower, found.upper, found.confidence) == (7, -math.inf, math.inf, 0)
        assert words in found.note
    found = estimates.mean([1.0, math.nan, 3.0])
    assert found.value == 2 and found.count == 2 and "undefined in 1 of 3 runs" in found.note
    assert math.isnan(estimates.mean([math.nan]).value)


@pytest.mark.parametrize("n", [2, 5, 6, 9, 12])
def test_order_statistics_cover_as_often_as_they_say(n):
    found = estimates.median(np.arange(n), np.arange(n))
    # A continuous law: each repetition is below its median with probability 1/2, independently.
    below = np.array([sum(pattern) for pattern in itertools.product((0, 1), repeat=n)])
    k, last = int(found.lower) + 1, int(found.upper) + 1
    covered = (below >= k) & (below <= last - 1)
    assert found.confidence == pytest.approx(covered.mean())
    assert (found.confidence >= 0.95) == (n >= estimates.MIN_ORDER) == (found.note == "")
    assert found.value == (n - 1) / 2


def test_censored_medians_are_known_from_below_only():
    inf = math.inf
    known = estimates.median([3, 5, 21, 9, 21], [3, 5, inf, 9, inf])
    assert (known.value, known.lower, known.upper) == (9, 3, inf)
    unknown = estimates.median([3, 21, 21, 21], [3, inf, inf, inf])
    assert math.isnan(unknown.value) and (unknown.least, unknown.most) == (21, inf)
    assert estimates.text(unknown, 1) == ">=21 [3, inf)"
    assert estimates.text(known, 1) == "9 [3, inf)"
    json.dumps([known.to_json(), unknown.to_json()], allow_nan=False)


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
    found = estimates.signs(low, high)
    assert found.p_value == pytest.approx(stats.binomtest(1, 6).pvalue)
    assert estimates.signs(low[:5], high[:5]).p_value == pytest.approx(2 / 32)
    assert estimates.signs([0, -math.inf], [0, math.inf]).p_value == 1


def test_trend_against_every_permutation():
    rows = np.array([[9.0, 7.0, 7.0], [8.0, 6.0, 5.0]])
    found = estimates.trend(rows)
    values = [stats.spearmanr(row, range(3)).statistic for row in rows]
    assert found.correlation == pytest.approx(np.mean(values))
    both = itertools.product(*(itertools.permutations(row) for row in rows))
    every = [np.mean([stats.spearmanr(row, range(3)).statistic for row in pair]) for pair in both]
    # 0.02: 20000 drawings have a standard error of 0.0035 at most.
    assert found.p_value == pytest.approx(np.mean(np.abs(every) >= abs(found.correlation) - 1e-9), abs=0.02)
    assert estimates.trend([[1.0, 1.0, 1.0]]).p_value == 1
