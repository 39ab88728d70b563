"""The benchmark of the vision path run small: contestants agree, and the table and the file come out."""

import functools
import importlib.metadata
import json

import numpy as np
import pytest
import torch

from fedbounds.vision import reference, training
from validate.benchmarks import __main__ as bench
from validate.benchmarks import vision, vision_flower, vision_rivals


@pytest.fixture(autouse=True)
def one_thread():
    with training.one_thread_an_operation():
        yield


@pytest.fixture(scope="module")
def work():
    return vision.workload(3, 40, epochs=2, batch=16)


def test_the_workload_is_fedavgs_round_on_equal_clients(work):
    assert [len(part) for part in work.parts] == [40] * 3 and work.alpha.tolist() == [1 / 3] * 3
    assert [[len(batch) for batch in order] for order in work.orders] == [[16, 16, 8] * 2] * 3
    assert vision.first_client(work).alpha.tolist() == [1, 0, 0]


def test_contestants_agree_and_a_wrong_one_is_noticed(work):
    with torch.no_grad():
        rounds = vision.contestants(compiled=False)
        away = vision.check(work, rounds)
        assert set(away) == {"plain loop", "grouped convolution", "fedbounds, float32", "fedbounds, bfloat16"}
        assert away["plain loop"] == 0 < away["grouped convolution"] < away["fedbounds, bfloat16"]
        with pytest.raises(AssertionError, match="nothing done ends 1 of the way"):
            vision.check(work, {"nothing done": lambda w: w.start})


def test_grouped_convolutions_train_every_client_alone(work):
    one = vision_rivals.grouped(work.start, work.samples, work.orders[:1], vision.LR)
    with torch.no_grad():
        wanted = vision.plain(vision.first_client(work))
    for a, b in zip(one, wanted, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_flowers_client_is_the_plain_loop():
    sizes, client = (2, 20, 1), 1
    work = vision.workload(*sizes)
    net = reference.build("flatten")
    reference.put(net, work.start)
    start = [piece.detach().numpy() for piece in net.parameters()]
    trained = vision_flower.train(start, client, sizes, vision.LR)
    alone = vision.Work(work.start, work.samples, work.parts, work.orders, np.eye(2)[client], work.plan)
    with torch.no_grad():
        reference.put(net, vision.plain(alone))
    for piece, wanted in zip(trained, net.parameters(), strict=True):
        np.testing.assert_allclose(piece, wanted.detach().numpy(), rtol=1e-4, atol=1e-6)


def test_a_table_and_a_file(tmp_path, capsys, monkeypatch):
    small = functools.partial(vision.measure, clients=2, samples=20, repeats=1, compiled=False)
    monkeypatch.setattr(vision, "measure", small)
    monkeypatch.setattr(vision.frameworks, "has", lambda name: name == "torch")
    bench.main(["--only", "vision", "--out", str(tmp_path)])
    printed, found = capsys.readouterr().out, json.loads((tmp_path / "vision_speed.json").read_text())
    rows = found["rounds"]
    assert rows["plain loop"]["plain loop over it"] == 1 and "fedbounds, FedMax" in rows
    assert all(row["processor"] > 0 and row["wall"] > 0 for row in rows.values())
    assert all(name in printed for name in rows)
    assert found["workload"] == {"clients": 2, "samples": 20, "epochs": 1, "batch": 64, "repeats": 1}
    assert found["machine"]["torch"] == importlib.metadata.version("torch")
    found["rounds"]["Flower"] = {"wall": 2.0, "plain loop over it": 0.5}
    assert "Flower" in vision.table(found)
