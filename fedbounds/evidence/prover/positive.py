"""Numbers not negative on sight: quotients in non-negative letters with non-negative coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sympy as sp

# A form that is not positive term by term is multiplied by the letters' sum up to this often (Polya).
RAISED = 3


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
        form = self._quotient(sp.sympify(number))
        for k in range(1, len(self.simplex)) if form is None else ():
            square = (1 - self._named(sp.Add(*self.simplex[:k]))) ** 2
            rest = self._quotient(sp.sympify(number) - square)
            if rest is not None:
                return square + rest
        return form

    def _quotient(self, number: sp.Expr) -> sp.Expr | None:
        for _ in self.values:
            number = number.xreplace(dict(self.values))
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
