"""Statistics of a run's replicates in memory that does not grow with replicates x time: means, covariances, extremes.

Each block of replicates has statistics of its own, which are merged in the order of the blocks (Chan, Golub and
LeVeque 1983), so that the bits do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fedbounds.engine.time_grid import TimeGrid
from fedbounds.model.problem import Array, Indices
from fedbounds.model.trajectory import PATH_FIELDS, PathMoments, Streamed

# Statistics of blocks in flight may take this many bytes; fewer threads run where they would take more.
STATISTICS_LIMIT = 2**29
FIELDS = len(PATH_FIELDS)


@dataclass
class RunningStatistics:
    """Running statistics of some replicates; arrays are written in place.

    Per virtual iterate (V), time (K) and field: ``mean``, ``scatter`` (the sum of products of deviations) and
    ``high``. ``excess`` (K, N) and ``alpha`` (rounds', N) are means; ``points`` (2, 2, K, N) the replicates of
    largest ratio and largest difference, as ||grad F_i||^2 and e_i; ``top`` and ``positive`` as in `Streamed`.
    """

    L: float
    count: int
    mean: Array
    scatter: Array
    high: Array
    excess: Array
    alpha: Array
    points: Array
    top: Array
    positive: Array

    @classmethod
    def empty(cls, L: float, grid: TimeGrid, V: int, N: int, count: int = 0) -> RunningStatistics:
        """Nothing seen yet, of ``count`` replicates that will be."""
        K, rounds = len(grid.times), len(grid.round_times)
        path = np.full((V, K, FIELDS), np.nan)
        points, top = np.full((2, 2, K, N), np.nan), np.full((2, rounds), np.nan)
        scatter, alpha = np.full((V, K, FIELDS, FIELDS), np.nan), np.zeros((rounds, N))
        few_many = np.array([np.inf, -np.inf])
        return cls(L, count, path, scatter, path.copy(), np.zeros((K, N)), alpha, points, top, few_many)

    def weights(self, slot: int, alpha: Array) -> None:
        top, count = alpha.max(-1), (alpha > 0).sum(-1)
        self.alpha[slot] = alpha.mean(0)
        self.top[:, slot] = top.min(), top.max()
        self.positive[:] = min(self.positive[0], count.min()), max(self.positive[1], count.max())

    def local(self, slots: slice, grad_sq: Array, excess: Array) -> None:
        """||grad F_i||^2 and e_i (k, R, N) at the local models of recorded times."""
        for row, score in enumerate((ratio(grad_sq, excess), difference(grad_sq, excess, self.L))):
            worst = score.argmax(1)[:, None]
            for column, values in enumerate((grad_sq, excess)):
                self.points[row, column, slots] = np.take_along_axis(values, worst, 1)[:, 0]

    def path(self, v: int, slots: Indices, values: Mapping[str, Array]) -> None:
        """Fields (k, R) of virtual iterate v at recorded times."""
        fields = np.array([PATH_FIELDS.index(field) for field in values])
        rows = np.stack(list(values.values()))
        mean = rows.mean(2)
        away, place = rows - mean[..., None], np.ix_(slots, fields)
        self.mean[v][place], self.high[v][place] = mean.T, rows.max(2).T
        self.scatter[v][np.ix_(slots, fields, fields)] = np.einsum("akr,bkr->kab", away, away)

    def merge(self, other: RunningStatistics) -> None:
        if not self.count:
            self.__dict__.update(other.__dict__)
            return
        total = self.count + other.count
        share, away = other.count / total, other.mean - self.mean
        self.mean += away * share
        self.scatter += other.scatter + self.count * share * away[..., :, None] * away[..., None, :]
        np.maximum(self.high, other.high, out=self.high)
        self.excess += (other.excess - self.excess) * share
        self.alpha += (other.alpha - self.alpha) * share
        mine, others = self.points, other.points
        steeper = ratio(others[0, 0], others[0, 1]) > ratio(mine[0, 0], mine[0, 1])
        higher = difference(others[1, 0], others[1, 1], self.L) > difference(mine[1, 0], mine[1, 1], self.L)
        np.copyto(mine[0], others[0], where=steeper)
        np.copyto(mine[1], others[1], where=higher)
        self.top = np.stack([np.minimum(self.top[0], other.top[0]), np.maximum(self.top[1], other.top[1])])
        self.positive = np.array([min(self.positive[0], other.positive[0]), max(self.positive[1], other.positive[1])])
        self.count = total

    def most_threads(self, beside: int) -> int:
        """Threads whose tallies, two a thread with ``beside`` bytes each, fit in STATISTICS_LIMIT."""
        arrays = (value for value in vars(self).values() if isinstance(value, np.ndarray))
        return max(STATISTICS_LIMIT // (2 * (beside + sum(array.nbytes for array in arrays))), 1)

    def streamed(self, virtuals: tuple[str, ...]) -> Streamed:
        divisor = max(self.count - 1, 1)
        moments = {
            name: PathMoments(self.mean[v], self.scatter[v] / divisor, self.high[v])
            for v, name in enumerate(virtuals)
        }
        return Streamed({"p": moments["alpha"], **moments}, self.top, (int(self.positive[0]), int(self.positive[1])))


def ratio(grad_sq: Array, excess: Array) -> Array:
    """||grad F_i||^2 / e_i, 0/0 being 0: no such point speaks against a bound."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(grad_sq > 0, grad_sq / excess, 0.0)


def difference(grad_sq: Array, excess: Array, L: float) -> Array:
    """||grad F_i||^2 - 2 L e_i."""
    return grad_sq - 2 * L * excess
