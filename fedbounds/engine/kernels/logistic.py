"""Compiled primitives of logistic clients, binary (K = 1 row of scores) and multinomial.

The excess is the mean over samples of the Bregman divergence of the loss from the scores at w_i* to those at x, plus
reg ||x - w_i*||^2 / 2 and the residual gradient at the numerical w_i*; the same pass gives the slopes at x. With s =
softmax of a sample's scores at w_i* and delta = (x - w_i*) x_j the divergence of log sum exp is
log1p(sum_k s_k (exp(c_k) - 1 - c_k)), c = delta - s.delta, and s_k exp(c_k) / sum_l s_l exp(c_l) are the
probabilities at x.

Layout: client i has m_i = 8 ceil(n_i / 8) columns from ``starts[i]`` on; a table of v values a sample holds them
as a (v, m_i) matrix from v starts[i] on. Samples that pad have zero features and zero norms: they count nowhere.
``s`` and ``other`` are tables of the probabilities at the centres and of their logarithms; with K = 1 of the
probability of the label +1 and of the label -1.
"""

import numpy as np

from fedbounds.engine.kernels.compiled import (
    GROUP,
    assign,
    distance_sq,
    dot,
    jit,
    kernel,
    most_samples,
    multiply,
    offsets_from,
    scratch,
)
from fedbounds.engine.kernels.scalar_math import clamp, divergence, exp, exponentials, log1p

# Beyond this exponent a probability that underflows could matter: such samples take logarithms throughout.
FAR = 300.0


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
def divergences(z, s, base, K, m, mean, total, peak, keep):
    """Sum of the divergences of all samples, and whether none is far; z <- s_k exp(c_k) if kept."""
    _means(z, s, base, K, m, mean)
    _remainders(z, s, base, K, m, mean, total, peak, keep)
    value, far = 0.0, 0.0
    for j in range(m):
        value += log1p(total[j])
        far += 1.0 if peak[j] > FAR else 0.0
    return value, far == 0.0


@jit
def far_divergences(z, s, log_s, base, K, m, mean):
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
def weights(z, K, m, top):
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
def slopes(z, codes, K, m, rest, whole):
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


# A sum may be this many times smaller than its terms: it loses as many units of rounding.
CANCELLED = 64.0


@jit
def _binary(z, s, q, y, values, keep):
    """The sum of the divergences at changes of margin z of samples with probabilities s and q = 1 - s of their labels
    +1 and -1; z <- the slopes there if kept: minus the label times the probability of the other one.

    ``values`` has room for the samples of the largest client.
    """
    for j in range(len(z)):
        values[j], small, large = divergence(z[j], s[j], q[j])
        if keep:
            plus, minus = (small, large) if s[j] < q[j] else (large, small)
            z[j] = -y[j] * (minus if y[j] > 0.0 else plus)
    total = 0.0
    for j in range(len(z)):
        total += values[j]
    return total


@jit
def _regular(u, residual, reg):
    """reg ||u||^2 / 2 + residual.u"""
    return 0.5 * reg * dot(u, u) + dot(residual, u)


@kernel
def excess(W, columns, starts, sizes, K, reg, centre, s, other, residual):
    """Bregman excess of every client at W about centre_i (one row of centre and residual: about that point).

    (R, d) -> (R, N).
    """
    R, d = W.shape
    N, features, group = len(sizes), d // K, max(GROUP // K, 1)
    longest = most_samples(starts)
    out = np.empty((R, N))
    U, Z = scratch(group * d), scratch(group * K * longest)
    mean, total, peak = scratch(longest), scratch(longest), scratch(longest)
    for i in range(N):
        a, row = starts[i], min(i, len(centre) - 1)
        m = starts[i + 1] - a
        for first in range(0, R, group):
            count = min(group, R - first)
            offsets_from(W, first, count, centre[row], U)
            multiply(U, 0, features, columns, features * a, m, Z, 0, m, count * K, features, m)
            for c in range(count):
                z = Z[c * K * m : (c + 1) * K * m]
                if K == 1:
                    value = _binary(z, s[a : a + m], other[a : a + m], s[a : a + m], total, False)
                else:
                    value, near = divergences(z, s, K * a, K, m, mean, total, peak, False)
                    if not near:
                        value = far_divergences(z, s, other, K * a, K, m, mean)
                out[first + c, i] = value / sizes[i] + _regular(U[c * d : (c + 1) * d], residual[row], reg)
    return out


@jit
def _soft(z, u, x, columns, y, a, m, s, other, K, mean, total, peak):
    """The sum of a multinomial client's divergences at changes of score z; z <- the slopes at x = w_i* + u."""
    features = len(x) // K
    value, near = divergences(z, s, K * a, K, m, mean, total, peak, True)
    if not near:
        multiply(u, 0, features, columns, features * a, m, z, 0, m, K, features, m)
        value = far_divergences(z, s, other, K * a, K, m, mean)
        assign(u, x)
        multiply(u, 0, features, columns, features * a, m, z, 0, m, K, features, m)
        weights(z, K, m, total)
    slopes(z, y[a : a + m], K, m, mean, total)
    return value


@kernel
def moments(X, columns, rows, y, norms, starts, sizes, K, reg, w_i_star, s, other, residual, scale, w_star):
    """grads (R, N, d), and (R, N) each: their squared norms, variance, excess, ||x_i - w*||^2.

    ``rows`` holds the samples as rows of whole vectors, ``y`` labels or classes, ``norms`` ||x_j||^2, and ``scale``
    (N,) turns one sample's variance into a batch's.
    """
    R, N, d = X.shape
    width, features, group = len(rows) // starts[-1], d // K, max(GROUP // K, 1)
    longest = most_samples(starts)
    grads, sums = np.empty((R, N, d)), np.empty((4, R, N))
    U, Z, G = scratch(group * d), scratch(group * K * longest), scratch(group * K * width)
    mean, total, peak = scratch(longest), scratch(longest), scratch(longest)
    for i in range(N):
        a, n = starts[i], sizes[i]
        m = starts[i + 1] - a
        for first in range(0, R, group):
            count = min(group, R - first)
            offsets_from(X[:, i], first, count, w_i_star[i], U)
            multiply(U, 0, features, columns, features * a, m, Z, 0, m, count * K, features, m)
            for c in range(count):
                z, u, r = Z[c * K * m : (c + 1) * K * m], U[c * d : (c + 1) * d], first + c
                regular, second = _regular(u, residual[i], reg), 0.0
                if K == 1:
                    value = _binary(z, s[a : a + m], other[a : a + m], y[a : a + m], total, True)
                else:
                    value = _soft(z, u, X[r, i], columns, y, a, m, s, other, K, mean, total, peak)
                for k in range(K):
                    slope, square = z[k * m : (k + 1) * m], norms[a : a + m]
                    for j in range(m):
                        second += square[j] * (slope[j] * slope[j])
                sums[1, r, i] = second / n
                sums[2, r, i] = max(value / n + regular, 0.0)
                sums[3, r, i] = distance_sq(X[r, i], w_star)
            multiply(Z, 0, m, rows, width * a, width, G, 0, width, count * K, n, width)
            for c in range(count):
                r, g = first + c, G[c * K * width : (c + 1) * K * width]
                sums[1, r, i] = max(sums[1, r, i] - dot(g, g) / (n * n), 0.0) * scale[i]
                for k in range(K):
                    for f in range(features):
                        grads[r, i, k * features + f] = g[k * width + f] / n + reg * X[r, i, k * features + f]
                sums[0, r, i] = dot(grads[r, i], grads[r, i])
    return grads, sums
