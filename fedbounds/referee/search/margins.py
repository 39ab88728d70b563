"""How close a claim comes to failing on each instance of a population."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from fedbounds.evidence.conditions import penalty
from fedbounds.evidence.evaluate import evaluate
from fedbounds.model.problem import Array
from fedbounds.referee.search.dynamics import Record, simulate_batch
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
    """A claim in a reading, its sympy terms substituted once for the whole search."""

    claim: Claim
    reading: Reading

    @cached_property
    def terms(self) -> tuple[sp.Expr, ...]:
        """The right-hand side's terms."""
        return tuple(self.claim.terms_in(self.reading).values())

    @cached_property
    def left(self) -> sp.Expr:
        """The left-hand side."""
        return sp.sympify(self.claim.lhs).subs(dict(self.claim.definitions))


def margins(target: Target, batch: Batch) -> Margins:
    """The smallest relative margin of a claim on each instance.

    (rhs - lhs)/max(|rhs|, |lhs|), and for a one-step inequality with Delta subtracted from both sides: tiny
    steps would otherwise bring every margin to 0. OUTSIDE and more where an assumption fails.
    """
    claim, reading = target.claim, target.reading
    with np.errstate(all="ignore"):
        record = simulate_batch(batch)
        values, times = _values(claim, reading, batch, record)
        terms = [evaluate(term, values) for term in target.terms]
        lhs = evaluate(target.left, values)
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
    outside = penalty(claim, reading, {**values, "eta": batch.eta}, P)
    objective = np.where(outside > 0, OUTSIDE + outside, margin[rows, where])
    return Margins(objective, times[np.minimum(where, len(times) - 1)], ratio)


def _values(claim: Claim, reading: Reading, batch: Batch, record: Record) -> tuple[dict[str, Any], NDArray]:
    """Every symbol a claim may use on a population, and the times tested."""
    family, path = batch.family, record.paths[reading.virtual]
    rho_bar = record.rho_sync if reading.skew == "sync" else record.rho_all
    values: dict[str, Any] = {**record.constants, "rho_bar": rho_bar[:, None]}
    steps = np.arange(family.total)
    if claim.scope == "constant":
        return values, np.zeros(1, dtype=int)
    if claim.scope == "horizon":
        times = np.arange(family.total + 1)
        return values | {"T": times[None, :].astype(float), "gap": path["gap"]}, times
    if claim.scope == "point":
        P = len(batch.p)
        return values | {"grad_sq": record.grad_sq.reshape(P, -1), "excess": record.excess.reshape(P, -1)}, np.repeat(
            steps, family.N
        )
    distance = path["distance_sq"]
    here = {"t": steps[None, :].astype(float), "eta": batch.eta, "drift": path["drift"][:, :-1]}
    return values | here | {"Delta": distance[:, :-1], "Delta_next": distance[:, 1:]}, steps
