"""What the loop does with models, in plain numpy, through the methods of any `Problem`; and who takes part when.

It runs problems that have no compiled kernels, which override it, and is what these are compared with. ``W`` is a
global model a row (R, d), ``X`` a local model a row and client (R, N, d), ``weights`` (R, N); rows are replicates at
one step or at several, and what is computed of one depends on no other. Replicates run in blocks of exactly ``BLOCK``
rows, padded at the end: no bit depends on how many are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbounds.engine import reference, rng
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array, Indices

BLOCK = 16


class Moments(NamedTuple):
    """Exact local quantities at the local models x_i of one step.

    ``grads`` grad F_i(x_i) (R, N, d), ``grad_sq`` its squared norm, ``variance`` E||g_i - grad F_i||^2,
    ``excess`` F_i(x_i) - F_i*, ``radius_sq`` ||x_i - w*||^2; all but the first (R, N).
    """

    grads: Array
    grad_sq: Array
    variance: Array
    excess: Array
    radius_sq: Array


@dataclass(frozen=True)
class NumpyEngine:
    """The operations on models of an experiment."""

    experiment: Experiment
    name = "reference"

    def session(self) -> AbstractContextManager[object]:
        """What must hold while the engine runs: one thread inside BLAS, whose products then add in one order."""
        from threadpoolctl import threadpool_limits

        return threadpool_limits(limits=1, user_api="blas")

    @property
    def is_compiled(self) -> bool:
        """Whether what a run calls need not be compiled first."""
        return True

    def compile_ahead(self) -> None:
        """Compile what a run calls."""

    def blocks(self, replicates: int) -> list[range]:
        """The replicates to be run together; may reach beyond the number wanted (those rows are discarded)."""
        return [range(start, start + BLOCK) for start in range(0, replicates, BLOCK)]

    def excess(self, W: Array) -> Array:
        """e_i(w) at global models: (R, d) -> (R, N)."""
        return _in_blocks(self.experiment.problem.excess, W)

    def gap(self, W: Array) -> Array:
        """F(w) - F*: (R, d) -> (R,)."""
        return _in_blocks(self.experiment.problem.gap, W)

    def levels(self, W: Array) -> tuple[Array, Array]:
        """Both of them."""
        return self.excess(W), self.gap(W)

    def moments(self, X: Array) -> Moments:
        """Exact local quantities at the local models."""
        problem, experiment = self.experiment.problem, self.experiment
        grads = problem.client_grads(X)
        variance = problem.client_variance(X, experiment.batch_size, experiment.replacement)
        variance = np.broadcast_to(variance, X.shape[:-1])
        return Moments(grads, _norm_sq(grads), variance, problem.client_excess(X), _norm_sq(X - problem.w_star))

    def walk(self, models: Array, etas: Array, t0: int, replicates: range) -> Moments | None:
        """Local steps t0, t0 + 1, ... from models[0], with no aggregation, into models (n + 1, R, N, d).

        Where the steps are taken along gradients that were found with all their moments: these (n, R, ...).
        """
        moments, experiment = [], self.experiment
        for k, eta in enumerate(etas.tolist()):
            moments.append(self.moments(models[k]))
            grads = moments[-1].grads
            if experiment.batch_size is not None:
                grads = experiment.problem.client_grads(models[k], draws_at(experiment, t0 + k, replicates))
            models[k + 1] = models[k] - eta * grads
        return Moments(*map(np.stack, zip(*moments, strict=True)))

    def combine(self, X: Array, weights: Array) -> Array:
        """sum_i weights_i x_i: (R, d)."""
        return np.einsum("rn,rnd->rd", weights, X)

    def virtual(
        self, X: Array, W: Array, alpha: Array, moments: Moments, weights: Array, eta: Array | float
    ) -> tuple[Array, Array]:
        """The drift of a virtual iterate w and the exact expectation of its next squared distance, each (R,).

        sum_i alpha_i ||w - x_i||^2, and E||sum_i weights_i (x_i - eta g_i) - w*||^2 given X =
        ||sum_i weights_i (x_i - eta grad F_i) - w*||^2 + eta^2 sum_i weights_i^2 variance_i, as the clients'
        noises are independent with mean zero. ``eta`` is one number or one a row (R,).
        """
        eta = np.broadcast_to(eta, len(X))
        drift = np.einsum("rn,rn->r", alpha, _norm_sq(W[:, None, :] - X))
        mean = self.combine(X - eta[:, None, None] * moments.grads, weights) - self.experiment.problem.w_star
        noise = np.einsum("rn,rn->r", weights**2, moments.variance)
        return drift, _norm_sq(mean) + eta**2 * noise


def batch_scale(n: Indices, b: int | None, replacement: bool) -> Array:
    """What turns one sample's gradient covariance into that of a batch's mean (N,); 0 where n_i = 1 or b is None."""
    if b is None:
        return np.zeros(len(n))
    correction = np.ones(len(n)) if replacement else (n - b) / np.maximum(n - 1, 1)
    return np.where(n > 1, correction, 0.0) / b


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


def participating_clients(experiment: Experiment, replicates: range, r: int) -> Indices:
    """The max(round(C N), 1) clients that take part in round r, in ascending order: (R, count)."""
    N = experiment.problem.N
    return rng.present_clients(experiment.seed, replicates, r, N, max(round(experiment.participation * N), 1))


def chosen_weights(experiment: Experiment, replicates: range, r: int) -> tuple[Indices, Array]:
    """The clients of round r and p_i over its sum over them, (R, count) each, at the cost of these alone."""
    who = participating_clients(experiment, replicates, r)
    shares = experiment.problem.p[who]
    return who, shares / shares.sum(-1, keepdims=True)


def present(experiment: Experiment, replicates: range, r: int) -> NDArray[np.bool_]:
    """Whether each client takes part in round r (R, N)."""
    mask = np.zeros((len(replicates), experiment.problem.N), dtype=bool)
    np.put_along_axis(mask, participating_clients(experiment, replicates, r), True, axis=-1)
    return mask


def round_weights(experiment: Experiment, replicates: range, r: int, excess: Array) -> tuple[Array, Array]:
    """p and alpha of round r, each (R, N), over the clients that take part."""
    rule, stream = experiment.rule, rng.HashedStream(experiment.seed, replicates, r)
    if experiment.participation == 1:
        return reference.round_weights(rule, experiment.problem.p, excess, r, None, stream)
    return reference.round_weights(rule, experiment.problem.p, excess, r, present(experiment, replicates, r), stream)
