"""Compiled sums over clients, the same for every problem; one replicate is always added in one order.

In all kernels no loop both adds up a sum and stores to an array: such a loop's rounding could depend on
where the arrays happen to lie in memory (see APART).
"""

from __future__ import annotations

import numpy as np

from fedbounds.engine.kernels.compiled import jit, kernel

# More than any vector step: compilers guard a vector loop by comparing addresses, and take the scalar loop,
# which rounds sums differently, where one array is stored within a vector step after another one is read.
APART = 128


@jit
def scratch(n):
    """An uninitialised vector whose memory lies well apart from every other array's."""
    return np.empty(n + 2 * APART)[APART : APART + n]


@kernel
def combine(X, weights):
    """sum_i weights_i x_i: (R, N, d), (R, N) -> (R, d)."""
    R, N, d = X.shape
    W = np.zeros((R, d))
    for r in range(R):
        for i in range(N):
            for k in range(d):
                W[r, k] += weights[r, i] * X[r, i, k]
    return W


@kernel
def virtual(X, W, alpha, grads, variance, weights, eta, w_star):
    """(drift, next mean), each (R,): what the loop measures of a virtual iterate w.

    sum_i alpha_i ||w - x_i||^2, and
    ||sum_i weights_i (x_i - eta grad_i) - w*||^2 + eta^2 sum_i weights_i^2 variance_i.
    """
    R, N, d = X.shape
    out = np.zeros((2, R))
    for r in range(R):
        mean = scratch(d)
        mean[:] = 0.0
        spread, noise, square = 0.0, 0.0, 0.0
        for i in range(N):
            distance = 0.0
            for k in range(d):
                distance += (W[r, k] - X[r, i, k]) ** 2
            for k in range(d):
                mean[k] += weights[r, i] * (X[r, i, k] - eta * grads[r, i, k])
            spread += alpha[r, i] * distance
            noise += weights[r, i] ** 2 * variance[r, i]
        for k in range(d):
            square += (mean[k] - w_star[k]) ** 2
        out[0, r] = spread
        out[1, r] = square + eta * eta * noise
    return out


@kernel
def full_step(X, grads, eta):
    """x_i - eta grad_i: (R, N, d)."""
    R, N, d = X.shape
    out = np.empty((R, N, d))
    for r in range(R):
        for i in range(N):
            for k in range(d):
                out[r, i, k] = X[r, i, k] - eta * grads[r, i, k]
    return out
