"""The marked blocks of docs/vision.md and its picture, from the stored records."""

import math
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from fedbounds import io
from fedbounds.report import figure_styles as styles
from fedbounds.report.figure_styles import BLACK, BLUE, DASHES, ORANGE
from validate.markdown import filled
from validate.markdown import markdown_table as table
from validate.runner import DOCS, IMAGES
from validate.vision import measures, paper, verdicts
from validate.vision.experiments import BASELINE, MAIN, SOFT, TEMPERATURES, WARMER
from validate.vision.measures import Stored, accuracy, rounds
from validate.vision.statistics import Estimate, estimate, minus
from validate.vision.verdicts import Case

PAGE, PICTURES = DOCS / "vision.md", IMAGES / "vision"
NOTHING = "Nothing is stored yet."
SHARE, ROUNDS = (0.0, 1.0), (1.0, math.inf)
# Room for title and legend, the width that a title needs, and a line of the picture, in inches.
FRAME, WIDTH, LINE = 1.0, 7.2, 0.4
# The paper's mark below the measured one, single runs above it, in lines.
BELOW, ABOVE, STACK = 0.3, 0.2, 0.075
# An open interval is an arrow that ends this far beyond the last round.
BEYOND = 1.12


def shown(found: Estimate, digits: int, scale: float = 1.0) -> str:
    """``12.4 [11.8, 13.0]``, ``median 12 [11, 14]``."""
    return ("median " if found.kind == "median" else "") + found.text(digits, scale)


def verdict_table(outcomes: Sequence[tuple[Case, str]]) -> str:
    """One line a claim of the paper."""
    rows = []
    for key, says, lines in paper.STATEMENTS:
        judged = [outcome for outcome in outcomes if outcome[0].claim == key]
        if judged:
            readings = "; ".join(dict.fromkeys(case.reading for case, _ in judged if not case.extra))
            rows.append((says, lines, f"**{verdicts.overall(judged)}**", readings))
    return table(("the paper's claim", "lines", "in this reading", "step and T"), rows)


def speed_cells(group: Sequence[measures.ImageRun]) -> tuple[str, str]:
    """R_90, and how many runs reached 90%."""
    found = rounds(group)
    return shown(estimate(found, within=ROUNDS), 1), f"{int((found.high < math.inf).sum())} of {len(group)}"


def speed(stored: Stored) -> str:
    """R_90 beside the paper's."""
    rows = []
    for framework, case in stored.cases.items():
        for name in (name for name in (*MAIN, WARMER) if name in case):
            printed = paper.R_90.get((framework, paper.weighting(name)))
            beside = f"{printed.mean:.1f} [{printed.lower:.1f}, {printed.upper:.1f}]" if printed else ""
            rows.append((framework, name, *speed_cells(case[name]), beside))
    return table(("framework", "weighting", "R_90", "reached 90%", "the paper's"), rows)


def final(stored: Stored) -> str:
    """Final accuracy."""
    rows = []
    for framework, case in stored.whole().items():
        base = accuracy(case.get(BASELINE, []))
        for name, group in case.items():
            own = accuracy(group)
            compared = "" if name == BASELINE or base.empty else shown(estimate(minus(own, base)), 2, 100)
            rows.append((framework, name, len(group), shown(estimate(own, within=SHARE), 2, 100), compared))
    return table(("framework", "weighting", "runs", "final accuracy, %", "final minus FedAvg's"), rows)


def tempered(stored: Stored) -> str:
    """R_90 against 1/T."""
    rows, case = [], stored.cases.get("NIID", {})
    for name in (name for name in (BASELINE, WARMER, SOFT, *TEMPERATURES) if name in case):
        others = [
            shown(estimate(minus(rounds(case[name]), rounds(case[other]))), 1) if other in case else ""
            for other in (BASELINE, SOFT)
        ]
        rows.append((f"{1 / (measures.temperature(name) or 1.0):.3g}", *speed_cells(case[name]), *others))
    return table(("1/T (0: FedAvg)", "R_90", "reached 90%", "minus FedAvg's", "minus that of 1/T = 5"), rows)


def blocks(stored: Stored, outcomes: Sequence[tuple[Case, str]], pictures: Path) -> dict[str, str]:
    """Name of a block -> its Markdown."""
    picture = "\n\n![R_90 measured and printed](img/vision/r90.png)" if (pictures / "r90.png").is_file() else ""
    bands = table(("step / T", *measures.WORDS), measures.band_counts(stored.cells))
    return {
        "verdicts": verdict_table(outcomes),
        "r90": speed(stored) + picture,
        "accuracy": final(stored),
        "temperatures": tempered(stored),
        "map": NOTHING if stored.cells.empty else bands,
    }


def write(stored: Stored, outcomes: Sequence[tuple[Case, str]]) -> None:
    """Fill docs/vision.md."""
    made = blocks(stored, outcomes, PICTURES)
    io.write_text(PAGE, reduce(lambda text, name: filled(text, made[name], name), made, PAGE.read_text("utf-8")))


def draw(stored: Stored, out: Path) -> None:
    """R_90 of every framework and weighting with its interval, its single runs, and the paper's interval below."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    rows = [(f, n, case[n]) for f, case in stored.cases.items() for n in (*MAIN, WARMER) if n in case]
    if not rows:
        return
    with mpl.rc_context(styles.RC):
        figure = styles.Figure(figsize=(WIDTH, LINE * len(rows) + FRAME), layout="constrained", dpi=styles.DPI)
        axes = figure.subplots()
        for y, (framework, name, group) in enumerate(rows):
            found = rounds(group)
            _estimate(axes, estimate(found, within=ROUNDS), y, max(run.rounds for run in group))
            values = [value for value in found.high if math.isfinite(value)]
            heights = [y - ABOVE - STACK * values[:k].count(value) for k, value in enumerate(values)]
            axes.plot(values, heights, "o", color=BLACK, ms=2.2, mew=0, label="single runs" if values else None)
            printed = paper.R_90.get((framework, paper.weighting(name)))
            if printed:
                style: dict[str, Any] = {"color": ORANGE, "marker": "D", "ms": 4, "capsize": 3, "ls": "none"}
                bars = [[printed.mean - printed.lower], [printed.upper - printed.mean]]
                label = "printed in the paper (its T is not)"
                axes.errorbar(printed.mean, y + BELOW, xerr=bars, label=label, **style)
        axes.set_yticks(range(len(rows)), [f"{framework}  {name}" for framework, name, _ in rows], parse_math=False)
        axes.set_ylim(len(rows) - 0.4, -0.8)
        axes.set_xlim(left=0)
        axes.set_xlabel("$R_{90}$, communication rounds")
        axes.grid(axis="y", visible=False)
        title = "MNIST: rounds to 90%, 95% intervals for means"
        figure.suptitle(title, parse_math=False, x=0.01, ha="left", fontsize=10)
        entries = {label: handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
        figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=4, handlelength=3.4)
        io.write(out / "r90.png", FigureCanvasAgg(figure).print_png)


def _estimate(axes: Any, found: Estimate, y: float, last: float) -> None:
    """A dot with its interval; where no upper end is known, an arrow to beyond the last round."""
    centre = found.least
    low, high = (end if math.isfinite(end) else centre for end in (found.lower, found.upper))
    bars = [[max(centre - low, 0)], [max(high - centre, 0)]]
    style: dict[str, Any] = {"color": BLUE, "marker": "o", "ms": 5, "capsize": 3, "ls": "none", "label": "mean"}
    if found.kind == "median":  # hollow: not the same statistic as the others
        style |= {"markerfacecolor": "white", "label": "median: some runs never reached 90%"}
    axes.errorbar(centre, y, xerr=bars, **style)
    if found.kind == "median" and math.isinf(found.upper):
        arrow: dict[str, Any] = {"marker": ">", "markevery": [1], "ms": 6}
        axes.plot([centre, BEYOND * max(last, centre)], [y, y], color=BLUE, ls=DASHES[2], lw=1, **arrow)
