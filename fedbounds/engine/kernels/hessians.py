"""Compiled primitives of clients with constant Hessians: quadratic and least-squares problems.

With u = x - w_i*: gradient H_i u, excess u^T H_i u / 2 and, for least squares, one sample's gradient variance
u^T A_i u + 2 b_i.u + c_i. Models go through in groups, which read each matrix once. Matrices are symmetric and come
as one flat table, every row padded to whole vectors.
"""

import numpy as np

from fedbounds.engine.kernels.common import GROUP, multiply, offsets_from, scratch
from fedbounds.engine.kernels.compiled import kernel


@kernel
def excess(W, H, centre):
    """(w - centre_i)^T H_i (w - centre_i) / 2: (R, d), a table of (M, d, d), (M, d) -> (R, M)."""
    R, d = W.shape
    M = len(centre)
    width = len(H) // (M * d)
    U, G = scratch(GROUP * d), scratch(GROUP * width)
    out = np.empty((R, M))
    for i in range(M):
        for first in range(0, R, GROUP):
            count = min(GROUP, R - first)
            offsets_from(W, first, count, centre[i], U)
            multiply(U, 0, d, H, i * d * width, width, G, 0, width, count, d, width)
            for c in range(count):
                value = 0.0
                for k in range(d):
                    value += U[c * d + k] * G[c * width + k]
                out[first + c, i] = 0.5 * value
    return out


@kernel
def moments(X, H, w_i_star, w_star, A, b, c_, scale):
    """grads (R, N, d), and (R, N) each: their squared norms, variance, excess, ||x_i - w*||^2.

    The variance is max(u^T A_i u + 2 b_i.u + c_i, 0) scale_i, or scale_i itself where A is empty.
    """
    R, N, d = X.shape
    width = len(H) // (N * d)
    grads, sums = np.empty((R, N, d)), np.empty((4, R, N))
    U, G = scratch(GROUP * d), scratch(GROUP * width)
    for i in range(N):
        for first in range(0, R, GROUP):
            count = min(GROUP, R - first)
            offsets_from(X[:, i], first, count, w_i_star[i], U)
            multiply(U, 0, d, H, i * d * width, width, G, 0, width, count, d, width)
            for c in range(count):
                r, square, value, radius = first + c, 0.0, 0.0, 0.0
                for k in range(d):
                    g = G[c * width + k]
                    square += g * g
                    value += U[c * d + k] * g
                    radius += (X[r, i, k] - w_star[k]) ** 2
                for k in range(d):
                    grads[r, i, k] = G[c * width + k]
                sums[0, r, i], sums[1, r, i], sums[2, r, i], sums[3, r, i] = square, scale[i], 0.5 * value, radius
            if len(A):
                multiply(U, 0, d, A, i * d * width, width, G, 0, width, count, d, width)
                for c in range(count):
                    form = 0.0
                    for k in range(d):
                        form += U[c * d + k] * (G[c * width + k] + 2.0 * b[i, k])
                    sums[1, first + c, i] = max(form + c_[i], 0.0) * scale[i]
    return grads, sums
