"""The files of a run: what its record is called, the checkpoint of an unfinished one, and whose they are."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fedbounds.errors import reject
from fedbounds.files import write
from fedbounds.vision.network import Params

# Differences that are named in one sentence.
NAMED = 3
# Fingerprints of the data, and what is said where they differ.
DATA = {"images": "other images", "split": "other samples of the clients"}


def save(path: Path, record: dict[str, Any], params: Params) -> None:
    """Write the record so far and the model of its last round in one file, which replaces the one before at once."""
    arrays = {f"w{k}": piece.cpu().numpy() for k, piece in enumerate(params)}
    text = np.frombuffer(json.dumps(record, allow_nan=False).encode(), dtype=np.uint8)
    write(path, lambda file: np.savez(file, record=text, **arrays))  # type: ignore[arg-type]


def load(path: Path, like: Params) -> tuple[dict[str, Any], Params]:
    """The record and the model, on the device and with the shapes of ``like``. Errors: InputError."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
            record = json.loads(arrays["record"].tobytes().decode())
            params = tuple(torch.from_numpy(arrays[f"w{k}"]) for k in range(len(like)))
        if not isinstance(record, dict) or [p.shape for p in params] != [p.shape for p in like]:
            raise ValueError("another model")
    except Exception as wrong:  # whatever a damaged archive makes its readers raise
        raise reject(
            f"{path} must be a whole checkpoint of this run", type(wrong).__name__, "delete it to start the run anew"
        ) from wrong
    return record, tuple(piece.to(own.device) for piece, own in zip(params, like, strict=True))


def require_same(path: Path, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Refuse a record that differs from ``wanted`` in its settings or in another of its keys. Errors: InputError.

    A record without the fingerprints of its data is taken at its word.
    """
    own, other = _flat(wanted, wanted), _flat(found, wanted)
    for key in DATA:
        if other.get(key) is None:
            other[key] = own.get(key)
    differing = sorted(key for key in own | other if other.get(key) != own.get(key))
    if differing:
        shown = (DATA.get(key) or f"{key} {other.get(key)} instead of {own.get(key)}" for key in differing[:NAMED])
        raise reject(f"{path.name} must belong to this experiment", ", ".join(shown), "choose another --out folder")


def _flat(record: dict[str, Any], keys: dict[str, Any]) -> dict[str, Any]:
    """What ``keys`` names of a record, its settings one by one."""
    settings = record.get("settings")
    return {key: record.get(key) for key in keys if key != "settings"} | dict(settings or {})
