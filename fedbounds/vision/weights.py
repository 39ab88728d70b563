"""Where the weights go: alpha_i - p_i along rounds, who takes part, and R_90 against the temperature."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fedbounds.model.problem import Array
from fedbounds.show import series
from fedbounds.vision import estimates, paper
from fedbounds.vision.estimates import Estimate
from fedbounds.vision.measures import Speed, rounds_to, speed
from fedbounds.vision.runs import Run, require

# Losses of the untrained model are nearly the same on every client, so that alpha starts near p, moves away and only
# then comes back: a slope from the first round would mix both.
FIRST_ROUND = 5
# A slope over fewer rounds is dominated by what single rounds do.
MIN_SLOPE_ROUNDS = 8
# A trend needs more than two conditions; two are a paired comparison.
MIN_TEMPERATURES = 3
# 1/T of a T written with few digits, as 0.033 for 1/30, may lie just outside of the range.
SLACK = 1.02
# Below this distance weights equal p up to the rounding of a sum.
NO_DISTANCE = 1e-12


def distance(run: Run) -> tuple[Array, Array]:
    """(max_i, mean_i) of |alpha_i - p_i| in each round, both (R,); the mean is 2/N times the total variation."""
    gap = np.abs(run.alpha - run.p)
    return gap.max(axis=1), gap.mean(axis=1)


@dataclass(frozen=True)
class Decline:
    """How max_i |alpha_i - p_i| (or the mean over i) falls: its log-log slopes against the round, beside 1/t.

    ``slope``: over rounds 5 ... R; ``tail``: over the last half, ``rounds``. ``remaining``: mean distance in
    the tail over the largest distance. ``one_sided``: share of clients whose alpha_i stays on one side of p_i
    all through the tail (few if alpha scatters about p, many if it tends to something else or comes in slowly).
    ``persistence``: rank correlation over clients of alpha_i - p_i between the third and the last quarter of the
    rounds: near 1 if each client keeps its own distance, near 0 if the distances are noise.
    """

    slope: Estimate
    tail: Estimate
    rounds: tuple[int, int]
    remaining: Estimate
    one_sided: Estimate
    persistence: Estimate
    finding: str

    def to_json(self) -> dict[str, Any]:
        """The decline as a JSON object."""
        kept = {
            key: getattr(self, key).to_json() for key in ("slope", "tail", "remaining", "one_sided", "persistence")
        }
        return {**kept, "rounds": list(self.rounds), "finding": self.finding}


def decline(runs: Sequence[Run], measure: Literal["largest", "mean"] = "largest") -> Decline:
    """Does max_i |alpha_i - p_i| (or the mean over i) fall like 1/t, slower, or has it levelled off?

    One least-squares slope of log distance on log round a run (round r = 1 is the first), then mean and Student's
    interval over runs: rounds of one run depend on each other, repetitions do not. 1/t is the slope -1. The
    finding rests on the interval of the tail alone and holds for the rounds seen, not for a limit.
    """
    require(runs)
    R = min(run.rounds for run in runs)
    tail = (R // 2 + 1, R)
    distances = [distance(run)[measure == "mean"][:R] for run in runs]
    slopes = estimates.mean([_slope(d, FIRST_ROUND, R) for d in distances])
    last = estimates.mean([_slope(d, *tail) for d in distances])
    half = [d[tail[0] - 1 :] for d in distances]
    highest = [float(d.max()) for d in distances]
    remaining = [h.mean() / top if top > NO_DISTANCE else math.nan for h, top in zip(half, highest, strict=True)]
    gaps = [np.where(np.abs(run.alpha - run.p) > NO_DISTANCE, run.alpha - run.p, 0.0)[:R] for run in runs]
    kept = [_persistence(gap) for gap in gaps]
    sides = [np.sign(gap[tail[0] - 1 :]) for gap in gaps]
    one_sided = [float((np.abs(side.sum(axis=0)) == len(side)).mean()) for side in sides]
    finding = _finding(last, tail, max(highest))
    return Decline(
        slope=slopes,
        tail=last,
        rounds=tail,
        remaining=estimates.mean(remaining, within=estimates.SHARE),
        one_sided=estimates.mean(one_sided, within=estimates.SHARE),
        persistence=estimates.mean(kept, within=(-1.0, 1.0)),
        finding=finding,
    )


def _persistence(gap: Array) -> float:
    """Spearman's correlation over clients of mean alpha_i - p_i in the third and in the last quarter of rounds."""
    from scipy.stats import rankdata

    quarter = len(gap) // 4
    if quarter == 0:
        return math.nan
    before, after = (rankdata(part.mean(axis=0)) for part in (gap[-2 * quarter : -quarter], gap[-quarter:]))
    spread = float(before.std() * after.std())
    return float(((before - before.mean()) * (after - after.mean())).mean()) / spread if spread else math.nan


def _slope(distances: Array, first: int, last: int) -> float:
    """Least-squares slope of log distance on log round over first ... last; nan if too short or not positive."""
    y = distances[first - 1 : last]
    if len(y) < MIN_SLOPE_ROUNDS or (y <= NO_DISTANCE).any():
        return math.nan
    x = np.log(np.arange(first, last + 1))
    x = x - x.mean()
    return float(x @ np.log(y) / (x @ x))


def _finding(tail: Estimate, rounds: tuple[int, int], largest: float) -> str:
    where = f"over rounds {rounds[0]} to {rounds[1]}"
    if largest <= NO_DISTANCE:
        return "alpha equals p in every round"
    if math.isnan(tail.value):
        return f"undecided {where}: too few rounds, or weights that equal p"
    if math.isinf(tail.lower):
        return f"undecided {where}: {tail.note}"
    faster, slower = tail.upper < -1, tail.lower > -1
    if faster:
        return f"falls faster than 1/t {where}"
    if not slower:
        return f"compatible with 1/t {where}" if tail.upper < 0 else f"undecided {where}: 1/t or no fall at all"
    if tail.upper < 0:
        return f"falls, but slower than 1/t, {where}"
    return f"rises {where}" if tail.lower > 0 else f"has levelled off {where}: no fall seen"


@dataclass(frozen=True, eq=False)
class Participation:
    """Who carries weight in one run: ``top`` (rounds', N) marks the ten largest positive values of each round.

    ``share`` (N,): in which share of the rounds a client is marked; ``ever``: how many clients ever are;
    ``overlap``: mean Jaccard index of the marks of consecutive rounds (nan if no two rounds have marks);
    ``by_chance``: what it would be for as many marks (on average) at random; ``effective`` (rounds',):
    1/sum_i alpha_i^2, N for equal weights and 1 for one client; ``used`` (N,): share of rounds with a weight > 0.
    """

    top: np.ndarray
    share: Array
    ever: int
    overlap: float
    by_chance: float
    effective: Array
    used: Array


def participation(weights: Array, count: int = paper.MARKED) -> Participation:
    """Who takes part by ``weights`` (rounds', N), non-negative; clients that tie at rank ``count`` stay unmarked."""
    top = series.largest(weights, count)
    both, either = (top[1:] & top[:-1]).sum(axis=1), (top[1:] | top[:-1]).sum(axis=1)
    seen = either > 0
    total, squares = weights.sum(axis=1), (weights**2).sum(axis=1)
    return Participation(
        top=top,
        share=top.mean(axis=0),
        ever=int(top.any(axis=0).sum()),
        overlap=float((both[seen] / either[seen]).mean()) if seen.any() else math.nan,
        by_chance=_chance(round(float(top.sum(axis=1).mean())), weights.shape[1]),
        effective=np.divide(total**2, squares, out=np.full(len(total), math.nan), where=squares > 0),
        used=(weights > 0).mean(axis=0),
    )


def _chance(k: int, N: int) -> float:
    """E |A and B|/|A or B| of two independent uniform k-subsets of N (hypergeometric); nan for k = 0."""
    from scipy.stats import hypergeom

    if k == 0:
        return math.nan
    overlap = np.arange(k + 1)
    return float(hypergeom.pmf(overlap, N, k, k) @ (overlap / (2 * k - overlap)))


def top_losses(run: Run, count: int = paper.MARKED) -> Participation | None:
    """The participation of the clients' losses F_i(w_r): who is worst off; None if they were not evaluated.

    Rounds with an unknown loss are left out; w_R, which no round used, too.
    """
    known = np.isfinite(run.client_losses[:-1]).all(axis=1)
    return participation(run.client_losses[:-1][known], count) if known.any() else None


def participation_summary(runs: Sequence[Run], count: int = paper.MARKED) -> dict[str, Estimate | None]:
    """Over repetitions, with Student's interval: clients ever marked, overlap, effective number, clients ever used.

    ``effective`` is 1/sum_i alpha_i^2, averaged over rounds; ``effective-all`` is that of alpha averaged over rounds:
    how many clients share the work of the whole run. ``losses-ever`` and ``losses-overlap`` are the same for the
    largest losses, where they were evaluated.
    """
    require(runs)
    weights = [participation(run.alpha, count) for run in runs]
    losses = [top_losses(run, count) for run in runs]
    known = [found for found in losses if found is not None]
    clients = (0.0, float(max(len(run.p) for run in runs)))
    return {
        "ever": estimates.mean([found.ever for found in weights], within=clients),
        "overlap": estimates.mean([found.overlap for found in weights], within=estimates.SHARE),
        "effective": estimates.mean([found.effective.mean() for found in weights], within=clients),
        "effective-all": estimates.mean([1 / (run.alpha.mean(axis=0) ** 2).sum() for run in runs], within=clients),
        "ever-used": estimates.mean([(found.used > 0).sum() for found in weights], within=clients),
        "losses-ever": estimates.mean([found.ever for found in known], within=clients) if known else None,
        "losses-overlap": estimates.mean([o.overlap for o in known], within=estimates.SHARE) if known else None,
    }


def temperature(weighting: str) -> float | None:
    """T of "fedsoftmax:T" (1 without a number); infinity for "fedavg", its limit; None for other weightings.

    None also for a weighting of local losses, which is another rule at the same T.
    """
    if "@" in weighting:
        return None
    kind, _, argument = weighting.partition(":")
    if kind == "fedavg":
        return math.inf
    return float(argument or 1) if kind == "fedsoftmax" else None


@dataclass(frozen=True)
class Sweep:
    """R_90 against 1/T, in increasing order of 1/T (0: FedAvg), and the trend within the paper's range of 1/T.

    ``trend`` compares runs of the same seed; None if fewer than three temperatures of the range share one.
    """

    inverse: tuple[float, ...]
    speeds: tuple[Speed, ...]
    trend: estimates.Trend | None


def temperature_sweep(runs: Sequence[Run], level: float = paper.LEVEL) -> Sweep:
    """R_90 of FedAvg and of each FedSoftMax(T) in ``runs``, which should share all settings but the seed."""
    require(runs)
    groups: dict[float, list[Run]] = {}
    for run in runs:
        T = temperature(run.weighting)
        if T is not None:
            groups.setdefault(1 / T, []).append(run)
    inverse = tuple(sorted(groups))
    low, high = paper.INVERSE_TEMPERATURES
    inside = [x for x in inverse if low / SLACK <= x <= high * SLACK]
    return Sweep(inverse, tuple(speed(groups[x], level) for x in inverse), _trend([groups[x] for x in inside], level))


def _trend(columns: Sequence[Sequence[Run]], level: float) -> estimates.Trend | None:
    """The trend over the seeds that every column has, and whose order is known."""
    if len(columns) < MIN_TEMPERATURES:
        return None
    found = [{(run.seed, run.repetition): run for run in column} for column in columns]
    shared = sorted(set.intersection(*(set(column) for column in found)))
    rows = [row for key in shared if (row := _ordered([column[key] for column in found], level)) is not None]
    return estimates.trend(rows) if rows else None


def _ordered(runs: Sequence[Run], level: float) -> list[float] | None:
    """R_90 of one seed, infinity where not reached; None where a run ended too early for its place to be known.

    Runs that have not reached the level tie if they went on equally long, at least until the last other one had.
    """
    found = [rounds_to(run.accuracy, level) or math.inf for run in runs]
    lasted = {run.rounds for run, r in zip(runs, found, strict=True) if math.isinf(r)}
    latest = max((r for r in found if math.isfinite(r)), default=0)
    return None if len(lasted) > 1 or any(rounds < latest for rounds in lasted) else found
