"""Pictures of the stored records: learning curves, R_90 and stability beside the paper's, temperatures, weights."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fedbounds import io
from fedbounds.model.problem import Array
from fedbounds.report.figures import line_styles, study_figures
from fedbounds.report.figures.line_styles import BLACK, BLUE, CLIENTS, DASHES, ORANGE
from fedbounds.vision.records import ImageRun
from validate.vision import estimates, mapped, measures, paper, weights
from validate.vision.estimates import Estimate
from validate.vision.experiments import BASELINE, LEVELS, MAIN, SOFT, SOFT_LOCAL, TEMPERATURES, WARMER
from validate.vision.stored import Group, Stored

Cases = dict[str, Group]
MARKERS = "osD^v<>P"
# Markers on a curve are this share of the panel apart, those of the next curve a little further on.
SPACING, SHIFT = 0.2, 0.03
TITLE: dict[str, Any] = {"x": 0.01, "ha": "left", "fontsize": 10}
# Room for title and legend, the least width that a title needs, and a line of a dot plot, in inches.
FRAME, NARROWEST, LINE = 1.0, 7.2, 0.4
# The paper's mark below the measured one, single runs above it, in lines.
BELOW, ABOVE, STACK = 0.3, 0.2, 0.075
# An open interval is an arrow that ends this far beyond the last round.
BEYOND = 1.12
FAINT = "#9a9a9a"
RANKS = ("farthest", "2nd farthest", "3rd farthest")


def _panels(lines: int, columns: int, **share: Any) -> tuple[Any, Any]:
    """A figure with its grid of axes (lines, columns)."""
    width = max(columns * line_styles.PANEL[0], NARROWEST)
    size = (width, lines * line_styles.PANEL[1] + FRAME)
    figure = study_figures.Figure(figsize=size, layout="constrained", dpi=line_styles.DPI)
    grid = figure.subplots(lines, columns, squeeze=False, **share)
    for axes in grid.ravel():
        axes.tick_params(labelbottom=True, labelleft=True)
    return figure, grid


def _finish(figure: Any, grid: Sequence[Any], title: str) -> Any:
    """The title, and one legend with each label once, below all panels."""
    entries: dict[str, Any] = {}
    for panel in grid:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.suptitle(title, parse_math=False, **TITLE)
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=4, handlelength=3.4)
    return figure


def _style(j: int) -> line_styles.Style:
    every = (SHIFT * (j % len(MARKERS)), SPACING)
    colour, dash = CLIENTS[j % len(CLIENTS)], DASHES[j % len(DASHES)]
    return {"color": colour, "ls": dash, "marker": MARKERS[j % len(MARKERS)], "markevery": every}


def _curve(axes: Any, curves: Sequence[Array], label: str, style: line_styles.Style) -> None:
    """Mean and range over repetitions against r = 0, 1, ..., up to the last round that all of them have."""
    length = min(len(values) for values in curves)
    table, r = np.array([values[:length] for values in curves]), np.arange(length)
    axes.fill_between(r, table.min(axis=0), table.max(axis=0), color=style["color"], alpha=0.18, lw=0)
    axes.plot(r, table.mean(axis=0), label=label, markerfacecolor="white", **style)
    axes.set_xlabel("communication round $r$")


def _head(axes: Any, title: str) -> None:
    axes.set_title(title, loc="left", fontweight="bold", parse_math=False)


def accuracy(cases: Cases) -> Any:
    """Test accuracy above, test loss below, against the round; a column a framework, a line a weighting.

    Diamonds at 90% are the paper's R_90.
    """
    figure, grid = _panels(2, len(cases), sharex="col", sharey="row")
    names = list(dict.fromkeys(name for case in cases.values() for name in case))
    styles = {name: _style(j) for j, name in enumerate(sorted(names, key=lambda name: name != BASELINE))}
    for (above, below), (framework, case) in zip(grid.T, cases.items(), strict=True):
        _head(above, framework)
        for name, group in case.items():
            _curve(above, [run.accuracy for run in group], name, styles[name])
            _curve(below, [run.test_loss for run in group], name, styles[name])
            printed = paper.R_90.get((framework, paper.weighting(name) or "")) if name in MAIN else None
            if printed:
                half = (printed.upper - printed.lower) / 2
                mark = {"color": styles[name]["color"], "ms": 4, "capsize": 3, "zorder": 5}
                above.errorbar(printed.mean, paper.LEVEL, xerr=half, fmt="D", **mark)
        above.axhline(paper.LEVEL, color=BLACK, lw=0.8, ls=DASHES[2], label="90%")
        below.set_yscale("log")
    grid[0, 0].set_ylabel("test accuracy of $w_r$")
    grid[1, 0].set_ylabel("test loss of $w_r$")
    return _finish(figure, grid.ravel(), "MNIST: the global model along rounds, mean and range of repetitions")


# What is measured, single runs, and the paper's lower end, centre and upper end.
Marked = tuple[Estimate, Sequence[int], "tuple[float, float, float] | None"]


def _dots(cases: Cases, mark: Callable[[str, str, list[ImageRun]], Marked], x: str, title: str) -> Any:
    """One line a framework and weighting: what is measured, and just below it what the paper prints."""
    rows = [(framework, name, group) for framework, case in cases.items() for name, group in case.items()]
    figure = study_figures.Figure(
        figsize=(NARROWEST, LINE * len(rows) + FRAME), layout="constrained", dpi=line_styles.DPI
    )
    axes = figure.subplots()
    for y, row in enumerate(rows):
        found, values, printed = mark(*row)
        _estimate(axes, found, y, max(run.rounds for run in row[2]))
        heights = [y - ABOVE - STACK * values[:k].count(v) for k, v in enumerate(values)]
        axes.plot(values, heights, "o", color=BLACK, ms=2.2, mew=0, label="single runs" if values else None)
        if printed:
            low, centre, high = printed
            style: dict[str, Any] = {"color": ORANGE, "marker": "D", "ms": 4, "capsize": 3, "ls": "none"}
            bars = [[centre - low], [high - centre]]
            axes.errorbar(centre, y + BELOW, xerr=bars, label="printed in the paper (its T is not)", **style)
    axes.set_yticks(range(len(rows)), [f"{framework}  {name}" for framework, name, _ in rows], parse_math=False)
    axes.set_ylim(len(rows) - 0.4, -0.8)
    axes.set_xlim(left=0)
    axes.set_xlabel(x)
    axes.grid(axis="y", visible=False)
    return _finish(figure, [axes], title)


def speed(cases: Cases) -> Any:
    """R_90 of every framework and weighting with its interval, its single runs, and the paper's interval."""

    def mark(framework: str, name: str, group: list[ImageRun]) -> Marked:
        found = measures.speed(group)
        printed = paper.R_90.get((framework, paper.weighting(name) or ""))
        beside = (printed.lower, printed.mean, printed.upper) if printed else None
        return found.estimate, [v for v in found.values if v is not None], beside

    return _dots(cases, mark, "$R_{90}$, communication rounds", "MNIST: rounds to 90%, 95% intervals for means")


def stability(cases: Cases) -> Any:
    """Stability of every framework and weighting over all rounds, with its interval, and the paper's value."""

    def mark(framework: str, name: str, group: list[ImageRun]) -> Marked:
        printed = paper.STABILITY.get((framework, paper.weighting(name) or ""))
        return measures.stabilities(group)["all"], (), printed and (printed.value, printed.value, printed.value)

    return _dots(cases, mark, "std / |mean| of the one-round changes of accuracy", "MNIST: stability, 95% intervals")


def _estimate(axes: Any, found: Estimate, at: float, last: float, upright: bool = False) -> None:
    """A dot with its interval; where no upper end is known, an arrow to beyond the last round."""
    centre = found.value if math.isfinite(found.value) else found.least
    if not math.isfinite(centre):
        return
    low, high = (end if math.isfinite(end) else centre for end in (found.lower, found.upper))
    bars = [[max(centre - low, 0)], [max(high - centre, 0)]]
    style: dict[str, Any] = {"color": BLUE, "marker": "o", "ms": 5, "capsize": 3, "ls": "none", "label": "mean"}
    if found.kind == "median":  # hollow: not the same statistic as the others
        style |= {"markerfacecolor": "white", "label": "median: some runs never reached 90%"}
    place: dict[str, Any] = {"x": at, "y": centre, "yerr": bars} if upright else {"x": centre, "y": at, "xerr": bars}
    axes.errorbar(**place, **style)
    if found.kind == "median" and math.isinf(found.upper):
        along, still = [centre, BEYOND * max(last, centre)], [at, at]
        tip: dict[str, Any] = {"marker": "^" if upright else ">", "markevery": [1], "ms": 6}
        axes.plot(*((still, along) if upright else (along, still)), color=BLUE, ls=DASHES[2], lw=1, **tip)


def temperatures(case: Group) -> Any:
    """Accuracy along rounds for each temperature, and R_90 against 1/T."""
    figure, ((left, right),) = _panels(1, 2)
    for j, (name, group) in enumerate(case.items()):
        inverse = 1 / (measures.temperature(name) or math.nan)
        label = "$1/T=0$ (FedAvg)" if name == BASELINE else f"$1/T={inverse:.3g}$"
        _curve(left, [run.accuracy for run in group], label, _style(j))
        _estimate(right, measures.speed(group).estimate, inverse, max(run.rounds for run in group), upright=True)
    left.axhline(paper.LEVEL, color=BLACK, lw=0.8, ls=DASHES[2], label="90%")
    left.set_ylabel("test accuracy of $w_r$")
    right.axvspan(*paper.INVERSE_TEMPERATURES, color=ORANGE, alpha=0.1, lw=0, label="range named in the paper")
    right.set_ylim(bottom=0)
    right.set_xlabel("$1/T$ ($0$: FedAvg)")
    right.set_ylabel("$R_{90}$")
    return _finish(figure, [left, right], "NIID, step 0.1: FedSoftMax(T)")


def alpha(cases: dict[str, list[ImageRun]]) -> Any:
    """alpha_i - p_i of each client above, the largest and mean distance in log-log below; a column a framework."""
    figure, grid = _panels(2, len(cases), sharey="row")
    for (above, below), (framework, group) in zip(grid.T, cases.items(), strict=True):
        run, R = group[0], min(run.rounds for run in group)
        gap, rounds = run.alpha - run.p, np.arange(1, R + 1)
        _head(above, framework)
        above.plot(np.arange(1, run.rounds + 1), gap, color=FAINT, lw=0.6, alpha=0.6)
        for k, i in enumerate(np.argsort(-np.abs(gap[run.rounds // 2 :]).mean(axis=0))[: len(RANKS)]):
            style = {"color": (ORANGE, BLUE, BLACK)[k], "ls": DASHES[k], "lw": 1.3}
            above.plot(np.arange(1, run.rounds + 1), gap[:, i], label=f"{RANKS[k]} from $p_i$, last half", **style)
        for k, (label, colour) in enumerate((("largest", BLUE), ("mean", ORANGE))):
            table = np.array([weights.distance(one)[k][:R] for one in group])
            shown = np.where(table > weights.NO_DISTANCE, table, np.nan)
            below.loglog(rounds, shown.T, color=colour, lw=0.5, alpha=0.5)
            below.loglog(rounds, shown.mean(axis=0), color=colour, ls=DASHES[k], lw=1.8, label=f"{label} over $i$")
            level = np.nanmean(np.log(shown * rounds)[:, R // 2 :])
            below.loglog(rounds, np.exp(level) / rounds, color=BLACK, lw=1, ls=DASHES[2], label="$1/t$")
        slope = estimates.text(weights.decline(group).tail, 2)
        below.text(0.03, 0.04, f"slope, last half: {slope}", transform=below.transAxes, fontsize=7.5)
        for axes in (above, below):
            axes.set_xlabel("communication round $t$")
    grid[0, 0].set_ylabel(r"$\alpha_t^i-p_i$")
    grid[1, 0].set_ylabel(r"$|\alpha_t^i-p_i|$, largest and mean")
    return _finish(figure, grid.ravel(), f"{SOFT}: weights against shares; above one repetition, below all")


def losses(cases: dict[str, list[ImageRun]]) -> Any:
    """Whose losses are among the ten largest: one repetition above; below, each client's share of rounds, sorted.

    Below, the first and the second half of the rounds apart, means over repetitions.
    """
    figure, grid = _panels(2, len(cases), sharey="row")
    for (above, below), (framework, group) in zip(grid.T, cases.items(), strict=True):
        marked = [weights.marks(run, losses=True) for run in group]
        rounds, clients = marked[0].shape
        _head(above, framework)
        extent = (0.5, clients + 0.5, 0.5, rounds + 0.5)
        style: dict[str, Any] = {"origin": "lower", "aspect": "auto", "interpolation": "nearest", "cmap": "cividis"}
        above.imshow(marked[0], extent=extent, **style)
        above.grid(False)
        above.set_xlabel("client $i$")
        for k, part in enumerate((slice(0, rounds // 2), slice(rounds // 2, None))):
            shares = np.mean([np.sort(one[part].mean(axis=0))[::-1] for one in marked], axis=0)
            below.plot(np.arange(1, clients + 1), shares, label=("first half", "second half")[k], **_style(k))
        below.axhline(paper.MARKED / clients, color=BLACK, ls=DASHES[2], label="evenly")
        below.set_xlabel("clients, most marked first")
    grid[0, 0].set_ylabel("communication round $t$")
    grid[1, 0].set_ylabel("share of rounds among\nthe ten largest losses")
    return _finish(figure, grid[1], f"{SOFT}: the ten largest losses of each round (above: one repetition, light)")


def ratios(found: Sequence[mapped.Cell]) -> Any:
    """The map: a row a framework, a column a level of accuracy; steps upwards, temperatures to the right."""
    frameworks = list(dict.fromkeys(cell.framework for cell in found))
    figure, grid = _panels(len(frameworks), len(LEVELS), sharey="row")
    for line, framework in zip(grid, frameworks, strict=True):
        for k, axes in enumerate(line):
            mapped.draw(axes, found, framework, k)
            _head(axes, f"{framework}, to {LEVELS[k]:.0%}")
    title = "rounds of FedSoftMax(T) over FedAvg's: light is faster; only soft, only avg: the other never got there"
    figure.suptitle(title, parse_math=False, **TITLE)
    return figure


def _some(cases: Cases, names: Sequence[str]) -> Cases:
    """The cases with these weightings alone, in this order; without those that have none."""
    found = {f: {name: case[name] for name in names if name in case} for f, case in cases.items()}
    return {f: case for f, case in found.items() if case}


def draw(stored: Stored, out: Path) -> list[Path]:
    """Write every picture that there are records for in ``out``, as PNG; returns their paths."""
    whole, speeds = stored.whole(), stored.cases()
    soft = {f: case[SOFT] for f, case in whole.items() if SOFT in case}
    maxima = sorted({name for case in whole.values() for name in case if name.startswith("fedmax")})
    most = {f: case for f, case in whole.items() if set(maxima) & set(case)}
    tempered = _some({f: case for f, case in speeds.items() if f == "NIID"}, (BASELINE, WARMER, SOFT, *TEMPERATURES))
    made: dict[str, tuple[Any, Callable[[Any], Any]]] = {
        "accuracy": (_some(whole, (*MAIN, SOFT_LOCAL)), accuracy),
        "accuracy-fedmax": (_some(most, (*MAIN, *maxima)), accuracy),
        "r90": (_some(speeds, (*MAIN, SOFT_LOCAL, WARMER)), speed),
        "stability": (_some(whole, (*MAIN, SOFT_LOCAL)), stability),
        "temperatures": (tempered.get("NIID", {}), temperatures),
        "alpha": (soft, alpha),
        "top-losses": (soft, losses),
        "map": (stored.cells, ratios),
    }
    return [_written(build, shown, out / f"{stem}.png") for stem, (shown, build) in made.items() if shown]


def _written(build: Callable[[Any], Any], shown: Any, path: Path) -> Path:
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with mpl.rc_context(line_styles.RC):
        return io.write(path, FigureCanvasAgg(build(shown)).print_png)
