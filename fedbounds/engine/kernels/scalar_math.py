"""Scalar arithmetic of the compiled kernels: exponentials, logarithms, and the draws of `fedbounds.engine.rng`."""

import math

import numpy as np

from fedbounds.engine import rng
from fedbounds.engine.kernels.compiled import bits_of, float_of, jit, strict

LIMIT = 700.0
LOG2E = 1.4426950408889634
# ln 2 in two parts: n * LN2_HIGH is exact for |n| < 2^11.
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
# Adding 1.5 * 2^52 rounds to the nearest whole number, which is then in the low bits; taking it away restores it.
ROUNDER = 6755399441055744.0
ROUNDER_BITS = 0x4338000000000000
ONE_BITS = 1023
TURN = 6.283185307179586
SQRT_HALF_BITS = 0x3FE6A09E667F3BCD


@strict
def clamp(x):
    """x limited to [-LIMIT, LIMIT]; nan stays nan."""
    x = LIMIT if x > LIMIT else x
    return -LIMIT if x < -LIMIT else x


@strict
def remainder(r):
    """exp(r) - 1 - r = r^2 P(r) for |r| <= ln(2)/2.

    P is the polynomial of degree 10 closest to it there (within 3e-18), by Chebyshev interpolation.
    """
    # In pairs rather than by Horner's rule: a shorter chain of operations that wait for each other.
    square = r * r
    fourth = square * square
    low = (0.5 + 0.1666666666666667 * r) + square * (0.04166666666666667 + 0.008333333333326136 * r)
    middle = 0.0013888888888883748 + 0.00019841269874820627 * r
    middle = middle + square * (2.4801587325547743e-05 + 2.7557255400206422e-06 * r)
    high = (2.75572736431103e-07 + 2.5105217004720745e-08 * r) + square * 2.0914686968086876e-09
    return square * (low + fourth * (middle + fourth * high))


@strict
def exponentials(c):
    """exp(c) and exp(c) - 1 - c >= 0 for c = n ln 2 + r in [-LIMIT, LIMIT], in few operations."""
    shifted = c * LOG2E + ROUNDER
    n = shifted - ROUNDER
    r = (c - n * LN2_HIGH) - n * LN2_LOW
    scale, rest = float_of((bits_of(shifted) + ONE_BITS) << 52), remainder(r)
    return scale + scale * (r + rest), scale * rest + ((scale * r - c) + (scale - 1.0))


@strict
def exp(x):
    return exponentials(x)[0]


@strict
def _log_series(q):
    """(atanh(t) / t - 1) / t^2 at q = t^2 <= 0.0295 (where f lies in [sqrt(1/2), sqrt(2)])."""
    # The first term left out is below 2^-56 of the logarithm.
    s = 1.0 / 21
    s = s * q + 1.0 / 19
    s = s * q + 1.0 / 17
    s = s * q + 1.0 / 15
    s = s * q + 1.0 / 13
    s = s * q + 1.0 / 11
    s = s * q + 1.0 / 9
    s = s * q + 1.0 / 7
    s = s * q + 1.0 / 5
    return s * q + 1.0 / 3


@strict
def _logarithm(y):
    """k, k as a float, t and S with log(1 + y) = k ln 2 + 2 t + 2 t^3 S, y >= 0; from y itself while k = 0.

    1 + y = 2^k f with f in [sqrt(1/2), sqrt(2)) and t = (f - 1) / (f + 1).
    """
    bits = bits_of(1.0 + y)
    k = (bits - SQRT_HALF_BITS) >> 52
    above = y if k == 0 else float_of(bits - (k << 52)) - 1.0
    t = above / (2.0 + above)
    return k, float_of(k + ROUNDER_BITS) - ROUNDER, t, _log_series(t * t)


@strict
def log1p(y):
    """log(1 + y) for y >= 0, with full relative accuracy near 0."""
    _, n, t, series = _logarithm(y)
    return n * LN2_HIGH + ((2.0 * t + 2.0 * t * t * t * series) + n * LN2_LOW)


@strict
def log_below(u):
    """log(1 - u) for u = 0 or 2^-53 <= u < 1 a multiple of 2^-53."""
    bits = bits_of(1.0 - u)
    k = (bits - SQRT_HALF_BITS) >> 52
    above = float_of(bits - (k << 52)) - 1.0
    t = above / (2.0 + above)
    n = float_of(k + ROUNDER_BITS) - ROUNDER
    return n * LN2_HIGH + ((2.0 * t + 2.0 * t * t * t * _log_series(t * t)) + n * LN2_LOW)


@strict
def turned(u):
    """cos and sin of 2 pi u, 0 <= u < 1, from their series at the angle to the nearest quarter turn."""
    shifted = 4.0 * u + ROUNDER
    x = (u - 0.25 * (shifted - ROUNDER)) * TURN
    # |x| <= pi / 4: the first terms left out are below 2^-58.
    q = x * x
    c, s = 1.0 / 20922789888000, 1.0 / 355687428096000
    c = c * q - 1.0 / 87178291200
    c = c * q + 1.0 / 479001600
    c = c * q - 1.0 / 3628800
    c = c * q + 1.0 / 40320
    c = c * q - 1.0 / 720
    c = c * q + 1.0 / 24
    c = 1.0 - (0.5 * q - q * q * c)
    s = s * q - 1.0 / 1307674368000
    s = s * q + 1.0 / 6227020800
    s = s * q - 1.0 / 39916800
    s = s * q + 1.0 / 362880
    s = s * q - 1.0 / 5040
    s = s * q + 1.0 / 120
    s = x + x * q * (s * q - 1.0 / 6)
    quarter = bits_of(shifted)
    even = (quarter & 1) == 0
    cosine, sine = c if even else s, s if even else c
    return -cosine if ((quarter + 1) & 2) != 0 else cosine, -sine if (quarter & 2) != 0 else sine


@strict
def divergence(delta, s, q):
    """Bregman divergence log(s e^delta + q) - s delta >= 0 of log(1 + e^z) at s = sigmoid(z), q = 1 - s.

    Returned with it are the two probabilities at z + delta, first that which is at most 1/2 at z.

    With s <= 1/2 (else swap s and q and the sign of delta), y = s (e^delta - 1) and 1 + y = 2^k f, f in
    [sqrt(1/2), sqrt(2)), log f = 2 atanh(t), t = (f - 1) / (f + 1): the value is log(1 + y) - s delta. Near the
    minimum, where k = 0 and this cancels, it is s R - t (y - 2 t^2 S) with R = e^delta - 1 - delta and
    2 atanh(t) = 2 t + 2 t^3 S, whose second term is at most half of the first.
    """
    small, large = (s, q) if s < q else (q, s)
    delta = delta if s < q else -delta
    near = LIMIT if delta > LIMIT else delta
    clamped = clamp(delta)
    value, remainder = exponentials(clamped)
    remainder = remainder + (clamped - near)
    y = small * (near + remainder)
    k, n, t, series = _logarithm(y)
    square = t * t
    # Beyond the clamp the exponential alone counts, and its logarithm is linear.
    far = n * LN2_HIGH + ((2.0 * t + 2.0 * t * square * series) + n * LN2_LOW) + ((delta - near) - small * delta)
    scale = 1.0 / (small * value + large)
    distance = small * remainder - t * (y - 2.0 * square * series) if k == 0 else far
    return distance, small * value * scale, large * scale


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
