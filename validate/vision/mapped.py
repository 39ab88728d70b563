"""The map: rounds of FedSoftMax(T) and of FedAvg to several accuracies, over step sizes and temperatures."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedbounds.vision.records import ImageRun, rounds_to
from validate.vision import measures, storage
from validate.vision.experiments import BASELINE, LEVELS, MAP_STEPS, MAP_TEMPERATURES, map_of

# Bands of step/T, told apart after the map was seen: below the first FedSoftMax was nowhere slower, above the second
# nowhere faster.
BANDS = (0.03, 0.3)


@dataclass(frozen=True)
class Cell:
    """Runs of one framework, step and T (None: FedAvg): a row a level, a column a repetition; None: not reached."""

    framework: str
    step: float
    T: float | None
    rounds: tuple[tuple[int | None, ...], ...]


def cells(results: Path, small: bool = False) -> list[Cell]:
    """The first repetition of what is stored."""
    result = []
    for name, folder in map_of(MAP_STEPS, MAP_TEMPERATURES, small).items():
        runs = [run for run in storage.read(results / name, folder.settings) if run.repetition == 0]
        own = {weighting: [run for run in runs if run.weighting == weighting] for weighting in folder.weightings}
        own = {weighting: group for weighting, group in own.items() if group}
        common = set[int].intersection(*({run.repetition for run in group} for group in own.values())) if own else ()
        for weighting, group in own.items() if common and BASELINE in own else ():
            rounds = tuple(_rounds([run for run in group if run.repetition in common], level) for level in LEVELS)
            T = None if weighting == BASELINE else measures.temperature(weighting)
            result.append(Cell(folder.framework, folder.settings.lr, T, rounds))
    return result


def _rounds(runs: Sequence[ImageRun], level: float) -> tuple[int | None, ...]:
    return tuple(rounds_to(run.accuracy, level) for run in sorted(runs, key=lambda run: run.repetition))


def compared(soft: Cell, plain: Cell, level: int) -> tuple[str, float | None]:
    """faster, slower, even, only FedSoftMax, only FedAvg, neither; and the ratio of mean rounds where both got there.

    A repetition that did not reach the level counts as reaching it in no round, so that all must for a ratio.
    """
    pairs = list(zip(soft.rounds[level], plain.rounds[level], strict=False))
    both = [(s, p) for s, p in pairs if s is not None and p is not None]
    if len(both) == len(pairs):
        ratio = float(np.mean([s for s, _ in both]) / np.mean([p for _, p in both]))
        return ("faster" if ratio < 1 else "slower" if ratio > 1 else "even"), ratio
    more = sum(s is not None for s, _ in pairs) - sum(p is not None for _, p in pairs)
    return ("only FedSoftMax" if more > 0 else "only FedAvg" if more < 0 else "neither"), None


def counts(found: Sequence[Cell]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """A row a band of step/T: at how many steps, temperatures and levels FedSoftMax was what."""
    words = ("faster", "even", "slower", "only FedSoftMax", "only FedAvg", "neither")
    plain = {(cell.framework, cell.step): cell for cell in found if cell.T is None}
    low, high = BANDS
    labels = (f"at most {low:g}", "between", f"at least {high:g}")
    kinds: dict[str, list[str]] = {label: [] for label in labels}
    for soft in found:
        if soft.T is None:
            continue
        ratio = round(soft.step / soft.T, 6)
        own = [compared(soft, plain[soft.framework, soft.step], k)[0] for k in range(len(LEVELS))]
        kinds[labels[(ratio > low) + (ratio >= high)]] += own
    rows: list[tuple[object, ...]] = [(band, *(own.count(word) for word in words)) for band, own in kinds.items()]
    return ("step / T", *words), rows
