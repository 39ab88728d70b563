"""Records of finished runs: reading, checking and grouping them (one JSON file a run)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fedbounds import files
from fedbounds.errors import reject
from fedbounds.model.problem import Array

PATTERN = "run-*.json"
REMEDY = "name the records that fedbounds vision run wrote"
# Weights computed in single precision sum to 1 within N rounding errors of 1e-7, with room for thousands of clients.
SUM_TOLERANCE = 1e-4
# What may differ between repetitions of one experiment: the seed, whether unused losses were recorded, and whether a
# run ended once it had reached the target (``Run.whole`` says so: such a run has an R_90, but no final accuracy).
# Which losses the weights saw is part of the weighting's name, as it makes no difference to FedAvg.
NOT_A_CHOICE = frozenset({"seed", "client_losses", "stop_after", "losses"})


@dataclass(frozen=True, eq=False)
class Run:
    """One record: test ``accuracy`` and ``test_loss`` (R + 1,) of w_0 ... w_R, weights ``alpha`` (R, N) of rounds.

    ``client_losses`` (R + 1, N) are F_i(w_r), nan where not evaluated; ``trained`` (R,) counts clients,
    ``seconds`` (R,) is wall-clock time. ``test_loss`` is nan where the record has none.
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
    trained: Array
    seconds: Array

    @property
    def rounds(self) -> int:
        """R, the rounds that were run."""
        return len(self.accuracy) - 1

    @property
    def complete(self) -> bool:
        """Whether every round of its settings was run."""
        return self.rounds >= self.settings.get("rounds", 0)

    @property
    def whole(self) -> bool:
        """Whether every round was run and none would have been left out whatever the accuracy.

        A run that was to end at the target goes on to the last round only if it never reached it: counting it
        among the whole ones would select runs by their own outcome.
        """
        return self.complete and self.settings.get("stop_after") is None

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

    @cached_property
    def variant(self) -> str:
        """One text a choice of settings other than data and partition."""
        return json.dumps({key: value for key, value in self.choices.items() if key not in ("data", "partition")})


def read(where: str | Path) -> list[Run]:
    """The records in a file, or in a folder and the folders below it, in the order of their paths.

    Errors: InputError if there is none, if one is not a record, or if two are the same repetition.
    """
    where = Path(where)
    paths = sorted(where.rglob(PATTERN)) if where.is_dir() else [where]
    if not paths:
        raise reject(f"a folder of results must hold {PATTERN}", str(where), REMEDY)
    runs = [from_json(files.read_json(path), path.name) for path in paths]
    seen: dict[tuple[str, str, int, int], str] = {}
    for path, run in zip(paths, runs, strict=True):
        other = seen.setdefault((run.experiment, run.weighting, run.seed, run.repetition), str(path))
        if other != str(path):
            raise reject(f"{path} must be another run than {other}", "the same repetition", "remove one of them")
    return runs


def from_json(record: Any, source: str) -> Run:
    """The run that ``record`` describes; ``source`` is the name an error gives it."""
    try:
        if not isinstance(record, dict):
            raise _Wrong("a JSON object", f"a JSON {type(record).__name__}")
        lacking = [key for key in KEYS if key not in record]
        if lacking:
            raise _Wrong(f"a record with {', '.join(KEYS)}", f"none of {', '.join(lacking)}")
        return _checked(record, source)
    except _Wrong as wrong:
        raise reject(f"{source} must be {wrong.args[0]}", wrong.args[1], REMEDY) from None


class _Wrong(Exception):
    """What a record must be, and what it is."""


def slug(text: str) -> str:
    """The text with everything but letters, digits, points and dashes as a dash."""
    return "".join(mark if mark.isalnum() or mark in ".-" else "-" for mark in text)


def file_name(weighting: str, repetition: int) -> str:
    """``run-fedsoftmax-0.2-003.json``."""
    return f"run-{slug(weighting)}-{repetition:03d}.json"


KEYS = ("settings", "weighting", "repetition", "seed", "p", "accuracy", "test_loss", "client_losses", "alpha")


def _checked(record: dict[str, Any], source: str) -> Run:
    settings = record["settings"]
    if not isinstance(settings, dict) or not all(isinstance(settings.get(k), str) for k in ("data", "partition")):
        raise _Wrong("a record whose settings name data and partition", repr(settings)[:60])
    rounds = settings.get("rounds", 1)
    if type(rounds) is not int or rounds < 1:
        raise _Wrong("a record whose settings have a whole number of rounds", repr(rounds)[:60])
    if not isinstance(record["weighting"], str) or not _tempered(record["weighting"]):
        raise _Wrong("a record whose weighting is a name, with T > 0 if FedSoftMax", repr(record["weighting"])[:60])
    for key in ("repetition", "seed"):
        if type(record[key]) is not int:
            raise _Wrong(f"a record whose {key} is a whole number", repr(record[key])[:60])
    p, accuracy = _numbers(record, "p", 1), _numbers(record, "accuracy", 1)
    R, N = len(accuracy) - 1, len(p)
    if R < 1 or N < 1:
        raise _Wrong("a record of at least one round and one client", f"{R} rounds and {N} clients")
    alpha = _shaped(_numbers(record, "alpha", 2), (R, N), "alpha")
    if not ((accuracy >= 0) & (accuracy <= 1)).all():
        raise _Wrong("a record whose accuracy lies in [0, 1]", f"values from {accuracy.min()} to {accuracy.max()}")
    for key, weights in (("p", p[None]), ("alpha", alpha)):
        if not (weights >= 0).all() or not (np.abs(weights.sum(axis=1) - 1) <= SUM_TOLERANCE).all():
            raise _Wrong(f"a record whose {key} is non-negative with sum 1", f"sums {weights.sum(axis=1)[:3]}")
    losses = record["client_losses"]
    if isinstance(losses, list):
        losses = [[None] * N if row is None else row for row in losses]
    return Run(
        source=source,
        settings=settings,
        weighting=record["weighting"],
        repetition=record["repetition"],
        seed=record["seed"],
        p=p,
        accuracy=accuracy,
        test_loss=_shaped(_numbers(record, "test_loss", 1), (R + 1,), "test_loss"),
        client_losses=_shaped(_numbers({"client_losses": losses}, "client_losses", 2), (R + 1, N), "client_losses"),
        alpha=alpha,
        trained=_shaped(_numbers({"trained": [N] * R, **record}, "trained", 1), (R,), "trained"),
        seconds=_shaped(_numbers({"seconds": [None] * R, **record}, "seconds", 1), (R,), "seconds"),
    )


def _tempered(weighting: str) -> bool:
    """Whether the T of ``fedsoftmax:T``, if it is that, is a finite number > 0."""
    kind, _, argument = weighting.partition("@")[0].partition(":")
    if kind != "fedsoftmax" or not argument:
        return True
    try:
        return 0 < float(argument) < math.inf
    except ValueError:
        return False


def _numbers(record: Mapping[str, Any], key: str, axes: int) -> Array:
    """A list of numbers, nan for null."""
    try:
        found = np.array(record[key], dtype=float)
    except (TypeError, ValueError):
        raise _Wrong(f"a record whose {key} is a table of numbers", repr(record[key])[:60]) from None
    if found.ndim != axes:
        raise _Wrong(f"a record whose {key} has {axes} axes", f"{found.ndim}")
    found.setflags(write=False)
    return found


def _shaped(found: Array, shape: tuple[int, ...], key: str) -> Array:
    if found.shape != shape:
        raise _Wrong(f"a record whose {key} has shape {shape}", f"shape {found.shape}")
    return found


def experiments(runs: Sequence[Run]) -> dict[tuple[str, str], list[Run]]:
    """Repetitions together: (experiment, weighting) -> its runs by repetition, in order of first appearance."""
    found: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        found.setdefault((run.experiment, run.weighting), []).append(run)
    return {key: sorted(group, key=lambda run: (run.repetition, run.seed)) for key, group in found.items()}


def differing(runs: Sequence[Run]) -> list[str]:
    """The settings, data and partition aside, that are not the same in all ``runs``."""
    keys = sorted({key for run in runs for key in run.choices} - {"data", "partition"})
    return [key for key in keys if len({run.choices.get(key) for run in runs}) > 1]


def require(runs: Sequence[Run]) -> None:
    """Refuse an empty list. Errors: InputError."""
    if not runs:
        raise reject("a summary needs at least one run", "none", REMEDY)
