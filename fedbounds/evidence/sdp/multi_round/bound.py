"""A proved bound on R rounds, its check in exact arithmetic, and the bound that is rounded from a solver's proof.

The solver takes any server's step, and where the programme is one of few steps it is quicker than the central path;
longer runs may be beyond its accuracy. For short runs of a few clients every gradient of every client is apart, which
loses nothing at any weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np

from fedbounds.evidence.sdp import verification
from fedbounds.evidence.sdp.multi_round.program import Run, gradient_program, program_of
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
from fedbounds.evidence.sdp.solver import Solution, Solved, worst_case


def of_clients(run: Run, number: Any = exact) -> Program:
    """The distance with the points of every client, sum_i p_i grad F_i(w*) = 0 substituted and F_i(w*) = 0."""
    clients, unit = range(len(run.p)), number(Fraction(1))
    alpha, p, sizes = ([number(v) for v in given] for given in (run.alpha, run.p, run.sizes))
    pivot = max(clients, key=lambda i: run.p[i])
    slopes = {i: Vector({Symbol("s", i): unit}) for i in clients if i != pivot}
    slopes[pivot] = -Vector.mean([number(run.p[i] / run.p[pivot]) for i in slopes], list(slopes.values()))
    start = w = Vector({Symbol("w0"): unit})
    every = [[Point("star", Vector(), slopes[i], Expression())] for i in clients]
    x = [w] * len(run.p)
    for t, eta in enumerate(sizes):
        x = [w] * len(run.p) if t % run.tau == 0 else x
        slope = [Vector({Symbol("g", i, t): unit}) for i in clients]
        for i in clients:
            every[i].append(Point(f"x{t}", x[i], slope[i], Expression({(Symbol("f", i, t),): unit})))
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


# A positive definite matrix, scaled to a unit diagonal, less one of these has a Cholesky factor in floating point
# whose square differs from it by less: the rounding is about 1e-15 a row.
CLEARANCE = (1e-6, 1e-8, 1e-10, 1e-12)
# Bits of that factor's entries, as fractions.
BITS = 60


@dataclass(frozen=True)
class Bound:
    """What a run measures is at most a Delta_0 + b zeta_*^2 (+ noise): proved by ``multipliers`` where ``certified``.

    Where the run is biased it is a Delta_0 + b sum_i alpha_i ||s_i||^2 + (bias - b) ||mean of s||^2 (`Run.spread`).
    ``value`` is that at the Delta_0 and zeta_*^2 asked for, rounded up, ``gap`` how far the solver was from the
    smallest such value (None: not known). ``exact``: a closed form, without multipliers. ``attained``: by some
    clients with these weights, up to inequalities that were left out. ``every_client``: proved in `of_clients`.
    """

    run: Run
    a: Fraction
    b: Fraction
    value: float
    gap: float | None
    certified: bool
    multipliers: Mapping[str, Fraction] = field(default_factory=dict, repr=False)
    exact: bool = False
    attained: bool = False
    bias: Fraction = Fraction(0)
    every_client: bool = False

    @property
    def proved(self) -> bool:
        """Whether multipliers or a closed form prove it; else it is the solver's number."""
        return self.certified or self.exact


def verify(bound: Bound) -> bool:
    """Whether the multipliers prove a ||w_0||^2 + b V + bias ||mean of s||^2 - what is measured >= 0, exactly.

    V is the weighted variance of the s_i, which is zeta_*^2 where the run is not biased.
    """
    program = of_clients(bound.run) if bound.every_client else program_of(bound.run)
    gap = program.sum({"Delta_0": bound.a, "variance": bound.b, "bias": bound.bias}) - program["measured"]
    positive = verification.is_psd if bound.every_client else is_definite
    labelled = bound.multipliers.keys() <= set(program.labels)
    return labelled and verification.verify(program, gap, bound.multipliers, positive)[0]


def above(value: Fraction) -> float:
    """The least float that is not below a fraction: the nearest one may be."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def is_definite(S: list[list[Any]]) -> bool:
    """Whether a rational matrix is seen to be positive definite: what a float factor leaves of it is dominated.

    A factor in floating point of S less a little is squared exactly, and the rest has diagonals that outweigh their
    rows; fractions never grow, as in an exact elimination they do.
    """
    from flint import fmpq_mat, fmpz_mat

    n = len(S)
    if any(S[i][i] <= 0 for i in range(n)):
        return False
    scale = [Fraction(2) ** (-round(math.log2(float(S[i][i].p) / float(S[i][i].q)) / 2)) for i in range(n)]
    scaled = [[S[i][j] * exact(scale[i] * scale[j]) for j in range(n)] for i in range(n)]
    floats = np.array([[float(v.p) / float(v.q) for v in row] for row in scaled])
    for clear in CLEARANCE:
        try:
            factor = np.linalg.cholesky(floats - clear * np.eye(n))
        except np.linalg.LinAlgError:
            continue
        whole = fmpz_mat([[round(Fraction(float(v)) * 2**BITS) for v in row] for row in factor])
        unit: Any = exact(Fraction(1, 4**BITS))
        rest = fmpq_mat(scaled) - fmpq_mat(whole * whole.transpose()) * unit
        return all(2 * rest[i, i] >= sum(abs(rest[i, j]) for j in range(n)) for i in range(n))
    return False


# How far above the solver's value a proof with room to spare is sought, relatively.
HEADROOM = (Fraction(1, 10**6), Fraction(1, 10**5), Fraction(1, 10**4), Fraction(1, 10**3))
# zeta_*^2 over L^2 Delta_0 at which a bound for zeta_* = 0 is sought: b zeta_*^2 then costs a about 1e-5.
COMMON = Fraction(1, 10**10)


def solved(run: Run, delta_0: Fraction, zeta_sq: Fraction) -> Solution:
    """The worst case in floating point where the server's weights are p."""
    return _solved(gradient_program(run, float, common=not zeta_sq), delta_0, zeta_sq)


def solved_of_clients(run: Run, delta_0: Fraction, zeta_sq: Fraction) -> Solution:
    """The same at any weights, with every client in the programme."""
    return _solved(of_clients(run, float), delta_0, zeta_sq or COMMON * run.L**2 * delta_0)


def _solved(program: Program, delta_0: Fraction, zeta_sq: Fraction) -> Solution:
    most = {"Delta_0": delta_0, "variance": zeta_sq}
    units = [program[name] * float(1 / value) for name, value in most.items() if value]
    return worst_case(program, program["measured"], units, "nonneg", inaccurate=True)


def by_solver(run: Run, delta_0: Fraction, zeta_sq: Fraction, every_client: bool = False) -> Bound | None:
    """The worst case that the programme proves, certified; None where no proof was found."""
    program, rational = (
        of_clients(run, number) if every_client else gradient_program(run, number) for number in (float, exact)
    )
    pull = zeta_sq or COMMON * run.L**2 * delta_0
    solution = _solved(program, delta_0, pull)
    for margin in HEADROOM if solution.outcome is Solved.OPTIMAL else ():
        shares = [Fraction(float(y)) + margin * Fraction(solution.value) for y in solution.y]
        a, b = shares[0] / delta_0, shares[1] / pull
        result = prove(program, rational, "measured", {"Delta_0": a, "variance": b})
        if result is not None:
            value, attained = above(a * delta_0 + b * zeta_sq), every_client or run.exact
            gap = max(value - solution.value, 0.0)
            return Bound(run, a, b, value, gap, True, result, attained=attained, every_client=every_client)
    return None
