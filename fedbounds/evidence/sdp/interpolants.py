"""The smallest smooth convex function through given points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbounds.model.problem import Array

# Added to the diagonal of G, relative to its largest entry, so that the weights are unique.
RIDGE = 1e-9
# Weights above this are positive, and slopes above this lead upwards, relative to the largest of G and b.
POSITIVE, UPWARDS = 1e-13, 1e-12
# Changes of the active pieces at one point: far more than there are pieces.
CHANGES = 200


@dataclass(frozen=True, eq=False)
class Interpolant:
    """F(x) = mu/2 ||x||^2 + the smallest convex K-smooth function through k points, K = L - mu.

    Without mu/2 ||x||^2, c_j and h_j being the gradients and values there, it is

        max over the simplex of  l . (b + C x) - l G l/2,   G = C C^T/K,   b_j = h_j - <c_j, x_j> + G_jj/2

    (Taylor, Hendrickx, Glineur, 2017), convex and K-smooth whatever the data are, also where G has a larger diagonal.
    ``slopes`` C (k, d), ``offsets`` b (k,).
    """

    mu: float
    slopes: Array
    offsets: Array
    G: Array

    @staticmethod
    def through(x: Array, slopes: Array, values: Array, mu: float, L: float) -> Interpolant:
        """The function through points x (k, d) with these slopes C and values h."""
        G = slopes @ slopes.T / (L - mu)
        G = G + RIDGE * np.abs(G).max() * np.eye(len(G))
        return Interpolant(mu, slopes, values - (slopes * x).sum(axis=1) + np.diag(G) / 2, G)

    def __call__(self, x: Array) -> tuple[Array, Array]:
        """(F, grad F) at x (B, d): (B,), (B, d)."""
        heights = self.offsets + x @ self.slopes.T
        weights = simplex_maxima(self.G, heights)
        values = (weights * (heights - weights @ self.G / 2)).sum(axis=1)
        return values + self.mu / 2 * (x**2).sum(axis=1), weights @ self.slopes + self.mu * x


def simplex_maxima(G: Array, heights: Array) -> Array:
    """argmax over the simplex of l . heights - l G l/2 for several heights (B, k): (B, k); G is positive definite.

    Pieces become active one by one, those that lead upwards most first, and leave where their weight would be
    negative.
    """
    scale = max(np.abs(G).max(), np.abs(heights).max(initial=0.0))
    result: Array = np.eye(len(G))[np.argmax(heights - np.diag(G) / 2, axis=1)]
    active: NDArray[np.bool_] = np.array(result > 0)
    todo = np.arange(len(heights))
    for _ in range(CHANGES):
        if not todo.size:
            break
        weights, price = _stationary(G, heights[todo], active[todo])
        before, mine = result[todo], active[todo]
        falls = np.logical_and(mine, weights < 0)
        ratios = np.where(falls, before / np.where(falls, before - weights, 1.0), 1.0)
        moved = before + ratios.min(axis=1, keepdims=True) * (weights - before)
        blocked = np.asarray(falls.any(axis=1))
        stays = ~blocked[:, None] | (moved > POSITIVE)
        result[todo] = np.where(blocked[:, None], np.where(stays, moved, 0.0), weights)
        slopes = np.where(mine, -np.inf, heights[todo] - weights @ G - price[:, None])
        upwards = ~blocked & (slopes.max(axis=1) > UPWARDS * scale)
        active[todo] = np.logical_and(mine, stays)
        active[todo[upwards], slopes[upwards].argmax(axis=1)] = True
        todo = todo[blocked | upwards]
    return result


def _stationary(G: Array, heights: Array, active: NDArray[Any]) -> tuple[Array, Array]:
    """(weights (B, k) with sum 1, multiplier (B,)) where the slope along active pieces is one number."""
    k = len(G)
    system = np.zeros((len(heights), k + 1, k + 1))
    system[:, :k, :k] = np.where(active[:, :, None] & active[:, None, :], G, np.eye(k))
    system[:, :k, k] = system[:, k, :k] = active
    right = np.concatenate([np.where(active, heights, 0.0), np.ones((len(heights), 1))], axis=1)
    solved = np.linalg.solve(system, right[..., None])[..., 0]
    return solved[:, :k], solved[:, k]
