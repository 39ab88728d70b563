"""From a solver's floating-point proof to rational multipliers that satisfy every condition exactly.

A claim with room to spare has proofs with an interior: round one, and repair the linear conditions. A
tight claim has none: its proofs lie on a face, where S vanishes on the worst case's Gram matrix and only
active constraints have multipliers (complementary slackness). Where the worst case is known the face is imposed
exactly. Nothing is believed until it is verified.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbounds.evidence.sdp.program import Form, Program, exact
from fedbounds.evidence.sdp.rational_functions import fraction
from fedbounds.evidence.sdp.rational_interpolation import solution
from fedbounds.evidence.sdp.solver import interior
from fedbounds.evidence.sdp.verification import verify

# Multipliers are rounded to multiples of 2^-BITS: far below the margin of an interior proof.
BITS = 56
# An interior margin below a solver's accuracy is no margin.
MARGIN = 1e-11


@dataclass(frozen=True)
class Face:
    """Active constraints ``keep`` (m,) and the rational ``kernel`` (n, r) of S."""

    keep: NDArray[Any]
    kernel: list[list[Fraction]]

    @property
    def floats(self) -> NDArray[Any]:
        """The kernel in floating point."""
        return np.array([[float(v) for v in row] for row in self.kernel])


def prove(
    model: Program, rational: Program, lhs: str, rhs: Mapping[str, Fraction], face: Face | None = None
) -> dict[str, Fraction] | None:
    """Rational multipliers that prove lhs <= sum_k rhs_k quantity_k in a programme, verified exactly; else None.

    ``model`` and ``rational`` are the programme in floats and exactly; a proof lies inside all, or on ``face``.
    """
    gap, proved = (item.sum(rhs) - item[lhs] for item in (model, rational))
    delta, inside = interior(model, gap) if face is None else interior(model, gap, face.keep, face.floats)
    some = inside.size and (delta > MARGIN or face is not None)
    for multipliers in [inside] * bool(some) + [np.zeros(len(model.labels))]:  # a difference of nothing needs none
        repaired = _repair(rational, multipliers, rational.form(proved), face)
        if repaired is not None and min(repaired) >= 0:
            result = {label: value for label, value in zip(model.labels, repaired, strict=True) if value}
            if verify(rational, proved, result)[0]:
                return result
    return None


def echelon(span: NDArray[Any], denominator: int) -> list[list[Fraction]]:
    """The same column space in reduced form, whose entries are rationals where the worst case is rational."""
    from scipy.linalg import qr

    _, _, order = qr(span.T, pivoting=True)
    reduced = span @ np.linalg.inv(span[order[: span.shape[1]]])
    return [[Fraction(float(v)).limit_denominator(denominator) for v in row] for row in reduced]


def _repair(model: Program, multipliers: NDArray[Any], target: Form, face: Face | None) -> list[Fraction] | None:
    """Rounded multipliers moved so that sum_j lambda_j lin_j = target.lin and S kernel = 0 hold exactly."""
    columns, wanted = [list(row) for row in model.lin], list(target.lin)
    keep = np.ones(len(multipliers), dtype=bool)
    if face is not None:
        keep, kernel = face.keep, np.array([[exact(v) for v in row] for row in face.kernel], dtype=object)
        columns = [[*column, *(quad @ kernel).ravel()] for column, quad in zip(columns, model.quad, strict=True)]
        wanted += [*(target.quad @ kernel).ravel()]
    order = [int(j) for j in np.argsort(-multipliers) if keep[j]]
    rounded = [exact(Fraction(round(v * 2**BITS), 2**BITS)) for v in multipliers[order]]
    values = repaired([dict(enumerate(columns[j])) for j in order], dict(enumerate(wanted)), rounded)
    if values is None:
        return None
    result = [Fraction(0)] * len(multipliers)
    for j, value in zip(order, values, strict=True):
        result[j] = fraction(value)
    return result


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
