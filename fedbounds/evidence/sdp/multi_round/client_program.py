"""The programme of R rounds with every gradient of every client apart, for short runs of a few clients.

It loses nothing at any weights, where that of two blocks does.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from typing import Any

from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.evidence.sdp.program import (
    Constraint,
    Expression,
    Point,
    Program,
    Symbol,
    Vector,
    exact,
    interpolation,
)


def of_clients(run: Run, number: Any = exact) -> Program:
    """The distance with the points of every client, sum_i p_i grad F_i(w*) = 0 substituted and F_i(w*) = 0."""
    clients, one = range(len(run.p)), number(Fraction(1))
    alpha, p, sizes = ([number(v) for v in given] for given in (run.alpha, run.p, run.sizes))
    pivot = max(clients, key=lambda i: run.p[i])
    slopes = {i: Vector({Symbol("s", i): one}) for i in clients if i != pivot}
    slopes[pivot] = -Vector.mean([number(run.p[i] / run.p[pivot]) for i in slopes], list(slopes.values()))
    start = w = Vector({Symbol("w0"): one})
    every = [[Point("star", Vector(), slopes[i], Expression())] for i in clients]
    x = [w] * len(run.p)
    for t, eta in enumerate(sizes):
        x = [w] * len(run.p) if t % run.tau == 0 else x
        slope = [Vector({Symbol("g", i, t): one}) for i in clients]
        for i in clients:
            every[i].append(Point(f"x{t}", x[i], slope[i], Expression({(Symbol("f", i, t),): one})))
        x = [x[i] - eta * slope[i] for i in clients]
        if (t + 1) % run.tau == 0:
            w = number(1 - run.server) * w + number(run.server) * Vector.mean(alpha, x)
    vectors = [Symbol("w0"), *(Symbol("g", i, t) for i in clients for t in range(run.T))]
    vectors += [Symbol("s", i) for i in clients if i != pivot]
    mu, L = number(run.mu), number(run.L)
    constraints = tuple(
        Constraint("interpolation", i, f"{a.label}|{b.label}", interpolation(a, b, mu, L))
        for i in clients
        for a, b in permutations(every[i], 2)
    )
    quantities = {
        "Delta_0": lambda: start.squared,
        "variance": lambda: Expression.mean(p, [slopes[i].squared for i in clients]),
        "bias": Expression,
        "measured": lambda: w.squared,
    }
    values = tuple(Symbol("f", i, t) for i in clients for t in range(run.T))
    weights = tuple(zip(run.alpha, run.p, strict=True))
    return Program(tuple(vectors), values, constraints, quantities, number, weights=weights)
