"""Compact records in the repository: what is kept of a run, where, and which are there.

A record stays one that ``fedbounds.vision.records`` reads. Losses and weights are rounded to 5 significant digits,
except weights that equal p (FedAvg): these are kept as they are, so that "alpha equals p" stays true to the last bit.
Seconds a round are summed.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fedbounds import io
from fedbounds.errors import reject
from fedbounds.vision import records
from fedbounds.vision.records import ImageRun
from fedbounds.vision.settings import ImageSettings


def store(record: dict[str, Any], folder: Path) -> Path:
    """Write the compact record, unless the same run is stored with as many rounds. Errors: InputError."""
    path = folder / records.file_name(record["weighting"], record["repetition"])
    if path.is_file():
        old, new = (records.from_json(result, path.name) for result in (io.read_json(path), record))
        if (old.whole, old.rounds) >= (new.whole, new.rounds):
            return path
    kept = {key: value for key, value in record.items() if key != "seconds"}
    kept["test_loss"] = _rounded(record["test_loss"])
    kept["client_losses"] = [row and _rounded(row) for row in record["client_losses"]]
    kept["alpha"] = [row if row == record["p"] else _rounded(row) for row in record["alpha"]]
    if "seconds" in record:
        kept["total_seconds"] = round(sum(record["seconds"]), 1)
    records.from_json(kept, path.name)
    return io.write_text(path, json.dumps(kept, separators=(",", ":"), allow_nan=False) + "\n")


def _rounded(values: Sequence[float]) -> list[float]:
    return [float(f"{x:.5g}") for x in values]


def missing(folder: Path, settings: ImageSettings, weightings: Sequence[str], repetition: int) -> list[str]:
    """The weightings whose repetition is not stored, or was interrupted before it was to end. Errors: InputError."""

    def stored(weighting: str) -> bool:
        path = folder / records.file_name(weighting, repetition)
        if not path.is_file():
            return False
        run = of_settings(records.from_json(io.read_json(path), path.name), settings)
        ended = run.complete or records.rounds_to(run.accuracy, settings.target) is not None
        return run.whole or (settings.stop_after is not None and ended)

    return [weighting for weighting in weightings if not stored(weighting)]


def of_settings(run: ImageRun, settings: ImageSettings) -> ImageRun:
    """The run, unless it is of another experiment: InputError. When it ended does not matter."""
    wanted = settings.to_json()
    keys = (wanted.keys() | run.settings.keys()) - (records.NOT_A_CHOICE - {"seed"})
    differing = [key for key in sorted(keys) if wanted.get(key) != run.settings.get(key)]
    if differing:
        found = ", ".join(f"{key} {run.settings.get(key)} instead of {wanted.get(key)}" for key in differing[:3])
        raise reject(f"{run.source} must be of the experiment that is described", found, "delete or move old records")
    return run


def read(folder: Path, settings: ImageSettings) -> list[ImageRun]:
    """The records of a folder, none if there is no folder. Errors: InputError for records of other settings."""
    there = folder.is_dir() and any(folder.glob(records.PATTERN))
    return [of_settings(run, settings) for run in records.read(folder)] if there else []
