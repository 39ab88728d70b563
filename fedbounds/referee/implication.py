"""A claim inherits the proof of a shipped claim that says at least as much.

The difference of the right sides, with the conditions put in as non-negative slacks, must be a quotient of
polynomials all of whose coefficients are non-negative. This is checked each time, never assumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import sympy as sp

from fedbounds.evidence import kernel
from fedbounds.evidence.symbolic import library
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as s
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim, Kind, OwnSteps
from fedbounds.theory.coverage import Span
from fedbounds.theory.quantity import quantities_on_paths
from fedbounds.theory.reading import READINGS, Reading
from fedbounds.theory.verdict import Evidence, Status, Verdict, word

# Non-negative slacks of the conditions used below, one each.
SLACK = sp.symbols("s1:9", nonnegative=True)


def never_negative(difference: sp.Expr, conditions: Mapping[sp.Symbol, sp.Expr]) -> bool:
    """Whether every coefficient of numerator and denominator is non-negative once the conditions are put in."""
    simultaneous = sp.sympify(difference)
    for symbol, value in conditions.items():
        simultaneous = simultaneous.subs(symbol, value)
    numerator, denominator = (_coefficients(part) for part in sp.fraction(sp.together(simultaneous)))
    return not numerator or _sign(numerator) * _sign(denominator) > 0


def _coefficients(polynomial: sp.Expr) -> Sequence[Any]:
    """Those that are not 0; of both signs where none are read off, for a root or a power with T in it."""
    generators = sorted(polynomial.free_symbols, key=str)
    try:
        result = sp.ring(generators, sp.QQ)[0].from_expr(polynomial).values() if generators else [polynomial]
    except (ValueError, sp.CoercionFailed):
        return 1, -1
    return [c for c in result if c != 0]


def _sign(coefficients: Sequence[Any]) -> int:
    """1 or -1 if all coefficients have that sign, else 0."""
    return 1 if all(c > 0 for c in coefficients) else -1 if all(c < 0 for c in coefficients) else 0


# Who may say that a shipped claim is proved.
PROVERS = (library.examine, kernel.examine)


def inherited(claim: Claim, reading: Reading, other: Claim) -> Iterator[Verdict]:
    """The proofs of a shipped claim that says at least as much; the last step, to this claim, is our own check."""
    for name in other.readings:
        if follows(claim, reading, other, READINGS[name]):
            for examiner in PROVERS:
                proof = examiner(other, READINGS[name])
                if proof is not None and proof.status is Status.HOLDS:
                    detail = f"it follows from {other.key}, which is {word(proof.status, proof.evidence)}"
                    about = {"claim": claim.key, "reading": reading.name, "evidence": Evidence.SYMBOLIC}
                    yield replace(proof, detail=detail, **about)  # type: ignore[arg-type]


def follows(
    claim: Claim, reading: Reading, other: Claim, how: Reading, within: Mapping[sp.Symbol, sp.Expr] | None = None
) -> bool:
    """Whether ``other`` implies the claim on sight: same left side, no further assumption, right side no larger.

    The difference of the right sides must be a sum of non-negative terms once L >= mu and tau >= 1 are put in, and
    before them the conditions ``within``.
    """
    stated = claim.assumptions_in(reading)
    alike = _about(claim, reading) == _about(other, how)
    skew = how.skew == reading.skew or not {"rho_bar", "rho_tilde"} & other.symbols
    virtual = how.virtual == reading.virtual or a.unbiased in stated or claim.scope in ("point", "constant")
    steps = other.steps is None or other.steps == claim.steps
    positive = claim.steps is None or claim.steps.is_positive
    if not (alike and skew and virtual and steps and positive) or claim.kind is Kind.RATE:
        return False
    if not all(granted(assumption, claim, stated) for assumption in other.assumptions_in(how)):
        return False
    symbols = {*claim.definitions, *other.definitions}
    apart = {symbol.name for symbol in symbols if claim.definitions.get(symbol) != other.definitions.get(symbol)}
    if any(item.symbols() & apart for item in other.assumptions if not isinstance(item, OwnSteps)):
        return False  # an assumption in the same words says another thing
    difference = claim.sides(reading).rhs - other.sides(how).rhs
    if claim.steps is not None:
        difference = difference.subs(s.eta, claim.steps)
    if claim.coverage(reading).axes.get("tau") == Span(1, 1):
        difference = difference.subs(s.drift, 0)  # a round of one step has no time to drift
    if claim.kind is Kind.IDENTITY or difference.has(sp.Max, sp.Min):
        return bool(sp.simplify(difference) == 0)
    if quantities_on_paths(difference) or not all(symbol.is_nonnegative for symbol in difference.free_symbols):
        return False  # signs are read off coefficients; that of a symbol of one's own is declared, not proved
    return never_negative(difference, {**(within or {}), s.L: s.mu + SLACK[0], s.tau: 1 + SLACK[1]})


def _about(claim: Claim, reading: Reading) -> tuple[object, ...]:
    return claim.sides(reading).lhs, claim.scope, claim.kind, claim.algorithm


def granted(assumption: Assumption, claim: Claim, stated: Iterable[Assumption]) -> bool:
    """Whether the claim makes an assumption too, in the same words or relations, or its step size meets it."""
    if isinstance(assumption, OwnSteps) or any(assumption == item for item in stated):
        return True
    parts = assumption.parts
    if parts and any(set(parts) <= set(item.parts) for item in stated):
        return True
    return (
        bool(parts)
        and claim.steps is not None
        and all(
            part.sign == "<="
            and never_negative((part.right - part.left).subs(s.eta, claim.steps), {s.L: s.mu + SLACK[0]})
            for part in parts
        )
    )
