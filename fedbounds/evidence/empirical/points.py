"""Claims about every visited point and client: each decided by itself, a block of points at a time."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fedbounds.errors import reject
from fedbounds.evidence.empirical.band_validity import SQUARED_CANCELLATION
from fedbounds.evidence.empirical.sides import Cells, Comparison, compare
from fedbounds.evidence.evaluate import evaluate
from fedbounds.evidence.judge import substitution
from fedbounds.evidence.measured_run import MeasuredRun
from fedbounds.evidence.run_constants import with_quantities
from fedbounds.theory.claim import Claim

# Points compared at once: a dozen arrays of them are 6 MB, and stay in the processor's cache.
BLOCK = 2**16
# What a trajectory records at every point.
POINT_FIELDS = ("grad_sq", "local_excess")


class Worst(NamedTuple):
    """The smallest distance of both sides relative to their size, at which step, and both sides there."""

    margin: float
    refuted: bool
    t: int
    lhs: float
    rhs: float

    def score(self) -> float:
        """Smaller where it is worse: what is refuted comes first, as in `Cells.worst`."""
        return self.margin - 1e9 if self.refuted else self.margin


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
    blocks = [_compared(claim, part, floor) for part in _parts(run)]
    return Points(
        Cells(*map(np.concatenate, zip(*(block.cells for block in blocks), strict=True))),
        min((block.worst for block in blocks if block.worst is not None), key=Worst.score, default=None),
        min((block.tightness for block in blocks if block.tightness is not None), default=None),
        sum(block.total for block in blocks),
        (sum(block.poles[0] for block in blocks), next((block.poles[1] for block in blocks if block.poles[0]), 0)),
    )


def _compared(claim: Claim, run: MeasuredRun, floor: float) -> Points:
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
    cells, worst = sides.cells(claim.kind, difference, difference), None
    if difference.size:
        refuted = bool(cells.refuted.any())
        k = cells.worst(refuted)
        worst = Worst(float(cells.relative[k]), refuted, int(sides.times[k]), *(float(v[k]) for v in sides.means))
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
        overrides = {name: value[rows] for name, value in run.overrides.items()}
        yield replace(run, trajectory=part, overrides=overrides)
