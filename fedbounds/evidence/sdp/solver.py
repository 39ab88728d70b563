"""Solve the performance-estimation problem: the only importer of Clarabel.

It is solved on the side of the proof: the smallest y with

    sum_k y_k against_k - objective = sum_j lambda_j constraint_j + <S, gram>,   lambda >= 0, S >= 0,

an identity of forms, so that every feasible (y, lambda, S) is a proof of objective <= sum_k y_k against_k
on the whole class; the Gram matrix of the worst case is the multiplier of S >= 0. Clients with the same weights are
exchanged (`fedbounds.evidence.sdp.symmetry`): the programme does not grow with their number.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbounds.evidence.sdp.program import Expression, Program
from fedbounds.evidence.sdp.symmetry import corners, exchange

# Closer than the solver's defaults of 1e-8, which what it calls almost solved then still keeps.
CLOSE: dict[str, object] = {
    f"{reduced}{kind}": value
    for reduced, value in (("tol_", 1e-11), ("reduced_tol_", 1e-8))
    for kind in ("gap_abs", "gap_rel", "feas")
}
# Tried in turn where a solve comes back inaccurate: the defaults, other regularisations of the linear systems (which
# decide it at degenerate optima), then shorter steps without scaling.
ATTEMPTS: tuple[dict[str, object], ...] = (
    CLOSE,
    {},
    {"static_regularization_constant": 1e-7},
    {"static_regularization_proportional": 1e-12},
    {"equilibrate_enable": False, "max_step_fraction": 0.9, "max_iter": 400},
)


class Solved(StrEnum):
    """What a solve established, in floating point: only OPTIMAL carries numbers."""

    OPTIMAL = "optimal"
    UNBOUNDED = "unbounded"
    EMPTY = "empty"
    UNDECIDED = "undecided"


# What the solver says of the proofs, where it is sure: none at all is a worst case without bound.
OUTCOMES = {"Solved": Solved.OPTIMAL, "PrimalInfeasible": Solved.UNBOUNDED, "DualInfeasible": Solved.EMPTY}


@dataclass(frozen=True)
class Solution:
    """``value`` = sum_k y_k, ``y`` (k,), ``multipliers`` (m,), and the worst case's ``gram`` (n, n), ``values``."""

    outcome: Solved
    value: float = float("nan")
    y: NDArray[Any] = field(default_factory=lambda: np.empty(0), repr=False)
    multipliers: NDArray[Any] = field(default_factory=lambda: np.empty(0), repr=False)
    gram: NDArray[Any] = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    values: NDArray[Any] = field(default_factory=lambda: np.empty(0), repr=False)


def worst_case(
    model: Program,
    objective: Expression,
    against: Sequence[Expression],
    sign: str = "free",
    inaccurate: bool = False,
) -> Solution:
    """sup objective over the class with each form of ``against`` at most 1 (``sign`` nonneg) or equal to 1 (free).

    A status other than optimal is tried again in other settings, and accepted only where the number may be
    ``inaccurate``, as one that is proved or run afterwards.
    """
    cut = exchange(model, objective, *against)
    quad, lin, rows = _scaled(*cut.rows(model, cut.sums(model)))
    left, left_lin, top = _scaled(*cut.rows(model, [objective]))
    right, right_lin, units = _scaled(*cut.rows(model, against))
    m, count = len(rows), len(units)
    cost = np.concatenate([np.zeros(m), units.min() / units])
    equal = np.concatenate([lin, -right_lin]).T, -left_lin[0]
    bounded = m + (count if sign == "nonneg" else 0)
    above = -np.eye(m + count)[:bounded], np.zeros(bounded)
    semidefinite = np.concatenate([quad, -right]).T, -left[0]
    outcome, x, z = _solved(cost, equal, above, semidefinite, cut.sizes, inaccurate)
    if outcome is not Solved.OPTIMAL:
        return Solution(outcome)
    y, multipliers = x[m:] * top / units, cut.multipliers(x[:m] * top / rows)
    values, _, gram = np.split(z / units.min(), np.cumsum([len(equal[1]), bounded]))
    return Solution(outcome, float(y.sum()), y, multipliers, cut.gram(gram), cut.shared @ values)


def interior(model: Program, gap: Expression) -> tuple[float, NDArray[Any]]:
    """The multipliers furthest inside the proofs of gap >= 0: largest delta with lambda >= delta, S >= delta I.

    Returns (delta, lambda); delta is -inf where no solver was accurate. It is at most 1, as only its sign matters.
    """
    cut = exchange(model, gap)
    (quad, lin, rows), (target, values, top) = (
        _scaled(*cut.rows(model, items)) for items in (cut.sums(model), [gap])
    )
    m, last = len(rows), np.eye(len(rows) + 1)[-1]
    rows_of, columns, _ = corners(cut.sizes)
    equal = np.column_stack([lin.T, np.zeros(lin.shape[1])]), values[0]
    above = np.concatenate([last - np.eye(m + 1)[:m], last[None]]), last
    semidefinite = np.column_stack([quad.T, 1.0 * (rows_of == columns)]), target[0]
    outcome, x, _ = _solved(-last, equal, above, semidefinite, cut.sizes, inaccurate=True)
    if outcome is not Solved.OPTIMAL:
        return float("-inf"), np.empty(0)
    return float(x[-1]), cut.multipliers(x[:m] * top / rows)


Rows = tuple[NDArray[Any], NDArray[Any]]


def _solved(
    cost: NDArray[Any], equal: Rows, above: Rows, semidefinite: Rows, sizes: tuple[int, ...], inaccurate: bool = False
) -> tuple[Solved, NDArray[Any], NDArray[Any]]:
    """(outcome, x, multipliers) of the smallest cost . x with b - A x = 0, >= 0 and triangles of semidefinite blocks.

    They are the first conclusive attempt's; ``inaccurate`` is for numbers that are checked exactly.
    """
    import clarabel
    from scipy.sparse import csc_matrix, vstack

    A = vstack([csc_matrix(rows[0]) for rows in (equal, above, semidefinite)], format="csc")
    b = np.concatenate([rows[1] for rows in (equal, above, semidefinite)])
    cones = [clarabel.ZeroConeT(len(equal[1])), clarabel.NonnegativeConeT(len(above[1]))]
    cones += map(clarabel.PSDTriangleConeT, sizes)
    nothing = csc_matrix((len(cost),) * 2)
    for options in ATTEMPTS:
        settings = clarabel.DefaultSettings()
        for name, value in ({"verbose": False} | options).items():
            setattr(settings, name, value)
        try:
            with _nothing_printed():
                result = clarabel.DefaultSolver(nothing, cost, A, b, cones, settings).solve()
        except BaseException as wrong:
            # Clarabel's panics are no Exception, and have no name that could be imported.
            if type(wrong).__name__ != "PanicException":
                raise
            continue
        almost = str(result.status) == "AlmostSolved" and (inaccurate or options is CLOSE)
        if almost or str(result.status) in OUTCOMES:
            outcome = Solved.OPTIMAL if almost else OUTCOMES[str(result.status)]
            return outcome, np.array(result.x), np.array(result.z)
    return Solved.UNDECIDED, np.empty(0), np.empty(0)


# Standard error is one for all threads, so that only one may put another in its place.
STANDARD_ERROR = threading.Lock()


@contextlib.contextmanager
def _nothing_printed() -> Iterator[None]:
    """Standard error leads nowhere: a panic of Clarabel's is printed there before Python learns of it."""
    with contextlib.ExitStack() as after:
        after.enter_context(STANDARD_ERROR)
        with contextlib.suppress(OSError):  # it is closed, or nothing more can be opened
            printed = os.dup(2)
            after.callback(os.close, printed)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            after.callback(os.close, nowhere)
            after.callback(os.dup2, printed, 2)
            os.dup2(nowhere, 2)
        yield


def _scaled(quad: NDArray[Any], lin: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Forms (..., K), (..., q) divided by their largest coefficients (...,), as solvers like numbers near 1."""
    largest = np.maximum(np.abs(quad).max(axis=-1), np.abs(lin).max(axis=-1, initial=0.0))
    largest = np.where(largest > 0, largest, 1.0)
    return quad / largest[..., None], lin / largest[..., None], largest


def infeasible(equal: Rows, above: Rows, semidefinite: Rows, sizes: tuple[int, ...]) -> bool:
    """Whether the solver is sure that nothing satisfies A x = b, A x <= b and semidefinite b - A x."""
    outcome, _, _ = _solved(np.zeros(equal[0].shape[1]), equal, above, semidefinite, sizes)
    return outcome is Solved.UNBOUNDED


def conic(
    cost: NDArray[Any], equal: Rows, above: Rows, semidefinite: Rows, sizes: tuple[int, ...]
) -> NDArray[Any] | None:
    """The smallest cost . x under A x = b, A x <= b and semidefinite b - A x, in floats; None if none."""
    outcome, x, _ = _solved(cost, equal, above, semidefinite, sizes, inaccurate=True)
    return x if outcome is Solved.OPTIMAL else None
