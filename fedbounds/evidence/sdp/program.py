"""A performance-estimation programme: vectors, values, constraints and quantities of a class, written as on paper.

``(x - y) @ g`` is an inner product. Numbers are floats for a solver, flint's rationals for a certificate, or
functions of one parameter. Every quantity is <Q, gram> + q . values, where gram holds the inner products of the
vectors and ``values`` the function values; in coordinates a solver reads them as matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fedbounds.evidence.sdp.functions_on_interval import Function, rational

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

    __slots__ = ()
    apart = False

    def __matmul__(self, other: Vector) -> Expression:
        terms: dict[Any, Any] = {}
        for a, x in self.terms.items():
            for b, y in other.terms.items():
                if not self.apart or a.letter == b.letter:
                    key = (a, b) if a <= b else (b, a)
                    terms[key] = terms[key] + x * y if key in terms else x * y
        return Expression(terms)

    def part(self, letter: str) -> Self:
        """What it has of one letter."""
        return type(self)({key: value for key, value in self.terms.items() if key.letter == letter})

    @property
    def squared(self) -> Expression:
        """||v||^2."""
        return self @ self


class Moment(Vector):
    """A mean and deviations from it, of clients: their inner products are summed over the clients, so do not mix."""

    __slots__ = ()
    apart = True


class Expression(Linear):
    """A linear combination of inner products, named by two symbols, and of values, named by one."""


class Point(NamedTuple):
    """A point of one client: position x from w*, gradient g, function value f."""

    label: str
    x: Vector
    g: Vector
    f: Expression


class Constraint(NamedTuple):
    """``expression`` >= 0 on the class, = 0 of the kind equality; client (-1: of all) and points say which it is."""

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


class Draft:
    """A programme being written: what it has so far, of vectors of a ``kind``, and its constraints."""

    def __init__(self, number: Arithmetic, kind: type[Vector] = Vector) -> None:
        self.number, self.unit, self.kind = number, number(Fraction(1)), kind
        self.vectors, self.values = list[Symbol](), list[Symbol]()
        self.constraints = list[Constraint]()

    def vector(self, letters: Iterable[str], client: int = -1, step: int = -1) -> Any:
        """A new vector, with a part of each letter."""
        new = [Symbol(letter, client, step) for letter in letters]
        self.vectors += new
        return self.kind(dict.fromkeys(new, self.unit))

    def value(self, letter: str, client: int = -1, step: int = -1) -> Expression:
        """A new value."""
        self.values.append(Symbol(letter, client, step))
        return Expression({(self.values[-1],): self.unit})

    def point(self, label: str, x: Vector, letters: Iterable[str], client: int = -1, step: int = -1) -> Point:
        """A new point at x: all letters but the last are those of its gradient, the last is that of its value."""
        *slope, value = letters
        return Point(label, x, self.vector(slope, client, step), self.value(value, client, step))

    def balanced(self, letter: str, weights: Sequence[Fraction]) -> list[Any]:
        """A vector a client with sum_i weight_i vector_i = 0: the others express that of the largest weight."""
        pivot = max(range(len(weights)), key=lambda i: weights[i])
        result = [self.kind() if i == pivot else self.vector([letter], i) for i in range(len(weights))]
        shares = [self.number(weight / weights[pivot]) for weight in weights]
        result[pivot] = -self.kind.mean(shares, result)
        return result

    def interpolate(self, pairs: Iterable[tuple[Point, Point]], mu: Any, L: Any, client: int = -1) -> None:
        """One inequality an ordered pair of points of a client."""
        for a, b in pairs:
            row = interpolation(a, b, mu, L)
            self.constraints.append(Constraint("interpolation", client, f"{a.label}|{b.label}", row))

    def parts(self, order: Sequence[str] = ()) -> dict[str, Any]:
        """What a `Program` is made of; symbols by their letters, clients and steps where an order is given."""

        def sort(symbol: Symbol) -> Any:
            return (order.index(symbol.letter), symbol.client, symbol.step) if order else 0

        vectors, values = (tuple(sorted(symbols, key=sort)) for symbols in (self.vectors, self.values))
        return {"vectors": vectors, "values": values, "constraints": tuple(self.constraints), "number": self.number}


class Form(NamedTuple):
    """<quad, gram> + lin . values in coordinates: quad (n, n) symmetric, lin (q,)."""

    quad: NDArray[Any]
    lin: NDArray[Any]


@dataclass(frozen=True)
class Program:
    """Constraints >= 0 of a class in ``vectors`` and ``values``, and named quantities, made when they are asked for.

    Where ``apart``, vectors of different letters have no inner products: the Gram matrix consists of blocks.
    ``weights`` are (alpha_i, p_i) of the clients, of which those with equal ones may be exchanged.
    """

    vectors: tuple[Symbol, ...]
    values: tuple[Symbol, ...]
    constraints: tuple[Constraint, ...] = field(repr=False)
    number: Arithmetic = field(repr=False)
    quantities: Mapping[str, Callable[[], Expression]] = field(default_factory=dict, repr=False)
    apart: bool = False
    weights: tuple[tuple[Fraction, Fraction], ...] = ()

    @cached_property
    def basis(self) -> tuple[str, ...]:
        """The names of the vectors."""
        return tuple(map(str, self.vectors))

    @cached_property
    def scalars(self) -> tuple[str, ...]:
        """The names of the values."""
        return tuple(map(str, self.values))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The names of the constraints."""
        return tuple(constraint.label for constraint in self.constraints)

    @cached_property
    def _indices(self) -> dict[Symbol, int]:
        return {item: k for symbols in (self.vectors, self.values) for k, item in enumerate(symbols)}

    @cached_property
    def quad(self) -> NDArray[Any]:
        """(m, n, n): those of the constraints."""
        return np.stack([form.quad for form in self._rows])

    @cached_property
    def lin(self) -> NDArray[Any]:
        """(m, q): those of the constraints."""
        return np.stack([form.lin for form in self._rows])

    @cached_property
    def _rows(self) -> list[Form]:
        return [self.form(constraint.expression) for constraint in self.constraints]

    @property
    def blocks(self) -> list[list[int]]:
        """The places of each block's vectors."""
        letters = dict.fromkeys(vector.letter for vector in self.vectors) if self.apart else [""]
        return [[k for k, item in enumerate(self.vectors) if item.letter.startswith(letter)] for letter in letters]

    def __getitem__(self, name: str) -> Expression:
        return self.quantities[name]()

    def sum(self, coefficients: Mapping[str, Any]) -> Expression:
        """sum_k c_k quantity_k."""
        numbers = (self.number(c) if isinstance(c, Fraction) else c for c in coefficients.values())
        return Expression.mean(numbers, map(self.__getitem__, coefficients))

    def coordinates(self, vector: Vector) -> NDArray[Any]:
        """A vector in the basis, (n,)."""
        result = np.full(len(self.vectors), self.number(Fraction(0)))
        for symbol, value in vector.terms.items():
            result[self._indices[symbol]] = value
        return result

    def form(self, expression: Expression) -> Form:
        """An expression in coordinates."""
        zero, n = self.number(Fraction(0)), len(self.vectors)
        quad, lin = np.full((n, n), zero), np.full(len(self.values), zero)
        for key, value in expression.terms.items():
            if len(key) == 1:
                lin[self._indices[key[0]]] = value
            else:
                i, j = (self._indices[item] for item in key)
                quad[i, j] = quad[j, i] = value if i == j else value / 2
        return Form(quad, lin)
