"""Multipliers that a linear system leaves free, as functions of low degree that keep a margin at many points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from flint import fmpq_poly

from fedbounds.evidence.sdp.one_step.sampled_program import Array, Sample
from fedbounds.evidence.sdp.program import Expression, exact
from fedbounds.evidence.sdp.rational_functions import Function, Interval
from fedbounds.evidence.sdp.rational_interpolation import value_at
from fedbounds.evidence.sdp.solver import conic
from fedbounds.evidence.sdp.symmetry import triangles

# (x, A, b, S, s, m, margin), as `FreeMultipliers` has them.
Point = tuple[Any, ...]
# A margin below a solver's accuracy is none; at points without one nothing is asked.
MARGIN = 1e-8
# What is left of the largest margins that the points allow must be more than nothing.
SHARE = 1e-6
# Denominators of the coefficients, the simple first.
DENOMINATORS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 40, 48, 120, 240, 5040, 10**6, 2**40)
# Points at either end that a first attempt leaves out: solvers do not manage all.
ENDS = 2
# Over an interval with an end, degrees beyond that of the denominator.
FURTHER = 2


@dataclass(frozen=True)
class FreeMultipliers:
    """Multipliers of ``count`` constraints with the ``system`` {pivot: row}, all others ``free``.

    ``points`` has (x, A, b, S, s, m, margin): A c + b >= 0 for multipliers c that are free, and s - S c a triangle
    of a semidefinite matrix of m rows.
    """

    over: Interval | None
    count: int
    free: Sequence[int]
    system: Mapping[int, Sequence[Any]]
    points: list[Point] = field(default_factory=list)

    def add(self, x: Fraction | None, sample: Sample, support: Sequence[int], kernel: Array) -> None:
        """What holds at a point."""
        vectors = np.array([[float(value_at(value, x)) for value in row] for row in kernel]).reshape(kernel.shape)
        rest = np.linalg.qr(vectors.T, mode="complete")[0][:, len(kernel) :]
        A, b = np.zeros((self.count, len(self.free))), np.zeros(self.count)
        A[self.free] = np.eye(len(self.free))
        for pivot, row in self.system.items():
            b[pivot] = float(value_at(row[-1], x))
            A[pivot] = [-float(value_at(row[j], x)) for j in self.free]
        A, b = A / sample.scale[support][:, None], b / sample.scale[support]
        m, quad = rest.shape[1], rest.T @ sample.quad[support] @ rest
        S = triangles(np.tensordot(A.T, quad, axes=1), (m,)).T if m else np.zeros((0, len(self.free)))
        s = triangles(rest.T @ sample.target.quad @ rest - np.tensordot(b, quad, axes=1), (m,)) if m else np.zeros(0)
        there = x, A, b, S, s, m
        found = _widest([(*there, 1.0)], [np.eye(len(self.free))])
        if found is not None and found[-1] > MARGIN:
            self.points.append((*there, found[-1]))

    def choices(self, gap: Expression) -> Iterator[list[Any]]:
        """Values of all multipliers, of low degree first; those of ``gap`` say which denominators they may have."""
        whole = fmpq_poly([1])
        for value in gap.terms.values():
            whole *= value.den // whole.gcd(value.den) if isinstance(value, Function) else 1
        further = 0 if self.over is None or self.over.high is None else FURTHER
        dens = {str(den): den for den in (fmpq_poly([1]), whole)}.values()
        pairs = [(den, degree) for den in dens for degree in range(den.degree() + further + 1)]
        for den, degree in sorted(pairs, key=lambda pair: pair[0].degree() + pair[1]):
            for points, divided in product((self.points[ENDS:-ENDS], self.points), (False, True)):
                found = self._fitted(points, den, degree, divided) if points else None
                if found is None or found[-1] < SHARE:
                    continue
                for denominator in DENOMINATORS:
                    rounded = [exact(Fraction(round(v * denominator), denominator)) for v in found[:-1]]
                    parts = [rounded[k : k + degree + 1] for k in range(0, len(rounded), degree + 1)]
                    over = self.over
                    values = [part[0] if over is None else Function(fmpq_poly(part), den, over) for part in parts]
                    yield self._all(dict(zip(self.free, values, strict=True)))

    def _fitted(self, points: Sequence[Point], den: Any, degree: int, divided: bool) -> Array | None:
        """The coefficients of every numerator, and the share of the margins that they keep."""
        powers, unit, bases = np.arange(degree + 1), np.eye(len(self.free)), []
        for x, *_ in points:
            place = Fraction(0) if x is None else x
            bases.append(np.kron(unit, float(place) ** powers / float(value_at(den(exact(place)), None))))
        return _widest(points, bases, divided)

    def _all(self, values: dict[int, Any]) -> list[Any]:
        for pivot, row in self.system.items():
            total = row[-1]
            for j in self.free:
                total = total if row[j] == 0 or values[j] == 0 else total - row[j] * values[j]
            values[pivot] = total
        return [values[j] for j in range(self.count)]


def _widest(points: Sequence[Point], bases: Sequence[Array], divided: bool = False) -> Array | None:
    """(coefficients, t) for the largest t <= 1 of which, times each point's margin, all is at least.

    With rows as they are, or ``divided`` by the margin: solvers manage some of either.
    """
    above, bound, semidefinite, wanted, sizes = [], [], [], [], []
    for (_, A, b, S, s, m, margin), basis in zip(points, bases, strict=True):
        size, room = (margin, 1.0) if divided else (1.0, margin)
        above.append(np.column_stack([-A @ basis / size, np.full(len(A), room)]))
        bound.append(b / size)
        if m:
            semidefinite.append(np.column_stack([S @ basis / size, room * triangles(np.eye(m), (m,))]))
            wanted.append(s / size)
            sizes.append(m)
    one = np.eye(bases[0].shape[1] + 1)[-1]
    lines = np.concatenate([*above, one[None]])
    cones = np.concatenate(semidefinite) if sizes else np.zeros((0, len(one)))
    scale = np.abs(np.concatenate([lines, cones])).max(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    scale[-1] = 1.0
    nothing = np.zeros((0, len(one))), np.zeros(0)
    above_all = lines / scale, np.concatenate([*bound, [1.0]])
    result = conic(-one, nothing, above_all, (cones / scale, np.concatenate([*wanted, []])), tuple(sizes))
    return None if result is None else np.asarray(result / scale)
