"""Pictures of finished runs: learning curves, R_90 and stability beside the paper's, temperatures; and all others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fedbounds.files import require_writable
from fedbounds.show import palette, plots
from fedbounds.show.palette import BLACK, BLUE, DASHES, ORANGE
from fedbounds.vision import canvas, paper, pictures_weights, weights
from fedbounds.vision.canvas import TITLE, by_partition, by_weighting, curve, head, legend, panels
from fedbounds.vision.estimates import Estimate
from fedbounds.vision.rows import Row, table
from fedbounds.vision.runs import Run, require

# A line of a dot plot, in inches, and the paper's mark below the measured one, in lines.
LINE, BELOW = 0.4, 0.3
# Dots of single runs start this far above the measured mark and pile up by at most STACK, in lines.
ABOVE, STACK = 0.2, 0.3
# Extra distance between partitions, in lines.
GAP = 0.6
# An open interval is an arrow that ends this far beyond the last round.
BEYOND = 1.12


def accuracy_figure(runs: Sequence[Run]) -> plots.Figure:
    """Test accuracy above, test loss below, against the round; one column a partition, one line a weighting."""
    groups = by_partition(runs)
    figure, grid = panels(2, len(groups), sharex="col", sharey="row")
    styles = canvas.styles(runs)
    for column, (name, group) in zip(grid.T, groups.items(), strict=True):
        head(column[0], name)
        for weighting, found in by_weighting(group).items():
            curve(column[0], [run.accuracy for run in found], weighting, styles[weighting])
            curve(column[1], [run.test_loss for run in found], weighting, styles[weighting])
        _level(column[0])
        column[1].set_yscale("log")
        for axes in column:
            axes.set_xlabel("communication round $r$")
    grid[0, 0].set_ylabel("test accuracy of $w_r$")
    grid[1, 0].set_ylabel("test loss of $w_r$")
    title = f"{runs[0].data}: the global model along rounds, {canvas.averaged(runs)}"
    figure.suptitle(title, parse_math=False, **TITLE)
    legend(figure, list(grid.ravel()))
    return figure


def _level(axes: plots.Axes) -> None:
    axes.axhline(paper.LEVEL, color=BLACK, lw=0.8, ls=DASHES[2], label=f"{100 * paper.LEVEL:g}%")


def temperature_figure(runs: Sequence[Run]) -> plots.Figure:
    """Accuracy along rounds for each temperature above, R_90 against 1/T below; one column a partition."""
    groups = {name: found for name, group in by_partition(runs).items() if _several(found := _tempered(group))}
    figure, grid = panels(2, len(groups), sharey="row")
    names = sorted({name for group in groups.values() for name in group}, key=_inverse)
    styles = canvas.ordered_styles(names)
    for column, (title, group) in zip(grid.T, groups.items(), strict=True):
        head(column[0], title)
        for name in sorted(group, key=_inverse):
            label = "$1/T=0$ (FedAvg)" if name == "fedavg" else f"$1/T={_inverse(name):.3g}$"
            curve(column[0], [run.accuracy for run in group[name]], label, styles[name])
        _level(column[0])
        column[0].set_xlabel("communication round $r$")
        _against_temperature(column[1], [run for found in group.values() for run in found])
    grid[0, 0].set_ylabel("test accuracy of $w_r$")
    grid[1, 0].set_ylabel("$R_{90}$")
    # Only now: a limit set before the last panel is drawn would hold for it too.
    grid[1, 0].set_ylim(bottom=0)
    title = f"{runs[0].data}: FedSoftMax(T); above {canvas.averaged(runs)}, below intervals (95% for means)"
    figure.suptitle(title, parse_math=False, **TITLE)
    legend(figure, list(grid.ravel()))
    return figure


def _tempered(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """The weightings that have a temperature."""
    return {name: group for name, group in by_weighting(runs).items() if weights.temperature(name) is not None}


def _several(found: dict[str, list[Run]]) -> bool:
    """Whether there is a sweep to draw: at least two temperatures, FedAvg aside."""
    return len(set(found) - {"fedavg"}) > 1


def _inverse(name: str) -> float:
    return 1 / (weights.temperature(name) or math.nan)


def _against_temperature(axes: plots.Axes, runs: Sequence[Run]) -> None:
    sweep = weights.temperature_sweep(runs)
    axes.axvspan(*paper.INVERSE_TEMPERATURES, color=ORANGE, alpha=0.1, lw=0, label="range named in the paper")
    last = max(run.rounds for run in runs)
    for x, found in zip(sweep.inverse, sweep.speeds, strict=True):
        _estimate(axes, found.estimate, x, last, upright=True)
    axes.set_xlabel("$1/T$ ($0$: FedAvg)")


def speed_figure(runs: Sequence[Run]) -> plots.Figure:
    """R_90 of every partition and weighting with its interval, its single runs, and the paper's interval."""

    def mark(axes: plots.Axes, row: Row, y: float) -> Marked:
        values = [v for v in row.speed.values if v is not None]
        heights = _stacked(values, y)
        axes.plot(values, heights, "o", color=BLACK, ms=2.2, mew=0, label="single runs")
        printed = row.printed_R_90
        return row.speed.estimate, (printed.lower, printed.mean, printed.upper) if printed else None

    title = "rounds to 90% test accuracy, with intervals (95% for means)"
    return _dots(runs, mark, "$R_{90}$, communication rounds", title)


def _stacked(values: Sequence[int], y: float) -> list[float]:
    """Heights of dots above the line ``y``, equal values on top of each other."""
    step = min(STACK / max((values.count(v) for v in values), default=1), STACK / 4)
    return [y - ABOVE - step * values[:k].count(v) for k, v in enumerate(values)]


def stability_figure(runs: Sequence[Run]) -> plots.Figure:
    """Stability of every partition and weighting over all rounds, with its interval, and the paper's value."""

    def mark(axes: plots.Axes, row: Row, y: float) -> Marked:
        printed = row.printed_stability
        return row.stability["all"], (printed.value, printed.value, printed.value) if printed else None

    title = "stability (smaller is smoother), with 95% intervals"
    return _dots(runs, mark, "std / |mean| of the one-round changes of accuracy", title)


# What is measured, and the paper's lower end, centre and upper end.
Marked = tuple[Estimate, "tuple[float, float, float] | None"]


def _dots(runs: Sequence[Run], mark: Callable[[plots.Axes, Row, float], Marked], x: str, title: str) -> plots.Figure:
    """One line a partition and weighting: what is measured, and just below it what the paper prints."""
    groups = {name: table(group) for name, group in by_partition(runs).items()}
    lines = sum(len(rows) for rows in groups.values())
    size = (canvas.NARROWEST, LINE * (lines + GAP * len(groups)) + canvas.FRAME)
    figure = plots.Figure(figsize=size, layout="constrained", dpi=palette.DPI)
    axes = figure.subplots()
    ticks: dict[float, str] = {}
    short = {name: name.split(": ")[0] for name in groups}
    # Two partitions may be readings of one framework of the paper: then each is named in full.
    short = short if len(set(short.values())) == len(short) else {name: name for name in groups}
    y = 0.0
    for name, rows in groups.items():
        for row in rows:
            found, printed = mark(axes, row, y)
            _estimate(axes, found, y, max(row.rounds))
            if printed:
                _printed(axes, printed, y + BELOW)
            ticks[y] = f"{short[name]}  {row.weighting}"
            y += 1
        y += GAP
    axes.set_yticks(list(ticks), list(ticks.values()), parse_math=False)
    axes.set_ylim(y - GAP - 1 + 2 * BELOW, -ABOVE - STACK - 0.1)
    axes.set_xlim(left=0)
    axes.set_xlabel(x)
    axes.grid(axis="y", visible=False)
    figure.suptitle(f"{runs[0].data}: {title}", parse_math=False, **TITLE)
    legend(figure, [axes])
    return figure


def _printed(axes: plots.Axes, printed: tuple[float, float, float], y: float) -> None:
    low, centre, high = printed
    style: dict[str, Any] = {"color": ORANGE, "marker": "D", "ms": 4, "capsize": 3, "ls": "none"}
    axes.errorbar(
        centre, y, xerr=[[centre - low], [high - centre]], label="printed in the paper (its T is not)", **style
    )


def _estimate(axes: plots.Axes, found: Estimate, at: float, last: float, upright: bool = False) -> None:
    """A dot with its interval; where no upper end is known, an arrow to beyond the last round."""
    centre = found.value if math.isfinite(found.value) else found.least
    if not math.isfinite(centre):
        return
    low = found.lower if math.isfinite(found.lower) else centre
    high = found.upper if math.isfinite(found.upper) else centre
    bars = [[max(centre - low, 0)], [max(high - centre, 0)]]
    style: dict[str, Any] = {"color": BLUE, "marker": "o", "ms": 5, "capsize": 3, "ls": "none"}
    if found.kind == "median":
        # Hollow: not the same statistic as the others.
        style["markerfacecolor"] = "white"
    style["label"] = "mean" if found.kind == "mean" else "median: some runs never reached 90%"
    place: dict[str, Any] = {"x": at, "y": centre, "yerr": bars} if upright else {"x": centre, "y": at, "xerr": bars}
    axes.errorbar(**place, **style)
    if found.kind == "median" and math.isinf(found.upper):
        ends, still = [centre, BEYOND * max(last, centre)], [at, at]
        tip: dict[str, Any] = {"marker": "^" if upright else ">", "markevery": [1], "ms": 6}
        axes.plot(*((still, ends) if upright else (ends, still)), color=BLUE, ls=DASHES[2], lw=1, **tip)


def figures(runs: Sequence[Run]) -> dict[str, Callable[[], plots.Figure]]:
    """Stem of a file -> what draws it, for each data set and each choice of other settings. Errors: no runs."""
    require(runs)
    found: dict[str, Callable[[], plots.Figure]] = {}
    variants = list(dict.fromkeys((run.data, run.variant) for run in runs))
    for k, (data, variant) in enumerate(variants):
        group = [run for run in runs if (run.data, run.variant) == (data, variant)]
        number = sum(name == data for name, _ in variants[:k]) + 1
        several = sum(name == data for name, _ in variants) > 1
        suffix = f"{data}-{number}" if several else data
        found |= {f"{stem}-{suffix}": build for stem, build in _of_one_choice(group).items()}
    return found


def _of_one_choice(runs: Sequence[Run]) -> dict[str, Callable[[], plots.Figure]]:
    """The pictures of runs that share data and settings, partition aside."""
    found: dict[str, Callable[[], plots.Figure]] = {
        "accuracy": partial(accuracy_figure, runs),
        "r90": partial(speed_figure, runs),
        "stability": partial(stability_figure, runs),
    }
    if any(_several(_tempered(group)) for group in by_partition(runs).values()):
        found["temperature"] = partial(temperature_figure, runs)
    return found | pictures_weights.figures(runs)


def draw(runs: Sequence[Run], out: str | Path) -> list[Path]:
    """Write every picture of ``runs`` as PNG and SVG in ``out``; returns their paths.

    Errors: InputError without runs or where ``out`` cannot be written.
    """
    built = figures(runs)
    out = require_writable(out)
    return [path for stem, build in built.items() for path in plots.save(build, out, stem)]
