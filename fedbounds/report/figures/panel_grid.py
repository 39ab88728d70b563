"""The frame of a study's picture: one panel a weighting, and one legend."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from fedbounds.report.figures import line_styles
from fedbounds.study.result import Result

# How far a logarithmic axis reaches, at least, for the powers of ten on it to be enough.
DECADES = 100
# The label of the crosses where a claim fails, last in a legend.
VIOLATED = "violated: band above 1"
# Inches that titles, labels of axes and lines of a legend take. Every figure here has the same of them: looking for
# their sizes would take half of the time of a picture.
LEFT, RIGHT, TOP, BOTTOM, BETWEEN, LEGEND = 0.82, 0.12, 0.62, 0.46, (0.82, 0.72), 0.2


def panels_of(
    result: Result,
    title: str,
    labels: tuple[str, str],
    log: str = "x",
    columns: int = 3,
    panel: tuple[float, float] = line_styles.PANEL,
    bar: bool = False,
    **share: Any,
) -> tuple[Figure, list[Axes]]:
    """A figure with one titled panel a weighting, axes in ``log`` logarithmic; unused cells of the grid are blank.

    ``bar``: a colour bar will be put to them.
    """
    names = [run.weighting for run in result.runs]
    columns = min(columns, len(names))
    lines = -(-len(names) // columns)
    width = max(columns * panel[0], 6.4)
    size = (width, lines * panel[1] + 0.8)
    figure = Figure(figsize=size, layout="constrained" if bar else None, dpi=line_styles.DPI)
    grid = figure.subplots(lines, columns, squeeze=False, **share).ravel()
    if not bar:
        _place(figure)
    for axes in grid[len(names) :]:
        axes.axis("off")
    for axes, label in zip(grid, names, strict=False):
        axes.set_title(label, loc="left", fontweight="bold", parse_math=False)
        axes.tick_params(labelbottom=True, labelleft=True)
        axes.set(xlabel=labels[0], ylabel=labels[1], **{f"{axis}scale": "log" for axis in log})
        if "x" in log:
            axes.xaxis.set_minor_formatter(_within_a_decade(axes))
    figure.suptitle(title, x=0.01, y=None if bar else 1 - 0.1 / size[1], ha="left", fontsize=10)
    return figure, list(grid[: len(names)])


def _place(figure: Figure, foot: float = BOTTOM) -> None:
    """Panels of one size, ``foot`` inches free below them."""
    lines, columns = figure.axes[0].get_subplotspec().get_geometry()[:2]  # type: ignore[union-attr]
    width, height = figure.get_size_inches()
    across = (width - LEFT - RIGHT - BETWEEN[0] * (columns - 1)) / columns
    along = (height - TOP - foot - BETWEEN[1] * (lines - 1)) / lines
    edges = {"left": LEFT / width, "right": 1 - RIGHT / width, "bottom": foot / height, "top": 1 - TOP / height}
    figure.subplots_adjust(**edges, wspace=BETWEEN[0] / across, hspace=BETWEEN[1] / along)


def legend(figure: Figure, axes: list[Axes], columns: int = 3, narrow: int = 1) -> None:
    """One legend with each label once, in a blank cell of the grid or below all panels: it can cover no data."""
    _thin(axes)
    entries: dict[str, Any] = {}
    for panel in axes:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if VIOLATED in entries:
        entries[VIOLATED] = entries.pop(VIOLATED)
    blank = [panel for panel in figure.axes if panel not in axes]
    if blank:
        blank[0].legend(entries.values(), entries.keys(), loc="center", ncols=narrow, handlelength=3.4)
    else:
        rows = -(-len(entries) // columns)
        _place(figure, BOTTOM + LEGEND * rows)
        figure.legend(entries.values(), entries.keys(), loc="lower center", ncols=columns, handlelength=3.4)


def _thin(panels: list[Axes]) -> None:
    """Ticks at powers of ten alone where an axis has some: eight more between any two take a third of the time."""
    for axes in panels:
        for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            if axis.get_scale() == "log" and high >= DECADES * low:
                axis.set_minor_locator(NullLocator())


def _within_a_decade(axes: Axes) -> FuncFormatter:
    """Plain numbers between the powers of ten, few enough to stand apart, where the axis has hardly a power on it."""

    def text(value: float, _: int) -> str:
        low, high = axes.get_xlim()
        return f"{value:g}" if high < 10 * low and f"{value:e}"[0] in "2468" else ""

    return FuncFormatter(text)
