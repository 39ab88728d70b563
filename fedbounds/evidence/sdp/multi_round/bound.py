"""A proved bound on R rounds, and its check in exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from fedbounds.evidence.sdp import verification
from fedbounds.evidence.sdp.multi_round.client_program import of_clients
from fedbounds.evidence.sdp.multi_round.program import Run, program_of
from fedbounds.evidence.sdp.program import exact

# A positive definite matrix, scaled to a unit diagonal, less one of these has a Cholesky factor in floating point
# whose square differs from it by less: the rounding is about 1e-15 a row.
CLEARANCE = (1e-6, 1e-8, 1e-10, 1e-12)
# Bits of that factor's entries, as fractions.
BITS = 60


@dataclass(frozen=True)
class Bound:
    """What a run measures is at most a Delta_0 + b zeta_*^2 (+ noise): proved by ``multipliers`` where ``certified``.

    Where the run is biased it is a Delta_0 + b sum_i alpha_i ||s_i||^2 + (bias - b) ||mean of s||^2 (`Run.spread`).
    ``value`` is that at the Delta_0 and zeta_*^2 asked for, rounded up, ``gap`` how far the solver was from the
    smallest such value (None: not known). ``exact``: a closed form, without multipliers. ``attained``: by some
    clients with these weights, up to inequalities that were left out. ``every_client``: proved in `of_clients`.
    """

    run: Run
    a: Fraction
    b: Fraction
    value: float
    gap: float | None
    certified: bool
    multipliers: Mapping[str, Fraction] = field(default_factory=dict, repr=False)
    exact: bool = False
    attained: bool = False
    bias: Fraction = Fraction(0)
    every_client: bool = False

    @property
    def proved(self) -> bool:
        """Whether multipliers or a closed form prove it; else it is the solver's number."""
        return self.certified or self.exact


def verify(bound: Bound) -> bool:
    """Whether the multipliers prove a ||w_0||^2 + b V + bias ||mean of s||^2 - what is measured >= 0, exactly.

    V is the weighted variance of the s_i, which is zeta_*^2 where the run is not biased.
    """
    program = of_clients(bound.run) if bound.every_client else program_of(bound.run)
    gap = program.sum({"Delta_0": bound.a, "variance": bound.b, "bias": bound.bias}) - program["measured"]
    positive = verification.is_psd if bound.every_client else is_definite
    labelled = bound.multipliers.keys() <= set(program.labels)
    return labelled and verification.verify(program, gap, bound.multipliers, positive)[0]


def above(value: Fraction) -> float:
    """The least float that is not below a fraction: the nearest one may be."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def is_definite(S: list[list[Any]]) -> bool:
    """Whether a rational matrix is seen to be positive definite: what a float factor leaves of it is dominated.

    A factor in floating point of S less a little is squared exactly, and the rest has diagonals that outweigh their
    rows; fractions never grow, as in an exact elimination they do.
    """
    from flint import fmpq_mat, fmpz_mat

    n = len(S)
    if any(S[i][i] <= 0 for i in range(n)):
        return False
    scale = [Fraction(2) ** (-round(math.log2(float(S[i][i].p) / float(S[i][i].q)) / 2)) for i in range(n)]
    scaled = [[S[i][j] * exact(scale[i] * scale[j]) for j in range(n)] for i in range(n)]
    floats = np.array([[float(v.p) / float(v.q) for v in row] for row in scaled])
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
