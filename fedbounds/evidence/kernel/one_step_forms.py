"""Facts of one step in Rocq's words: forms in losses and inner products of few vectors, with what proves them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp

from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import P, grad
from fedbounds.theory import symbols as sy
from fedbounds.theory.vectors import Noise

# Vectors in the order in which inner products name them; those of a client are told by its index i.
VECTORS = {"g": "(grad P i (w M c k))", "h": "(grad P i (w_star P))", "G": "G", "w": "(w M c k)", "o": "(w_star P)"}
LOSSES = {"f": "F P i (w M c k)", "fo": "F P i (w_star P)", "fm": "F P i (w_i_star P i)"}
OF_A_CLIENT = {"g", "h"}
# Facts that say nothing here: local models are one point, alpha = p, the mean gradient at w* is 0.
VANISH = ("single-step", "single-step-gradients", "unbiased", "optimum")

Vector = dict[str, sp.Expr]
Parts = dict[tuple[str, ...], sp.Expr]


@dataclass(frozen=True)
class Form:
    """What a fact says is not negative, in losses and inner products, and the proofs, with factors, that add up."""

    parts: Parts
    proofs: tuple[tuple[sp.Expr, str], ...]
    of_a_client: bool


def says_nothing(fact: d.Fact) -> bool:
    """Whether a fact is one of one point, of equal weights, of w*, or about noise that another one bounds."""
    if isinstance(fact, d.Averaged):
        return all(says_nothing(one) for _, one in fact.uses)
    return (isinstance(fact, d.Premise) and fact.key in VANISH) or (isinstance(fact, d.Square) and fact.of.has(Noise))


def cocoercive(fact: d.Fact) -> bool:
    """Whether it is the mean of F_i(x) - tangent at y - ||grad F_i(x) - grad F_i(y)||^2/(2 L), as it is proposed."""
    if not isinstance(fact, d.Averaged) or fact.weights != P or len(fact.uses) != 3:
        return False
    (one, smooth), (other, convex), (half, square) = fact.uses
    if not (isinstance(smooth, d.Premise) and isinstance(convex, d.Premise) and isinstance(square, d.Square)):
        return False
    keys = (smooth.key, convex.key, one, other, half)
    if keys != ("smooth", "strongly-convex", 1, 1, sy.mu / 2):
        return False
    (x, end), (y, same) = smooth.points, convex.points
    return bool(
        end == same and sp.expand(end - x + (grad(x) - grad(y)) / sy.L) == 0 == sp.expand(square.of - end + y)
    )


def slope(point: Vector) -> Vector:
    """The gradient at the model or at w*."""
    return {"g" if "w" in point else "h": sp.Integer(1)}


def product(left: Vector, right: Vector) -> Parts:
    order = list(VECTORS)
    total: Parts = {}
    for a, x in left.items():
        for b, y in right.items():
            add(total, {("ip", *sorted((a, b), key=order.index)): x * y}, sp.Integer(1))
    return total


def add(total: dict[Any, sp.Expr], part: Mapping[Any, sp.Expr], factor: sp.Expr) -> None:
    """total += factor * part."""
    for key, value in part.items():
        result = sp.expand(total.get(key, sp.Integer(0)) + factor * value)
        if result == 0:
            total.pop(key, None)
        else:
            total[key] = result
