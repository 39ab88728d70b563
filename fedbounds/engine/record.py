"""What a run stores and at which times, how far from w* a stable one gets, and the extremes over every step."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbounds.engine.numpy_engine import Moments
from fedbounds.errors import DivergedError, reject
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array
from fedbounds.model.schedule import StepSize
from fedbounds.model.trajectory import PATH_FIELDS, Extremes, Trajectory, VirtualPath
from fedbounds.theory.sample_path import ratio

SMALLEST = ("rho_bar_all", "rho_bar_sync", "pi_min")
LARGEST = ("rho_star_max", "pi_max", "G_sq", "radius")


@dataclass(frozen=True)
class TimeGrid:
    """The times of a run of T local steps.

    ``rounds`` are (begin, end) in local steps; ``eta`` (T,).
    ``times`` (K,) are the recorded steps 0, stride, 2 stride, ... and T. Every ceil(stride / tau)-th round is
    recorded: ``round_slot`` is its place in the record, or -1.
    """

    eta: Array
    rounds: tuple[tuple[int, int], ...]
    times: NDArray[np.int64]
    round_slot: NDArray[np.int64]

    @property
    def total(self) -> int:
        return len(self.eta)

    @property
    def round_times(self) -> NDArray[np.int64]:
        """The first step of each recorded round."""
        return np.array([b for (b, _), s in zip(self.rounds, self.round_slot, strict=True) if s >= 0], dtype=np.int64)


def steps(eta: StepSize, total: int) -> Array:
    """eta_0 ... eta_{total-1} as an array (total,); every entry must be positive and finite.

    >>> steps(lambda t: 1 / (2 + t), 3).tolist()
    [0.5, 0.3333333333333333, 0.25]
    """
    values = np.array([float(eta(t)) for t in range(total)])
    bad = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
    if bad.size:
        raise reject("eta_t must be positive and finite", f"{values[bad[0]]} at t = {bad[0]}", "change the schedule")
    return values


def make_time_grid(experiment: Experiment) -> TimeGrid:
    """The grid of an experiment: it aggregates after steps tau, 2 tau, ..., T."""
    total, tau, stride = experiment.total_steps, experiment.tau, experiment.stride
    rounds = tuple((begin, begin + tau) for begin in range(0, total, tau))
    times = np.unique(np.append(np.arange(0, total + 1, stride), total)).astype(np.int64)
    every = -(-stride // tau)
    round_slot = np.array([r // every if r % every == 0 else -1 for r in range(len(rounds))], dtype=np.int64)
    return TimeGrid(steps(experiment.eta, total), rounds, times, round_slot)


# A squared distance this many times the run's natural scale comes from an unstable step, never from noise.
DIVERGENCE_FACTOR = 1e12


def distance_sq(W: Array, experiment: Experiment) -> Array:
    """||w - w*||^2: (..., d) -> (...)."""
    difference = W - experiment.problem.w_star
    return (difference * difference).sum(-1)


def divergence_limit(experiment: Experiment, grid: TimeGrid) -> float:
    """The squared distance from w* that no stable run reaches: DIVERGENCE_FACTOR times its natural scale.

    The scale counts the start, the clients' minimisers and one stable step's noise, so that a run that starts
    at w* has one too.
    """
    problem = experiment.problem
    noise = problem.client_variance(problem.w_star[None, :], experiment.batch_size, experiment.replacement)
    scale = (
        float(distance_sq(experiment.start[None, :], experiment)[0])
        + float(distance_sq(problem.w_i_star, experiment).max())
        + min(float(grid.eta.max()), 2 / problem.L) ** 2 * float(np.max(noise))
    )
    return DIVERGENCE_FACTOR * scale if scale > 0 else float("inf")


def check_distances(
    experiment: Experiment, eta: Array, steps: Sequence[int], who: Sequence[object], distance: Array, limit: float
) -> None:
    """DivergedError with the likely cause where a squared distance (n, R) after one of the steps left the limit."""
    bad = np.argwhere(~(distance <= limit))
    if not len(bad):
        return
    k, r = (int(v) for v in bad[0])
    t, stable = steps[k], 2 / experiment.problem.L
    step_size = f"eta_t = {eta[t]:.4g}"
    if eta[t] > stable:
        cause = f"{step_size} exceeds 2/L = {stable:.4g}, beyond which gradient steps grow: use a smaller step"
    else:
        cause = f"{step_size} is within 2/L = {stable:.4g}, so check the constant L and the data's scale"
    whose = f"replicate {who[r]}" if isinstance(who, range) else who[r]
    raise DivergedError(f"The run diverged at step {t} ({whose}): ||w - w*||^2 = {distance[k, r]:.3g}; {cause}.")


class Record:
    """The arrays of a run; every block of replicates fills its own rows of them, nan until then."""

    def __init__(self, experiment: Experiment, grid: TimeGrid, virtuals: tuple[str, ...]) -> None:
        R, K, N = experiment.replicates, len(grid.times), experiment.problem.N

        def unfilled(*shape: int) -> Array:
            return np.full(shape, math.nan)

        self.experiment, self.grid = experiment, grid
        self.paths = {name: {field: unfilled(R, K) for field in PATH_FIELDS} for name in virtuals}
        self.skew_sums, self.excess = unfilled(R, K, 3), unfilled(R, K, N)
        self.grad_sq, self.local_excess = unfilled(R, K, N), unfilled(R, K, N)
        self.alpha = unfilled(R, len(grid.round_times), N)
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
            extremes=Extremes(**self.worst),
            engine=engine,
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
