"""The page on what was tried against the package: each number is that of a stored run."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from fedbounds.cli.app import main
from fedbounds.io import read_json
from validate.robustness import inputs, memory

ROOT = Path(__file__).parents[2]
PAGE = " ".join((ROOT / "docs" / "robustness.md").read_text(encoding="utf-8").split())
RESULTS = ROOT / "validate" / "results"

MORE_THAN_A_WORST_CASE = 400


def test_the_page_has_the_stored_numbers():
    rows = read_json(RESULTS / "inputs.json")
    assert f"{sum(row['tried'] for row in rows):,} calls" in PAGE and not any(row["wrong"] for row in rows)
    damaged = read_json(RESULTS / "formats.json")["formats"]
    assert f"{sum(row['tried'] for row in damaged):,} times" in PAGE
    assert f"{sum(row['wrong'] for row in damaged)} of these answers were wrong" in PAGE
    (files,) = read_json(RESULTS / "theorem_files.json")["formats"]
    said = "Of {tried:,} damaged LaTeX theorem files {read:,} are read, {refused:,} refused".format(**files)
    assert said in PAGE and not files["wrong"]
    held = read_json(RESULTS / "commands_memory.json")
    assert [row["command"] for row in held] == list(memory.COMMANDS)
    line = "| `{command}` | {peak_MiB} MiB | {processor_seconds:.0f} s |"
    assert all(line.format(**row) in PAGE for row in held)


def test_every_command_has_a_row_of_wrong_words():
    tried = {row["command"] for row in read_json(RESULTS / "inputs.json")}
    assert tried == {name for name, _ in inputs.commands(main)}


def test_the_memory_of_a_command_is_that_of_its_process():
    # More than the command needs: it does not count as the command's.
    held = np.ones(MORE_THAN_A_WORST_CASE * memory.MEBIBYTE // 8)
    assert 20 < memory.peak(f"worst {inputs.BEFORE['worst']}")["peak_MiB"] < held.nbytes / memory.MEBIBYTE
    with pytest.raises(subprocess.CalledProcessError):
        memory.peak("check --clients 0")
