"""A performance-estimation programme, and the exact check of a proof in it.

Every quantity is <Q, gram> + q . values, where gram holds the inner products of the vectors and ``values`` the function
values. Multipliers lambda_j >= 0 prove that an expression is >= 0 on the class if the expression less
sum_j lambda_j constraint_j has no values left and is <S, gram> with S positive semidefinite. Checking is a linear
identity and an elimination over the rationals: no solver, no rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbounds.evidence.sdp.expressions import Arithmetic, Constraint, Expression, Symbol, Vector, exact

# A positive definite matrix, scaled to a unit diagonal, less one of these has a Cholesky factor in floating point
# whose square differs from it by less: the rounding is about 1e-15 a row.
CLEARANCE = (1e-6, 1e-8, 1e-10, 1e-12)
# Bits of that factor's entries, as fractions.
BITS = 60


@dataclass(frozen=True)
class Form:
    """<quad, gram> + lin . values in coordinates: quad (n, n) symmetric, lin (q,)."""

    quad: NDArray[Any]
    lin: NDArray[Any]

    def __add__(self, other: Form) -> Form:
        return Form(self.quad + other.quad, self.lin + other.lin)

    def __sub__(self, other: Form) -> Form:
        return Form(self.quad - other.quad, self.lin - other.lin)

    def __neg__(self) -> Form:
        return Form(-self.quad, -self.lin)


@dataclass(frozen=True)
class Program:
    """Constraints >= 0 of a class in ``vectors`` and ``values``, and named quantities, made when they are asked for.

    Where ``apart``, vectors of different letters have no inner products: the Gram matrix consists of blocks.
    """

    vectors: tuple[Symbol, ...]
    values: tuple[Symbol, ...]
    constraints: tuple[Constraint, ...] = field(repr=False)
    quantities: Mapping[str, Callable[[], Expression]] = field(repr=False)
    number: Arithmetic = field(repr=False)
    apart: bool = False

    @cached_property
    def basis(self) -> tuple[str, ...]:
        """The names of the vectors."""
        return tuple(map(str, self.vectors))

    @cached_property
    def scalars(self) -> tuple[str, ...]:
        """The names of the values."""
        return tuple(map(str, self.values))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The names of the constraints."""
        return tuple(one.label for one in self.constraints)

    @cached_property
    def _places(self) -> dict[Symbol, int]:
        return {one: k for symbols in (self.vectors, self.values) for k, one in enumerate(symbols)}

    @cached_property
    def quad(self) -> NDArray[Any]:
        """(m, n, n): those of the constraints."""
        return np.stack([form.quad for form in self._rows])

    @cached_property
    def lin(self) -> NDArray[Any]:
        """(m, q): those of the constraints."""
        return np.stack([form.lin for form in self._rows])

    @cached_property
    def _rows(self) -> list[Form]:
        return [self.form(one.expression) for one in self.constraints]

    @cached_property
    def forms(self) -> Mapping[str, Form]:
        """The quantities in coordinates."""
        return _Made(lambda name: self.form(self[name]))

    @property
    def blocks(self) -> list[list[int]]:
        """The places of each block's vectors."""
        letters = dict.fromkeys(one.letter for one in self.vectors) if self.apart else [""]
        return [[k for k, one in enumerate(self.vectors) if one.letter.startswith(letter)] for letter in letters]

    def __getitem__(self, name: str) -> Expression:
        return self.quantities[name]()

    def sum(self, coefficients: Mapping[str, Any]) -> Expression:
        """sum_k c_k quantity_k."""
        numbers = (self.number(c) if isinstance(c, Fraction) else c for c in coefficients.values())
        return Expression.mean(numbers, map(self.__getitem__, coefficients))

    def combine(self, coefficients: Mapping[str, Any]) -> Form:
        """The same in coordinates."""
        return self.form(self.sum(coefficients))

    def coordinates(self, vector: Vector) -> NDArray[Any]:
        """A vector in the basis, (n,)."""
        found = np.full(len(self.vectors), self.number(Fraction(0)))
        for symbol, value in vector.terms.items():
            found[self._places[symbol]] = value
        return found

    def form(self, expression: Expression) -> Form:
        """An expression in coordinates."""
        zero = self.number(Fraction(0))
        n, lin = len(self.vectors), np.full(len(self.values), zero)
        quad = np.full((n, n), zero)
        for key, value in expression.terms.items():
            if len(key) == 1:
                lin[self._places[key[0]]] = value
            else:
                i, j = (self._places[one] for one in key)
                quad[i, j] = quad[j, i] = value if i == j else value / 2
        return Form(quad, lin)


class _Made(dict[str, Form]):
    """Name -> form, made when it is first asked for: a solve needs few of them."""

    def __init__(self, make: Callable[[str], Form]) -> None:
        super().__init__()
        self.make = make

    def __missing__(self, name: str) -> Form:
        self[name] = self.make(name)
        return self[name]


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
        if value < 0:
            return False, f"the multiplier of {label} is negative"
    rest = gap - Expression.mean(map(exact, multipliers.values()), rows)
    if any(len(key) == 1 for key in rest.terms):
        return False, "the function values do not cancel"
    form = program.form(rest)
    for block in program.blocks:
        if not (positive or is_psd)(form.quad[np.ix_(block, block)].tolist()):
            return False, "the remainder is not positive semidefinite"
    return True, "verified"


def is_psd(S: list[list[Any]]) -> bool:
    """Whether a symmetric rational matrix is positive semidefinite, by LDL^T: a zero pivot needs a zero column."""
    S = [list(row) for row in S]
    for k in range(len(S)):
        pivot = S[k][k]
        if pivot < 0 or (pivot == 0 and any(S[i][k] != 0 for i in range(k + 1, len(S)))):
            return False
        for i in range(k + 1, len(S)) if pivot != 0 else ():
            factor = S[i][k] / pivot
            for j in range(k + 1, i + 1):
                S[i][j] = S[i][j] - factor * S[j][k]
    return True


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
