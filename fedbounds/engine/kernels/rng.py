"""The random stream of ``streams`` on scalars, for the compiled kernels: equal bit for bit."""

import math

import numpy as np

from fedbounds.engine import rng
from fedbounds.engine.kernels.compiled import jit
from fedbounds.engine.kernels.math import log_below, turned

GOLDEN = np.uint64(rng.GOLDEN)
S11 = np.uint64(11)
UNIT = rng.UNIT


mix64 = jit(rng.mix64)


@jit
def absorb(key, word):
    """The key after one more word (a non-negative integer)."""
    return mix64(key + (np.uint64(word) + np.uint64(1)) * GOLDEN)


@jit
def uniform(key, j):
    """Draw j of U[0, 1)."""
    # 53 bits fit a signed word, whose conversion is the faster one.
    return np.float64(np.int64(mix64(key + np.uint64(j + 1) * GOLDEN) >> S11)) * UNIT


@jit
def draw_indices(key, n, replacement, out):
    """Fill ``out`` with indices in [0, n): independent, or distinct by Floyd's algorithm."""
    count = len(out)
    if replacement:
        for j in range(count):
            # n < 2^31: without AVX-512 a processor converts only such numbers in vectors.
            out[j] = np.int64(np.int32(uniform(key, j) * np.float64(n)))
        return
    for j in range(count):
        last = n - count + j
        candidate = np.int64(uniform(key, j) * np.float64(last + 1))
        for k in range(j):
            if out[k] == candidate:
                candidate = last
                break
        out[j] = candidate


@jit
def draw_normals(keys, r, i, t, count, d, noise, u, out):
    """out[c] <- noise times d standard normals of step t of client i in replicate r + c, c < count, by Box-Muller.

    ``u`` has room for the uniform numbers and ``out`` for their normals, two of each a pair: all pairs go through one
    loop, which the compiler turns into vector instructions.
    """
    pairs = (d + 1) // 2
    for c in range(count):
        key = absorb(keys[r + c, i], t)
        for j in range(2 * pairs):
            u[2 * pairs * c + j] = uniform(key, j)
    for j in range(count * pairs):
        radius = noise * math.sqrt(-2.0 * log_below(u[2 * j]))
        cosine, sine = turned(u[2 * j + 1])
        out[2 * j] = radius * cosine
        out[2 * j + 1] = radius * sine
