"""What the pictures of finished runs share: grids, legends, styles, the order of partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedbounds.model.problem import Array
from fedbounds.show import palette, plots
from fedbounds.show.palette import BLACK, CLIENTS, DASHES
from fedbounds.vision import paper
from fedbounds.vision.runs import Run, experiments

MARKERS = "osD^v<>P"
# Markers on a curve are this share of the panel apart, those of the next curve a little further on.
SPACING, SHIFT = 0.2, 0.03
TITLE: dict[str, Any] = {"x": 0.01, "ha": "left", "fontsize": 10}
# Room for title and legend, and the least width that a title needs, in inches.
FRAME, NARROWEST = 1.0, 7.2
# From large T to small: dark to light, so that the order shows in greyscale.
ORDERED = ("#00204d", "#2b446e", "#575d6d", "#7d7c78", "#a59c74", "#d2bf60")


def panels(lines: int, columns: int, size: tuple[float, float] = palette.PANEL, **share: Any) -> tuple[Any, Any]:
    """A figure with its grid of axes (lines, columns)."""
    width = max(columns * size[0], NARROWEST)
    figure = plots.Figure(figsize=(width, lines * size[1] + FRAME), layout="constrained", dpi=palette.DPI)
    grid = figure.subplots(lines, columns, squeeze=False, **share)
    for axes in grid.ravel():
        axes.tick_params(labelbottom=True, labelleft=True)
    return figure, grid


def head(axes: plots.Axes, title: str) -> None:
    """The title of a panel, taken literally."""
    axes.set_title(title, loc="left", fontweight="bold", parse_math=False)


def legend(figure: plots.Figure, axes: Sequence[plots.Axes]) -> None:
    """One legend with each label once, below all panels."""
    entries: dict[str, Any] = {}
    for panel in axes:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    columns = 3 if figure.get_figwidth() <= NARROWEST else 4
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=columns, handlelength=3.4)


def curve(axes: plots.Axes, curves: Sequence[Array], label: str, style: palette.Style) -> None:
    """Mean and range over repetitions against r = 0, 1, ..., up to the last round that all of them have."""
    length = min(len(values) for values in curves)
    table, r = np.array([values[:length] for values in curves]), np.arange(length)
    if np.isfinite(table).any():
        axes.fill_between(r, table.min(axis=0), table.max(axis=0), color=style["color"], alpha=0.18, lw=0)
        axes.plot(r, table.mean(axis=0), label=label, markerfacecolor="white", **style)


def styles(runs: Sequence[Run]) -> dict[str, palette.Style]:
    """Weighting -> colour, dash and marker, the same in every panel; FedAvg is the black solid line."""
    names = sorted(by_weighting(runs), key=lambda name: name != "fedavg")
    return {name: _style(j, CLIENTS[j % len(CLIENTS)]) for j, name in enumerate(names)}


def ordered_styles(names: Sequence[str]) -> dict[str, palette.Style]:
    """Name -> style for names in an order (temperatures): the first black, then from dark to light."""
    colours = (BLACK, *ORDERED)
    place = np.linspace(0, len(colours) - 1, len(names)).round().astype(int)
    return {name: _style(j, colours[k]) for j, (name, k) in enumerate(zip(names, place, strict=True))}


def _style(j: int, colour: str) -> palette.Style:
    every = (SHIFT * (j % len(MARKERS)), SPACING)
    return {"color": colour, "ls": DASHES[j % len(DASHES)], "marker": MARKERS[j % len(MARKERS)], "markevery": every}


def by_weighting(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Weighting -> its repetitions; ``runs`` share their settings."""
    return {weighting: group for (_, weighting), group in experiments(runs).items()}


def by_partition(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Title -> the runs of a partition, the paper's frameworks first, from IID to the farthest from it."""
    order = (*reversed(paper.FRAMEWORKS), None)
    found: dict[tuple[int, str], list[Run]] = {}
    for run in runs:
        framework = paper.framework(paper.DATA, run.partition)
        title = f"{framework}: {run.partition}" if framework else run.partition
        found.setdefault((order.index(framework), title), []).append(run)
    return {key[1]: found[key] for key in sorted(found)}


def averaged(runs: Sequence[Run]) -> str:
    """What a line and its band are: ``mean and range of 5 repetitions``, ``1 repetition``."""
    counts = sorted({len(group) for group in experiments(runs).values()})
    if counts == [1]:
        return "1 repetition"
    return f"mean and range of {counts[0] if len(counts) == 1 else f'{counts[0]} to {counts[-1]}'} repetitions"
