"""Records of finished runs, one JSON file a run: reading, checking and grouping them, and their plain table."""

import json
import math
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
# What may differ between repetitions of one experiment: the seed, whether unused losses were recorded, and whether a
# run ended once it had reached the target (``ImageRun.whole`` says so: then it has an R_90, but no final accuracy).
# Which losses the weights saw is part of the weighting's name, as it makes no difference to FedAvg.
NOT_A_CHOICE = frozenset({"seed", "client_losses", "stop_after", "losses"})


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
        kept = sorted(self.settings.items())
        return {key: json.dumps(value, sort_keys=True) for key, value in kept if key not in NOT_A_CHOICE}

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
    found = [from_json(io.read_json(path), path.name) for path in paths]
    require_once(found)
    return found


def require_once(runs: Sequence[ImageRun]) -> None:
    seen: dict[tuple[str, str, int, int], str] = {}
    for run in runs:
        key = (run.experiment, run.weighting, run.seed, run.repetition)
        if key in seen:
            raise reject("every run must be there once", f"{seen[key]} and {run.source}, the same", "leave one out")
        seen[key] = run.source


def slug(text: str) -> str:
    """The text with everything but letters, digits, points and dashes as a dash."""
    return "".join(mark if mark.isalnum() or mark in ".-" else "-" for mark in text)


def file_name(weighting: str, repetition: int) -> str:
    return f"run-{slug(weighting)}-{repetition:03d}.json"


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


def from_json(record: Any, source: str) -> ImageRun:
    """The run that ``record`` describes; ``source`` is the name an error gives it. Errors: InputError."""
    held = io.shaped(record, _Record, source)
    settings = filled(held.settings)
    io.shaped(settings, ImageSettings, source)
    for wanted, good, received in _tests(held):
        if not good:
            raise reject(f"{source} must be a record {wanted}", str(received)[:60], REMEDY)
    losses = [[None] * len(held.p) if row is None else row for row in held.client_losses]
    tables = {name: getattr(held, name) for name in ("p", "accuracy", "test_loss", "alpha")}
    arrays = {name: np.array(table, dtype=float) for name, table in (tables | {"client_losses": losses}).items()}
    for array in arrays.values():
        array.setflags(write=False)
    return ImageRun(source, settings, held.weighting, held.repetition, held.seed, **arrays)


def _tests(held: _Record) -> Iterator[tuple[str, bool, object]]:
    """(what a record must be, whether it is, what was received), each of which may rest on those before."""
    named = [held.settings.get(key) for key in ("data", "partition")]
    yield "whose settings name data and partition", all(isinstance(name, str) for name in named), named
    name = held.weighting
    yield "whose weighting is a name, with T > 0 if FedSoftMax", temperature(name) > 0, name
    R, N = len(held.accuracy) - 1, len(held.p)
    yield "of at least one round and one client", R >= 1 and N >= 1, f"{R} rounds and {N} clients"
    lengths: dict[str, tuple[Sequence[Any], int]] = {
        "test_loss": (held.test_loss, R + 1),
        "client_losses": (held.client_losses, R + 1),
        "alpha": (held.alpha, R),
    }
    for key, (table, length) in lengths.items():
        yield f"whose {key} has {length} rows", len(table) == length, len(table)
    rows = [row for row in (*held.alpha, *held.client_losses) if row is not None]
    yield f"with {N} clients in each round", all(len(row) == N for row in rows), sorted(set(map(len, rows)))
    yield "whose accuracy lies in [0, 1]", all(0 <= value <= 1 for value in held.accuracy), held.accuracy
    weights = np.array([held.p, *held.alpha])
    proper = (weights >= 0).all() and (np.abs(weights.sum(axis=1) - 1) <= SUM_TOLERANCE).all()
    yield "whose p and alpha are non-negative with sum 1", bool(proper), weights.sum(axis=1)[:3]


def temperature(weighting: str) -> float:
    """T of ``fedsoftmax:T``, with losses of whatever models; infinity for every other weighting, nan if no number."""
    kind, _, argument = weighting.partition("@")[0].partition(":")
    try:
        T = float(argument or 1) if kind == "fedsoftmax" else math.inf
    except ValueError:
        return math.nan
    return T if kind != "fedsoftmax" or math.isfinite(T) else math.nan


def experiments(runs: Sequence[ImageRun]) -> dict[tuple[str, str], list[ImageRun]]:
    """Repetitions together: (experiment, weighting) -> its runs by repetition, in order of first appearance."""
    found: dict[tuple[str, str], list[ImageRun]] = {}
    for run in runs:
        found.setdefault((run.experiment, run.weighting), []).append(run)
    return {key: sorted(group, key=lambda run: (run.repetition, run.seed)) for key, group in found.items()}


def table(runs: Sequence[ImageRun]) -> list[dict[str, Any]]:
    """A row a choice of settings and weighting: its repetitions' rounds to the target, and their last accuracies.

    ``rounds_to_target`` has null where a run never reached the target; ``final_accuracy`` null where a run was
    to end early. ``before_fedavg``: in how many of how many pairs of one seed it needed fewer, as many or more rounds
    than FedAvg, null without pairs; pairs in which neither reached the target are in none of the three.
    """
    groups, rows = experiments(runs), []
    for (experiment, weighting), group in groups.items():
        first = group[0]
        base = {(run.seed, run.repetition): run for run in groups.get((experiment, "fedavg"), [])}
        pairs = [(run, base[run.seed, run.repetition]) for run in group if (run.seed, run.repetition) in base]
        rows.append(
            {
                "settings": {key: json.loads(value) for key, value in first.choices.items()},
                "weighting": weighting,
                "seeds": [run.seed for run in group],
                "repetitions": [run.repetition for run in group],
                "rounds": [run.rounds for run in group],
                "target": first.settings["target"],
                "rounds_to_target": [_reached(run) for run in group],
                "final_accuracy": [float(run.accuracy[-1]) if run.whole else None for run in group],
                "before_fedavg": _before(pairs) if pairs and weighting != "fedavg" else None,
            }
        )
    return rows


def _reached(run: ImageRun) -> int | None:
    return rounds_to(run.accuracy, run.settings["target"])


def _before(pairs: Sequence[tuple[ImageRun, ImageRun]]) -> dict[str, int]:
    """Fewer, as many, more; a run that did not reach the target needs more than one that did within its rounds."""
    found = {"fewer": 0, "equal": 0, "more": 0, "pairs": len(pairs)}
    for own, other in pairs:
        a, b = _reached(own), _reached(other)
        if a is not None and (b is not None or other.rounds >= a):
            found["fewer" if b is None or a < b else "equal" if a == b else "more"] += 1
        elif b is not None and a is None and own.rounds >= b:
            found["more"] += 1
    return found
