"""How close a claim comes to failing on each instance of a population."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbounds.evidence.conditions import penalty
from fedbounds.evidence.evaluate import evaluate
from fedbounds.model.problem import Array
from fedbounds.referee.search.dynamics import simulate_batch
from fedbounds.referee.search.family import Batch
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import Reading
from fedbounds.theory.symbols import Delta_next

# A place where both sides are this small against the largest term of the run is 0 <= 0 up to rounding.
NEGLIGIBLE = 1e-9
# Violated assumptions push the objective above every margin of an instance that satisfies them (at most 2).
OUTSIDE = 3.0


@dataclass(frozen=True)
class Margins:
    """Per instance (P,): the ``objective`` to minimise (negative where the claim fails) and, at the time
    ``t`` where it is reached, the ratio lhs/rhs of the two sides as stated."""

    objective: Array
    t: NDArray
    ratio: Array


@dataclass(frozen=True)
class Target:
    """A claim in a reading."""

    claim: Claim
    reading: Reading


def margins(target: Target, batch: Batch) -> Margins:
    """The smallest relative margin of a claim on each instance.

    (rhs - lhs)/max(|rhs|, |lhs|), and for a one-step inequality with Delta subtracted from both sides: tiny
    steps would otherwise bring every margin to 0. OUTSIDE and more where an assumption fails.
    """
    claim, reading = target.claim, target.reading
    with np.errstate(all="ignore"):
        record = simulate_batch(batch)
        seen = record.observed(batch, reading)
        values, times = {**seen.constants, **seen.places(claim.scope)}, np.asarray(seen.times(claim.scope))
        left, _, stated = claim.sides(reading)
        terms = [evaluate(term, values) for term in stated.values()]
        lhs = evaluate(left, values)
        P = len(batch.p)
        shape = np.broadcast_shapes(np.shape(lhs), *(np.shape(term) for term in terms), (P, 1))
        lhs, rhs = np.broadcast_to(lhs, shape), np.broadcast_to(np.sum(np.broadcast_arrays(*terms), axis=0), shape)
        base = values["Delta"] if claim.lhs == Delta_next else 0.0
        size = np.maximum(np.abs(lhs - base), np.abs(rhs - base))
        margin = (rhs - lhs) / size
        if claim.kind is Kind.IDENTITY:
            margin = -np.abs(margin)
        largest = np.max(
            [np.broadcast_to(np.abs(x), shape).max(axis=1) for x in (lhs, base + 0 * lhs, *terms)], axis=0
        )
        margin = np.where(np.isfinite(margin) & (size > NEGLIGIBLE * largest[:, None]), margin, 2.0)
        if claim.scope == "horizon":
            # The start is near the bound of every convergence theorem, trivially: only a violation counts there.
            margin[:, 0] = np.where(margin[:, 0] < 0, margin[:, 0], 2.0)
        where = margin.argmin(axis=1)
        rows = np.arange(P)
        ratio = (lhs / rhs)[rows, where]
    outside = penalty(claim.assumptions_in(reading), {**values, **seen.places("step")}, P)
    objective = np.where(outside > 0, OUTSIDE + outside, margin[rows, where])
    return Margins(objective, times[np.minimum(where, len(times) - 1)], ratio)
