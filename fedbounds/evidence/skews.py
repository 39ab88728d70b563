"""The weighting skew rho and the ratios kappa = alpha / p, reduced over a run as a reading asks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbounds.model.problem import Array
from fedbounds.model.trajectory import Trajectory
from fedbounds.theory.reading import Reading

# Pairs of (visited weights, visited point) compared at most; beyond that pi, a lower bound, stands in.
MAX_PAIRS = 4e8
# Bytes of one block of the pair table.
BLOCK_ROWS = 2048


def rho_bar(trajectory: Trajectory, reading: Reading) -> Array:
    """min_t rho(t, w_t) a replicate (R,), over every t or over t = 0 mod tau."""
    extremes = trajectory.extremes
    measured = extremes.rho_bar_sync if reading.skew == "sync" else extremes.rho_bar_all
    return np.where(_is_p(trajectory), 1.0, measured)


def rho_tilde(trajectory: Trajectory) -> Array:
    """max_t rho(t, w*) a replicate (R,).

    At Gamma = 0 it is 0/0 and only the product Gamma * rho_tilde, which is 0, enters any bound: 1 is
    returned there, the value of every weighting that agrees with p.
    """
    Gamma, products = trajectory.gamma_star, trajectory.extremes.rho_star_max
    return np.where(_is_p(trajectory) | (Gamma <= 0), 1.0, products / (Gamma if Gamma > 0 else 1.0))


def _is_p(trajectory: Trajectory) -> NDArray[np.bool_]:
    """Where alpha = p throughout (R,): rho is then 1 by definition, not merely up to rounding."""
    return (trajectory.extremes.pi_min == 1) & (trajectory.extremes.pi_max == 1)


def rho_pairs(trajectory: Trajectory) -> tuple[float, bool]:
    """min over visited weights alpha_r and points w', those visited and w*, of sum alpha e(w') / sum p e(w').

    It is Cho et al.'s rho_bar, which ranges over every w', so that it is at most rho_tilde.

    Returns the value and whether it is exact over the recorded pairs; when there are too many pairs
    it is pi = min alpha_i/p_i instead, which bounds it from below; so it is where the run was streamed or thinned.
    """
    if trajectory.streamed or trajectory.experiment.stride > 1:
        return float(trajectory.extremes.pi_min.min()), False
    N = trajectory.experiment.problem.N
    weights = np.unique(trajectory.alpha.reshape(-1, N), axis=0)
    points = np.concatenate([trajectory.excess.reshape(-1, N), trajectory.experiment.problem.star_excess[None]])
    if len(weights) * len(points) > MAX_PAIRS:
        return float(trajectory.extremes.pi_min.min()), False
    denominator = points @ trajectory.experiment.problem.p
    points, denominator = points[denominator > 0], denominator[denominator > 0]
    lowest = np.inf
    for start in range(0, len(points), BLOCK_ROWS):
        block = points[start : start + BLOCK_ROWS] @ weights.T
        lowest = min(lowest, float((block.min(axis=1) / denominator[start : start + BLOCK_ROWS]).min()))
    return (lowest if np.isfinite(lowest) else 1.0), True
