"""Explicit smooth strongly convex functions through given points, values and gradients, as a federated problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import reject
from fedbounds.model.problem import Array, Indices, Optimum, Problem
from fedbounds.theory.quantity import Constant, Provenance

# Multipliers of the simplex programme below this are zero; it is well above rounding, far below any mixture.
SUPPORT = 1e-12
# A simplex programme over k points needs few exchanges; more means that rounding makes it cycle.
EXCHANGES = 50


@dataclass(frozen=True, eq=False)
class Interpolant:
    """F(x) = mu/2 ||x||^2 + the largest convex (L - mu)-smooth function through the data.

    With h_j, s_j the data less those of mu/2 ||x||^2 and K = L - mu, it is the convex hull of the parabolas
    h_j + <s_j, x - x_j> + K/2 ||x - x_j||^2, that is min over the simplex of
    K/2 ||x - sum_j l_j c_j||^2 + sum_j l_j m_j with c_j = x_j - s_j / K, m_j = h_j - ||s_j||^2 / (2K).
    ``x``, ``g`` (k, d), ``f`` (k,) satisfy the interpolation conditions (Taylor, Hendrickx, Glineur, 2017).
    """

    x: Array
    g: Array
    f: Array
    mu: float
    L: float

    def __post_init__(self) -> None:
        K = self.L - self.mu
        s = self.g - self.mu * self.x
        h = self.f - self.mu / 2 * (self.x**2).sum(axis=1)
        object.__setattr__(self, "centres", self.x - s / K)
        object.__setattr__(self, "minima", h - (s**2).sum(axis=1) / (2 * K))

    def __call__(self, x: Array) -> tuple[float, Array]:
        """(F(x), grad F(x)) at one point (d,)."""
        K, centres, minima = self.L - self.mu, self.centres, self.minima  # type: ignore[attr-defined]
        weights = simplex_minimum(centres, minima, x, K)
        away = x - weights @ centres
        value = K / 2 * away @ away + weights @ minima + self.mu / 2 * x @ x
        return float(value), K * away + self.mu * x


def simplex_minimum(centres: Array, minima: Array, x: Array, K: float) -> Array:
    """argmin over the simplex of K/2 ||x - centres^T l||^2 + minima . l, by an active-set method: (k,)."""
    offsets = centres - x
    H = K * offsets @ offsets.T
    weights = np.zeros(len(minima))
    weights[np.argmin(np.diag(H) / 2 + minima)] = 1.0
    for _ in range(EXCHANGES * len(minima)):
        slopes = H @ weights + minima
        free = weights > SUPPORT
        entering = int(np.argmin(slopes))
        level = float(weights @ slopes)
        if slopes[entering] >= level - SUPPORT * max(1.0, abs(level)):
            break
        free[entering] = True
        weights = _descend(H, minima, weights, free)
    return weights


def _descend(H: Array, minima: Array, weights: Array, free: NDArray[np.bool_]) -> Array:
    """Minimise over the affine hull of the free vertices, dropping those that would turn negative."""
    while True:
        index = np.flatnonzero(free)
        k = len(index)
        system = np.zeros((k + 1, k + 1))
        system[:k, :k] = H[np.ix_(index, index)]
        system[:k, k] = system[k, :k] = 1.0
        wanted = np.linalg.lstsq(system, np.append(-minima[index], 1.0), rcond=None)[0][:k]
        if (wanted >= -SUPPORT).all():
            result = np.zeros_like(weights)
            result[index] = np.maximum(wanted, 0.0)
            return np.asarray(result / result.sum())
        current = weights[index]
        falling = wanted < current
        steps = np.where(falling & (wanted < 0), current / np.where(falling, current - wanted, 1.0), np.inf)
        step = float(min(steps.min(), 1.0))
        moved = np.maximum(current + step * (wanted - current), 0.0)
        weights = np.zeros_like(weights)
        weights[index] = moved / moved.sum()
        free = free.copy()
        free[index[int(np.argmin(steps))]] = False
        if not free.any():
            return weights


@dataclass(frozen=True, eq=False)
class InterpolatedProblem(Problem):
    """Clients that are interpolants with known minimisers ``own`` (N, d), minima ``own_values`` (N,), and w* = 0."""

    kind: ClassVar[str] = "interpolated"
    clients: tuple[Interpolant, ...] = field(repr=False)
    p: Array = field(repr=False)
    own: Array = field(repr=False)
    own_values: Array = field(repr=False)

    @property
    def d(self) -> int:
        return int(self.own.shape[1])

    @property
    def sizes(self) -> Indices:
        """Zeros (N,): these clients hold no samples."""
        return np.zeros(self.N, dtype=np.int64)

    def client_losses(self, x: Array) -> Array:
        return self._each(x)[0]

    def client_excess(self, x: Array) -> Array:
        """F_i(x_i) - F_i*: (..., N, d) -> (..., N); the values are of the order of 1, so nothing cancels badly."""
        return self._each(x)[0] - self.own_values

    def client_grads(self, x: Array, draws: NDArray[Any] | None = None) -> Array:
        """grad F_i(x_i), without noise: (..., N, d) -> (..., N, d)."""
        return self._each(x)[1]

    def client_variance(self, x: Array, batch_size: int | None, replacement: bool = True) -> Array:
        """Zeros: these gradients are deterministic."""
        return np.zeros(np.broadcast_shapes(np.shape(x)[:-1], (self.N,)))

    @property
    def noise_lipschitz(self) -> Array:
        """Zeros (N,): there is no noise."""
        return np.zeros(self.N)

    def gap(self, w: Array) -> Array:
        return self.losses(w) @ self.p - self.optimum.value

    def argmin(self, weights: Array) -> Optimum:
        """w* for p, w_i* for a unit vector: the minimisers that are among the data."""
        weights = np.asarray(weights, dtype=float)
        if self.N > 1 and weights.max() == 1.0:
            i = int(np.argmax(weights))
            return Optimum(self.own[i], float(self.own_values[i]), 0.0)
        if not np.array_equal(weights, self.p):
            raise reject(
                "an interpolated problem knows w* and every w_i* only", weights, "ask for p or a unit vector"
            )
        origin = np.zeros(self.d)
        return Optimum(origin, float(self.p @ self.losses(origin)), 0.0)

    def constants(self) -> Mapping[str, Constant]:
        note = "prescribed to the interpolation"
        first = self.clients[0]
        return {"L": Constant(first.L, Provenance.EXACT, note), "mu": Constant(first.mu, Provenance.EXACT, note)}

    def _each(self, x: Array) -> tuple[Array, Array]:
        x = np.broadcast_to(x, (*np.shape(x)[:-2], self.N, self.d))
        values, grads = np.empty(x.shape[:-1]), np.empty(x.shape)
        for index in np.ndindex(*x.shape[:-1]):
            values[index], grads[index] = self.clients[index[-1]](x[index])
        return values, grads
