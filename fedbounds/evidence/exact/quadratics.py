"""Federated losses that stay exact in fractions: quadratics, turned quadratics in the plane, and two-slope losses.

Logistic losses are the fourth kind; in exact runs their values are balls. Newton's method alone proves nothing of a
minimiser, but |w - w*| <= |grad F(w)|/mu at every w where F is mu-strongly convex.

With y = R_i w, R_i the identity or a rotation of the plane,
    F_i(w) = F_i* + sum_k c_ik (y_k - m_ik)^2/2 + (h_ik - c_ik) max(y_k - b_ik, 0)^2/2,
where the curvature of coordinate k is c_ik below the kink b_ik >= m_ik and h_ik above it. Logistic losses have
    4 (h_ik - c_ik) s_ik^2 (l((y_k - b_ik)/s_ik) less its tangent at y_k = m_ik),   l(z) = log(1 + exp z),
in place of the last term: a ridge and a sample's logistic loss, with minimiser m_ik and curvatures between c_ik and
h_ik. A stochastic gradient is
    g_i(w) = (1 + xi_i r_i) grad F_i(w) + xi_i s_i e_1,    E xi_i = 0, E xi_i^2 = 1,
so that s_i is additive noise, r_i noise proportional to the gradient, and both together draw one of two samples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb

from fedbounds.evidence.ball_arithmetic import Ball, enclosed, midpoint

# Floats, or fractions and balls in an array of objects.
Numbers = Any
# What of losses has an axis for each of a population's members.
ROWS = ("curvatures", "minima", "p", "L", "mu", "upper", "kinks", "widths", "turns", "noise", "growth")


@dataclass(frozen=True)
class Quadratics:
    """The clients' losses, over any leading axes ...: ``curvatures`` c and ``minima`` m (..., N, d), ``p`` (..., N).

    ``L`` and ``mu`` (...,) bound every curvature. ``upper`` h and ``kinks`` b (..., N, d) are given together, of
    logistic losses with ``widths`` s (..., N, d);
    ``turns`` (..., N, 2) are the cosine and sine of R_i where d = 2; ``noise`` s and ``growth`` r (..., N).
    ``shocks`` (M, N) are the outcomes of xi at every step; or ``paths`` (T, M, N) holds xi along M whole paths.
    """

    curvatures: Numbers
    minima: Numbers
    p: Numbers
    L: Numbers
    mu: Numbers
    upper: Numbers = None
    kinks: Numbers = None
    widths: Numbers = None
    turns: Numbers = None
    noise: Numbers = None
    growth: Numbers = None
    shocks: Numbers = field(default=None, repr=False)
    paths: Numbers = field(default=None, repr=False)

    def rows(self, index: Any) -> Quadratics:
        """The losses of some members of a population, of one alone, or with ``None`` a population of one."""
        return replace(self, **{name: row[index] for name in ROWS if (row := getattr(self, name)) is not None})

    @cached_property
    def w_star(self) -> Numbers:
        """The minimiser of F = sum_i p_i F_i (..., d)."""
        return self.argmin(self.p)

    @property
    def w_i_star(self) -> Numbers:
        """The minimisers of the F_i (..., N, d)."""
        return self._turned(self.minima, back=True)

    @cached_property
    def star_excess(self) -> Numbers:
        """e_i(w*) (..., N)."""
        return self.excess(self.w_star)

    def excess(self, w: Numbers) -> Numbers:
        """F_i(w) - F_i*: (..., d) -> (..., N)."""
        return self.client_excess(w[..., None, :])

    def client_excess(self, x: Numbers) -> Numbers:
        """F_i(x_i) - F_i*: (..., N, d) -> (..., N)."""
        y = self._turned(x)
        value = self.curvatures * (y - self.minima) ** 2
        if self.widths is not None:
            value = value + self._logistic(y, self.minima)
        elif self.kinks is not None:
            value = value + (self.upper - self.curvatures) * np.maximum(y - self.kinks, 0) ** 2
        return value.sum(-1) / 2

    def grads(self, w: Numbers) -> Numbers:
        """grad F_i(w): (..., d) -> (..., N, d)."""
        return self.client_grads(w[..., None, :])

    def client_grads(self, x: Numbers) -> Numbers:
        """grad F_i(x_i): (..., N, d) -> (..., N, d)."""
        return self._turned(self._slopes(self._turned(x)), back=True)

    def gradient(self, x: Numbers, t: int) -> Numbers:
        """g_i(x_i) at step t, with one axis of outcomes more in front where xi is drawn at each step."""
        grads = self.client_grads(x)
        if self.paths is not None:
            xi = self.paths[t].reshape(-1, *(1,) * (self.p.ndim - 1), self.p.shape[-1])
        elif self.shocks is not None:
            xi = self.shocks.reshape(-1, *(1,) * (x.ndim - 2), self.p.shape[-1])
        else:
            return grads
        if self.growth is not None:
            grads = grads * (1 + xi * self.growth)[..., None]
        first = grads[..., 0] + xi * self.noise
        shape = (*first.shape, grads.shape[-1])
        return np.concatenate([first[..., None], np.broadcast_to(grads, shape)[..., 1:]], axis=-1)

    def variance(self, grads: Numbers) -> Numbers:
        """E||g_i - grad F_i||^2 where the gradients are ``grads`` (..., N, d): (..., N)."""
        if self.noise is None:
            return 0 * grads[..., 0]
        if self.growth is None:
            return np.broadcast_to(self.noise**2, grads.shape[:-1])
        along = self.growth[..., None] * grads
        return (along[..., 0] + self.noise) ** 2 + (along[..., 1:] ** 2).sum(-1)

    def gap(self, w: Numbers) -> Numbers:
        """F(w) - F* as sum_i p_i D_i(w, w*), D_i the Bregman divergence, without cancellation: (..., d) -> (...)."""
        y, star = self._turned(w[..., None, :]), self._turned(self.w_star[..., None, :])
        value = self.curvatures * (y - star) ** 2
        if self.widths is not None:
            value = value + self._logistic(y, star)
        elif self.kinks is not None:
            above, star_above = y - self.kinks, np.maximum(star - self.kinks, 0)
            bent = np.maximum(above, 0)
            bregman = (bent - star_above) ** 2 + 2 * star_above * (bent - above)
            value = value + (self.upper - self.curvatures) * bregman
        return (self.p * value.sum(-1)).sum(-1) / 2

    def argmin(self, weights: Numbers) -> Numbers:
        """The minimiser of sum_i weights_i F_i (..., d) for weights (..., N).

        Of two-slope losses a kink lies below it where the slope there is negative, which leaves a linear equation.
        """
        if self.widths is not None:
            return self._enclosed(weights)
        weighted = weights[..., None] * self.curvatures
        if self.turns is not None:
            return self._solved(weights)
        above, below = (weighted * self.minima).sum(-2), weighted.sum(-2)
        if self.kinks is not None:
            bend = weights[..., None] * (self.upper - self.curvatures)
            at = self.kinks[..., :, None, :]  # the slope of every client i at every kink j: (..., j, i, d)
            bent = np.maximum(at - self.kinks[..., None, :, :], 0)
            slope = weighted[..., None, :, :] * (at - self.minima[..., None, :, :]) + bend[..., None, :, :] * bent
            active = slope.sum(-2) < 0
            above, below = above + (active * bend * self.kinks).sum(-2), below + (active * bend).sum(-2)
        return above / below

    @property
    def hessians(self) -> Numbers:
        """H_i of turned quadratics in the plane, as their entries (first, mixed, second), (..., N) each."""
        c, s = self.turns[..., 0], self.turns[..., 1]
        first, second = self.curvatures[..., 0], self.curvatures[..., 1]
        return c * c * first + s * s * second, c * s * (first - second), s * s * first + c * c * second

    def _solved(self, weights: Numbers) -> Numbers:
        """The minimiser of turned quadratics, by Cramer's rule."""
        minimisers = self.w_i_star
        a, b, d = ((weights * entry) for entry in self.hessians)
        right = [
            (a * minimisers[..., 0] + b * minimisers[..., 1]).sum(-1),
            (b * minimisers[..., 0] + d * minimisers[..., 1]).sum(-1),
        ]
        a, b, d = a.sum(-1), b.sum(-1), d.sum(-1)
        det = a * d - b * b
        return np.stack([(d * right[0] - b * right[1]) / det, (a * right[1] - b * right[0]) / det], axis=-1)

    def _slopes(self, y: Numbers) -> Numbers:
        slopes = self.curvatures * (y - self.minima)
        if self.widths is not None:
            here, there = (sigmoid(self._scaled(x)) for x in (y, self.minima))
            return slopes + 4 * (self.upper - self.curvatures) * self.widths * (here - there)
        if self.kinks is None:
            return slopes
        return slopes + (self.upper - self.curvatures) * np.maximum(y - self.kinks, 0)

    def _turned(self, x: Numbers, back: bool = False) -> Numbers:
        """R_i x_i, or R_i^T x_i on the way ``back``."""
        if self.turns is None:
            return x
        c, s = self.turns[..., 0], (-1 if back else 1) * self.turns[..., 1]
        return np.stack([c * x[..., 0] + s * x[..., 1], c * x[..., 1] - s * x[..., 0]], axis=-1)

    def _scaled(self, y: Numbers) -> Numbers:
        return (y - self.kinks) / self.widths

    def _logistic(self, y: Numbers, at: Numbers) -> Numbers:
        """Twice the logistic term less its tangent at another point."""
        apart = divergence(self._scaled(y), self._scaled(at))
        return 8 * (self.upper - self.curvatures) * self.widths**2 * apart

    def _enclosed(self, weights: Numbers) -> Numbers:
        """The minimiser of logistic losses (..., d): between those of the clients, and in exact runs a ball."""
        w = weights[..., None]
        least = (w * np.minimum(self.curvatures, self.upper)).sum(-2)

        def slope_and_growth(x: Numbers) -> tuple[Numbers, Numbers]:
            y = x[..., None, :]
            share = sigmoid(self._scaled(y))
            growth = self.curvatures + 4 * (self.upper - self.curvatures) * share * (1 - share)
            return (w * self._slopes(y)).sum(-2), (w * growth).sum(-2)

        low, high = self.minima.min(-2), self.minima.max(-2)
        if low.dtype != object:
            return minimiser(slope_and_growth, low, high, least)
        rows = {name: floats(row) for name in ROWS if (row := getattr(self, name)) is not None}
        near = replace(self, **rows)._enclosed(floats(weights))
        return np.where(low == high, low, enclosure(slope_and_growth, near, least))


# w -> the slope of a function there, and its own slope.
Slopes = Callable[[Numbers], tuple[Numbers, Numbers]]
# Steps of Newton's method in floats, where halving takes over as long as a step leaves the interval; and then in
# balls, each of which doubles the digits.
STEPS, DOUBLINGS = 60, 8
# Near a point a divergence is an integral of the curvature, by Gauss's rule on [0, 1]. Beyond MOST cosh overflows.
NODES, NODE_WEIGHTS = (part / 2 for part in np.polynomial.legendre.leggauss(8))
NODES, MOST = NODES + 0.5, 300


def sigmoid(z: Numbers) -> Numbers:
    """1/(1 + exp(-z))."""
    return _SIGMOID(z) if z.dtype == object else (1 + np.tanh(z / 2)) / 2


def divergence(z: Numbers, at: Numbers) -> Numbers:
    """log(1 + exp z) less its tangent at another point, without cancellation in floats."""
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
    return np.vectorize(midpoint, otypes=[float])(numbers)


def _sigmoid(z: Any) -> Ball:
    return Ball(1 / (1 + (-enclosed(z)).exp()))


def _divergence(z: Any, at: Any) -> Ball:
    x, y = enclosed(z), enclosed(at)
    return Ball((1 + x.exp()).log() - (1 + y.exp()).log() - (x - y) / (1 + (-y).exp()))


_SIGMOID, _DIVERGENCE = np.frompyfunc(_sigmoid, 1, 1), np.frompyfunc(_divergence, 2, 1)
# The middle of a ball, and all numbers at most so far from a number.
_EXACTLY = np.frompyfunc(lambda x: Ball(enclosed(x).mid()), 1, 1)
_AROUND = np.frompyfunc(lambda x, radius: Ball(enclosed(x) + arb(0, enclosed(radius).abs_upper())), 2, 1)
