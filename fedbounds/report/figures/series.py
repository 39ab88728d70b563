"""Numbers behind the pictures: bands, ranges and bounds of a study, with nothing drawn."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from fedbounds.evidence.empirical.bands import band
from fedbounds.model.problem import Array
from fedbounds.report.number_format import number, readable
from fedbounds.study.bounds import main_bound
from fedbounds.study.result import Result
from fedbounds.study.settings import Settings
from fedbounds.study.store import RunSeries, SidesOverTime
from fedbounds.theory.verdict import Evidence

# Points of a curve that a picture can resolve; more only make the file larger.
MAX_POINTS = 250
# Bins of a logarithmic axis, and columns of a map, that a panel can resolve.
MAX_BINS, MAX_COLUMNS = 60, 100
# Mean weights that differ by rounding only are ties.
TIE = 1e-9
# The paper's figure marks the ten clients of largest weight; of fewer than thirty clients a third is marked.
MARKED = 10


@dataclass(frozen=True)
class Curve:
    """A line with a band, all (m,): ``x``, ``y``, ``lower``, ``upper``."""

    x: Array
    y: Array
    lower: Array
    upper: Array


@dataclass(frozen=True)
class Bound:
    """A right-hand side over T: the positive part to draw, and the intervals of T on which it is not positive."""

    x: Array
    y: Array
    negative: tuple[tuple[float, float], ...]


def thin(count: int, limit: int = MAX_POINTS) -> np.ndarray:
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
    at = at[thin(len(at))]
    gap = run.gap[:, at]
    interval = band(gap, settings.error_rate)
    constant = np.ptp(gap, axis=0) == 0
    lower = np.where(constant, interval.mean, interval.lower)
    upper = np.where(constant, interval.mean, interval.upper)
    return Curve(run.times[at], interval.mean, lower, upper)


def bound(sides: SidesOverTime) -> Bound:
    x, y = sides.t, sides.rhs
    intervals = runs_of(~(y > 0))
    edges = [k for a, b in intervals for k in (a - 1, a, b, b + 1) if 0 <= k < len(x)]
    keep = np.unique([*thin(len(x)), *edges]).astype(int)
    return Bound(x[keep], np.where(y > 0, y, np.nan)[keep], tuple((x[a], x[b]) for a, b in intervals))


def runs_of(mask: np.ndarray) -> list[tuple[int, int]]:
    """First and last index of each run of True."""
    padded = np.concatenate(([False], mask, [False])).astype(int)
    change = np.diff(padded)
    return list(zip(np.flatnonzero(change == 1), np.flatnonzero(change == -1) - 1, strict=True))


def side_ratio(sides: SidesOverTime) -> tuple[Curve, Array]:
    """Left over right side of a one-step claim with the left side's band, and the t at which the right side is <= 0.

    The ratio is nan at those t, and where the band is unbounded its limits are nan.
    """
    divisor = np.where(sides.rhs > 0, sides.rhs, np.nan)
    keep = thin(len(sides.t))
    known = (np.where(np.isfinite(side), side, np.nan) for side in (sides.lhs, sides.lower, sides.upper))
    lhs, lower, upper = (side[keep] / divisor[keep] for side in known)
    return Curve(sides.t[keep], lhs, lower, upper), sides.t[~(sides.rhs > 0)]


def replicate_range(times: Array, values: Array) -> Curve | None:
    """Median over replicates of ``values`` (R, K), with the range from the smallest to the largest."""
    finite = np.isfinite(values).all(axis=0)
    if not finite.any():
        return None
    keep = np.flatnonzero(finite)[thin(int(finite.sum()))]
    part = values[:, keep]
    return Curve(times[keep], np.median(part, axis=0), part.min(axis=0), part.max(axis=0))


def marked(clients: int) -> int:
    """How many clients of a round are marked."""
    return min(MARKED, max(clients // 3, 1))


def largest(weights: Array, count: int = MARKED) -> np.ndarray:
    """Mask (rounds', N) of the ``count`` largest positive weights of each round; none that ties with the next one."""
    ordered = -np.sort(-weights, axis=1)
    beyond = ordered[:, count : count + 1] if weights.shape[1] > count else np.zeros((len(weights), 1))
    return weights > beyond * (1 + TIE)


def binned(x: Array, values: Array) -> tuple[Array, Array]:
    """Means of ``x`` (m,) and ``values`` (m, N) over bins of equal width in log x; early points stay single."""
    edges = np.geomspace(x[0], x[-1], MAX_BINS + 1)[1:-1] if len(x) > 1 else np.empty(0)
    return _means(x, values, np.searchsorted(edges, x, side="right"))


def grouped(x: Array, values: Array) -> tuple[Array, Array]:
    """Means of ``x`` and ``values`` over groups of consecutive points, at most `MAX_COLUMNS` groups."""
    return _means(x, values, np.arange(len(x)) // -(-len(x) // MAX_COLUMNS))


def _means(x: Array, values: Array, labels: np.ndarray) -> tuple[Array, Array]:
    starts = np.flatnonzero(np.diff(labels, prepend=-1))
    counts = np.diff(np.append(starts, len(x)))
    return np.add.reduceat(x, starts) / counts, np.add.reduceat(values, starts, axis=0) / counts[:, None]


def bounds_title(result: Result) -> str:
    """Which weighting stops at a floor, and how far above the run the theory's bound lies."""
    floors = {run.weighting: run.decay.floor_low for run in result.runs if run.decay and run.decay.answer == "no"}
    main = main_bound()
    ratios = [
        verdict.tightness
        for run in result.runs
        for verdict in run.verdicts
        if (verdict.claim, verdict.reading) == (main.key, main.readings[-1])
        and verdict.evidence is Evidence.EMPIRICAL
        and verdict.tightness is not None
    ]
    parts = []
    if floors:
        least = number(min(floor or 0.0 for floor in floors.values()), 2)
        parts.append(f"{', '.join(floors)} {_verb(len(floors), 'stop')} above {least}")
    if ratios:
        parts.append(f"the {main.short} lies {_range(ratios)} above what is measured")
    return _sentence(parts) or "Measured suboptimality and the bounds on it"


def one_step_title(result: Result, claims: Collection[str]) -> str:
    """How near the tightest of the claims drawn comes to what is measured."""
    steps = [
        verdict.tightness
        for run in result.runs
        for verdict in run.verdicts
        if verdict.claim in claims and verdict.evidence is Evidence.EMPIRICAL and verdict.tightness is not None
    ]
    title = "One step: left side over right side (1 = tight, above 1 = violated)"
    return f"{title}; nowhere above {number(1 / min(steps), 2)}" if steps and min(steps) > 0 else title


def skew_title(result: Result) -> str:
    """The smallest rho_bar and the largest rho_tilde, with their weightings."""
    low = min((run for run in result.runs if run.rho_bar is not None), key=lambda run: run.rho_bar or 0, default=None)
    high = max(
        (run for run in result.runs if run.rho_tilde is not None), key=lambda run: run.rho_tilde or 0, default=None
    )
    if low is None or high is None:
        return "Weighting skew: median and range over replicates"
    return (
        f"Skew: at the iterates down to {number(low.rho_bar, 2)} ({low.weighting}), "
        f"at the optimum up to {number(high.rho_tilde, 2)} ({high.weighting})"
    )


def weights_title(result: Result, drawn: Sequence[RunSeries]) -> str:
    """The weighting whose mean weights leave p the farthest."""
    p = np.array(result.facts.p)
    away = [float(np.abs(run.alpha.mean(axis=0) - p).max()) for run in drawn]
    k = int(np.argmax(away))
    most = f"{number(away[k], 2)} ({result.runs[k].weighting})"
    return f"Weights leave the clients' shares by up to {most}; means over replicates"


def participation_title(result: Result, drawn: Sequence[RunSeries]) -> str:
    """The weighting that uses the fewest clients a round: one over the sum of squared weights, on average."""
    used = [float((1 / (run.alpha**2).sum(axis=-1)).mean()) for run in drawn]
    k = int(np.argmin(used))
    return f"{result.runs[k].weighting} uses {number(used[k], 2)} of {result.facts.N} clients a round"


def _range(ratios: Sequence[float]) -> str:
    low, high = (readable(number(value, 2)) for value in (min(ratios), max(ratios)))
    return f"{low} times" if low == high else f"{low} to {high} times"


def _verb(count: int, verb: str) -> str:
    return verb if count > 1 else f"{verb}s"


def _sentence(parts: Sequence[str]) -> str:
    text = "; ".join(parts)
    return text[:1].upper() + text[1:] if text.startswith("the ") else text
