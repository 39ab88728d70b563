"""Compiled moment recursion of the local steps of one round, client by client, each in its Hessian's eigenbasis.

There a step x <- x - eta (H (x - w_i*) + noise) acts on covariances entry by entry, and only the noise of a
minibatch couples them. A sample's gradient is (x_j.u + r_j) x_j + reg x with u = x - w_i*, so that its
covariance, averaged over u with mean z and covariance C, is

    (1/n) sum_j (x_j^T (C + z z^T) x_j + 2 r_j x_j.z + r_j^2) x_j x_j^T - S C S - (S z + m)(S z + m)^T

with S = X^T X / n and m = X^T r / n. The first sum is linear in C + z z^T: a table of fourth moments, or, where
that is too large, a pass over the samples.
"""

import numpy as np

from fedbounds.engine.kernels.compiled import jit, kernel

# How the noise of a client is given: none or additive, a table of fourth moments, or the samples themselves.
ADDITIVE, TABLE, SAMPLES = 0, 1, 2


@jit
def _table_form(table, C, z, packed, out, Q):
    """Q <- (1/n) sum_j (x_j^T (C + z z^T) x_j + 2 r_j x_j.z + r_j^2) x_j x_j^T, four rows of the table at a time.

    The table acts on the upper triangle of C + z z^T, row by row, followed by z and 1.
    """
    d = len(z)
    q = 0
    for k in range(d):
        for l in range(k, d):
            packed[q + l - k] = C[k, l] + z[k] * z[l]
        q += d - k
    for k in range(d):
        packed[q + k] = z[k]
    packed[q + d] = 1.0
    for a in range(0, len(table), 4):
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for b in range(len(packed)):
            v = packed[b]
            s0 += table[a, b] * v
            s1 += table[a + 1, b] * v
            s2 += table[a + 2, b] * v
            s3 += table[a + 3, b] * v
        out[a], out[a + 1], out[a + 2], out[a + 3] = s0, s1, s2, s3
    q = 0
    for k in range(d):
        for l in range(k, d):
            Q[k, l] = out[q + l - k]
            Q[l, k] = out[q + l - k]
        q += d - k


@jit
def _sample_form(X, r, C, z, Q):
    """The same from the samples, one after another."""
    n, d = X.shape
    for k in range(d):
        for l in range(d):
            Q[k, l] = 0.0
    for j in range(n):
        form, slope = 0.0, r[j]
        for k in range(d):
            inner = 0.0
            for l in range(d):
                inner += C[k, l] * X[j, l]
            form += inner * X[j, k]
            slope += z[k] * X[j, k]
        weight = (form + slope * slope) / n
        for k in range(d):
            share = weight * X[j, k]
            for l in range(d):
                Q[k, l] += share * X[j, l]


@jit
def _noise(form, C, z, Q, noise, packed, out):
    """Q <- the expected covariance of a client's stochastic gradient; returns its trace."""
    additive, scale, curvature, mean_slope, table, X, r = noise
    d = len(z)
    if form == ADDITIVE or scale == 0.0:
        for k in range(d):
            for l in range(d):
                Q[k, l] = additive if k == l else 0.0
        return d * additive
    if form == TABLE:
        _table_form(table, C, z, packed, out, Q)
    else:
        _sample_form(X, r, C, z, Q)
    trace = 0.0
    for k in range(d):
        for l in range(d):
            mean = (curvature[k] * z[k] + mean_slope[k]) * (curvature[l] * z[l] + mean_slope[l])
            Q[k, l] = scale * (Q[k, l] - curvature[k] * C[k, l] * curvature[l] - mean)
    for k in range(d):
        trace += Q[k, k]
    return trace


@jit
def _local_sums(lam, z, y, r, C, S, V):
    """E||grad F_i||^2, E e_i, E||x_i - w*||^2, tr(R S R) with R = I - P, and tr V, at a client's local model."""
    grad, excess, radius, moved, spread = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(len(lam)):
        square = z[k] * z[k] + C[k, k]
        grad += lam[k] * lam[k] * square
        excess += 0.5 * lam[k] * square
        radius += y[k] * y[k] + C[k, k]
        moved += r[k] * r[k] * S[k, k]
        spread += V[k, k]
    return grad, excess, radius, moved, spread


@jit
def _advance(eta, lam, z, s, shift, gone, V, Q):
    """The local step s of a client: V <- A V A + eta^2 Q with A = I - eta H, and the means."""
    d = len(lam)
    for k in range(d):
        for l in range(d):
            V[s + 1, k, l] = (1 - eta * lam[k]) * V[s, k, l] * (1 - eta * lam[l]) + eta * eta * Q[k, l]
    for k in range(d):
        shift[s + 1, k] = shift[s, k] + eta * lam[k] * z[k]
        gone[s + 1, k] = gone[s, k] + eta * lam[k] * (1 - gone[s, k])


@kernel
def local_steps(S, start, etas, lam, offset, additive, scale, reg, mean_slope, forms, table, X, r, rows):
    """The moments of every client over one round that starts at a common model with random state.

    All in the eigenbases U_i of H_i = U_i diag(lam_i) U_i^T: ``S`` (N, d, d) = U_i^T S U_i and ``start`` (N, d) =
    U_i^T m, the covariance and mean (from w*) of that model; ``offset`` (N, d) = U_i^T (w* - w_i*); ``table`` as in
    `_table_form`, or samples ``X`` (n, d) with residuals ``r`` (n,), client i in rows[i] to rows[i + 1]. With n
    steps it returns

    ``shift`` (n + 1, N, d), how far each mean has moved, ``gone`` (n + 1, N, d), the diagonal of I - P_i,
    ``V`` (n + 1, N, d, d), and ``local`` (6, n + 1, N): E||grad F_i||^2, E e_i, E||g_i - grad F_i||^2 (0 after the
    last step), E||x_i - w*||^2, tr((I - P_i) S (I - P_i)) and tr V_i.
    """
    N, d = lam.shape
    n = len(etas)
    shift, gone, V = np.zeros((n + 1, N, d)), np.zeros((n + 1, N, d)), np.zeros((n + 1, N, d, d))
    local = np.zeros((6, n + 1, N))
    C, Q, y, z = np.empty((d, d)), np.empty((d, d)), np.empty(d), np.empty(d)
    packed, out = np.zeros(table.shape[2]), np.zeros(table.shape[1])
    for i in range(N):
        slot = i if forms[i] == TABLE else 0
        samples, residuals = X[rows[i] : rows[i + 1]], r[rows[i] : rows[i + 1]]
        curvature = lam[i] - reg
        for s in range(n + 1):
            for k in range(d):
                y[k] = start[i, k] - shift[s, i, k]
                z[k] = y[k] + offset[i, k]
            for k in range(d):
                for l in range(d):
                    C[k, l] = (1 - gone[s, i, k]) * S[i, k, l] * (1 - gone[s, i, l]) + V[s, i, k, l]
            sums = _local_sums(lam[i], z, y, gone[s, i], C, S[i], V[s, i])
            local[0, s, i], local[1, s, i], local[3, s, i], local[4, s, i], local[5, s, i] = sums
            if s < n:
                noise = (additive[i], scale[i], curvature, mean_slope[i], table[slot], samples, residuals)
                local[2, s, i] = _noise(forms[i], C, z, Q, noise, packed, out)
                _advance(etas[s], lam[i], z, s, shift[:, i], gone[:, i], V[:, i], Q)
    return shift, gone, V, local
