"""The constant local step with the least bound of a random run: noise in gradients, or K of N clients a round.

The bound is certified at every step size that is tried: a few apart, then between the neighbours of the best. What
no step size is below is the largest value of a few instances over a grid, in floating point.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from fedbounds.errors import reject
from fedbounds.evidence.sdp.multi_round.bound import Bound
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.evidence.sdp.multi_round.sampled_clients import sampled, second_moments
from fedbounds.evidence.sdp.multi_round.upper_bounds import upper_bound

# eta L of the first step sizes, the digits of all, and the logarithm at which a search ends.
FIRST, DIGITS, CLOSE = np.geomspace(1e-3, 1.95, 10), 6, 1e-3
# What the best step size is multiplied by where instances are searched for, and how many are on their grid.
AROUND, GRID = (0.5, 0.8, 1.0, 1.25, 2.0), 81


def best_step(run: Run, delta_0: Fraction, zeta_sq: Fraction, sigma_sq: Fraction) -> tuple[Bound, float, int]:
    """(the least bound found with its run, what no step size of a grid is below, how many bounds were computed)."""
    from scipy.optimize import minimize_scalar

    tried: dict[Fraction, Bound] = {}

    def value(log: float) -> float:
        eta = Fraction(f"{np.exp(log):.{DIGITS}g}") / run.L
        bound = upper_bound(replace(run, eta=eta), delta_0, zeta_sq, sigma_sq)
        if bound is None:
            return np.inf
        tried[eta] = bound
        return bound.value

    logs = np.log(FIRST)
    k = int(np.argmin([value(log) for log in logs]))
    ends = logs[max(k - 1, 0)], logs[min(k + 1, len(logs) - 1)]
    minimize_scalar(value, bounds=ends, method="bounded", options={"xatol": CLOSE})
    if not tried:
        raise reject("no worst case was proved", f"{run.T} steps", "take fewer rounds")
    eta = min(tried, key=lambda size: tried[size].value)
    return tried[eta], min(lowest(replace(run, eta=eta), delta_0, zeta_sq, sigma_sq), tried[eta].value), len(tried)


def lowest(run: Run, delta_0: Fraction, zeta_sq: Fraction, sigma_sq: Fraction) -> float:
    """The least over step sizes of the largest value of instances, which are searched for around the run's."""
    at, present = (float(delta_0), float(zeta_sq), float(sigma_sq)), run.present or (2, 2)
    sizes = [min(float(run.sizes[0]) * factor, float(FIRST[-1] / run.L)) for factor in AROUND]
    shapes = []
    for size in sizes:
        shapes.append(sampled(replace(run, eta=Fraction(size), present=present), *at)[1])
    whole, near = np.geomspace(FIRST[0], FIRST[-1], GRID) / float(run.L), np.linspace(sizes[1], sizes[3], GRID)
    runs = (replace(run, eta=Fraction(float(size)), present=present) for size in (*whole, *near))
    return min(float(second_moments(each, np.stack(shapes, axis=-1), *at).max()) for each in runs)
