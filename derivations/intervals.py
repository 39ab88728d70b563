"""FedSoftMax in interval arithmetic (arb balls): every result contains the true value, rounding included."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import flint

from fedbounds.evidence.exact.instance import Instance

# An arb ball: a midpoint and a radius, closed under the operations used here.
Ball = Any


def ball(x: Fraction) -> Ball:
    """The smallest ball around a fraction."""
    return flint.arb(flint.fmpq(x.numerator, x.denominator))


def union(low: Fraction, high: Fraction) -> Ball:
    """A ball that contains [low, high]."""
    return ball(low).union(ball(high))


def excess(instance: Instance, w: Sequence[Ball]) -> list[Ball]:
    """e_i(w) of every client."""
    return [
        sum((ball(c) * (x - ball(m)) ** 2 for c, x, m in zip(cs, w, ms, strict=True)), flint.arb(0)) / 2
        for cs, ms in zip(instance.curvatures, instance.minima, strict=True)
    ]


def softmax(instance: Instance, w: Sequence[Ball], temperature: Fraction) -> list[Ball]:
    """alpha_i = p_i / sum_j p_j exp((e_j - e_i)/T), with e_j - e_i expanded to keep an interval w narrow."""
    heat = ball(temperature)
    return [
        1
        / sum(
            (
                ball(q / instance.p[i]) * (_difference(instance, j, i, w) / heat).exp()
                for j, q in enumerate(instance.p)
            ),
            flint.arb(0),
        )
        for i in range(instance.N)
    ]


def _difference(instance: Instance, j: int, i: int, w: Sequence[Ball]) -> Ball:
    """e_j(w) - e_i(w) as a polynomial in w: its coefficients are subtracted exactly first."""
    total = flint.arb(0)
    rows = zip(w, instance.curvatures[j], instance.minima[j], instance.curvatures[i], instance.minima[i], strict=True)
    for x, a, m, b, n in rows:
        total += (ball(a - b) * x - ball(2 * (a * m - b * n))) * x + ball(a * m**2 - b * n**2)
    return total / 2


def direction(instance: Instance, w: Sequence[Fraction], temperature: Fraction) -> list[Ball]:
    """sum_i alpha_i grad F_i(w) under FedSoftMax at a rational point: one step moves along its negative."""
    point = [ball(x) for x in w]
    alpha = softmax(instance, point, temperature)
    slopes = [instance.grad(i, tuple(w)) for i in range(instance.N)]
    return [
        sum((a * ball(g[k]) for a, g in zip(alpha, slopes, strict=True)), flint.arb(0)) for k in range(instance.d)
    ]


def final_gap(instance: Instance, temperature: Fraction) -> Ball:
    """F(w_T) - F* of Algorithm 1 under FedSoftMax, from the instance's start and steps."""
    w = [ball(x) for x in instance.w0]
    for r in range(instance.rounds):
        alpha = softmax(instance, w, temperature)
        local = [list(w) for _ in range(instance.N)]
        for t in range(r * instance.tau, (r + 1) * instance.tau):
            eta = ball(instance.eta[t])
            local = [
                [x - eta * ball(c) * (x - ball(m)) for x, c, m in zip(xs, cs, ms, strict=True)]
                for xs, cs, ms in zip(local, instance.curvatures, instance.minima, strict=True)
            ]
        w = [sum((a * xs[k] for a, xs in zip(alpha, local, strict=True)), flint.arb(0)) for k in range(instance.d)]
    star = instance.excess(instance.argmin(instance.p))
    base = sum((q * e for q, e in zip(instance.p, star, strict=True)), Fraction(0))
    return sum((ball(q) * e for q, e in zip(instance.p, excess(instance, w), strict=True)), flint.arb(0)) - ball(base)
