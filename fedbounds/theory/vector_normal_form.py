"""The normal form of expressions in vectors and means: one in which equal expressions are identical."""

import math
from collections.abc import Mapping
from functools import lru_cache

import sympy as sp

from fedbounds.errors import reject
from fedbounds.theory import vectors as formal

VECTORS = (formal.Vec, formal.Noise, formal.Grad, formal.Centre)


@lru_cache(maxsize=8192)
def spread(expression: sp.Expr) -> sp.Expr:
    """The expression with products of sums multiplied out, denominators left as they are.

    Denominators that are multiplied out no longer share visible factors, and the fractions blow up.
    """
    names: dict[sp.Expr, sp.Symbol] = {}

    def is_quotient(e: sp.Basic) -> bool:
        return bool(isinstance(e, sp.Pow) and e.base.is_Add and e.exp.is_Integer and e.exp < 0)

    def name(e: sp.Pow) -> sp.Expr:
        return names.setdefault(e.base, sp.Dummy()) ** (-e.exp)

    masked = sp.expand(expression.replace(is_quotient, name), basic=False, log=False)
    for base, symbol in reversed(names.items()):
        masked = masked.xreplace({symbol: 1 / base})
    return masked


def depends(expression: sp.Basic, index: sp.Symbol) -> bool:
    """Whether an expression varies with an index that no mean in it has summed over."""
    if expression == index:
        return True
    if isinstance(expression, formal.Mean | formal.Centre) and expression.args[0].args[1] == index:
        return False
    return any(depends(argument, index) for argument in expression.args)


def _vector_terms(vector: sp.Expr) -> list[tuple[sp.Expr, sp.Expr]]:
    """A linear expression in vectors as (scalar, vector atom) pairs."""
    terms = []
    for term in sp.Add.make_args(spread(vector)):
        if term == 0:
            continue
        vectors = [factor for factor in sp.Mul.make_args(term) if isinstance(factor, VECTORS)]
        # Weights are known before what they multiply.
        rest = (term / vectors[0]).xreplace({formal.WEIGHT_RATIO: sp.S.One}) if vectors else term
        if len(vectors) != 1 or formal.random(rest):
            raise reject("a vector must be a number times one vector", term, "take norms of each")
        terms.append((term / vectors[0], vectors[0]))
    return terms


def _inner(left: sp.Expr, right: sp.Expr) -> sp.Expr:
    total = sp.Integer(0)
    for a, u in _vector_terms(left):
        for b, v in _vector_terms(right):
            if not formal.orthogonal(u, v):
                total += a * b * formal.Inner(u, v)
    return spread(total)


def _split(term: sp.Expr, index: sp.Symbol) -> tuple[sp.Expr, sp.Expr]:
    """A product as (what does not vary with the index, what does)."""
    outside, inside = list[sp.Expr](), list[sp.Expr]()
    for factor in sp.Mul.make_args(term):
        (inside if depends(factor, index) else outside).append(factor)
    return sp.Mul(*outside), sp.Mul(*inside)


def _centre(weights: sp.Expr, vector: sp.Expr) -> sp.Expr:
    index = weights.args[1]
    total = sp.Integer(0)
    for scalar, atom in _vector_terms(vector):
        outside, varying = _split(scalar * atom, index)
        if varying == 1:
            total += outside
        else:
            total += outside * (formal.Centre if depends(atom, index) else formal.Mean)(weights, varying)
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
        if isinstance(factor, formal.Inner):
            moving = [depends(argument, index) for argument in factor.args]
            if moving[0] != moving[1]:
                vector, fixed = factor.args if moving[0] else factor.args[::-1]
                return _inner(_centre(weights, varying / factor * vector), fixed)
    return formal.Mean(weights, varying)


def normal(expression: sp.Basic, meaning: Mapping[sp.Basic, sp.Expr] | None = None) -> sp.Expr:
    """The expression with meanings put in, inner products expanded bilinearly and means linearly."""
    meaning = meaning or {}
    if expression in meaning:
        return normal(meaning[expression], meaning)
    if not expression.args or isinstance(expression, formal.Weights):
        return expression
    if isinstance(expression, formal.Vec | formal.Noise | formal.Value | formal.FunctionAt):
        return expression
    arguments = [normal(argument, meaning) for argument in expression.args]
    if isinstance(expression, formal.Inner):
        return _inner(*arguments)
    if isinstance(expression, formal.Mean):
        return _mean(*arguments)
    if isinstance(expression, formal.Centre):
        return _centre(*arguments)
    return spread(expression.func(*arguments))


def normal_fraction(
    expression: sp.Expr, meaning: Mapping[sp.Basic, sp.Expr] | None = None, most_terms: float = math.inf
) -> sp.Expr:
    """The normal form over one denominator, cancelled where its numerator has at most so many terms."""
    form = normal(expression, meaning)
    if not form.is_polynomial(*form.atoms(sp.Symbol, sp.Function)):
        numerator, denominator = sp.fraction(sp.together(form))
        numerator = _expanded(numerator)
        if numerator == 0 or len(sp.Add.make_args(numerator)) > most_terms:
            return numerator / denominator
        return sp.factor(numerator) / sp.factor(denominator)
    return form


def _expanded(expression: sp.Expr) -> sp.Expr:
    """The same as `sympy.expand`, in a ring of polynomials, which is several times faster."""
    generators, left = set[sp.Expr](), [expression]
    while left:
        part = left.pop()
        if part.is_Add or part.is_Mul:
            left += part.args
        elif part.is_Pow and part.exp.is_Integer and part.exp > 0:
            left.append(part.base)
        elif not part.is_Rational:
            generators.add(part)
    if not generators or any(part.is_Pow for part in generators):  # such as q^t, which has rules of its own
        return sp.expand(expression)
    ring = sp.QQ.poly_ring(*sorted(generators, key=sp.default_sort_key)).ring
    return ring.from_expr(expression).as_expr()
