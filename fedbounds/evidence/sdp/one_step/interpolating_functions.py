"""Explicit smooth strongly convex functions through given points, values and gradients, as a federated problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import reject
from fedbounds.model.problem import Array, Indices, Optimum, Problem
from fedbounds.theory.constant import Constant, Provenance

# Weights that the solver leaves below this are zero: it is accurate to about the root of a double's precision.
SUPPORT = 1e-6


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

    def __call__(self, x: Array) -> tuple[float, Array]:
        """(F(x), grad F(x)) at one point (d,)."""
        K = self.L - self.mu
        s = self.g - self.mu * self.x
        offsets = self.x - s / K - x
        minima = self.f - self.mu / 2 * (self.x**2).sum(axis=1) - (s**2).sum(axis=1) / (2 * K)
        weights = simplex_minimum(K * offsets @ offsets.T, minima)
        away = -weights @ offsets
        value = K / 2 * away @ away + weights @ minima + self.mu / 2 * x @ x
        return float(value), K * away + self.mu * x


def simplex_minimum(H: Array, m: Array) -> Array:
    """argmin over the simplex of l H l/2 + m . l: (k,). Which weights are positive is found first, then how large."""
    from scipy.optimize import minimize

    k, scale = len(m), max(float(np.abs(H).max()), float(np.abs(m).max())) or 1.0
    H, m, ones = H / scale, m / scale, np.ones(len(m))
    result: Array = minimize(
        lambda weights: weights @ H @ weights / 2 + m @ weights,
        np.eye(k)[np.argmin(np.diag(H) / 2 + m)],
        jac=lambda weights: H @ weights + m,
        bounds=[(0, 1)] * k,
        constraints={"type": "eq", "fun": lambda weights: weights.sum() - 1, "jac": lambda weights: ones},
        method="SLSQP",
        options={"ftol": 1e-16, "maxiter": 100 * k},
    ).x
    free = np.flatnonzero(result > SUPPORT)
    system = np.pad(H[np.ix_(free, free)], (0, 1), constant_values=1.0)
    system[-1, -1] = 0.0
    exact = np.linalg.lstsq(system, np.append(-m[free], 1.0), rcond=None)[0][:-1]
    if (exact >= 0).all():
        result = np.zeros(k)
        result[free] = exact
    return result


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
