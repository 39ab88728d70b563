"""Pictures of a sweep: tightness, the floor or any measured quantity against any axis of the grid."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fedbounds.errors import reject
from fedbounds.report.figures import files, line_styles, study_figures
from fedbounds.report.figures.line_styles import CLIENTS, DASHES
from fedbounds.study.bounds import main_tightness
from fedbounds.study.sweep.lines import Series, series, varying
from fedbounds.theory.symbols import QUANTITIES

MARKERS = "osD^v<>P"
# Beyond this ratio of largest to smallest, all positive, an axis is logarithmic.
WIDE = 30.0
# Values of a setting that are written at their ticks one by one.
TICKS = 8
MEANING = {
    "tightness": "bound / measured (smallest over t)",
    "floor": "mean gap at the end; bars: interval of the floor",
    "gap_last": "mean gap at the end",
    "condition": "condition number of the generated quadratics",
}


def panels_figure(drawn: Mapping[str, Sequence[Series]], x: str, title: str = "") -> study_figures.Figure:
    """One panel a measured quantity, side by side, each with its lines against ``x``.

    Medians are joined, and bars go from the smallest to the largest value where both are known.
    """
    figure = study_figures.Figure(
        figsize=(max(6.4, 4.6 * len(drawn)), 4.2), layout="constrained", dpi=line_styles.DPI
    )
    panels = figure.subplots(1, len(drawn), squeeze=False)[0]
    for axes, (y, lines) in zip(panels, drawn.items(), strict=True):
        _panel(axes, lines, x, y)
    figure.suptitle(title, x=0.01, ha="left", fontsize=9, parse_math=False)
    entries = {
        label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=3, handlelength=3.4)
    return figure


def _panel(axes: study_figures.Axes, lines: Sequence[Series], x: str, y: str) -> None:
    for j, line in enumerate(lines):
        style: dict[str, Any] = {
            "color": CLIENTS[j % len(CLIENTS)],
            # Between two names there is nothing to draw.
            "ls": "none" if line.labels else DASHES[j // len(CLIENTS) % len(DASHES)],
            "marker": MARKERS[j % len(MARKERS)],
        }
        # A floor may have any interval around the gap that was measured.
        bars = np.abs([np.minimum(line.lower - line.y, 0), np.maximum(line.upper - line.y, 0)])
        axes.errorbar(line.x, line.y, yerr=bars, label=line.group, capsize=2, elinewidth=0.8, **style)
    xs, ys = (np.concatenate([getattr(line, name) for line in lines]) for name in ("x", "y"))
    if lines[0].labels:
        axes.set_xticks(range(len(lines[0].labels)), lines[0].labels, rotation=30, ha="right", parse_math=False)
    else:
        _ticks(axes, np.unique(xs))
    if _wide(ys):
        axes.set_yscale("log", nonpositive="clip")
    axes.set_xlabel(label(x) + (f" {lines[0].prefix}:" if lines[0].prefix else ""))
    axes.set_ylabel(label(y))


def _ticks(axes: study_figures.Axes, values: np.ndarray) -> None:
    """A logarithmic axis where the grid is one (1, 2, 4, 8), with a tick a value of the setting."""
    if _wide(values) or _geometric(values):
        axes.set_xscale("log")
    if len(values) <= TICKS:
        axes.set_xticks(values, [f"{value:.4g}" for value in values])
        axes.set_xticks([], minor=True)


def _geometric(values: np.ndarray) -> bool:
    """Whether positive values are spaced more evenly in their logarithms than as they are."""
    if len(values) < 3 or values[0] <= 0:
        return False
    uneven, plain = (np.ptp(gaps) / gaps.mean() for gaps in (np.diff(np.log(values)), np.diff(values)))
    return bool(uneven < plain)


def _wide(values: np.ndarray) -> bool:
    return bool(values.min() > 0 and values.max() / values.min() > WIDE)


def label(column: str) -> str:
    """What an axis is called: the paper's symbol where it has one."""
    known = QUANTITIES.get(column)
    if known is not None:
        return f"${known.latex}$"
    return MEANING.get(column, column.replace("_", " "))


def draw(
    folder: str | Path,
    x: str | None = None,
    y: str | None = None,
    group: str = "weighting",
    where: Mapping[str, str] | None = None,
) -> list[Path]:
    """Draw ``y`` against ``x`` from the sweep in ``folder``, as PNG and SVG in it; returns their paths.

    Without ``x``: against every setting that varies (the seed and the list of weightings aside, which are
    summed up and drawn as lines). Without ``y``: tightness and floor. Tightness is that of the repaired
    corollary, measured, unless ``where`` names a claim.
    """
    axes = [x] if x else [name for name in varying(folder) if name not in ("seed", "weightings")]
    if not axes:
        raise reject("a picture of a sweep needs a setting that varies", "none", "name a column with --x")
    paths = []
    for name in axes:
        for quantity in [y] if y else ["tightness", "floor"]:
            chosen = dict(where or {})
            if quantity == "tightness" and "claim" not in chosen:
                chosen = main_tightness() | chosen
            lines = series(folder, name, quantity, group, chosen)
            said = ", ".join(f"{key} {value}" for key, value in chosen.items())
            stem = f"{quantity}-against-{name}".replace("_", "-")
            paths += files.save(partial(panels_figure, {quantity: lines}, name, said), Path(folder), stem)
    return paths
