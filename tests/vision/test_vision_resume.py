"""Runs that were killed, interrupted or moved: the same numbers again, or one sentence that says why not."""

import dataclasses
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tiny_vision import HERE, TINY, few, go, numbers, one_sentence

from fedbounds.errors import InputError
from fedbounds.vision import run, training

CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import tiny_vision
from fedbounds.vision import run
inner = run.save_checkpoint
def save(*given):
    inner(*given)
    print("saved", flush=True)
    if len(given[1]["alpha"]) == 2:
        sys.stdin.read()  # waits for the end
run.save_checkpoint = save
tiny_vision.go(Path(sys.argv[1]), "fedsoftmax:0.5")
"""


def test_a_killed_run_resumes_to_the_same_numbers(tmp_path):
    whole = go(tmp_path, "fedsoftmax:0.5")
    out = tmp_path / "killed"
    command = [sys.executable, "-c", CHILD, str(out), str(Path(__file__).parents[1])]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert [child.stdout.readline().strip() for _ in range(2)] == ["saved"] * 2
        child.send_signal(signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
    assert [path.name for path in out.iterdir()] == ["run-fedsoftmax-0.5-000.partial.npz"]
    told = []
    resumed = go(out, "fedsoftmax:0.5", report=lambda *said: told.append(said[1]))
    assert told == [2, 3]
    assert numbers(resumed) == numbers(whole)
    assert sorted(path.suffix for path in out.iterdir()) == [".json", ".npz"]


@pytest.mark.parametrize("optimiser", ["momentum", "adam"])
@pytest.mark.parametrize("k", [0, 1, 2])
def test_an_interruption_in_any_round_changes_nothing(tmp_path, monkeypatch, optimiser, k):
    whole = go(tmp_path, "fedmax:2", optimiser=optimiser, lr=0.01)
    calls, inner = [], training.average

    def interrupted(*given):
        if len(calls) == k:
            raise KeyboardInterrupt
        calls.append(1)
        return inner(*given)

    monkeypatch.setattr(training, "average", interrupted)
    out = tmp_path / "other"
    with pytest.raises(KeyboardInterrupt):
        go(out, "fedmax:2", optimiser=optimiser, lr=0.01)
    monkeypatch.setattr(training, "average", inner)
    assert numbers(go(out, "fedmax:2", optimiser=optimiser, lr=0.01)) == numbers(whole)


@pytest.mark.parametrize("checkpoint", [True, False])
def test_a_finished_run_goes_on_when_more_rounds_are_asked_for(tmp_path, checkpoint):
    whole, out, told = go(tmp_path / "whole"), tmp_path / "short", []
    go(out, rounds=2)
    if not checkpoint:
        next(out.glob("*.npz")).unlink()
    longer = go(out, report=lambda *said: told.append(said[1]))
    assert told == ([2, 3] if checkpoint else [0, 1, 2, 3])
    assert numbers(longer) == numbers(whole) == numbers(go(out))


def stopped(out, monkeypatch):
    """A run that stops in its second round, and leaves its checkpoint."""
    inner, calls = training.average, []

    def stops(*given):
        calls.append(1)
        return inner(*given) if len(calls) == 1 else 1 / 0

    monkeypatch.setattr(training, "average", stops)
    with pytest.raises(ZeroDivisionError):
        go(out)
    monkeypatch.setattr(training, "average", inner)


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"lr": 0.2}, "lr 0.1 instead of 0.2"),
        ({"rounds": 2, "batch": 8}, "batch 16 instead of 8, rounds 3 instead of 2"),
        ({"rounds": 4, "batch": 8}, "batch 16 instead of 8:"),
        ({"partition": "shards:8,even"}, "partition shards:8,unbalanced instead of shards:8,even"),
    ],
)
def test_other_settings_in_the_same_folder_are_refused(tmp_path, monkeypatch, finished, changes, says):
    go(tmp_path) if finished else stopped(tmp_path, monkeypatch)
    with pytest.raises(InputError, match="must belong to this experiment") as caught:
        go(tmp_path, **changes)
    said = one_sentence(caught)
    assert says in said and "--out" in said


@pytest.mark.parametrize("finished", [True, False])
def test_other_images_or_samples_are_noticed(tmp_path, monkeypatch, finished):
    go(tmp_path) if finished else stopped(tmp_path, monkeypatch)
    changed = few().train.copy()
    changed[0, 0, 0] ^= 1
    moved = run.prepare(dataclasses.replace(few(), train=changed), "unit", HERE)
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


def damaged(path):
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    yield from (b"", b"nothing", whole[:-100], whole[: len(whole) // 2], bytes(flipped))


def test_a_damaged_checkpoint_is_one_sentence(tmp_path, monkeypatch):
    stopped(tmp_path, monkeypatch)
    path = tmp_path / "run-fedavg-000.partial.npz"
    for content in damaged(path):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"partial.npz must be a whole checkpoint.*delete it") as caught:
            go(tmp_path)
        one_sentence(caught)
    with path.open("wb") as file:
        np.savez(
            file,
            **{name: np.zeros(3) for name in run.start(TINY, 0).state_dict()},
            record=np.frombuffer(b"{}", dtype=np.uint8),
        )
    with pytest.raises(InputError, match="whole checkpoint"):
        go(tmp_path)
