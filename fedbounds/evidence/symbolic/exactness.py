"""What a claim or a relation may be stated with: rational numbers, symbols, and known functions of them."""

from __future__ import annotations

import sympy as sp

from fedbounds.evidence.symbolic.proof_state import Unproved
from fedbounds.theory import symbols as sy
from fedbounds.theory.claim import Claim
from fedbounds.theory.quantity import Quantity

NUMBERS = tuple({type(sp.Rational(*pair)) for pair in ((0, 1), (1, 1), (-1, 1), (2, 1), (1, 2), (2, 3))})
SYMBOLS = (sp.Symbol, Quantity)
FUNCTIONS = (sp.Add, sp.Mul, sp.Min, sp.Max, sp.exp)


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
