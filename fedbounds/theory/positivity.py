"""What a claim divides by or takes a root of, and whether that is positive at drawn points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from fedbounds.theory import symbols

# Points that are drawn to see a sign, and the symbols that are whole numbers at them.
POINTS, WHOLE = 400, ("t", "T", "T_run", "R", "tau", "N", "m")


def _facts(claim: Any) -> list[sp.Expr]:
    """What a claim assumes not to be negative, of the first step too."""
    parts = [part for assumption in claim.assumptions for part in assumption.parts]
    facts = [part.right - part.left for part in parts if part.sign != "="]
    return [*facts, *(fact.subs(symbols.eta, symbols.eta_0) for fact in facts)]


def _bases(claim: Any) -> Iterator[tuple[sp.Expr, str]]:
    """What a side divides by or takes a root of and is not positive by its form, and the name of its term."""
    for name, term in {"the left side": claim.lhs, **claim.terms}.items():
        for power in sorted(sp.sympify(term).atoms(sp.Pow), key=str):
            base, exponent = power.base, power.exp
            odd = exponent.is_negative or (exponent.is_Rational and not exponent.is_Integer)
            if odd and not (exponent.is_Integer and exponent % 2 == 0) and not base.is_nonnegative:
                yield base, name


def unknown_signs(claim: Any) -> Iterator[tuple[sp.Expr, str]]:
    """What a side divides by or takes a root of, negative at a drawn point that meets what is assumed; and its term.

    >>> [*unknown_signs(claim_named("star-step"))]  # assumes eta <= 1/(2 L)
    []
    """
    parts = (part for assumption in claim.assumptions for part in assumption.parts)
    equal = {part.left: part.right for part in parts if part.sign == "=" and part.left.is_Symbol}
    for base, name in _bases(claim):
        least, *facts = (sp.sympify(item).subs(claim.definitions).subs(equal) for item in (base, *_facts(claim)))
        drawn = _drawn(sorted(set().union(*(item.free_symbols for item in (least, *facts))), key=str))
        with np.errstate(all="ignore"):
            met = np.all([np.ones(POINTS), *(_at(fact, drawn) >= 0 for fact in facts)], axis=0)
            if np.any(met & (_at(least, drawn) < 0)):
                yield base, name


def _at(expression: sp.Expr, values: Mapping[sp.Symbol, NDArray[np.float64]]) -> NDArray[np.float64]:
    """An expression of sums, products, powers, maxima and minima at points; nan of another."""
    if expression.is_Symbol or expression.is_number:
        return values[expression] if expression.is_Symbol else np.full(POINTS, float(expression))
    parts = [_at(part, values) for part in expression.args]
    join = {sp.Add: np.add, sp.Mul: np.multiply, sp.Pow: np.power, sp.Max: np.maximum, sp.Min: np.minimum}
    how = join.get(expression.func)
    return np.full(POINTS, np.nan) if how is None else reduce(how, parts)


def _drawn(names: Sequence[sp.Symbol]) -> dict[sp.Symbol, NDArray[np.float64]]:
    """Values of symbols at random, with L >= mu, times that are whole numbers, and steps about 1/L and far below."""
    rng = np.random.default_rng(0)
    powers = {symbol: 10.0 ** rng.uniform(-1, 1, POINTS) for symbol in names}
    mu = 10.0 ** rng.uniform(-1, 1, POINTS)
    L = mu * 10.0 ** rng.uniform(0, 2, POINTS)
    values = {"mu": mu, "L": L} | {name: rng.choice([1.0, 2, 3, 5, 20], POINTS) for name in WHOLE}
    values |= {name: 10.0 ** rng.uniform(-3, 1, POINTS) / L for name in ("eta", "eta_0")}
    signs = {symbol: 1 if symbol.is_nonnegative else rng.choice([-1, 1], POINTS) for symbol in names}
    return {symbol: values.get(symbol.name, powers[symbol] * signs[symbol]) for symbol in names}
