"""Soft-max arithmetic of a client's samples, K rows of scores of m samples each.

With s = softmax of a sample's scores at w_i* and delta = (x - w_i*) x_j the divergence of log sum exp is
log1p(sum_k s_k (exp(c_k) - 1 - c_k)), c = delta - s.delta. The same exponentials give the probabilities at x:
s_k exp(c_k) / sum_l s_l exp(c_l). ``s`` and ``log_s`` are tables, this client's samples from ``base`` on.
"""

import numpy as np

from fedbounds.engine.kernels.compiled import jit
from fedbounds.engine.kernels.math import clamp, exp, exponentials, log1p

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
