"""Pictures of a sweep: tightness, the floor or any measured number against any setting of the grid."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fedbounds.errors import reject
from fedbounds.plugins import nearest
from fedbounds.report.figures import files, styles
from fedbounds.study.bounds import main_tightness
from fedbounds.study.sweep_table import COLUMNS, NUMBERS, Stored, read_table
from fedbounds.theory.symbols import QUANTITIES

# Beyond this ratio of largest to smallest, all positive, an axis is logarithmic.
WIDE = 30.0
# Larger numbers overflow where they are scaled to be drawn; the square of this one is finite.
LARGEST = 1e150
# Columns of the middle, the lower and the upper end of a quantity with an interval of its own.
INTERVALS = {"floor": ("gap_last", "floor_low", "floor_high")}
# Settings that a picture sums up or draws as lines instead of having them as its axis.
SUMMED = ("seed", "weightings")
# How the rows at one position are summed up: the middle, the lower and the upper end.
SUMMARIES: tuple[Callable[[np.ndarray], Any], ...] = (np.median, np.min, np.max)
LABELS = {
    "tightness": "bound / measured (smallest over t)",
    "floor": "mean gap at the end; bars: interval of the floor",
    "gap_last": "mean gap at the end",
}


@dataclass(frozen=True)
class Line:
    """Median ``y`` and the range from ``lower`` to ``upper`` at each ``x``, all (m,), of the rows of one ``group``.

    ``labels`` names the positions 0, 1, ... of an ``x`` that is not a number.
    """

    group: str
    x: np.ndarray
    y: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    labels: tuple[str, ...] = ()


def lines_of(
    stored: Stored, x: str, y: str = "tightness", group: str = "weighting", where: Mapping[str, str] | None = None
) -> list[Line]:
    """The lines of ``y`` against ``x``, one for each value of ``group``, over the rows that match ``where``.

    ``x``, ``group`` and the keys of ``where`` are columns of the table; a value of ``where`` may use * and ?. Texts
    such as quadratics:0.5 that differ in their number only are that number. Errors: InputError for an unknown column,
    or when nothing matches.
    """
    chosen = dict(where or {})
    for name in (x, group, *chosen):
        if name not in COLUMNS:
            raise nearest("column", name, COLUMNS)
    if y not in (*NUMBERS, *INTERVALS):
        raise nearest("measured quantity", y, (*NUMBERS, *INTERVALS))
    columns = INTERVALS.get(y, (y, y, y))
    rows = [row for row in stored.rows() if row[x] is not None and row[columns[0]] is not None]
    rows = [row for row in rows if all(fnmatchcase(_text(row[name]), value) for name, value in chosen.items())]
    if not rows:
        message = ", ".join(f"{name} = {value}" for name, value in chosen.items()) or "the whole table"
        raise reject(f"a picture of {y} against {x} needs rows that have both", message, "ask for others")
    positions, labels = positions_of([row[x] for row in rows])
    values = np.array([[np.nan if row[name] is None else row[name] for name in columns] for row in rows], dtype=float)
    if np.nanmax(np.abs([*positions, *values.ravel()])) > LARGEST:
        raise reject(f"a picture of {y} against {x} needs numbers up to {LARGEST:g}", "larger ones", "leave them out")
    groups = np.array([_text(row[group]) for row in rows])
    lines = []
    for name in sorted(set(groups)):
        group_values, at = values[groups == name], np.array(positions)[groups == name]
        here = [group_values[at == place] for place in np.unique(at)]
        middle, low, high = (np.array([of(part[:, k]) for part in here]) for k, of in enumerate(SUMMARIES))
        lines.append(Line(name, np.unique(at), middle, low, high, labels))
    return lines


def positions_of(values: Sequence[Any]) -> tuple[list[float], tuple[str, ...]]:
    """Where ``values`` lie on an axis, and the labels of its positions if they are no numbers."""
    if all(isinstance(value, int | float) for value in values):
        return [float(value) for value in values], ()
    texts = [_text(value) for value in values]
    numbers = [re.fullmatch(r"([a-z-]+):(-?\d+\.?\d*(?:e[-+]?\d+)?)", text) for text in texts]
    if len({match and match[1] for match in numbers}) == 1 and numbers[0]:
        return [float(match[2]) for match in numbers if match], ()
    names = sorted(set(texts))
    return [float(names.index(text)) for text in texts], tuple(names)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def figure_of(lines: Sequence[Line], x: str, y: str, title: str = "") -> Figure:
    """The lines of ``y`` against ``x``."""
    figure = Figure(figsize=(6.4, 4.2), layout="constrained", dpi=styles.DPI)
    axes = figure.subplots()
    for j, line in enumerate(lines):
        style: dict[str, Any] = {
            "color": styles.CLIENTS[j % len(styles.CLIENTS)],
            # Between two names there is nothing to draw.
            "ls": "none" if line.labels else styles.DASHES[j // len(styles.CLIENTS) % 4],
            "marker": styles.MARKERS[j % len(styles.MARKERS)],
        }
        # A floor may have any interval around the gap that was measured.
        bars = np.abs([np.minimum(line.lower - line.y, 0), np.maximum(line.upper - line.y, 0)])
        axes.errorbar(line.x, line.y, yerr=bars, label=line.group, capsize=2, elinewidth=0.8, **style)
    if lines[0].labels:
        axes.set_xticks(range(len(lines[0].labels)), lines[0].labels, rotation=30, ha="right", parse_math=False)
    elif _wide([line.x for line in lines]):
        axes.set_xscale("log")
    if _wide([line.y for line in lines]):
        axes.set_yscale("log", nonpositive="clip")
    axes.set(xlabel=label(x), ylabel=label(y))
    figure.suptitle(title, x=0.01, ha="left", fontsize=9, parse_math=False)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, handlelength=3.4)
    return figure


def _wide(values: Sequence[np.ndarray]) -> bool:
    every = np.concatenate(values)
    return bool(every.min() > 0 and every.max() / every.min() > WIDE)


def label(column: str) -> str:
    """What an axis is called: the paper's symbol where it has one."""
    symbol = QUANTITIES.get(column)
    return f"${symbol.latex}$" if symbol is not None else LABELS.get(column, column.replace("_", " "))


def axes_of(stored: Stored) -> list[str]:
    """The settings that vary, seed and list of weightings aside: lines and bars show these."""
    names = [name for name in stored.varying() if name not in SUMMED]
    if not names:
        raise reject("a picture of a sweep needs a setting that varies", "none", "name a column with --x")
    return names


def draw(
    folder: str | Path,
    x: str | None = None,
    y: str | None = None,
    group: str = "weighting",
    where: Mapping[str, str] | None = None,
) -> list[Path]:
    """Draw ``y`` against ``x`` from the sweep in ``folder``, as PNG and SVG in it; returns their paths.

    Without ``x``: against every setting that varies, the seed and the list of weightings aside. Without ``y``:
    tightness and floor. Tightness is that of the main bound, measured, unless ``where`` names a claim.
    """
    stored, paths = read_table(folder), []
    for name in [x] if x else axes_of(stored):
        for quantity in [y] if y else ["tightness", "floor"]:
            chosen = dict(where or {})
            if quantity == "tightness" and "claim" not in chosen:
                chosen = main_tightness() | chosen
            lines = lines_of(stored, name, quantity, group, chosen)
            title = ", ".join(f"{key} {value}" for key, value in chosen.items())
            stem = f"{quantity}-against-{name}".replace("_", "-")
            paths += files.save(partial(figure_of, lines, name, quantity, title), Path(folder), stem)
    return paths
