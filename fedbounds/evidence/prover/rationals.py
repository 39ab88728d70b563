"""Exact numbers of certificates: quotients not negative on sight, ranges, repaired solutions, sums of squares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp
from flint import fmpq
from numpy.typing import NDArray

from fedbounds.evidence.sdp.functions_on_interval import fraction, rational
from fedbounds.evidence.sdp.rounding import echelon
from fedbounds.evidence.sdp.symmetry import corners

# A form that is not positive term by term is multiplied by the letters' sum up to this often (Polya).
RAISED = 3
# Values of letters at which a number is tried before it is taken apart.
SAMPLES = ("1/50", "1", "2", "20")


@dataclass(frozen=True)
class Letters:
    """``values`` puts what a number is made of in letters; ``unit`` is what equals 1, of degree 1 in ``simplex``."""

    values: Mapping[sp.Basic, sp.Expr]
    simplex: tuple[sp.Expr, ...] = ()
    unit: sp.Expr = sp.S.One
    names: Mapping[sp.Symbol, sp.Expr] | None = None

    def positive(self, number: sp.Expr) -> sp.Expr | None:
        """The number in letters, non-negative on sight; None if not found.

        All terms of its numerator and denominator are, or a square (1 - x)^2 is taken off first, x a sum of letters.
        """
        if self._negative_somewhere(sp.sympify(number)):
            return None
        form = self._quotient(sp.sympify(number))
        for k in range(1, len(self.simplex)) if form is None else ():
            square = (1 - self._named(sp.Add(*self.simplex[:k]))) ** 2
            rest = self._quotient(sp.sympify(number) - square)
            if rest is not None:
                return square + rest
        return form

    def _in_letters(self, number: sp.Expr) -> sp.Expr:
        for _ in self.values:
            number = number.xreplace(dict(self.values))
        return number

    def _negative_somewhere(self, number: sp.Expr) -> bool:
        """Whether it is negative at values of the letters, where no form of it is positive on sight."""
        number = self._in_letters(number)
        free = sorted(number.free_symbols | self.unit.free_symbols, key=str)
        for first in SAMPLES:
            put = {symbol: sp.Rational(first) + k % 3 for k, symbol in enumerate(free)}
            unit = self.unit.xreplace(put)
            put |= {letter: put[letter] / unit for letter in self.simplex if letter in put}
            if all(symbol.is_nonnegative for symbol in free) and number.xreplace(put).is_negative:
                return True
        return False

    def _quotient(self, number: sp.Expr) -> sp.Expr | None:
        number = self._in_letters(number)
        numerator, denominator = sp.fraction(sp.cancel(sp.together(number)))
        top, bottom = self._signed(numerator), self._signed(denominator)
        if top is None or bottom is None:
            top, bottom = self._signed(-numerator), self._signed(-denominator)
        if top is None or bottom is None or bottom == 0:
            return None
        return self._named(top) / self._named(bottom)

    def _signed(self, polynomial: sp.Expr) -> sp.Expr | None:
        """The polynomial with non-negative coefficients, its terms made of one degree in the simplex's letters."""
        polynomial = sp.expand(polynomial)
        if self.simplex and not polynomial.is_polynomial(*self.simplex):
            return None  # such as (1 - eta mu)^tau
        for power in range(RAISED if self.simplex else 1):
            form = self._homogeneous(polynomial, power)
            terms = sp.Add.make_args(form)
            if all(term.is_nonnegative for term in terms):
                return form
        return None

    def _homogeneous(self, polynomial: sp.Expr, power: int) -> sp.Expr:
        if not self.simplex:
            return polynomial
        poly = sp.Poly(polynomial, *self.simplex)
        top = max((sum(monomial) for monomial in poly.monoms()), default=0) + power
        raised = sp.Integer(0)
        for monomial, c in poly.terms():
            letters = sp.Mul(*(x**k for x, k in zip(self.simplex, monomial, strict=True)))
            raised += c * letters * self.unit ** (top - sum(monomial))
        return sp.expand(raised)

    def _named(self, form: sp.Expr) -> sp.Expr:
        return form.xreplace(dict(self.names)) if self.names else form


# Numbers with larger denominators need not be simple; those of a range are.
FINE, SPANNING = 1000, 64


def symmetric(triangle: NDArray[Any], size: int) -> NDArray[Any]:
    rows, columns, _ = corners((size,))
    result = np.zeros((size, size))
    result[rows, columns] = result[columns, rows] = triangle
    return result


def span_of(R: NDArray[Any], zero: float) -> list[list[fmpq]]:
    """A rational basis of the range of R, in reduced form."""
    size = len(R)
    if not zero:
        return [[fmpq(int(i == j)) for j in range(size)] for i in range(size)]
    eigenvalues, vectors = np.linalg.eigh(R)
    span = vectors[:, eigenvalues > zero]
    return [[rational(v) for v in row] for row in zip(*echelon(span, SPANNING), strict=True)] if span.shape[1] else []


def squares(factors: list[tuple[fmpq, list[fmpq]]], span: list[list[fmpq]]) -> list[tuple[Fraction, list[Fraction]]]:
    """V^T S V as a sum of weight (coefficients . vectors)^2, of the factors of S and the rows of V."""
    places = range(len(span[0]) if span else 0)
    return [
        (
            fraction(weight),
            [fraction(sum((x * row[k] for x, row in zip(column, span, strict=True)), fmpq(0))) for k in places],
        )
        for weight, column in factors
    ]


def rounded_value(value: float, denominator: int) -> fmpq:
    """The nearest simple fraction, or, where it need not be simple, a multiple of a power of two."""
    if denominator > FINE:
        return fmpq(round(value * denominator), denominator)
    return fmpq(*Fraction(value).limit_denominator(denominator).as_integer_ratio())
