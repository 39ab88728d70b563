"""The step and the tau at which a bound is smallest: searched in floats, told in as many digits as needed."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any

import numpy as np

from fedbounds.evidence.ball_arithmetic import upper
from fedbounds.evidence.evaluate import Array, evaluate

# The smallest constant step looked at, in units of 1/L; steps a grid, how often it is made finer, and how much.
SMALLEST, POINTS, TIMES, FINER = 1e-9, 61, 10, 0.15
# The same in intervals, which take a thousand times as long, and the most values of tau that are tried there.
SURE_POINTS, SURE_TIMES, SURE_TAUS = 21, 6, 9
# Where floats are this far off, relatively, they chose a step at which they err.
TRUSTED = 1e-6
# Digits of a step as it is printed.
DIGITS = 6

# How formulas are made numbers, local steps (n, 1), steps (n, m) -> bounds (n, m).
Bounds = Callable[[Callable[..., Array], Array, Array], Array]
Found = tuple[float, int, float]


def over_steps(bounds: Bounds, taus: Array, L: float) -> Found:
    """(smallest bound, tau, step): the bound is a float not below the formula's value, or infinite."""
    rough, tau, step = _searched(bounds, evaluate, taus, L, POINTS, TIMES)
    if not math.isfinite(rough):
        return rough, tau, step
    sure = float(bounds(upper, np.array([[float(tau)]]), np.array([[step]]))[0, 0]), tau, step
    if abs(sure[0] - rough) <= TRUSTED * sure[0] < math.inf:
        return sure
    few = np.unique(np.geomspace(1, len(taus), SURE_TAUS).astype(int)) - 1
    return min(sure, _searched(bounds, upper, taus[few], L, SURE_POINTS, SURE_TIMES))


def _searched(bounds: Bounds, by: Any, taus: Array, L: float, points: int, times: int) -> Found:
    """On a grid of steps for each tau, made finer about the best of each.

    The step is rounded down to the digits that are printed, and the bound is that of the rounded one.
    """
    half = math.log(2 / SMALLEST) / 2
    best = np.full((len(taus), 1), math.log(SMALLEST) + half)
    for _ in range(times):
        logs = np.minimum(best + half * np.linspace(-1, 1, points), math.log(2))
        found = bounds(by, taus, np.exp(logs) / L)
        best, half = np.take_along_axis(logs, found.argmin(axis=1)[:, None], 1), half * FINER
    steps = np.array([[_rounded_down(float(step))] for step in np.exp(best[:, 0]) / L])
    last = bounds(by, taus, steps)
    row = int(last.argmin())
    return float(last[row, 0]), int(taus[row, 0]), float(steps[row, 0])


def _rounded_down(number: float) -> float:
    """A positive number with DIGITS significant digits, not above it."""
    return float(Context(prec=DIGITS, rounding=ROUND_FLOOR).create_decimal(Decimal(number)))
