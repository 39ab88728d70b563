"""What a run stores, and the extremes it keeps over every step whatever the stride.

A streamed run keeps means, covariances and extremes in memory that does not grow with replicates x time. Each block
of replicates has statistics of its own, which are merged in the order of the blocks (Chan, Golub and LeVeque 1983),
so that the bits do not depend on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedbounds.engine.numpy_engine import Moments
from fedbounds.engine.time_grid import TimeGrid
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array, Indices
from fedbounds.model.trajectory import PATH_FIELDS, Extremes, PathMoments, Streamed, Trajectory, VirtualPath
from fedbounds.theory.path import ratio

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
        for row, score in enumerate((steepness(grad_sq, excess), difference(grad_sq, excess, self.L))):
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
        steeper = steepness(others[0, 0], others[0, 1]) > steepness(mine[0, 0], mine[0, 1])
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


def steepness(grad_sq: Array, excess: Array) -> Array:
    """||grad F_i||^2 / e_i, 0/0 being 0: no such point speaks against a bound."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(grad_sq > 0, grad_sq / excess, 0.0)


def difference(grad_sq: Array, excess: Array, L: float) -> Array:
    """||grad F_i||^2 - 2 L e_i."""
    return grad_sq - 2 * L * excess


# Replicates that a streamed run keeps as they are, for pictures and for fits along time.
SAMPLE = 64
SMALLEST = ("rho_bar_all", "rho_bar_sync", "pi_min")
LARGEST = ("rho_star_max", "pi_max", "G_sq", "radius")


class Record:
    """The arrays of a run; every block of replicates fills its own rows of them, nan until then.

    Of a ``streamed`` one only the first replicates are stored, and of them nothing that is a number a client: its
    size grows with K N and R N, never with R K.
    """

    def __init__(
        self,
        experiment: Experiment,
        grid: TimeGrid,
        virtuals: tuple[str, ...],
        streamed: bool = False,
        iterates: bool = False,
    ) -> None:
        every, K, N = experiment.replicates, len(grid.times), experiment.problem.N
        R, stored = (min(SAMPLE, every), 0) if streamed else (every, N)

        def unfilled(*shape: int) -> Array:
            return np.full(shape, math.nan)

        self.experiment, self.grid = experiment, grid
        self.paths = {name: {field: unfilled(R, K) for field in PATH_FIELDS} for name in virtuals}
        self.skew_sums, self.excess = unfilled(R, K, 3), unfilled(R, K, stored)
        self.grad_sq, self.local_excess = unfilled(R, K, stored), unfilled(R, K, stored)
        self.alpha = unfilled(R, len(grid.round_times), stored)
        self.w = unfilled(R, K, experiment.problem.d) if iterates else None
        self.worst = {name: np.full(every, math.inf) for name in SMALLEST}
        self.worst |= {name: np.full(every, -math.inf) for name in LARGEST} | {"sigma_i_sq": np.zeros((every, N))}
        self.moment_sums = np.zeros((2, grid.total, N))
        L = experiment.problem.L
        self.statistics = RunningStatistics.empty(L, grid, len(virtuals), N) if streamed else None

    def absorb(self, recorder: Recorder) -> None:
        """Add what a finished block summed; blocks come in their order, whatever the threads."""
        self.moment_sums += recorder.moment_sums
        if self.statistics is not None and recorder.statistics is not None:
            self.statistics.merge(recorder.statistics)

    def finish(self, engine: str) -> Trajectory:
        means, statistics = self.moment_sums / self.experiment.replicates, self.statistics
        paths = {name: VirtualPath(**fields) for name, fields in self.paths.items()}
        return Trajectory(
            experiment=self.experiment,
            times=self.grid.times,
            eta=self.grid.eta,
            paths={**paths, "p": paths.get("p", paths["alpha"])},
            skew_sums=self.skew_sums,
            excess=statistics.excess[None] if statistics else self.excess,
            grad_sq=statistics.points[:, 0] if statistics else self.grad_sq,
            local_excess=statistics.points[:, 1] if statistics else self.local_excess,
            round_times=self.grid.round_times,
            alpha=statistics.alpha[None] if statistics else self.alpha,
            extremes=Extremes(
                **self.worst,
                sigma_sq_mean=float(means[0].max()),
                G_sq_mean=float(means[1].max()),
                eta_ratio=self.grid.eta_ratio,
            ),
            engine=engine,
            streamed=statistics.streamed(tuple(self.paths)) if statistics else None,
            iterates=self.w,
        )


class Recorder:
    """Writes one block's rows of a `Record`; rows beyond the replicates asked for are dropped here."""

    def __init__(self, record: Record, replicates: range) -> None:
        experiment, begin = record.experiment, replicates.start
        self._record, self._star_excess = record, experiment.problem.star_excess
        self._wanted = min(replicates.stop, experiment.replicates) - begin
        self._rows = slice(begin, begin + self._wanted)
        self._stored = max(min(self._wanted, len(record.skew_sums) - begin), 0)
        self._stored_rows = slice(begin, begin + self._stored)
        self._last: Array | None = None
        self.moment_sums = np.zeros(0)
        self.statistics: RunningStatistics | None = None
        if record.statistics is not None:
            sizes = len(record.paths), experiment.problem.N, self._wanted
            self.statistics = RunningStatistics.empty(record.statistics.L, record.grid, *sizes)

    def weights(self, r: int, p: Array, alpha: Array) -> None:
        """The weights (R, N) of round r: stored where the round is recorded, extremes always."""
        slot = self._record.grid.round_slot[r]
        if slot >= 0 and self.statistics is not None:
            self.statistics.weights(slot, alpha[: self._wanted])
        elif slot >= 0:
            self._record.alpha[self._rows, slot] = alpha[: self._wanted]
        if alpha is self._last:
            return
        self._last = alpha
        with np.errstate(divide="ignore", invalid="ignore"):
            weight_ratio = alpha / p  # nan for a client that has no weight, as it is absent
        self._extreme("pi_min", np.nanmin(weight_ratio, axis=-1))
        self._extreme("pi_max", np.nanmax(weight_ratio, axis=-1))
        self._extreme("rho_star_max", (alpha * self._star_excess).sum(-1))

    def skew(self, begin: int, p: Array, alpha: Array, excess: Array, opening: Sequence[int]) -> None:
        """e_i(w_t) (n, R, N) and its weighted sums at times begin, begin + 1, ... (extremes for t < T only).

        The weights are (R, N), or (n, R, N) one row a time; ``opening``: which of these times open a round.
        """
        star = np.broadcast_to((alpha * self._star_excess).sum(-1), excess.shape[:-1])
        sums = np.stack([(alpha * excess).sum(-1), (p * excess).sum(-1), star], axis=-1)
        recorded, slots = self.recorded(begin, len(excess))
        if slots.stop > slots.start:
            seen = excess[recorded, : self._wanted]
            self._record.skew_sums[self._stored_rows, slots] = sums[recorded, : self._stored].swapaxes(0, 1)
            if self.statistics is not None:
                self.statistics.excess[slots] = seen.mean(1)
            else:
                self._record.excess[self._rows, slots] = seen.swapaxes(0, 1)
        if begin < self._record.grid.total:
            rho = ratio(sums[..., 0], sums[..., 1])
            self._extreme("rho_bar_all", rho.min(0))
            if len(opening):
                self._extreme("rho_bar_sync", rho[opening].min(0))

    def moments(self, begin: int, moments: Moments) -> None:
        """The moments (n, R, N) at the local models of times begin, begin + 1, ... (extremes for t < T only)."""
        n = len(moments.excess)
        recorded, slots = self.recorded(begin, n)
        if slots.stop > slots.start:
            grad_sq, excess = (values[recorded, : self._wanted] for values in (moments.grad_sq, moments.excess))
            if self.statistics is not None:
                self.statistics.local(slots, grad_sq, excess)
            else:
                self._record.grad_sq[self._rows, slots] = grad_sq.swapaxes(0, 1)
                self._record.local_excess[self._rows, slots] = excess.swapaxes(0, 1)
        if begin == self._record.grid.total:
            return
        second = moments.variance + moments.grad_sq
        self._extreme("sigma_i_sq", moments.variance.max(0))
        self._extreme("G_sq", second.max((0, -1)))
        self._extreme("radius", np.sqrt(moments.radius_sq.max((0, -1))))
        if not self.moment_sums.size:
            self.moment_sums = np.zeros_like(self._record.moment_sums)
        self.moment_sums[0, begin : begin + n] = moments.variance[:, : self._wanted].sum(1)
        self.moment_sums[1, begin : begin + n] = second[:, : self._wanted].sum(1)

    def path(self, name: str, begin: int, values: Mapping[str, Array]) -> None:
        """Fields (k, R) of one virtual iterate at the first k recorded times from ``begin`` on."""
        slots = self._slots(begin, len(values["gap"]))
        if self.statistics is not None:
            fields = {field: value[:, : self._wanted] for field, value in values.items()}
            self.statistics.path(list(self._record.paths).index(name), np.arange(slots.start, slots.stop), fields)
        for field, value in values.items():
            self._record.paths[name][field][self._stored_rows, slots] = value[:, : self._stored].T

    def iterates(self, begin: int, w: Array) -> None:
        """The iterates w_t (k, R, d) at the first k recorded times from ``begin`` on, where they are asked for."""
        if self._record.w is not None:
            self._record.w[self._stored_rows, self._slots(begin, len(w))] = w[:, : self._stored].swapaxes(0, 1)

    def recorded(self, begin: int, n: int) -> tuple[slice, slice]:
        """Which of the n times begin, begin + 1, ... are recorded, counted from 0, and where; n = 1 at time T."""
        stride = self._record.experiment.stride if begin < self._record.grid.total else 1
        first = -begin % stride
        return slice(first, n, stride), self._slots(begin, max(-(-(n - first) // stride), 0))

    def _slots(self, begin: int, count: int) -> slice:
        """The places of the first ``count`` recorded times from ``begin`` on."""
        place = int(np.searchsorted(self._record.grid.times, begin))
        return slice(place, place + count)

    def _extreme(self, name: str, values: Array) -> None:
        view = self._record.worst[name][self._rows]
        (np.minimum if name in SMALLEST else np.maximum)(view, values[: self._wanted], out=view)
