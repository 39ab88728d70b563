"""The exact check of a proof in a programme: a linear identity and an elimination over the rationals.

Multipliers lambda_j, >= 0 but for equalities, prove that an expression is >= 0 on the class if the expression less
sum_j lambda_j constraint_j has no values left and is <S, gram> with S positive semidefinite. No solver, no rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from fedbounds.evidence.sdp.program import Expression, Program, exact
from fedbounds.evidence.sdp.rational_functions import fraction

# A positive definite matrix, scaled to a unit diagonal, less one of these has a Cholesky factor in floating point
# whose square differs from it by less: the rounding is about 1e-15 a row.
CLEARANCE = (1e-6, 1e-8, 1e-10, 1e-12)
# Bits of that factor's entries, as fractions.
BITS = 60


def verify(
    program: Program,
    gap: Expression,
    multipliers: Mapping[str, Any],
    positive: Callable[[list[list[Any]]], bool] | None = None,
) -> tuple[bool, str]:
    """Whether multipliers prove gap >= 0 on the class, and the first reason why not.

    Each block of the remainder must be ``positive``: by default semidefinite, by `is_psd`.
    """
    place = {label: j for j, label in enumerate(program.labels)}
    rows = [program.constraints[place[label]].expression for label in multipliers]
    for label, value in multipliers.items():
        if value < 0 and program.constraints[place[label]].kind != "equality":
            return False, f"the multiplier of {label} is negative"
    rest = gap - Expression.mean(map(exact, multipliers.values()), rows)
    if any(len(key) == 1 for key in rest.terms):
        return False, "the function values do not cancel"
    S = program.form(rest).quad
    for block in program.blocks:
        if not (positive or is_psd)([[S[i, j] for j in block] for i in block]):
            return False, "the remainder is not positive semidefinite"
    return True, "verified"


def is_psd(S: list[list[Any]]) -> bool:
    """Whether a symmetric rational matrix is positive semidefinite."""
    return factored(S) is not None


def factored(S: list[list[Any]]) -> list[tuple[Any, list[Any]]] | None:
    """(d, l) with S = sum d l l^T and d > 0, by LDL^T, of a symmetric rational matrix (n, n); each l is (n,).

    None where S is not positive semidefinite: a pivot is negative, or it is 0 and its column is not.
    """
    n, S = len(S), [list(row) for row in S]
    result = []
    for k in range(n):
        pivot = S[k][k]
        if pivot < 0 or (pivot == 0 and any(S[i][k] != 0 for i in range(k + 1, n))):
            return None
        if pivot == 0:
            continue
        column = [0 * pivot] * k + [S[i][k] / pivot for i in range(k, n)]
        result.append((pivot, column))
        for i in range(k + 1, n):
            for j in range(k + 1, i + 1):
                S[i][j] = S[i][j] - column[i] * S[j][k]
    return result


def is_definite(S: list[list[Any]]) -> bool:
    """Whether a rational matrix is seen to be positive definite: what a float factor leaves of it is dominated.

    A factor in floating point of S less a little is squared exactly, and the rest has diagonals that outweigh their
    rows; fractions never grow, as in an exact elimination they do.
    """
    from flint import fmpq_mat, fmpz_mat

    n = len(S)
    if any(S[i][i] <= 0 for i in range(n)):
        return False
    scale = [Fraction(2) ** (-round(math.log2(float(fraction(S[i][i]))) / 2)) for i in range(n)]
    scaled = [[S[i][j] * exact(scale[i] * scale[j]) for j in range(n)] for i in range(n)]
    floats = np.array([[float(fraction(v)) for v in row] for row in scaled])
    for clear in CLEARANCE:
        try:
            factor = np.linalg.cholesky(floats - clear * np.eye(n))
        except np.linalg.LinAlgError:
            continue
        whole = fmpz_mat([[round(Fraction(float(v)) * 2**BITS) for v in row] for row in factor])
        unit: Any = exact(Fraction(1, 4**BITS))
        rest = fmpq_mat(scaled) - fmpq_mat(whole * whole.transpose()) * unit
        return all(2 * rest[i, i] >= sum(abs(rest[i, j]) for j in range(n)) for i in range(n))
    return False
