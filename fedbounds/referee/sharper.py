"""How a proved claim is made stronger: smaller terms, fewer assumptions, wider limits on steps.

One change after the other is kept if the claim with it is proved; worst cases at a few settings say where to begin.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence.prover import automatic
from fedbounds.evidence.sdp.one_step.coverage import conditions
from fedbounds.evidence.sdp.one_step.parameters import applies
from fedbounds.evidence.sdp.one_step.tight_constants import split, tight_value
from fedbounds.plugins import claims
from fedbounds.referee.certificate_settings import BIASED, EVEN, Grid, settings
from fedbounds.referee.implication import SLACK, Shipped, never_negative
from fedbounds.referee.mutants import parts, scaled_term
from fedbounds.referee.stage_context import in_time
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading
from fedbounds.theory.verdict import Verdict

# What is left of a part is found to so much: from there on the statement is proved, below it refuted or open.
NEAR = sp.Rational(1, 1000)
# A right side that is proved by no shipped proof or prover is multiplied by these until it is.
WIDENED = " times the right side"
MULTIPLES = (sp.Rational(3, 2), *(sp.Integer(2) ** k for k in range(1, 8)))
# Where worst cases are asked for, and the denominators of what is needed there.
FINE = 10**6
PLACES = Grid((2, 100), (1, 4), ((EVEN, EVEN), (BIASED, EVEN)), 0)
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
    term, square = sp.sympify(claim.terms[name]), sp.Dummy(nonnegative=True)
    if not term.has(symbols.tau**2):
        return None
    expanded = sp.expand(term.xreplace({symbols.tau**2: square + share}))
    return smaller(claim, name, expanded.xreplace({square: (symbols.tau - 1) ** 2}))


def smaller(claim: Claim, name: str, term: sp.Expr) -> Change | None:
    """The claim with another term, if that is smaller."""
    stated = sp.sympify(claim.terms[name])
    if stated == term or not never_negative(stated - term, LIMITS):
        return None
    what = f"without {stated}" if term == 0 else f"{term} in place of {stated}"
    return f"{name}: {what}", replace(claim, terms={**claim.terms, name: term})


def with_repair(claim: Claim, reading: Reading) -> Claim:
    """The claim with what its repair assumes among its assumptions, if that is all that the repair does."""
    if claim.repair is None or claim.repair.substitutions or not reading.repaired:
        return claim
    return replace(claim, assumptions=(*claim.assumptions, *claim.repair.assumptions), repair=None)


@dataclass
class Sharpening:
    """The strongest claim so far, and how it was reached; the ``prover`` is asked if it can prove the first one."""

    claim: Claim
    reading: Reading
    end: float
    progress: Callable[[str], None] = lambda change: None
    shipped: Shipped = field(default_factory=lambda: Shipped(claims().values()))
    proof: Verdict | None = None
    prover: bool = True
    changes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, claim: Claim, reading: Reading, seconds: float, **more: Any) -> Sharpening:
        """Of a claim, for so many processor seconds from now on."""
        return cls(with_repair(claim, reading), reading, time.process_time() + seconds, **more)

    @property
    def late(self) -> bool:
        """Whether its time is spent."""
        return time.process_time() > self.end

    def begin(self) -> bool:
        """Whether the claim is proved, or else a multiple of its right side, the smallest of some."""
        whole, low, high = self.claim, 0, len(MULTIPLES) - 1
        if self._begun(whole, ""):
            return True
        middle = high  # of a bound that no multiple of makes true the largest is asked alone
        while low <= high:
            terms = {name: MULTIPLES[middle] * term for name, term in whole.terms.items()}
            if self._begun(replace(whole, terms=terms), f"{MULTIPLES[middle]}{WIDENED}"):
                high = middle - 1
            elif self.proof is None:
                return False
            else:
                low = middle + 1
            middle = (low + high) // 2
        self.progress(self.changes[0])
        return True

    def _begun(self, claim: Claim, change: str) -> bool:
        """Whether a claim to begin with is proved; it is then the strongest, and nothing that was before."""
        found = in_time(automatic.examine, claim, self.reading)
        proof = found or self.shipped.proof(claim, self.reading)
        if proof is not None:
            self.claim, self.proof, self.prover = claim, proof, found is not None
            self.changes = [change] * bool(change)
        return proof is not None

    def soon(self, proof: Verdict) -> None:
        """What is soon said: assumptions that a proof does not use, and for each term what worst cases ask for."""
        used: Any = proof.data.get("assumptions", [item.key for item in self.claim.assumptions])
        unused = [item for item in self.claim.assumptions if item.key not in used]
        if unused:
            rest = tuple(item for item in self.claim.assumptions if item not in unused)
            words = f"without: {'; '.join(item.statement for item in unused)}"
            self.without([(words, replace(self.claim, assumptions=rest))])
        # What a distance is contracted by stands first, and is seldom loose.
        for name in reversed([*self.claim.terms]):
            self.lower(partial(less, name=name), self.least(name))

    def least(self, name: str) -> sp.Rational | None:
        """The share of a term that worst cases at a few settings ask for; None where that is not known."""
        shares = list[Fraction]()
        claim = replace(self.claim, terms={f"the {term}": value for term, value in self.claim.terms.items()})
        for setting in settings(claim, self.reading, PLACES) if applies(claim, self.reading) else ():
            with contextlib.suppress(InputError, ZeroDivisionError):
                if not conditions(claim, setting)[0]:
                    value = tight_value(claim, setting, f"the {name}")
                    stated = split(claim, setting, f"the {name}").stated
                    shares += [Fraction(value) / stated] if math.isfinite(value) else []
        if not shares:
            return None
        return sp.Rational(str(min(max(*shares, Fraction(0)), Fraction(1)).limit_denominator(FINE)))

    def keep(self, change: str, claim: Claim, proof: Verdict) -> None:
        """Take a claim."""
        self.claim, self.proof = claim, proof
        self.changes.append(change)
        self.progress(change)

    def proved(self, claim: Claim) -> Verdict | None:
        """A proof of a claim; what proves no weaker one is not asked."""
        proof = self.shipped.proof(claim, self.reading)
        return proof or (in_time(automatic.examine, claim, self.reading) if self.prover else None)

    def lower(self, change: Callable[[Claim, sp.Expr], Change | None], least: sp.Rational | None = None) -> None:
        """The smallest share that is proved, by bisection from the ``least`` on.

        Shipped proofs are asked first. The prover takes longer: it must prove a little less than what they do.
        """
        high, best = sp.Integer(1), None
        for prover in (self.shipped.proof, automatic.examine)[: 1 + self.prover]:
            low, unsure = sp.Integer(-1) if least is None else least, least is None and prover is automatic.examine
            share = simplest(high - NEAR, high - NEAR / 2) if unsure else simplest(max(low, 0), max(low, 0) + NEAR)
            while high > 0 and high - low > NEAR and not self.late:
                changed = change(self.claim, share)
                proof = None if changed is None else in_time(prover, changed[1], self.reading)
                if changed is not None and proof is not None:
                    high, best = share, (*changed, proof)
                elif unsure or (changed is None and share != 0):
                    break
                else:
                    low = share
                unsure = False
                share = sp.Integer(0) if low < 0 else simplest(low + (high - low) / 4, high - (high - low) / 4)
        if best is not None:
            self.keep(*best)

    def improve(self) -> None:
        """Each change in turn: whole terms, then their parts, powers of tau, assumptions, limits on steps."""
        stated = self.claim
        for name in stated.terms:
            self.lower(partial(less, name=name), self.least(name))
        for name in stated.terms:
            for k in range(1, sum(part.term == name for part in parts(stated))):
                self.lower(partial(less, name=name, k=k))
            self.lower(partial(in_tau, name=name))
        for item in stated.assumptions:
            self.without(without(self.claim, item))
        self.longer_steps()

    def longer_steps(self) -> None:
        """Wider limits on steps: of the usual forms, then by a number."""
        for item in self.claim.assumptions:
            if "eta" in item.symbols() and item.parts:
                self.without(without(self.claim, item))
        for item in self.claim.assumptions:
            if "eta" in item.symbols() and item.parts:
                self.lower(partial(limited, item=item))

    def without(self, ladder: Iterable[Change]) -> None:
        """Take the first claim of a ladder that is proved."""
        for change, changed in ladder:
            if not self.late and (proof := self.proved(changed)) is not None:
                return self.keep(change, changed, proof)


def simplest(low: sp.Rational, high: sp.Rational) -> sp.Rational:
    """The fraction with the smallest denominator between two.

    >>> simplest(sp.Rational(49, 100), sp.Rational(3, 5))
    1/2
    """
    return next(sp.Rational(p, q) for q in itertools.count(1) for p in [sp.ceiling(low * q)] if p <= high * q)
