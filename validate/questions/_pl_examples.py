"""Two settings in which Theorem 1 fails with a Polyak-Lojasiewicz constant in place of strong convexity.

bend    F(x, y) = (x^2 + k r^2)/2, r = y - a sin(x) exp(-|w|^2/(2 S^2)), one client, full gradient, w* = 0;
twins   two clients f(w -/+ pi/2), f(u) = (u^2 + b sin^2 u)/2: each satisfies the inequality, their mean does not.
"""

from __future__ import annotations

import numpy as np
import sympy as sp

from fedbounds.evidence.evaluate import evaluate
from fedbounds.plugins import claim_named
from fedbounds.theory.reading import READINGS
from validate.calibration import clopper_pearson
from validate.questions._common import Array, Data

REPAIRED = READINGS["repaired"]
# One step of the bend, below 1/L for every instance drawn, and the width beyond which its wave fades.
STEP, WIDTH = 1e-4, 20.0
# Of the twins: the strength of the sine, below the 4.6 at which f gets a second stationary point.
SINE = 3.0
# The bound of the twins is followed up to this T; their iterates have stopped moving long before.
HORIZON = 1e7


def bend_parts(w: Array, a: float) -> tuple[Array, Array, Array]:
    """(r, dr/dx, dr/dy) of r = y - a sin(x) exp(-|w|^2/(2 S^2)) at w (..., 2)."""
    x, y = w[..., 0], w[..., 1]
    damping = a * np.exp(-(x**2 + y**2) / (2 * WIDTH**2))
    wave = np.sin(x) * damping
    return y - wave, -np.cos(x) * damping + wave * x / WIDTH**2, 1 + wave * y / WIDTH**2


def bend_gradient(w: Array, k: float, a: float) -> Array:
    """Gradient of (x^2 + k r^2)/2: (..., 2) -> (..., 2)."""
    r, r_x, r_y = bend_parts(w, a)
    return np.stack([w[..., 0] + k * r * r_x, k * r * r_y], axis=-1)


def bend_constants(k: float, a: float) -> tuple[float, float]:
    """(L, mu): a bound on the Hessian over R^2, and a Polyak-Lojasiewicz constant.

    |r_x| <= A = a (1 + s), |1 - r_y| <= a s with s = e^-1/2 / S. mu = min(1, k) times the smallest squared singular
    value of [[1, 0], [-A, 1 - a s]], and L adds up |J|^2 max(1, k) and k sup |r| |Hessian of r|.
    """
    s = float(np.exp(-0.5) / WIDTH)
    A, q = a * (1 + s), 1 - a * s
    trace = 1 + A**2 + q**2
    smallest = (trace - np.sqrt(trace**2 - 4 * q**2)) / 2
    second = a * (1 + 4 * s + 4 / WIDTH**2) * (WIDTH * np.exp(-0.5) + a)
    return float(max(1, k) * (1 + A**2 + (1 + a * s) ** 2) + k * second), float(min(1.0, k) * smallest)


def bend_search(count: int, seed: int) -> Data:
    """Points of the bend at which one small noiseless step breaks Theorem 1 (N = 1: Gamma = 0, rho = 1, tau = 1)."""
    rng = np.random.default_rng([seed, 2])
    broken, best = 0, {"margin": np.inf}
    alone = {"eta": STEP, "L": 0.0, "tau": 1.0, "sigma_sq": 0.0, "Gamma": 0.0, "rho_bar": 1.0, "rho_tilde": 1.0}
    for _ in range(count):
        k, a, w = 10.0 ** rng.uniform(-1, 1), rng.uniform(0.5, 3.0), rng.normal(0, 4, 2)
        gradient, (L, mu) = bend_gradient(w, k, a), bend_constants(k, a)
        assert STEP * L < 1
        after = w - STEP * gradient
        values = {**alone, "Delta": float(w @ w), "mu": mu, "G_sq": float(gradient @ gradient)}
        left = float(after @ after)
        right = float(evaluate(sp.Add(*claim_named("theorem-1").terms.values()), values))
        broken += left > right
        if (right - left) / left < best["margin"]:
            best = {"margin": (right - left) / left, "eta": STEP, "L": L, "k": k, "a": a, "w": w.tolist()}
            best |= {"left": left, "right": right, "mu": mu}
    return {"examined": count, "broken": broken, "interval": list(clopper_pearson(broken, count)), "worst": best}


def bend_path(worst: Data, steps: int) -> Data:
    """Gradient descent from the worst point: F falls while the distance to w* rises first."""
    w, k, a, eta = np.array(worst["w"]), worst["k"], worst["a"], 0.01
    distance, gap = [], []
    for _ in range(steps + 1):
        distance.append(float(w @ w))
        gap.append(float((w[0] ** 2 + k * bend_parts(w, a)[0] ** 2) / 2))
        w = w - eta * bend_gradient(w, k, a)
    return {"eta": eta, "distance_sq": distance, "gap": gap}


def twins(share: float, start: float, steps: int) -> Data:
    """FedAvg without noise, tau = 1, on f(w - pi/2) and f(w + pi/2) with weights (share, 1 - share).

    F' = w - (pi/2)(2 share - 1) - (b/2) sin 2w; eta_t = 1/(mu (t + 4 L/mu)), L = 1 + b, mu = min f'^2/(2f). The
    bound is the corollary's, with the G^2 of the clients at the points visited; ``below``: the first T of the
    grid at which it is smaller than the gap, which no longer changes by then.
    """
    mu, L, offset = sine_mu(), 1 + SINE, np.pi / 2 * (2 * share - 1)
    best = twins_minimiser(offset)

    def level(w: float) -> float:
        return float(w**2 / 2 - offset * w + SINE / 4 * np.cos(2 * w))

    w, gap, G_sq = start, [], 0.0
    for t in range(steps + 1):
        gap.append(level(w) - level(best))
        slopes = [w - m + SINE / 2 * np.sin(2 * (w - m)) for m in (np.pi / 2, -np.pi / 2)]
        G_sq = max(G_sq, *(v**2 for v in slopes))
        w -= (w - offset - SINE / 2 * np.sin(2 * w)) / (mu * (t + 4 * L / mu))
    Gamma = sum(q * ((best - m) ** 2 + SINE * np.sin(best - m) ** 2) / 2 for q, m in _weighted(share))
    T = np.geomspace(1, HORIZON, 200)
    values = {"L": L, "mu": mu, "tau": 1.0, "G_sq": G_sq, "sigma_sq": 0.0, "Gamma": Gamma, "rho_bar": 1.0}
    values |= {"rho_tilde": 1.0, "Delta_0": (start - best) ** 2, "T": T}
    bound = evaluate(sp.Add(*claim_named("corollary").sides(REPAIRED).terms.values()), values)
    held = np.array(gap)[np.minimum(T.astype(int), steps)]
    below = np.flatnonzero(bound < held)
    ends = {"end": gap[-1], "slope_at_end": float(abs(w - offset - SINE / 2 * np.sin(2 * w)))}
    ends["below"] = float(T[below[0]]) if below.size else None
    curves = {"T": T.tolist(), "gap": held.tolist(), "bound": bound.tolist()}
    return {"share": share, "start": start, "mu": mu, "L": L, **curves, **ends}


def _weighted(share: float) -> tuple[tuple[float, float], ...]:
    return (share, np.pi / 2), (1 - share, -np.pi / 2)


def sine_mu() -> float:
    """min f'^2/(2f) of f(u) = (u^2 + b sin^2 u)/2 on a grid; beyond |u| = 20 it exceeds 0.8."""
    u = np.linspace(1e-3, 20, 400_001)
    return float(((u + SINE / 2 * np.sin(2 * u)) ** 2 / (u**2 + SINE * np.sin(u) ** 2)).min())


def twins_minimiser(offset: float) -> float:
    """w* of the twins' F: the best grid point, then Newton's method."""
    grid = np.linspace(-3, 3, 600_001)
    w = float(grid[np.argmin(grid**2 / 2 - offset * grid + SINE / 4 * np.cos(2 * grid))])
    for _ in range(5):
        w -= (w - offset - SINE / 2 * np.sin(2 * w)) / (1 - SINE * np.cos(2 * w))
    return w
