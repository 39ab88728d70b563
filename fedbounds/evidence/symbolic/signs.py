"""Signs seen without a proof, and whether an expression is one number: not random, of no client and no step."""

from __future__ import annotations

import sympy as sp

from fedbounds.evidence.symbolic import definitions
from fedbounds.evidence.symbolic import formal_vectors as formal
from fedbounds.evidence.symbolic.normal_form import depends
from fedbounds.evidence.symbolic.proof_state import Unproved


def shown_non_negative(expression: sp.Expr) -> bool:
    """Whether every term of an expression is a product of non-negative things, over a positive denominator."""
    if expression.is_nonnegative:
        return True
    numerator, denominator = sp.fraction(sp.together(expression))
    terms = [*sp.Add.make_args(sp.expand(numerator)), *sp.Add.make_args(sp.expand(denominator))]
    return all(bool(term.is_nonnegative) for term in terms) and bool(denominator.is_positive)


def shown_positive(expression: sp.Expr) -> bool:
    """Whether an expression is so shown, and one of its terms is positive."""
    numerator, denominator = sp.fraction(sp.together(expression))
    terms = sp.Add.make_args(sp.expand(numerator))
    signs = all(term.is_nonnegative for term in terms) and any(term.is_positive for term in terms)
    return bool(expression.is_positive or (signs and denominator.is_positive))


def degree(expression: sp.Basic) -> int:
    """How many random variables are multiplied in an expression: its mean is known where there is at most one."""
    if not formal.random(expression):
        return 0
    if isinstance(expression, sp.Add):
        return max(degree(term) for term in expression.args)
    if isinstance(expression, sp.Mul):
        count = sum(degree(factor) for factor in expression.args)
    elif isinstance(expression, sp.Pow):
        count = 2
    elif isinstance(expression, formal.Mean):
        count = max(1, degree(expression.args[1]))
    else:
        count = 1
    if count > 1:
        raise Unproved(f"the mean of the product {expression} is not the product of means")
    return count


def indices(expression: sp.Basic) -> set[sp.Symbol]:
    """The client or step that an expression is about, where it is about one."""
    return {index for index in (definitions.I, definitions.S) if depends(expression, index)}
