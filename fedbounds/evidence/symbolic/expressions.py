"""What is seen of an expression without a proof: that it is exact, its sign, and whether it is one number.

Exact is what has rational numbers, symbols, and known functions of them; one number is not random, of no client and
of no step.
"""

from __future__ import annotations

from collections.abc import Iterable

import sympy as sp

from fedbounds.evidence.symbolic import definitions
from fedbounds.evidence.symbolic.proof_state import Context, Unproved
from fedbounds.theory import symbols as sy
from fedbounds.theory import vectors as formal
from fedbounds.theory.claim import Claim
from fedbounds.theory.normal_form import depends
from fedbounds.theory.quantity import Quantity
from fedbounds.theory.symbols import RECORDED

NUMBERS = tuple({type(sp.Rational(*pair)) for pair in ((0, 1), (1, 1), (-1, 1), (2, 1), (1, 2), (2, 3))})
SYMBOLS = (sp.Symbol, Quantity)
FUNCTIONS = (sp.Add, sp.Mul, sp.Min, sp.Max, sp.exp)
# Names of numbers that differ from step to step, beside the claims' symbols whose axis says so.
MOVING = {"n", "rho", "steps", "gaps", "weighted_gaps", "weighted_gaps_T", "s", "u_s", "eta_s", "m_s"}
MOVING |= {"kappa_rho", "kappa", "e_rho"}


def in_time(exponent: sp.Basic) -> bool:
    """Whether an exponent is a T + b or a t + b in whole numbers, a > 0 and b >= 0."""
    time = exponent.free_symbols & {sy.t, sy.T}
    if len(time) != 1 or exponent.free_symbols != time:
        return False
    (symbol,) = time
    slope, start = exponent.coeff(symbol), exponent.subs(symbol, 0)
    whole = isinstance(slope, sp.Integer) and isinstance(start, sp.Integer)
    return bool(whole and exponent == slope * symbol + start and slope > 0 and start >= 0)


def claim_sides(claim: Claim) -> list[sp.Expr]:
    """Every expression that a claim is stated with, its assumptions apart."""
    put = claim.repair.substitutions.values() if claim.repair else ()
    sides = (claim.lhs, *claim.terms.values(), *put, *claim.definitions.values(), claim.eta or 0)
    return [sp.sympify(side) for side in sides]


def require_exact(*sides: sp.Basic) -> None:
    """Raise unless what a claim or a relation is stated with has rational numbers and known functions only."""
    for part in (node for side in sides for node in sp.preorder_traversal(side)):
        whole = type(part) is not sp.Pow or part.exp.is_Integer or in_time(part.exp)
        if type(part) not in (*NUMBERS, *SYMBOLS, *FUNCTIONS, sp.Pow) or not whole:
            raise Unproved(f"{part}, with which it is stated, is not exact: use rational numbers and known functions")


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
    if not formal.random(expression) or expression == formal.WEIGHT_RATIO:
        return 0  # weights are known before the rest, and multiply it as a mean's weights do
    if isinstance(expression, sp.Add):
        return max(degree(term) for term in expression.args)
    if isinstance(expression, sp.Mul):
        count = sum(degree(factor) for factor in expression.args)
    elif isinstance(expression, sp.Pow):
        count = 2 if degree(expression.base) else 0
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


def require_number(expression: sp.Expr, scope: Context, allowed: Iterable[sp.Basic] = ()) -> None:
    """Raise unless an expression, its meanings put in, is one number (or one for each of the allowed indices)."""
    meaning = scope.unfolded(expression)
    if formal.random(meaning) or not indices(meaning) <= set(allowed):
        raise Unproved(f"{expression} is not one number")


def require_steady(expression: sp.Expr, scope: Context, fixed: Iterable[sp.Basic]) -> None:
    """Raise unless an expression, its meanings put in, keeps its value from step to step (T apart)."""
    meaning = scope.unfolded(expression)
    fixed = {str(s) for s in set(fixed) & meaning.free_symbols}
    if moving(meaning) - {sy.T.name} or fixed or formal.random(meaning) or indices(meaning):
        raise Unproved(
            f"an induction's line speaks of more that varies in time than T and its sequence at T: {meaning}"
        )


def moving(expression: sp.Expr) -> set[str]:
    """Names of the symbols in an expression that differ from step to step."""
    own = {s.name for s in expression.free_symbols if isinstance(s, Quantity) and s.computed and s.scopes}
    names = {s.name for s in expression.free_symbols}
    return own | {name for name in names if name in MOVING or (name in RECORDED and RECORDED[name].recorded)}
