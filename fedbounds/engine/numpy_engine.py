"""The engine in plain numpy: runs any `Problem` through its own methods, and is the compiled kernels' oracle.

Replicates run in blocks of exactly ``BLOCK`` rows, padded at the end: no bit depends on how many are asked for.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbounds.engine import rng
from fedbounds.engine.backend import Backend, Moments
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array

BLOCK = 16


@dataclass(frozen=True)
class NumpyEngine(Backend):
    """The engine's primitives for an experiment, through the methods of its problem."""

    experiment: Experiment
    name = "reference"

    def session(self) -> AbstractContextManager[object]:
        """One thread inside BLAS: its products then add in one order, and blocks use the other processors."""
        from threadpoolctl import threadpool_limits

        return threadpool_limits(limits=1, user_api="blas")

    def blocks(self, replicates: int) -> list[range]:
        return [range(start, start + BLOCK) for start in range(0, replicates, BLOCK)]

    def excess(self, W: Array) -> Array:
        return _in_blocks(self.experiment.problem.excess, W)

    def gap(self, W: Array) -> Array:
        return _in_blocks(self.experiment.problem.gap, W)

    def moments(self, X: Array) -> Moments:
        problem, experiment = self.experiment.problem, self.experiment
        grads = problem.client_grads(X)
        variance = problem.client_variance(X, experiment.batch_size, experiment.replacement)
        variance = np.broadcast_to(variance, X.shape[:-1])
        return Moments(grads, _norm_sq(grads), variance, problem.client_excess(X), _norm_sq(X - problem.w_star))

    def step(self, X: Array, eta: float, t: int, replicates: range, grads: Array) -> Array:
        experiment = self.experiment
        if experiment.batch_size is None:
            return X - eta * grads
        return X - eta * experiment.problem.client_grads(X, draws_at(experiment, t, replicates))

    def combine(self, X: Array, weights: Array) -> Array:
        return np.einsum("rn,rnd->rd", weights, X)

    def virtual(
        self, X: Array, W: Array, alpha: Array, moments: Moments, weights: Array, eta: Array | float
    ) -> tuple[Array, Array]:
        eta = np.broadcast_to(eta, len(X))
        drift = np.einsum("rn,rn->r", alpha, _norm_sq(W[:, None, :] - X))
        mean = self.combine(X - eta[:, None, None] * moments.grads, weights) - self.experiment.problem.w_star
        noise = np.einsum("rn,rn->r", weights**2, moments.variance)
        return drift, _norm_sq(mean) + eta**2 * noise


def _in_blocks(function: Callable[[Array], Array], W: Array) -> Array:
    """function(W), never on more than BLOCK rows at once."""
    return np.concatenate([function(W[start : start + BLOCK]) for start in range(0, len(W), BLOCK)])


def _norm_sq(vectors: Array) -> Array:
    """||v||^2 along the last axis."""
    return np.einsum("...d,...d->...", vectors, vectors)


def draws_at(experiment: Experiment, t: int, replicates: range) -> NDArray[Any]:
    """What the gradients of local step t are drawn from: (R, N, b) indices, or (R, N, d) normal vectors."""
    problem, size = experiment.problem, experiment.batch_size
    keys = rng.absorb(rng.client_keys(experiment.seed, replicates, problem.N), t)
    assert size is not None
    if problem.sampling == "normal":
        return rng.normals(keys, problem.d) / np.sqrt(size)
    if experiment.replacement:
        return rng.indices(keys, problem.sizes, size)
    return rng.distinct_indices(keys, problem.sizes, size)
