"""Shared by the problems over client datasets whose losses depend on w through linear scores W x_j.

F_i(w) = (1/n_i) sum_j phi(W x_j, y_j) + (reg/2) ||w||^2, with w (d,) = W (K, columns) row by row.
"""

import abc
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import reject
from fedbounds.model.problem import (
    Array,
    Indices,
    Optimum,
    Problem,
    as_points,
    check_distribution,
    check_finite,
    client_weights,
)

# Scores of one block of points on one client: 2^22 doubles are 32 MB, so memory stays bounded for many points.
BLOCK_ENTRIES = 2**22

BlockFunction = Callable[[int, slice, Array], Array]


class LinearModel(Problem):
    """Abstract problem over client datasets; a subclass states phi, its slope and its divergence.

    ``X`` (n, columns) holds all clients one after another, client i the rows offsets[i] to offsets[i + 1].
    Scores z and slopes have shape (B, K, n_i) for B points.
    """

    X: Array
    y: NDArray
    offsets: Indices
    regularisation: float

    @property
    @abc.abstractmethod
    def K(self) -> int:
        """Number of linear scores of a sample."""

    @abc.abstractmethod
    def _values(self, z: Array, rows: NDArray) -> Array:
        """phi at scores z (B, K, n) of the samples ``rows`` (n,) or (B, n): (B, n)."""

    @abc.abstractmethod
    def _slopes(self, z: Array, rows: NDArray) -> Array:
        """Gradient of phi in z, shaped as z."""

    @abc.abstractmethod
    def _divergence(self, dz: Array, z: Array) -> Array:
        """phi(z + dz) - phi(z) - slope(z).dz >= 0 without cancellation: (B, K, n), (K, n) -> (B, n)."""

    @property
    @abc.abstractmethod
    def _curvature(self) -> float:
        """Largest eigenvalue of phi's Hessian in z, over all z."""

    @abc.abstractmethod
    def _solve(self, clients: Indices, weights: Array) -> Optimum:
        """Minimiser of sum_i weights_i F_i over some clients, of positive weights."""

    def _samples_and_weights(self, clients: Indices, weights: Array) -> tuple[Array, NDArray, Array]:
        """The features and targets of some clients, and weights_i / n_i of every sample, as exact as the weights."""
        rows = np.concatenate([self._row_indices(i) for i in clients])
        return self.X[rows], self.y[rows], np.repeat(weights / self.sizes[clients], self.sizes[clients])

    def _fix(self, X: Array, y: NDArray, offsets: Indices, **more: object) -> None:
        """Set the checked fields of a frozen problem; p_i = n_i / n unless given."""
        reg, sizes = float(self.regularisation), np.diff(offsets)
        if not np.isfinite(reg) or reg < 0:
            raise reject("the regularisation must be finite and at least 0", str(reg), "give a small positive one")
        p = sizes / sizes.sum() if self.p is None else client_weights(self.p, len(sizes))
        fixed = {"X": X, "y": y, "offsets": offsets, "features": tuple(np.split(X, offsets[1:-1]))}
        for name, value in {**fixed, "regularisation": reg, "p": p, **more}.items():
            object.__setattr__(self, name, value)

    @cached_property
    def residual_i(self) -> Array:
        """grad F_i at the numerical w_i_star (N, d), where it is not negligible; zeros otherwise."""
        return np.zeros((self.N, self.d))

    @cached_property
    def residual(self) -> Array:
        """grad F at the numerical w_star (d,), where it is not negligible; zeros otherwise."""
        return np.zeros(self.d)

    @property
    def d(self) -> int:
        """Dimension of w: K times the number of features."""
        return self.K * int(self.X.shape[1])

    @property
    def sizes(self) -> Indices:
        return np.diff(self.offsets)

    @cached_property
    def noise_lipschitz(self) -> Array:
        """c sqrt(mean_j ||x_j||^4), c phi's largest curvature: sample j's gradient is c ||x_j||^2-Lipschitz."""
        fourth = np.einsum("nk,nk->n", self.X, self.X) ** 2
        return self._curvature * np.sqrt(np.add.reduceat(fourth, self.offsets[:-1]) / self.sizes)

    @property
    def sample_smoothness(self) -> float:
        """c max_j ||x_j||^2 + reg, c the largest curvature of phi."""
        return float(self._curvature * np.einsum("nk,nk->n", self.X, self.X).max() + self.regularisation)

    def client_losses(self, x: Array) -> Array:

        def block(i: int, part: slice, w: Array) -> Array:
            rows = self._row_indices(i)
            data = self._values(self._scores(i, w), rows).mean(-1)
            return data + self.regularisation / 2 * np.einsum("bi,bi->b", w, w)

        return self._each_client(x, (), block)

    def client_excess(self, x: Array) -> Array:
        """F_i(x_i) - F_i_star as a Bregman divergence about w_i_star: (..., N, d) -> (..., N)."""

        def block(i: int, part: slice, w: Array) -> Array:
            return self._excess_about(i, w, self.w_i_star[i], self.residual_i[i])

        return np.maximum(self._each_client(x, (), block), 0)

    def client_grads(self, x: Array, draws: NDArray | None = None) -> Array:
        """grad F_i(x_i), or the mean over the samples ``draws`` (..., N, b): (..., N, d) -> (..., N, d)."""
        if draws is None:
            return self._each_client(x, (self.d,), self._full_gradient)
        batch = np.asarray(draws)
        lead = np.broadcast_shapes(np.shape(x)[:-2], batch.shape[:-2])
        x = np.broadcast_to(x, (*lead, *np.shape(x)[-2:]))
        flat = np.broadcast_to(batch, (*lead, *batch.shape[-2:])).reshape(-1, *batch.shape[-2:])

        def block(i: int, part: slice, w: Array) -> Array:
            rows = self.offsets[i] + flat[part, i]
            samples = self.X[rows]
            W = w.reshape(len(w), self.K, -1)
            slopes = self._slopes(W @ samples.swapaxes(1, 2), rows)
            return (slopes @ samples / rows.shape[1]).reshape(w.shape) + self.regularisation * w

        entries = batch.shape[-1] * self.X.shape[1]
        return self._each_client(x, (self.d,), block, entries)

    def client_variance(self, x: Array, batch_size: int | None, replacement: bool = True) -> Array:
        """s_i^2(x_i) / b with replacement, times (n_i - b)/(n_i - 1) without: (..., N, d) -> (..., N).

        s_i^2 = (1/n_i) sum_j ||x_j||^2 ||slope_j||^2 - ||(1/n_i) sum_j slope_j x_j^T||^2 is the variance of
        one sample's gradient; a client with a single sample has none.
        """
        if batch_size is None:
            return np.zeros((*np.shape(x)[:-2], self.N))
        n = self.sizes
        if not replacement and batch_size > n.min():
            raise reject("a batch without replacement must fit in every client", batch_size, f"use up to {n.min()}")

        def block(i: int, part: slice, w: Array) -> Array:
            rows = self._row_indices(i)
            slopes = self._slopes(self._scores(i, w), rows)
            mean = self._mean_product(i, slopes)
            second = np.einsum("bkn,bkn->bn", slopes, slopes) @ self._square_norms[rows] / n[i]
            return second - np.einsum("bi,bi->b", mean, mean)

        single = np.maximum(self._each_client(x, (), block), 0)
        correction = np.ones(self.N) if replacement else (n - batch_size) / np.maximum(n - 1, 1)
        return single * np.where(n > 1, correction, 0) / batch_size

    def gap(self, w: Array) -> Array:
        """F(w) - F_star as a Bregman divergence about w_star: (..., d) -> (...)."""

        def block(i: int, part: slice, w: Array) -> Array:
            return self._excess_about(i, w, self.w_star, self.residual)

        parts = self._each_client(as_points(w, self.d)[..., None, :], (), block)
        return np.maximum(parts @ self.p, 0)

    def argmin(self, weights: Array) -> Optimum:
        """Minimiser of sum_i weights_i F_i with its certificate; clients with equal data share it bit for bit."""
        weights = check_distribution(weights, self.N, "weights")
        held = np.flatnonzero(weights)
        if len(held) == 1 or all(self._same_data(held[0], i) for i in held[1:]):
            return self.client_optima[held[0]]
        return self._solve(held, weights[held] / weights.sum())

    @cached_property
    def client_optima(self) -> tuple[Optimum, ...]:
        from threadpoolctl import threadpool_limits

        # The limit holds until the last thread is done: BLAS would take several meanwhile, and give other bits.
        with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(os.cpu_count()) as pool:
            return tuple(pool.map(lambda i: self._solve(np.array([i]), np.ones(1)), range(self.N)))

    @cached_property
    def _square_norms(self) -> Array:
        return np.einsum("ni,ni->n", self.X, self.X)

    def _row_indices(self, i: int) -> NDArray:
        return np.arange(self.offsets[i], self.offsets[i + 1])

    def _client(self, i: int) -> Array:
        return self.X[self.offsets[i] : self.offsets[i + 1]]

    def _same_data(self, i: int, j: int) -> bool:
        """True where clients i and j hold the same samples in the same order."""
        a, b = (slice(*self.offsets[k : k + 2]) for k in (i, j))
        return np.array_equal(self.X[a], self.X[b]) and np.array_equal(self.y[a], self.y[b])

    def _scores(self, i: int, w: Array) -> Array:
        """z = W x_j of client i: (B, d) -> (B, K, n_i)."""
        X = self._client(i)
        return (w.reshape(-1, X.shape[1]) @ X.T).reshape(-1, self.K, len(X))

    def _mean_product(self, i: int, slopes: Array) -> Array:
        """(1/n_i) sum_j slope_j x_j^T: (B, K, n_i) -> (B, d)."""
        X = self._client(i)
        return (slopes.reshape(-1, len(X)) @ X / len(X)).reshape(len(slopes), self.d)

    def _full_gradient(self, i: int, part: slice, w: Array) -> Array:
        return self._mean_product(i, self._slopes(self._scores(i, w), self._row_indices(i))) + self.regularisation * w

    def _excess_about(self, i: int, w: Array, centre: Array, residual: Array) -> Array:
        """Divergence of F_i about ``centre`` plus residual.(w - centre): (B, d) -> (B,)."""
        u = w - centre
        data = self._divergence(self._scores(i, u), self._scores(i, centre)[0]).mean(-1)
        return data + self.regularisation / 2 * np.einsum("bi,bi->b", u, u) + u @ residual

    def _each_client(self, x: Array, tail: tuple[int, ...], block: BlockFunction, entries: int = 0) -> Array:
        """Stack ``block(i, part, points)`` over clients and blocks of points: (..., N, d) -> (..., N, *tail)."""
        x = np.asarray(x, dtype=float)
        if x.ndim < 2 or x.shape[-1] != self.d or x.shape[-2] not in (1, self.N):
            raise reject(f"points need shape (..., {self.N}, {self.d})", f"shape {x.shape}", "match N and d")
        flat = x.reshape(-1, *x.shape[-2:])
        out = np.empty((len(flat), self.N, *tail))
        for i, n in enumerate(self.sizes):
            size = max(1, BLOCK_ENTRIES // (entries or self.K * int(n)))
            for start in range(0, len(flat), size):
                part = slice(start, start + size)
                out[part, i] = block(i, part, flat[part, i if x.shape[-2] > 1 else 0])
        return out.reshape(*x.shape[:-2], self.N, *tail)


def check_clients(
    features: Sequence[NDArray], targets: Sequence[NDArray], name: str
) -> tuple[Array, NDArray, Indices]:
    """All clients' rows (n, columns), their targets (n,) and offsets (N + 1,), validated."""
    if len(features) == 0 or len(features) != len(targets):
        raise reject(
            f"features and {name} need one array each for every client",
            f"{len(features)} and {len(targets)} arrays",
            "give two sequences of the same positive length",
        )
    rows = [check_finite(X, f"the features of client {i}") for i, X in enumerate(features)]
    labels = [np.asarray(y) for y in targets]
    for i, (X, y) in enumerate(zip(rows, labels, strict=True)):
        if X.ndim != 2 or X.shape[1] == 0 or X.shape[1:] != rows[0].shape[1:]:
            raise reject(
                f"the features of client {i} need shape (n_i, columns), the same columns everywhere",
                f"shape {X.shape}",
                "give every client the same feature columns",
            )
        if len(X) == 0:
            raise reject("every client needs at least one sample", f"an empty client {i}", "drop or merge it")
        if y.shape != (len(X),):
            raise reject(f"client {i} needs one of the {name} a sample", f"shape {y.shape}", f"give {len(X)}")
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return np.ascontiguousarray(np.concatenate(rows)), np.concatenate(labels), offsets
