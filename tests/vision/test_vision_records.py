"""Records are read or refused in one sentence, grouped, and put in a plain table."""

import json
import math

import numpy as np
import pytest
from made_runs import NEVER, plausible, record, runs_reaching

from fedbounds.errors import InputError
from fedbounds.vision import records
from fedbounds.vision.records import experiments, from_json, read


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
    assert [result.weighting for result in read(tmp_path)] == ["fedsoftmax:0.2", "fedavg"]


GOOD = record([0.1, 0.5, 0.9])


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ("[1, 2]", "Expected `object`, got `array`"),
        ('{"a": 1}', "missing required field `settings`"),
        ("{", "readable JSON"),
        (GOOD | {"settings": {"data": "mnist"}}, "settings name data and partition"),
        (GOOD | {"settings": {**GOOD["settings"], "rounds": "many"}}, r"int`, got .* `\$\.rounds`"),
        (GOOD | {"settings": {**GOOD["settings"], "rounds": math.inf}}, "must be readable JSON"),
        (GOOD | {"accuracy": [0.1, 1.5, 0.9]}, r"accuracy lies in \[0, 1\]"),
        (GOOD | {"accuracy": [0.1]}, "at least one round"),
        (GOOD | {"alpha": [[0.25] * 4]}, "alpha has 2 rows"),
        (GOOD | {"alpha": [[1.0, 0.5, -0.5, 0.0]] * 2}, "alpha are non-negative with sum 1"),
        (GOOD | {"p": [0.5] * 4}, "p and alpha are non-negative"),
        (GOOD | {"client_losses": [[1.0]] * 3}, "4 clients in each round"),
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
    with pytest.raises(InputError, match="must be there once"):
        read(tmp_path)


def test_runs_of_other_settings_are_not_repetitions():
    made = [
        from_json(record([0.1, 0.9], repetition=k, settings={"lr": lr, "seed": k}), "made")
        for lr in (1, 2)
        for k in (0, 1)
    ]
    assert [len(group) for group in experiments(made).values()] == [2, 2]
    assert [run.choices["lr"] for run in made] == ["1", "1", "2", "2"]


def test_settings_that_came_later_have_the_default_that_was_run():
    old, new = (
        from_json(record([0.1, 0.9], repetition=k, settings=settings), "made")
        for k, settings in enumerate(({}, {"reduction": "mean", "steps": None}))
    )
    other = from_json(record([0.1, 0.9], settings={"reduction": "sum"}), "made")
    assert old.experiment == new.experiment != other.experiment


def test_rounds_to_counts_from_the_first_round():
    assert records.rounds_to([0.95, 0.5, 0.9, 0.8], 0.9) == 2
    assert records.rounds_to([0.95, 0.5, 0.89], 0.9) is None
    assert records.rounds_to([0.1, 0.5, 0.6], 0.5) == 1


def test_the_table_has_nothing_that_a_run_does_not_know():
    runs = runs_reaching(7, 9, NEVER) + runs_reaching(5, 9, weighting="fedmax")
    base, other = records.table(runs)
    assert base["rounds_to_target"] == [7, 9, None] and base["rounds"] == [20] * 3
    assert other["final_accuracy"] == [0.95, 0.95] and other["repetitions"] == [0, 1]
    stopped = from_json(record([0.1, 0.95], settings={"rounds": 9, "stop_after": 0}), "made")
    assert records.table([stopped])[0]["final_accuracy"] == [None]
