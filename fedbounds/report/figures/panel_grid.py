"""The frame of a study's picture: one panel a weighting, and one legend."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from fedbounds.report.figures import line_styles
from fedbounds.study.result import Result

# How far a logarithmic axis reaches, at least, for the powers of ten on it to be enough.
DECADES = 100


def panels_of(
    result: Result,
    title: str,
    labels: tuple[str, str],
    log: str = "x",
    columns: int = 3,
    panel: tuple[float, float] = line_styles.PANEL,
    **share: Any,
) -> tuple[Figure, list[Axes]]:
    """A figure with one titled panel a weighting, axes in ``log`` logarithmic."""
    names = [run.weighting for run in result.runs]
    columns = min(columns, len(names))
    lines = -(-len(names) // columns)
    size = max(columns * panel[0], 6.4), lines * panel[1] + 0.8
    figure = Figure(figsize=size, layout="constrained", dpi=line_styles.DPI)
    grid = figure.subplots(lines, columns, squeeze=False, **share).ravel()
    for axes in grid[len(names) :]:
        axes.remove()
    panels = list(grid[: len(names)])
    for axes, name in zip(panels, names, strict=True):
        axes.set_title(name, loc="left", fontweight="bold", parse_math=False)
        axes.tick_params(labelbottom=True, labelleft=True)
        axes.set(xlabel=labels[0], ylabel=labels[1], **{f"{axis}scale": "log" for axis in log})
    figure.suptitle(title, x=0.01, ha="left", fontsize=10)
    return figure, panels


def legend(figure: Figure, panels: list[Axes], columns: int = 3) -> None:
    """One legend with each label once, below all panels: it can cover no data."""
    entries: dict[str, Any] = {}
    for axes in panels:
        for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            if axis.get_scale() == "log" and high >= DECADES * low:
                axis.set_minor_locator(NullLocator())
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=columns, handlelength=3.4)
