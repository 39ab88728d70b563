"""The compiled engine: the loop's primitives on the arrays a problem offers through ``kernel_data``.

Bits depend on neither the number of threads nor of replicates: each replicate's operations are its own, in
an order fixed at compile time.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fedbounds.engine import streams
from fedbounds.engine.kernels import common as kernel_common
from fedbounds.engine.kernels import logistic as kernel_logistic
from fedbounds.engine.kernels import quadratic as kernel_quadratic
from fedbounds.engine.primitives import Moments, Primitives
from fedbounds.errors import reject
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array

# Arithmetic of one local step of one block (about 2 ms): the bookkeeping between kernels is then a small part,
# and there are as many blocks for threads to share as that allows. The size depends on the problem alone.
BLOCK_WORK = 2**23
FEWEST, MOST = 4, 256


@dataclass(frozen=True)
class Compiled:
    """What the compiled problems share; ``data`` are the arrays of the problem's ``kernel_data``."""

    experiment: Experiment
    data: tuple[Any, ...]
    name = "kernels"

    @cached_property
    def w_star(self) -> Array:
        """w* (d,)."""
        return _own(self.experiment.problem.w_star)

    @cached_property
    def w_i_star(self) -> Array:
        """w_i* (N, d)."""
        return _own(self.experiment.problem.w_i_star)

    @cached_property
    def variance_scale(self) -> Array:
        """What turns the variance of one sample's gradient into that of a batch's mean (N,)."""
        experiment = self.experiment
        n, b = experiment.problem.sizes, experiment.batch_size
        if b is None:
            return np.zeros(len(n))
        correction = 1.0 if experiment.replacement else (n - b) / np.maximum(n - 1, 1)
        return np.where(n > 1, correction, 0.0) / b

    @cached_property
    def _keys(self) -> dict[range, streams.Words]:
        return {}

    def keys(self, replicates: range) -> streams.Words:
        """The stream keys of the local steps (R, N)."""
        if replicates not in self._keys:
            self._keys[replicates] = streams.client_keys(self.experiment.seed, replicates, self.experiment.problem.N)
        return self._keys[replicates]

    def session(self) -> AbstractContextManager[object]:
        """Nothing: kernels are serial and release the interpreter's lock."""
        return nullcontext()

    def blocks(self, replicates: int) -> list[range]:
        """Blocks whose local steps take about BLOCK_WORK operations, in multiples of four replicates."""
        size = min(max(BLOCK_WORK // self.work, FEWEST), MOST) // FEWEST * FEWEST
        return [range(start, min(start + size, replicates)) for start in range(0, replicates, size)]

    @property
    def work(self) -> int:
        """Rough arithmetic of one local step of one replicate."""
        problem = self.experiment.problem
        return 4 * problem.N * problem.d**2 + 1

    def combine(self, X: Array, weights: Array) -> Array:
        """sum_i weights_i x_i: (R, d)."""
        return kernel_common.combine(X, _own(weights))

    def virtual(
        self, X: Array, W: Array, alpha: Array, moments: Moments, weights: Array, eta: float
    ) -> tuple[Array, Array]:
        """Drift and next mean of a virtual iterate, each (R,)."""
        alpha, weights = _own(alpha), _own(weights)
        drift, next_mean = kernel_common.virtual(
            X, W, alpha, moments.grads, moments.variance, weights, eta, self.w_star
        )
        return drift, next_mean


@dataclass(frozen=True)
class Quadratic(Compiled):
    """Constant Hessians; ``data`` = (H, w_i_star, noise_std)."""

    @property
    def H(self) -> Array:
        """Hessians (N, d, d)."""
        return self.data[0]

    @cached_property
    def mean_hessian(self) -> Array:
        """sum_i p_i H_i (1, d, d)."""
        return np.tensordot(self.experiment.problem.p, self.H, 1)[None]

    @cached_property
    def variance(self) -> Array:
        """The variance of a client's batch gradient, the same everywhere (N,)."""
        b = self.experiment.batch_size
        return np.zeros(len(self.H)) if b is None else self.data[2] ** 2 / b

    def excess(self, W: Array) -> Array:
        """e_i(w): (R, d) -> (R, N)."""
        return kernel_quadratic.excess(W, self.H, self.w_i_star)

    def gap(self, W: Array) -> Array:
        """F(w) - F*: (R, d) -> (R,)."""
        return kernel_quadratic.excess(W, self.mean_hessian, self.w_star[None])[:, 0]

    def moments(self, X: Array) -> Moments:
        """Exact local quantities at the local models (R, N, d)."""
        grads, (grad_sq, excess, radius_sq) = kernel_quadratic.moments(X, self.H, self.w_i_star, self.w_star)
        return Moments(grads, grad_sq, self.local_variance(X), excess, radius_sq)

    def local_variance(self, X: Array) -> Array:
        """E||g_i - grad F_i||^2 (R, N)."""
        return np.tile(self.variance, (len(X), 1))

    def step(self, X: Array, eta: float, t: int, replicates: range, grads: Array) -> Array:
        """x_i - eta g_i with the draws of step t: (R, N, d)."""
        if self.experiment.batch_size is None:
            return kernel_common.full_step(X, grads, eta)
        noise = np.sqrt(self.variance / self.experiment.problem.d)
        return kernel_quadratic.normal_step(X, grads, eta, t, self.keys(replicates), noise)


@dataclass(frozen=True)
class LeastSquares(Quadratic):
    """Ridge regression; ``data`` = (X, y, offsets, reg, H, w_i_star, varA, varb, varc)."""

    @property
    def H(self) -> Array:
        """Hessians (N, d, d)."""
        return self.data[4]

    def local_variance(self, X: Array) -> Array:
        """E||g_i - grad F_i||^2 (R, N)."""
        if self.experiment.batch_size is None:
            return np.zeros(X.shape[:2])
        return kernel_quadratic.variance_form(X, self.w_i_star, *self.data[6:], self.variance_scale)

    def step(self, X: Array, eta: float, t: int, replicates: range, grads: Array) -> Array:
        """x_i - eta g_i with the draws of step t: (R, N, d)."""
        b = self.experiment.batch_size
        if b is None:
            return kernel_common.full_step(X, grads, eta)
        features, y, offsets, reg = self.data[:4]
        keys, replacement = self.keys(replicates), self.experiment.replacement
        return kernel_quadratic.sample_step(X, features, y, offsets, reg[0], eta, t, keys, b, replacement)


@dataclass(frozen=True)
class Logistic(Compiled):
    """Binary logistic regression; ``data`` = (X, y, offsets, reg, w_i_star, w_star, residual_i, residual)."""

    @property
    def work(self) -> int:
        """Rough arithmetic of one local step of one replicate: margins, gradients and divergences."""
        return len(self.data[0]) * (6 * self.experiment.problem.d + 200)

    @cached_property
    def columns(self) -> Array:
        """The features client by client, feature by feature (n d,)."""
        return np.concatenate([rows.T.ravel() for rows in np.split(self.data[0], self.data[2][1:-1])])

    @cached_property
    def norms(self) -> Array:
        """||x_j||^2 (n,)."""
        return np.einsum("ni,ni->n", self.data[0], self.data[0])

    @cached_property
    def client_margins(self) -> Array:
        """w_i*.x_j for every sample j of client i (n,)."""
        return np.einsum("ni,ni->n", self.data[0], np.repeat(self.w_i_star, np.diff(self.data[2]), axis=0))

    @cached_property
    def client_sigmoids(self) -> tuple[Array, Array]:
        """Sigmoids of the margins at w_i*, and 1 minus them, each (n,)."""
        return _sigmoid(self.client_margins), _sigmoid(-self.client_margins)

    @cached_property
    def star_sigmoids(self) -> tuple[Array, Array]:
        """Sigmoids of the margins at w*, and 1 minus them, each (n,)."""
        margins = self.data[0] @ self.w_star
        return _sigmoid(margins), _sigmoid(-margins)

    def excess(self, W: Array) -> Array:
        """e_i(w): (R, d) -> (R, N)."""
        _, _, offsets, reg, w_i_star, _, residual_i, _ = self.data
        s, q = self.client_sigmoids
        out = kernel_logistic.excess(W, self.columns, offsets, reg[0], w_i_star, s, q, residual_i)
        return np.maximum(out, 0.0)

    def gap(self, W: Array) -> Array:
        """F(w) - F*: (R, d) -> (R,)."""
        _, _, offsets, reg, _, w_star, _, residual = self.data
        s, q = self.star_sigmoids
        parts = kernel_logistic.excess(W, self.columns, offsets, reg[0], w_star[None], s, q, residual[None])
        return np.maximum((parts * self.experiment.problem.p).sum(-1), 0.0)

    def moments(self, X: Array) -> Moments:
        """Exact local quantities at the local models (R, N, d)."""
        _, labels, offsets, reg, w_i_star, w_star, residual_i, _ = self.data
        grads, (grad_sq, variance, excess, radius_sq) = kernel_logistic.moments(
            X, self.columns, labels, offsets, reg[0], w_i_star, *self.client_sigmoids, self.client_margins,
            residual_i, self.norms, self.variance_scale, w_star,
        )  # fmt: skip
        return Moments(grads, grad_sq, variance, excess, radius_sq)

    def step(self, X: Array, eta: float, t: int, replicates: range, grads: Array) -> Array:
        """x_i - eta g_i with the draws of step t: (R, N, d)."""
        b = self.experiment.batch_size
        if b is None:
            return kernel_common.full_step(X, grads, eta)
        features, labels, offsets, reg = self.data[:4]
        keys, replacement = self.keys(replicates), self.experiment.replacement
        return kernel_logistic.sample_step(X, features, labels, offsets, reg[0], eta, t, keys, b, replacement)


KERNELS: dict[str, type[Compiled]] = {
    "quadratic": Quadratic,
    "least_squares": LeastSquares,
    "logistic": Logistic,
}


def compiled_engine(experiment: Experiment) -> Primitives:
    """The compiled primitives for an experiment whose problem has ``kernel_data``."""
    from fedbounds.engine.kernels.multinomial import Softmax  # which builds on this module

    kernels: dict[str, Any] = {**KERNELS, "softmax": Softmax}
    found = experiment.problem.kernel_data()
    if found is None or found[0] not in kernels:
        name = None if found is None else found[0]
        raise reject(f"a compiled kernel must be one of {', '.join(kernels)}", name, "use engine reference")
    return kernels[found[0]](experiment, tuple(map(_own, found[1])))


def _own(values: np.ndarray) -> np.ndarray:
    """The array in C order and writeable: read-only or strided ones would be compiled for separately."""
    return np.require(values, requirements=["C", "W"])


def _sigmoid(z: Array) -> Array:
    """1 / (1 + exp(-z)) without overflow."""
    small = np.exp(-np.abs(z))
    return np.where(z >= 0, 1.0, small) / (1.0 + small)
