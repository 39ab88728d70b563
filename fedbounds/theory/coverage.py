"""What a verdict covers: a set of experiments, in words and as data."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import sympy as sp

from fedbounds.theory import symbols
from fedbounds.theory.assumption import Part

Number = int | float | Fraction

# The axes of a set of experiments, in the order of a sentence; a set that does not name an axis covers all of it.
AXES = {
    "problem": "the problem",
    "kappa": "kappa = L/mu",
    "tau": "tau",
    "local_step": "local step",
    "eta_L": "eta L at every step",
    "gradients": "gradients",
    "participation": "C",
    "N": "N",
    "weights": "weights",
    "weight_ratio": "alpha_i/p_i",
    "rho_bar": "rho_bar",
    "rho_tilde": "rho_tilde",
    "L": "L",
    "T": "T",
}

# By what an experiment in floating point may be off the fractions that name it, relatively.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Span:
    """[low, high], less its ends where ``above`` or ``below``; where ``constant``, of steps that are all the same."""

    low: Number = -math.inf
    high: Number = math.inf
    above: bool = False
    below: bool = False
    constant: bool = False

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, Number) or not self.low <= value <= self.high:
            return False
        return not (value == self.low and self.above) and not (value == self.high and self.below)

    def __str__(self) -> str:
        same = ", the same at each" * self.constant
        if self.low == self.high:
            return f"= {self.low}"
        if math.isinf(self.high):
            return f"{'>' if self.above else '>='} {self.low}{same}"
        if math.isinf(self.low):
            return f"{'<' if self.below else '<='} {self.high}{same}"
        return f"in {'(' if self.above else '['}{self.low}, {self.high}{')' if self.below else ']'}{same}"


@dataclass(frozen=True)
class Along:
    """Values that depend on another axis: num/den at each step, as coefficients with the constant first."""

    axis: str
    quotients: tuple[tuple[tuple[Fraction, ...], tuple[Fraction, ...]], ...]

    def __post_init__(self) -> None:
        parts = [part for quotient in self.quotients for part in quotient]
        pairs = all(len(quotient) == 2 and any(quotient[1]) for quotient in self.quotients)
        if self.axis not in AXES or not pairs or not all(isinstance(c, Fraction) for part in parts for c in part):
            raise ValueError("values that depend on another axis need its name, and num and den at each step")

    def at(self, instance: Mapping[str, object]) -> frozenset[Any]:
        """The values where the other axis has the instance's one value; none where they cannot be told."""
        value = instance.get(self.axis)
        value = next(iter(value)) if isinstance(value, Collection) and len(value) == 1 else value
        if not isinstance(value, Number) or not math.isfinite(value):
            return frozenset()
        value = Fraction(value)
        num, den = ([sum(c * value**k for k, c in enumerate(q[j])) for q in self.quotients] for j in (0, 1))
        there = tuple(a / b for a, b in zip(num, den, strict=True)) if all(den) else ()
        return frozenset({there, *there} if len(set(there)) == 1 else {there})

    def __str__(self) -> str:
        text = [_quotient(self.axis, *quotient) for quotient in self.quotients]
        return f"= {text[0]}" if len(set(text)) == 1 else f"= ({', '.join(text)})"


@lru_cache(maxsize=512)
def _quotient(axis: str, *parts: tuple[Fraction, ...]) -> str:
    """num/den in lowest terms, as text."""
    num, den = (sp.Poly([sp.Rational(c) for c in part[::-1]], sp.Symbol(axis)).as_expr() for part in parts)
    return str(sp.cancel(num / den))


FLAGS = ("above", "below", "constant")
Region = Span | Along | frozenset[Any]


@dataclass(frozen=True)
class Coverage:
    """A set of experiments: for each axis named, a `Span` or a finite set of values; other axes are unrestricted.

    ``Coverage()`` is every experiment. A value may be a number, a word ("full" and "stochastic" gradients) or a
    tuple of numbers (step sizes one after the other).
    """

    axes: Mapping[str, Region] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = self.axes.keys() - AXES.keys()
        if unknown:
            raise ValueError(f"no axis of experiments is called {min(unknown)!r}: {', '.join(AXES)}")

    def contains(self, instance: Mapping[str, object]) -> bool:
        """Whether an experiment surely lies in the set: every axis that the set restricts is known and inside.

        ``instance`` maps an axis to its value, or to a collection of values (the steps of a run), all inside.
        """
        return all(axis in instance and _inside(instance, axis, region) for axis, region in self.axes.items())

    def includes(self, other: Coverage) -> bool:
        """Whether every experiment of another set surely lies in this one."""
        return all(_covers(region, axis, other) for axis, region in self.axes.items())

    def words(self, claimed: Coverage | None = None) -> str:
        """The set in words; with ``claimed`` also what the claim speaks of beyond it."""
        text = ", ".join(_phrase(axis, self.axes[axis]) for axis in AXES if axis in self.axes) or "every experiment"
        wider = [axis for axis in AXES if axis in self.axes and not _covers(self.axes[axis], axis, claimed)]
        if claimed is None or not wider:
            return text
        named = [words for axis in wider if (words := BEYOND.get((axis, self.axes[axis])))]
        others = [OTHER.get(axis, AXES[axis]) for axis in wider if (axis, self.axes[axis]) not in BEYOND]
        named += [f"other {', '.join(others)}"] if others else []
        return f"{text}; the claim also speaks of {' and '.join(named)}"

    def to_json(self) -> dict[str, Any]:
        """The set as a JSON object: axis -> {low, high} or a list of values; rationals as text."""
        return {axis: _to_json(region) for axis, region in self.axes.items()}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Coverage:
        """The set that `to_json` wrote."""
        return Coverage({axis: _from_json(region) for axis, region in data.items()})


def only(*values: object) -> frozenset[Any]:
    """The region of an axis that has these values only."""
    return frozenset(values)


# What a claim speaks of beyond a region, where that has a name, and how the other values of an axis are called.
BEYOND: Mapping[tuple[str, object], str] = {
    ("gradients", only("full")): "stochastic gradients",
    ("gradients", only("stochastic")): "full gradients",
    **{("participation", region): "partial participation" for region in (Span(1, 1), only(1))},
}
OTHER = {"problem": "problems"}


def weights_in_words(alpha: Collection[Fraction], p: Collection[Fraction]) -> str:
    """alpha and p as a value of an axis, clients in an order of their own: renaming them changes nothing."""
    pairs = sorted(zip(alpha, p, strict=True), reverse=True)
    return "alpha = ({}), p = ({})".format(*(", ".join(str(pair[k]) for pair in pairs) for k in (0, 1)))


# Symbols that lie on an axis; of weight_ratio one bounds the low end and one the high end.
ON_AXIS = {"C": "participation", "tau": "tau", "N": "N", "T": "T", "pi_min": "weight_ratio", "pi_max": "weight_ratio"}
ONE_ENDED = {"pi_min": "low", "pi_max": "high"}


@lru_cache(maxsize=512)
def coverage_of_relations(parts: tuple[Part, ...]) -> Coverage:
    """A set that holds every experiment in which the relations ``parts`` of a claim hold.

    Read off relations between one symbol and a number, limits on eta L, the step size a claim asks for, and
    sigma^2 = 0; what cannot be read so restricts nothing.
    """
    axes: dict[str, Any] = {}
    for part in parts:
        if part.sign == "=" and {part.left, part.right} == {symbols.sigma_sq, sp.Integer(0)}:
            axes["gradients"] = only("full")
        for axis, end, value in _ends(part):
            axes[axis] = _narrowed(axes.get(axis, Span()), end, value, part.sign == "<")
    return Coverage(axes)


def _narrowed(span: Span, end: str, value: Number, strict: bool) -> Span:
    """What of a span lies on the right side of a value, which is left out where ``strict``."""
    if end == "low":
        low, above = max((span.low, span.above), (value, strict))
        return replace(span, low=low, above=above)
    high, closed = min((span.high, not span.below), (value, not strict))
    return replace(span, high=high, below=not closed)


def _ends(part: Part) -> Iterable[tuple[str, str, Number]]:
    """(axis, "low" or "high", value) that a relation says of an axis."""
    for symbol, value, end in ((part.left, part.right, "high"), (part.right, part.left, "low")):
        axis = ON_AXIS.get(str(symbol)) if symbols.QUANTITIES.get(str(symbol)) == symbol else None
        if axis is not None and value.is_positive and value.is_Rational:
            sides = ("low", "high") if part.sign == "=" else (end,)
            yield from ((axis, side, _plain(value)) for side in sides if ONE_ENDED.get(str(symbol), side) == side)
    if part.sign != "=" and part.right in (symbols.eta, symbols.L * symbols.eta):
        least = sp.cancel(part.left * symbols.L * symbols.eta / part.right)
        yield from [("eta_L", "low", _plain(least))] * bool(least.is_Rational and least > 0)
    product = sp.Symbol("product", nonnegative=True)
    if part.left == symbols.eta and part.sign == "=":
        largest = _largest_step(part.right)
        yield from () if largest is None else (("eta_L", "high", _plain(largest)),)
    elif symbols.eta in part.left.free_symbols and part.right.is_Rational:
        # The rest of a sum of terms known to be >= 0 is at least 0, so that leaving it out allows more.
        left = sp.expand(part.left.subs(symbols.eta, product / symbols.L))
        slope = sp.Add(*(term for term in sp.Add.make_args(left.coeff(product, 1)) if term.is_Rational))
        signs = all(symbols.QUANTITIES.get(s.name) is s for s in left.free_symbols - {product})
        if slope > 0 and signs and all(term.is_nonnegative for term in sp.Add.make_args(left)):
            ends = ("high", "low") if part.sign == "=" and left == slope * product else ("high",)
            yield from (("eta_L", end, _plain(part.right / slope)) for end in ends)


def _largest_step(eta: sp.Expr) -> sp.Rational | None:
    """The largest eta_t L of a step size that does not grow with t, where one of its limits is a number."""
    limits = sp.Min.make_args(eta)
    products = [sp.cancel(limit.subs(symbols.t, 0) * symbols.L) for limit in limits]
    if not all(sp.diff(limit, symbols.t).is_nonpositive for limit in limits):
        return None
    return min((product for product in products if product.is_Rational), default=None)


def _plain(value: sp.Rational) -> Number:
    return int(value) if value.is_Integer else Fraction(int(value.p), int(value.q))


def _inside(instance: Mapping[str, object], axis: str, region: Region) -> bool:
    value = instance[axis]
    region = region.at(instance) if isinstance(region, Along) else region
    if isinstance(region, frozenset) and any(_near(value, entry) for entry in region):
        return True
    if isinstance(region, Span) and region.constant and isinstance(value, Collection) and len(set(value)) > 1:
        return False
    if isinstance(value, Collection) and not isinstance(value, str) and value not in region:
        return len(value) > 0 and all(item in region for item in value)
    return value in region


def _near(value: object, other: object) -> bool:
    """Whether numbers, or tuples of them, are the same up to a float's rounding, where one is a float."""
    if isinstance(value, tuple) and isinstance(other, tuple):
        return len(value) == len(other) and all(map(_near, value, other))
    if not (isinstance(value, Number) and isinstance(other, Number)):
        return False
    return value == other or (float in (type(value), type(other)) and math.isclose(value, other, rel_tol=ROUNDING))


def _covers(region: Region, axis: str, claimed: Coverage | None) -> bool:
    """Whether the region holds all that the claim speaks of on this axis."""
    wanted = None if claimed is None else claimed.axes.get(axis)
    if wanted is None or isinstance(wanted, Along) or isinstance(region, Along):
        return False
    if isinstance(wanted, Span) and wanted.low == wanted.high:
        return wanted.low in region
    if isinstance(wanted, Span):
        if not isinstance(region, Span) or (region.constant and not wanted.constant):
            return False
        low = wanted.low in region or (wanted.above and wanted.low == region.low)
        return low and (wanted.high in region or (wanted.below and wanted.high == region.high))
    return all(value in region for value in wanted)


def _phrase(axis: str, region: Region) -> str:
    if not isinstance(region, frozenset):
        return f"{AXES[axis]} {region}"
    texts = (f"({', '.join(map(str, value))})" if isinstance(value, tuple) else str(value) for value in region)
    values = " or ".join(sorted(texts))
    if axis == "gradients":
        return f"{values} gradients"
    return f"{AXES[axis]} {values}" if axis in ("problem", "weights") else f"{AXES[axis]} = {values}"


def _to_json(region: Region) -> Any:
    if isinstance(region, Along):
        quotients = [_number(quotient) for quotient in region.quotients]
        return {"low": None, "high": None, "of": region.axis, "quotients": quotients}
    if isinstance(region, Span):
        ends = {"low": _number(region.low), "high": _number(region.high)}
        return ends | {name: True for name in FLAGS if getattr(region, name)}
    return sorted((_number(value) for value in region), key=str)


def _number(value: Any) -> Any:
    if isinstance(value, Fraction):
        return {"rational": str(value)}
    if isinstance(value, tuple):
        return {"sequence": [_number(item) for item in value]}
    return None if isinstance(value, float) and math.isinf(value) else value


def _from_json(data: Any) -> Region:
    if isinstance(data, list):
        return frozenset(_read(value, 0) for value in data)
    if data.get("of") is not None:
        return Along(data["of"], tuple(_read(quotient, 0) for quotient in data["quotients"]))
    flags = {name: data.get(name, False) for name in FLAGS}
    return Span(_read(data["low"], -math.inf), _read(data["high"], math.inf), **flags)


def _read(value: Any, missing: float) -> Any:
    if value is None:
        return missing
    if not isinstance(value, dict):
        return value
    return Fraction(value["rational"]) if "rational" in value else tuple(_read(x, missing) for x in value["sequence"])
