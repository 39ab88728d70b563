"""Compiled primitives of binary logistic clients; features are held sample by sample and feature by feature.

With z_j = w_i*.x_j and delta_j = (x - w_i*).x_j the excess is the mean Bregman divergence of log(1 + e^z)
from z_j to z_j + delta_j, plus reg ||x - w_i*||^2 / 2 and the residual gradient at the numerical w_i*.
Loops run along samples, where they vectorise for any dimension.
"""

from __future__ import annotations

import numpy as np

from fedbounds.engine.kernels.common import scratch
from fedbounds.engine.kernels.compiled import jit, kernel
from fedbounds.engine.kernels.math import clamp, divergence, exp
from fedbounds.engine.kernels.streams import absorb, draw_indices


@jit
def _margins(columns, begin, n, u, out):
    """out_j = sum_k u_k x_jk for a client whose feature k lies at columns[begin + k n : begin + (k + 1) n]."""
    d = len(u)
    for j in range(n):
        out[j] = 0.0
    whole = d - d % 4
    for k in range(0, whole, 4):
        c0 = columns[begin + k * n : begin + (k + 1) * n]
        c1 = columns[begin + (k + 1) * n : begin + (k + 2) * n]
        c2 = columns[begin + (k + 2) * n : begin + (k + 3) * n]
        c3 = columns[begin + (k + 3) * n : begin + (k + 4) * n]
        u0, u1, u2, u3 = u[k], u[k + 1], u[k + 2], u[k + 3]
        for j in range(n):
            out[j] += (u0 * c0[j] + u1 * c1[j]) + (u2 * c2[j] + u3 * c3[j])
    for k in range(whole, d):
        column = columns[begin + k * n : begin + (k + 1) * n]
        for j in range(n):
            out[j] += u[k] * column[j]


@jit
def _mean_divergence(delta, s, q):
    """Mean over samples of the Bregman divergence at sigmoid s (q = 1 - s)."""
    total = 0.0
    for j in range(len(s)):
        total += divergence(delta[j], s[j], q[j])
    return total / len(s)


@jit
def _slope(margin, label):
    """Derivative of log(1 + exp(-label z)) at z = margin: -label / (1 + exp(label margin))."""
    return -label / (1.0 + exp(clamp(label * margin)))


@jit
def _excess(columns, begin, n, u, s, q, reg, residual, delta):
    """One client's excess at centre + u; leaves the changes of margin in ``delta``."""
    _margins(columns, begin, n, u, delta)
    linear, square = 0.0, 0.0
    for k in range(len(u)):
        linear += residual[k] * u[k]
        square += u[k] * u[k]
    return _mean_divergence(delta[:n], s, q) + 0.5 * reg * square + linear


@kernel
def excess(W, columns, offsets, reg, centre, s, q, residual):
    """Bregman excess of every client at W about centre_i (one row of centre and residual: about that point).

    (R, d) -> (R, N); ``s`` and ``q`` (n,) are the sigmoids at the centres and their complements.
    """
    R, d = W.shape
    N = len(offsets) - 1
    longest = np.max(offsets[1:] - offsets[:-1])
    out = np.empty((R, N))
    u, delta = scratch(d), scratch(longest)
    for i in range(N):
        a, b = offsets[i], offsets[i + 1]
        row = min(i, len(centre) - 1)
        for r in range(R):
            for k in range(d):
                u[k] = W[r, k] - centre[row, k]
            out[r, i] = _excess(columns, a * d, b - a, u, s[a:b], q[a:b], reg, residual[row], delta)
    return out


@kernel
def moments(X, columns, labels, offsets, reg, w_i_star, s, q, z, residual, norms, scale, w_star):
    """grads (R, N, d), and (R, N) each: their squared norms, variance, excess, ||x_i - w*||^2.

    ``z`` (n,) margins at w_i*, ``norms`` (n,) ||x_j||^2, ``scale`` (N,) turns one sample's variance into a batch's.
    """
    R, N, d = X.shape
    longest = np.max(offsets[1:] - offsets[:-1])
    grads = np.empty((R, N, d))
    sums = np.empty((4, R, N))
    u, delta = scratch(d), scratch(longest)
    for i in range(N):
        a, b = offsets[i], offsets[i + 1]
        n = b - a
        for r in range(R):
            for k in range(d):
                u[k] = X[r, i, k] - w_i_star[i, k]
            value = _excess(columns, a * d, n, u, s[a:b], q[a:b], reg, residual[i], delta)
            for j in range(n):
                delta[j] = _slope(z[a + j] + delta[j], labels[a + j])
            second = 0.0
            for j in range(n):
                second += norms[a + j] * delta[j] * delta[j]
            square, mean_square, radius = 0.0, 0.0, 0.0
            for k in range(d):
                column = columns[(a * d + k * n) : (a * d + (k + 1) * n)]
                mean = 0.0
                for j in range(n):
                    mean += delta[j] * column[j]
                mean /= n
                grads[r, i, k] = mean + reg * X[r, i, k]
                mean_square += mean * mean
                square += grads[r, i, k] ** 2
                radius += (X[r, i, k] - w_star[k]) ** 2
            sums[0, r, i] = square
            sums[1, r, i] = max(second / n - mean_square, 0.0) * scale[i]
            sums[2, r, i] = max(value, 0.0)
            sums[3, r, i] = radius
    return grads, sums


@kernel
def sample_step(X, data, labels, offsets, reg, eta, t, keys, batch, replacement):
    """x_i - eta (mean over the batch of slope_j x_j + reg x), batch from the stream of step t."""
    R, N, d = X.shape
    out = np.empty((R, N, d))
    for r in range(R):
        chosen = np.empty(batch, dtype=np.int64)
        g = scratch(d)
        for i in range(N):
            draw_indices(absorb(keys[r, i], t), offsets[i + 1] - offsets[i], replacement, chosen)
            g[:] = 0.0
            for j in range(batch):
                row = data[offsets[i] + chosen[j]]
                margin = 0.0
                for k in range(d):
                    margin += row[k] * X[r, i, k]
                slope = _slope(margin, labels[offsets[i] + chosen[j]])
                for k in range(d):
                    g[k] += slope * row[k]
            for k in range(d):
                out[r, i, k] = X[r, i, k] - eta * (g[k] / batch + reg * X[r, i, k])
    return out
