"""What floating point alone may do to the two sides of a claim."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import sympy as sp

from fedbounds.evidence.evaluate import Value, evaluate
from fedbounds.evidence.run import Run
from fedbounds.model.problem import Array

# Every measured quantity is known to about this relative accuracy (sums of some thousand products in double
# precision); what such errors can do to lhs - rhs is rounding, not evidence.
RELATIVE_ROUNDING = 1e-11
# A computed iterate is off by a few units in the last place of |w|: so many epsilons are allowed for.
POSITION_ROUNDING = 64 * np.finfo(float).eps
# A squared gradient this far below the largest of the run is the square of a cancellation error.
SQUARED_CANCELLATION = 1e-26
# Sides that lie within rounding of each other count as equal where rounding is at most this part of the larger one:
# a hundred times RELATIVE_ROUNDING, so that an identity of some dozen terms without cancellation passes.
NEGLIGIBLE = 1e-9


def value_rounding(difference: sp.Expr, values: Mapping[str, Value], base: Array) -> Array:
    """How far lhs - rhs moves when each measured quantity moves by its relative accuracy."""
    moved = np.zeros_like(base)
    for name in sorted(symbol.name for symbol in difference.free_symbols):
        nudged = dict(values) | {name: np.asarray(values[name]) * (1 + RELATIVE_ROUNDING)}
        with np.errstate(invalid="ignore"):
            moved = moved + np.abs(evaluate(difference, nudged) - base)
    return np.nan_to_num(moved, nan=0.0, posinf=0.0)


def position_rounding(run: Run, count: int) -> Array:
    """delta^2 + 2 delta ||w_t - w*||, what an error delta of w does to it squared, at the first ``count`` times."""
    trajectory = run.trajectory
    reach = float(np.linalg.norm(trajectory.experiment.problem.w_star)) + float(trajectory.extremes.radius.max())
    delta = POSITION_ROUNDING * reach
    if trajectory.streamed:
        distance = np.sqrt(trajectory.streamed.paths[run.reading.virtual].high[None, :count, 0])
    else:
        distance = np.sqrt(trajectory.paths[run.reading.virtual].distance_sq[:, :count])
    return delta**2 + 2 * delta * distance
