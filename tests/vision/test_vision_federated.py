"""Algorithm 1 on a few digits: what a record says, which runs are pairs, runs begun again, failures."""

import dataclasses
import json

import numpy as np
import pytest
from tiny_vision import TINY, few, go, numbers, one_sentence, prepared

from fedbounds import plugins
from fedbounds.errors import DivergedError, InputError
from fedbounds.vision import records, run, training

PER_ROUND, PER_MODEL = ("alpha", "trained"), ("accuracy", "test_loss", "client_losses")


# --- records ----------------------------------------------------------------------------------------------


def test_a_record_of_fedavg(tmp_path):
    record = go(tmp_path, repetition=2, seed=5)
    assert json.loads((tmp_path / "run-fedavg-002.json").read_text()) == record
    assert {path.name for path in tmp_path.iterdir()} == {"run-fedavg-002.json"}
    (result,) = records.read(tmp_path)
    assert (result.rounds, result.weighting, result.repetition, result.seed) == (3, "fedavg", 2, 5)
    assert record["settings"] == dataclasses.asdict(
        dataclasses.replace(TINY, seed=5, partition="shards:8,unbalanced")
    )
    assert record["images"] == few().fingerprint()
    assert record["client_losses"] == [None] * 4 and record["trained"] == [4] * 3
    assert record["alpha"] == [record["p"]] * 3
    assert all(second > 0 for second in record["seconds"])
    parts = run.deal(dataclasses.replace(TINY, seed=5), few().train_labels, 2)
    assert record["p"] == [len(part) / 80 for part in parts]


def test_a_round_is_local_training_from_the_average_and_its_evaluation(tmp_path):
    record = go(tmp_path, "fedsoftmax:1e12", decay=0.5, rounds=2)
    parts, w = run.deal(TINY, few().train_labels, 0), run.start(TINY, 0)
    data, settings = prepared(), dataclasses.replace(TINY, decay=0.5)
    with training.repeatable():
        for r in range(3):
            loss, right = training.evaluate(w, data.test, np.arange(len(data.test.y)), "float32", 1)
            assert record["test_loss"][r] == pytest.approx(loss.mean(), rel=1e-5)
            assert record["accuracy"][r] == pytest.approx(right.mean(), abs=1 / len(right) + 1e-9)
            own = [training.evaluate(w, data.train, part, "float32", 1)[0].mean() for part in parts]
            assert record["client_losses"][r] == pytest.approx(own, rel=1e-5)
            orders = training.batches(TINY, 0, parts, r)
            models = [training.train(w, data.train, o, settings, 0.1 * 0.5**r) for o in orders]
            w = training.average(np.array(record["p"]), iter(models), w)
    assert record["test_loss"][-1] < record["test_loss"][0]


def test_fedsoftmax_weighs_by_the_recorded_losses(tmp_path):
    """With the same bits on one thread and on two."""
    record = go(tmp_path, "fedsoftmax:0.2")
    losses = np.array(record["client_losses"])
    assert losses.shape == (4, 4)
    weights = np.array(record["p"]) * np.exp(losses[:-1] / 0.2)
    np.testing.assert_allclose(record["alpha"], weights / weights.sum(axis=1, keepdims=True), rtol=1e-12)
    assert numbers(go(tmp_path / "threads", "fedsoftmax:0.2", threads=2)) == numbers(record)


def test_fedmax_trains_the_client_of_the_largest_loss_alone(tmp_path, monkeypatch):
    trained, inner = [], training.train
    monkeypatch.setattr(training, "train", lambda *given: trained.append(1) or inner(*given))
    record = go(tmp_path, "fedmax")
    chosen = [int(np.argmax(losses)) for losses in record["client_losses"][:-1]]
    assert record["alpha"] == np.eye(4)[chosen].tolist()
    assert record["trained"] == [1] * 3 and len(trained) == 3
    weights = ",".join("1" if i == chosen[0] else "0" for i in range(4))
    alone = go(tmp_path / "alone", f"fixed:{weights}", rounds=1)
    assert alone["accuracy"] == record["accuracy"][:2] and alone["test_loss"] == record["test_loss"][:2]


def test_weightings_of_a_repetition_share_partition_and_model_and_repetitions_do_not(tmp_path):
    rules = [plugins.weighting_named(name) for name in ("fedavg", "fedmax")]
    records = run.run_all(dataclasses.replace(TINY, rounds=1), few(), rules, (0, 1), tmp_path, 1)
    pairs = [(k, name) for k in (0, 1) for name in ("fedavg", "fedmax")]
    assert [(r["repetition"], r["weighting"]) for r in records] == pairs
    begun = [(str(r["p"]), r["split"], r["accuracy"][0], r["test_loss"][0]) for r in records]
    assert begun[0] == begun[1] and begun[2] == begun[3]
    assert len({r["test_loss"][1] for r in records}) == 4
    assert records[0]["split"] != records[2]["split"] and begun[0][3] != begun[2][3]
    again = run.run_all(dataclasses.replace(TINY, seed=1, rounds=1), few(), rules[:1], (0,), tmp_path / "s", 1)
    assert again[0]["split"] != records[0]["split"] and again[0]["test_loss"][0] != records[0]["test_loss"][0]


def test_a_run_stops_some_rounds_after_the_target(tmp_path):
    told = []
    whole = go(tmp_path / "whole", rounds=6)
    target = sorted(whole["accuracy"][1:])[2]
    first = next(r for r in range(1, 7) if whole["accuracy"][r] >= target)
    assert first <= 4, "pick another seed"
    choice = {"rounds": 6, "target": target, "stop_after": 1}
    short = go(tmp_path, **choice, report=lambda *said: told.append(said))
    for key in PER_ROUND:
        assert short[key] == whole[key][: first + 1]
    for key in PER_MODEL:
        assert short[key] == whole[key][: first + 2]
    end = ("fedavg, repetition 0", first + 1, first + 1, f"accuracy {short['accuracy'][-1]:.3f}")
    assert told[0][:3] == ("fedavg, repetition 0", 0, 6) and told[-1] == end
    told.clear()
    assert go(tmp_path, **choice, report=lambda *said: told.append(said)) == short
    assert told == [end]
    assert len(go(tmp_path / "late", target=target, stop_after=9)["alpha"]) == 3


# --- failures ---------------------------------------------------------------------------------------------


def test_divergence_is_one_sentence_and_leaves_nothing(tmp_path):
    with pytest.raises(
        DivergedError, match=r"diverged in round \d+ \(test loss \S+\) with step size .*lower the learning"
    ) as caught:
        go(tmp_path, "fedmax", lr=1e15, decay=1.0, rounds=30)
    one_sentence(caught)
    assert list(tmp_path.iterdir()) == []


def test_other_settings_images_or_samples_in_the_same_folder_are_refused(tmp_path, monkeypatch):
    go(tmp_path)
    for changes, says in (
        ({"rounds": 2, "batch": 8}, "batch 16 instead of 8, rounds 3 instead of 2"),
        ({"rounds": 4, "batch": 8}, "batch 16 instead of 8:"),
        ({"partition": "shards:8,even"}, "partition shards:8,unbalanced instead of shards:8,even"),
    ):
        with pytest.raises(InputError, match="must belong to this experiment") as caught:
            go(tmp_path, **changes)
        said = one_sentence(caught)
        assert says in said and "--out" in said
    changed = few().train.copy()
    changed[0, 0, 0] ^= 1
    moved = run.prepare(dataclasses.replace(few(), train=changed))
    with pytest.raises(InputError, match="received other images: choose another --out"):
        go(tmp_path, data=moved)
    monkeypatch.setattr(run, "deal", lambda *given: tuple(np.arange(20 * k, 20 * k + 20) for k in range(4)))
    with pytest.raises(InputError, match="received other samples of the clients"):
        go(tmp_path)


def test_a_record_under_the_name_of_another_weighting_is_refused(tmp_path):
    go(tmp_path)
    (tmp_path / "run-fedavg-000.json").rename(tmp_path / "run-fedmax-000.json")
    with pytest.raises(InputError, match="weighting fedavg instead of fedmax") as caught:
        go(tmp_path, "fedmax")
    one_sentence(caught)


def test_more_rounds_begin_with_the_same_numbers(tmp_path):
    whole = go(tmp_path / "whole")
    go(tmp_path / "short", rounds=2)
    assert numbers(go(tmp_path / "short")) == numbers(whole) == numbers(go(tmp_path / "short"))
