"""The exact check of a proof in a programme: a linear identity and an elimination over the rationals.

Multipliers lambda_j, >= 0 but for equalities, prove that an expression is >= 0 on the class if the expression less
sum_j lambda_j constraint_j has no values left and is <S, gram> with S positive semidefinite. No solver, no rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fedbounds.evidence.sdp.program import Expression, Program, exact


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
