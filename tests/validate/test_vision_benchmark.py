"""The benchmark of the vision path run small: contestants agree, and the table and the file come out."""

import functools
import importlib.metadata
import json

import pytest

from fedbounds.vision import training
from validate.benchmarks import __main__ as bench
from validate.benchmarks import vision


@pytest.fixture(scope="module")
def work():
    return vision.workload(3, 80, epochs=2)


def test_the_workload_is_fedavgs_round_on_equal_clients(work):
    assert [[len(batch) for batch in order] for order in work.orders] == [[64, 16] * 2] * 3
    assert work.alpha.tolist() == [1 / 3] * 3


def test_contestants_agree_and_a_wrong_one_is_noticed(work):
    with training.repeatable():
        rounds = {**vision.contestants(), "fedbounds, bfloat16": functools.partial(vision.ours, "bfloat16")}
        away = vision.check(work, rounds)
        assert set(away) == {"plain loop", "plain loop, tuned", "fedbounds, float32", "fedbounds, bfloat16"}
        assert away["plain loop"] == 0 < away["fedbounds, float32"] < away["fedbounds, bfloat16"]
        with pytest.raises(AssertionError, match="nothing done ends 1 of the way"):
            vision.check(work, {"nothing done": lambda w: w.start})


def test_a_table_and_a_file(tmp_path, capsys, monkeypatch):
    small = functools.partial(vision.measure, clients=2, samples=20, repeats=1)
    monkeypatch.setattr(vision, "measure", small)
    monkeypatch.setattr(vision, "EVALUATED", 60)
    bench.main(["--only", "vision", "--out", str(tmp_path)])
    printed, found = capsys.readouterr().out, json.loads((tmp_path / "vision_speed.json").read_text())
    rows = found["rounds"]
    assert rows["plain loop, tuned"]["tuned loop over it"] == 1 and "fedbounds, FedMax" in rows
    assert all(row["processor"] > 0 and row["wall"] > 0 and name in printed for name, row in rows.items())
    assert found["workload"] == {"clients": 2, "samples": 20, "epochs": 1, "batch": 64, "repeats": 1}
    assert found["machine"]["torch"] == importlib.metadata.version("torch")
