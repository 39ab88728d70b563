"""How far a run is from w*, and when that is too far for a stable one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedbounds.engine.time_grid import TimeGrid
from fedbounds.errors import DivergedError
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array

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
