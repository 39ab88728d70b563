"""The worst case of R rounds as functions that can be run at any step sizes: two clients that are mirror images.

The solver's Gram matrix has a block of means and one of deviations. Points whose coordinates are those of both, in
orthogonal spaces, are the first client's; the second has the deviations with the other sign. The first client is
(mu/2) ||x||^2 plus the smallest convex K-smooth function through the points, K = L - mu:

    h(x) = max over the simplex of  l . (b + C x) - l G l/2,   G = C C^T/K,   b_j = h_j - <c_j, x_j> + G_jj/2.

It is convex and K-smooth whatever the data are, also where G has a larger diagonal. Made sure besides are the
gradient at w* = 0, a deviation of length zeta_*, and ||w_0||: so every run is a lower bound on its class, up to the
rounding of the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbounds.evidence.sdp.multi_round.program import Run, gradient_points, gradient_program
from fedbounds.evidence.sdp.solver import Solution
from fedbounds.model.problem import Array

# Directions in which the worst case extends less than this part of its largest are the solver's rounding.
FLAT = 1e-10
# Added to the diagonal of G, relative to its largest entry, so that the weights are unique.
RIDGE = 1e-9
# Weights above this are positive, and slopes above this lead upwards, relative to the largest of G and b.
POSITIVE, UPWARDS = 1e-13, 1e-12
# Changes of the active pieces at one point: far more than there are pieces.
CHANGES = 200


@dataclass(frozen=True, eq=False)
class MirroredClients:
    """Pieces (k, d) and (k,) of the first client, of which ``means`` coordinates are those of the mean; the start."""

    mu: float
    slopes: Array
    offsets: Array
    G: Array
    start: Array
    means: int

    def at(self, x: Array) -> tuple[Array, Array]:
        """(F_1, grad F_1) at x (B, d): (B,), (B, d)."""
        heights = self.offsets + x @ self.slopes.T
        weights = simplex_maxima(self.G, heights)
        values = (weights * (heights - weights @ self.G / 2)).sum(axis=1)
        return values + self.mu / 2 * (x**2).sum(axis=1), weights @ self.slopes + self.mu * x

    def run(self, run: Run, eta: Array, server: Array) -> Array:
        """What R rounds measure at several step sizes, (B, 1) or (B, R), with those of the server (B,): (B,)."""
        w = np.tile(self.start, (len(eta), 1))
        for sizes in np.broadcast_to(eta, (len(eta), run.rounds)).T:
            x = w
            for _ in range(run.tau):
                x = x - sizes[:, None] * self.at(x)[1]
            w = w + server[:, None] * (np.where(np.arange(x.shape[1]) < self.means, x, 0.0) - w)
        if run.measure == "distance":
            return np.asarray((w**2).sum(axis=1))
        return np.asarray(self.at(w)[0] - self.at(np.zeros((1, w.shape[1])))[0])


def rebuilt(run: Run, solution: Solution, delta_0: float, zeta_sq: float) -> MirroredClients:
    """The clients of a solver's worst case, where the two blocks are those of the run."""
    common = not zeta_sq
    program, frames = gradient_program(run, float, common), []
    for block in program.blocks:
        eigenvalues, vectors = np.linalg.eigh(solution.gram[np.ix_(block, block)])
        large = eigenvalues > FLAT * eigenvalues[-1]
        frame = np.zeros((len(program.vectors), large.sum()))
        frame[block] = vectors[:, large] * np.sqrt(eigenvalues[large])
        frames.append(frame)
    frame, means = np.hstack(frames), frames[0].shape[1]
    every = gradient_points(run, float, common)[0]
    x, c = (np.stack([program.coordinates(getattr(point, name)) for point in every]) @ frame for name in "xg")
    h = np.array([program.form(point.f).lin @ solution.values for point in every])
    c[-1, :means] = 0.0
    c[-1] *= np.sqrt(zeta_sq) / (np.linalg.norm(c[-1]) or 1.0)
    G = ridged(c @ c.T / float(run.L - run.mu))
    b = h - (c * x).sum(axis=1) + np.diag(G) / 2
    # At w* the piece of w* is the one that is active.
    b = np.minimum(b, b[-1] - G[-1, -1] + G[-1])
    start = np.where(np.arange(x.shape[1]) < means, x[0], 0.0)
    return MirroredClients(float(run.mu), c, b, G, start * np.sqrt(delta_0) / np.linalg.norm(start), means)


def ridged(G: Array) -> Array:
    """G with a little on its diagonal."""
    return np.asarray(G + RIDGE * np.abs(G).max() * np.eye(len(G)))


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
