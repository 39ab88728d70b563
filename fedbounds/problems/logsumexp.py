"""Soft-max arithmetic that keeps its relative accuracy at huge margins and next to the minimum.

Logits have their classes on axis -2 and samples on axis -1; every function works in any float precision.
"""

import numpy as np
from numpy.typing import NDArray

# Below this the difference expm1(x) - x loses digits; the series of SERIES_TERMS terms is exact to rounding.
SERIES_RADIUS = 0.25
SERIES_TERMS = 16
# exp stays finite below; larger differences are taken through a shifted log-sum-exp.
EXP_LIMIT = 500.0


def exp_remainder(x: NDArray) -> NDArray:
    """exp(x) - 1 - x >= 0 without cancellation: x^2/2 (1 + x/3 (1 + x/4 (...))) near zero."""
    small = np.where(np.abs(x) < SERIES_RADIUS, x, 0)
    series = np.ones_like(small)
    for k in range(SERIES_TERMS + 2, 2, -1):
        series = 1 + small / k * series
    return np.where(np.abs(x) < SERIES_RADIUS, small * small / 2 * series, np.expm1(x) - x)


def log_sum_exp(z: NDArray) -> NDArray:
    """log sum_k exp(z_k) over axis -2, through log1p about the largest term."""
    top = np.argmax(z, axis=-2, keepdims=True)
    peak = np.take_along_axis(z, top, -2)
    rest = np.exp(z - peak)
    np.put_along_axis(rest, top, 0, -2)
    return (peak + np.log1p(rest.sum(-2, keepdims=True)))[..., 0, :]


def probabilities(z: NDArray) -> NDArray:
    """Soft-max of z over axis -2."""
    weights = np.exp(z - z.max(-2, keepdims=True))
    return weights / weights.sum(-2, keepdims=True)


def one_hot(codes: NDArray, classes: int) -> NDArray:
    """Boolean (..., classes, n) of class codes (..., n)."""
    return codes[..., None, :] == np.arange(classes)[:, None]


def cross_entropy(z: NDArray, codes: NDArray) -> NDArray:
    """-log softmax(z)_code >= 0: (..., classes, n), (..., n) -> (..., n)."""
    hot = one_hot(codes, z.shape[-2])
    return log_sum_exp(z - np.where(hot, z, 0).sum(-2, keepdims=True))


def slopes(z: NDArray, codes: NDArray) -> NDArray:
    """Gradient of the cross entropy in z: softmax(z) - onehot, whose entry at the label is -sum of the rest."""
    hot = one_hot(codes, z.shape[-2])
    rest = np.where(hot, 0, probabilities(z))
    return np.where(hot, -rest.sum(-2, keepdims=True), rest)


def divergence(dz: NDArray, z: NDArray) -> NDArray:
    """Bregman divergence lse(z + dz) - lse(z) - softmax(z).dz >= 0: log1p of a sum of non-negative terms.

    With s = softmax(z) and c = dz - s.dz it is log sum_k s_k exp(c_k) = log1p sum_k s_k (exp(c_k) - 1 - c_k).
    """
    s = probabilities(z)
    c = dz - (s * dz).sum(-2, keepdims=True)
    near = np.log1p((s * exp_remainder(np.minimum(c, EXP_LIMIT))).sum(-2))
    far = c.max(-2) > EXP_LIMIT
    if not far.any():
        return near
    log_s = z - log_sum_exp(z)[..., None, :]
    return np.where(far, np.maximum(log_sum_exp(log_s + c), 0), near)
