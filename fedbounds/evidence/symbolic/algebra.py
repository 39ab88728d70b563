"""Formal vectors, inner products and weighted means over clients, exact and symbolic in their number.

A vector is a sympy expression linear in ``Vec`` and ``Centre`` atoms; an inner product is ``Inner(u, v)``;
``Mean(weights, x)`` is sum_i weights_i x(i) and ``Centre(weights, v)`` the vector sum_i weights_i v(i), with
weights that sum to 1. ``normal`` brings an expression to a form in which equal expressions are identical.
Scalars that contain vectors stand for expectations given the past; ``Noise`` has mean zero given the past.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy as sp


class _Real(sp.Function):
    """An uninterpreted real quantity."""

    def _eval_is_real(self) -> bool:
        return True

    def _eval_is_finite(self) -> bool:
        return True

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        body = printer._print(self.args[0])
        return rf"\left({body}\right)^{{{exp}}}" if exp else body

    def _sympystr(self, printer: Any) -> str:
        name = printer._print(self.args[0])
        return name if len(self.args) == 1 else f"{name}[{', '.join(map(printer._print, self.args[1:]))}]"


class Vec(_Real):
    """A vector: ``Vec(name)``, or one a client ``Vec(name, i)``, or one a client and step ``Vec(name, i, s)``."""


class Noise(Vec):
    """A random vector of mean zero given everything that is not noise."""


class Value(_Real):
    """A scalar a client (and step), such as F_i(w_t)."""


class Slack(Value):
    """A non-negative scalar a client (or step): the slack of a condition that holds for each."""

    def _eval_is_nonnegative(self) -> bool:
        return True


class Positive(Value):
    """A positive scalar a client (or step), such as a step size eta_s."""

    def _eval_is_positive(self) -> bool:
        return True


class Weights(sp.Function):
    """Non-negative weights that sum to 1 over an index: ``Weights(name, i)``."""

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        return printer._print(self.args[0])

    def _sympystr(self, printer: Any) -> str:
        return printer._print(self.args[0])


class Inner(_Real):
    """The inner product of two vectors; of a vector with itself, its squared norm."""

    @classmethod
    def eval(cls, left: sp.Expr, right: sp.Expr) -> sp.Expr | None:
        if left == 0 or right == 0:
            return sp.Integer(0)
        if sp.default_sort_key(left) > sp.default_sort_key(right):
            return cls(right, left)
        return None

    def _eval_is_nonnegative(self) -> bool | None:
        return True if self.args[0] == self.args[1] else None

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        left, right = (printer._print(argument) for argument in self.args)
        if left == right:
            return rf"\left\Vert {left}\right\Vert^2"
        return rf"\left\langle {left},\, {right}\right\rangle"

    def _sympystr(self, printer: Any) -> str:
        left, right = (printer._print(argument) for argument in self.args)
        return f"||{left}||^2" if left == right else f"<{left}, {right}>"


class _Averaged(_Real):
    """Weights, then what is averaged."""

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        weights, inside = (printer._print(argument) for argument in self.args)
        body = rf"{weights} \left({inside}\right)" if self.args[1].is_Add else f"{weights} {inside}"
        return rf"\left({body}\right)^{{{exp}}}" if exp else body

    def _sympystr(self, printer: Any) -> str:
        weights, inside = (printer._print(argument) for argument in self.args)
        return f"sum_{self.args[0].args[1]} {weights} ({inside})"


class Mean(_Averaged):
    """The weighted mean of a scalar."""

    def _eval_derivative(self, symbol: sp.Symbol) -> sp.Expr:
        return Mean(self.args[0], sp.diff(self.args[1], symbol))


class Centre(_Averaged):
    """The weighted mean of a vector."""


def spread(expression: sp.Expr) -> sp.Expr:
    """The expression with products of sums multiplied out, denominators left as they are.

    Denominators that are multiplied out no longer share visible factors, and the fractions blow up.
    """
    names: dict[sp.Expr, sp.Symbol] = {}

    def is_quotient(e: sp.Basic) -> bool:
        return bool(isinstance(e, sp.Pow) and e.base.is_Add and e.exp.is_Integer and e.exp < 0)

    def name(e: sp.Pow) -> sp.Expr:
        return names.setdefault(e.base, sp.Dummy()) ** (-e.exp)

    masked = sp.expand(expression.replace(is_quotient, name))
    for base, symbol in reversed(names.items()):
        masked = masked.xreplace({symbol: 1 / base})
    return masked


def norm_sq(vector: sp.Expr) -> sp.Expr:
    """||v||^2."""
    return Inner(vector, vector)


def depends(expression: sp.Basic, index: sp.Symbol) -> bool:
    """Whether an expression varies with an index that no mean in it has summed over."""
    if expression == index:
        return True
    if isinstance(expression, Mean | Centre) and expression.args[0].args[1] == index:
        return False
    return any(depends(argument, index) for argument in expression.args)


def is_noise(atom: sp.Expr) -> bool:
    """Whether a vector atom is noise, or a mean of noise."""
    if isinstance(atom, Centre):
        return all(is_noise(vector) for _, vector in _vector_terms(atom.args[1]))
    return isinstance(atom, Noise)


def _vector_terms(vector: sp.Expr) -> list[tuple[sp.Expr, sp.Expr]]:
    """A linear expression in vectors as (scalar, vector atom) pairs."""
    terms = []
    for term in sp.Add.make_args(spread(vector)):
        if term == 0:
            continue
        atoms = [factor for factor in sp.Mul.make_args(term) if isinstance(factor, Vec | Centre)]
        if len(atoms) != 1:
            raise ValueError(f"{term} is not a scalar times one vector")
        terms.append((term / atoms[0], atoms[0]))
    return terms


def _inner(left: sp.Expr, right: sp.Expr) -> sp.Expr:
    total = sp.Integer(0)
    for a, u in _vector_terms(left):
        for b, v in _vector_terms(right):
            if is_noise(u) == is_noise(v):
                total += a * b * Inner(u, v)
    return spread(total)


def _split(term: sp.Expr, index: sp.Symbol) -> tuple[sp.Expr, sp.Expr]:
    """A product as (what does not vary with the index, what does)."""
    inside = [factor for factor in sp.Mul.make_args(term) if depends(factor, index)]
    varying = sp.Mul(*inside)
    return sp.cancel(term / varying) if inside else term, varying


def _centre(weights: sp.Expr, vector: sp.Expr) -> sp.Expr:
    index = weights.args[1]
    total = sp.Integer(0)
    for scalar, atom in _vector_terms(vector):
        outside, varying = _split(scalar * atom, index)
        if varying == 1:
            total += outside
        else:
            total += outside * Centre(weights, varying)
    return spread(total)


def _mean(weights: sp.Expr, scalar: sp.Expr) -> sp.Expr:
    index = weights.args[1]
    total = sp.Integer(0)
    for term in sp.Add.make_args(spread(scalar)):
        outside, varying = _split(term, index)
        total += outside * _mean_of(weights, varying, index)
    return spread(total)


def _mean_of(weights: sp.Expr, varying: sp.Expr, index: sp.Symbol) -> sp.Expr:
    """sum_i weights_i x(i) of one product, with <v(i), u> moved to <sum_i weights_i v(i), u>."""
    if varying == 1:
        return sp.Integer(1)
    for factor in sp.Mul.make_args(varying):
        if isinstance(factor, Inner):
            moving = [depends(argument, index) for argument in factor.args]
            if moving[0] != moving[1]:
                vector, fixed = factor.args if moving[0] else factor.args[::-1]
                return _inner(_centre(weights, varying / factor * vector), fixed)
    return Mean(weights, varying)


def normal(expression: sp.Basic, meaning: Mapping[sp.Basic, sp.Expr] | None = None) -> sp.Expr:
    """The expression with meanings put in, inner products expanded bilinearly and means linearly."""
    meaning = meaning or {}
    if expression in meaning:
        return normal(meaning[expression], meaning)
    if not expression.args or isinstance(expression, Weights):
        return expression
    arguments = [normal(argument, meaning) for argument in expression.args]
    if isinstance(expression, Vec | Value):
        return expression
    if isinstance(expression, Inner):
        return _inner(*arguments)
    if isinstance(expression, Mean):
        return _mean(*arguments)
    if isinstance(expression, Centre):
        return _centre(*arguments)
    return spread(expression.func(*arguments))


def is_zero(expression: sp.Expr, meaning: Mapping[sp.Basic, sp.Expr] | None = None) -> bool:
    """Whether an expression is identically zero, decided exactly on its normal form."""
    return normal_fraction(expression, meaning) == 0


def normal_fraction(expression: sp.Expr, meaning: Mapping[sp.Basic, sp.Expr] | None = None) -> sp.Expr:
    """The normal form over one denominator, cancelled."""
    form = normal(expression, meaning)
    if not form.is_polynomial(*form.atoms(sp.Symbol, sp.Function)):
        numerator, denominator = sp.fraction(sp.together(form))
        numerator = sp.expand(numerator)
        return numerator if numerator == 0 else sp.factor(numerator) / sp.factor(denominator)
    return form
