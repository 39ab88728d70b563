"""Pictures of the weights of finished runs: alpha_i - p_i along rounds, and who takes part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from fedbounds.show import plots
from fedbounds.show.palette import BLACK, BLUE, DASHES, ORANGE
from fedbounds.vision import estimates, paper, weights
from fedbounds.vision.canvas import TITLE, by_partition, by_weighting, head, legend, panels
from fedbounds.vision.runs import Run, slug
from fedbounds.vision.weights import NO_DISTANCE, Participation, decline, distance, participation, top_losses

# Clients that are drawn in a colour of their own: those farthest from p over the last half.
RANKS = ("farthest", "2nd farthest", "3rd farthest")
FAINT = "#9a9a9a"
# Light on dark, apart in greyscale too: the ten highest weights, positive others, and no weight at all.
HIGHEST, OTHER, NONE = "#F0E442", BLUE, "#1b1b1b"
# Height of the bars below a map relative to the map, and the size of a map in inches.
BARS, MAP = 0.35, (3.4, 3.6)


def alpha_figure(runs: Sequence[Run], weighting: str) -> plots.Figure:
    """alpha_i - p_i of each client above, the largest and mean distance in log-log below; one column a partition."""
    groups = _panels_of(runs, weighting)
    figure, grid = panels(2, len(groups), sharey="row")
    for column, (name, group) in zip(grid.T, groups.items(), strict=True):
        head(column[0], name)
        _clients(column[0], group[0])
        _distances(column[1], group)
        for axes in column:
            axes.set_xlabel("communication round $t$")
    grid[0, 0].set_ylabel(r"$\alpha_t^i-p_i$")
    grid[1, 0].set_ylabel(r"$|\alpha_t^i-p_i|$, largest and mean")
    which = next(iter(groups.values()))[0].repetition
    title = f"{runs[0].data}, {weighting}: weights against shares; above repetition {which}, below all"
    figure.suptitle(title, parse_math=False, **TITLE)
    legend(figure, list(grid.ravel()))
    return figure


def _panels_of(runs: Sequence[Run], weighting: str) -> dict[str, list[Run]]:
    """Title of a panel -> the repetitions of ``weighting`` in that partition, if any."""
    groups = {name: by_weighting(group) for name, group in by_partition(runs).items()}
    return {name: found[weighting] for name, found in groups.items() if weighting in found}


def _clients(axes: plots.Axes, run: Run) -> None:
    gap, rounds = run.alpha - run.p, np.arange(1, run.rounds + 1)
    axes.plot(rounds, gap, color=FAINT, lw=0.6, alpha=0.6)
    axes.plot([], [], color=FAINT, lw=0.8, label="clients")
    last = np.abs(gap[run.rounds // 2 :]).mean(axis=0)
    for k, i in enumerate(np.argsort(-last)[: len(RANKS)]):
        colour = (ORANGE, BLUE, BLACK)[k]
        axes.plot(rounds, gap[:, i], color=colour, ls=DASHES[k], lw=1.3, label=f"{RANKS[k]} from $p_i$, last half")
    axes.axhline(0, color=BLACK, lw=0.8)


def _distances(axes: plots.Axes, runs: Sequence[Run]) -> None:
    """Largest and mean distance: thin lines are repetitions, thick ones their mean; a 1/t guide through the tail."""
    R = min(run.rounds for run in runs)
    rounds = np.arange(1, R + 1)
    axes.set_xscale("log")
    axes.set_yscale("log", nonpositive="clip")
    for k, (label, colour) in enumerate((("largest", BLUE), ("mean", ORANGE))):
        table = np.array([distance(run)[k][:R] for run in runs])
        shown = np.where(table > NO_DISTANCE, table, np.nan)
        axes.plot(rounds, shown.T, color=colour, lw=0.5, alpha=0.5)
        axes.plot(rounds, shown.mean(axis=0), color=colour, ls=DASHES[k], lw=1.8, label=rf"{label} over $i$")
        level = np.nanmean(np.log(shown * rounds)[:, R // 2 :])
        axes.plot(rounds, np.exp(level) / rounds, color=BLACK, lw=1, ls=DASHES[2], label="$1/t$")
    found = decline(runs)
    slope = estimates.text(found.tail, 2)
    words = f"slope of the largest,\nrounds {found.rounds[0]} to {R}: {slope}"
    axes.text(0.03, 0.04, words, transform=axes.transAxes, fontsize=7.5)


def participation_figure(runs: Sequence[Run], weighting: str) -> plots.Figure:
    """Maps of clients x rounds with the ten highest weights of a round, one a partition; below, clients' shares."""
    groups = _panels_of(runs, weighting)
    size = (MAP[0], MAP[1] / 2)
    figure, grid = panels(2, len(groups), size, sharex="col", sharey="row", height_ratios=(1, BARS))
    for (above, below), (name, group) in zip(grid.T, groups.items(), strict=True):
        run = group[0]
        found = participation(run.alpha)
        head(above, name)
        _map(above, run, found.top)
        above.tick_params(labelbottom=False)
        above.set_xlabel(_said(run, found), loc="left", fontsize=7.5)
        below.bar(np.arange(1, len(run.p) + 1), found.share, width=0.9, color=BLUE)
        below.axhline(found.share.mean(), color=BLACK, lw=0.9, ls=DASHES[1])
        below.set_xlabel("client $i$")
    grid[0, 0].set_ylabel("communication round $t$")
    grid[1, 0].set_ylabel("share of rounds\namong the highest")
    which = next(iter(groups.values()))[0].repetition
    title = f"{runs[0].data}, {weighting}: who carries weight, repetition {which}"
    figure.suptitle(title, parse_math=False, **TITLE)
    _key(figure, grid[0, 0], found.by_chance)
    return figure


def _varies(run: Run) -> bool:
    """Whether the weights are ever other than p, so that there is something to map."""
    return bool(distance(run)[0].max() > NO_DISTANCE)


def _map(axes: plots.Axes, run: Run, top: np.ndarray) -> None:
    colours = np.array([_rgb(OTHER), _rgb(HIGHEST), _rgb(NONE)])
    kind = np.where(top, 1, np.where(run.alpha > 0, 0, 2))
    extent = (0.5, len(run.p) + 0.5, 0.5, run.rounds + 0.5)
    axes.imshow(colours[kind], origin="lower", aspect="auto", interpolation="nearest", extent=extent)
    axes.grid(False)


def _rgb(colour: str) -> tuple[float, float, float]:
    return tuple(int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))  # type: ignore[return-value]


def _said(run: Run, found: Participation) -> str:
    losses = top_losses(run)
    named = [("highest weights", found), *([("largest losses", losses)] if losses is not None else [])]
    return "\n".join(f"{name}: {one.ever} clients ever{_stays(one)}" for name, one in named)


def _stays(found: Participation) -> str:
    """How much of the group stays from a round to the next, where that is defined."""
    return f", overlap {found.overlap:.2f}" if np.isfinite(found.overlap) else ""


def _key(figure: plots.Figure, axes: plots.Axes, chance: float) -> None:
    style: dict[str, Any] = {"ls": "none", "marker": "s", "ms": 8, "markeredgecolor": BLACK, "markeredgewidth": 0.5}
    for colour, label in ((HIGHEST, f"{paper.MARKED} highest of the round"), (OTHER, "others"), (NONE, "weight 0")):
        axes.plot([], [], color=colour, label=label, **style)
    axes.plot([], [], color=BLACK, ls=DASHES[1], label=f"drawn at random (overlap {chance:.2f})")
    legend(figure, [axes])


def figures(runs: Sequence[Run]) -> dict[str, Callable[[], plots.Figure]]:
    """Stem -> what draws it: alpha - p (FedSoftMax) and participation, for weightings that are not always p."""
    found: dict[str, Callable[[], plots.Figure]] = {}
    for weighting in dict.fromkeys(run.weighting for run in runs):
        if not all(_varies(run) for run in runs if run.weighting == weighting):
            continue
        name = slug(weighting)
        found[f"participation-{name}"] = partial(participation_figure, runs, weighting)
        if weights.temperature(weighting) is not None:
            found[f"alpha-{name}"] = partial(alpha_figure, runs, weighting)
    return found
