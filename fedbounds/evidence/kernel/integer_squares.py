"""Fractions as the whole numbers that Rocq computes with, and a matrix as weighted squares of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbounds.evidence.sdp.verification import factored

Row = list[Fraction]
Square = tuple[Fraction, list[int]]
# Roots are rounded to this many bits below the largest entry; what they miss must be dominated by its diagonal.
ROOT_BITS = 60
# Eigenvalues below this part of the largest are the rounding of floats: such a matrix is taken apart exactly.
FLAT = 1e-12


ZERO = Fraction(0)


def squares(S: list[Row]) -> Iterator[Square]:
    """Weights w >= 0 and whole l with S = sum w l l^T: rounded roots and what they miss, else an exact LDL^T."""
    n = len(S)
    floats = np.array([[float(x) for x in row] for row in S])
    least, *_, largest = np.linalg.eigvalsh(floats) if n > 1 else (floats[0, 0], floats[0, 0])
    unit = Fraction(2) ** (ROOT_BITS - int(np.floor(np.log2(max(np.sqrt(floats.diagonal().max()), 1e-300)))))
    if least > FLAT * largest:
        upper = np.linalg.cholesky(floats - least / 2 * np.eye(n)).T
        roots = [[round(Fraction(float(x)) * unit) for x in row] for row in upper]
        missed = [
            [S[i][j] - sum((Fraction(r[i] * r[j]) for r in roots), Fraction(0)) / unit**2 for j in range(n)]
            for i in range(n)
        ]
        spare = [2 * missed[i][i] - sum(abs(x) for x in missed[i]) for i in range(n)]
        if min(spare) >= 0 and all(missed[i][i] >= 0 for i in range(n)):
            yield from ((1 / unit**2, root) for root in roots)
            yield from ((spare[i], _unit(n, (i, 1))) for i in range(n) if spare[i])
            for i in range(n):
                for j in range(i + 1, n):
                    if missed[i][j]:
                        yield abs(missed[i][j]), _unit(n, (i, 1), (j, 1 if missed[i][j] > 0 else -1))
            return
    for weight, column in factored(S) or ():
        by = scale(column)
        yield weight / by**2, [int(x * by) for x in column]


def summed(rest: NDArray[Any], claim: Fraction, rows: Sequence[Fraction]) -> tuple[str, str, str, str]:
    """The claim's factor, the constraints' multipliers, the squares' weights and their roots, as whole numbers.

    ``rest`` is what the squares must make; ``claim`` and ``rows`` weigh the claim and its constraints.
    """
    parts = list(squares([[fraction(x) for x in row] for row in rest.tolist()]))
    weights = [claim, *rows, *(weight for weight, _ in parts)]
    common = lcm(*(weight.denominator for weight in weights))
    factor, *whole = [int(weight * common) for weight in weights]
    roots = "; ".join(listed(root) for _, root in parts)
    return numeral(factor), listed(whole[: len(rows)]), listed(whole[len(rows) :]), f"[{roots}]"


def _unit(n: int, *entries: tuple[int, int]) -> list[int]:
    row = [0] * n
    for i, value in entries:
        row[i] = value
    return row


def fraction(x: object) -> Fraction:
    """A number of either arithmetic as a fraction."""
    return Fraction(int(x.p), int(x.q)) if x else ZERO  # type: ignore[attr-defined]


def row(values: Sequence[object]) -> str:
    """Numbers as Rocq reads a row: times the least that makes them whole."""
    return listed(whole([fraction(x) for x in values]))


def share(values: Sequence[object]) -> Fraction:
    """What makes a row of them whole, as what it must be divided by."""
    return Fraction(1) / scale([fraction(x) for x in values])


def scale(row: Sequence[Fraction]) -> int:
    return lcm(*(x.denominator for x in row))


def whole(row: Row) -> list[int]:
    return [int(x * scale(row)) for x in row]


def listed(numbers: Sequence[int]) -> str:
    return "[" + "; ".join(map(numeral, numbers)) + "]"


def numeral(number: int) -> str:
    """Hexadecimal where it is long: Rocq reads it five times faster."""
    text = str(number) if abs(number) < 10**6 else f"{number:#x}"
    return text if number >= 0 else f"({text})"
