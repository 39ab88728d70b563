"""What a claim divides by or takes a root of, and whether that is positive: by proof, or at drawn points."""

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
# What is never negative of any run.
ALWAYS = (symbols.L - symbols.mu, symbols.tau - 1, symbols.N - 1, symbols.m - 1, symbols.N - symbols.m)
# Terms of a sum beyond which its sign is not looked for.
MANY_TERMS = 6


def unknown_signs(claim: Any) -> Iterator[tuple[sp.Expr, str]]:
    """What a side divides by or takes a root of though nothing gives it a sign, and the name of its term."""
    defined = [sp.expand(fact.subs(claim.definitions)) for fact in (*_facts(claim), *ALWAYS)]
    facts = [*dict.fromkeys(defined)]
    for base, name in _bases(claim):
        if not never_negative(base, facts) and not never_negative(sp.expand(base.subs(claim.definitions)), facts):
            yield base, name


def _facts(claim: Any) -> list[sp.Expr]:
    """What a claim assumes not to be negative, of the first step too."""
    facts = [part.right - part.left for assumption in claim.assumptions for part in assumption.parts]
    return [*facts, *(fact.subs(symbols.eta, symbols.eta_0) for fact in facts)]


def _bases(claim: Any) -> Iterator[tuple[sp.Expr, str]]:
    """What a side divides by or takes a root of and is not positive by its form, and the name of its term."""
    for name, term in {"the left side": claim.lhs, **claim.terms}.items():
        for power in sorted(sp.sympify(term).atoms(sp.Pow), key=str):
            base, exponent = power.base, power.exp
            odd = exponent.is_negative or (exponent.is_Rational and not exponent.is_Integer)
            if odd and not (exponent.is_Integer and exponent % 2 == 0) and not base.is_nonnegative:
                yield base, name


def seen_negative(claim: Any) -> Iterator[tuple[sp.Expr, str]]:
    """Those of `unknown_signs` that are negative at a drawn point which meets what is assumed: no proof is tried.

    >>> [*seen_negative(claim_named("star-step"))]  # assumes eta <= 1/(2 L)
    []
    """
    for base, name in _bases(claim):
        least, *facts = (sp.sympify(item).subs(claim.definitions) for item in (base, *_facts(claim)))
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


def never_negative(base: sp.Expr, facts: Sequence[sp.Expr], depth: int = 2) -> bool:
    """Whether an expression is at least 0 as the sum of such expanded facts, times what is positive, and of what is.

    >>> L, eta = symbols.L, symbols.eta
    >>> never_negative(1 - L * eta, [1 / (4 * L) - eta]), never_negative(1 - 5 * L * eta, [1 / (4 * L) - eta])
    (True, False)
    """
    if base.is_nonnegative or any(sp.cancel(fact / base).is_positive for fact in facts):
        return True
    if not depth or len(sp.Add.make_args(base)) > MANY_TERMS:
        return False
    for fact in facts:
        for ours in sp.Add.make_args(base):
            for theirs in sp.Add.make_args(fact):
                times = sp.cancel(ours / theirs)
                if times.is_positive and not theirs.is_nonnegative:
                    rest = sp.expand(base - times * fact)
                    if never_negative(rest, facts, depth - 1):
                        return True
    return False
