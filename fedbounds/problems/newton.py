"""Newton's method on a logistic objective, with a certificate of how near the minimum is, and soft-max arithmetic.

F(w) - F* <= ||grad F(w)||^2 / (2 mu) for mu-strongly convex F (Polyak-Lojasiewicz; Nesterov 2018, 2.1.10).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import reject
from fedbounds.model.problem import Array, Indices

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
# Rows a block of the extended-precision gradient: its long-double copy of the features stays small.
EXTENDED_ROWS = 4096


@dataclass(frozen=True, eq=False)
class RowObjective:
    """sum_j share_j [phi(W x_j, y_j) + (mu/2) ||w||^2] for sum_j share_j = 1: what Newton's method minimises.

    The shares come in extended precision: rounded to doubles they would shift the gradient
    at the minimum, which decides the excess 1e-9 away from it.
    """

    X: Array
    y: Indices
    wide_share: NDArray[np.longdouble]
    mu: float
    K: int

    @cached_property
    def share(self) -> Array:
        return self.wide_share.astype(float)

    def value(self, w: Array) -> float:
        return float(cross_entropy(logits(self._scores(w)), self.y) @ self.share + self.mu / 2 * (w @ w))

    def gradient(self, w: Array) -> Array:
        slope = slopes(logits(self._scores(w)), self.y)[-self.K :] * self.share
        return (slope @ self.X).ravel() + self.mu * w

    def residual(self, w: Array) -> Array:
        """Its gradient in extended precision (where the platform has it), rounded to double (D,)."""
        wide = np.longdouble
        W = w.astype(wide)
        total = self.mu * self.wide_share.sum() * W
        for start in range(0, len(self.X), EXTENDED_ROWS):
            part = slice(start, start + EXTENDED_ROWS)
            X = self.X[part].astype(wide)
            z = W.reshape(self.K, -1) @ X.T
            slope = slopes(logits(z), self.y[part])[-self.K :] * self.wide_share[part]
            total = total + (slope @ X).ravel()
        return total.astype(float)

    def hessian(self, w: Array) -> Array:
        """X^T diag(share) [diag(s) - s s^T] X + mu I, class blocks in the order of w (D, D)."""
        s = self._probabilities(w)
        scaled = s[:, :, None] * self.X  # (K, n, columns)
        joined = scaled.swapaxes(0, 1).reshape(len(self.X), -1)
        H = -(joined.T * self.share) @ joined
        columns = self.X.shape[1]
        for k in range(self.K):
            block = slice(k * columns, (k + 1) * columns)
            H[block, block] += (scaled[k].T * self.share) @ self.X
        H[np.diag_indices_from(H)] += self.mu
        return H

    def hessian_product(self, w: Array) -> Callable[[Array], Array]:
        """v -> Hessian(w) v at the cost of two passes over the data."""
        s = self._probabilities(w)

        def product(v: Array) -> Array:
            dz = self._scores(v)
            centred = s * (dz - (s * dz).sum(0)) * self.share
            return (centred @ self.X).ravel() + self.mu * v

        return product

    def _scores(self, w: Array) -> Array:
        return w.reshape(self.K, -1) @ self.X.T

    def _probabilities(self, w: Array) -> Array:
        return probabilities(logits(self._scores(w)))[-self.K :]


def logits(z: NDArray) -> NDArray:
    """Scores (..., K, n) as soft-max logits: with two classes, the smaller label's logit is 0."""
    return np.concatenate([np.zeros_like(z), z], axis=-2) if z.shape[-2] == 1 else z


def minimise(function: RowObjective, w: Array) -> Array:
    """Damped Newton from ``w`` until rounding stops the gradient norm from decreasing.

    The gradient norm is the merit function: the Newton direction decreases it at any point of a strongly
    convex function, and unlike F it can be compared near the minimum without cancellation. BLAS runs on one
    thread: matrices of this size gain little from more, which on a busy machine spin while they wait.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        return _damped_newton(function, w)


def _damped_newton(function: RowObjective, w: Array) -> Array:
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


def certificate(function: RowObjective, w: Array) -> float:
    """The bound ||grad F||^2 / (2 mu) on F(w) - F*, or an input error if it exceeds RELATIVE_ACCURACY F(w)."""
    value, norm = function.value(w), float(np.linalg.norm(function.residual(w)))
    bound = norm**2 / (2 * function.mu)
    if not bound <= RELATIVE_ACCURACY * max(value, np.finfo(float).tiny):
        raise reject(
            f"a logistic objective must have a minimum certified to {RELATIVE_ACCURACY:g} relative",
            f"F - F* <= {bound:.1e} at F = {value:.3g}",
            "increase the regularisation or standardise the features",
        )
    return bound


def _newton_step(function: RowObjective, w: Array, g: Array, forcing: float) -> Array:
    if w.size <= DENSE_LIMIT:
        return np.asarray(-np.linalg.solve(function.hessian(w), g), dtype=float)
    from scipy.sparse.linalg import LinearOperator, cg

    hessian = LinearOperator((w.size, w.size), matvec=function.hessian_product(w), dtype=float)
    step, _ = cg(hessian, g, rtol=forcing, maxiter=10 * w.size)
    return np.asarray(-step, dtype=float)


# Below this the difference expm1(x) - x loses digits; the series of SERIES_TERMS terms is exact to rounding.
SERIES_RADIUS = 0.25
SERIES_TERMS = 16
# exp stays finite below; larger differences are taken through a shifted log-sum-exp.
EXP_LIMIT = 500.0


def exp_remainder(x: NDArray) -> NDArray:
    """exp(x) - 1 - x >= 0 without cancellation: x^2/2 (1 + x/3 (1 + x/4 (...))) near zero."""
    small = np.where(np.abs(x) < SERIES_RADIUS, x, 0)
    series = np.ones_like(small)
    for k in range(SERIES_TERMS + 2, 2, -1):
        series = 1 + small / k * series
    return np.where(np.abs(x) < SERIES_RADIUS, small * small / 2 * series, np.expm1(x) - x)


def log_sum_exp(z: NDArray) -> NDArray:
    """log sum_k exp(z_k) over axis -2, through log1p about the largest term."""
    top = np.argmax(z, axis=-2, keepdims=True)
    peak = np.take_along_axis(z, top, -2)
    rest = np.exp(z - peak)
    np.put_along_axis(rest, top, 0, -2)
    return (peak + np.log1p(rest.sum(-2, keepdims=True)))[..., 0, :]


def probabilities(z: NDArray) -> NDArray:
    """Soft-max of z over axis -2."""
    weights = np.exp(z - z.max(-2, keepdims=True))
    return weights / weights.sum(-2, keepdims=True)


def one_hot(codes: NDArray, classes: int) -> NDArray:
    """Boolean (..., classes, n) of class codes (..., n)."""
    return codes[..., None, :] == np.arange(classes)[:, None]


def cross_entropy(z: NDArray, codes: NDArray) -> NDArray:
    """-log softmax(z)_code >= 0: (..., classes, n), (..., n) -> (..., n)."""
    hot = one_hot(codes, z.shape[-2])
    return log_sum_exp(z - np.where(hot, z, 0).sum(-2, keepdims=True))


def slopes(z: NDArray, codes: NDArray) -> NDArray:
    """Gradient of the cross entropy in z: softmax(z) - onehot, whose entry at the label is -sum of the rest."""
    hot = one_hot(codes, z.shape[-2])
    rest = np.where(hot, 0, probabilities(z))
    return np.where(hot, -rest.sum(-2, keepdims=True), rest)


def divergence(dz: NDArray, z: NDArray) -> NDArray:
    """Bregman divergence lse(z + dz) - lse(z) - softmax(z).dz >= 0: log1p of a sum of non-negative terms.

    With s = softmax(z) and c = dz - s.dz it is log sum_k s_k exp(c_k) = log1p sum_k s_k (exp(c_k) - 1 - c_k).
    """
    s = probabilities(z)
    c = dz - (s * dz).sum(-2, keepdims=True)
    near = np.log1p((s * exp_remainder(np.minimum(c, EXP_LIMIT))).sum(-2))
    far = c.max(-2) > EXP_LIMIT
    if not far.any():
        return near
    log_s = z - log_sum_exp(z)[..., None, :]
    return np.where(far, np.maximum(log_sum_exp(log_s + c), 0), near)
