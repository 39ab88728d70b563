"""What a run stores, and the extremes it keeps over every step whatever the stride."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from fedbounds.engine.numpy_engine import Moments
from fedbounds.engine.time_grid import TimeGrid
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array
from fedbounds.model.trajectory import PATH_FIELDS, Extremes, Trajectory, VirtualPath
from fedbounds.theory.sample_path import ratio

SMALLEST = ("rho_bar_all", "rho_bar_sync", "pi_min")
LARGEST = ("rho_star_max", "pi_max", "G_sq", "radius")


class Record:
    """The arrays of a run; every block of replicates fills its own rows of them, nan until then."""

    def __init__(
        self, experiment: Experiment, grid: TimeGrid, virtuals: tuple[str, ...], iterates: bool = False
    ) -> None:
        R, K, N = experiment.replicates, len(grid.times), experiment.problem.N

        def unfilled(*shape: int) -> Array:
            return np.full(shape, math.nan)

        self.experiment, self.grid = experiment, grid
        self.paths = {name: {field: unfilled(R, K) for field in PATH_FIELDS} for name in virtuals}
        self.skew_sums, self.excess = unfilled(R, K, 3), unfilled(R, K, N)
        self.grad_sq, self.local_excess = unfilled(R, K, N), unfilled(R, K, N)
        self.alpha = unfilled(R, len(grid.round_times), N)
        self.w = unfilled(R, K, experiment.problem.d) if iterates else None
        self.worst = {name: np.full(R, math.inf) for name in SMALLEST}
        self.worst |= {name: np.full(R, -math.inf) for name in LARGEST} | {"sigma_i_sq": np.zeros((R, N))}

    def finish(self, engine: str) -> Trajectory:
        paths = {name: VirtualPath(**fields) for name, fields in self.paths.items()}
        return Trajectory(
            experiment=self.experiment,
            times=self.grid.times,
            eta=self.grid.eta,
            paths={**paths, "p": paths.get("p", paths["alpha"])},
            skew_sums=self.skew_sums,
            excess=self.excess,
            grad_sq=self.grad_sq,
            local_excess=self.local_excess,
            round_times=self.grid.round_times,
            alpha=self.alpha,
            extremes=Extremes(**self.worst, eta_ratio=self.grid.eta_ratio),
            engine=engine,
            iterates=self.w,
        )


class Recorder:
    """Writes one block's rows of a `Record`; rows beyond the replicates asked for are dropped here."""

    def __init__(self, record: Record, replicates: range) -> None:
        experiment, begin = record.experiment, replicates.start
        self._record, self._star_excess = record, experiment.problem.star_excess
        self._wanted = min(replicates.stop, experiment.replicates) - begin
        self._rows = slice(begin, begin + self._wanted)
        self._last: Array | None = None

    def weights(self, r: int, p: Array, alpha: Array) -> None:
        """The weights (R, N) of round r: stored where the round is recorded, extremes always."""
        slot = self._record.grid.round_slot[r]
        if slot >= 0:
            self._record.alpha[self._rows, slot] = alpha[: self._wanted]
        if alpha is self._last:
            return
        self._last = alpha
        with np.errstate(divide="ignore", invalid="ignore"):
            weight_ratio = alpha / p  # nan for a client that has no weight, as it is absent
        self._extreme("pi_min", np.nanmin(weight_ratio, axis=-1))
        self._extreme("pi_max", np.nanmax(weight_ratio, axis=-1))
        self._extreme("rho_star_max", (alpha * self._star_excess).sum(-1))

    def ratios_of_weights(self, begin: int, p: Array, alpha: Array, excess: Array, opening: Sequence[int]) -> None:
        """e_i(w_t) (n, R, N) and its weighted sums at times begin, begin + 1, ... (extremes for t < T only).

        The weights are (R, N), or (n, R, N) one row a time; ``opening``: which of these times open a round.
        """
        star = np.broadcast_to((alpha * self._star_excess).sum(-1), excess.shape[:-1])
        sums = np.stack([(alpha * excess).sum(-1), (p * excess).sum(-1), star], axis=-1)
        recorded, slots = self.recorded(begin, len(excess))
        if slots.stop > slots.start:
            self._record.skew_sums[self._rows, slots] = sums[recorded, : self._wanted].swapaxes(0, 1)
            self._record.excess[self._rows, slots] = excess[recorded, : self._wanted].swapaxes(0, 1)
        if begin < self._record.grid.total:
            rho = ratio(sums[..., 0], sums[..., 1])
            self._extreme("rho_bar_all", rho.min(0))
            if len(opening):
                self._extreme("rho_bar_sync", rho[opening].min(0))

    def moments(self, begin: int, moments: Moments) -> None:
        """The moments (n, R, N) at the local models of times begin, begin + 1, ... (extremes for t < T only)."""
        recorded, slots = self.recorded(begin, len(moments.excess))
        if slots.stop > slots.start:
            self._record.grad_sq[self._rows, slots] = moments.grad_sq[recorded, : self._wanted].swapaxes(0, 1)
            self._record.local_excess[self._rows, slots] = moments.excess[recorded, : self._wanted].swapaxes(0, 1)
        if begin == self._record.grid.total:
            return
        self._extreme("sigma_i_sq", moments.variance.max(0))
        self._extreme("G_sq", (moments.variance + moments.grad_sq).max((0, -1)))
        self._extreme("radius", np.sqrt(moments.radius_sq.max((0, -1))))

    def path(self, name: str, begin: int, values: Mapping[str, Array]) -> None:
        """Fields (k, R) of one virtual iterate at the first k recorded times from ``begin`` on."""
        slots = self._slots(begin, len(values["gap"]))
        for field, value in values.items():
            self._record.paths[name][field][self._rows, slots] = value[:, : self._wanted].T

    def iterates(self, begin: int, w: Array) -> None:
        """The iterates w_t (k, R, d) at the first k recorded times from ``begin`` on, where they are asked for."""
        if self._record.w is not None:
            self._record.w[self._rows, self._slots(begin, len(w))] = w[:, : self._wanted].swapaxes(0, 1)

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
