"""Linear forms in a Gram matrix and function values, and the interpolation conditions of a class of functions.

Generic in the arithmetic: floats for a solver, exact rationals (flint.fmpq) for a certificate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbounds.evidence.sdp.rational_functions import Function, rational

Arithmetic = Callable[[Fraction], object]


@dataclass(frozen=True)
class Form:
    """<quad, gram> + lin . values: quad (n, n) symmetric, lin (q,)."""

    quad: NDArray[Any]
    lin: NDArray[Any]

    def __add__(self, other: Form) -> Form:
        return Form(self.quad + other.quad, self.lin + other.lin)

    def __sub__(self, other: Form) -> Form:
        return Form(self.quad - other.quad, self.lin - other.lin)

    def times(self, factor: object) -> Form:
        """The form multiplied by a number of its own arithmetic."""
        return Form(self.quad * factor, self.lin * factor)


@dataclass(frozen=True)
class Point:
    """One point of one client: position x and gradient g in the basis (n,), value f in the scalars (q,)."""

    label: str
    x: NDArray[Any]
    g: NDArray[Any]
    f: NDArray[Any]


class Space:
    """Coordinates in a fixed arithmetic: unit vectors and sums that never leave it."""

    def __init__(self, names: tuple[str, ...], number: Arithmetic) -> None:
        self.names, self.number = names, number
        self.zero = np.full(len(names), number(Fraction(0)))

    def unit(self, name: str) -> NDArray[Any]:
        vector = self.zero.copy()
        vector[self.names.index(name)] = self.number(Fraction(1))
        return vector

    def mean(self, weights: tuple[Fraction, ...], vectors: list[NDArray[Any]]) -> NDArray[Any]:
        return sum((v * self.number(w) for w, v in zip(weights, vectors, strict=True)), self.zero)


def exact(value: Fraction) -> object:
    """The arithmetic of certificates: flint's rationals; functions of a parameter stay what they are."""
    return value if isinstance(value, Function) else rational(value)


def inner(u: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
    """The symmetric matrix Q with <Q, gram> = <u, v>; u, v (..., n)."""
    n, rational = u.shape[-1], u.dtype == object
    if rational:
        # Most of a vector is 0, and multiplying rationals by it takes long.
        on = np.flatnonzero(((u != 0) | (v != 0)).reshape(-1, n).any(axis=0))
        zero, u, v = u.flat[0] * 0, u[..., on], v[..., on]
    product = u[..., :, None] * v[..., None, :]
    quad = (product + np.swapaxes(product, -1, -2)) / 2
    return _among(quad, on, n, zero) if rational else np.asarray(quad)


def _among(quad: NDArray[Any], on: NDArray[Any], n: int, zero: object) -> NDArray[Any]:
    """The matrices (..., n, n) whose entries at ``on`` are those of quad (..., k, k)."""
    found = np.full((*quad.shape[:-2], n, n), zero)
    found[..., on[:, None], on] = quad
    return found


def interpolation(
    points: tuple[Point, ...], mu: Fraction, L: Fraction, number: Arithmetic
) -> tuple[list[str], NDArray[Any], NDArray[Any]]:
    """f_a - f_b - <g_b, x_a - x_b> - (||dg||^2 + mu L ||dx||^2 - 2 mu <dg, dx>) / (2 (L - mu)) >= 0 for a != b.

    These are necessary and sufficient for a mu-strongly convex L-smooth function through the points
    (Taylor, Hendrickx and Glineur, 2017, Theorem 4). Returns labels, quad (m, n, n), lin (m, q).
    """
    on = np.flatnonzero(np.any([(q.x != 0) | (q.g != 0) for q in points], axis=0))
    pairs = [(a, b) for a in points for b in points if a is not b]
    dx, dg = (np.stack([(getattr(a, c) - getattr(b, c))[on] for a, b in pairs]) for c in "xg")
    g = np.stack([b.g[on] for _, b in pairs])
    bent = inner(dg, dg) + inner(dx, dx) * number(mu * L) - inner(dg, dx) * number(2 * mu)
    quad = -inner(g, dx) - bent * number(1 / (2 * (L - mu)))
    quad = _among(quad, on, len(points[0].x), number(Fraction(0)))
    return [f"{a.label}|{b.label}" for a, b in pairs], quad, np.stack([a.f - b.f for a, b in pairs])
