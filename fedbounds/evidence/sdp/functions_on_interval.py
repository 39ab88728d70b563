"""Rational functions of one parameter over an interval, which take the place of the fractions of a setting.

The checker of certificates, run on them with the same code, proves an inequality at every point of the interval at
once. Relations are what makes that sound: one is True or False only where it has the same answer at every point, by
Sturm's theorem, and an error elsewhere. What a file gives has no pole in the interval, hence neither has the
remainder of a certificate; a pivot of its elimination may have one, where an earlier pivot vanishes: the remainder is
positive semidefinite beside such a point, and by continuity there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import count, pairwise
from math import gcd
from typing import Any, Literal

import sympy as sp

from fedbounds.errors import reject
from fedbounds.evidence.evaluate import rational as value_of
from fedbounds.io import Rational, as_fraction, plain

# A polynomial's coefficients; a shipped one has half of these, and many more would keep the checker busy for minutes.
LONGEST = 14
Parameter = Literal["kappa", "eta_L"]
# The smallest value that a parameter has: L > mu, and steps are positive.
LEAST: Mapping[Parameter, int] = {"kappa": 1, "eta_L": 0}
UP = {"inf", "oo", ""}


@dataclass(frozen=True)
class Quotient:
    """A function as a file has it: the coefficients of two polynomials, the constant first."""

    num: tuple[Rational, ...]
    den: tuple[Rational, ...]


# How a number of a certificate is written: a rational one as text, else a function.
Written = Rational | Quotient


@dataclass(frozen=True)
class Interval:
    """low < parameter <= high, without an upper end where ``high`` is None."""

    parameter: Parameter
    low: Fraction
    high: Fraction | None = None

    def __post_init__(self) -> None:
        if self.low < LEAST[self.parameter] or (self.high is not None and self.high <= self.low):
            least = f"an interval of {self.parameter} begins at {LEAST[self.parameter]} or above and is not empty"
            raise reject(least, self, "write low..high")

    def __str__(self) -> str:
        return f"> {self.low}" if self.high is None else f"in ({self.low}, {self.high}]"

    def inside(self) -> Iterator[Fraction]:
        """Points of the open interval, as many as one likes."""
        k = 1
        while k := k + 1:
            yield self.low + (Fraction(k - 1) if self.high is None else (self.high - self.low) / k)

    def fractions(self) -> Iterator[Fraction]:
        """Points of the interval, those of small numerator and denominator first.

        >>> points = Interval("kappa", Fraction(1)).fractions()
        >>> print(next(points), next(points), next(points), next(points))
        2 3 4 3/2
        """
        for total in count(2):
            pairs = (Fraction(total - q, q) for q in range(1, total) if gcd(q, total) == 1)
            yield from (x for x in pairs if self.low < x and (self.high is None or x <= self.high))


class Function:
    """num/den over an interval; polynomials without a common factor."""

    def __init__(self, num: Any, den: Any, over: Interval) -> None:
        if den == 0:
            raise ZeroDivisionError(f"a function of {over.parameter} with the denominator 0")
        if den.degree() > 0:
            common = num.gcd(den)
            num, den = num // common, den // common
        top = den[den.degree()]
        self.num, self.den, self.over = num / top, den / top, over

    def _with(self, other: object) -> Function:
        return other if isinstance(other, Function) else Function(*constant(other), self.over)

    def __add__(self, other: Any) -> Any:
        if not _is_number(other):
            return NotImplemented
        if other == 0:
            return self
        b = self._with(other)
        return Function(self.num * b.den + b.num * self.den, self.den * b.den, self.over)

    def __mul__(self, other: Any) -> Any:
        if not _is_number(other):
            return NotImplemented
        if other == 0:
            return other  # most entries of a form are 0
        b = self._with(other)
        return Function(self.num * b.num, self.den * b.den, self.over)

    def __pow__(self, power: int) -> Function:
        a, b = (self.num, self.den) if power >= 0 else (self.den, self.num)
        return Function(a ** abs(power), b ** abs(power), self.over)

    def __truediv__(self, other: Any) -> Any:
        return self * self._with(other) ** -1

    def __rtruediv__(self, other: Any) -> Any:
        return self**-1 * other

    def __neg__(self) -> Any:
        return self * -1

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    __radd__, __rmul__ = __add__, __mul__

    def __eq__(self, other: object) -> bool:
        """Whether they are the same function."""
        if other == 0 and not isinstance(other, Function):
            return bool(self.num == 0)
        return _is_number(other) and bool((self - other).signs == {0})

    def __hash__(self) -> int:
        return hash(str(self))

    def __lt__(self, other: object) -> bool:
        return self._holds(other, {-1})

    def __le__(self, other: object) -> bool:
        return self._holds(other, {-1, 0})

    def __gt__(self, other: object) -> bool:
        return self._holds(other, {1})

    def __ge__(self, other: object) -> bool:
        return self._holds(other, {0, 1})

    def _holds(self, other: object, wanted: set[int]) -> bool:
        taken: set[int] = (self - other).signs
        if taken & wanted and not taken <= wanted:
            where = f"{self} against {other} for {self.over.parameter} {self.over}"
            raise reject("a relation must have one answer on the whole interval", where, "narrow or split it")
        return taken <= wanted

    @cached_property
    def signs(self) -> set[int]:
        """The signs of num den on the interval, those of the function wherever it has no pole."""
        product = self.num * self.den
        if product == 0:
            return {0}
        parts, high = product.factor_squarefree()[1], self.over.high
        for part, times in parts:
            if times % 2 and roots(part, self.over) > (high is not None and part(rational(high)) == 0):
                return {-1, 0, 1}
        values = (product(rational(point)) for point in self.over.inside())
        sign = 1 if next(value for value in values if value != 0) > 0 else -1
        return {sign, 0} if any(roots(part, self.over) for part, _ in parts) else {sign}

    def at(self, point: Fraction) -> Fraction:
        """The value at a point; ZeroDivisionError at a pole."""
        value = self.num(rational(point)) / self.den(rational(point))
        return fraction(value)

    def __float__(self) -> float:
        """The value somewhere inside, as an example in messages."""
        return float(self.at(next(self.over.inside())))

    @property
    def coefficients(self) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
        """Those of num and den, the constant first."""
        num, den = (tuple(map(fraction, item.coeffs())) for item in (self.num, self.den))
        return num or (Fraction(0),), den

    def to_json(self) -> dict[str, list[str]]:
        """As a file has it."""
        return {name: list(map(str, item)) for name, item in zip(("num", "den"), self.coefficients, strict=True)}

    def __str__(self) -> str:
        num, den = (str(item).replace("x", self.over.parameter) for item in (self.num, self.den))
        return num if den == "1" else f"({num})/({den})"


def _is_number(other: object) -> bool:
    from flint import fmpq

    return isinstance(other, Function | Fraction | int | fmpq)


def rational(value: Any) -> Any:
    """A number of ours as one of flint's."""
    from flint import fmpq

    return fmpq(value.numerator, value.denominator) if isinstance(value, Fraction) else fmpq(value)


def fraction(value: Any) -> Fraction:
    """A number of flint's as one of ours."""
    return Fraction(int(value.p), int(value.q))


def value_at(value: Any, x: Fraction | None) -> Fraction:
    """A function's value at a point; a number is its own."""
    if isinstance(value, Function):
        assert x is not None
        return value.at(x)
    return value if isinstance(value, Fraction) else fraction(value)


def constant(value: Any) -> tuple[Any, Any]:
    """(num, den) of a number."""
    from flint import fmpq_poly

    return fmpq_poly([rational(value)]), fmpq_poly([1])


def variable(over: Interval) -> Function:
    """The parameter itself."""
    from flint import fmpq_poly

    return Function(fmpq_poly([0, 1]), fmpq_poly([1]), over)


def roots(p: Any, over: Interval) -> int:
    """How many roots a square-free polynomial has in the interval, by Sturm's theorem."""
    chain = [p, p.derivative()]
    while chain[-1] != 0:
        chain.append(-(chain[-2] % chain[-1]))
    changes: list[int] = []
    for end in (over.low, over.high):
        values = (item[item.degree()] if end is None else item(rational(end)) for item in chain[:-1])
        changes.append(sum(bool(a * b < 0) for a, b in pairwise(value for value in values if value != 0)))
    return changes[0] - changes[1]


def number_of(value: Any, over: Interval | None) -> Any:
    """The number or, over an interval, the function that a file gives; InputError where it has a pole there."""
    from flint import fmpq_poly

    value = plain(value)
    if over is None or not isinstance(value, Mapping):
        return as_fraction(value)
    short = (isinstance(item, list | tuple) and len(item) <= LONGEST for item in value.values())
    if value.keys() != {"num", "den"} or not all(short):
        raise reject(f"a function has num and den, of {LONGEST} coefficients at most", len(value), "write it again")
    num, den = (fmpq_poly([rational(as_fraction(item)) for item in value[name]]) for name in ("num", "den"))
    require_finite(den, over)
    return Function(num, den, over)


def require_finite(den: Any, over: Interval) -> None:
    """InputError where what is divided by ``den`` has a pole in the interval, or is no function."""
    if den == 0 or any(roots(part, over) for part, _ in den.factor_squarefree()[1]):
        raise reject(f"a function must have no pole for {over.parameter} {over}", str(den), "narrow the interval")


def require_defined(expression: sp.Expr, values: Mapping[str, Any]) -> None:
    """InputError where something that is divided by vanishes in the interval, though functions may cancel it."""
    for power in expression.atoms(sp.Pow):
        if power.exp.is_nonnegative is not True and {s.name for s in power.base.free_symbols} <= values.keys():
            base = value_of(power.base, values)
            if isinstance(base, Function):
                require_finite(base.num, base.over)


def ranged(text: object, parameter: Parameter) -> Function | None:
    """The parameter over the interval "low..high" of a text, "low..inf" without an end; None where it is none."""
    low, dots, high = str(text).partition("..")
    if not dots:
        return None
    return variable(Interval(parameter, as_fraction(low), None if high.strip() in UP else as_fraction(high)))
