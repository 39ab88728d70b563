"""Formulas in interval arithmetic with as many digits as they need: what is offered or refutes is not left to floats.

In floats 1 - eta mu rounds to 1, and a difference of its powers to anything. Here every operation encloses its exact
result, the values given are taken as exact, and digits are doubled until the enclosure is narrower than a float's.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache, reduce
from numbers import Integral
from typing import Any

import numpy as np
import sympy as sp
from flint import arb, ctx, fmpq
from mpmath import libmp, mp

from fedbounds.evidence.evaluate import Array, code, evaluate, names_in, rational, without_infinite

# Decimal digits, more where an enclosure is wider than NARROW times the number; what is below TINY counts as 0.
DIGITS, NARROW, TINY = (50, 100, 200, 400, 800), arb("1e-18"), arb("1e-400")


# Bits of the balls: twice as many each time, to the last, which is enough for a contraction by half over 2000 steps.
BITS = (2**9, 2**10, 2**11, 2**12, 2**13)

# The digits of Arb are those of the whole process, so that one thread at a time may ask for some.
_ONE = threading.RLock()


@contextmanager
def in_digits(digits: int) -> Iterator[None]:
    """Intervals of so many decimal digits."""
    with _ONE, ctx.workdps(digits):
        yield


@contextmanager
def in_bits(bits: int) -> Iterator[None]:
    """Intervals of so many binary digits."""
    with _ONE, ctx.workprec(bits):
        yield


class Undecided(ArithmeticError):
    """Two balls overlap, so that their order is not known: more digits may tell."""


class Ball:
    """A real number enclosed by an interval of Arb, which mixes with fractions in an array of objects.

    A comparison is answered where it is certain, or of a number with itself; else it raises `Undecided`. Floats other
    than infinities are refused, being rounded already.
    """

    __slots__ = ("ball",)

    def __init__(self, ball: Any) -> None:
        self.ball = ball

    def __add__(self, other: Any) -> Any:
        # A number plus the integer 0 is that number itself, which equals itself.
        return self if type(other) is int and other == 0 else self._with(other, lambda x, y: x + y)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self if type(other) is int and other == 0 else self._with(other, lambda x, y: x - y)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, lambda x, y: y - x)

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, Ball) and other == 0:
            return Fraction(0)
        return self._with(other, lambda x, y: x * y)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._with(other, lambda x, y: x / y)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(other, lambda x, y: y / x)

    def __pow__(self, exponent: Any) -> Any:
        # Arb's own power of an interval around 0 is undefined.
        if not isinstance(exponent, Integral):
            return NotImplemented
        power = int(exponent)
        product = Ball(reduce(lambda x, y: x * y, [self.ball] * abs(power), arb(1)))
        return product if power >= 0 else 1 / product

    def __neg__(self) -> Ball:
        return Ball(-self.ball)

    def __abs__(self) -> Ball:
        return Ball(abs(self.ball))

    def __lt__(self, other: Any) -> Any:
        return self._order(other, lambda x, y: x < y, lambda x, y: x >= y, False)

    def __le__(self, other: Any) -> Any:
        return self._order(other, lambda x, y: x <= y, lambda x, y: x > y, True)

    def __gt__(self, other: Any) -> Any:
        return self._order(other, lambda x, y: x > y, lambda x, y: x <= y, False)

    def __ge__(self, other: Any) -> Any:
        return self._order(other, lambda x, y: x >= y, lambda x, y: x < y, True)

    def __eq__(self, other: Any) -> Any:
        return self._order(other, lambda x, y: x == y, lambda x, y: x < y or x > y, True)

    def __ne__(self, other: Any) -> Any:
        return self._order(other, lambda x, y: x < y or x > y, lambda x, y: x == y, False)

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __float__(self) -> float:
        if self.ball.rad() > NARROW * abs(self.ball) and not self.ball.rad() <= TINY:
            raise Undecided("a ball is wider than a float's rounding")
        return midpoint(self)

    def __floor__(self) -> int:
        raise Undecided("a whole part is asked of a ball")

    __ceil__ = __floor__

    def _with(self, other: Any, operation: Callable[[Any, Any], Any]) -> Any:
        number = _ball(other)
        if number is None:
            return NotImplemented
        result = operation(self.ball, number)
        if result.is_nan():
            raise Undecided("a division by a ball that holds 0")
        return Ball(result)

    def _order(self, other: Any, true: Callable[..., bool], false: Callable[..., bool], itself: bool) -> Any:
        if self is other:
            return itself
        number = _ball(other)
        if number is None:
            return NotImplemented
        if true(self.ball, number):
            return True
        if false(self.ball, number):
            return False
        raise Undecided("two balls overlap")


def _ball(number: Any) -> Any:
    """A number as an interval; None for a float that is finite, and for anything else."""
    if isinstance(number, Ball):
        return number.ball
    if isinstance(number, Fraction):
        return arb(fmpq(number.numerator, number.denominator))
    if isinstance(number, Integral):
        return arb(int(number))
    return arb(number) if isinstance(number, float) and math.isinf(number) else None


def midpoint(number: Any) -> float:
    """The middle of a ball, or a number, to be shown."""
    return float(number.ball.mid() if isinstance(number, Ball) else number)


def larger(x: Any, y: Any) -> Any:
    """The larger of two numbers; of balls an enclosure of it, whichever it is."""
    return Ball(_ball(x).max(_ball(y))) if isinstance(x, Ball) or isinstance(y, Ball) else max(x, y)


def smaller(x: Any, y: Any) -> Any:
    """The smaller of two numbers; of balls an enclosure of it, whichever it is."""
    return Ball(_ball(x).min(_ball(y))) if isinstance(x, Ball) or isinstance(y, Ball) else min(x, y)


_LARGEST, _SMALLEST = np.frompyfunc(larger, 2, 1), np.frompyfunc(smaller, 2, 1)


def largest(values: Any, axis: int = -1) -> Any:
    """The largest value along an axis, of floats, fractions or balls."""
    return values.max(axis) if values.dtype != object else _LARGEST.reduce(values, axis=axis)


def smallest(values: Any, axis: int = -1) -> Any:
    """The smallest value along an axis, of floats, fractions or balls."""
    return values.min(axis) if values.dtype != object else _SMALLEST.reduce(values, axis=axis)


def enclosed(number: Any) -> Any:
    """A float or a fraction as an interval, in the digits that are set; of a ball its own interval."""
    exact = _ball(number)
    return arb(number) if exact is None else exact


@lru_cache(maxsize=512)
def in_intervals(expression: sp.Expr) -> Callable[[Mapping[str, Any]], Any] | None:
    """An expression as a function of intervals; None where it is more than sums, quotients, powers, roots and log."""
    written = code(expression, exact=True, powers=True)
    leaf = {
        "Fraction": lambda p, q: arb(fmpq(p, q)),
        "sqrt": lambda x: x.sqrt(),
        "log": lambda x: x.log(),
        "max": lambda several: reduce(lambda x, y: x.max(y), several),
        "min": lambda several: reduce(lambda x, y: x.min(y), several),
    }
    return None if written is None else eval(f"lambda v: {written}", leaf)


def upper(expression: sp.Expr, values: Mapping[str, Any]) -> Array:
    """A float not below an expression, entry by entry of the values; nan where no digits told it.

    It is the least such float or the next one. A positive number is at least the smallest normal float, and 0 at most
    that. What is no root nor rational is that of `evaluate`.
    """
    expression = sp.sympify(expression)
    if in_intervals(expression) is None:
        return evaluate(expression, values)
    names = names_in(expression)
    arrays = np.broadcast_arrays(*(np.asarray(values[name], dtype=object) for name in names))
    shape = arrays[0].shape if names else ()
    rows = list(zip(*(array.flat for array in arrays), strict=True)) if names else [()]
    result = {row: _upper(expression, dict(zip(names, row, strict=True))) for row in set(rows)}
    return np.array([result[row] for row in rows], float).reshape(shape)


def _upper(expression: sp.Expr, values: Mapping[str, float | Fraction]) -> float:
    if not all(isinstance(value, Fraction) or math.isfinite(value) for value in values.values()):
        return math.nan
    function = in_intervals(expression)
    for digits in DIGITS:
        with in_digits(digits):
            # No finite number: the root of an interval that reaches below 0, or a division by one that holds 0.
            result = function({name: enclosed(value) for name, value in values.items()})  # type: ignore[misc]
            width = 2 * result.rad()
            if result.is_finite() and (width <= NARROW * abs(result) or width <= TINY):
                return upward(mp.make_mpf(libmp.from_man_exp(*map(int, result.upper().man_exp()))))
    return math.nan


def upward(number: Any) -> float:
    """The least float not below a number of mpmath, and a positive one not below the smallest normal float."""
    near = float(number)
    near = math.nextafter(near, math.inf) if near < number else near
    return max(near, sys.float_info.min) if number > 0 else near


def compared(left: sp.Expr, right: sp.Expr, values: Mapping[str, Fraction]) -> tuple[Fraction, Fraction] | None:
    """Both sides as fractions, of roots or balls two fractions in the same order; None if undefined or undecided."""
    left, right = (without_infinite(sp.sympify(side), values) for side in (left, right))
    if any(isinstance(values.get(name), Ball) for side in (left, right) for name in names_in(side)):
        return fractions_between(left, right, values)
    exact = rational(left, values), rational(right, values)
    if exact[0] is None or exact[1] is None:
        return fractions_between(left, right, values)
    return exact[0], exact[1]


@lru_cache(maxsize=1024)
def has_roots(expression: sp.Expr) -> bool:
    """Whether an expression has roots: sympy would factor numbers of thousands of digits to simplify them."""
    return any(power.exp.is_Rational and not power.exp.is_Integer for power in expression.atoms(sp.Pow))


def fractions_between(
    left: sp.Expr, right: sp.Expr, values: Mapping[str, Fraction]
) -> tuple[Fraction, Fraction] | None:
    """Two fractions between both sides of a relation, in the same order; None where no digits tell them apart.

    Where left > right these are a and b with left >= a > b >= right, and where left < right the other way round, so
    that their order is that of the sides. None too where a side is undefined, or made of more than sums, products,
    quotients and roots.
    """
    sides = [in_intervals(sp.sympify(side)) for side in (left, right)]
    if None in sides:
        return None
    for digits in DIGITS:
        with in_digits(digits):
            enclosures = {
                name: enclosed(value) for name, value in values.items() if isinstance(value, Fraction | Ball)
            }
            try:
                a, b = (side(enclosures) for side in sides if side is not None)
                a, b = a + arb(0), b + arb(0)
            except KeyError:
                return None  # a symbol without a value
            if not (a.is_finite() and b.is_finite()):
                continue
            if a > b:
                return _end(a.lower()), _end(b.upper())
            if a < b:
                return _end(a.upper()), _end(b.lower())
    return None


def endpoints(number: Any) -> Any:
    """The least and the largest number that a ball may be, as fractions; a fraction as it is."""
    if not isinstance(number, Ball):
        return number
    middle, radius = _end(number.ball.mid()), _end(number.ball.rad())
    return middle - radius, middle + radius


def _end(ball: Any) -> Fraction:
    """The number of a ball without radius."""
    mantissa, exponent = map(int, ball.man_exp())
    return Fraction(mantissa) * Fraction(2) ** exponent
