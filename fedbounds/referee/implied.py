"""Which claims a proved one implies on sight, so that a theorem restated from it inherits the proof."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import sympy as sp

from fedbounds.evidence import kernel
from fedbounds.evidence.symbolic import library
from fedbounds.referee.redundancy import SLACK, never_negative
from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim, Kind, OwnSteps
from fedbounds.theory.coverage import Span
from fedbounds.theory.own import own_symbols
from fedbounds.theory.reading import READINGS, Reading
from fedbounds.theory.symbols import L, drift, eta, mu, tau
from fedbounds.theory.verdict import Evidence, Status, Verdict
from fedbounds.theory.words import word

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
                    own = {"claim": claim.key, "reading": reading.name, "evidence": Evidence.SYMBOLIC}
                    yield replace(proof, detail=detail, **own)  # type: ignore[arg-type]


def follows(claim: Claim, reading: Reading, other: Claim, how: Reading) -> bool:
    """Whether ``other`` implies the claim on sight: same left side, no further assumption, right side no larger.

    The difference of the right sides must be a sum of non-negative terms once L >= mu and tau >= 1 are put in.
    """
    stated = claim.assumptions_in(reading)
    alike = (claim.lhs, claim.scope, claim.kind) == (other.lhs, other.scope, other.kind)
    skew = how.skew == reading.skew or not {"rho_bar", "rho_tilde"} & other.symbols
    virtual = how.virtual == reading.virtual or a.unbiased in stated or claim.scope in ("point", "constant")
    steps = other.steps is None or other.steps == claim.steps
    positive = claim.steps is None or claim.steps.is_positive
    if not (alike and skew and virtual and steps and positive) or claim.kind is Kind.RATE:
        return False
    if not all(_granted(assumption, claim, stated) for assumption in other.assumptions_in(how)):
        return False
    difference = claim.sides(reading).rhs - other.sides(how).rhs
    if claim.steps is not None:
        difference = difference.subs(eta, claim.steps)
    if claim.coverage(reading).axes.get("tau") == Span(1, 1):
        difference = difference.subs(drift, 0)  # a round of one step has no time to drift
    if claim.kind is Kind.IDENTITY or difference.has(sp.Max, sp.Min):
        return bool(sp.simplify(difference) == 0)
    if own_symbols(difference) or not all(symbol.is_nonnegative for symbol in difference.free_symbols):
        return False  # signs are read off coefficients; that of a symbol of one's own is declared, not proved
    return never_negative(difference, {L: mu + SLACK[0], tau: 1 + SLACK[1]})


def _granted(assumption: Assumption, claim: Claim, stated: Iterable[Assumption]) -> bool:
    """Whether the claim makes an assumption too, in the same words or relations, or its step size meets it."""
    if isinstance(assumption, OwnSteps) or any(assumption == one for one in stated):
        return True
    parts = assumption.parts
    if parts and any(set(parts) <= set(one.parts) for one in stated):
        return True
    return (
        bool(parts)
        and claim.steps is not None
        and all(
            part.sign == "<=" and never_negative((part.right - part.left).subs(eta, claim.steps), {L: mu + SLACK[0]})
            for part in parts
        )
    )
