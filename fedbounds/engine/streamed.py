"""A run's record in memory that does not grow with replicates x time: means, covariances and extremes.

Each block of replicates keeps its own tally, and tallies are merged in the order of the blocks (Chan, Golub and
LeVeque 1983), so that the bits do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from fedbounds.engine.clock import Clock
from fedbounds.engine.record import Recorder, Storage, allocate, neutral_extremes
from fedbounds.errors import reject
from fedbounds.model.experiment import Experiment, Statistics
from fedbounds.model.problem import Array, Indices
from fedbounds.model.trajectory import PATH_FIELDS, PathMoments, Streamed, Trajectory

# ``auto`` streams a record beyond this many bytes: it would crowd out the rest on a small machine.
STORED_LIMIT = 2**30
# Tallies of blocks in flight may take this many bytes; fewer threads run where they would take more.
TALLY_LIMIT = 2**29
# Replicates kept as they are, for pictures and for fits along time.
SAMPLE = 64
FIELDS = len(PATH_FIELDS)


def stored_bytes(experiment: Experiment, clock: Clock, virtuals: tuple[str, ...]) -> int:
    """What a record of every replicate takes."""
    N, per_time = experiment.problem.N, FIELDS * len(virtuals) + 3
    return 8 * experiment.replicates * (len(clock.times) * (per_time + 3 * N) + len(clock.round_times) * N)


def wants_streaming(experiment: Experiment, clock: Clock, virtuals: tuple[str, ...], statistics: Statistics) -> bool:
    """Whether a run streams; Errors: InputError for an unknown ``statistics``."""
    if statistics not in ("auto", "stored", "streamed"):
        raise reject("statistics must be auto, stored or streamed", statistics, "use auto")
    return statistics == "streamed" or (
        statistics == "auto" and stored_bytes(experiment, clock, virtuals) > STORED_LIMIT
    )


@dataclass
class Tally:
    """Running statistics of some replicates; arrays are written in place.

    Per virtual iterate (V), time (K) and field: ``mean``, ``scatter`` (the sum of products of deviations) and
    ``high``. ``excess`` (K, N) and ``alpha`` (rounds', N) are means; ``points`` (2, 2, K, N) the replicates of
    largest ratio and largest difference, as ||grad F_i||^2 and e_i; ``top`` and ``positive`` as in `Streamed`.
    """

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
    def empty(cls, clock: Clock, V: int, N: int) -> Tally:
        """Nothing seen yet."""
        K, rounds = len(clock.times), len(clock.round_times)
        path = np.full((V, K, FIELDS), np.nan)
        points, top = np.full((2, 2, K, N), np.nan), np.full((2, rounds), np.nan)
        scatter, alpha = np.full((V, K, FIELDS, FIELDS), np.nan), np.zeros((rounds, N))
        return cls(0, path, scatter, path.copy(), np.zeros((K, N)), alpha, points, top, np.array([np.inf, -np.inf]))

    def merge(self, other: Tally, L: float) -> None:
        """Add the replicates of another tally."""
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
        higher = difference(others[1, 0], others[1, 1], L) > difference(mine[1, 0], mine[1, 1], L)
        np.copyto(mine[0], others[0], where=steeper)
        np.copyto(mine[1], others[1], where=higher)
        self.top = np.stack([np.minimum(self.top[0], other.top[0]), np.maximum(self.top[1], other.top[1])])
        self.positive = np.array([min(self.positive[0], other.positive[0]), max(self.positive[1], other.positive[1])])
        self.count = total


def ratio(grad_sq: Array, excess: Array) -> Array:
    """||grad F_i||^2 / e_i, 0/0 being 0: no such point speaks against a bound."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(grad_sq > 0, grad_sq / excess, 0.0)


def difference(grad_sq: Array, excess: Array, L: float) -> Array:
    """||grad F_i||^2 - 2 L e_i."""
    return grad_sq - 2 * L * excess


@dataclass(frozen=True)
class StreamedRecord:
    """The growing statistics of all replicates, their extremes, and the first replicates as they are."""

    virtuals: tuple[str, ...]
    sample: Storage
    tally: Tally

    @property
    def most_threads(self) -> int:
        """Threads whose tallies, two a thread, fit in TALLY_LIMIT."""
        arrays = (value for value in vars(self.tally).values() if isinstance(value, np.ndarray))
        each = self.sample.moment_sums.nbytes + sum(array.nbytes for array in arrays)
        return max(TALLY_LIMIT // (2 * each), 1)

    def recorder(self, replicates: range) -> StreamedBlock:
        """What tallies one block."""
        return StreamedBlock(self, replicates)

    def absorb(self, recorder: Recorder) -> None:
        """Merge a finished block; blocks come in their order, whatever the threads."""
        assert isinstance(recorder, StreamedBlock)
        self.sample.absorb(recorder)
        self.tally.merge(recorder.tally, self.sample.experiment.problem.L)

    def finish(self, engine: str) -> Trajectory:
        """The trajectory, once every block is merged."""
        tally, divisor = self.tally, max(self.tally.count - 1, 1)
        moments = {
            name: PathMoments(tally.mean[v], tally.scatter[v] / divisor, tally.high[v])
            for v, name in enumerate(self.virtuals)
        }
        low, high = tally.positive
        streamed = Streamed({"p": moments["alpha"], **moments}, tally.top, (int(low), int(high)))
        record = replace(
            self.sample,
            excess=tally.excess[None],
            grad_sq=tally.points[:, 0],
            local_excess=tally.points[:, 1],
            alpha=tally.alpha[None],
        )
        return record.finish(engine, streamed)


def allocate_streamed(experiment: Experiment, clock: Clock, virtuals: tuple[str, ...]) -> StreamedRecord:
    """An empty record whose size grows with K N and R N, never with R K."""
    few = allocate(experiment.with_(replicates=min(SAMPLE, experiment.replicates)), clock, virtuals, clients=False)
    worst = neutral_extremes(experiment.replicates, experiment.problem.N)
    sample = replace(few, experiment=experiment, worst=worst)
    return StreamedRecord(virtuals, sample, Tally.empty(clock, len(virtuals), experiment.problem.N))


class StreamedBlock(Recorder):
    """Tallies one block of replicates, and writes those of them that are in the sample."""

    def __init__(self, record: StreamedRecord, replicates: range) -> None:
        super().__init__(record.sample, replicates)
        self._virtuals, self._L = record.virtuals, record.sample.experiment.problem.L
        clock, N = record.sample.clock, record.sample.experiment.problem.N
        self.tally = Tally.empty(clock, len(record.virtuals), N)
        self.tally.count = self._keep
        rows = min(SAMPLE, record.sample.experiment.replicates)
        self._rows_sampled = slice(replicates.start, min(replicates.start + self._keep, rows))
        self._sampled = max(rows - replicates.start, 0)

    def _keep_weights(self, slot: int, alpha: Array) -> None:
        tally, top = self.tally, alpha.max(-1)
        tally.alpha[slot] = alpha.mean(0)
        tally.top[:, slot] = top.min(), top.max()
        count = (alpha > 0).sum(-1)
        tally.positive[:] = min(tally.positive[0], count.min()), max(tally.positive[1], count.max())

    def _keep_skew(self, slots: Indices, sums: Array, excess: Array) -> None:
        self.tally.excess[slots] = excess.mean(1)
        if self._sampled:
            self._storage.skew_sums[self._rows_sampled, slots] = sums[:, : self._sampled].swapaxes(0, 1)

    def _keep_local(self, slots: Indices, grad_sq: Array, excess: Array) -> None:
        for row, score in enumerate((ratio(grad_sq, excess), difference(grad_sq, excess, self._L))):
            worst = score.argmax(1)[:, None]
            for column, values in enumerate((grad_sq, excess)):
                self.tally.points[row, column, slots] = np.take_along_axis(values, worst, 1)[:, 0]

    def _keep_path(self, name: str, slots: Indices, values: Mapping[str, Array]) -> None:
        v, fields = self._virtuals.index(name), np.array([PATH_FIELDS.index(field) for field in values])
        rows = np.stack(list(values.values()))
        mean = rows.mean(2)
        away, place = rows - mean[..., None], np.ix_(slots, fields)
        self.tally.mean[v][place], self.tally.high[v][place] = mean.T, rows.max(2).T
        self.tally.scatter[v][np.ix_(slots, fields, fields)] = np.einsum("akr,bkr->kab", away, away)
        if self._sampled:
            for field, value in values.items():
                self._storage.paths[name][field][self._rows_sampled, slots] = value[:, : self._sampled].T
