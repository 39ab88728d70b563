"""What the definitions of several quantities share: functions of arrays, and of one path of a run.

Floats and fractions alike. Those that take arrays allow any leading axes: exact runs and the search's populations
call them. Compiled engines compute most of them faster, and are tested against these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fedbounds.theory.path import Losses, Numbers, Path


def norm_sq(vectors: Numbers) -> Numbers:
    """||v||^2 along the last axis."""
    return (vectors**2).sum(-1)


def ratio(above: Numbers, below: Numbers, otherwise: float = 1) -> Numbers:
    """above / below, and ``otherwise`` where below is not positive."""
    positive = below > 0
    return np.where(positive, above / np.where(positive, below, 1), otherwise)


def skew(alpha: Numbers, p: Numbers, gaps: Numbers) -> Numbers:
    """rho = sum_i alpha_i e_i / sum_i p_i e_i of weights and gaps (..., N); 1 where every gap is 0."""
    return ratio((alpha * gaps).sum(-1), (p * gaps).sum(-1))


def heterogeneity(losses: Losses) -> Numbers:
    """Gamma = F* - sum_i p_i F_i* (...)."""
    return (losses.p * losses.excess(losses.w_star)).sum(-1)


def skew_at_optimum(products: Numbers, Gamma: Numbers, is_p: Any) -> Numbers:
    """rho(t, w*) = sum_i alpha_i e_i(w*) / Gamma; 1 where ``is_p`` says that alpha = p, and where Gamma = 0."""
    return np.where(is_p, 1, ratio(products, Gamma))


def deviation(alpha: Numbers, w: Numbers, x: Numbers) -> Numbers:
    """sum_i alpha_i ||w - x_i||^2 of w (..., d) and x (..., N, d)."""
    return (alpha * norm_sq(w[..., None, :] - x)).sum(-1)


def variance_of_mean(p: Numbers, variances: Numbers) -> Numbers:
    """sum_i p_i^2 sigma_i^2 (...), with sigma_i^2 the largest of the variances (..., n, N) of client i."""
    return (p**2 * variances.max(-2)).sum(-1)


def ratios_of_steps(eta: Numbers, tau: int) -> Numbers:
    """max_{t_0 <= s <= t} eta_s / eta_t of step sizes (..., T), with t_0 the first step of the round."""
    rounds = eta.reshape(*eta.shape[:-1], -1, tau)
    return (np.maximum.accumulate(rounds, axis=-1) / rounds).reshape(eta.shape)


def growth_of_steps(eta: Numbers, tau: int) -> Numbers:
    """max_{t_0 <= s <= t} eta_t / eta_s of step sizes (..., T), with t_0 the first step of the round."""
    rounds = eta.reshape(*eta.shape[:-1], -1, tau)
    return (rounds / np.minimum.accumulate(rounds, axis=-1)).reshape(eta.shape)


def sums(values: Numbers) -> Numbers:
    """0 and the sums of the first 1, 2, ... values."""
    return np.append([0], np.cumsum(values))


def distance_sq(path: Path) -> Numbers:
    """||w_t - w*||^2 at 0 ... T."""
    return norm_sq(path.w - path.losses.w_star)


def of_each(values: Numbers) -> Numbers:
    """Each client's function at its own point (T, N, ...), of every function at every point (T, N, N, ...)."""
    clients = np.arange(values.shape[1])
    return values[:, clients, clients]


def virtual(path: Path) -> Numbers:
    """sum_i alpha_t^i w_t^i at 0 ... T - 1 (T, d), whatever weights the reading gives the iterate inside a round."""
    starts = np.arange(len(path.eta)) == path.begun[:-1]
    return np.where(starts[:, None], path.w[:-1], (path.alpha[..., None] * path.X).sum(-2))


def is_p(path: Path) -> bool:
    """Whether alpha = p on the clients present: rho is then 1 by definition, not merely up to rounding."""
    return bool((path.alpha == path.shares).all())


def weight_ratios(path: Path) -> Numbers:
    """alpha_t^i / p_i over the clients present."""
    present = path.shares > 0
    return path.alpha[present] / path.shares[present]


def variances(path: Path, x: Numbers = None) -> Numbers:
    """The variance of each client's stochastic gradient at its local model, or at points x (..., N, d): (..., N)."""
    if path.variance is None:
        raise ValueError("the variance of stochastic gradients is not known on this path")
    return path.variance(path.X if x is None else x)


def variances_at_optimum(path: Path) -> Numbers:
    """The same at w* (N,)."""
    return variances(path, np.broadcast_to(path.losses.w_star, (1, *path.X.shape[1:])))[0]


def slopes_and_mean(path: Path) -> tuple[Numbers, Numbers]:
    """grad F_i(w_t) (T + 1, N, d) and grad F(w_t) (T + 1, d)."""
    slopes = path.losses.grads(path.w)
    return slopes, (slopes * path.losses.p[:, None]).sum(-2)


def gap_of_average(weights: Callable[[Path], Numbers], tail: int = 0) -> Callable[[Path], Numbers]:
    """The path's F(sum_t c_t w_t / sum_t c_t) - F* over t < T, at every T; the first T // tail steps left out."""

    def gaps(path: Path) -> Numbers:
        c = weights(path)
        ends = np.arange(1, len(path.w))
        starts = ends // tail if tail else 0 * ends
        above, below = (np.append(0 * s[:1], np.cumsum(s, axis=0), axis=0) for s in (c[:, None] * path.w[:-1], c))
        means = (above[ends] - above[starts]) / (below[ends] - below[starts])[:, None]
        return path.losses.gap(np.append(path.w[:1], means, axis=0))

    return gaps
