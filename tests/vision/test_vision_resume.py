"""Runs begun again: what is finished is kept, or one sentence says why not."""

import dataclasses

import numpy as np
import pytest
from tiny_vision import few, go, numbers, one_sentence

from fedbounds.errors import InputError
from fedbounds.vision import run


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"lr": 0.2}, "lr 0.1 instead of 0.2"),
        ({"rounds": 2, "batch": 8}, "batch 16 instead of 8, rounds 3 instead of 2"),
        ({"rounds": 4, "batch": 8}, "batch 16 instead of 8:"),
        ({"partition": "shards:8,even"}, "partition shards:8,unbalanced instead of shards:8,even"),
    ],
)
def test_other_settings_in_the_same_folder_are_refused(tmp_path, changes, says):
    go(tmp_path)
    with pytest.raises(InputError, match="must belong to this experiment") as caught:
        go(tmp_path, **changes)
    said = one_sentence(caught)
    assert says in said and "--out" in said


def test_other_images_or_samples_are_noticed(tmp_path, monkeypatch):
    go(tmp_path)
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
