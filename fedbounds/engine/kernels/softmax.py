"""Compiled primitives of multinomial logistic clients; a client's samples are padded to whole vectors.

With s = softmax of a sample's scores at w_i* and delta = (x - w_i*) x_j the excess is the mean Bregman divergence
log1p(sum_k s_k (exp(c_k) - 1 - c_k)), c = delta - s.delta, plus reg ||x - w_i*||^2 / 2 and the residual gradient
at the numerical w_i*. The same exponentials give the probabilities at x: s_k exp(c_k) / sum_l s_l exp(c_l).

Layout: client i has m_i = 8 ceil(n_i / 8) columns from ``starts[i]`` on; a table of v values a sample holds them
as a (v, m_i) matrix from v starts[i] on. Samples that pad have zero features and zero norms: they count nowhere.
"""

from __future__ import annotations

import numpy as np

from fedbounds.engine.kernels.common import scratch
from fedbounds.engine.kernels.compiled import bits_of, float_of, jit, kernel, strict
from fedbounds.engine.kernels.math import LN2_HIGH, LN2_LOW, LOG2E, ONE_BITS, ROUNDER, clamp, exp, log1p
from fedbounds.engine.kernels.products import product
from fedbounds.engine.kernels.streams import absorb, draw_indices

# Beyond this exponent a probability that underflows could matter: such samples take logarithms throughout.
FAR = 300.0


@kernel
def multiply(A, a, lda, B, b, ldb, C, c, ldc, K, Q, M):
    """C = A B (see ``products``), compiled once for all kernels."""
    product(A, a, lda, B, b, ldb, C, c, ldc, K, Q, M)


@strict
def exponentials(c):
    """exp(c) and exp(c) - 1 - c >= 0 for c in [-LIMIT, LIMIT], in few operations.

    With c = n ln 2 + r, exp(r) - 1 - r = r^2 P(r): P is the polynomial of degree 10 closest to it for |r| <=
    ln(2)/2 (within 3e-18), by Chebyshev interpolation.
    """
    shifted = c * LOG2E + ROUNDER
    n = shifted - ROUNDER
    r = (c - n * LN2_HIGH) - n * LN2_LOW
    # In pairs rather than by Horner's rule: a shorter chain of operations that wait for each other.
    square = r * r
    fourth = square * square
    low = (0.5 + 0.1666666666666667 * r) + square * (0.04166666666666667 + 0.008333333333326136 * r)
    middle = 0.0013888888888883748 + 0.00019841269874820627 * r
    middle = middle + square * (2.4801587325547743e-05 + 2.7557255400206422e-06 * r)
    high = (2.75572736431103e-07 + 2.5105217004720745e-08 * r) + square * 2.0914686968086876e-09
    P = low + fourth * (middle + fourth * high)
    scale, rest = float_of((bits_of(shifted) + ONE_BITS) << 52), square * P
    return scale + scale * (r + rest), scale * rest + ((scale * r - c) + (scale - 1.0))


@jit
def _means(z, s, base, K, m, mean):
    """mean_j = sum_k s_k z_k of every sample."""
    for j in range(m):
        mean[j] = s[base + j] * z[j]
    for k in range(1, K):
        row, share = z[k * m : (k + 1) * m], s[base + k * m : base + (k + 1) * m]
        for j in range(m):
            mean[j] += share[j] * row[j]


@jit
def _remainders(z, s, base, K, m, mean, total, peak, keep):
    """total_j = sum_k s_k (exp(c_k) - 1 - c_k) and peak_j = max_k c_k, c = z - mean; z <- s_k exp(c_k) if kept."""
    for j in range(m):
        total[j] = 0.0
        peak[j] = 0.0
    for k in range(K):
        row, share = z[k * m : (k + 1) * m], s[base + k * m : base + (k + 1) * m]
        for j in range(m):
            c = row[j] - mean[j]
            peak[j] = c if c > peak[j] else peak[j]
            near = clamp(c)
            value, remainder = exponentials(near)
            total[j] += share[j] * (remainder + (near - c))
            if keep:
                row[j] = share[j] * value


@jit
def _divergences(z, s, base, K, m, mean, total, peak, keep):
    """Sum of the divergences of all samples, and whether none is far; z <- s_k exp(c_k) if kept."""
    _means(z, s, base, K, m, mean)
    _remainders(z, s, base, K, m, mean, total, peak, keep)
    value, far = 0.0, 0.0
    for j in range(m):
        value += log1p(total[j])
        far += 1.0 if peak[j] > FAR else 0.0
    return value, far == 0.0


@jit
def _far_divergences(z, s, log_s, base, K, m, mean):
    """The same where some samples are far: log sum_k exp(log s_k + c_k), for them."""
    _means(z, s, base, K, m, mean)
    value = 0.0
    for j in range(m):
        peak, top, total, whole = -np.inf, -np.inf, 0.0, 0.0
        for k in range(K):
            c = z[k * m + j] - mean[j]
            peak, top = max(peak, c), max(top, log_s[base + k * m + j] + c)
        for k in range(K):
            c = z[k * m + j] - mean[j]
            whole += exp(clamp(log_s[base + k * m + j] + c - top))
            total += s[base + k * m + j] * (exponentials(clamp(c))[1] + (clamp(c) - c))
        value += max(top + log1p(max(whole - 1.0, 0.0)), 0.0) if peak > FAR else log1p(total)
    return value


@jit
def _weights(z, K, m, top):
    """z_k <- exp(z_k - max_l z_l), sample by sample."""
    for j in range(m):
        top[j] = z[j]
    for k in range(1, K):
        row = z[k * m : (k + 1) * m]
        for j in range(m):
            top[j] = row[j] if row[j] > top[j] else top[j]
    for k in range(K):
        row = z[k * m : (k + 1) * m]
        for j in range(m):
            row[j] = exp(clamp(row[j] - top[j]))


@jit
def _slopes(z, codes, K, m, rest, whole):
    """z <- softmax - onehot from positive weights z; the entry at the label is minus the sum of the others."""
    for j in range(m):
        rest[j] = 0.0
        whole[j] = 0.0
    for k in range(K):
        row = z[k * m : (k + 1) * m]
        for j in range(m):
            rest[j] += 0.0 if codes[j] == k else row[j]
            whole[j] += row[j]
    for j in range(m):
        whole[j] = 1.0 / whole[j]
    for k in range(K):
        row = z[k * m : (k + 1) * m]
        for j in range(m):
            row[j] = (-rest[j] if codes[j] == k else row[j]) * whole[j]


@jit
def _regular(u, residual, reg):
    """reg ||u||^2 / 2 + residual.u"""
    linear, square = 0.0, 0.0
    for k in range(len(u)):
        linear += residual[k] * u[k]
        square += u[k] * u[k]
    return 0.5 * reg * square + linear


@kernel
def excess(W, columns, starts, sizes, reg, centre, s, log_s, residual):
    """Bregman excess of every client at W about centre_i (one row of centre and residual: about that point).

    (R, d) -> (R, N); ``s`` and ``log_s`` are tables of the probabilities at the centres and their logarithms.
    """
    R, d = W.shape
    N, K = len(sizes), len(s) // starts[-1]
    features = d // K
    longest = np.max(starts[1:] - starts[:-1])
    out = np.empty((R, N))
    u, z = scratch(d), scratch(K * longest)
    mean, total, peak = scratch(longest), scratch(longest), scratch(longest)
    for i in range(N):
        m, row = starts[i + 1] - starts[i], min(i, len(centre) - 1)
        for r in range(R):
            for k in range(d):
                u[k] = W[r, k] - centre[row, k]
            multiply(u, 0, features, columns, features * starts[i], m, z, 0, m, K, features, m)
            value, near = _divergences(z, s, K * starts[i], K, m, mean, total, peak, False)
            if not near:
                value = _far_divergences(z, s, log_s, K * starts[i], K, m, mean)
            out[r, i] = value / sizes[i] + _regular(u, residual[row], reg)
    return out


@kernel
def moments(X, columns, data, codes, norms, starts, sizes, reg, w_i_star, s, log_s, residual, scale, w_star):
    """grads (R, N, d), and (R, N) each: their squared norms, variance, excess, ||x_i - w*||^2.

    ``data`` holds the samples as rows of whole vectors, ``norms`` ||x_j||^2, and ``scale`` (N,) turns one
    sample's variance into a batch's.
    """
    R, N, d = X.shape
    K, width = len(s) // starts[-1], len(data) // starts[-1]
    features = d // K
    longest = np.max(starts[1:] - starts[:-1])
    grads, sums = np.empty((R, N, d)), np.empty((4, R, N))
    u, z, g = scratch(d), scratch(K * longest), scratch(K * width)
    mean, total, peak = scratch(longest), scratch(longest), scratch(longest)
    for i in range(N):
        a, n = starts[i], sizes[i]
        m = starts[i + 1] - a
        for r in range(R):
            x = X[r, i]
            for k in range(d):
                u[k] = x[k] - w_i_star[i, k]
            multiply(u, 0, features, columns, features * a, m, z, 0, m, K, features, m)
            value, near = _divergences(z, s, K * a, K, m, mean, total, peak, True)
            if not near:
                multiply(u, 0, features, columns, features * a, m, z, 0, m, K, features, m)
                value = _far_divergences(z, s, log_s, K * a, K, m, mean)
            sums[2, r, i] = max(value / n + _regular(u, residual[i], reg), 0.0)
            if not near:
                u[:] = x
                multiply(u, 0, features, columns, features * a, m, z, 0, m, K, features, m)
                _weights(z, K, m, total)
            _slopes(z, codes[a : a + m], K, m, mean, total)
            multiply(z, 0, m, data, width * a, width, g, 0, width, K, n, width)
            second = 0.0
            for k in range(K):
                for j in range(m):
                    second += norms[a + j] * (z[k * m + j] * z[k * m + j])
            mean_square = 0.0
            for k in range(K * width):
                mean_square += g[k] * g[k]
            sums[1, r, i] = max(second / n - mean_square / (n * n), 0.0) * scale[i]
            grad = grads[r, i]
            for k in range(K):
                for f in range(features):
                    c = k * features + f
                    grad[c] = g[k * width + f] / n + reg * x[c]
            square, radius = 0.0, 0.0
            for k in range(d):
                square += grad[k] * grad[k]
                radius += (x[k] - w_star[k]) ** 2
            sums[0, r, i] = square
            sums[3, r, i] = radius
    return grads, sums


@kernel
def sample_step(X, data, codes, starts, sizes, K, reg, eta, t, keys, batch, replacement):
    """x_i - eta (mean over the batch of slope_j x_j + reg x), batch from the stream of step t."""
    R, N, d = X.shape
    width, features = len(data) // starts[-1], d // K
    m = (batch + 7) // 8 * 8
    chosen, labels = np.empty(batch, dtype=np.int64), np.zeros(m)
    x, z, g = scratch(d), scratch(K * m), scratch(K * width)
    rows, columns = scratch(m * width), scratch(width * m)
    top, whole = scratch(m), scratch(m)
    columns[:] = 0.0
    out = np.empty((R, N, d))
    for i in range(N):
        for r in range(R):
            draw_indices(absorb(keys[r, i], t), sizes[i], replacement, chosen)
            for j in range(batch):
                sample = starts[i] + chosen[j]
                row = data[sample * width : (sample + 1) * width]
                labels[j] = codes[sample]
                for f in range(width):
                    rows[j * width + f] = row[f]
                for f in range(features):
                    columns[f * m + j] = row[f]
            x[:] = X[r, i]
            multiply(x, 0, features, columns, 0, m, z, 0, m, K, features, m)
            _weights(z, K, m, top)
            _slopes(z, labels, K, m, top, whole)
            multiply(z, 0, m, rows, 0, width, g, 0, width, K, batch, width)
            after = out[r, i]
            for k in range(K):
                for f in range(features):
                    c = k * features + f
                    after[c] = x[c] - eta * (g[k * width + f] / batch + reg * x[c])
    return out
