"""Theory against measurement, in pictures (the only importer of matplotlib).

Every ``*_figure`` takes a `Result` and one `RunSeries` a run and returns a Figure; nothing touches pyplot, so no
global state changes. Lines differ in dash and marker as well as in colour.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedbounds import plugins
from fedbounds.engine.parallel import in_processes
from fedbounds.evidence.empirical.bands import band
from fedbounds.model.problem import Array
from fedbounds.report import figure_styles as styles
from fedbounds.report.figure_styles import BLACK, BLUE, DASHES, GREEN, ORANGE, Style, legend, panels_of, save
from fedbounds.report.number_format import EQUAL
from fedbounds.study.bounds import gamma_of
from fedbounds.study.result import Result
from fedbounds.study.run_series import RunSeries, SidesOverTime
from fedbounds.study.settings import Settings
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import QUANTITIES, Scope, gap

# Points of a curve that a picture can resolve; more only make the file larger.
MAX_POINTS = 250


@dataclass(frozen=True)
class Curve:
    """A line with a band, all (m,): ``x``, ``y``, ``lower``, ``upper``."""

    x: Array
    y: Array
    lower: Array
    upper: Array


def log_spaced_indices(count: int, limit: int = MAX_POINTS) -> np.ndarray:
    """At most ``limit`` indices of 0 ... count - 1, denser at the start (as a logarithmic axis shows them)."""
    if count <= limit:
        return np.arange(count)
    half = limit // 2
    spaced = (np.linspace(0, count - 1, half), np.geomspace(1, count, half) - 1)
    return np.unique(np.concatenate(spaced).round().astype(int))


def measured_gap(settings: Settings, run: RunSeries) -> Curve:
    """E[F(w_T)] - F* at synchronisation times, with the simultaneous band at the study's error rate."""
    at = np.flatnonzero(run.times % settings.tau == 0)
    at = at if len(at) > 1 else np.arange(len(run.times))
    at = at[log_spaced_indices(len(at))]
    gap = run.gap[:, at]
    interval = band(gap, settings.error_rate)
    constant = np.ptp(gap, axis=0) == 0
    lower = np.where(constant, interval.mean, interval.lower)
    upper = np.where(constant, interval.mean, interval.upper)
    return Curve(run.times[at], interval.mean, lower, upper)


def bound(sides: SidesOverTime) -> tuple[Array, Array]:
    """The times and the right side there, nan where it is not positive, as a logarithmic axis cannot show it."""
    keep = log_spaced_indices(len(sides.t))
    return sides.t[keep], np.where(sides.rhs > 0, sides.rhs, np.nan)[keep]


def left_over_right(sides: SidesOverTime) -> Curve:
    """Left over right side of a one-step claim with the left side's band; nan where the right side is not positive.

    Where the band is unbounded its limits are nan.
    """
    divisor = np.where(sides.rhs > 0, sides.rhs, np.nan)
    keep = log_spaced_indices(len(sides.t))
    finite = (np.where(np.isfinite(side), side, np.nan) for side in (sides.lhs, sides.lower, sides.upper))
    return Curve(sides.t[keep], *(side[keep] / divisor[keep] for side in finite))


def replicate_range(times: Array, values: Array) -> Curve | None:
    """Median over replicates of ``values`` (R, K), with the range from the smallest to the largest."""
    finite = np.isfinite(values).all(axis=0)
    if not finite.any():
        return None
    keep = np.flatnonzero(finite)[log_spaced_indices(int(finite.sum()))]
    part = values[:, keep]
    return Curve(times[keep], np.median(part, axis=0), part.min(axis=0), part.max(axis=0))


Drawn = Sequence[RunSeries]
# The label of the crosses where a claim fails.
VIOLATED = "violated: band above 1"


def name(symbol: str) -> str:
    """A symbol in the paper's notation, as mathtext."""
    return f"${QUANTITIES[symbol].latex}$"


def _line(axes: Axes, x: Any, y: Any, label: str, style: Style, phase: float = 0.0) -> None:
    # Markers at even distances need at least one point to be seen.
    every = (phase, 0.22) if np.isfinite(y).any() else None
    axes.plot(x, y, label=label, markevery=every, markerfacecolor="white", markeredgewidth=0.9, **style)


def bounds_figure(result: Result, drawn: Drawn, bounds: styles.Lines | None = None) -> Figure:
    """E[F(w_T)] - F* with its band against ``bounds`` on it, log-log in T + gamma."""
    gamma = gamma_of(result.facts.L.value, result.facts.mu.value)
    bounds = distinct(bounds or styles.lines("horizon"), drawn)
    labels = (rf"$T+\gamma$, with $\gamma={gamma:.4g}$", name("gap"))
    figure, panels = panels_of(result, styles.bounds_title(result), labels, "xy", sharex=True, sharey=True)
    for axes, run in zip(panels, drawn, strict=True):
        seen = measured_gap(result.settings, run)
        positive = np.where(seen.y > 0, seen.y, np.nan)
        axes.plot(seen.x + gamma, positive, color=BLACK, lw=1.8, label="measured, mean and band")
        floor = np.nanmin(positive) / 10 if np.isfinite(positive).any() else 1e-300
        axes.fill_between(seen.x + gamma, np.maximum(seen.lower, floor), seen.upper, color=BLACK, alpha=0.2, lw=0)
        _guide(axes, seen.x + gamma, positive)
        for k, (key, (label, style)) in enumerate(bounds.items()):
            earlier = list(bounds)[:k]
            if key in run.sides and not any(_coincide(key, other, [run]) for other in earlier):
                x, y = bound(run.sides[key])
                _line(axes, x + gamma, y, label, style, 0.04 * k)
                _say_negative(axes, run.sides[key].rhs, label, style)
    legend(figure, panels)
    return figure


def _guide(axes: Axes, x: Any, y: Any) -> None:
    """A dotted line of slope -1 through the middle of a measured curve, which O(1/T) runs along at the end."""
    finite = np.flatnonzero(np.isfinite(y))
    if finite.size:
        at = finite[np.abs(np.log(x[finite]) - np.log(x[[0, -1]]).mean()).argmin()]
        axes.plot(x, y[at] * x[at] / x, color="#777777", ls=DASHES[2], lw=1.0, label="slope of 1/T", zorder=1)


def _say_negative(axes: Axes, side: Any, label: str, style: Style) -> None:
    """Where a right side is not positive a logarithmic axis cannot show it: words say at how many times."""
    count = int((~(side > 0)).sum())
    if count:
        words = f"{label}: right side $\\leq 0$ at {count} of {len(side)} times"
        height = 0.02 + 0.08 * len(axes.texts)
        axes.text(0.02, height, words, transform=axes.transAxes, fontsize=7, color=style["color"])


def distinct(lines: styles.Lines, drawn: Drawn) -> styles.Lines:
    """The lines without those that coincide with an earlier one in every run; that one is named for both."""
    result: styles.Lines = {}
    for key, (label, style) in lines.items():
        same = next((other for other in result if _coincide(key, other, drawn)), None)
        if same is None:
            result[key] = label, style
        else:
            result[same] = f"{result[same][0]} = {key[1] if same[0] == key[0] else label}", result[same][1]
    return result


def _coincide(first: tuple[str, str], other: tuple[str, str], drawn: Drawn) -> bool:
    """Whether two claims as read have the same sides, up to rounding, in every run that has either."""
    pairs = [
        (run.sides.get(first), run.sides.get(other)) for run in drawn if first in run.sides or other in run.sides
    ]
    return bool(pairs) and all(
        a is not None
        and b is not None
        and np.shape(a.rhs) == np.shape(b.rhs)
        and np.allclose([a.lhs, a.rhs], [b.lhs, b.rhs], rtol=EQUAL, atol=0, equal_nan=True)
        for a, b in pairs
    )


def weighted(result: Result, drawn: Drawn) -> tuple[Result, Drawn]:
    """The runs whose weights are not p throughout; where none is left, every run."""
    p = np.array(result.facts.p)
    chosen = [k for k, run in enumerate(drawn) if np.abs(run.alpha - p).max() > EQUAL] or list(range(len(drawn)))
    return replace(result, runs=tuple(result.runs[k] for k in chosen)), [drawn[k] for k in chosen]


def ratio_figure(result: Result, drawn: Drawn, steps: styles.Lines | None = None) -> Figure:
    """Left over right side of one-step claims along t (Theorem 1, the sharper step); above 1 is a violation."""
    steps = distinct(steps or styles.lines("step"), drawn)
    title = "One step: left side over right side (1 = tight, above 1 = violated)"
    figure, panels = panels_of(result, title, ("$t+1$", "left / right side"), "xy", sharex=True, sharey=True)
    for axes, run in zip(panels, drawn, strict=True):
        axes.axhline(1, color=BLACK, lw=1)
        for k, (key, (label, style)) in enumerate(steps.items()):
            if key not in run.sides:
                continue
            curve = left_over_right(run.sides[key])
            y = np.where(curve.y > 0, curve.y, np.nan)
            lower = np.where(curve.lower > 0, curve.lower, np.where(np.isnan(curve.lower), np.nan, y / 10))
            axes.fill_between(curve.x + 1, lower, curve.upper, color=style["color"], alpha=0.15, lw=0)
            _line(axes, curve.x + 1, y, label, style | {"lw": 1.1}, 0.04 * k)
            above = curve.lower > 1 + EQUAL
            if above.any():
                axes.plot(curve.x[above] + 1, y[above], "x", color=BLACK, ms=3, label=VIOLATED, zorder=4)
            _say_negative(axes, run.sides[key].rhs, label, style)
    legend(figure, panels)
    return figure


def skew_figure(result: Result, drawn: Drawn) -> Figure:
    """rho(t, w_t) and rho(t, w*) along t, median and range over replicates, between rho_bar and rho_tilde."""
    result, drawn = weighted(result, drawn)
    figure, panels = panels_of(result, "Skew: median and range over replicates", ("$t+1$", "skew"), sharex=True)
    for axes, run, items in zip(panels, drawn, result.runs, strict=True):
        paths = (
            (run.rho, r"$\rho(t,w_t)$", BLUE, "-", 0.25),
            (run.rho_star, r"$\rho(t,w^\star)$", ORANGE, DASHES[1], 0.2),
        )
        for values, label, colour, dash, alpha in paths:
            curve = replicate_range(run.times, values)
            if curve is None:
                axes.plot([], [], ls="", label=label + r" is 0/0 at $\Gamma=0$")
                continue
            axes.fill_between(curve.x + 1, curve.lower, curve.upper, color=colour, alpha=alpha, lw=0)
            axes.plot(curve.x + 1, curve.y, color=colour, ls=dash, lw=1.2, label=label)
        levels = (
            (items.rho_tilde, name("rho_tilde"), ORANGE, DASHES[3]),
            (items.rho_bar_sync, name("rho_bar") + ", synchronisation times", GREEN, DASHES[2]),
            (items.rho_bar, name("rho_bar") + ", every step", BLACK, DASHES[3]),
        )
        for level, label, colour, dash in levels:
            if level is not None:
                axes.axhline(level, color=colour, ls=dash, lw=1.3, label=label)
        _pad(axes)
    legend(figure, panels, 3)
    return figure


def _pad(axes: Axes) -> None:
    """Give a nearly constant panel an honest scale instead of magnified rounding."""
    low, high = axes.get_ylim()
    if high - low < 0.1:
        centre = (low + high) / 2
        axes.set_ylim(centre - 0.05, centre + 0.05)


def lines_of(claims: Mapping[str, Claim], drawn: Drawn, scope: Scope) -> styles.Lines:
    """The lines of a picture of claims over ``scope``: the usual ones that were examined and the reader's own.

    Where none of the usual ones was examined, every claim that was.
    """
    result = dict.fromkeys(key for run in drawn for key in run.sides)
    shipped = plugins.shipped_beside({key for key, _ in result})
    usual = styles.lines(scope, shipped.values())
    examined = {key: line for key, line in usual.items() if key in result}
    others = [
        (key, reading)
        for key, reading in result
        if (key, reading) not in usual
        and key in claims
        and claims[key].scope == scope
        and (scope == "step" or claims[key].lhs.has(gap))
        and (not examined or shipped.get(key) is not claims[key])
    ]
    return examined | {key: (", ".join(key), style) for key, style in zip(others, styles.USER_STYLES, strict=False)}


FIGURES: dict[str, Callable[..., Figure]] = {
    "bounds": bounds_figure,
    "one-step": ratio_figure,
    "skew": skew_figure,
}


def picture(stem: str, result: Result, drawn: Drawn, claims: Mapping[str, Claim]) -> Figure:
    """One of FIGURES, with the lines of ``claims`` that were examined."""
    scopes: dict[str, tuple[str, Scope]] = {"bounds": ("bounds", "horizon"), "one-step": ("steps", "step")}
    lines = {scopes[stem][0]: lines_of(claims, drawn, scopes[stem][1])} if stem in scopes else {}
    return FIGURES[stem](result, drawn, **lines)


def draw(result: Result, drawn: Drawn, out: Path, beside: Sequence[Callable[[], object]] = ()) -> list[Path]:
    """Write every picture of a study in ``out``, as SVG and PNG; returns their paths.

    What is to be done ``beside`` it shares its processes.
    """
    pictures = [partial(save, partial(picture, stem, result, drawn, result.claims), out, stem) for stem in FIGURES]
    made: list[Any] = in_processes([*pictures, *beside])
    return [path for paths in made[: len(pictures)] for path in paths]
