"""Compact records in the repository: what is kept of a run, where, and which are there.

A record stays one that ``fedbounds.vision.runs`` reads. Losses and weights are rounded to 5 significant digits,
except weights that equal p (FedAvg): these are kept as they are, so that "alpha equals p" stays true to the last bit.
Seconds a round are summed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fedbounds import files
from fedbounds.errors import reject
from fedbounds.vision import measures, runs
from fedbounds.vision.settings import LOCAL, Settings

DIGITS = 5


def compact(record: dict[str, Any]) -> dict[str, Any]:
    """The record as it is stored."""
    p, losses = record["p"], record["client_losses"]
    kept = {key: value for key, value in record.items() if key != "seconds"}
    kept["test_loss"] = _rounded(record["test_loss"])
    kept["client_losses"] = [row and _rounded(row) for row in losses]
    if record.get("local_losses"):
        kept["local_losses"] = [_rounded(row) for row in record["local_losses"]]
    else:
        kept.pop("local_losses", None)
    kept["alpha"] = [row if row == p else _rounded(row) for row in record["alpha"]]
    if "seconds" in record:
        kept["total_seconds"] = round(sum(record["seconds"]), 1)
    return kept


def _rounded(values: Sequence[float]) -> list[float]:
    return [float(f"{x:.{DIGITS}g}") for x in values]


def recorded(settings: Settings, weighting: str) -> str:
    """The name of a weighting in records: it says where weights saw the losses of local models."""
    return weighting + (LOCAL if settings.losses == "local" else "")


def store(record: dict[str, Any], folder: Path) -> Path:
    """Write the compact record; Errors: InputError if it would not be read again."""
    path = folder / runs.file_name(record["weighting"], record["repetition"])
    kept = compact(record)
    runs.from_json(kept, path.name)
    return files.write_text(path, json.dumps(kept, separators=(",", ":"), allow_nan=False) + "\n")


def store_longer(record: dict[str, Any], folder: Path) -> bool:
    """Store the record unless the same run is stored whole, or with as many rounds; whether it was stored."""
    path = folder / runs.file_name(record["weighting"], record["repetition"])
    if path.is_file():
        old, new = (runs.from_json(found, path.name) for found in (files.read_json(path), record))
        if (old.whole, old.rounds) >= (new.whole, new.rounds):
            return False
    store(record, folder)
    return True


def missing(folder: Path, settings: Settings, weightings: Sequence[str], repetition: int) -> list[str]:
    """The weightings whose repetition is not stored, or ended before it was to: also one that was interrupted.

    Errors: InputError where a record of other settings is stored.
    """
    lacking = []
    for weighting in weightings:
        path = folder / runs.file_name(recorded(settings, weighting), repetition)
        if not path.is_file():
            lacking.append(weighting)
            continue
        run = runs.from_json(files.read_json(path), path.name)
        require_settings(run, settings, path)
        ended = run.complete or measures.rounds_to(run.accuracy, settings.target) is not None
        if not run.whole and not (settings.stop_after is not None and ended):
            lacking.append(weighting)
    return lacking


def differing(run: runs.Run, settings: Settings) -> list[str]:
    """The choices in which a run is of another experiment; when it ended is none of them."""
    # A setting that came later had its default before.
    wanted, found = settings.to_json(), {**Settings().to_json(), **run.settings}
    keys = (wanted.keys() | found.keys()) - (runs.NOT_A_CHOICE - {"seed"})
    return sorted(key for key in keys if wanted.get(key) != found.get(key))


def require_settings(run: runs.Run, settings: Settings, path: Path) -> None:
    """Refuse a record of another experiment. Errors: InputError."""
    keys, wanted = differing(run, settings), settings.to_json()
    if keys:
        said = ", ".join(f"{key} {run.settings.get(key)} instead of {wanted.get(key)}" for key in keys[:3])
        raise reject(f"{path} must be of the experiment that is described", said, "delete or move the old records")


def repetitions(folder: Path, weighting: str) -> list[int]:
    """The repetitions that are stored, in order."""
    stem = runs.file_name(weighting, 0).removesuffix("000.json")
    ends = [path.name.removeprefix(stem).removesuffix(".json") for path in folder.glob(f"{stem}*.json")]
    return sorted(int(end) for end in ends if end.isdigit())


def read(folder: Path, settings: Settings) -> list[runs.Run]:
    """The records of a folder, none if there is no folder. Errors: InputError for records of other settings."""
    if not folder.is_dir() or not any(folder.glob(runs.PATTERN)):
        return []
    found = runs.read(folder)
    for run in found:
        require_settings(run, settings, folder / run.source)
    return found
