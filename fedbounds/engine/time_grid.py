"""The times of a run, and how far from w* a stable one gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import DivergedError
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array
from fedbounds.model.schedule import steps


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

    @property
    def eta_ratio(self) -> float:
        """max over t and s <= t of the same round of eta_s / eta_t."""
        return max(
            float(np.max(np.maximum.accumulate(self.eta[begin:end]) / self.eta[begin:end]))
            for begin, end in self.rounds
        )

    @property
    def eta_growth(self) -> float:
        """max over t and s <= t of the same round of eta_t / eta_s."""
        return max(
            float(np.max(self.eta[begin:end] / np.minimum.accumulate(self.eta[begin:end])))
            for begin, end in self.rounds
        )


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
