"""Compiled primitives of clients with constant Hessians: quadratic and least-squares problems.

With u = x - w_i*: gradient H_i u, excess u^T H_i u / 2 and, for least squares, one sample's gradient variance
u^T A_i u + 2 b_i.u + c_i. Models are the columns of a matrix product, so that sums along u are taken of many at once.
``forms`` is a flat table of the rows of H_i, and of A_i below them where there is one, client after client.
"""

import numpy as np

from fedbounds.engine.kernels.compiled import distance_sq, jit, kernel, multiply, scratch
from fedbounds.engine.kernels.scalar_math import draw_normals

# Models that go through a matrix product together: whole tiles of it.
COLUMNS = 32


@jit
def _columns(models, first, step, count, m, centre, out):
    """out <- models[first + step c] - centre as columns c = 0 ... count - 1 of a (d, m) matrix."""
    for k in range(len(centre)):  # outermost, as stores that follow each other are the quicker ones
        for c in range(count):
            out[k * m + c] = models[first + step * c, k] - centre[k]


@kernel
def excess(W, forms, centre):
    """(w - centre_i)^T H_i (w - centre_i) / 2: (R, d), the table of M matrices, (M, d) -> (R, M)."""
    R, d = W.shape
    M = len(centre)
    rows = len(forms) // (M * d)
    U, G, value = scratch(d * COLUMNS), scratch(d * COLUMNS), scratch(COLUMNS)
    V = np.zeros(d * (R + COLUMNS))
    nothing, out = np.zeros(d), np.empty((R, M))
    for first in range(0, R, COLUMNS):
        count = min(COLUMNS, R - first)
        _columns(W, first, 1, count, (count + 7) // 8 * 8, nothing, V[d * first :])
    for i in range(M):
        for first in range(0, R, COLUMNS):
            count = min(COLUMNS, R - first)
            m = (count + 7) // 8 * 8
            for k in range(d):
                w, u, point = V[d * first + k * m : d * first + (k + 1) * m], U[k * m : (k + 1) * m], centre[i, k]
                for c in range(m):
                    u[c] = w[c] - point
            multiply(forms, i * rows * d, d, U, 0, m, G, 0, m, d, d, m)
            value[:] = 0.0
            for k in range(d):
                u, g = U[k * m : (k + 1) * m], G[k * m : (k + 1) * m]
                for c in range(m):
                    value[c] += u[c] * g[c]
            for c in range(count):
                out[first + c, i] = 0.5 * value[c]
    return out


@jit
def _step(models, s, first, count, i, eta, G, m, z, even):
    """The models after step s of client i: column c of G (d, m) is a gradient, z[even c:] its noise, if even > 0."""
    for c in range(count):
        x, y = models[s, first + c, i], models[s + 1, first + c, i]
        for k in range(len(x)):
            y[k] = x[k] - eta * (G[k * m + c] + (z[even * c + k] if even > 0 else 0.0))


@kernel
def moments(models, etas, t0, keys, noise, forms, w_i_star, w_star, b, c_, scale):
    """grads (n, R, N, d), and (n, R, N) each: their squared norms, variance, excess, ||x_i - w*||^2 at models[:n].

    Where there are sizes ``etas`` (n,) of steps, these are taken on the way, from models (n + 1, R, N, d) before to
    those after them: x - eta (gradient + noise_i z) with z ~ N(0, I_d) from the streams of steps t0, t0 + 1, ...
    The variance is max(u^T A_i u + 2 b_i.u + c_i, 0) scale_i, or scale_i itself where the table holds no A.
    """
    moves = len(etas) > 0
    n = len(etas) if moves else len(models)
    _, R, N, d = models.shape
    rows, even = len(forms) // (N * d), (d + 1) // 2 * 2
    grads, sums = np.empty((n, R, N, d)), np.empty((4, n, R, N))
    U, G = np.zeros(d * COLUMNS), scratch(rows * COLUMNS)
    square, value, form = scratch(COLUMNS), scratch(COLUMNS), scratch(COLUMNS)
    u_, z = scratch(even * COLUMNS), scratch(even * COLUMNS)
    z[:] = 0.0
    for i in range(N):
        for first in range(0, R, COLUMNS):
            count = min(COLUMNS, R - first)
            m = (count + 7) // 8 * 8
            for s in range(n):
                _columns(models[s].reshape(R * N, d), first * N + i, N, count, m, w_i_star[i], U)
                multiply(forms, i * rows * d, d, U, 0, m, G, 0, m, rows, d, m)
                square[:], value[:], form[:] = 0.0, 0.0, 0.0
                for k in range(d):
                    u, g = U[k * m : (k + 1) * m], G[k * m : (k + 1) * m]
                    for c in range(m):
                        square[c] += g[c] * g[c]
                        value[c] += u[c] * g[c]
                for k in range(rows - d):
                    u, g, shift = U[k * m : (k + 1) * m], G[(d + k) * m : (d + k + 1) * m], 2.0 * b[i, k]
                    for c in range(m):
                        form[c] += u[c] * (g[c] + shift)
                for c in range(count):
                    r = first + c
                    for k in range(d):
                        grads[s, r, i, k] = G[k * m + c]
                    sums[0, s, r, i], sums[2, s, r, i] = square[c], 0.5 * value[c]
                    sums[3, s, r, i] = distance_sq(models[s, r, i], w_star)
                    sums[1, s, r, i] = max(form[c] + c_[i], 0.0) * scale[i] if rows > d else scale[i]
                if moves:
                    if noise[i] > 0.0:
                        draw_normals(keys, first, i, t0 + s, count, d, noise[i], u_, z)
                    _step(models, s, first, count, i, etas[s], G, m, z, even if noise[i] > 0.0 else 0)
    return grads, sums
