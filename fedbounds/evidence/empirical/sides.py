"""Both sides of a claim on a sampled run: at every time, or at every visited point."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from fedbounds.errors import reject
from fedbounds.evidence.assumption_checks import places_in_scope, with_quantities
from fedbounds.evidence.ball_arithmetic import upper
from fedbounds.evidence.empirical.band_validity import (
    NEGLIGIBLE,
    SQUARED_CANCELLATION,
    position_rounding,
    quantity_rounding,
    value_rounding,
)
from fedbounds.evidence.empirical.bands import Band, band
from fedbounds.evidence.evaluate import evaluate, names_in
from fedbounds.evidence.judge import substitution
from fedbounds.evidence.measured_run import MeasuredRun
from fedbounds.model.problem import Array
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.symbols import gap, gap_t

Mask = NDArray[np.bool_]


class Cells(NamedTuple):
    """What is decided at each tested time or point (m,), and the distance from 0 ``relative`` to the sides."""

    refuted: Mask
    holds: Mask
    untested: Mask
    relative: Array


def wrong_and_right(kind: Kind, lower: Array, upper: Array, rounding: Array, allowed: Array) -> tuple[Mask, Mask]:
    """Where lhs - rhs, from ``lower`` to ``upper``, is beyond 0 by more than rounding, and where as stated."""
    if kind is Kind.IDENTITY:
        return (lower > rounding) | (upper < -rounding), np.maximum(np.abs(lower), np.abs(upper)) <= allowed
    return lower > rounding, upper <= allowed


class Worst(NamedTuple):
    """The smallest distance of both sides relative to their size, at which step, and both sides there."""

    margin: float
    refuted: bool
    t: int
    lhs: float
    rhs: float

    def score(self) -> float:
        """Smaller where it is worse: what is refuted comes first."""
        return self.margin - 1e9 if self.refuted else self.margin


@dataclass(frozen=True)
class Comparison:
    """Both sides of a claim on a run: ``lhs`` and ``rhs`` (R, m) at ``times`` (m,).

    ``rounding`` (R, m) is how far floating point alone may put lhs above rhs, ``floor`` (R, m) the part of it that
    the accuracy of the iterates sets whatever the claim says.
    """

    times: np.ndarray
    lhs: Array
    rhs: Array
    rounding: Array
    floor: Array

    def at(self, selected_times: np.ndarray) -> Comparison:
        """The same at some of the times."""
        if len(self.lhs) == 1 and selected_times.all():
            return self  # of several rows the copy has another order in memory, and sums of it other roundings
        arrays = {
            name: getattr(self, name)[..., selected_times] for name in ("times", "lhs", "rhs", "rounding", "floor")
        }
        return Comparison(**arrays)

    @property
    def defined(self) -> np.ndarray:
        """Where (m,) the right side is a number."""
        return np.asarray(np.isfinite(self.rhs).all(axis=0))

    # The largest rounding of any replicate, and the means of both sides, all (m,).
    most = cached_property(lambda sides: np.asarray(sides.rounding.max(axis=0)))
    means = cached_property(lambda sides: (sides.lhs.mean(axis=0), sides.rhs.mean(axis=0)))

    @cached_property
    def scale(self) -> Array:
        """The larger of both sides' means (m,)."""
        return np.asarray(np.maximum(*map(np.abs, self.means)))

    @cached_property
    def allowed(self) -> Array:
        """How far above 0 lhs - rhs may lie (m,): its rounding where that is negligible, else less than nothing.

        What lies within rounding that is not negligible beside the sides is neither above nor below.
        """
        return np.asarray(np.where(self.most <= NEGLIGIBLE * self.scale, self.most, -self.most))

    def untested(self, lower: Array, upper: Array) -> np.ndarray:
        """Where (m,) nothing is compared: both sides are 0, or cannot be told apart for the accuracy of w."""
        near = np.maximum(np.abs(lower), np.abs(upper)) <= self.most
        return np.asarray((self.scale == 0) | (near & (self.floor.max(axis=0) > NEGLIGIBLE * self.scale)))

    def cells(self, kind: Kind, lower: Array, upper: Array) -> Cells:
        """The decision where lhs - rhs lies between ``lower`` and ``upper`` (m,)."""
        distance = -np.maximum(np.abs(lower), np.abs(upper)) if kind is Kind.IDENTITY else -upper
        relative = distance / np.maximum(self.scale, np.finfo(float).tiny)
        relative[np.abs(distance) <= self.most] = 0.0
        relative = np.where(np.isnan(relative), -np.inf, relative)
        sides = wrong_and_right(kind, lower, upper, self.most, self.allowed)
        return Cells(*sides, self.untested(lower, upper), relative)

    def worst(self, cells: Cells) -> Worst:
        """Where the distance of both sides is smallest, among what is refuted if anything is."""
        relative, refuted = cells.relative, bool(cells.refuted.any())
        k = int(np.argmin(np.where(cells.refuted, relative - 1e9, relative) if refuted else relative))
        return Worst(float(relative[k]), refuted, int(self.times[k]), *(float(side[k]) for side in self.means))

    @property
    def tightness(self) -> float | None:
        """The smallest rhs/lhs; only positive values that rounding leaves apart from their bound count."""
        lhs, rhs = self.means
        chosen = (lhs > 0) & (np.abs(lhs - rhs) > -self.allowed)
        return float(np.min(rhs[chosen] / lhs[chosen])) if chosen.any() else None

    def band(self, error_rate: float, certain_columns: np.ndarray) -> Band:
        """The simultaneous band of the mean of lhs - rhs; ``certain_columns`` columns do not vary."""
        return band(self.lhs - self.rhs, error_rate, deterministic=certain_columns)


def compare(claim: Claim, run: MeasuredRun) -> Comparison:
    """Evaluate both sides of a claim on every replicate and tested time of a run that it speaks of."""
    run = with_quantities(claim, run)
    spoken, result = (
        places_in_scope(claim.scope, claim.assumptions_in(run.reading), run.measurement(claim.symbols)),
        _compared(claim, run),
    )
    return result if spoken is None or spoken.all() else result.at(spoken)


def _compared(claim: Claim, run: MeasuredRun) -> Comparison:
    """Both sides at every tested time."""
    measurement = run.measurement(claim.symbols)
    times, fields = np.asarray(measurement.times(claim.scope)), measurement.varying(claim.scope)
    shape = np.broadcast_shapes(*(np.shape(value) for value in fields.values()), (1, 1))
    sides = substitution(claim, run.reading, measurement)
    left, right, values = sides.lhs, sides.rhs, sides.values
    floor = _floor(claim, run, sides.difference, len(times))
    lhs = np.broadcast_to(evaluate(left, values), shape).astype(float)
    rhs = np.broadcast_to(evaluate(right, values), shape).astype(float)
    with np.errstate(invalid="ignore"):  # both sides may be infinite, which decides nothing
        rounding = value_rounding(sides.difference, values, lhs - rhs) + floor
    if claim.scope == "horizon" and (above := lhs > rhs + rounding).any():
        # A difference of powers of 1 - eta mu may be cancelled away in floats, which refutes nothing.
        exact = upper(right, {name: np.broadcast_to(values[name], shape)[above] for name in names_in(right)})
        rhs[above] = np.where(np.isfinite(exact), exact, rhs[above])
    rounding, floor = np.broadcast_arrays(rounding, floor, lhs)[:2]
    return Comparison(times, lhs, rhs, rounding, floor)


def _floor(claim: Claim, run: MeasuredRun, apart: sp.Expr, count: int) -> Array:
    """What the rounding of w does to the two sides; L times that of the squared distance for F."""
    if claim.scope not in ("step", "horizon"):
        return np.zeros((1, 1))
    floor = position_rounding(run, count) * (run.constants["L"].value if apart.has(gap, gap_t) else 1.0)
    return floor + quantity_rounding(claim, run, apart)


# Points compared at once: a dozen arrays of them are 6 MB, and stay in the processor's cache.
BLOCK = 2**16
# What a trajectory records at every point.
POINT_FIELDS = ("grad_sq", "local_excess")


@dataclass(frozen=True)
class Points:
    """What is decided at the points (n,) at which the right side is finite, of ``total`` in all.

    ``worst``: None where there is no such point; ``tightness``: the smallest rhs/lhs; ``poles``: at how many points
    the bound is -infinity, and the first such step.
    """

    cells: Cells
    worst: Worst | None
    tightness: float | None
    total: int
    poles: tuple[int, int]


def at_points(claim: Claim, run: MeasuredRun) -> Points:
    """Both sides compared at every visited point, replicate after replicate."""
    run = with_quantities(claim, run)
    floor = SQUARED_CANCELLATION * float(np.max([_largest(claim, part) for part in _parts(run)], initial=0.0))
    blocks = [_compared_points(claim, part, floor) for part in _parts(run)]
    return Points(
        Cells(*map(np.concatenate, zip(*(block.cells for block in blocks), strict=True))),
        min((block.worst for block in blocks if block.worst is not None), key=Worst.score, default=None),
        min((block.tightness for block in blocks if block.tightness is not None), default=None),
        sum(block.total for block in blocks),
        (sum(block.poles[0] for block in blocks), next((block.poles[1] for block in blocks if block.poles[0]), 0)),
    )


def _compared_points(claim: Claim, run: MeasuredRun, floor: float) -> Points:
    """A block of points, each a column of its own with nothing to average; ``floor`` is added to the rounding."""
    sides = compare(claim, run)
    lhs, rhs, rounding = (side.reshape(1, -1) for side in (sides.lhs, sides.rhs, sides.rounding + floor))
    sides = Comparison(np.tile(sides.times, len(sides.lhs)), lhs, rhs, rounding, np.full_like(lhs, floor))
    below = np.flatnonzero(np.isneginf(rhs[0]))
    poles = len(below), int(sides.times[below[0]]) if len(below) else 0
    sides = sides.at(sides.defined)
    difference = sides.lhs[0] - sides.rhs[0]
    if not np.isfinite(difference).all():
        raise reject("both sides must be finite", "nan or infinity", "drop the times at which the run diverged")
    cells = sides.cells(claim.kind, difference, difference)
    worst = sides.worst(cells) if difference.size else None
    return Points(cells._replace(relative=np.zeros(0)), worst, sides.tightness, lhs.size, poles)


def _largest(claim: Claim, run: MeasuredRun) -> float:
    """The largest left side."""
    left, _, _ = claim.sides(run.reading)
    values = substitution(claim, run.reading, run.measurement(claim.symbols)).values
    return float(evaluate(left, values).max(initial=0.0))


def _parts(run: MeasuredRun) -> Iterator[MeasuredRun]:
    """The run at about BLOCK points at a time: some of the replicates, or some steps of one."""
    trajectory, N = run.trajectory, run.problem.N
    R, K = len(trajectory.grad_sq), len(trajectory.times)
    if run.quantities.fields:
        yield run  # symbols of a user's own are columns of the whole run
        return
    together, steps = max(BLOCK // (K * N), 1), max(BLOCK // N, 1) if K * N > BLOCK else K
    for first, begin in itertools.product(range(0, R, together), range(0, K, steps)):
        rows, columns = slice(first, first + together), slice(begin, begin + steps)
        fields = {name: getattr(trajectory, name)[rows, columns] for name in POINT_FIELDS}
        part = replace(trajectory, times=trajectory.times[columns], **fields)
        yield replace(run, trajectory=part)
