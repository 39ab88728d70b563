"""The distance after R rounds with every gradient of every client in one Gram matrix: exact for any weights.

The two blocks of `multi_round.program` lose something where the server's weights are not p, or one exceeds 1/2. This
programme loses nothing, and grows with the number of clients: it is for short runs of a few.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import permutations
from typing import Any

from fedbounds.evidence.sdp.multi_round.program import Run, above
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
from fedbounds.evidence.sdp.rounding import prove
from fedbounds.evidence.sdp.solver import Solved, worst_case

# Gradients of a run in all, beyond which the two blocks serve.
LARGEST = 16
# How far above the solver's value a proof with room to spare is sought, relatively.
HEADROOM = (Fraction(1, 10**6), Fraction(1, 10**5), Fraction(1, 10**4))


@dataclass(frozen=True)
class ByClient:
    """A proof of ||w_R - w*||^2 <= a Delta_0 + b zeta_*^2 at the weights of the run, verified in exact arithmetic.

    ``value`` is that at the Delta_0 and zeta_*^2 asked for, rounded up, ``gap`` how far it is from the solver's.
    """

    run: Run
    a: Fraction
    b: Fraction
    value: float
    gap: float
    multipliers: dict[str, Fraction] = field(repr=False)
    certified: bool = True
    exact: bool = False
    attained: bool = True


def applies(run: Run) -> bool:
    """Whether the run is short enough, and the two blocks would lose something."""
    few = bool(run.p) and len(run.p) * run.T <= LARGEST
    return few and not run.exact and not run.free and run.measure == "distance"


def program_of(run: Run, number: Any = float) -> Program:
    """The points of every client, with sum_i p_i grad F_i(w*) = 0 substituted and F_i(w*) = 0."""
    clients, one = range(len(run.p)), number(Fraction(1))
    alpha, p, sizes = ([number(v) for v in given] for given in (run.alpha, run.p, run.sizes))
    pivot = max(clients, key=lambda i: run.p[i])
    slopes = {i: Vector({Symbol("s", i): one}) for i in clients if i != pivot}
    slopes[pivot] = -Vector.mean([number(run.p[i] / run.p[pivot]) for i in slopes], list(slopes.values()))
    start = w = Vector({Symbol("w0"): one})
    points = [[Point("star", Vector(), slopes[i], Expression())] for i in clients]
    x = [w] * len(run.p)
    for t, eta in enumerate(sizes):
        x = [w] * len(run.p) if t % run.tau == 0 else x
        slope = [Vector({Symbol("g", i, t): one}) for i in clients]
        for i in clients:
            points[i].append(Point(f"x{t}", x[i], slope[i], Expression({(Symbol("f", i, t),): one})))
        x = [x[i] - eta * slope[i] for i in clients]
        w = Vector.mean(alpha, x)
    steps = range(run.T)
    vectors = [Symbol("w0"), *(Symbol("g", i, t) for i in clients for t in steps)]
    vectors += [Symbol("s", i) for i in clients if i != pivot]
    mu, L = number(run.mu), number(run.L)
    constraints = tuple(
        Constraint("interpolation", i, f"{a.label}|{b.label}", interpolation(a, b, mu, L))
        for i in clients
        for a, b in permutations(points[i], 2)
    )
    quantities = {
        "Delta_0": lambda: start.squared,
        "zeta_sq": lambda: Expression.mean(p, [slopes[i].squared for i in clients]),
        "measured": lambda: w.squared,
    }
    values = tuple(Symbol("f", i, t) for i in clients for t in steps)
    weights = tuple(zip(run.alpha, run.p, strict=True))
    return Program(tuple(vectors), values, constraints, quantities, number, weights=weights)


def worst(run: Run, delta_0: Fraction, zeta_sq: Fraction) -> ByClient | None:
    """The exact worst case at the run's weights, certified; None where no proof was found."""
    program, rational = program_of(run), program_of(run, exact)
    units = [program.forms[name] * float(1 / most) for name, most in (("Delta_0", delta_0), ("zeta_sq", zeta_sq))]
    solved = worst_case(program, program.forms["measured"], units, "nonneg")
    if solved.outcome is not Solved.OPTIMAL:
        return None
    for room in HEADROOM:
        shares = [Fraction(float(y)) + room * Fraction(solved.value) for y in solved.y]
        a, b = shares[0] / delta_0, shares[1] / zeta_sq
        result = prove(program, rational, "measured", {"Delta_0": a, "zeta_sq": b})
        if result is not None:
            value = above(a * delta_0 + b * zeta_sq)
            return ByClient(run, a, b, value, value - solved.value, result)
    return None
