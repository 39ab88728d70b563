"""Rational functions from exact values at points, and linear systems over the field of such functions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from fedbounds.evidence.sdp.rational_functions import Function, Interval, fraction, rational

# Values that a function must meet beyond those that determine it.
SPARE = 2


def value_at(value: Any, x: Fraction | None) -> Fraction:
    """A function's value at a point; a number is its own."""
    if isinstance(value, Function):
        assert x is not None
        return value.at(x)
    return value if isinstance(value, Fraction) else fraction(value)


def through(points: Sequence[Fraction], values: Sequence[Any], over: Interval) -> Function | None:
    """The simplest rational function that takes these values at these points; None where none is simple.

    Simple is one of so low a degree that all but `SPARE` of the points determine it. It is found by Euclid's
    algorithm on the polynomial that interpolates (von zur Gathen and Gerhard, Modern Computer Algebra, section 5.7).
    """
    from flint import fmpq_poly

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


def eliminated(
    rows: Sequence[Sequence[Any]], order: Sequence[int], at: Fraction | None
) -> dict[int, list[Any]] | None:
    """{pivot: its row} of equations sum_j row_j x_j = row_-1 in reduced form, pivots taken in ``order``; None where
    they have no solution.

    Rows that depend on others at the point ``at`` are left out, so that a solution is still to be checked.
    """
    from flint import fmpq_mat

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


def solution(rows: Sequence[Sequence[Any]]) -> dict[int, Any] | None:
    """{pivot: value} of numbers' equations sum_j row_j x_j = row_-1 where all others are 0; None for no solution.

    Pivots are the first columns that span, so one of every unknown means that the solution is the only one.
    """
    from flint import fmpq_mat

    reduced, rank = fmpq_mat([list(row) for row in rows]).rref()
    result = {}
    for row in reduced.tolist()[:rank]:
        pivot = next(k for k, value in enumerate(row) if value != 0)
        if pivot == len(row) - 1:
            return None
        result[pivot] = row[-1]
    return result


def _less(row: Sequence[Any], times: Any, other: Sequence[Any]) -> list[Any]:
    """row - times * other."""
    if times == 0:
        return list(row)
    return [a if b == 0 else a - times * b for a, b in zip(row, other, strict=True)]
