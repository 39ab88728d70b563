"""From a solver's floating-point proof to rational multipliers that satisfy every condition exactly.

A claim with room to spare has proofs with an interior: round one, and repair the linear conditions. Nothing is
believed until it is verified.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq_mat
from numpy.typing import NDArray

from fedbounds.evidence.sdp.functions_on_interval import fraction, rational, value_at
from fedbounds.evidence.sdp.program import Expression, Program, exact
from fedbounds.evidence.sdp.solver import interior
from fedbounds.evidence.sdp.verification import verify

# Multipliers are rounded to multiples of 2^-BITS: far below the margin of an interior proof.
BITS = 56
# An interior margin below a solver's accuracy is no margin.
MARGIN = 1e-11


def prove(model: Program, rational: Program, lhs: str, rhs: Mapping[str, Fraction]) -> dict[str, Fraction] | None:
    """Rational multipliers that prove lhs <= sum_k rhs_k quantity_k in a programme, verified exactly; else None.

    ``model`` and ``rational`` are the programme in floats and exactly; the proof is one with room to spare.
    """
    gap, proved = (item.sum(rhs) - item[lhs] for item in (model, rational))
    delta, inside = interior(model, gap)
    # A difference of nothing needs no constraint.
    for given in [inside] * (delta > MARGIN) + [np.zeros(len(model.labels))]:
        result = cancelling(rational, proved, given)
        if result is not None and verify(rational, proved, result)[0]:
            return result
    return None


def cancelling(program: Program, gap: Expression, given: NDArray[Any]) -> dict[str, Fraction] | None:
    """Multipliers in fractions, near those given, with which the function values of a gap cancel."""
    order = [int(j) for j in np.argsort(-given)]
    columns = [_of_values(program.constraints[j].expression) for j in order]
    rounded = [exact(Fraction(round(float(given[j]) * 2**BITS), 2**BITS)) for j in order]
    values = repaired(columns, _of_values(gap), rounded)
    if values is None:
        return None
    return {program.labels[j]: fraction(value) for j, value in zip(order, values, strict=True) if value != 0}


def _of_values(expression: Expression) -> dict[Any, Any]:
    return {key: value for key, value in expression.terms.items() if len(key) == 1}


def echelon(span: NDArray[Any], denominator: int) -> list[list[Fraction]]:
    """The same column space in reduced form, whose entries are rationals where the worst case is rational."""
    from scipy.linalg import qr

    _, _, order = qr(span.T, pivoting=True)
    reduced = span @ np.linalg.inv(span[order[: span.shape[1]]])
    return [[Fraction(float(v)).limit_denominator(denominator) for v in row] for row in reduced]


def repaired(
    columns: Sequence[Mapping[Any, Any]], wanted: Mapping[Any, Any], rounded: Sequence[Any]
) -> list[Any] | None:
    """Rounded values moved so that sum_j value_j column_j = wanted exactly; None where that has no solution.

    The first that span are moved: with the largest first none turns negative.
    """
    residual, zero = dict(wanted), exact(0)
    for value, column in zip(rounded, columns, strict=True):
        for key, entry in column.items() if value != 0 else ():
            residual[key] = residual.get(key, zero) - value * entry
    if all(value == 0 for value in residual.values()):
        return list(rounded)
    keys = dict.fromkeys(key for column in (*columns, residual) for key in column)
    rows = [[*(column.get(key, zero) for column in columns), residual.get(key, zero)] for key in keys]
    moved = solution(rows) if columns else None
    return None if moved is None else [value + moved.get(j, 0) for j, value in enumerate(rounded)]


def eliminated(
    rows: Sequence[Sequence[Any]], order: Sequence[int], at: Fraction | None
) -> dict[int, list[Any]] | None:
    """{pivot: its row} of equations sum_j row_j x_j = row_-1 in reduced form, pivots taken in ``order``; None where
    they have no solution.

    Rows that depend on others at the point ``at`` are left out, so that a solution is still to be checked.
    """
    rows = [row for row in rows if any(value != 0 for value in row)]
    if not rows:
        return {}
    columns, rank = fmpq_mat([[rational(value_at(value, at)) for value in row] for row in rows]).transpose().rref()
    result: dict[int, list[Any]] = {}
    for line in columns.tolist()[:rank]:
        row = list(rows[next(k for k, value in enumerate(line) if value != 0)])
        for pivot, other in result.items():
            row = _less(row, row[pivot], other)
        new = next((j for j in order if row[j] != 0), None)
        if new is None:
            return None
        row = [value if value == 0 else value / row[new] for value in row]
        result = {pivot: _less(other, other[new], row) for pivot, other in result.items()} | {new: row}
    return result


def _less(row: Sequence[Any], times: Any, other: Sequence[Any]) -> list[Any]:
    """row - times * other."""
    if times == 0:
        return list(row)
    return [a if b == 0 else a - times * b for a, b in zip(row, other, strict=True)]


def solution(rows: Sequence[Sequence[Any]]) -> dict[int, Any] | None:
    """{pivot: value} of numbers' equations sum_j row_j x_j = row_-1 where all others are 0; None for no solution.

    Pivots are the first columns that span, so one of every unknown means that the solution is the only one.
    """
    reduced, rank = fmpq_mat([list(row) for row in rows]).rref()
    result = {}
    for row in reduced.tolist()[:rank]:
        pivot = next(k for k, value in enumerate(row) if value != 0)
        if pivot == len(row) - 1:
            return None
        result[pivot] = row[-1]
    return result
