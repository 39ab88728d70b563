"""The map: rounds of FedSoftMax(T) and of FedAvg to several accuracies, over step sizes and temperatures."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fedbounds.vision.records import ImageRun, rounds_to
from validate.vision import measures, storage
from validate.vision.experiments import BASELINE, LEVELS, MAP_STEPS, MAP_TEMPERATURES, map_of

# Rounds of FedSoftMax over FedAvg's at which a cell is as light and as dark as can be.
LIGHTEST, DARKEST = 0.5, 2.0
NEVER = "–"
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


def cells(results: Path, small: bool = False, fresh: bool = False) -> list[Cell]:
    """The first repetition of what is stored, or (``fresh``) the others that all weightings of a folder have."""
    found = []
    for name, folder in map_of(MAP_STEPS, MAP_TEMPERATURES, small).items():
        runs = [run for run in storage.read(results / name, folder.settings) if (run.repetition > 0) == fresh]
        own = {weighting: [run for run in runs if run.weighting == weighting] for weighting in folder.weightings}
        own = {weighting: group for weighting, group in own.items() if group}
        common = set[int].intersection(*({run.repetition for run in group} for group in own.values())) if own else ()
        for weighting, group in own.items() if common and BASELINE in own else ():
            rounds = tuple(_rounds([run for run in group if run.repetition in common], level) for level in LEVELS)
            T = None if weighting == BASELINE else measures.temperature(weighting)
            found.append(Cell(folder.framework, folder.settings.lr, T, rounds))
    return found


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


def table(found: Sequence[Cell]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Mean rounds to each level, a row a framework and step, a column a weighting."""
    head = ("framework", "step", "runs", "FedAvg", *(f"T = {T:g}" for T in MAP_TEMPERATURES))
    rows = []
    for framework, step in dict.fromkeys((cell.framework, cell.step) for cell in found):
        own = {cell.T: cell for cell in found if (cell.framework, cell.step) == (framework, step)}
        said = [_said(own[T]) if T in own else "not run" for T in (None, *MAP_TEMPERATURES)]
        rows.append((framework, f"{step:g}", str(len(own[None].rounds[0])), *said))
    return head, rows


def _said(cell: Cell) -> str:
    shown = []
    for rounds in cell.rounds:
        reached = [r for r in rounds if r is not None]
        shown.append(f"{np.mean(reached):.3g}" if len(reached) == len(rounds) else NEVER)
    return " / ".join(shown)


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


def wins(soft: Cell, plain: Cell, level: int) -> tuple[int, int, int]:
    """Repetitions in which FedSoftMax reached a level before FedAvg, with it (or neither did), and after it."""
    never = 1 + max((r for cell in (soft, plain) for row in cell.rounds for r in row if r is not None), default=0)
    ahead = [
        np.sign((never if p is None else p) - (never if s is None else s))
        for s, p in zip(soft.rounds[level], plain.rounds[level], strict=True)
    ]
    return ahead.count(1), ahead.count(0), ahead.count(-1)


def boundary(fresh: Sequence[Cell]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """A row a cell with fresh repetitions: at each level the repetitions before, with and after FedAvg."""
    plain = {(cell.framework, cell.step): cell for cell in fresh if cell.T is None}
    rows: list[tuple[object, ...]] = []
    for cell in sorted(
        (cell for cell in fresh if cell.T is not None), key=lambda c: (c.framework, c.step / (c.T or 1))
    ):
        counted = [wins(cell, plain[cell.framework, cell.step], k) for k in range(len(LEVELS))]
        place = (cell.framework, f"{cell.step:g}", f"{cell.T:g}", f"{cell.step / (cell.T or 1):.2g}")
        rows.append((*place, *("–".join(map(str, counts)) for counts in counted)))
    return ("framework", "step", "T", "step / T", *(f"{level:.0%}" for level in LEVELS)), rows


def draw(axes: Any, found: Sequence[Cell], framework: str, level: int) -> None:
    """One panel: a row a step, a column a temperature; the ratio of rounds, and white for faster."""
    own = {(cell.step, cell.T): cell for cell in found if cell.framework == framework}
    for y, step in enumerate(MAP_STEPS):
        for x, T in enumerate(MAP_TEMPERATURES):
            if (step, T) not in own or (step, None) not in own:
                continue
            kind, ratio = compared(own[step, T], own[step, None], level)
            said = {"only FedSoftMax": "only\nsoft", "only FedAvg": "only\navg", "neither": NEVER}.get(kind)
            shade = 0.0 if kind == "only FedAvg" else 1.0
            if ratio is not None:
                share = np.log(ratio / LIGHTEST) / np.log(DARKEST / LIGHTEST)
                shade = float(1 - np.clip(share, 0, 1))
            axes.add_patch(_square(x, y, shade, "///" if kind == "neither" else ""))
            colour = "black" if shade > 0.45 else "white"
            axes.text(x, y, said or f"{ratio:.2f}", ha="center", va="center", fontsize=7, color=colour)
    axes.set_xticks(range(len(MAP_TEMPERATURES)), [f"{T:g}" for T in MAP_TEMPERATURES])
    axes.set_yticks(range(len(MAP_STEPS)), [f"{step:g}" for step in MAP_STEPS])
    axes.set_xlim(-0.5, len(MAP_TEMPERATURES) - 0.5)
    axes.set_ylim(-0.5, len(MAP_STEPS) - 0.5)
    axes.grid(visible=False)
    axes.set_xlabel("T")
    axes.set_ylabel("step")


def _square(x: int, y: int, shade: float, hatch: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=str(shade), edgecolor="#aaaaaa", lw=0.5, hatch=hatch)
