"""Minimise a smooth strongly convex function by Newton's method, with a certificate of how near the minimum is.

F(w) - F* <= ||grad F(w)||^2 / (2 mu) for mu-strongly convex F (Polyak-Lojasiewicz; Nesterov 2018, 2.1.10).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from fedbounds.errors import reject
from fedbounds.model.problem import Array

# The certificate asked of every numerical minimum, relative to the minimum itself.
RELATIVE_ACCURACY = 1e-12
# A step must shrink the gradient norm by this share of its length: the usual Armijo constant.
ARMIJO = 1e-4
# Steps below this length no longer move w in double precision on a well-scaled problem.
SHORTEST_STEP = 2.0**-40
MAX_STEPS = 500
# Hessians of larger dimension are not formed; conjugate gradients solve for the step instead.
DENSE_LIMIT = 1000
# Forcing term of the inexact step: its square-root decay keeps the convergence superlinear.
LOOSEST_FORCING = 0.1


class Smooth(Protocol):
    """A twice differentiable strongly convex function of w (D,) with modulus ``mu``."""

    @property
    def mu(self) -> float:
        """Strong-convexity constant."""

    def value(self, w: Array) -> float:
        """F(w)."""

    def gradient(self, w: Array) -> Array:
        """grad F(w) (D,)."""

    def hessian(self, w: Array) -> Array:
        """The Hessian at w (D, D)."""

    def hessian_product(self, w: Array) -> Callable[[Array], Array]:
        """v -> Hessian(w) v, without forming the Hessian."""


def minimise(function: Smooth, w: Array) -> Array:
    """Damped Newton from ``w`` until rounding stops the gradient norm from decreasing.

    The gradient norm is the merit function: the Newton direction decreases it at any point of a strongly
    convex function, and unlike F it can be compared near the minimum without cancellation. BLAS runs on one
    thread: matrices of this size gain little from more, which on a busy machine spin while they wait.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        return _damped_newton(function, w)


def _damped_newton(function: Smooth, w: Array) -> Array:
    g = function.gradient(w)
    first = np.linalg.norm(g)
    for _ in range(MAX_STEPS):
        norm = np.linalg.norm(g)
        if norm == 0:
            break
        step = _newton_step(function, w, g, float(min(LOOSEST_FORCING, np.sqrt(norm / first))))
        length = 1.0
        while length >= SHORTEST_STEP:
            trial = w + length * step
            g_trial = function.gradient(trial)
            if np.linalg.norm(g_trial) <= (1 - ARMIJO * length) * norm:
                break
            if norm**2 <= 2 * function.mu * RELATIVE_ACCURACY * function.value(w):
                return w
            length /= 2
        else:
            return w
        w, g = trial, g_trial
    return w


def certificate(value: float, gradient_norm: float, mu: float, what: str) -> float:
    """The bound ||grad F||^2 / (2 mu) on F(w) - F*, or an input error if it exceeds RELATIVE_ACCURACY F(w)."""
    bound = gradient_norm**2 / (2 * mu)
    if not bound <= RELATIVE_ACCURACY * max(value, np.finfo(float).tiny):
        raise reject(
            f"{what} must have a minimum certified to {RELATIVE_ACCURACY:g} relative",
            f"F - F* <= {bound:.1e} at F = {value:.3g}",
            "increase the regularisation or standardise the features",
        )
    return bound


def _newton_step(function: Smooth, w: Array, g: Array, forcing: float) -> Array:
    if w.size <= DENSE_LIMIT:
        return np.asarray(-np.linalg.solve(function.hessian(w), g), dtype=float)
    return -conjugate_gradients(function.hessian_product(w), g, forcing)


def conjugate_gradients(product: Callable[[Array], Array], b: Array, tolerance: float) -> Array:
    """x with ||A x - b|| <= tolerance ||b|| for a symmetric positive definite A given by ``product``."""
    x = np.zeros_like(b)
    r = b.copy()
    direction = r.copy()
    rr = r @ r
    goal = tolerance**2 * rr
    for _ in range(10 * b.size):
        if rr <= goal:
            break
        Ad = product(direction)
        length = rr / (direction @ Ad)
        x += length * direction
        r -= length * Ad
        rr, previous = r @ r, rr
        direction = r + rr / previous * direction
    return x
