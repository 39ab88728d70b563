"""Records of finished runs, one JSON file a run: reading, checking and grouping them, and their plain table."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fedbounds import io
from fedbounds.errors import reject
from fedbounds.model.problem import Array
from fedbounds.vision.settings import ImageSettings, filled

PATTERN = "run-*.json"
REMEDY = "name the records that fedbounds vision run wrote"
# Weights computed in single precision sum to 1 within N rounding errors of 1e-7, with room for thousands of clients.
SUM_TOLERANCE = 1e-4
# What may differ between repetitions of one experiment: the seed, and whether a run ended once it had reached the
# target (``ImageRun.whole`` says so: then it has an R_90, but no final accuracy).
NOT_A_CHOICE = frozenset({"seed", "stop_after"})


@dataclass(frozen=True, eq=False)
class ImageRun:
    """One record: test ``accuracy`` and ``test_loss`` (R + 1,) of w_0 ... w_R, weights ``alpha`` (R, N) of rounds.

    ``client_losses`` (R + 1, N) are F_i(w_r), nan where not evaluated, as ``test_loss`` too.
    """

    source: str
    settings: Mapping[str, Any]
    weighting: str
    repetition: int
    seed: int
    p: Array
    accuracy: Array
    test_loss: Array
    client_losses: Array
    alpha: Array

    @property
    def rounds(self) -> int:
        return len(self.accuracy) - 1

    @property
    def complete(self) -> bool:
        return bool(self.rounds >= self.settings["rounds"])

    @property
    def whole(self) -> bool:
        """Whether every round was run and none would have been left out whatever the accuracy.

        A run that was to end at the target goes on to the last round only if it never reached it: counting it
        among the whole ones would select runs by their own outcome.
        """
        return self.complete and self.settings["stop_after"] is None

    @property
    def data(self) -> str:
        return str(self.settings["data"])

    @property
    def partition(self) -> str:
        return str(self.settings["partition"])

    @cached_property
    def choices(self) -> dict[str, str]:
        """The settings that make an experiment, seed and weighting aside, each as JSON text."""
        remaining = sorted(self.settings.items())
        return {key: json.dumps(value, sort_keys=True) for key, value in remaining if key not in NOT_A_CHOICE}

    @cached_property
    def experiment(self) -> str:
        """One text a choice of settings: runs that share it differ in seed and weighting alone."""
        return json.dumps(self.choices)


def rounds_to(accuracy: ArrayLike, level: float) -> int | None:
    """R_level: the first round r >= 1 with accuracy[r] >= level; None if none of the R rounds reached it.

    ``accuracy`` (R + 1,) starts with the untrained model. None means right-censored: R_level > R.
    """
    reached = np.flatnonzero(np.asarray(accuracy, dtype=float)[1:] >= level)
    return int(reached[0]) + 1 if reached.size else None


def read(where: str | Path) -> list[ImageRun]:
    """The records in a file, or in a folder and the folders below it, in the order of their paths.

    Errors: InputError if there is none, if one is not a record, or if two are the same repetition.
    """
    where = Path(where)
    paths = sorted(where.rglob(PATTERN)) if where.is_dir() else [where]
    if not paths:
        raise reject(f"a folder of results must hold {PATTERN}", str(where), REMEDY)
    result = [from_json(io.read_json(path), path.name) for path in paths]
    require_once(result)
    return result


def require_once(runs: Sequence[ImageRun]) -> None:
    seen: dict[tuple[str, str, int, int], str] = {}
    for run in runs:
        key = (run.experiment, run.weighting, run.seed, run.repetition)
        if key in seen:
            raise reject("every run must be there once", f"{seen[key]} and {run.source}, the same", "leave one out")
        seen[key] = run.source


def file_name(weighting: str, repetition: int) -> str:
    """The record of a run: everything but letters, digits, points and dashes of the weighting becomes a dash."""
    name = "".join(mark if mark.isalnum() or mark in ".-" else "-" for mark in weighting)
    return f"run-{name}-{repetition:03d}.json"


@dataclass(frozen=True)
class _Record:
    """What a file holds of a run, besides what nobody reads."""

    settings: dict[str, Any]
    weighting: str
    repetition: int
    seed: int
    p: list[float]
    accuracy: list[float]
    test_loss: list[float | None]
    client_losses: list[list[float | None] | None]
    alpha: list[list[float]]

    def faults(self) -> Iterator[tuple[str, object]]:
        """What the record must be and is not, with what was received."""
        if not all(isinstance(self.settings.get(key), str) for key in ("data", "partition")):
            yield "whose settings name data and partition", self.settings
        R, N = len(self.accuracy) - 1, len(self.p)
        if R < 1 or N < 1:
            yield "of at least one round and one client", f"{R} rounds and {N} clients"
        for key, rows in (("test_loss", R + 1), ("client_losses", R + 1), ("alpha", R)):
            if len(getattr(self, key)) != rows:
                yield f"whose {key} has {rows} rows", len(getattr(self, key))
        widths = {len(row) for row in (*self.alpha, *self.client_losses) if row is not None}
        if widths != {N}:
            yield f"with {N} clients in each round", sorted(widths)
        if not all(0 <= value <= 1 for value in self.accuracy):
            yield "whose accuracy lies in [0, 1]", self.accuracy
        for row in (self.p, *self.alpha):
            if min(row) < 0 or abs(sum(row) - 1) > SUM_TOLERANCE:
                yield "whose p and alpha are non-negative with sum 1", row[:3]


def from_json(record: Any, source: str) -> ImageRun:
    """The run that ``record`` describes; ``source`` is the name an error gives it. Errors: InputError."""
    held = io.shaped(record, _Record, source)
    settings = filled(held.settings)
    io.shaped(settings, ImageSettings, source)
    for wanted, received in held.faults():
        raise reject(f"{source} must be a record {wanted}", str(received)[:60], REMEDY)
    losses = [[None] * len(held.p) if row is None else row for row in held.client_losses]
    tables = (held.p, held.accuracy, held.test_loss, losses, held.alpha)
    arrays = [np.array(values, dtype=float) for values in tables]
    for array in arrays:
        array.setflags(write=False)
    return ImageRun(source, settings, held.weighting, held.repetition, held.seed, *arrays)


def experiments(runs: Sequence[ImageRun]) -> dict[tuple[str, str], list[ImageRun]]:
    """Repetitions together: (experiment, weighting) -> its runs by repetition, in order of first appearance."""
    result: dict[tuple[str, str], list[ImageRun]] = {}
    for run in runs:
        result.setdefault((run.experiment, run.weighting), []).append(run)
    return {key: sorted(group, key=lambda run: (run.repetition, run.seed)) for key, group in result.items()}


def table(runs: Sequence[ImageRun]) -> list[dict[str, Any]]:
    """A row a choice of settings and weighting: its repetitions' rounds to the target, and their last accuracies.

    ``rounds_to_target`` has null where a run never reached the target; ``final_accuracy`` where it was to end early.
    """
    return [
        {
            "settings": {key: json.loads(value) for key, value in group[0].choices.items()},
            "weighting": weighting,
            "seeds": [run.seed for run in group],
            "repetitions": [run.repetition for run in group],
            "rounds": [run.rounds for run in group],
            "target": group[0].settings["target"],
            "rounds_to_target": [rounds_to(run.accuracy, run.settings["target"]) for run in group],
            "final_accuracy": [float(run.accuracy[-1]) if run.whole else None for run in group],
        }
        for (_, weighting), group in experiments(runs).items()
    ]
