"""The page on what was tried against the package: each number is that of a stored run."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from fedbounds.cli.app import main
from fedbounds.io import read_json
from validate.robustness import inputs, kills, memory, page

PAGE = (Path(__file__).parents[2] / "docs" / "robustness.md").read_text(encoding="utf-8")

MORE_THAN_A_STUDY = 600


def test_the_tables_are_those_stored():
    shown = [line for line in PAGE.splitlines() if line.startswith("| `")]
    assert shown == [line for lines in page.tables().values() for line in lines]


def test_the_sentences_are_those_of_the_tables():
    done, rows = read_json(page.RESULTS / "kills.json"), read_json(page.RESULTS / "inputs.json")
    assert {row["command"] for row in done} == kills.COMMANDS.keys()
    assert f"{sum(row['kills'] for row in done)} times in all" in PAGE and all(row["same"] for row in done)
    assert f"{sum(row['tried'] for row in rows):,} calls" in PAGE and not any(row["wrong"] for row in rows)
    damaged = read_json(page.RESULTS / "formats.json")["formats"]
    assert f"{sum(row['tried'] for row in damaged):,} times" in PAGE
    assert f"{sum(row['wrong'] for row in damaged)} of these answers were wrong" in PAGE
    assert [row["command"] for row in read_json(page.RESULTS / "commands_memory.json")] == list(memory.COMMANDS)


def test_every_command_has_a_row_of_wrong_words():
    tried = {row["command"] for row in read_json(page.RESULTS / "inputs.json")}
    assert tried == {name for name, _ in inputs.commands(main)}


def test_the_memory_of_a_command_is_that_of_its_process():
    # More than the command needs: it does not count as the command's.
    held = np.ones(MORE_THAN_A_STUDY * memory.MEBIBYTE // 8)
    assert 20 < memory.peak(f"check {inputs.BEFORE['check']}")["peak_MiB"] < held.nbytes / memory.MEBIBYTE
    with pytest.raises(subprocess.CalledProcessError):
        memory.peak("check --clients 0")
