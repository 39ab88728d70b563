"""Vectors and expressions of a performance-estimation programme, written as on paper: ``(x - y) @ g``.

Numbers are floats for a solver, flint's rationals for a certificate, or functions of one parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple, Self

from fedbounds.evidence.sdp.rational_functions import Function, rational

Arithmetic = Callable[[Fraction], Any]


class Symbol(NamedTuple):
    """A vector or value of a programme: a letter, its client and its step, each -1 where there is none."""

    letter: str
    client: int = -1
    step: int = -1

    def __str__(self) -> str:
        client = "" if self.client < 0 else str(self.client)
        return f"{self.letter}{client}" if self.step < 0 else f"{self.letter}{client}.{self.step}"


def exact(value: Any) -> Any:
    """The arithmetic of certificates: flint's rationals; functions of a parameter stay what they are."""
    return value if isinstance(value, Function) else rational(value)


class Linear:
    """sum_k c_k (what k names), as ``terms`` {k: c_k}."""

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[Any, Any] | None = None) -> None:
        self.terms = {key: value for key, value in (terms or {}).items() if value != 0}

    def __add__(self, other: Self) -> Self:
        terms = dict(self.terms)
        for key, value in other.terms.items():
            terms[key] = terms[key] + value if key in terms else value
        return type(self)(terms)

    def __mul__(self, number: Any) -> Self:
        return type(self)({key: value * number for key, value in self.terms.items()})

    __rmul__ = __mul__

    def __neg__(self) -> Self:
        return self * -1

    def __sub__(self, other: Self) -> Self:
        return self + -other

    @classmethod
    def mean(cls, weights: Iterable[Any], items: Iterable[Self]) -> Self:
        """sum_i weight_i item_i."""
        terms: dict[Any, Any] = {}
        for weight, item in zip(weights, items, strict=True):
            for key, value in item.terms.items():
                terms[key] = terms[key] + value * weight if key in terms else value * weight
        return cls(terms)


class Vector(Linear):
    """A linear combination of the vectors of a programme; ``u @ v`` is the inner product."""

    def __matmul__(self, other: Vector) -> Expression:
        terms: dict[Any, Any] = {}
        for a, x in self.terms.items():
            for b, y in other.terms.items():
                key = (a, b) if a <= b else (b, a)
                terms[key] = terms[key] + x * y if key in terms else x * y
        return Expression(terms)

    @property
    def squared(self) -> Expression:
        """||v||^2."""
        return self @ self


class Expression(Linear):
    """A linear combination of inner products, named by two symbols, and of values, named by one."""


class Point(NamedTuple):
    """A point of one client: position x from w*, gradient g, function value f."""

    label: str
    x: Vector
    g: Vector
    f: Expression


class Constraint(NamedTuple):
    """``expression`` >= 0 on the class; kind, client (-1: of all) and points say which inequality it is."""

    kind: str
    client: int
    at: str
    expression: Expression

    @property
    def label(self) -> str:
        """As certificates write it."""
        return " ".join(part for part in (self.kind, str(self.client) if self.client >= 0 else "", self.at) if part)


def interpolation(a: Point, b: Point, mu: Any, L: Any) -> Expression:
    """f_a - f_b - <g_b, x_a - x_b> - (||dg||^2 + mu L ||dx||^2 - 2 mu <dg, dx>) / (2 (L - mu)) >= 0.

    Over all pairs of points these are necessary and sufficient for a function of the class through them
    (Taylor, Hendrickx and Glineur, 2017, Theorem 4).
    """
    dx, dg = a.x - b.x, a.g - b.g
    bent = dg.squared + dx.squared * (mu * L) - dg @ dx * (2 * mu)
    inequality: Expression = a.f - b.f - b.g @ dx - bent * (1 / (2 * (L - mu)))
    return inequality
