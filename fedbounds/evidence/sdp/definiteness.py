"""Whether a large rational matrix is positive definite, from a rounded factor and what it leaves."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from fedbounds.evidence.sdp.program import exact
from fedbounds.evidence.sdp.rational_functions import fraction

# A positive definite matrix, scaled to a unit diagonal, less one of these has a Cholesky factor in floating point
# whose square differs from it by less: the rounding is about 1e-15 a row.
CLEARANCE = (1e-6, 1e-8, 1e-10, 1e-12)
# Bits of that factor's entries, as fractions.
BITS = 60


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
