"""What a run stores, and the extremes it keeps over every step whatever the stride."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fedbounds.engine.plan import Plan
from fedbounds.engine.primitives import Moments
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array
from fedbounds.model.trajectory import PATH_FIELDS, Extremes, Streamed, Trajectory, VirtualPath


@dataclass(frozen=True)
class Record:
    """The arrays of a run; every block of replicates fills its own rows of them."""

    experiment: Experiment
    plan: Plan
    paths: dict[str, dict[str, Array]]
    skew_sums: Array
    excess: Array
    grad_sq: Array
    local_excess: Array
    alpha: Array
    worst: dict[str, Array]
    moment_sums: Array

    def recorder(self, replicates: range) -> BlockRecorder:
        """What writes the rows of one block."""
        return BlockRecorder(self, replicates)

    def absorb(self, recorder: BlockRecorder) -> None:
        """Add what a finished block summed; blocks come in their order, whatever the threads."""
        np.add(self.moment_sums, recorder.moment_sums, out=self.moment_sums)

    def finish(self, engine: str, streamed: Streamed | None = None) -> Trajectory:
        """The trajectory, once every block is done."""
        means = self.moment_sums / self.experiment.replicates
        paths = {name: VirtualPath(**fields) for name, fields in self.paths.items()}
        return Trajectory(
            experiment=self.experiment,
            times=self.plan.times,
            eta=self.plan.eta,
            paths=paths if "p" in paths else {"alpha": paths["alpha"], "p": paths["alpha"]},
            skew_sums=self.skew_sums,
            excess=self.excess,
            grad_sq=self.grad_sq,
            local_excess=self.local_excess,
            round_times=self.plan.round_times,
            alpha=self.alpha,
            extremes=Extremes(
                **self.worst,
                sigma_sq_mean=float(means[0].max()),
                G_sq_mean=float(means[1].max()),
                eta_ratio=self.plan.eta_ratio,
            ),
            engine=engine,
            streamed=streamed,
        )


def allocate(experiment: Experiment, plan: Plan, virtuals: tuple[str, ...], clients: bool = True) -> Record:
    """An empty record: stored times are nan until a block fills them, extremes start at their neutral values.

    Without ``clients`` there is no room for what is stored a client.
    """
    R, K, N = experiment.replicates, len(plan.times), experiment.problem.N
    rounds, stored = len(plan.round_times), N if clients else 0
    return Record(
        experiment,
        plan,
        {name: {field: np.full((R, K), math.nan) for field in PATH_FIELDS} for name in virtuals},
        np.full((R, K, 3), math.nan),
        np.full((R, K, stored), math.nan),
        np.full((R, K, stored), math.nan),
        np.full((R, K, stored), math.nan),
        np.full((R, rounds, stored), math.nan),
        neutral_extremes(R, N),
        np.zeros((2, plan.total, N)),
    )


def neutral_extremes(R: int, N: int) -> dict[str, Array]:
    """Extremes before anything is seen."""
    low, high = (lambda *shape: np.full(shape, -math.inf)), (lambda *shape: np.full(shape, math.inf))
    return {
        "rho_bar_all": high(R),
        "rho_bar_sync": high(R),
        "rho_star_max": low(R),
        "pi_min": high(R),
        "pi_max": low(R),
        "sigma_i_sq": np.zeros((R, N)),
        "G_sq": np.zeros(R),
        "radius": np.zeros(R),
    }


class BlockRecorder:
    """Writes one block's rows of a `Record`; rows beyond the replicates asked for are dropped here."""

    def __init__(self, record: Record, replicates: range) -> None:
        self._record = record
        self._keep = min(replicates.stop, record.experiment.replicates) - replicates.start
        self._rows = slice(replicates.start, replicates.start + self._keep)
        self.moment_sums = np.zeros(0)
        self._star_excess = record.experiment.problem.star_excess

    def weights(self, r: int, p: Array, alpha: Array) -> None:
        """The weights of round r: stored where the round is recorded, extremes always."""
        slot = self._record.plan.round_slot[r]
        if slot >= 0:
            self._keep_weights(slot, alpha[: self._keep])
        none = (p == 0) & (alpha == 0)
        ratio = np.where(none, 1.0, alpha) / np.where(none, 1.0, np.where(p == 0, np.nan, p))
        ratio = np.where((p == 0) & (alpha > 0), np.inf, ratio)
        self._lower("pi_min", np.where(none, np.inf, ratio).min(-1))
        self._raise("pi_max", np.where(none, -np.inf, ratio).max(-1))
        self._raise("rho_star_max", (alpha * self._star_excess).sum(-1))

    def skew(self, t: int, p: Array, alpha: Array, excess: Array, *, synchronised: bool) -> None:
        """e_i(w_t) and its weighted sums at time t (extremes for t < T only)."""
        sums = np.stack(
            [(alpha * excess).sum(-1), (p * excess).sum(-1), (alpha * self._star_excess).sum(-1)], axis=-1
        )
        slot = self._record.plan.slot[t]
        if slot >= 0:
            self._keep_skew(slot, sums[: self._keep], excess[: self._keep])
        if t == self._record.plan.total:
            return
        positive = sums[:, 1] > 0
        rho = np.where(positive, sums[:, 0] / np.where(positive, sums[:, 1], 1.0), 1.0)
        self._lower("rho_bar_all", rho)
        if synchronised:
            self._lower("rho_bar_sync", rho)

    def moments(self, t: int, moments: Moments) -> None:
        """The conditional moments at the local models of time t (extremes for t < T only)."""
        slot = self._record.plan.slot[t]
        if slot >= 0:
            self._keep_local(slot, moments.grad_sq[: self._keep], moments.excess[: self._keep])
        if t == self._record.plan.total:
            return
        second = moments.variance + moments.grad_sq
        self._raise("sigma_i_sq", moments.variance)
        self._raise("G_sq", second.max(-1))
        self._raise("radius", np.sqrt(moments.radius_sq.max(-1)))
        if not self.moment_sums.size:
            self.moment_sums = np.zeros_like(self._record.moment_sums)
        self.moment_sums[0, t] = moments.variance[: self._keep].sum(0)
        self.moment_sums[1, t] = second[: self._keep].sum(0)

    def path(self, name: str, t: int, **values: Array) -> None:
        """Fields of one virtual iterate at time t, if it is recorded and the path is kept."""
        slot = self._record.plan.slot[t]
        if slot >= 0:
            self._keep_path(name, slot, {field: value[: self._keep] for field, value in values.items()})

    def _keep_weights(self, slot: int, alpha: Array) -> None:
        self._record.alpha[self._rows, slot] = alpha

    def _keep_skew(self, slot: int, sums: Array, excess: Array) -> None:
        self._record.skew_sums[self._rows, slot] = sums
        self._record.excess[self._rows, slot] = excess

    def _keep_local(self, slot: int, grad_sq: Array, excess: Array) -> None:
        self._record.grad_sq[self._rows, slot] = grad_sq
        self._record.local_excess[self._rows, slot] = excess

    def _keep_path(self, name: str, slot: int, values: dict[str, Array]) -> None:
        for field, value in values.items():
            self._record.paths[name][field][self._rows, slot] = value

    def _raise(self, name: str, values: Array) -> None:
        view = self._record.worst[name][self._rows]
        np.maximum(view, values[: self._keep], out=view)

    def _lower(self, name: str, values: Array) -> None:
        view = self._record.worst[name][self._rows]
        np.minimum(view, values[: self._keep], out=view)
