"""Steps tuned to the horizon, as eta = c/sqrt(T) or its minimum with c/L, are cases of every constant step.

Of a bound a start/(eta T) + sum_k eta^k v_k on every constant step, eta = min(A, B) makes at most a start/(A T) +
a start/(B T) + sum_k B^k v_k. So a claim whose bound is the latter follows from one whose bound is the former.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import sympy as sp

from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim, Kind

T, L, mu = sy.T, sy.L, sy.mu
# What a bound on a sum of gaps or of slopes has of the start, over eta T.
SHARES = (sp.Rational(1, 2), sp.Integer(1), sp.Integer(2))
WHY = "For the step that is tuned to T this is at most the bound of the statement."


def at_any_step(claim: Claim) -> Iterator[tuple[Claim, str]]:
    """Claims about every constant step up to a limit that imply one about a tuned step, each with why."""
    if claim.scope != "horizon" or claim.repair is not None or not claim.tuned or claim.eta is None:
        return
    if claim.kind is not Kind.INEQUALITY:  # a bound for every step is at least that for the tuned one
        return
    size = sp.sympify(claim.eta).xreplace(dict(claim.definitions))
    if any("step" in getattr(symbol, "scopes", ()) or symbol in (sy.t, sy.eta_0) for symbol in size.free_symbols):
        return  # steps of one run must be alike
    pieces = size.args if isinstance(size, sp.Min) else (size,)
    falling, fixed = ([piece for piece in pieces if piece.has(T) == of_time] for of_time in (True, False))
    if len(falling) != 1 or not all(piece.free_symbols <= {L, mu} for piece in fixed):
        return
    first = falling[0].subs(T, 1)
    power = sp.powdenest(falling[0] / first, force=True).as_base_exp() if first.is_finite is not False else ()
    if not (power and power[0] == T and power[1].is_negative):  # then it is at most ``first``, as T >= 1
        return
    fixed = fixed or [first] * (first.free_symbols <= {L, mu})
    limits = tuple(
        Assumption(f"tuned-limit-{k}", f"eta <= {piece}", sp.Le(sy.eta / piece, 1, evaluate=False))
        for k, piece in enumerate(fixed)
    )
    claimed = sp.Add(*claim.terms.values()).xreplace(dict(claim.definitions))
    if size == first / sp.sqrt(T):
        direct = claimed.xreplace({1 / sp.sqrt(T): sy.eta_0 / first})
        if not _has_roots(direct):
            yield _with_constant_steps(claim, direct, limits), WHY
    symbols = claimed.free_symbols | size.free_symbols
    if not all(symbol.is_nonnegative for symbol in symbols):
        return
    roots = {symbol: sp.Dummy(symbol.name, positive=True) for symbol in symbols}
    for start in {sy.Delta_0, sy.gap_0} & symbols:
        for share in SHARES:
            spent = share * start / T * sp.Add(*(1 / piece for piece in pieces))
            bound = _at_any_step(_in_roots(claimed - spent, roots), _in_roots(falling[0], roots), roots)
            if bound is not None:
                yield _with_constant_steps(claim, share * start / (T * sy.eta_0) + bound, limits), WHY


def _with_constant_steps(claim: Claim, bound: sp.Expr, limits: tuple[Assumption, ...]) -> Claim:
    return replace(claim, eta=sy.eta_0, terms={"all": bound}, assumptions=(*claim.assumptions, *limits))


def _in_roots(expression: sp.Expr, roots: Mapping[sp.Symbol, sp.Symbol]) -> sp.Expr:
    """An expression in the roots of its symbols, in which it has none itself."""
    return sp.expand(sp.powdenest(expression.xreplace({s: root**2 for s, root in roots.items()}), force=True))


def _at_any_step(rest: sp.Expr, size: sp.Expr, roots: Mapping[sp.Symbol, sp.Symbol]) -> sp.Expr | None:
    """What a bound has beside the start, with the step for the falling ``size``; None where it is not so made."""
    back = {root: sp.sqrt(symbol) for symbol, root in roots.items()}
    total = sp.Integer(0)
    for term in sp.Add.make_args(rest):
        k = -term.as_powers_dict().get(roots[T], 0)
        value = term.xreplace(back)
        if _has_roots(value) and k > 0:  # eta^k is at most that of the falling size
            value = sy.eta_0**k * sp.cancel(term / size**k).xreplace(back)
        if not term.is_nonnegative or _has_roots(value):
            return None
        total += value
    return total


def _has_roots(value: sp.Expr) -> bool:
    return any(not power.exp.is_Integer for power in value.atoms(sp.Pow))
