"""Logistic losses in floats, and in balls in exact runs: log(1 + exp z), its slope, and enclosed minimisers.

Newton's method alone proves nothing. But |w - w*| <= |grad F(w)|/mu at every w where F is mu-strongly convex.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb

from fedbounds.evidence.ball_arithmetic import Ball, about, enclosed

# Floats, fractions or balls; the last two in an array of objects.
Numbers = Any
# w -> the slope of a function there, and its own slope.
Slopes = Callable[[Numbers], tuple[Numbers, Numbers]]
# Steps of Newton's method in floats, where halving takes over as long as a step leaves the interval; and then in
# balls, each of which doubles the digits.
STEPS, DOUBLINGS = 60, 8
# Near a point a divergence is an integral of the curvature, by Gauss's rule on [0, 1]. Beyond MOST cosh overflows.
NODES, NODE_WEIGHTS = (part / 2 for part in np.polynomial.legendre.leggauss(8))
NODES, MOST = NODES + 0.5, 300


def sigmoid(z: Numbers) -> Numbers:
    """1/(1 + exp(-z)).

    >>> sigmoid(np.array([0.0, 1000.0])).tolist()
    [0.5, 1.0]
    """
    return _SIGMOID(z) if z.dtype == object else (1 + np.tanh(z / 2)) / 2


def divergence(z: Numbers, at: Numbers) -> Numbers:
    """log(1 + exp z) less its tangent at another point, without cancellation in floats.

    >>> divergence(np.array([1.0, -1.0, 9.0]), np.array([0.0, 0.0, 0.0])).round(6).tolist()
    [0.120115, 0.120115, 3.806976]
    """
    if object in (z.dtype, at.dtype):
        return _DIVERGENCE(z, at)
    distance, turned = np.abs(z - at), np.where(z < at, at, -at)
    far = np.logaddexp(-np.logaddexp(0, turned), -np.logaddexp(0, -turned) - distance) + sigmoid(turned) * distance
    between = at[..., None] + (z - at)[..., None] * NODES
    curvature = 1 / (2 * np.cosh(np.minimum(np.abs(between) / 2, MOST))) ** 2
    return np.where(distance < 1, distance**2 * ((curvature * (1 - NODES)) @ NODE_WEIGHTS), far)


def minimiser(slope_and_growth: Slopes, low: Numbers, high: Numbers, least: Numbers) -> Numbers:
    """The zero of slopes that grow by at least ``least`` > 0, between ``low`` and ``high``, all of them floats."""
    x, below, above = (low + high) / 2, low, high
    for _ in range(STEPS):
        slope, growth = slope_and_growth(x)
        below, above = np.where(slope < 0, x, below), np.where(slope > 0, x, above)
        step = x - slope / np.maximum(growth, least)
        step, before = np.where((step >= below) & (step <= above), step, (below + above) / 2), x
        x = step
        if np.array_equal(x, before):
            break
    return x


def enclosure(slope_and_growth: Slopes, near: Numbers, least: Numbers) -> Numbers:
    """A ball around the zero of slopes that grow by at least ``least`` > 0, found from floats ``near`` it."""
    x = _EXACTLY(near)
    for _ in range(DOUBLINGS):
        slope, growth = slope_and_growth(x)
        x = _EXACTLY(x - slope / growth)
    return _AROUND(x, slope_and_growth(x)[0] / least)


def floats(numbers: Numbers) -> Numbers:
    """Fractions and balls as floats near them."""
    return np.vectorize(about, otypes=[float])(numbers)


def _sigmoid(z: Any) -> Ball:
    return Ball(1 / (1 + (-enclosed(z)).exp()))


def _divergence(z: Any, at: Any) -> Ball:
    x, y = enclosed(z), enclosed(at)
    return Ball((1 + x.exp()).log() - (1 + y.exp()).log() - (x - y) / (1 + (-y).exp()))


_SIGMOID, _DIVERGENCE = np.frompyfunc(_sigmoid, 1, 1), np.frompyfunc(_divergence, 2, 1)
# The middle of a ball, and all numbers at most so far from a number.
_EXACTLY = np.frompyfunc(lambda x: Ball(enclosed(x).mid()), 1, 1)
_AROUND = np.frompyfunc(lambda x, radius: Ball(enclosed(x) + arb(0, enclosed(radius).abs_upper())), 2, 1)
