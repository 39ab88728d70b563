"""How close a claim comes to failing on each instance of a population."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedbounds.evidence.assumption_checks import penalty, spoken_of
from fedbounds.evidence.evaluate import evaluate
from fedbounds.evidence.judge import substitution
from fedbounds.model.problem import Array
from fedbounds.referee.search.family import Population
from fedbounds.referee.search.populations import computed, simulate
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.measurement import first_of
from fedbounds.theory.reading import Reading
from fedbounds.theory.symbols import Delta_next

# A place where both sides are this small against the largest term of the run is 0 <= 0 up to rounding.
NEGLIGIBLE = 1e-9
# Violated assumptions push the objective above every margin of an instance that satisfies them (at most 2).
OUTSIDE = 3.0
# The margin where a side is undefined, or where both are 0: nothing was tested there.
UNTESTED = 2.0

# (rhs - lhs)/scale: of the ``change`` since the step before or the start of the run, or of the sides as they are
# (``ratio``), which finds violations where a bound decays.
Scale = Literal["change", "ratio"]


@dataclass(frozen=True)
class Objectives:
    """Per instance (P,): the ``values`` to minimise (negative where the claim fails), the ratio lhs/rhs there, and
    the place."""

    values: Array
    ratio: Array
    place: Array


def scales(claim: Claim) -> tuple[Scale, ...]:
    """The objectives that differ for a claim."""
    return ("change", "ratio") if claim.scope == "horizon" else ("change",)


def objectives(claim: Claim, reading: Reading, population: Population, scale: Scale = "change") -> Objectives:
    """The smallest relative margin of a claim on each instance.

    (rhs - lhs) over |lhs| or the sum of the sizes of the terms, the larger. With the scale ``change``, what the left
    side is before the step, or at the start of the run, is taken off both: tiny steps would otherwise bring every
    margin to 0. OUTSIDE and more where an assumption fails.
    """
    with np.errstate(all="ignore"):
        run = simulate(population)
        measurement = run.measurement(reading, computed(run, claim, reading))
        sides = substitution(claim, reading, measurement)
        values = sides.values
        terms = [evaluate(term, values) for term in sides.terms.values()]
        lhs = evaluate(sides.lhs, values)
        P = len(population.w0)
        shape = np.broadcast_shapes(np.shape(lhs), *(np.shape(term) for term in terms), (P, 1))
        lhs, rhs = np.broadcast_to(lhs, shape), np.broadcast_to(np.sum(np.broadcast_arrays(*terms), axis=0), shape)
        start = lhs[:, :1] if claim.scope == "horizon" else 0.0
        before = values["Delta"] if claim.lhs == Delta_next else start
        base = before if scale == "change" else 0 * lhs
        size = np.maximum(np.abs(lhs - base), np.abs(rhs - base))
        # Where terms of both signs cancel, their sizes tell how far the right-hand side is from failing.
        margin = (rhs - lhs) / np.maximum(size, _spread(terms, base, shape))
        if claim.kind is Kind.IDENTITY:
            margin = -np.abs(margin)
        largest = np.max(
            [np.broadcast_to(np.abs(x), shape).max(axis=1) for x in (lhs, before + 0 * lhs, *terms)], axis=0
        )
        margin = np.where(np.isfinite(margin) & (size > NEGLIGIBLE * largest[:, None]), margin, UNTESTED)
        spoken = spoken_of(claim, reading, measurement)
        margin = margin if spoken is None else np.where(spoken, margin, UNTESTED)
        if claim.scope == "horizon":
            # The start is near the bound of every convergence theorem, trivially: only a violation counts there, and
            # as long as both sides stay what they were, as they do within the first round where rounds are compared.
            start = (lhs == lhs[:, :1]) & (rhs == rhs[:, :1])
            margin = np.where(start & (margin >= 0), UNTESTED, margin)
        where = margin.argmin(axis=1)
        rows = np.arange(P)
        ratio = (lhs / rhs)[rows, where]
    if population.shape.taken == "linear":
        # With larger steps the largest gradients lie elsewhere than on the paths that are taken.
        stepped = (population.eta.max(1) * population.losses.L)[:, None]
        margin = np.where(stepped > 1, UNTESTED, margin)
        where = margin.argmin(axis=1)
    outside = penalty(claim.assumptions_in(reading), first_of(measurement.places("step"), values), P)
    return Objectives(np.where(outside > 0, OUTSIDE + outside, margin[rows, where]), ratio, where)


def _spread(terms: list[Array], base: Array | float, shape: tuple[int, ...]) -> Array:
    """The sum of the sizes of the terms, ``base`` taken off the largest."""
    stacked = np.stack([np.broadcast_to(term, shape) for term in terms or [np.zeros(shape)]])
    first = stacked.argmax(axis=0)[None]
    np.put_along_axis(stacked, first, np.take_along_axis(stacked, first, 0) - base, 0)
    return np.abs(stacked).sum(axis=0)
