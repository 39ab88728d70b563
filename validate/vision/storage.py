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

DIGITS = 5


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
    return [float(f"{x:.{DIGITS}g}") for x in values]


def missing(folder: Path, settings: ImageSettings, weightings: Sequence[str], repetition: int) -> list[str]:
    """The weightings whose repetition is not stored, or ended before it was to: also one that was interrupted.

    Errors: InputError where a record of other settings is stored.
    """
    lacking = []
    for weighting in weightings:
        path = folder / records.file_name(weighting, repetition)
        if not path.is_file():
            lacking.append(weighting)
            continue
        run = records.from_json(io.read_json(path), path.name)
        require_settings(run, settings, path)
        ended = run.complete or records.rounds_to(run.accuracy, settings.target) is not None
        if not run.whole and not (settings.stop_after is not None and ended):
            lacking.append(weighting)
    return lacking


def differing(run: ImageRun, settings: ImageSettings) -> list[str]:
    """The choices in which a run is of another experiment; when it ended is none of them."""
    wanted = settings.to_json()
    keys = (wanted.keys() | run.settings.keys()) - (records.NOT_A_CHOICE - {"seed"})
    return sorted(key for key in keys if wanted.get(key) != run.settings.get(key))


def require_settings(run: ImageRun, settings: ImageSettings, path: Path) -> None:
    """Refuse a record of another experiment. Errors: InputError."""
    keys, wanted = differing(run, settings), settings.to_json()
    if keys:
        said = ", ".join(f"{key} {run.settings.get(key)} instead of {wanted.get(key)}" for key in keys[:3])
        raise reject(f"{path} must be of the experiment that is described", said, "delete or move the old records")


def read(folder: Path, settings: ImageSettings) -> list[ImageRun]:
    """The records of a folder, none if there is no folder. Errors: InputError for records of other settings."""
    if not folder.is_dir() or not any(folder.glob(records.PATTERN)):
        return []
    result = records.read(folder)
    for run in result:
        require_settings(run, settings, folder / run.source)
    return result
