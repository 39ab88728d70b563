"""The stored records, and what the paper measures of them: R_90, final accuracy, and the map of steps and T."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from fedbounds.errors import reject
from fedbounds.vision.records import ImageRun, rounds_to
from validate.vision import paper, storage
from validate.vision.experiments import (
    BASELINE,
    FRAMEWORKS,
    LEVELS,
    MAP_STEPS,
    MAP_TEMPERATURES,
    RESULTS,
    Folder,
    grid,
    map_of,
)
from validate.vision.statistics import known

# Weighting -> its repetitions.
Group = dict[str, list[ImageRun]]
# The initial models of a pair agree; a machine's rounding may flip a borderline prediction of 10 000 or so.
SAME_MODEL = 1e-3
# Bands of step/T, told apart after the map was seen: below the first FedSoftMax was nowhere slower, above the second
# nowhere faster.
BANDS = {"at most 0.03": (-1.0, 0.03), "between": (0.03, 0.299999), "at least 0.3": (0.299999, math.inf)}
WORDS = ("faster", "even", "slower", "only FedSoftMax", "only FedAvg", "neither")


@dataclass(frozen=True, eq=False)
class Stored:
    """Framework -> weighting -> its repetitions, from IID on; and the map, a row a cell and level."""

    cases: Mapping[str, Group]
    cells: pd.DataFrame = field(default_factory=pd.DataFrame)

    def whole(self) -> dict[str, Group]:
        """The same without the runs that ended once they had reached 90%: these count for R_90 alone.

        That such a run ended is decided by its own accuracy: averaging it in would be wrong.
        """
        kept = {
            f: {name: [r for r in group if r.whole] for name, group in case.items()} for f, case in self.cases.items()
        }
        return {
            f: some for f, case in kept.items() if (some := {name: group for name, group in case.items() if group})
        }


def load(where: Path = RESULTS, small: bool = False) -> Stored:
    """Every stored record. Errors: InputError for one that is not of the grid's settings."""
    cases: dict[str, Group] = {framework: {} for framework in FRAMEWORKS}
    for name, folder in grid(small).items():
        cases[folder.framework] |= by_weighting(where / name, folder)
    return Stored({framework: case for framework, case in cases.items() if case}, cells(where, small))


def by_weighting(where: Path, folder: Folder) -> Group:
    """Weighting -> what a folder has of it."""
    runs = storage.read(where, folder.settings)
    result = {weighting: [run for run in runs if run.weighting == weighting] for weighting in folder.weightings}
    return {weighting: group for weighting, group in result.items() if group}


def rounds(runs: Sequence[ImageRun], level: float = paper.LEVEL) -> pd.DataFrame:
    """R_level by repetition: from the round after the last to infinity where a run did not reach the level."""
    reached = {run.repetition: rounds_to(run.accuracy, level) for run in runs}
    low = {run.repetition: float(reached[run.repetition] or run.rounds + 1) for run in runs}
    return pd.DataFrame({"low": low, "high": {k: float(r or math.inf) for k, r in reached.items()}}, dtype=float)


def accuracy(runs: Sequence[ImageRun]) -> pd.DataFrame:
    """Test accuracy of the last model by repetition, of runs that did every round whatever came out."""
    return known(pd.Series({run.repetition: float(run.accuracy[-1]) for run in runs if run.whole}, dtype=float))


def paired(first: Sequence[ImageRun], second: Sequence[ImageRun]) -> None:
    """Refuse repetitions that do not share partition and initial model. Errors: InputError."""
    partners = {run.repetition: run for run in second}
    for run, other in ((run, partners[run.repetition]) for run in first if run.repetition in partners):
        if not np.array_equal(run.p, other.p) or abs(run.accuracy[0] - other.accuracy[0]) > SAME_MODEL:
            what = f"{run.source} and {other.source} must share partition and initial model"
            raise reject(what, "other p or another accuracy at round 0", "run both again with one seed")


def temperature(weighting: str) -> float | None:
    """T of "fedsoftmax:T" (1 without a number); infinity for "fedavg", its limit; None for other weightings."""
    kind, _, argument = weighting.partition(":")
    if kind == "fedavg":
        return math.inf
    return float(argument or 1) if kind == "fedsoftmax" else None


def cells(where: Path, small: bool = False) -> pd.DataFrame:
    """Rounds of FedSoftMax and FedAvg to each level in the first repetition, infinite where not reached."""
    rows = []
    for name, folder in map_of(MAP_STEPS, MAP_TEMPERATURES, small).items():
        first = {n: [run for run in g if run.repetition == 0] for n, g in by_weighting(where / name, folder).items()}
        own = {weighting: group[0] for weighting, group in first.items() if group}
        for weighting in own if BASELINE in own else ():
            T, step = temperature(weighting), folder.settings.lr
            for level in LEVELS:
                soft, plain = (float(rounds_to(own[n].accuracy, level) or math.inf) for n in (weighting, BASELINE))
                rows.append((folder.framework, step, T, level, soft, plain, compared(soft, plain)))
    return pd.DataFrame(rows, columns=["framework", "step", "T", "level", "soft", "plain", "word"])


def compared(soft: float, plain: float) -> str:
    """Who needed fewer rounds, of two that may be infinite."""
    if math.isfinite(soft) and math.isfinite(plain):
        return WORDS[int(np.sign(soft - plain)) + 1]
    return "only FedSoftMax" if soft < plain else "only FedAvg" if plain < soft else "neither"


def band_counts(found: pd.DataFrame) -> list[tuple[object, ...]]:
    """A row a band of step/T: at how many steps, temperatures and levels FedSoftMax was what."""
    soft = found[found["T"] < math.inf]
    ratio = soft["step"] / soft["T"]
    rows = {
        band: list(soft.word[(ratio > low + 1e-9) & (ratio <= high + 1e-9)]) for band, (low, high) in BANDS.items()
    }
    return [(band, *(own.count(word) for word in WORDS)) for band, own in rows.items()]
