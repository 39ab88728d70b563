"""The server's fixed weights alpha with the least worst case, beside the local step, where the p_i are given.

A local search from alpha = p and from equal weights, at eta_s = 1: there is no lower bound beside it.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import reject
from fedbounds.evidence.sdp.multi_round.bound import COMMON, of_clients, solved
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.evidence.sdp.multi_round.upper_bounds import EVERY_CLIENT
from fedbounds.evidence.sdp.solver import Solved

Array = NDArray[Any]
# Evaluations of a search, and where it ends: in the logarithms of eta and of ratios of weights, and relatively.
MOST, CLOSE, ACCURATE = 120, 1e-4, 1e-7
# Weights that gain less than this, relatively, over alpha = p are p.
GAIN = 1e-5
# Digits of weights and steps.
DIGITS = 6


def best_weights(run: Run, delta_0: Fraction, zeta_sq: Fraction) -> tuple[Run, Run]:
    """(the run at the best eta and alpha found, that at the best eta found for alpha = p)."""
    from scipy.optimize import minimize, minimize_scalar

    if len(run.p) * run.T > EVERY_CLIENT:
        what = f"weights are searched for up to {EVERY_CLIENT} gradients of all clients in all"
        raise reject(what, f"{run.T} steps of {len(run.p)} clients", "take fewer")

    def value(at: Run) -> float:
        (program,), _ = of_clients(at, float)
        solution = solved(program, delta_0, zeta_sq or COMMON * at.L**2 * delta_0)
        return solution.value if solution.outcome is Solved.OPTIMAL else float("inf")

    bounds = (np.log(0.01), np.log(1.99))
    plain = minimize_scalar(lambda x: value(_at(run, [x])), bounds=bounds, method="bounded", options={"xatol": CLOSE})
    plain_run = _at(run, [plain.x])
    best, least = plain_run, float(plain.fun) * (1 - GAIN)
    p = np.array([float(item) for item in run.p])
    for ratios in (np.log(p[1:] / p[0]), np.zeros(len(p) - 1)):
        result = minimize(
            lambda x: value(_at(run, x)) if bounds[0] < x[0] < bounds[1] else float("inf"),
            np.append(plain.x, ratios),
            method="Nelder-Mead",
            options={"maxfev": MOST, "xatol": CLOSE, "fatol": ACCURATE},
        )
        if result.fun < least:
            best, least = _at(run, result.x), float(result.fun)
    return best, plain_run


def _at(run: Run, x: Any) -> Run:
    """log eta L, and then where there are more the logarithms of alpha_i/alpha_1."""
    eta = Fraction(f"{np.exp(x[0]):.{DIGITS}g}") / run.L
    if len(x) == 1:
        return replace(run, eta=eta)
    ratios = np.exp(np.clip(np.append(0.0, x[1:]), -12, 12))
    alpha = [Fraction(f"{value:.{DIGITS}f}") for value in ratios[1:] / ratios.sum()]
    return replace(run, eta=eta, alpha=(max(1 - sum(alpha, Fraction(0)), Fraction(0)), *alpha))
