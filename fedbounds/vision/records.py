"""Records of finished runs, one JSON file a run: reading, checking and grouping them, and their plain table."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fedbounds import files
from fedbounds.errors import reject
from fedbounds.model.problem import Array
from fedbounds.vision.settings import filled

PATTERN = "run-*.json"
REMEDY = "name the records that fedbounds vision run wrote"
KEYS = ("settings", "weighting", "repetition", "seed", "p", "accuracy", "test_loss", "client_losses", "alpha")
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
        """R, the rounds that were run."""
        return len(self.accuracy) - 1

    @property
    def complete(self) -> bool:
        """Whether every round of its settings was run."""
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
        """The data set."""
        return str(self.settings["data"])

    @property
    def partition(self) -> str:
        """Who holds what."""
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
    found = [from_json(files.read_json(path), path.name) for path in paths]
    require_once(found)
    return found


def require_once(runs: Sequence[ImageRun]) -> None:
    """Refuse two records of the same repetition. Errors: InputError."""
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
    """``run-fedsoftmax-0.2-003.json``."""
    return f"run-{slug(weighting)}-{repetition:03d}.json"


def from_json(record: Any, source: str) -> ImageRun:
    """The run that ``record`` describes; ``source`` is the name an error gives it. Errors: InputError."""
    try:
        return _checked(record, source)
    except _WrongError as wrong:
        wanted, received = wrong.args
        raise reject(f"{source} must be a record {wanted}", str(received)[:60], REMEDY) from None


class _WrongError(Exception):
    """What a record must be, and what it is."""


def _checked(record: Any, source: str) -> ImageRun:
    lacking = [key for key in KEYS if key not in record] if isinstance(record, dict) else list(KEYS)
    if lacking:
        raise _WrongError(f"with {', '.join(KEYS)}", f"none of {', '.join(lacking)}")
    settings, losses = _named(record), record["client_losses"]
    p, accuracy = _numbers(record, "p", None), _numbers(record, "accuracy", None)
    R, N = len(accuracy) - 1, len(p)
    if R < 1 or N < 1:
        raise _WrongError("of at least one round and one client", f"{R} rounds and {N} clients")
    if not ((accuracy >= 0) & (accuracy <= 1)).all():
        raise _WrongError("whose accuracy lies in [0, 1]", f"values from {accuracy.min()} to {accuracy.max()}")
    alpha = _numbers(record, "alpha", R, N)
    for key, weights in (("p", p[None]), ("alpha", alpha)):
        if not (weights >= 0).all() or not (np.abs(weights.sum(axis=1) - 1) <= SUM_TOLERANCE).all():
            raise _WrongError(f"whose {key} is non-negative with sum 1", f"sums {weights.sum(axis=1)[:3]}")
    if isinstance(losses, list):
        losses = [[None] * N if row is None else row for row in losses]
    return ImageRun(
        source=source,
        settings=settings,
        weighting=record["weighting"],
        repetition=record["repetition"],
        seed=record["seed"],
        p=p,
        accuracy=accuracy,
        test_loss=_numbers(record, "test_loss", R + 1),
        client_losses=_numbers({"client_losses": losses}, "client_losses", R + 1, N),
        alpha=alpha,
    )


def _named(record: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, filled, of a record whose names and whole numbers are such."""
    given, weighting = record["settings"], record["weighting"]
    if not isinstance(given, dict) or not all(isinstance(given.get(key), str) for key in ("data", "partition")):
        raise _WrongError("whose settings name data and partition", repr(given))
    settings = filled(given)
    for key, value in (("rounds", settings["rounds"]), *((key, record[key]) for key in ("repetition", "seed"))):
        if type(value) is not int or (key == "rounds" and value < 1):
            raise _WrongError(f"whose {key} is a whole number", repr(value))
    if not isinstance(weighting, str) or not temperature(weighting) > 0:
        raise _WrongError("whose weighting is a name, with T > 0 if FedSoftMax", repr(weighting))
    return settings


def _numbers(record: Mapping[str, Any], key: str, *shape: int | None) -> Array:
    """A table of numbers of that shape (None: any length), nan for null."""
    try:
        found = np.array(record[key], dtype=float)
    except (TypeError, ValueError):
        raise _WrongError(f"whose {key} is a table of numbers", repr(record[key])) from None
    if len(shape) != found.ndim or any(n not in (None, m) for n, m in zip(shape, found.shape, strict=True)):
        raise _WrongError(f"whose {key} has shape {tuple('any' if n is None else n for n in shape)}", found.shape)
    found.setflags(write=False)
    return found


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
