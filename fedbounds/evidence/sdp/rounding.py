"""From a solver's floating-point proof to rational multipliers that satisfy every condition exactly.

A claim with room to spare has proofs with an interior: round one, and repair the linear conditions. A
tight claim has none: its proofs lie on a face, where S vanishes on the worst case's Gram matrix and only
active constraints have multipliers (complementary slackness); the face is guessed from the solver's worst
case, rounded to rationals, and imposed exactly. Nothing is believed until it is verified.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbounds.evidence.sdp.program import Expression, Form, Program, exact
from fedbounds.evidence.sdp.rational_functions import fraction
from fedbounds.evidence.sdp.rational_interpolation import solution
from fedbounds.evidence.sdp.solver import Solution, Solved, interior, worst_case
from fedbounds.evidence.sdp.verification import verify

# Multipliers are rounded to multiples of 2^-BITS: far below the margin of an interior proof.
BITS = 56
# An interior margin below a solver's accuracy is no margin.
MARGIN = 1e-11
# Worst cases above this (of problems scaled to size 1) refute; solvers are accurate to about 1e-8.
REFUTED = 1e-6
# What counts as zero when a face is guessed from a solver's worst case; a wrong guess only fails to verify.
GUESSES = ((1e-5, 10**4), (1e-4, 10**3), (1e-6, 10**6), (1e-3, 100))


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
    model: Program,
    rational: Program,
    lhs: str,
    rhs: Mapping[str, Fraction],
    unit: Expression | None = None,
    face: Face | None = None,
) -> dict[str, Fraction] | None:
    """Rational multipliers that prove lhs <= sum_k rhs_k quantity_k in a programme, verified exactly; else None.

    ``model`` and ``rational`` are the programme in floats and exactly. Proofs on a face are sought where ``unit``
    bounds everything, or on the ``face`` given; else only those with room to spare, which is quicker.
    """
    gap, proved = (item.sum(rhs) - item[lhs] for item in (model, rational))
    target = rational.form(proved)
    for multipliers, where in _candidates(model, gap, unit, face):
        repaired = _repair(rational, multipliers, target, where)
        if repaired is not None and min(repaired) >= 0:
            result = {label: value for label, value in zip(model.labels, repaired, strict=True) if value}
            if verify(rational, proved, result)[0]:
                return result
    return None


def _candidates(
    model: Program, gap: Expression, unit: Expression | None, face: Face | None
) -> Iterator[tuple[NDArray[Any], Face | None]]:
    """Floating-point proofs, the most promising first; last that a difference of nothing needs no constraint."""
    if face is not None:
        yield interior(model, gap, face.keep, face.floats)[1], face
        return
    delta, inside = interior(model, gap)
    if delta > MARGIN:
        yield inside, None
    if unit is None:
        return
    edge = worst_case(model, -gap, [unit])
    if edge.outcome is not Solved.OPTIMAL or edge.value > REFUTED:
        return
    for zero, denominator in GUESSES:
        for face in (_face(model, edge, zero, denominator), _proof_face(model, gap, edge, zero, denominator)):
            if face is not None and face.keep.any():
                _, inside = interior(model, gap, face.keep, face.floats)
                if inside.size:
                    yield inside, face
    yield np.zeros(len(model.labels)), None


def _proof_face(model: Program, gap: Expression, edge: Solution, zero: float, denominator: int) -> Face | None:
    """The face on which the solver's own proof lies: its non-zero multipliers, and the kernel of its S."""
    S = model.form(gap).quad - np.einsum("m,mij->ij", edge.multipliers, model.quad)
    eigenvalues, vectors = np.linalg.eigh(S)
    flat = vectors[:, eigenvalues < zero * max(eigenvalues[-1], 0.0)]
    if flat.shape[1] in (0, len(flat)):
        return None
    return Face(edge.multipliers > zero * edge.multipliers.max(), echelon(flat, denominator))


def _face(model: Program, edge: Solution, zero: float, denominator: int) -> Face | None:
    """The face of every proof that the worst case allows: active constraints, S zero on its Gram matrix."""
    slack = np.einsum("mij,ij->m", model.quad, edge.gram) + model.lin @ edge.values
    eigenvalues, vectors = np.linalg.eigh(edge.gram)
    span = vectors[:, eigenvalues > zero * eigenvalues[-1]]
    if span.shape[1] in (0, len(span)):
        return None
    return Face(slack < zero * np.abs(edge.gram).max(), echelon(span, denominator))


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
