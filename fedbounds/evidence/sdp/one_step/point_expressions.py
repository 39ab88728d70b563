"""Quantities written as expressions of points, read as forms of a round's Gram matrix and values, or as numbers."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import sympy as sp

from fedbounds.errors import InputError, demand, reject
from fedbounds.evidence.sdp.program import Expression, Point, Vector
from fedbounds.theory import points as at
from fedbounds.theory.point_values import PointFormula
from fedbounds.theory.quantity import Quantity, fault
from fedbounds.theory.sample_path import Path
from fedbounds.theory.symbols import Delta, Gamma, drift
from fedbounds.theory.vectors import Centre, Grad, Inner, Loss, Mean, Vec

Expressions = Mapping[str, sp.Expr]
# Those that every model has, and words that a model has no point for.
ALWAYS: dict[str, sp.Expr] = {q.name: q.expression for q in (Delta, drift, Gamma)}
ABSENT = (at.w_next, at.w_i_next, at.w_0, at.w_alpha, *at.ANY)
_INNER = np.frompyfunc(operator.matmul, 2, 1)


def written(symbols: Iterable[sp.Symbol]) -> dict[str, sp.Expr]:
    """Name -> expression, of the quantities that forms of a model can be."""
    varying = [s for s in symbols if isinstance(s, Quantity) and s.statistic in ("constant", "measured")]
    quantities = [q for q in varying if q.statistic == "constant" or "step" in q.scopes]
    read = {q.name: q.expression for q in quantities if q.expression is not None and not _fault(q)}
    return {
        name: item for name, item in read.items() if not item.has(*ABSENT) and _has_points(item) and _is_form(item)
    }


@lru_cache(maxsize=512)
def _fault(quantity: Quantity) -> str:
    return fault(quantity.expression, quantity.statistic == "constant")


@lru_cache(maxsize=512)
def _is_form(expression: sp.Expr) -> bool:
    """Whether an expression is a form of one client: inner products and values in sums and means, times numbers."""
    places = {part.args[0] for part in expression.atoms(Grad, Loss)}
    here = dict.fromkeys((at.w, at.w_i, at.w_i_star, at.w_round), (Vector(),))
    points = {place: [Point("", Vector(), Vector(), Expression())] for place in places}
    one = Reader(here, dict.fromkeys((at.ALPHA, at.P), (1,)), lambda number: 1, points)
    with contextlib.suppress(InputError):
        one.form(expression)
        return True
    return False


def number(quantity: Quantity, alpha: Sequence[Fraction], p: Sequence[Fraction]) -> Fraction | None:
    """The value at a setting of what is made of weights alone, such as chi^2; None for anything else."""
    expression = quantity.expression
    if not of_weights(quantity) or 0 in p:
        return None
    losses: Any = SimpleNamespace(p=np.array(p, dtype=object))
    once = np.ones(1, dtype=int)
    path = Path(1, once, losses, w=once[:, None], alpha=np.array([alpha], dtype=object))
    return Fraction(np.atleast_1d(PointFormula(expression)(path))[0])


def of_weights(quantity: Quantity) -> bool:
    """Whether a quantity is made of weights alone, and of no number of the run."""
    expression = quantity.expression
    if expression is None or _has_points(expression) or _fault(quantity):
        return False
    return expression.has(at.p_i, at.weight_ratio) and not any(hasattr(s, "on_path") for s in expression.free_symbols)


def _has_points(expression: sp.Expr) -> bool:
    return bool(expression.has(Vec, Loss, at.F_i_star))


def points_in(expressions: Expressions) -> tuple[sp.Expr, ...]:
    """The points at which gradients or values are taken, beside those of every model."""
    result = {part.args[0] for expression in expressions.values() for part in expression.atoms(Grad, Loss)}
    # A point that has a gradient inside comes after it.
    order = sorted(result - {at.w_i, at.w_star, at.w_i_star}, key=sp.default_sort_key)
    return tuple(sorted(order, key=lambda place: len(place.atoms(Grad, Loss))))


@dataclass(frozen=True)
class Reader:
    """Expressions as forms, in arrays over the clients or of one entry.

    ``here`` are the vectors of w, w_i, w_i* and, after local steps, of the round's start; ``points_at`` maps
    a point to each client's `Point` there. ``numbers`` gives the values of numbers, ``weights`` those of alpha and p.
    """

    here: Mapping[sp.Expr, Sequence[Vector]]
    weights: Mapping[sp.Expr, Sequence[Any]]
    numbers: Callable[[sp.Expr], Any]
    points_at: dict[sp.Expr, list[Point]] = field(default_factory=dict)

    def form(self, expression: sp.Expr) -> Expression:
        """A quantity."""
        (single,) = self._scalar(expression)
        result: Expression = single
        return result

    def vectors(self, expression: sp.Expr) -> Any:
        """A vector, or one of each client."""
        if isinstance(expression, sp.Add):
            return _sum(map(self.vectors, expression.args))
        if isinstance(expression, sp.Mul):
            vector, factor = _split(expression, at.is_vector)
            return self.vectors(vector) * self._factor(factor)
        if isinstance(expression, Centre):
            return self._mean(expression.args[0], self.vectors(expression.args[1]), Vector)
        if isinstance(expression, Grad):
            return _array([point.g for point in self.points_at[expression.args[0]]])
        if expression not in self.here and expression != at.w_star:
            raise reject("of any local models nothing says where the round began", expression, "take local steps")
        return _array([Vector()] if expression == at.w_star else self.here[expression])

    def _scalar(self, expression: sp.Expr) -> Any:
        if isinstance(expression, sp.Add):
            return _sum(map(self._scalar, expression.args))
        if isinstance(expression, sp.Mul):
            form, factor = _split(expression, _has_points)
            return self._scalar(form) * self._factor(factor)
        if isinstance(expression, Inner):
            return np.atleast_1d(_INNER(*map(self.vectors, expression.args)))
        if isinstance(expression, Mean):
            return self._mean(expression.args[0], self._scalar(sp.expand(expression.args[1])), Expression)
        if isinstance(expression, Loss):
            return _array([point.f for point in self.points_at[expression.args[0]]])
        if expression != at.F_i_star:
            raise reject("a form must be made of inner products and values", expression, "leave it out")
        return _array([Expression()])  # every model takes F_i* for 0

    def _factor(self, factor: sp.Expr) -> Any:
        """A number, or one of each client."""
        p, alpha = (np.array(self.weights[item], dtype=object) for item in (at.P, at.ALPHA))
        ratio = alpha / p if factor.has(at.weight_ratio) else None
        total: Any = 1
        for base, power in factor.as_powers_dict().items():
            value = {at.p_i: p, at.weight_ratio: ratio}.get(base)
            plain = value is not None or not base.has(at.p_i, at.weight_ratio, Mean, Inner, Vec, Loss)
            what = "a factor of a form must be a whole power of a number or of a weight"
            demand(plain and power.is_Integer, what, base**power, "leave it out")
            value = np.array([self.numbers(base)], dtype=object) if value is None else value
            if power < 0 and any(item == 0 for item in value):
                raise reject("a divisor is 0 at this setting", base, "choose weights that are all positive")
            total = total * value ** int(power)
        return total

    def _mean(self, weights: sp.Expr, items: Any, kind: type[Any]) -> Any:
        shares = self.weights[weights]
        each = np.broadcast_to(items, (len(shares),))
        return _array([kind.mean(shares, list(each))])


def _split(product: sp.Expr, there: Callable[[Any], bool]) -> tuple[sp.Expr, sp.Expr]:
    """(the one factor of a product that is ``there``, the others)."""
    inside = [factor for factor in product.args if there(factor)]
    demand(len(inside) == 1, "a form must be linear in inner products and values", product, "leave it out")
    return inside[0], product / inside[0]


def _sum(items: Iterable[Any]) -> Any:
    total, *others = items
    for other in others:
        total = total + other
    return total


def _array(items: Sequence[Any]) -> Any:
    result = np.empty(len(items), dtype=object)
    result[:] = items
    return result
