"""Members of a population as exact instances: every number rounded, coarsest first."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from fedbounds.errors import InputError
from fedbounds.evidence.exact.compare import Sides
from fedbounds.evidence.exact.instance import Instance, Rows, Vector
from fedbounds.evidence.exact.stated_steps import with_steps
from fedbounds.model.problem import Array
from fedbounds.referee.search.family import RARE, Population, schedule
from fedbounds.theory.claim import Claim

# Denominators tried for the first exact instance, coarsest first: the smallest that keeps the violation wins.
DENOMINATORS = (1, 2, 3, 4, 6, 8, 12, 20, 50, 100, 1000, 10**4, 10**6)
# Cosines and sines of a turn are fractions of at most this denominator already.
OF_TURNS = 100

# What floats may be off by, relative to the numbers that a difference is of.
ROUNDING = 1e-14

Judge = Callable[[Instance], Sides | None]


# Beyond every denominator of a double of interest: the numbers are taken as they are.
AS_THEY_ARE = 2**120


def rationalise(population: Population, claim: Claim, violates: Judge) -> Instance | None:
    """The first member of a population as an exact instance that still violates the claim, or None."""
    for denominator in (*DENOMINATORS, AS_THEY_ARE):
        try:
            instance = round_to(population, claim, denominator)
        except InputError:
            continue  # at this denominator some p, curvature or step became 0
        if violates(instance) is not None:
            return instance
    return None


def round_to(population: Population, claim: Claim, denominator: int) -> Instance:
    """The first member of a population with every number rounded to a denominator of at most that size."""

    def near(x: float, most: int = denominator) -> Fraction:
        return Fraction(float(x)).limit_denominator(most)

    def simplex(row: Any) -> Vector:
        parts = [near(x) for x in row]
        total = sum(parts)
        return tuple(x / total for x in parts) if total else (Fraction(0),) * len(parts)

    def table(rows: Any, most: int = denominator) -> Rows:
        return tuple(tuple(near(x, most) for x in row) for row in rows)

    shape, losses, formula = population.shape, population.losses, schedule(claim, population.shape)
    searched = shape.schedule in ("free", "constant", "start")
    more: dict[str, Any] = {}
    minima = table(losses.minima[0])
    if losses.kinks is not None:
        above = table(losses.kinks[0] - losses.minima[0])
        more["kinks"] = tuple(
            tuple(a + m for a, m in zip(*pair, strict=True)) for pair in zip(above, minima, strict=True)
        )
        more["upper"] = table(losses.upper[0])
    if losses.widths is not None:
        more["widths"] = table(losses.widths[0])
    if losses.turns is not None:
        more["turns"] = table(losses.turns[0], OF_TURNS)
    for name in ("noise", "growth"):
        if getattr(losses, name) is not None:
            more[name] = tuple(near(x) for x in getattr(losses, name)[0])
    if shape.noise == "rare":
        more["rare"] = Fraction(RARE)
    instance = Instance(
        curvatures=table(losses.curvatures[0]),
        minima=minima,
        p=simplex(losses.p[0]),
        w0=tuple(near(x) for x in population.w0[0]),
        eta=tuple(near(x) for x in population.eta[0]) if searched else (Fraction(1),) * shape.total,
        tau=shape.tau,
        weighting=shape.weighting,
        weights=tuple(simplex(row) for row in population.weights[0]) if shape.weighting == "fixed" else (),
        present=shape.present,
        q=Fraction(shape.q),
        server_step=Fraction(1) if population.server_step is None else near(population.server_step[0]),
        **more,
    )
    if at_rest(population) and not losses.widths:
        instance = instance.with_(w0=instance.argmin(instance.p))
    return with_steps(instance, formula)


def at_rest(population: Population) -> bool:
    """Whether the first member starts at w* up to rounding: its sides may be nothing but rounding then."""
    start, star = population.w0[0], population.losses.w_star[0]
    return bool((np.abs(start - star) <= rounding_of(start, population.losses.minima[0])).all())


def rounding_of(w0: Array, minima: Array) -> Array:
    """What floats may be off by in a start (..., d) among minima (..., N, d)."""
    return np.asarray(ROUNDING * np.maximum(np.abs(w0), np.abs(minima).max(-2)))
