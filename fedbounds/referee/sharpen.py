"""How much stronger a proved claim can be: assumptions that it does not need, smaller terms, longer steps.

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
from fedbounds.referee.certificate_settings import BIASED, EVEN, Constants, Grid, settings
from fedbounds.referee.changed_terms import parts, scaled_term
from fedbounds.referee.implication import SLACK, Shipped, never_negative
from fedbounds.referee.stage_context import in_time
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim, in_words
from fedbounds.theory.reading import Reading
from fedbounds.theory.verdict import Verdict

# What is left of a part is found to so much: from there on the statement is proved, below it refuted or open.
NEAR = sp.Rational(1, 1000)
# A right side that is proved by no shipped proof or prover is multiplied by these until it is.
WIDENED = " times the right side"
MULTIPLES = (sp.Rational(3, 2), *(sp.Integer(2) ** k for k in range(1, 8)))
# Where worst cases are asked for, and the denominators of what is needed there.
FINE = 10**6
PLACES = Grid((2, 100), (1, 4), ((EVEN, EVEN), (BIASED, EVEN)))
# Limits on steps, each wider than the one before.
STEP_LIMITS = (a.quarter_steps, a.small_steps, a.steps_up_to_2_over_L_plus_mu)
# What every problem has: L >= mu and tau >= 1.
LIMITS = {symbols.L: symbols.mu + SLACK[0], symbols.tau: 1 + SLACK[1]}
TOGETHER = "Its constants together, each line certified for two clients with p = (1/2, 1/2) and full gradients:"
TRIED = "parts of terms made smaller by a number or in tau, assumptions left out, wider step limits"
Change = tuple[str, Claim]


def without(claim: Claim, item: Assumption) -> Iterator[Change]:
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


@dataclass
class Sharpening:
    """The strongest ``claim`` so far, its ``proof`` (None: no form is proved), the ``changes`` that lead to it.

    ``longer`` are steps for which it is proved as stated, ``sharper`` proved claims that are sharper than the given
    one, ``front`` how small its constants are together at settings. The ``prover`` is asked if it can prove the
    first form.
    """

    of: Claim
    reading: Reading
    end: float
    progress: Callable[[str], None] = lambda change: None
    shipped: Shipped = field(default_factory=lambda: Shipped(claims().values()))
    prover: bool = True
    proof: Verdict | None = None
    changes: list[str] = field(default_factory=list)
    longer: list[str] = field(default_factory=list)
    sharper: list[str] = field(default_factory=list)
    front: list[Constants] = field(default_factory=list)
    finished: bool = False

    def __post_init__(self) -> None:
        """Begin with what the repair assumes among the assumptions, if that is all that it does."""
        repair, self.claim = self.of.repair, self.of
        if repair is not None and not repair.substitutions and self.reading.repaired:
            self.claim = replace(self.of, assumptions=(*self.of.assumptions, *repair.assumptions), repair=None)
        self.stated = self.claim.assumptions

    @classmethod
    def within(cls, seconds: float, claim: Claim, reading: Reading, **more: Any) -> Sharpening:
        """Of a claim, for so many processor seconds from now on."""
        return cls(claim, reading, time.process_time() + seconds, **more)

    @property
    def late(self) -> bool:
        """Whether its time is spent."""
        return time.process_time() > self.end

    def begin(self) -> bool:
        """Whether the claim is proved, or else a multiple of its right side, the smallest of some."""
        whole = self.claim
        if self._begun(whole, ""):
            return True
        if not self._widened(whole, MULTIPLES[-1]):
            return False  # no other multiple makes it true
        any(self._widened(whole, number) for number in MULTIPLES[:-1])
        self.progress(self.changes[0])
        return True

    def _widened(self, whole: Claim, number: sp.Expr) -> bool:
        terms = {name: number * term for name, term in whole.terms.items()}
        return self._begun(replace(whole, terms=terms), f"{number}{WIDENED}")

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
            self.first([(words, replace(self.claim, assumptions=rest))])
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
            self.first(without(self.claim, item))
        self.longer_steps()

    def longer_steps(self) -> None:
        """Wider limits on steps: of the usual forms, then by a number."""
        for item in self._limits:
            self.first(without(self.claim, item))
        for item in self._limits:
            self.lower(partial(limited, item=item))

    @property
    def _limits(self) -> list[Assumption]:
        return [item for item in self.claim.assumptions if "eta" in item.symbols() and item.parts]

    def first(self, ladder: Iterable[Change]) -> None:
        """Take the first claim of a ladder that is proved; what proves no weaker one is not asked."""
        for change, changed in ladder:
            proof = None if self.late else self.shipped.proof(changed, self.reading)
            if proof is None and self.prover and not self.late:
                proof = in_time(automatic.examine, changed, self.reading)
            if proof is not None:
                return self.keep(change, changed, proof)

    @property
    def never_needed(self) -> tuple[str, ...]:
        """What of the right side as stated is too much, and the assumptions that are not used."""
        if self.proof is None or any(WIDENED in change for change in self.changes):
            return ()
        wider = any("eta" in item.symbols() for item in self.claim.assumptions if item not in self.stated)
        unused = (item for item in self.stated if item not in self.claim.assumptions)
        spare = (sp.factor_terms(sp.expand(self.of.terms[name] - term)) for name, term in self.claim.terms.items())
        needless = [str(term) for term in spare if term != 0]
        return (*needless, *(item.statement for item in unused if not (wider and "eta" in item.symbols())))

    def __str__(self) -> str:
        """The answer in a few lines."""
        ended = "" if self.finished else " (ended early: not every change was tried)"
        lines = [f"{self.of.key}: no {'sharper ' * (self.proof is not None)}form was proved{ended}."]
        if self.changes:
            widened = "not proved as stated; this statement is"
            about = widened if WIDENED in self.changes[0] else "a sharper statement is"
            lines = [f"{self.of.key}: {about} PROVED{ended}.", f"  {in_words(self._without_zeros)}"]
            lines += [f"  assuming: {'; '.join(item.statement for item in self.claim.assumptions)}"]
            lines += [f"  {change}" for change in self.changes]
        lines += [f"Never needed: {', '.join(self.never_needed)}."] * bool(self.never_needed)
        lines += [f"Its terms as they are: PROVED for {change}" for change in self.longer]
        lines += [f"{sharper}." for sharper in self.sharper]
        lines += [TOGETHER] * bool(self.front) + [f"  {point}" for point in self.front]
        strongest = "this is the strongest; others" if self.finished else "some are left, which"
        return "\n".join([*lines, f"Of the forms tried ({TRIED}) {strongest} may be stronger."])

    @property
    def _without_zeros(self) -> Claim:
        return replace(self.claim, terms={name: term for name, term in self.claim.terms.items() if term != 0})

    def to_json(self) -> dict[str, Any]:
        """The answer as a JSON object."""
        return {
            "claim": self.of.key,
            "proved": self.proof is not None,
            "statement": in_words(self._without_zeros),
            "assumptions": [item.statement for item in self.claim.assumptions],
            "terms": {name: str(term) for name, term in self.claim.terms.items()},
            "changes": self.changes,
            "never needed": list(self.never_needed),
            "as stated for": self.longer,
            "sharper": self.sharper,
            "constants together": [point.to_json() for point in self.front],
            "finished": self.finished,
        }


def simplest(low: sp.Rational, high: sp.Rational) -> sp.Rational:
    """The fraction with the smallest denominator between two.

    >>> simplest(sp.Rational(49, 100), sp.Rational(3, 5))
    1/2
    """
    return next(sp.Rational(p, q) for q in itertools.count(1) for p in [sp.ceiling(low * q)] if p <= high * q)
