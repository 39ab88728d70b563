"""The checkpoint of an unfinished run, and whose a checkpoint or record is."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fedbounds.errors import reject
from fedbounds.files import write
from fedbounds.vision.network import Network
from fedbounds.vision.settings import filled

# Differences that are named in one sentence.
NAMED = 3
# Fingerprints of the data, and what is said where they differ.
DATA = {"images": "other images", "split": "other samples of the clients"}


def save(path: Path, record: dict[str, Any], net: Network) -> None:
    """Write the record so far and the model of its last round in one file, which replaces the one before at once."""
    arrays = {name: piece.cpu().numpy() for name, piece in net.state_dict().items()}
    text = np.frombuffer(json.dumps(record, allow_nan=False).encode(), dtype=np.uint8)
    write(path, lambda file: np.savez(file, record=text, **arrays))


def load(path: Path, net: Network) -> dict[str, Any]:
    """The record; the model is put into ``net``. Errors: InputError."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
            record = json.loads(arrays["record"].tobytes().decode())
            net.load_state_dict({name: torch.from_numpy(arrays[name]) for name in net.state_dict()})
        if not isinstance(record, dict):
            raise TypeError("no record")
    except Exception as wrong:  # whatever a damaged archive makes its readers raise
        raise reject(
            f"{path} must be a whole checkpoint of this run", type(wrong).__name__, "delete it to start the run anew"
        ) from wrong
    return record


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
    return {key: record.get(key) for key in keys if key != "settings"} | filled(record.get("settings") or {})
