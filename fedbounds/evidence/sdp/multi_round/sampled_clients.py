"""An instance where K of N clients take part: two groups of equal quadratics in the plane, with exact moments.

With groups g of shares p_g, a round takes w to x_g = P_g w + q_g plus noise, and those present have the mean
x-bar plus the deviation of a draw without replacement. So with M = E w w^T and m = E w

    E w' w'^T = (1 - v) E x-bar x-bar^T + v sum_g p_g E x_g x_g^T + (noise of all)/K,    v = (N - K)/(K (N - 1)),

a recursion without any sampling; for any N, v = 1/K is approached by many clients. The angles of both groups' axes,
their curvatures, the start and the direction of all noise are searched for at random, first near the instance of
the run in which everyone takes part.

Of any number of clients another kind goes farther: with pulls s_i that are orthogonal to each other and to w_0,

    F_i(x) = mu/2 ||x||^2 + (h - mu)/2 dist(x, C_i)^2 + <s_i, x>,    C_i = {cos(a) rho + sin(a) z <= 0},

z being the coordinate of x along s_i and rho the distance from that axis. A client who is drawn for the first time
moves w in the plane of w and s_i, so that ||w|| is no random number; with many clients nobody is drawn twice.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from fedbounds.evidence.sdp.multi_round.lower_bound import FLOATS, FRACTIONS, symmetric
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.model.problem import Array

# Shapes a try, and tries that narrow by half around the best one.
RANDOM, TIMES = 600, 14
# Of the cones.
ANGLES, CURVATURES = 181, 19


def highest(run: Run, delta_0: float, zeta_sq: float, sigma_sq: float, near: tuple[float, ...]) -> float:
    """E||w_R||^2 of the best instance of either kind."""
    value, any_number = sampled(run, delta_0, zeta_sq, sigma_sq, near)[0], run.present and run.present[1] is None
    return max(value, orthogonal(run, delta_0, zeta_sq)) if any_number else value


def sampled(
    run: Run, delta_0: float, zeta_sq: float, sigma_sq: float, near: tuple[float, ...]
) -> tuple[float, Array]:
    """(E||w_R||^2, shape (6,)) of the best such instance, in floating point; ``near`` is such a shape (5,)."""
    mu, L, rng = float(run.mu), float(run.L), np.random.default_rng(0)
    found, middle = list[tuple[float, Array]](), np.array([0.0, 0.0, (mu + L) / 2, (mu + L) / 2, 0.0, 0.0])
    for first in (np.append(near, 0.0), middle, middle):
        shape, reach = first, np.array([np.pi / 2, np.pi / 2, L - mu, L - mu, np.pi / 2, np.pi / 2])
        for _ in range(TIMES):
            tried = shape[:, None] + reach[:, None] * rng.uniform(-1, 1, (6, RANDOM))
            tried[:, 0], tried[2:4] = shape, np.clip(tried[2:4], mu, L)
            values = second_moments(run, tried, delta_0, zeta_sq, sigma_sq)
            shape, reach = tried[:, np.argmax(values)], reach / 2
        found.append((float(values.max()), shape))
    return max(found, key=lambda item: item[0])


def orthogonal(run: Run, delta_0: float, zeta_sq: float) -> float:
    """E||w_R||^2 of the best such cones as the number of clients grows, in floating point."""
    assert run.present is not None
    mu, L, K = float(run.mu), float(run.L), run.present[0]
    angles, highs = np.linspace(0, np.pi / 2, ANGLES), np.linspace(mu, L, CURVATURES)
    angle, bend = (item.ravel() for item in np.meshgrid(angles, highs - mu))
    c, s, size = np.cos(angle), np.sin(angle), np.full(angle.shape, delta_0**0.5)
    for start in range(0, run.T, run.tau):
        rho, z = size, 0 * size
        for eta in map(float, run.sizes[start : start + run.tau]):
            inside = z * c >= abs(rho) * s  # the polar cone, whose points are nearest to 0
            far = np.maximum(c * abs(rho) + s * z, 0)
            slope = np.where(inside, rho, np.sign(rho) * far * c), np.where(inside, z, far * s)
            rho, z = rho - eta * (mu * rho + bend * slope[0]), z - eta * (mu * z + bend * slope[1] + zeta_sq**0.5)
        size = np.sqrt(rho**2 + z**2 / K)
    return float((size**2).max())


def groups(run: Run) -> tuple[Fraction, Fraction]:
    """The shares of the two groups: halves, or as near as N clients allow."""
    N = None if run.present is None else run.present[1]
    share = Fraction(1, 2) if N is None else Fraction(N // 2, N)
    return share, 1 - share


def second_moments(run: Run, shape: Array, delta_0: float, zeta_sq: float, sigma_sq: float) -> Array:
    """E||w_R||^2 at shapes (6, B): two angles, two curvatures, the angles of the start and of the noise."""
    p = groups(run)
    apart = (zeta_sq / float(p[0] * p[1])) ** 0.5
    return np.asarray(_moments(run, shape, (delta_0**0.5, apart, sigma_sq), FLOATS), dtype=float)


def in_fractions(run: Run, shape: Array, zeta_sq: Fraction) -> tuple[Fraction, Fraction]:
    """(E||w_R||^2, zeta_*^2) of nearly that shape and pull, both exact, with ||w_0|| = 1 and no noise."""
    number, cos, sin, root = FRACTIONS
    p, high = groups(run), [min(max(bend, run.mu), run.L) for bend in number(shape[2:4])]
    apart = root(zeta_sq / (p[0] * p[1]))
    exact = (lambda x: x, cos, sin, root)
    several = np.concatenate([shape[:2], high, shape[4:]])[:, None]
    return _moments(run, several, (Fraction(1), apart, Fraction(0)), exact)[0], apart**2 * p[0] * p[1]


def _moments(run: Run, shape: Any, given: tuple[Any, Any, Any], arithmetic: tuple[Any, ...]) -> Any:
    """E||w_R||^2, given ||w_0||, how far the pulls of both groups are apart, and sigma^2."""
    assert run.present is not None
    (size, apart, sigma_sq), (number, cos, sin, _) = given, arithmetic
    p, v, mu = tuple(map(number, groups(run))), number(run.sampling), number(run.mu)
    pull = -p[1] * apart, p[0] * apart
    H = [_hessian(mu, cos(shape[g]), sin(shape[g]), shape[2 + g]) for g in (0, 1)]
    m = size * np.stack([cos(shape[4]), sin(shape[4])], axis=-1)
    M, along = m[:, :, None] * m[:, None, :], np.stack([cos(shape[5]), sin(shape[5])], axis=-1)
    for start in range(0, run.T, run.tau):
        sizes = [number(one) for one in run.sizes[start : start + run.tau]]
        several = [_round(H[g], pull[g], sizes, along) for g in (0, 1)]
        P, q, C = (p[0] * one + p[1] * other for one, other in zip(*several, strict=True))
        noise = C * (sigma_sq / run.present[0])
        parts = (p[g] * _second(*several[g][:2], M, m) for g in (0, 1))
        M, m = (1 - v) * _second(P, q, M, m) + v * sum(parts) + noise, (P @ m[..., None])[..., 0] + q
    return M[:, 0, 0] + M[:, 1, 1]


def _hessian(mu: Any, c: Array, s: Array, high: Array) -> Array:
    return symmetric(mu * c * c + high * s * s, (mu - high) * c * s, mu * s * s + high * c * c)


def _round(H: Array, pull: Any, sizes: list[Any], along: Array) -> tuple[Array, Array, Array]:
    """(P, q, covariance of the noise of variance 1) of one client after its local steps."""
    one = np.eye(2, dtype=int)
    P, q, C = 0 * H + one, 0 * H[..., 0], 0 * H
    for eta in sizes:
        step = one - eta * H
        P, q = step @ P, (step @ q[..., None])[..., 0] - eta * np.array([0 * pull, pull])
        C = step @ C @ step + eta**2 * along[:, :, None] * along[:, None, :]
    return P, q, C


def _second(P: Array, q: Array, M: Array, m: Array) -> Any:
    """E x x^T of x = P w + q."""
    mixed = (P @ m[..., None])[..., 0][:, :, None] * q[:, None, :]
    return P @ M @ P.swapaxes(-1, -2) + mixed + mixed.swapaxes(-1, -2) + q[:, :, None] * q[:, None, :]
