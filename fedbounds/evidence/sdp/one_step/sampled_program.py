"""A one-round programme at points, scaled to size 1: its proofs with few constraints, and the kernel of their S.

The kernel is found in floats, refined to a hundred digits, and rounded to fractions. Multipliers that a linear system
leaves free become functions of low degree that keep a margin at many points.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, arb_mat, fmpq_mat, fmpq_poly
from numpy.typing import NDArray

from fedbounds.evidence.ball_arithmetic import in_bits
from fedbounds.evidence.sdp.functions_on_interval import Function, Interval, fraction, rational, value_at
from fedbounds.evidence.sdp.one_step.program import Model
from fedbounds.evidence.sdp.program import Expression, Form, exact
from fedbounds.evidence.sdp.rounding import echelon
from fedbounds.evidence.sdp.solver import conic
from fedbounds.evidence.sdp.symmetry import exchange, triangles

Array = NDArray[Any]
# Eigenvalues of a remainder below these, times the largest or LEAST, are taken for 0; a wrong guess has no kernel.
ZEROS, LEAST = (1e-5, 1e-4, 1e-6, 1e-3), 1e-3
# Denominators of a kernel's entries that a solver's digits tell.
DENOMINATORS = (10**4, 10**3, 100)
# Bits of the refinement, the most steps of it, the error with which it ends, the square of a change that counts as
# none, and the largest denominator of a kernel's entry.
BITS, STEPS, DONE, NOTHING, LARGEST = 700, 14, arb("1e-45"), arb("1e-140"), 2**70


@dataclass(frozen=True)
class Sample:
    """One row (k) for all constraints that exchanges of clients make equal; ``target`` is what they are to prove.

    A constraint's multiplier is its row's times ``scale`` (k,); ``packed`` are the blocks of an unchanged S.
    """

    quad: Array
    lin: Array
    target: Form
    scale: Array
    packed: tuple[Array, Array, Array]
    sizes: tuple[int, ...]

    @staticmethod
    def of(model: Model, gap: Expression) -> Sample:
        """The sample of a programme in which ``gap`` >= 0 is to be proved."""
        cut, (whole, values) = exchange(model, gap), model.form(gap)
        quad, lin = map(np.stack, zip(*map(model.form, cut.sums(model)), strict=True))
        size = np.maximum(np.abs(quad).max(axis=(1, 2)), np.abs(lin).max(axis=1, initial=0))
        size[size == 0] = 1.0  # a row in which all cancels
        top = max(np.abs(whole).max(), np.abs(values).max(initial=0)) or 1.0
        quad, lin, target = quad / size[:, None, None], lin / size[:, None], Form(whole / top, values / top)
        packed = cut.packed(quad), cut.packed(target.quad), cut.packed(np.eye(len(whole)))
        return Sample(quad, lin, target, top / size, packed, cut.sizes)

    def smallest(self, support: Sequence[int], cost: float = 0.0) -> tuple[float, Array]:
        """(y, the rows' multipliers) of a proof of the target plus y times the unit matrix, for the smallest y."""
        k, (rows, target, unit) = len(support), self.packed
        equal = np.column_stack([self.lin[support].T, np.zeros(self.lin.shape[1])]), self.target.lin
        above = -np.eye(k + 1), np.zeros(k + 1)
        semidefinite = np.column_stack([rows[support].T, -unit]), target
        result = conic(np.array([cost] * k + [1.0]), equal, above, semidefinite, self.sizes)
        return (float("inf"), np.zeros(k)) if result is None else (float(result[-1]), result[:-1])

    def remainder(self, support: Sequence[int], values: Array) -> Array:
        """S, what the multipliers leave of the target."""
        return np.asarray(self.target.quad - np.tensordot(values, self.quad[support], axes=1))

    def kernels(self, support: Sequence[int], forms: Sequence[Form], values: Array) -> Iterator[Array]:
        """Vectors (r, n) on which S vanishes, in reduced form, the largest r first.

        ``forms`` are the constraints' and the target's in fractions, ``values`` a solver's multipliers.
        """
        eigenvalues, flat = np.linalg.eigh(self.remainder(support, values))
        n, least = len(eigenvalues), max(eigenvalues[-1], LEAST)
        for count in sorted({int((eigenvalues < zero * least).sum()) for zero in ZEROS}, reverse=True):
            if count in (0, n):
                yield reduced(np.eye(n, dtype=int)[:count].tolist(), n)
                continue
            for denominator in DENOMINATORS:
                yield reduced(list(map(list, zip(*echelon(flat[:, :count], denominator), strict=True))), n)
            if (rows := _digits(forms, values * self.scale[support], flat[:, :count])) is not None:
                yield reduced(rows, n)


def _digits(forms: Sequence[Form], values: Array, kernel: Array) -> list[list[Any]] | None:
    """The rows of a kernel in fractions, from multipliers and the kernel in floats; None where no steps end there.

    With S = [[A, B], [B^T, C]] the kernel has rows [-(A^-1 B)^T, 1] where C = B^T A^-1 B, which Newton's method
    solves; where that has a double root its steps do not end.
    """
    from scipy.linalg import qr

    count = kernel.shape[1]
    order = np.roll(qr(kernel.T, pivoting=True, mode="r")[1], -count)
    with in_bits(BITS):
        programme = [(arb_mat(form.quad[np.ix_(order, order)].tolist()), arb_mat([list(form.lin)])) for form in forms]
        there = [arb(float(value)) for value in values]
        with contextlib.suppress(ZeroDivisionError):
            for _ in range(STEPS):
                before, (there, _) = there, _newton(programme, there, count)
                if all(abs(a - b) < DONE for a, b in zip(there, before, strict=True)):
                    rows = _newton(programme, there, count)[1]
                    entries = np.array([[_fraction(value) for value in row] for row in rows.tolist()], dtype=object)
                    return [list(row) for row in entries[:, np.argsort(order)]]
    return None


def _newton(programme: Sequence[tuple[Any, Any]], values: list[arb], count: int) -> tuple[list[arb], Any]:
    """(the next multipliers, rows of the kernel before) of a step, by least squares."""
    *constraints, (S, lin) = programme
    for value, (quad, row) in zip(values, constraints, strict=True):
        S, lin = S - quad * value, lin - row * value
    rest, entries, unit = S.nrows() - count, S.tolist(), np.eye(count, dtype=int).tolist()
    block, beside = (arb_mat([row[part] for row in entries[:rest]]) for part in (slice(rest), slice(rest, None)))
    solution = block.solve(beside).transpose().tolist()
    rows = arb_mat([[*(-value for value in row), *unit_row] for row, unit_row in zip(solution, unit, strict=True)])
    missing = arb_mat([[*lin.entries(), *(rows * S * rows.transpose()).entries()]])
    effect = arb_mat([[*row.entries(), *(rows * quad * rows.transpose()).entries()] for quad, row in constraints])
    least = arb_mat([[NOTHING * int(i == j) for i in range(len(values))] for j in range(len(values))])
    change = (effect * effect.transpose() + least).solve(effect * missing.transpose()).entries()
    return [(value + more).mid() for value, more in zip(values, change, strict=True)], rows


def _fraction(value: arb) -> Fraction:
    return fraction(value.mid().fmpq()).limit_denominator(LARGEST)


def reduced(rows: list[list[Any]], n: int) -> Array:
    """The rows of a rational matrix with n columns in reduced form."""
    matrix = [[exact(value) for value in row] for row in rows]
    return np.array(fmpq_mat(matrix).rref()[0].tolist() if rows else [], dtype=object).reshape(-1, n)


# (x, A, b, S, s, m, margin), as `FreeMultipliers` has them.
Point = tuple[Any, ...]
# A margin below a solver's accuracy is none; at points without one nothing is asked.
MARGIN = 1e-8
# What is left of the largest margins that the points allow must be more than nothing.
SHARE = 1e-6
# Denominators of the coefficients, the simple first.
OF_COEFFICIENTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 40, 48, 120, 240, 5040, 10**6, 2**40)
# Values that a function must meet beyond those that determine it.
SPARE = 2
# Points at either end that are left out: solvers do not manage all.
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
        widest = _widest([(*there, 1.0)], [np.eye(len(self.free))])
        if widest is not None and widest[-1] > MARGIN:
            self.points.append((*there, widest[-1]))

    def choices(self, gap: Expression) -> Iterator[list[Any]]:
        """Values of all multipliers, of low degree first; those of ``gap`` say which denominators they may have."""
        whole = fmpq_poly([1])
        for value in gap.terms.values():
            whole *= value.den // whole.gcd(value.den) if isinstance(value, Function) else 1
        further = 0 if self.over is None or self.over.high is None else FURTHER
        dens = {str(den): den for den in (fmpq_poly([1]), whole)}.values()
        pairs = [(den, degree) for den in dens for degree in range(den.degree() + further + 1)]
        for den, degree in sorted(pairs, key=lambda pair: pair[0].degree() + pair[1]):
            fit = self._fitted(den, degree)
            if fit is None or fit[-1] < SHARE:
                continue
            for denominator in OF_COEFFICIENTS:
                rounded = [exact(Fraction(round(v * denominator), denominator)) for v in fit[:-1]]
                parts = [rounded[k : k + degree + 1] for k in range(0, len(rounded), degree + 1)]
                over = self.over
                values = [part[0] if over is None else Function(fmpq_poly(part), den, over) for part in parts]
                yield self._all(dict(zip(self.free, values, strict=True)))

    def _fitted(self, den: Any, degree: int) -> Array | None:
        """The coefficients of every numerator, and the share of the margins that they keep."""
        points = self.points[ENDS:-ENDS] or self.points
        powers, unit, bases = np.arange(degree + 1), np.eye(len(self.free)), []
        for x, *_ in points:
            place = Fraction(0) if x is None else x
            bases.append(np.kron(unit, float(place) ** powers / float(value_at(den(exact(place)), None))))
        return _widest(points, bases) if points else None

    def _all(self, values: dict[int, Any]) -> list[Any]:
        for pivot, row in self.system.items():
            total = row[-1]
            for j in self.free:
                total = total if row[j] == 0 or values[j] == 0 else total - row[j] * values[j]
            values[pivot] = total
        return [values[j] for j in range(self.count)]


def _widest(points: Sequence[Point], bases: Sequence[Array]) -> Array | None:
    """(coefficients, t) for the largest t <= 1 of which, times each point's margin, all is at least."""
    above, bound, semidefinite, wanted, sizes = [], [], [], [], []
    for (_, A, b, S, s, m, margin), basis in zip(points, bases, strict=True):
        above.append(np.column_stack([-A @ basis, np.full(len(A), margin)]))
        bound.append(b)
        if m:
            semidefinite.append(np.column_stack([S @ basis, margin * triangles(np.eye(m), (m,))]))
            wanted.append(s)
            sizes.append(m)
    last = np.eye(bases[0].shape[1] + 1)[-1]
    lines = np.concatenate([*above, last[None]])
    cones = np.concatenate(semidefinite) if sizes else np.zeros((0, len(last)))
    scale = np.abs(np.concatenate([lines, cones])).max(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    scale[-1] = 1.0
    nothing = np.zeros((0, len(last))), np.zeros(0)
    above_all = lines / scale, np.concatenate([*bound, [1.0]])
    result = conic(-last, nothing, above_all, (cones / scale, np.concatenate([*wanted, []])), tuple(sizes))
    return None if result is None else np.asarray(result / scale)


def through(points: Sequence[Fraction], values: Sequence[Any], over: Interval) -> Function | None:
    """The simplest rational function that takes these values at these points; None where none is simple.

    Simple is one of so low a degree that all but `SPARE` of the points determine it. It is found by Euclid's
    algorithm on the polynomial that interpolates (von zur Gathen and Gerhard, Modern Computer Algebra, section 5.7).
    """
    x: Any = fmpq_poly([0, 1])
    nodal, inner = x * 0 + 1, x * 0
    arguments = list(map(rational, points))
    for place, value in zip(arguments, values, strict=True):
        inner += nodal * ((value - inner(place)) / nodal(place))
        nodal *= x - place
    above, num, before, den = nodal, inner, x * 0, x * 0 + 1
    best = num, den
    while num != 0:
        quotient = above // num
        above, num, before, den = num, above - quotient * num, den, before - quotient * den
        best = min(best, (num, den), key=_degree)
    if _degree(best) + 1 + SPARE > len(arguments) or any(best[1](place) == 0 for place in arguments):
        return None
    return Function(*best, over)


def _degree(pair: tuple[Any, Any]) -> int:
    return sum(max(item.degree(), 0) for item in pair)
