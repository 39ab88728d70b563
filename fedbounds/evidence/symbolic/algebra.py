"""Formal vectors, inner products and weighted means over clients, exact and symbolic in their number.

A vector is a sympy expression linear in ``Vec`` and ``Centre`` atoms; an inner product is ``Inner(u, v)``;
``Mean(weights, x)`` is sum_i weights_i x(i) and ``Centre(weights, v)`` the vector sum_i weights_i v(i), with
weights that sum to 1. ``normal`` brings an expression to a form in which equal expressions are identical.
Scalars that contain vectors stand for expectations given the past. Every vector is known from some moment on, and
noise has mean zero given all that was known when it was drawn: from that alone follows what it is orthogonal to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy as sp

from fedbounds.theory.symbols import NOTATION

# Moments from which a vector is known: the round's start, this step, the next one, and some unrelated time.
ROUND, NOW, NEXT, LATER = range(4)
KNOWN = {
    **dict.fromkeys(("w_star", "w_own", "w_0", "noise_0-drawn"), ROUND),
    **dict.fromkeys(("x", "w", "x_s", "g", "noise_0", "noise-drawn"), NOW),
    **dict.fromkeys(("w_next", "noise"), NEXT),
}
# Points that no randomness moves.
FIXED = ("w_star", "w_own")
# Weights chosen at the round's start or earlier, so independent of all noise drawn after.
WEIGHTS = ("alpha_i", "p_i", "u_s", "others", "fedmax")


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


class _At(sp.Function):
    """A function of the client at a point, ``(point, i)``: one for each point, which is its argument."""

    def _eval_is_real(self) -> bool:
        return True

    def _eval_is_finite(self) -> bool:
        return True

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        body = rf"{self.latex_name}\left({printer._print(self.args[0])}\right)"
        return rf"\left({body}\right)^{{{exp}}}" if exp else body

    def _sympystr(self, printer: Any) -> str:
        return f"{self.name}({printer._print(self.args[0])})"


class Vec(_Real):
    """A vector: ``Vec(name)``, or one a client ``Vec(name, i)``, or one a client and step ``Vec(name, i, s)``."""


class Noise(_Real):
    """A random vector of mean zero given what was known when it was drawn."""


class Grad(_At):
    """grad F_i at a point."""

    name, latex_name = "grad", r"\nabla F_i"


class Loss(_At):
    """F_i at a point."""

    name, latex_name = "F", "F_i"


class Value(_Real):
    """A scalar a client (and step) that is no random variable, such as F_i*."""


class Slack(Value):
    """A non-negative scalar a client (or step): the slack of a condition that holds for each."""

    def _eval_is_nonnegative(self) -> bool:
        return True


class Ratio(Slack):
    """alpha_i / p_i where a skew is taken."""


class Excess(Slack):
    """e_i where a skew is taken."""


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


def known(expression: sp.Basic) -> int:
    """The moment from which everything in an expression is known."""
    if isinstance(expression, Vec | Noise):
        return KNOWN.get(expression.args[0].name, LATER)
    if isinstance(expression, Weights):
        return ROUND if expression.args[0].name in WEIGHTS else LATER
    if isinstance(expression, sp.Symbol) and expression.name in NOTATION:
        return LATER if NOTATION[expression.name].axis == "random" else ROUND
    return max((known(argument) for argument in expression.args), default=ROUND)


def drawn(atom: sp.Expr) -> int | None:
    """The moment at which a vector of mean zero was drawn, or None where it is not noise alone."""
    if isinstance(atom, Centre):
        moments = [drawn(vector) for _, vector in _vector_terms(atom.args[1])]
        found = [moment for moment in moments if moment is not None and known(atom.args[0]) <= moment]
        return min(found) if found and len(found) == len(moments) else None
    return KNOWN.get(f"{atom.args[0].name}-drawn") if isinstance(atom, Noise) else None


def orthogonal(u: sp.Expr, v: sp.Expr) -> bool:
    """Whether one of two vectors is noise drawn when the other was known."""
    first, second = drawn(u), drawn(v)
    return (first is not None and known(v) <= first) or (second is not None and known(u) <= second)


def random(expression: sp.Basic) -> bool:
    """Whether an expression varies with the run's randomness."""
    if isinstance(expression, Vec | Noise):
        return expression.args[0].name not in FIXED
    if isinstance(expression, Weights):
        return bool(expression.args[0].name not in ("p_i", "u_s"))
    if isinstance(expression, Value):
        return False
    if isinstance(expression, sp.Symbol):
        return expression.name in NOTATION and NOTATION[expression.name].axis == "random"
    return any(random(argument) for argument in expression.args)


def _vector_terms(vector: sp.Expr) -> list[tuple[sp.Expr, sp.Expr]]:
    """A linear expression in vectors as (scalar, vector atom) pairs."""
    terms = []
    for term in sp.Add.make_args(spread(vector)):
        if term == 0:
            continue
        atoms = [factor for factor in sp.Mul.make_args(term) if isinstance(factor, Vec | Noise | Grad | Centre)]
        if len(atoms) != 1 or random(term / atoms[0]):
            raise ValueError(f"{term} is not a number times one vector")
        terms.append((term / atoms[0], atoms[0]))
    return terms


def _inner(left: sp.Expr, right: sp.Expr) -> sp.Expr:
    total = sp.Integer(0)
    for a, u in _vector_terms(left):
        for b, v in _vector_terms(right):
            if not orthogonal(u, v):
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
            total += outside * (Centre if depends(atom, index) else Mean)(weights, varying)
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
    if isinstance(expression, Vec | Noise | Value | _At):
        return expression
    arguments = [normal(argument, meaning) for argument in expression.args]
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
