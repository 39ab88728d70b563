"""F at a weighted mean of the iterates of a run: what proofs may use of it, and the sum that bounds it."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from fedbounds.evidence.symbolic.proof_objects import WEIGHTED, WEIGHTED_T
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Part
from fedbounds.theory.point_values import WeightedGap
from fedbounds.theory.quantity import Quantity

t, T = sy.t, sy.T
# What grants the fact; no assumption may have this name.
KEY = "weighted-average"


def weights_of(quantity: sp.Basic) -> sp.Expr | None:
    """The weights c_t, if polynomials of positive coefficients, of F(sum_t c_t w_t / sum_t c_t) - F*; else None."""
    average = getattr(quantity, "on_path", None)
    if type(quantity) is not Quantity or type(average) is not WeightedGap or average.tail != 0:
        return None
    weights = average.weights
    if quantity.statistic != "measured" or not isinstance(weights, sp.Expr) or not weights.is_polynomial(t):
        return None
    coefficients = sp.Poly(weights, t).coeffs()
    positive = all(c.is_Rational and c > 0 for c in coefficients) and weights.subs(t, 0) > 0
    return weights if positive else None


@dataclass(frozen=True)
class WeightedMean:
    """The fact that F is convex, for one quantity; the sum of weighted gaps is a sequence of its own."""

    quantity: sp.Expr
    weights: sp.Expr

    @property
    def sequence(self) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
        """The sum at times 0, t and t + 1."""
        return sp.Integer(0), WEIGHTED, WEIGHTED + self.weights * sy.gap_t

    def __call__(self, o: object) -> Part:
        total = sp.factor(sp.summation(self.weights, (t, 0, T - 1)))
        if total.subs(T, 0) != 0 or sp.expand(total.subs(T, t + 1) - total.subs(T, t) - self.weights) != 0:
            raise KeyError(self.weights)
        return Part(sp.Integer(0), "<=", WEIGHTED_T - total * self.quantity)
