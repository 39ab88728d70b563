"""Local searches for the least worst case: a step with noise or absent clients, or the server's weights.

Every step size that is tried has its bound: a few apart, then between the neighbours of the best. Weights are
searched for from alpha = p and from equal ones, at eta_s = 1, without a lower bound beside it. What no step size of a
random run is below is the largest value of a few instances over a grid, in floating point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from fedbounds.errors import reject
from fedbounds.evidence.sdp.multi_round.bound import COMMON, EVERY_CLIENT, solved, upper_bound
from fedbounds.evidence.sdp.multi_round.links import of_clients
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.evidence.sdp.multi_round.sampled_clients import sampled, second_moments
from fedbounds.study.minimax_steps import Found

# eta L of the first step sizes, the digits of steps and weights, and the logarithm at which a search ends.
FIRST, DIGITS, CLOSE = np.geomspace(1e-3, 1.95, 10), 6, 1e-3
# What the best step size is multiplied by where instances are searched for, and how many are on their grid.
AROUND, GRID = (0.5, 0.8, 1.0, 1.25, 2.0), 81
# Evaluations of a search for weights, and where it ends: in the logarithms of ratios of weights, and relatively.
MOST, NEAR, ACCURATE = 120, 1e-4, 1e-7
# Weights that gain less than this, relatively, over alpha = p are p.
GAIN = 1e-5


def _least_step(value: Callable[[float], float], close: float) -> float:
    """The logarithm of eta L of the least value."""
    from scipy.optimize import minimize_scalar

    logs = np.log(FIRST)
    k = int(np.argmin([value(log) for log in logs]))
    ends = logs[max(k - 1, 0)], logs[min(k + 1, len(logs) - 1)]
    return float(minimize_scalar(value, bounds=ends, method="bounded", options={"xatol": close}).x)


def best_step(run: Run, delta_0: Fraction, zeta_sq: Fraction, sigma_sq: Fraction) -> Found:
    """The local step with the least bound, and what no step of a grid is below."""
    tried: dict[Fraction, float] = {}

    def value(log: float) -> float:
        at = _at(run, [log])
        bound = upper_bound(at, delta_0, zeta_sq, sigma_sq)
        if bound is None:
            return np.inf
        return tried.setdefault(at.sizes[0], bound.value)

    _least_step(value, CLOSE)
    if not tried:
        raise reject("no worst case was proved", f"{run.T} steps", "take fewer rounds")
    best = replace(run, eta=min(tried, key=lambda eta: tried[eta]))
    return Found(best, tried[best.sizes[0]], lowest(best, delta_0, zeta_sq, sigma_sq))


def lowest(run: Run, delta_0: Fraction, zeta_sq: Fraction, sigma_sq: Fraction) -> float:
    """The least over step sizes of the largest value of instances, which are searched for around the run's."""
    at, present = (float(delta_0), float(zeta_sq), float(sigma_sq)), run.present or (2, 2)
    sizes = [min(float(run.sizes[0]) * factor, float(FIRST[-1] / run.L)) for factor in AROUND]
    shapes = [sampled(replace(run, eta=Fraction(size), present=present), *at)[1] for size in sizes]
    whole, near = np.geomspace(FIRST[0], FIRST[-1], GRID) / float(run.L), np.linspace(sizes[1], sizes[3], GRID)
    runs = (replace(run, eta=Fraction(float(size)), present=present) for size in (*whole, *near))
    return min(float(second_moments(each, np.stack(shapes, axis=-1), *at).max()) for each in runs)


def best_weights(run: Run, delta_0: Fraction, zeta_sq: Fraction) -> tuple[Found, Found]:
    """(the best eta and alpha found, the best eta found for alpha = p), each with the solver's worst case."""
    from scipy.optimize import minimize

    if len(run.p) * run.T > EVERY_CLIENT:
        what = f"weights are searched for up to {EVERY_CLIENT} gradients of all clients in all"
        raise reject(what, f"{run.T} steps of {len(run.p)} clients", "take fewer")

    def value(x: Any) -> float:
        if not np.log(FIRST[0]) <= x[0] <= np.log(FIRST[-1]):
            return float("inf")
        at = _at(run, x)
        solution = solved(of_clients(at, float)[0][0], delta_0, zeta_sq or COMMON * at.L**2 * delta_0)
        return solution.value if np.isfinite(solution.value) else float("inf")

    log = _least_step(lambda log: value([log]), NEAR)
    usual = value([log])
    best, least = [log], usual
    p = np.array([float(item) for item in run.p])
    for ratios in (np.log(p[1:] / p[0]), np.zeros(len(p) - 1)):
        options = {"maxfev": MOST, "xatol": NEAR, "fatol": ACCURATE}
        result = minimize(value, np.append(log, ratios), method="Nelder-Mead", options=options)
        if result.fun < min(least, usual * (1 - GAIN)):
            best, least = result.x, float(result.fun)
    return Found(_at(run, best), least, None), Found(_at(run, [log]), usual, None)


def _at(run: Run, x: Any) -> Run:
    """log eta L, and then where there are more the logarithms of alpha_i/alpha_1."""
    eta = Fraction(f"{np.exp(x[0]):.{DIGITS}g}") / run.L
    if len(x) == 1:
        return replace(run, eta=eta)
    ratios = np.exp(np.clip(np.append(0.0, x[1:]), -12, 12))
    alpha = [Fraction(f"{value:.{DIGITS}f}") for value in ratios[1:] / ratios.sum()]
    return replace(run, eta=eta, alpha=(max(1 - sum(alpha, Fraction(0)), Fraction(0)), *alpha))
