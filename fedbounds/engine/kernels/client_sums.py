"""Compiled sums over clients, the same for every problem; one replicate is always added in one order.

In all kernels no loop both adds up a sum and stores to an array: such a loop's rounding could depend on
where the arrays happen to lie in memory (see APART).
"""

import numpy as np

from fedbounds.engine.kernels.compiled import jit, kernel
from fedbounds.engine.kernels.vectors import product

# More than any vector step: compilers guard a vector loop by comparing addresses, and take the scalar loop,
# which rounds sums differently, where one array is stored within a vector step after another one is read.
APART = 128
# Rows of models that go through a matrix product together: some of its tiles.
GROUP = 20


@jit
def scratch(n):
    """An uninitialised vector whose memory lies well apart from every other array's."""
    return np.empty(n + 2 * APART)[APART : APART + n]


@kernel
def multiply(A, a, lda, B, b, ldb, C, c, ldc, K, Q, M):
    """C = A B (see ``products``), compiled once for all kernels."""
    product(A, a, lda, B, b, ldb, C, c, ldc, K, Q, M)


@jit
def dot(x, y):
    total = 0.0
    for k in range(len(x)):
        total += x[k] * y[k]
    return total


@jit
def distance_sq(x, y):
    """||x - y||^2"""
    total = 0.0
    for k in range(len(x)):
        total += (x[k] - y[k]) ** 2
    return total


@jit
def offsets_from(X, first, count, centre, U):
    """U <- X[first + c] - centre, c = 0 ... count - 1, one after another: rows of a matrix product."""
    d = len(centre)
    for c in range(count):
        for k in range(d):
            U[c * d + k] = X[first + c, k] - centre[k]


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
    """(drift, next mean), each (R,): what the loop measures of a virtual iterate w at step size eta (R,).

    sum_i alpha_i ||w - x_i||^2, and
    ||sum_i weights_i (x_i - eta grad_i) - w*||^2 + eta^2 sum_i weights_i^2 variance_i.
    """
    R, N, d = X.shape
    out = np.zeros((2, R))
    mean = scratch(d)
    for r in range(R):
        mean[:] = 0.0
        spread, noise = 0.0, 0.0
        for i in range(N):
            for k in range(d):
                mean[k] += weights[r, i] * (X[r, i, k] - eta[r] * grads[r, i, k])
            spread += alpha[r, i] * distance_sq(W[r], X[r, i])
            noise += weights[r, i] ** 2 * variance[r, i]
        out[0, r] = spread
        out[1, r] = distance_sq(mean, w_star) + eta[r] * eta[r] * noise
    return out
