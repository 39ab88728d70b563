"""Compiled primitives of clients with constant Hessians: quadratic and least-squares problems.

With u = x - w_i*: gradient H_i u, excess u^T H_i u / 2 and, for least squares, one sample's gradient variance
u^T A_i u + 2 b_i.u + c_i. Replicates go through in fours, which read each Hessian once; a last incomplete
four is filled up with zeros, so that every replicate runs through the same instructions.
"""

from __future__ import annotations

import numpy as np

from fedbounds.engine.kernels.common import scratch
from fedbounds.engine.kernels.compiled import jit, kernel
from fedbounds.engine.kernels.streams import absorb, draw_indices, draw_normals

FOUR = 4


@jit
def _four_products(H, U, G):
    """G[c] = H U[c] for four vectors c."""
    d = H.shape[0]
    for k in range(d):
        a0, a1, a2, a3 = 0.0, 0.0, 0.0, 0.0
        for l in range(d):
            h = H[k, l]
            a0 += h * U[0, l]
            a1 += h * U[1, l]
            a2 += h * U[2, l]
            a3 += h * U[3, l]
        G[0, k], G[1, k], G[2, k], G[3, k] = a0, a1, a2, a3


@jit
def _dot(x, y):
    total = 0.0
    for k in range(len(x)):
        total += x[k] * y[k]
    return total


@kernel
def excess(W, H, centre):
    """(w - centre_i)^T H_i (w - centre_i) / 2: (R, d), (M, d, d), (M, d) -> (R, M)."""
    R, d = W.shape
    M = H.shape[0]
    out = np.empty((R, M))
    for block in range((R + FOUR - 1) // FOUR):
        U, G = np.zeros((FOUR, d)), np.empty((FOUR, d))
        count = min(FOUR, R - block * FOUR)
        for i in range(M):
            for c in range(count):
                for k in range(d):
                    U[c, k] = W[block * FOUR + c, k] - centre[i, k]
            _four_products(H[i], U, G)
            for c in range(count):
                out[block * FOUR + c, i] = 0.5 * _dot(U[c], G[c])
    return out


@kernel
def moments(X, H, w_i_star, w_star):
    """grads (R, N, d), and (R, N) each: their squared norms, excess, ||x_i - w*||^2."""
    R, N, d = X.shape
    grads = np.empty((R, N, d))
    sums = np.empty((3, R, N))
    for block in range((R + FOUR - 1) // FOUR):
        U, G = np.zeros((FOUR, d)), np.empty((FOUR, d))
        count = min(FOUR, R - block * FOUR)
        for i in range(N):
            for c in range(count):
                for k in range(d):
                    U[c, k] = X[block * FOUR + c, i, k] - w_i_star[i, k]
            _four_products(H[i], U, G)
            for c in range(count):
                r = block * FOUR + c
                radius = 0.0
                for k in range(d):
                    grads[r, i, k] = G[c, k]
                for k in range(d):
                    radius += (X[r, i, k] - w_star[k]) ** 2
                sums[0, r, i] = _dot(G[c], G[c])
                sums[1, r, i] = 0.5 * _dot(U[c], G[c])
                sums[2, r, i] = radius
    return grads, sums


@kernel
def variance_form(X, w_i_star, A, b, c_, scale):
    """max(u^T A_i u + 2 b_i.u + c_i, 0) scale_i with u = x_i - w_i*: (R, N, d) -> (R, N)."""
    R, N, d = X.shape
    out = np.empty((R, N))
    for block in range((R + FOUR - 1) // FOUR):
        U, G = np.zeros((FOUR, d)), np.empty((FOUR, d))
        count = min(FOUR, R - block * FOUR)
        for i in range(N):
            for c in range(count):
                for k in range(d):
                    U[c, k] = X[block * FOUR + c, i, k] - w_i_star[i, k]
            _four_products(A[i], U, G)
            for c in range(count):
                form = _dot(U[c], G[c]) + 2.0 * _dot(U[c], b[i]) + c_[i]
                out[block * FOUR + c, i] = max(form, 0.0) * scale[i]
    return out


@kernel
def normal_step(X, grads, eta, t, keys, noise):
    """x_i - eta (grad_i + noise_i z), z ~ N(0, I_d) from the stream of step t: (R, N, d)."""
    R, N, d = X.shape
    out = np.empty((R, N, d))
    for r in range(R):
        z = scratch(d)
        z[:] = 0.0
        for i in range(N):
            if noise[i] > 0:
                draw_normals(absorb(keys[r, i], t), z)
            for k in range(d):
                out[r, i, k] = X[r, i, k] - eta * (grads[r, i, k] + noise[i] * z[k])
            z[:] = 0.0
    return out


@kernel
def sample_step(X, data, targets, offsets, reg, eta, t, keys, batch, replacement):
    """x_i - eta (mean over the batch of (x_j.x - y_j) x_j + reg x), batch from the stream of step t."""
    R, N, d = X.shape
    out = np.empty((R, N, d))
    for r in range(R):
        chosen = np.empty(batch, dtype=np.int64)
        g = scratch(d)
        for i in range(N):
            x = X[r, i]
            draw_indices(absorb(keys[r, i], t), offsets[i + 1] - offsets[i], replacement, chosen)
            g[:] = 0.0
            for j in range(batch):
                row = data[offsets[i] + chosen[j]]
                slope = _dot(row, x) - targets[offsets[i] + chosen[j]]
                for k in range(d):
                    g[k] += slope * row[k]
            for k in range(d):
                out[r, i, k] = x[k] - eta * (g[k] / batch + reg * x[k])
    return out
