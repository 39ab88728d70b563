"""The quantities of a theorem as functions of one path of a run, for floats and for fractions alike.

Those that take arrays instead of a path allow any leading axes: exact runs and the search's populations call them.
Compiled engines compute most of them faster, and are tested against these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fedbounds.theory.quantity import Losses, Numbers, Path


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


def distance_sq(path: Path) -> Numbers:
    """||w_t - w*||^2 at 0 ... T."""
    return norm_sq(path.w - path.losses.w_star)


def next_distance_sq(path: Path) -> Numbers:
    """||w_{t+1} - w*||^2 at 0 ... T - 1."""
    return distance_sq(path)[1:]


def gap(path: Path) -> Numbers:
    """F(w_t) - F* at 0 ... T."""
    return path.losses.gap(path.w)


def drift(path: Path) -> Numbers:
    """sum_i alpha_t^i ||w_t - w_t^i||^2 at 0 ... T - 1."""
    return deviation(path.alpha, path.w[:-1], path.X)


def _of_each(values: Numbers) -> Numbers:
    """Each client's function at its own point (T, N, ...), of every function at every point (T, N, N, ...)."""
    clients = np.arange(values.shape[1])
    return values[:, clients, clients]


def client_gradient_sq(path: Path) -> Numbers:
    """||grad F_i(w_t^i)||^2 (T, N)."""
    return norm_sq(_of_each(path.losses.grads(path.X)))


def client_gap(path: Path) -> Numbers:
    """F_i(w_t^i) - F_i* (T, N)."""
    return _of_each(path.losses.excess(path.X))


def virtual(path: Path) -> Numbers:
    """sum_i alpha_t^i w_t^i at 0 ... T - 1 (T, d), whatever weights the reading gives the iterate inside a round."""
    starts = np.arange(len(path.eta)) == path.begun[:-1]
    return np.where(starts[:, None], path.w[:-1], (path.alpha[..., None] * path.X).sum(-2))


def skews(path: Path) -> Numbers:
    """rho(t, w_t) = sum_i alpha_i e_i(w_t) / sum_i p_i e_i(w_t), at every step or at the first of each round."""
    rho = np.where(_is_p(path), 1, skew(path.alpha, path.shares, path.losses.excess(virtual(path))))
    return rho[:: path.tau] if path.synchronised_skew else rho


def skews_at_optimum(path: Path) -> Numbers:
    """rho(t, w*); 1 where alpha = p on the path, and where Gamma = 0."""
    products = path.alpha @ path.losses.excess(path.losses.w_star)
    return skew_at_optimum(products, heterogeneity(path.losses), _is_p(path))


def _is_p(path: Path) -> bool:
    """Whether alpha = p on the clients present: rho is then 1 by definition, not merely up to rounding."""
    return bool((path.alpha == path.shares).all())


def weight_ratios(path: Path) -> Numbers:
    """alpha_t^i / p_i over the clients present."""
    present = path.shares > 0
    return path.alpha[present] / path.shares[present]


def participation(path: Path) -> Numbers:
    """The share of the clients present at each step."""
    return (path.shares > 0).sum(-1) / (0 * path.eta + path.shares.shape[-1])


def step_ratios(path: Path) -> Numbers:
    """max_{t_0 <= s <= t} eta_s / eta_t, with t_0 the first step of the round."""
    return ratios_of_steps(path.eta, path.tau)


def variances(path: Path) -> Numbers:
    """The variance of each client's stochastic gradient at its local model (T, N)."""
    if path.variance is None:
        raise ValueError("the variance of stochastic gradients is not known on this path")
    return path.variance(path.X)


def second_moments(path: Path) -> Numbers:
    """E||g_i(w_t^i)||^2 (T, N)."""
    return client_gradient_sq(path) + variances(path)


def mean_variance(path: Path) -> Numbers:
    """sum_i p_i^2 sigma_i^2, with sigma_i^2 the largest variance of client i on the path."""
    return variance_of_mean(path.losses.p, variances(path))


def _variances_at_optimum(path: Path) -> Numbers:
    if path.variance is None:
        raise ValueError("the variance of stochastic gradients is not known on this path")
    return path.variance(np.broadcast_to(path.losses.w_star, (1, *path.X.shape[1:])))[0]


def mean_variance_at_optimum(path: Path) -> Numbers:
    """sum_i p_i^2 Var g_i(w*)."""
    return path.losses.p**2 @ _variances_at_optimum(path)


def second_moment_at_optimum(path: Path) -> Numbers:
    """sum_i p_i E||g_i(w*)||^2."""
    return path.losses.p @ _variances_at_optimum(path) + slopes_at_optimum(path.losses)


def slopes_at_optimum(losses: Losses) -> Numbers:
    """sum_i p_i ||grad F_i(w*)||^2."""
    return losses.p @ norm_sq(losses.grads(losses.w_star))


def gradient_spread(path: Path) -> Numbers:
    """sum_i p_i ||grad F_i(w_t) - grad F(w_t)||^2 at 0 ... T."""
    slopes, p = path.losses.grads(path.w), path.losses.p
    mean = (slopes * p[:, None]).sum(-2)
    return norm_sq(slopes - mean[..., None, :]) @ p


def dissimilarity_beyond(B_sq: Any) -> Callable[[Path], Numbers]:
    """The path's max(sum_i p_i ||grad F_i||^2 - B^2 ||grad F||^2, 0) at 0 ... T."""

    def beyond(path: Path) -> Numbers:
        slopes, p = path.losses.grads(path.w), path.losses.p
        mean = (slopes * p[:, None]).sum(-2)
        return np.maximum(norm_sq(slopes) @ p - B_sq * norm_sq(mean), 0)

    return beyond


def first_step(path: Path) -> Numbers:
    """The step size of the first step of the round of each of 0 ... T - 1."""
    return path.eta[path.begun[:-1]]


def distance_at_start_sq(path: Path) -> Numbers:
    """||w - w*||^2 at the start of the round of each of 0 ... T."""
    return distance_sq(path)[path.begun]


def distance_at_end_sq(path: Path) -> Numbers:
    """||w - w*||^2 at the end of the round of each of 0 ... T - 1."""
    return distance_sq(path)[path.begun[:-1] + path.tau]


def gap_at_start(path: Path) -> Numbers:
    """F(w) - F* at the start of the round of each of 0 ... T."""
    return gap(path)[path.begun]


def sums(values: Numbers) -> Numbers:
    """0 and the sums of the first 1, 2, ... values."""
    return np.append([0], np.cumsum(values))


def distance_gone_sq(path: Path) -> Numbers:
    """(1 - prod_{t_0 <= s < t} (1 - eta_s mu))^2 at 0 ... T - 1."""
    factors = 1 - path.eta * path.losses.mu
    return np.array([(1 - factors[start:t].prod()) ** 2 for t, start in enumerate(path.begun[:-1])])


def weight_variance(path: Path) -> Numbers:
    """1 - max(2 max_i alpha_t^i - 1, 0)^2, the largest variance of weighted points in a unit ball."""
    top = path.alpha.max(axis=-1)
    return 1 - np.maximum(2 * top - 1, 0 * top) ** 2


def equal_weights(path: Path) -> Numbers:
    """1 for each of the steps."""
    return np.ones(len(path.eta), dtype=path.w.dtype)


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
