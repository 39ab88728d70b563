"""The compiled engine: the loop's primitives on the arrays a problem offers through ``kernel_data``.

Bits depend on neither the number of threads nor of replicates: each replicate's operations are its own, in
an order fixed at compile time.
"""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fedbounds.engine import rng
from fedbounds.engine.kernels import compiled as kernel_common
from fedbounds.engine.kernels import minibatch_steps as kernel_steps
from fedbounds.engine.kernels import quadratic as kernel_hessians
from fedbounds.engine.kernels.vectors import LANES, WORD, padded
from fedbounds.engine.memory import SPAN
from fedbounds.engine.numpy_engine import Moments, NumpyEngine, batch_scale
from fedbounds.engine.parallel import blocks_of, in_processes
from fedbounds.model.problem import Array, Indices, LogisticArrays

# Arithmetic of one local step of one block (about 0.5 ms): the bookkeeping between kernels is then a small part, and
# 32 replicates of an ordinary problem make blocks for two threads. The size depends on the problem alone.
BLOCK_WORK = 2**21
FEWEST, MOST = 4, 256
# Replicates share what is fetched of a client's data: so many run together, too, if their models fit in one span.
SHARED = 16
# Arithmetic of an exponential with what goes with it, in fused operations.
EXPONENTIAL = 30


@dataclass(frozen=True)
class Compiled(NumpyEngine):
    """What the compiled problems share; ``data`` are the arrays of the problem."""

    data: Any
    name = "kernels"
    # The kernel of a run whose compilation takes longest.
    largest = kernel_hessians.moments

    def session(self) -> AbstractContextManager[object]:
        """Nothing: kernels use no BLAS."""
        return nullcontext()

    @cached_property
    def w_star(self) -> Array:
        return c_ordered(self.experiment.problem.w_star)

    @cached_property
    def w_i_star(self) -> Array:
        return c_ordered(self.experiment.problem.w_i_star)

    @cached_property
    def variance_scale(self) -> Array:
        experiment = self.experiment
        return batch_scale(experiment.problem.sizes, experiment.batch_size, experiment.replacement)

    @cached_property
    def noise(self) -> Array:
        """Standard deviation of every entry of a client's additive noise (N,)."""
        return np.zeros(self.experiment.problem.N)

    @cached_property
    def _keys(self) -> dict[range, rng.Words]:
        return {}

    def keys(self, replicates: range) -> rng.Words:
        """The stream keys of the local steps (R, N)."""
        if replicates not in self._keys:
            self._keys[replicates] = rng.client_keys(self.experiment.seed, replicates, self.experiment.problem.N)
        return self._keys[replicates]

    def blocks(self, replicates: int) -> list[range]:
        """Powers of two of replicates, whose local steps take about BLOCK_WORK operations or more (SHARED)."""
        fewest = max(min(SPAN // (self.experiment.problem.N * self.experiment.problem.d), SHARED), FEWEST)
        size = 1 << min(max(BLOCK_WORK // self.work, fewest), MOST).bit_length() - 1
        return blocks_of(replicates, size)

    @property
    def work(self) -> int:
        """Rough arithmetic of one local step of one replicate."""
        problem = self.experiment.problem
        return 4 * problem.N * problem.d**2 + 1

    @property
    def is_compiled(self) -> bool:
        return kernel_common.is_cached(self.largest)

    def compile_ahead(self) -> None:
        """Compile what a run calls, in two processes: each primitive is called once."""
        problem = self.experiment.problem
        models = np.tile(self.experiment.start, (2, 1, problem.N, 1))
        W, p, eta = c_ordered(models[0, :, 0]), problem.p[None], np.zeros(1)

        def steps() -> None:
            self.walk(models, eta, 0, range(1))

        def measures() -> None:
            self.excess(W)
            self.virtual(models[0], W, p, self.moments(models[0]), p, eta)
            self.combine(models[0], p)

        in_processes([steps, measures])

    def combine(self, X: Array, weights: Array) -> Array:
        return kernel_common.combine(X, c_ordered(weights))

    def virtual(
        self, X: Array, W: Array, alpha: Array, moments: Moments, weights: Array, eta: Array | float
    ) -> tuple[Array, Array]:
        eta = np.broadcast_to(eta, len(X))
        arrays = (c_ordered(values) for values in (X, W, alpha, moments.grads, moments.variance, weights, eta))
        drift, next_mean = kernel_common.virtual(*arrays, self.w_star)
        return drift, next_mean


@dataclass(frozen=True)
class Quadratic(Compiled):
    """Constant Hessians; ``data`` are `QuadraticArrays`."""

    @cached_property
    def forms(self) -> Array:
        """The Hessians as a flat table."""
        return c_ordered(self.data.H).ravel()

    @cached_property
    def mean_hessian(self) -> Array:
        """sum_i p_i H_i."""
        return np.tensordot(self.experiment.problem.p, self.data.H, 1).ravel()

    @cached_property
    def noise(self) -> Array:
        return np.sqrt(self.variance_form[-1] / self.experiment.problem.d)

    @cached_property
    def variance_form(self) -> tuple[Array, Array, Array]:
        """What the kernel computes gradient variances from: here the variances themselves."""
        b, noise_std = self.experiment.batch_size, self.data.noise_std
        return np.empty((0, 0)), np.empty(0), np.zeros(len(noise_std)) if b is None else noise_std**2 / b

    def excess(self, W: Array) -> Array:
        return kernel_hessians.excess(W, self.forms, self.w_i_star)

    def gap(self, W: Array) -> Array:
        return kernel_hessians.excess(W, self.mean_hessian, self.w_star[None])[:, 0]

    def moments(self, X: Array) -> Moments:
        result = self._moments(X[None], np.empty(0), 0, np.empty((0, 0), dtype=np.uint64))
        return Moments(*(values[0] for values in result))

    def walk(self, models: Array, etas: Array, t0: int, replicates: range) -> Moments | None:
        return self._moments(models, etas, t0, self.keys(replicates))

    def _moments(self, models: Array, etas: Array, t0: int, keys: rng.Words) -> Moments:
        arrays = self.forms, self.w_i_star, self.w_star, *self.variance_form
        grads, sums = kernel_hessians.moments(models, etas, t0, keys, self.noise, *arrays)
        return Moments(grads, *sums)


@dataclass(frozen=True)
class Sampled(Compiled):
    """Clients with samples, whose minibatch steps are compiled as a whole."""

    largest = kernel_steps.local_steps

    @property
    def sizes(self) -> Indices:
        return np.diff(self.data.offsets)

    @cached_property
    def step_arrays(self) -> tuple[Any, ...]:
        """The samples in rows of whole vectors from the start of a cache line on, their targets, where each client's
        begin, and what loss and draws they have.
        """
        K = self.data.K if isinstance(self.data, LogisticArrays) else 0
        kind = K, self.experiment.replacement, float(self.data.reg)
        rows = np.pad(self.data.X, ((0, 0), (0, -self.data.X.shape[1] % LANES)))
        home = np.zeros(rows.size + LANES)
        skip = -home.ctypes.data // WORD % LANES
        home[skip : skip + rows.size] = rows.ravel()
        return home[skip : skip + rows.size], self.data.y, self.data.offsets, kind

    @property
    def width(self) -> int:
        """Numbers of a row."""
        return padded(self.data.X.shape[1])

    def walk(self, models: Array, etas: Array, t0: int, replicates: range) -> Moments | None:
        """Minibatch steps are compiled as a whole."""
        if self.experiment.batch_size is None:
            return super().walk(models, etas, t0, replicates)
        keys, batch = self.keys(replicates), self.experiment.batch_size
        kernel_steps.local_steps(*self.step_arrays, etas, t0, keys, batch, self.width, models)
        return None


@dataclass(frozen=True)
class LeastSquares(Sampled, Quadratic):
    """Ridge regression; ``data`` are `LeastSquaresArrays`."""

    @cached_property
    def noise(self) -> Array:
        return np.zeros(len(self.sizes))

    @cached_property
    def forms(self) -> Array:
        """Each client's Hessian and, where batches are drawn, the form of one sample's gradient variance."""
        matrices = [self.data.H] if self.experiment.batch_size is None else [self.data.H, self.data.A]
        return np.concatenate(matrices, axis=1).ravel()

    @cached_property
    def variance_form(self) -> tuple[Array, Array, Array]:
        """The rest of that form, and what turns it into a batch's."""
        if self.experiment.batch_size is None:
            return np.empty((0, 0)), np.empty(0), self.variance_scale
        return self.data.b, self.data.c, self.variance_scale


def c_ordered(values: np.ndarray) -> np.ndarray:
    """The array in C order and writeable: read-only or strided ones would be compiled for separately."""
    return np.require(values, requirements=["C", "W"])
