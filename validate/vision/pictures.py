"""The picture of the stored records: R_90 beside the paper's."""

import math
from pathlib import Path
from typing import Any

from fedbounds import io
from fedbounds.report.figures import study_figures, styles
from fedbounds.report.figures.styles import BLACK, BLUE, DASHES, ORANGE
from validate.vision import measures, paper
from validate.vision.estimates import Estimate
from validate.vision.experiments import MAIN, WARMER
from validate.vision.stored import Group, Stored

Cases = dict[str, Group]
TITLE: dict[str, Any] = {"x": 0.01, "ha": "left", "fontsize": 10}
# Room for title and legend, the least width that a title needs, and a line of a dot plot, in inches.
FRAME, NARROWEST, LINE = 1.0, 7.2, 0.4
# The paper's mark below the measured one, single runs above it, in lines.
BELOW, ABOVE, STACK = 0.3, 0.2, 0.075
# An open interval is an arrow that ends this far beyond the last round.
BEYOND = 1.12


def _figure(width: float, height: float) -> Any:
    size = (max(width, NARROWEST), height + FRAME)
    return study_figures.Figure(figsize=size, layout="constrained", dpi=styles.DPI)


def speed(cases: Cases) -> Any:
    """R_90 of every framework and weighting with its interval, its single runs, and the paper's interval below."""
    rows = [(framework, name, group) for framework, case in cases.items() for name, group in case.items()]
    figure = _figure(0, LINE * len(rows))
    axes = figure.subplots()
    for y, (framework, name, group) in enumerate(rows):
        result = measures.speed(group)
        _estimate(axes, result.estimate, y, max(run.rounds for run in group))
        values = [value for value in result.values if value is not None]
        heights = [y - ABOVE - STACK * values[:k].count(value) for k, value in enumerate(values)]
        axes.plot(values, heights, "o", color=BLACK, ms=2.2, mew=0, label="single runs" if values else None)
        printed = paper.R_90.get((framework, paper.weighting(name) or ""))
        if printed:
            style: dict[str, Any] = {"color": ORANGE, "marker": "D", "ms": 4, "capsize": 3, "ls": "none"}
            bars = [[printed.mean - printed.lower], [printed.upper - printed.mean]]
            axes.errorbar(printed.mean, y + BELOW, xerr=bars, label="printed in the paper (its T is not)", **style)
    axes.set_yticks(range(len(rows)), [f"{framework}  {name}" for framework, name, _ in rows], parse_math=False)
    axes.set_ylim(len(rows) - 0.4, -0.8)
    axes.set_xlim(left=0)
    axes.set_xlabel("$R_{90}$, communication rounds")
    axes.grid(axis="y", visible=False)
    figure.suptitle("MNIST: rounds to 90%, 95% intervals for means", parse_math=False, **TITLE)
    entries = {label: handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=4, handlelength=3.4)
    return figure


def _estimate(axes: Any, found: Estimate, y: float, last: float) -> None:
    """A dot with its interval; where no upper end is known, an arrow to beyond the last round."""
    centre = found.value if math.isfinite(found.value) else found.least
    if not math.isfinite(centre):
        return
    low, high = (end if math.isfinite(end) else centre for end in (found.lower, found.upper))
    bars = [[max(centre - low, 0)], [max(high - centre, 0)]]
    style: dict[str, Any] = {"color": BLUE, "marker": "o", "ms": 5, "capsize": 3, "ls": "none", "label": "mean"}
    if found.kind == "median":  # hollow: not the same statistic as the others
        style |= {"markerfacecolor": "white", "label": "median: some runs never reached 90%"}
    axes.errorbar(centre, y, xerr=bars, **style)
    if found.kind == "median" and math.isinf(found.upper):
        arrow: dict[str, Any] = {"marker": ">", "markevery": [1], "ms": 6}
        axes.plot([centre, BEYOND * max(last, centre)], [y, y], color=BLUE, ls=DASHES[2], lw=1, **arrow)


def draw(stored: Stored, out: Path) -> list[Path]:
    """Write the picture of the rounds to 90% in ``out``, as PNG, where there are records for it; returns its path."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    cases = {f: {name: case[name] for name in (*MAIN, WARMER) if name in case} for f, case in stored.cases().items()}
    cases = {framework: case for framework, case in cases.items() if case}
    if not cases:
        return []
    with mpl.rc_context(styles.RC):
        return [io.write(out / "r90.png", FigureCanvasAgg(speed(cases)).print_png)]
