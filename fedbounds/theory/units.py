"""The units of an expression, as powers of (metre, joule), and whether both sides of a statement agree.

>>> units_of(eta**2 * sigma_sq)
(2, 0)
"""

from __future__ import annotations

from collections.abc import Iterable

import sympy as sp

from fedbounds.errors import InputError, reject
from fedbounds.theory.points import F_i_star
from fedbounds.theory.vectors import Centre, Grad, Inner, Loss, Mean, Vec

Units = tuple[sp.Expr, ...] | None
NUMBER = (0, 0)
# Of points, gradients and values, in powers of (metre, joule).
OF_POINTS = {Vec: (1, 0), Grad: (-1, 1), Loss: (0, 1)}


def units_of(expression: sp.Expr) -> Units:
    """Powers of (metre, joule); None for 0, which has any. An InputError where terms do not agree."""
    if expression == 0:
        return None
    if isinstance(expression, sp.Add | sp.Max | sp.Min):
        return same_units(expression.args)
    if isinstance(expression, Mean | Centre):
        return units_of(expression.args[1])
    if isinstance(expression, sp.Mul | Inner):
        parts = [units_of(x) or NUMBER for x in expression.args]
        return tuple(sum(column, sp.Integer(0)) for column in zip(*parts, strict=True))
    if isinstance(expression, sp.Pow):
        base = units_of(expression.base) or NUMBER
        if any(base) and not expression.exp.is_Rational:
            raise _fault(f"{expression.base} must be a number, as its power varies", expression)
        _require_numbers(expression, expression.exp)
        return tuple(x * expression.exp if x else sp.Integer(0) for x in base)
    if type(expression) in OF_POINTS or expression == F_i_star:
        return tuple(map(sp.Integer, OF_POINTS.get(type(expression), OF_POINTS[Loss])))
    _require_numbers(expression, *expression.args)
    return tuple(map(sp.Integer, getattr(expression, "units", None) or NUMBER))


def _require_numbers(whole: sp.Expr, *parts: sp.Basic) -> None:
    """Refuse a power or a function of what has a unit."""
    for part in parts:
        if isinstance(part, sp.Expr) and any(units_of(part) or NUMBER):
            raise _fault(f"{part} must be a number", whole)


def powers(expression: sp.Expr) -> tuple[int, int]:
    """The same as whole numbers, 0 being a number.

    >>> from fedbounds.theory.points import grad, mean, norm_sq, w
    >>> powers(mean(norm_sq(grad(w))))
    (-2, 2)
    """
    metre, joule = map(int, units_of(expression) or NUMBER)
    return metre, joule


def same_units(parts: Iterable[sp.Expr]) -> Units:
    """The units that all have; an InputError that names two terms that differ."""
    with_units = [(units, x) for units, x in ((units_of(x), x) for x in parts) if units is not None]
    for units, x in with_units[1:]:
        if units != with_units[0][0]:
            what = f"{with_units[0][1]} and {x} have different units, so a symbol may mean something else"
            raise _fault(what, f"{shown(with_units[0][0])} and {shown(units)}")
    return with_units[0][0] if with_units else None


def shown(units: Units) -> str:
    """Units in words.

    >>> shown((2, 0)), shown((0, 0))
    ('metre^2', 'a number')
    """
    pairs = zip(units or NUMBER, ("metre", "joule"), strict=True)
    return " ".join(name + (f"^{power}" if power != 1 else "") for power, name in pairs if power) or "a number"


def have_units(parts: Iterable[sp.Expr]) -> bool:
    """Whether the units of every symbol are known."""
    symbols = {symbol for part in parts for symbol in sp.sympify(part).free_symbols}
    return all(getattr(symbol, "units", None) is not None for symbol in symbols)


def _fault(what: str, received: object) -> InputError:
    return reject(what, received, "correct it, or say that units are as written")
