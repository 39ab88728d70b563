"""Where the weights go: alpha_i - p_i along rounds, and how few clients share the weight or the largest losses."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedbounds.model.problem import Array
from fedbounds.report.figures import series
from fedbounds.vision.records import ImageRun
from validate.vision import estimates, paper
from validate.vision.estimates import Estimate

Runs = Sequence[ImageRun]
# Losses of the untrained model are nearly the same on every client, so that alpha starts near p, moves away and only
# then comes back: a slope from the first round would mix both.
FIRST_ROUND = 5
# A slope over fewer rounds is dominated by what single rounds do.
MIN_SLOPE_ROUNDS = 8
# Below this distance weights equal p up to the rounding of a sum.
NO_DISTANCE = 1e-12


def distance(run: ImageRun) -> tuple[Array, Array]:
    """(max_i, mean_i) of |alpha_i - p_i| in each round, both (R,); the mean is 2/N times the total variation."""
    gap = np.abs(run.alpha - run.p)
    return gap.max(axis=1), gap.mean(axis=1)


@dataclass(frozen=True)
class Decline:
    """How max_i |alpha_i - p_i| falls: its log-log slopes against the round, beside 1/t.

    ``slope``: over rounds 5 ... R; ``tail``: over the last half, ``rounds``; ``mean_tail``: that of the mean over i.
    ``remaining``: mean distance in the tail over the largest distance. ``persistence``: rank correlation over
    clients of alpha_i - p_i between the third and the last quarter of the rounds: near 1 if each client keeps its own
    distance, near 0 if the distances are noise.
    """

    slope: Estimate
    tail: Estimate
    mean_tail: Estimate
    rounds: tuple[int, int]
    remaining: Estimate
    persistence: Estimate


def decline(runs: Runs) -> Decline:
    """One least-squares slope of log distance on log round a run (round r = 1 is the first), then mean and interval.

    Rounds of one run depend on each other, repetitions do not. 1/t is the slope -1. It holds for the rounds seen,
    not for a limit.
    """
    R = min(run.rounds for run in runs)
    tail = (R // 2 + 1, R)
    largest, mean = ([distance(run)[k][:R] for run in runs] for k in (0, 1))
    highest = [float(d.max()) for d in largest]
    left = [
        d[tail[0] - 1 :].mean() / top if top > NO_DISTANCE else math.nan
        for d, top in zip(largest, highest, strict=True)
    ]
    gaps = [np.where(np.abs(run.alpha - run.p) > NO_DISTANCE, run.alpha - run.p, 0.0)[:R] for run in runs]
    return Decline(
        slope=estimates.mean([_slope(d, FIRST_ROUND, R) for d in largest]),
        tail=estimates.mean([_slope(d, *tail) for d in largest]),
        mean_tail=estimates.mean([_slope(d, *tail) for d in mean]),
        rounds=tail,
        remaining=estimates.mean(left, within=estimates.SHARE),
        persistence=estimates.mean([_persistence(gap) for gap in gaps], within=(-1.0, 1.0)),
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


def marks(run: ImageRun, losses: bool = False) -> np.ndarray:
    """(rounds, N): the ten largest weights of each round, or the losses where known; none that tie at the edge."""
    if not losses:
        return series.largest(run.alpha, paper.MARKED)
    known = run.client_losses[:-1]
    return series.largest(known[np.isfinite(known).all(axis=1)], paper.MARKED)


def effective(counts: Array) -> float:
    """How many clients share what ``counts`` (N,) sums to: (sum c)^2 / sum c^2, N if equal and 1 for one client."""
    squares = float((counts**2).sum())
    return float(counts.sum()) ** 2 / squares if squares > 0 else math.nan


def top_share(counts: Array, count: int = paper.MARKED) -> float:
    """The part of the sum of ``counts`` (N,) that the ``count`` largest hold."""
    total = float(counts.sum())
    return float(np.sort(counts)[-count:].sum()) / total if total > 0 else math.nan


def chance(marked: np.ndarray, draws: int = 200, seed: int = 0) -> float:
    """``effective`` of marks that fall at random, as many in each round as ``marked`` (rounds', N), on average.

    Over few rounds even marks at random are uneven, so that N is not what "no group" looks like.
    """
    rng, each = np.random.default_rng(seed), marked.sum(axis=1)
    ranks = rng.random((draws, *marked.shape)).argsort(axis=2).argsort(axis=2)
    return float(np.mean([effective(one.sum(axis=0)) for one in ranks < each[None, :, None]]))


@dataclass(frozen=True)
class Sharing:
    """How few clients carry the marks or the weight of some rounds, over repetitions.

    ``effective``: how many share them; ``share``: the part of the ten most marked; ``at_random``: what ``effective``
    would be for marks that fall at random.
    """

    effective: Estimate
    share: Estimate
    at_random: float


def sharing(runs: Runs, rounds: slice, losses: bool) -> Sharing:
    """Of the ten largest losses of each round (``losses``), or of the weights alpha, in those rounds."""
    marked = [marks(run, losses=True)[rounds] if losses else run.alpha[rounds] for run in runs]
    counts = [table.sum(axis=0).astype(float) for table in marked]
    clients = (1.0, float(max(len(run.p) for run in runs)))
    found = estimates.mean([effective(own) for own in counts], within=clients)
    share = estimates.mean([top_share(own) for own in counts], within=estimates.SHARE)
    return Sharing(found, share, chance(marked[0] > 0))
