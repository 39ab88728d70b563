"""What a run stores, and the extremes it keeps over every step whatever the stride."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fedbounds.engine.clock import Clock
from fedbounds.engine.primitives import Moments
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array, Indices
from fedbounds.model.trajectory import PATH_FIELDS, Extremes, Streamed, Trajectory, VirtualPath


@dataclass(frozen=True)
class Storage:
    """The arrays of a run; every block of replicates fills its own rows of them."""

    experiment: Experiment
    clock: Clock
    paths: dict[str, dict[str, Array]]
    skew_sums: Array
    excess: Array
    grad_sq: Array
    local_excess: Array
    alpha: Array
    worst: dict[str, Array]
    moment_sums: Array

    def recorder(self, replicates: range) -> Recorder:
        """What writes the rows of one block."""
        return Recorder(self, replicates)

    def absorb(self, recorder: Recorder) -> None:
        """Add what a finished block summed; blocks come in their order, whatever the threads."""
        np.add(self.moment_sums, recorder.moment_sums, out=self.moment_sums)

    def finish(self, engine: str, streamed: Streamed | None = None) -> Trajectory:
        """The trajectory, once every block is done."""
        means = self.moment_sums / self.experiment.replicates
        paths = {name: VirtualPath(**fields) for name, fields in self.paths.items()}
        return Trajectory(
            experiment=self.experiment,
            times=self.clock.times,
            eta=self.clock.eta,
            paths=paths if "p" in paths else {"alpha": paths["alpha"], "p": paths["alpha"]},
            skew_sums=self.skew_sums,
            excess=self.excess,
            grad_sq=self.grad_sq,
            local_excess=self.local_excess,
            round_times=self.clock.round_times,
            alpha=self.alpha,
            extremes=Extremes(
                **self.worst,
                sigma_sq_mean=float(means[0].max()),
                G_sq_mean=float(means[1].max()),
                eta_ratio=self.clock.eta_ratio,
            ),
            engine=engine,
            streamed=streamed,
        )


def allocate(experiment: Experiment, clock: Clock, virtuals: tuple[str, ...], clients: bool = True) -> Storage:
    """An empty record: stored times are nan until a block fills them, extremes start at their neutral values.

    Without ``clients`` there is no room for what is stored a client.
    """
    R, K, N = experiment.replicates, len(clock.times), experiment.problem.N
    rounds, stored = len(clock.round_times), N if clients else 0
    return Storage(
        experiment,
        clock,
        {name: {field: np.full((R, K), math.nan) for field in PATH_FIELDS} for name in virtuals},
        np.full((R, K, 3), math.nan),
        np.full((R, K, stored), math.nan),
        np.full((R, K, stored), math.nan),
        np.full((R, K, stored), math.nan),
        np.full((R, rounds, stored), math.nan),
        neutral_extremes(R, N),
        np.zeros((2, clock.total, N)),
    )


def neutral_extremes(R: int, N: int) -> dict[str, Array]:
    """Extremes before anything is seen."""
    low, high = (lambda: np.full(R, -math.inf)), (lambda: np.full(R, math.inf))
    return {
        "rho_bar_all": high(),
        "rho_bar_sync": high(),
        "rho_star_max": low(),
        "pi_min": high(),
        "pi_max": low(),
        "sigma_i_sq": np.zeros((R, N)),
        "G_sq": np.zeros(R),
        "radius": np.zeros(R),
    }


class Recorder:
    """Writes one block's rows of a `Storage`; rows beyond the replicates asked for are dropped here."""

    def __init__(self, storage: Storage, replicates: range) -> None:
        self._storage = storage
        self._keep = min(replicates.stop, storage.experiment.replicates) - replicates.start
        self._rows = slice(replicates.start, replicates.start + self._keep)
        self.moment_sums = np.zeros(0)
        self._last: Array | None = None
        self._star_excess = storage.experiment.problem.star_excess

    def weights(self, r: int, p: Array, alpha: Array) -> None:
        """The weights (R, N) of round r: stored where the round is recorded, extremes always."""
        slot = self._storage.clock.round_slot[r]
        if slot >= 0:
            self._keep_weights(slot, alpha[: self._keep])
        if alpha is self._last:
            return
        self._last = alpha
        none = (p == 0) & (alpha == 0)
        ratio = np.where(none, 1.0, alpha) / np.where(none, 1.0, np.where(p == 0, np.nan, p))
        ratio = np.where((p == 0) & (alpha > 0), np.inf, ratio)
        self._lower("pi_min", np.where(none, np.inf, ratio).min(-1))
        self._raise("pi_max", np.where(none, -np.inf, ratio).max(-1))
        self._raise("rho_star_max", (alpha * self._star_excess).sum(-1))

    def skew(self, begin: int, p: Array, alpha: Array, excess: Array, *, synchronised: bool) -> None:
        """e_i(w_t) (n, R, N) and its weighted sums at times begin, begin + 1, ... (extremes for t < T only).

        ``synchronised`` tells whether the first of these times is the start of a round.
        """
        star = np.broadcast_to((alpha * self._star_excess).sum(-1), excess.shape[:-1])
        sums = np.stack([(alpha * excess).sum(-1), (p * excess).sum(-1), star], axis=-1)
        kept = self.kept(begin, len(excess))
        if len(kept):
            self._keep_skew(self._slots(begin + kept), sums[kept, : self._keep], excess[kept, : self._keep])
        if begin == self._storage.clock.total:
            return
        positive = sums[..., 1] > 0
        rho = np.where(positive, sums[..., 0] / np.where(positive, sums[..., 1], 1.0), 1.0)
        self._lower("rho_bar_all", rho.min(0))
        if synchronised:
            self._lower("rho_bar_sync", rho[0])

    def moments(self, begin: int, moments: Moments) -> None:
        """The moments (n, R, N) at the local models of times begin, begin + 1, ... (extremes for t < T only)."""
        n = len(moments.excess)
        kept = self.kept(begin, n)
        if len(kept):
            self._keep_local(
                self._slots(begin + kept), moments.grad_sq[kept, : self._keep], moments.excess[kept, : self._keep]
            )
        if begin == self._storage.clock.total:
            return
        second = moments.variance + moments.grad_sq
        self._raise("sigma_i_sq", moments.variance.max(0))
        self._raise("G_sq", second.max((0, -1)))
        self._raise("radius", np.sqrt(moments.radius_sq.max((0, -1))))
        if not self.moment_sums.size:
            self.moment_sums = np.zeros_like(self._storage.moment_sums)
        self.moment_sums[0, begin : begin + n] = moments.variance[:, : self._keep].sum(1)
        self.moment_sums[1, begin : begin + n] = second[:, : self._keep].sum(1)

    def path(self, name: str, begin: int, values: Mapping[str, Array]) -> None:
        """Fields (k, R) of one virtual iterate at the first k recorded times from ``begin`` on."""
        slots = np.arange(len(values["gap"])) + np.searchsorted(self._storage.clock.times, begin)
        self._keep_path(name, slots, {field: value[:, : self._keep] for field, value in values.items()})

    def kept(self, begin: int, n: int) -> Indices:
        """Which of the n times begin, begin + 1, ... are recorded, counted from 0."""
        times = self._storage.clock.times
        return times[np.searchsorted(times, begin) : np.searchsorted(times, begin + n)] - begin

    def _slots(self, times: Indices) -> Indices:
        """Where recorded times lie in the record."""
        return np.searchsorted(self._storage.clock.times, times)

    def _keep_weights(self, slot: int, alpha: Array) -> None:
        self._storage.alpha[self._rows, slot] = alpha

    def _keep_skew(self, slots: Indices, sums: Array, excess: Array) -> None:
        self._storage.skew_sums[self._rows, slots] = sums.swapaxes(0, 1)
        self._storage.excess[self._rows, slots] = excess.swapaxes(0, 1)

    def _keep_local(self, slots: Indices, grad_sq: Array, excess: Array) -> None:
        self._storage.grad_sq[self._rows, slots] = grad_sq.swapaxes(0, 1)
        self._storage.local_excess[self._rows, slots] = excess.swapaxes(0, 1)

    def _keep_path(self, name: str, slots: Indices, values: Mapping[str, Array]) -> None:
        for field, value in values.items():
            self._storage.paths[name][field][self._rows, slots] = value.T

    def _raise(self, name: str, values: Array) -> None:
        view = self._storage.worst[name][self._rows]
        np.maximum(view, values[: self._keep], out=view)

    def _lower(self, name: str, values: Array) -> None:
        view = self._storage.worst[name][self._rows]
        np.minimum(view, values[: self._keep], out=view)
