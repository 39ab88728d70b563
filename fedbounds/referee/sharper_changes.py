"""Changes that make a claim stronger: smaller terms, fewer assumptions, wider limits on steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import sympy as sp

from fedbounds.referee.implication import SLACK, never_negative
from fedbounds.referee.mutants import parts, scaled_term
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim

# Limits on steps, each wider than the one before.
STEP_LIMITS = (a.quarter_steps, a.small_steps, a.steps_up_to_2_over_L_plus_mu)
# What every problem has: L >= mu and tau >= 1.
LIMITS = {symbols.L: symbols.mu + SLACK[0], symbols.tau: 1 + SLACK[1]}
Change = tuple[str, Claim]


def without(claim: Claim, item: Assumption) -> Iterator[tuple[str, Claim]]:
    """The claim without an assumption, or with a longer step than it allows."""
    rest = tuple(other for other in claim.assumptions if other != item)
    yield f"without: {item.statement}", replace(claim, assumptions=rest)
    if item in STEP_LIMITS:
        for longer in reversed(STEP_LIMITS[STEP_LIMITS.index(item) + 1 :]):
            yield f"{longer.statement} in place of {item.statement}", replace(claim, assumptions=(*rest, longer))


def limited(claim: Claim, share: sp.Expr, item: Assumption) -> Change | None:
    """The claim for steps up to a limit over a share, which is above 1 where steps are to be shorter."""
    if share == 0:
        return None
    relation = tuple(sp.Le(part.left, part.right / share, evaluate=False) for part in item.parts)
    words = " and ".join(f"{part.lhs} <= {part.rhs}" for part in relation)
    other = Assumption(f"{item.key}-over-{share}", words, relation)
    rest = tuple(other for other in claim.assumptions if other != item)
    than = f" in place of {item.statement}" if item in claim.assumptions else ""
    return words + than, replace(claim, assumptions=(*rest, other))


def less(claim: Claim, share: sp.Expr, name: str, k: int = 0) -> Change | None:
    """A term, or the part of it with that number, times a share, or over it where that makes the term smaller."""
    there = [part for part in parts(claim) if part.term == name]
    factors = (share, 1 / share) if share != 0 else (share,)
    changed = (smaller(claim, name, scaled_term(claim, part, x)) for part in there[k : k + 1] for x in factors)
    return next((change for change in changed if change is not None), None)


def in_tau(claim: Claim, share: sp.Expr, name: str) -> Change | None:
    """A term with (tau - 1)^2 + share in place of tau^2."""
    square = sp.Dummy(nonnegative=True)
    return _squared(claim, name, square + share, {square: (symbols.tau - 1) ** 2})


def once(claim: Claim, share: sp.Expr, name: str) -> Change | None:
    """A term with share tau^2 + 1 - share in place of tau^2."""
    return _squared(claim, name, share * symbols.tau**2 + 1 - share, {})


def _squared(claim: Claim, name: str, squared: sp.Expr, put: Mapping[sp.Symbol, sp.Expr]) -> Change | None:
    term = sp.sympify(claim.terms[name])
    if not term.has(symbols.tau**2):
        return None
    return smaller(claim, name, sp.expand(term.xreplace({symbols.tau**2: squared})).xreplace(put))


def smaller(claim: Claim, name: str, term: sp.Expr) -> Change | None:
    """The claim with another term, if that is smaller."""
    stated = sp.sympify(claim.terms[name])
    if stated == term or not never_negative(stated - term, LIMITS):
        return None
    what = f"without {stated}" if term == 0 else f"{term} in place of {stated}"
    return f"{name}: {what}", replace(claim, terms={**claim.terms, name: term})
