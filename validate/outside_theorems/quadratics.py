"""What is computed of quadratic clients: the limit of FedAvg, moments under growing noise, what they are like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fedbounds.theory.quantity import Losses, Numbers, Path
from validate.outside_theorems.formulas import norm_sq


def derivatives(losses: Losses) -> tuple[Numbers, Numbers]:
    """H_i (N, d, d) and grad F_i(w*) (N, d) of quadratics."""
    star = losses.w_star
    at = losses.grads(star)
    ahead = [losses.grads(star + row) for row in np.eye(len(star), dtype=int)]
    return np.stack([grads - at for grads in ahead], axis=-1), at


def local_steps(losses: Losses, eta: Any) -> tuple[Numbers, Numbers]:
    """(x, 1) -> (x - eta grad F_i, 1) and (x, 1) -> (grad F_i, 0), x = w - w*, as matrices (N, d + 1, d + 1)."""
    H, b = derivatives(losses)
    G = np.zeros((len(b), b.shape[1] + 1, b.shape[1] + 1), dtype=b.dtype)
    G[:, :-1, :-1], G[:, :-1, -1] = H, b
    return np.eye(G.shape[-1], dtype=int) - eta * G, G


def limit(path: Path) -> Numbers:
    """w_inf of noise-free FedAvg on quadratics with the run's first step size: the fixed point of a round."""
    B, _ = local_steps(path.losses, path.eta[0])
    power = B
    for _ in range(path.tau - 1):
        power = power @ B
    rows = np.eye(B.shape[1], dtype=int) - (path.losses.p[:, None, None] * power).sum(axis=0)
    rows = rows[:-1] * np.array([*[1] * (len(rows) - 1), -1])
    for k in range(len(rows)):  # rows are those of I - M, with M's constant part behind them
        rows[k] = rows[k] / rows[k, k]
        for j in set(range(len(rows))) - {k}:
            rows[j] = rows[j] - rows[j, k] * rows[k]
    return path.losses.w_star + rows[:, -1]


def noisy_distance(c: int, sigma_sq: int) -> Callable[[Path], Numbers]:
    """E||wbar_T - w*||^2 on quadratics, noise of client i: root(c) xi_i grad F_i + sigma xi_i' e_1, all independent.

    The moments E z_i z_j^T of z_i = (w_i - w*, 1) are followed; the path gives the start and the step sizes.
    """

    def distances(path: Path) -> Numbers:
        p, every = path.losses.p, np.arange(len(path.losses.p))
        z = np.append(path.w[0] - path.losses.w_star, [1])
        Z = np.broadcast_to(np.outer(z, z), (len(p), len(p), len(z), len(z)))
        result = [norm_sq(z[:-1])]
        for t, eta in enumerate(path.eta):
            B, G = local_steps(path.losses, eta)
            noise = eta**2 * c * (G @ Z[every, every] @ G.swapaxes(1, 2))
            noise[:, 0, 0] = noise[:, 0, 0] + eta**2 * sigma_sq
            Z = B[:, None] @ Z @ B.swapaxes(1, 2)[None]
            Z[every, every] = Z[every, every] + noise
            together = (p[:, None, None, None] * p[:, None, None] * Z).sum(axis=(0, 1))
            result.append(np.trace(together[:-1, :-1]))
            Z = np.broadcast_to(together, Z.shape) if (t + 1) % path.tau == 0 else Z
        return np.array(result)

    return distances


def differs(found: Numbers, size: Numbers) -> int:
    """Whether anything is not 0, beyond rounding where numbers are floats."""
    slack = 0 if found.dtype == object else 1e-9 * abs(size).max()
    return int(abs(found).max() > slack)


def bends(losses: Losses) -> int:
    """Whether some gradient is not affine along an axis: three points far out on both sides of all minimisers."""
    far = 1000 * (1 + abs(losses.w_i_star).max()) * np.eye(len(losses.w_star), dtype=int)
    grads = [losses.grads(k * far) for k in (-1, 0, 1)]
    return differs(grads[0] + grads[2] - 2 * grads[1], grads[2])


def hessians_differ(losses: Losses) -> int:
    """Whether the clients' Hessians do."""
    H, _ = derivatives(losses)
    return differs(H - H[:1], H)
