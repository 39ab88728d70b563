"""The value of an expression of points on a path of a run, in floats or in fractions; and its units.

Units are powers of (metre, joule), where w is in metres and F in joules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from fedbounds.errors import InputError, reject
from fedbounds.theory import points as at
from fedbounds.theory import sample_path as on
from fedbounds.theory.sample_path import Losses, Numbers, Path
from fedbounds.theory.vector_normal_form import depends
from fedbounds.theory.vectors import Centre, Grad, Inner, Loss, Mean, Vec

# Points that are there before each step, not at the last time.
BEFORE_A_STEP = (at.w_i, at.w_next, at.w_i_next, at.w_alpha, at.ALPHA, at.weight_ratio)


@dataclass(frozen=True)
class PointFormula:
    """A quantity's ``on_path``: the value of an ``expression`` on a path (T,) or (T + 1,), or on losses."""

    expression: sp.Expr

    def __call__(self, on_what: Any) -> Numbers:
        return _Values.of(on_what, self.expression)

    @property
    def units(self) -> tuple[int, int]:
        """Powers of (metre, joule). An InputError where terms do not agree."""
        return powers(self.expression)


@dataclass(frozen=True)
class WeightedGap:
    """A quantity's ``on_path``: F - F* at the mean of w_t over T // tail <= t < T, over all t < T where it is 0.

    Proofs read weights that are written as a polynomial in t.
    """

    weights: Callable[[Path], Numbers] | sp.Expr
    tail: int = 0

    def __call__(self, path: Path) -> Numbers:
        return path.losses.gap(self.averages(self.coefficients(path), path.w))

    def averages(self, c: Numbers, w: Numbers) -> Numbers:
        """The mean at every T (..., T + 1, d), of c (..., T) and w (..., T + 1, d)."""
        return on.averages(c, w, self.tail)

    def coefficients(self, path: Path) -> Numbers:
        """c_t (T,) on a path."""
        weights = self.weights
        return PointFormula(weights)(path)[: len(path.eta)] if isinstance(weights, sp.Expr) else weights(path)


@dataclass(frozen=True)
class LaterGap(WeightedGap):
    """F - F* at the mean of w_1 ... w_T, which no proof reads."""

    def averages(self, c: Numbers, w: Numbers) -> Numbers:
        """The mean at every T; w_0 at T = 0."""
        means = on.averages(c, np.append(w[..., 1:, :], w[..., -1:, :], axis=-2))
        return np.append(w[..., :1, :], means[..., 1:, :], axis=-2)


@dataclass(frozen=True)
class StepSum:
    """A quantity's ``on_path``: the sum of a product of quantities over t < T, or at the finished rounds' starts."""

    term: sp.Expr
    of_rounds: bool = False

    def __lt__(self, other: StepSum) -> bool:
        """An order of copies of one symbol, which sympy sorts by."""
        return str(self) < str(other)

    def __call__(self, path: Path) -> Numbers:
        product: Any = 1
        for factor, power in sp.sympify(self.term).as_powers_dict().items():
            product = product * factor.on_path(path)[: len(path.eta)] ** int(power)
        if self.of_rounds:
            return on.sums(product[:: path.tau])[path.begun // path.tau]
        return on.sums(product)


@dataclass(frozen=True)
class _Values:
    """What expressions are worth at ``steps`` times: numbers (..., T, N or 1), vectors (..., T, N or 1, d)."""

    losses: Losses
    path: Path
    steps: int

    @classmethod
    def of(cls, on_what: Any, expression: sp.Expr) -> Numbers:
        if not isinstance(on_what, Path):
            return cls(on_what, None, 1).number(expression)[..., 0, 0]  # type: ignore[arg-type]
        short = expression.has(*BEFORE_A_STEP) or any(getattr(s, "scopes", ()) for s in expression.free_symbols)
        times = len(on_what.eta) + (not short)
        values = cls(on_what.losses, on_what, times).number(expression)[..., 0]
        return np.broadcast_to(values, (*values.shape[:-1], times))

    def number(self, expression: sp.Expr) -> Numbers:
        """(..., T or 1, N or 1)."""
        if expression.is_Rational:
            exact = self.losses.p.dtype == object
            value = Fraction(int(expression.p), int(expression.q)) if exact else float(expression)
            return np.full((1, 1), value, dtype=self.losses.p.dtype)
        if isinstance(expression, sp.Add):
            return sum(map(self.number, expression.args[1:]), self.number(expression.args[0]))
        if isinstance(expression, sp.Mul):
            return math.prod(map(self.number, expression.args[1:]), start=self.number(expression.args[0]))
        if isinstance(expression, sp.Pow) and expression.exp.is_Integer:
            base = self.number(expression.base)
            return base ** int(expression.exp) if expression.exp > 0 else 1 / base ** int(-expression.exp)
        if isinstance(expression, Inner):
            left, right = map(self.vector, expression.args)
            return (left * right).sum(-1)
        if isinstance(expression, Mean):
            return self._mean(*expression.args)
        if isinstance(expression, Loss):
            return self._of_each(self.losses.excess, self.vector(expression.args[0]))
        return self._named(expression)

    def _named(self, atom: sp.Expr) -> Numbers:
        """A number of the setting."""
        if atom == at.F_i_star:
            return np.zeros((1, 1), dtype=int)
        if atom in (at.P, at.ALPHA, at.p_i):
            return self.path.alpha if atom == at.ALPHA else self.losses.p[None]
        if atom == at.weight_ratio:
            return self.path.alpha / self.losses.p
        kind = getattr(atom, "statistic", "")
        if kind == "constant":
            return np.array([[atom.on_path(self.losses)]], dtype=self.losses.p.dtype)
        if kind == "scheduled":
            return atom.on_path(self.path)[: self.steps, None]
        raise ValueError(f"{atom} has no value on a path")

    def vector(self, expression: sp.Expr) -> Numbers:
        """(..., T or 1, N or 1, d)."""
        if isinstance(expression, sp.Add):
            return sum(map(self.vector, expression.args[1:]), self.vector(expression.args[0]))
        if isinstance(expression, sp.Mul):
            (vector,) = (factor for factor in expression.args if at.is_vector(factor))
            return self.number(expression / vector)[..., None] * self.vector(vector)
        if isinstance(expression, Centre):
            weights, inside = self._named(expression.args[0]), self.vector(expression.args[1])
            return (weights[..., None] * inside).sum(-2, keepdims=True)
        if isinstance(expression, Grad):
            return self._of_each(self.losses.grads, self.vector(expression.args[0]), vectors=True)
        return self._point(expression)

    def _point(self, atom: sp.Expr) -> Numbers:
        if atom == at.w_star:
            return self.losses.w_star[None, None]
        if atom == at.w_i_star:
            return self.losses.w_i_star[None]
        if atom == at.w_i:
            return self.path.X
        if atom == at.w_i_next:
            if self.path.X_next is None:
                raise ValueError("the local models after a step are not known on this path")
            return self.path.X_next
        if atom in (at.w_0, at.v):  # where any point may stand, one that the path has visited
            return self.path.w[..., :1, None, :]
        if atom == at.u:
            return self.path.w[..., np.arange(self.steps) // 2, None, :]
        if atom == at.w_round:
            return self.path.w[..., self.path.begun[: self.steps], None, :]
        if atom == at.w_alpha:
            result = (self.losses.argmin(alpha) for alpha in self.path.alpha)  # type: ignore[attr-defined]
            return np.stack([getattr(item, "w", item) for item in result])[:, None]
        if atom in (at.w, at.w_next):
            later = int(atom == at.w_next)
            return self.path.w[..., later : self.steps + later, None, :]
        raise ValueError(f"{atom} is no point of a path")

    def _of_each(self, function: Callable[[Numbers], Numbers], points: Numbers, vectors: bool = False) -> Numbers:
        """Each client's function at the point of all, or at its own."""
        if points.shape[-2] == 1:
            return function(points[..., 0, :])
        every, clients = function(points), np.arange(points.shape[-2])
        return every[..., clients, clients, :] if vectors else every[..., clients, clients]

    def _mean(self, weights: sp.Expr, inside: sp.Expr) -> Numbers:
        """The mean. Of F_i alone in a p-mean F* is taken off, elsewhere F_i*: `points.fault` lets no shift matter."""
        total, rest = [], sp.Integer(0)
        for term in sp.Add.make_args(sp.expand(inside)):
            (level,) = [f for f in sp.Mul.make_args(term) if isinstance(f, Loss) or f == at.F_i_star] or [None]
            if level is None or weights != at.P or depends(term / level, at.I):
                rest += term
            else:
                total.append(self.number(term / level) * self._level(level))
        if rest != 0:
            total.append((self._named(weights) * self.number(rest)).sum(-1, keepdims=True))
        return sum(total[1:], total[0])

    def _level(self, level: sp.Expr) -> Numbers:
        """sum_i p_i F_i at a point, or of the F_i*, less F*."""
        if level == at.F_i_star:
            return -on.heterogeneity(self.losses)
        (place, _) = level.args
        if place == at.w_star:
            return np.zeros((1, 1), dtype=int)
        points = self.vector(place)
        if points.shape[-2] == 1:
            return self.losses.gap(points[..., 0, :])[..., None]
        excesses = self._of_each(self.losses.excess, points)
        return (self.losses.p * excesses).sum(-1, keepdims=True) - on.heterogeneity(self.losses)


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
    if type(expression) in OF_POINTS or expression == at.F_i_star:
        return tuple(map(sp.Integer, OF_POINTS.get(type(expression), OF_POINTS[Loss])))
    _require_numbers(expression, *expression.args)
    return tuple(map(sp.Integer, getattr(expression, "units", None) or NUMBER))


def _require_numbers(whole: sp.Expr, *parts: sp.Basic) -> None:
    """Refuse a power or a function of what has a unit."""
    for part in parts:
        if isinstance(part, sp.Expr) and any(units_of(part) or NUMBER):
            raise _fault(f"{part} must be a number", whole)


def powers(expression: sp.Expr) -> tuple[int, int]:
    """The same as whole numbers, 0 being a number."""
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
    """Units in words."""
    pairs = zip(units or NUMBER, ("metre", "joule"), strict=True)
    return " ".join(name + (f"^{power}" if power != 1 else "") for power, name in pairs if power) or "a number"


def have_units(parts: Iterable[sp.Expr]) -> bool:
    """Whether the units of every symbol are known."""
    symbols = {symbol for part in parts for symbol in sp.sympify(part).free_symbols}
    return all(getattr(symbol, "units", None) is not None for symbol in symbols)


def _fault(what: str, received: object) -> InputError:
    return reject(what, received, "correct it, or say that units are as written")
