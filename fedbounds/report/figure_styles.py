"""How pictures look (lines and colours, one panel a weighting, titles), and how they become files."""

import io
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from fedbounds.io import write
from fedbounds.plugins import with_role
from fedbounds.report.number_format import grouped, number
from fedbounds.study.bounds import distinct_readings, main_bound
from fedbounds.study.result import Result
from fedbounds.theory.claim import Claim, Role
from fedbounds.theory.symbols import Scope
from fedbounds.theory.verdict import Evidence

Style = dict[str, Any]
# (claim, reading) -> label and style of its line.
Lines = dict[tuple[str, str], tuple[str, Style]]

# Okabe and Ito's palette: distinct to every kind of colour vision, and in greyscale with the dashes.
BLACK, BLUE, ORANGE, GREEN, PURPLE, SKY = "#000000", "#0072B2", "#D55E00", "#009E73", "#AA4499", "#56B4E9"
# The first claim drawn has a line a reading; every other one has a style of its own, given from the last one on.
READING_STYLES: dict[str, Style] = {
    "repaired": {"color": BLUE, "ls": "-", "marker": "s"},
    "literal": {"color": ORANGE, "ls": (0, (5, 2)), "marker": "o"},
    "sync": {"color": PURPLE, "ls": (0, (1, 1.2)), "marker": "D"},
}
OTHER_STYLES: tuple[Style, ...] = (
    {"color": GREEN, "ls": (0, (6, 2, 1, 2)), "marker": "^"},
    READING_STYLES["sync"],
    {"color": SKY, "ls": (0, (3, 1, 1, 1, 1, 1)), "marker": "v"},
)
# Lines of the reader's own claims, in this order.
USER_STYLES: tuple[Style, ...] = (
    {"color": "#CC0033", "ls": (0, (2, 1)), "marker": "P"},
    {"color": "#666666", "ls": (0, (4, 1, 1, 1)), "marker": "X"},
    {"color": "#8C6D00", "ls": (0, (1, 3)), "marker": "*"},
    {"color": "#004D40", "ls": (0, (8, 3)), "marker": "<"},
    {"color": "#5E35B1", "ls": (0, (3, 3)), "marker": ">"},
)
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 2, 1, 2)))
MARKERS = "osD^v<>P"
CLIENTS = (BLACK, ORANGE, SKY, GREEN, PURPLE, BLUE)
PANEL, DPI = (3.4, 2.7), 130
RC: Any = {
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "legend.frameon": False,
    "mathtext.fontset": "stix",
    "svg.hashsalt": "fedbounds",
}


def lines(scope: Scope, claims: Iterable[Claim] = ()) -> Lines:
    """Those of the claims (all) to draw against a run over a scope, each in every reading that draws another line."""
    pictured = [claim for claim in claims if Role.PICTURED in claim.roles] or with_role(Role.PICTURED)
    drawn = [claim for claim in pictured if claim.scope == scope]
    first = max(drawn, key=lambda claim: len(claim.readings))
    readings = distinct_readings(first)[::-1] if scope == "horizon" else first.readings
    result: Lines = {(first.key, name): (f"{first.short}, {name}", READING_STYLES[name]) for name in readings}
    rest = [claim for claim in drawn if claim is not first][::-1]
    for claim, style in zip(rest, itertools.cycle(OTHER_STYLES)):
        result[claim.key, claim.readings[0]] = (claim.short or claim.title, style)
    return result


# How far a logarithmic axis reaches, at least, for the powers of ten on it to be enough.
DECADES = 100


def panels_of(
    result: Result, title: str, labels: tuple[str, str], log: str = "x", **share: Any
) -> tuple[Figure, list[Axes]]:
    """A figure with one titled panel a weighting, axes in ``log`` logarithmic."""
    names = [run.weighting for run in result.runs]
    columns = min(3, len(names))
    lines = -(-len(names) // columns)
    size = max(columns * PANEL[0], 6.4), lines * PANEL[1] + 0.8
    figure = Figure(figsize=size, layout="constrained", dpi=DPI)
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


def bounds_title(result: Result) -> str:
    """Which weighting stops at a floor, and how far above the run the theory's bound lies."""
    floors = {
        run.weighting: run.decay.floor_low or 0.0 for run in result.runs if run.decay and run.decay.answer == "no"
    }
    main = main_bound()
    wanted = main.key, main.readings[-1], Evidence.EMPIRICAL
    verdicts = [v for run in result.runs for v in run.verdicts if (v.claim, v.reading, v.evidence) == wanted]
    ratios = [verdict.tightness for verdict in verdicts if verdict.tightness is not None]
    parts = []
    if floors:
        stall = "stall" if len(floors) > 1 else "stalls"
        parts.append(f"{', '.join(floors)} {stall} above {number(min(floors.values()), 2)}")
    if ratios:
        low, high = grouped(min(ratios)), grouped(max(ratios))
        parts.append(
            f"the {main.short} lies {low if low == high else f'{low} to {high}'} times above what is measured"
        )
    title = "; ".join(parts) or "Measured suboptimality and the bounds on it"
    return title[:1].upper() + title[1:] if title.startswith("the ") else title


@dataclass(frozen=True, repr=False)
class Plot:
    """A figure that a notebook shows; ``build()`` is the matplotlib figure itself."""

    build: Callable[[], Figure]

    def save(self, path: str | Path) -> list[Path]:
        """Write the figure beside each other as PNG and SVG, whatever suffix ``path`` has; return both paths."""
        return save(self.build, Path(path).parent, Path(path).stem)

    def __repr__(self) -> str:
        return "Plot: .save(PATH) writes it as PNG and SVG, .build() is the figure"

    def _repr_svg_(self) -> str:
        return svg(self.build)


def save(build: Callable[[], Figure], out: Path, stem: str) -> list[Path]:
    """Write the figure that ``build`` makes as ``stem``.png and ``stem``.svg in ``out``."""
    with matplotlib.rc_context(RC):
        figure = build()
        if figure.get_layout_engine() is not None:
            # One pass of layout serves both formats.
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
        raster = write(out / f"{stem}.png", FigureCanvasAgg(figure).print_png)
        return [raster, write(out / f"{stem}.svg", partial(_print_svg, figure))]


def _print_svg(figure: Figure, file: Any) -> None:
    # Without a date the same study gives the same bytes.
    FigureCanvasSVG(figure).print_svg(file, metadata={"Date": None})


def svg(build: Callable[[], Figure]) -> str:
    """The figure that ``build`` makes as the text of an SVG document."""
    with matplotlib.rc_context(RC):
        file = io.BytesIO()
        _print_svg(build(), file)
    return file.getvalue().decode()
