"""How much stronger a proved claim can be: assumptions that it does not need, smaller terms, longer steps.

One change after the other is kept if the claim with it is proved; where an instance refutes a change, that is said.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import sympy as sp

from fedbounds import plugins as installed
from fedbounds.errors import reject
from fedbounds.evidence.exact.compare import examine
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.symbolic import library
from fedbounds.plugins import Plugins
from fedbounds.referee.case import INTERRUPTED, Case, TimeSpent, Watch, at_most
from fedbounds.referee.dimensions_and_limits import sanity
from fedbounds.referee.implication import SLACK, conditions, follows, never_negative
from fedbounds.referee.mutants import Part, parts, scaled_term
from fedbounds.referee.regime import Suite
from fedbounds.referee.regimes import REGIMES
from fedbounds.referee.repair import Search, instances_of
from fedbounds.referee.screen import Screen
from fedbounds.referee.theorems import theorem_of, theorems
from fedbounds.referee.trial import checked
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim, Kind, in_words
from fedbounds.theory.reading import READINGS, Reading
from fedbounds.theory.verdict import Status, Verdict

if TYPE_CHECKING:
    from fedbounds.plugins import Theorem

# What is left of a part, the strongest first.
SHARES = tuple(map(sp.Rational, ("0", "1/16", "1/8", "1/6", "1/4", "1/3", "1/2", "2/3", "3/4", "7/8")))
# Limits on steps, each wider than the one before.
STEP_LIMITS = (a.quarter_steps, a.small_steps, a.steps_up_to_2_over_L_plus_mu)
# What every problem has: L >= mu and tau >= 1.
LIMITS = {symbols.L: symbols.mu + SLACK[0], symbols.tau: 1 + SLACK[1]}
TRIED = "parts of terms made smaller by a number, assumptions left out, wider step limits"
# Processor seconds that are spent unless others are given, and for the limits of one change.
SECONDS, AT_LIMITS = 60.0, 3.0


@dataclass(frozen=True)
class Sharpened:
    """The strongest claim found, its ``proof``, the ``changes`` that lead to it, and those that are ``refuted``.

    ``shipped`` are proved claims that are sharper than the one that was given.
    """

    of: Claim
    claim: Claim
    proof: Verdict
    changes: tuple[str, ...]
    refuted: tuple[str, ...]
    shipped: tuple[str, ...]
    finished: bool

    def __str__(self) -> str:
        """The answer in a few lines."""
        ended = "" if self.finished else " (ended early: not every change was tried)"
        if not self.changes:
            lines = [f"{self.of.key}: no sharper form was proved{ended}."]
        else:
            lines = [f"{self.of.key}: a sharper statement is PROVED{ended}.", f"  {in_words(self.claim)}"]
            lines += [f"  {change}" for change in self.changes]
        lines += ["False, by an instance in fractions:"] * bool(self.refuted)
        lines += [f"  {change}" for change in self.refuted]
        lines += [f"{sharper}." for sharper in self.shipped]
        return "\n".join([*lines, f"Of the forms tried ({TRIED}) this is the strongest; others may be stronger."])


def sharpen(
    theorem: Theorem,
    reading: str | None = None,
    *,
    label: str | None = None,
    seconds: float = SECONDS,
    plugins: Plugins = (),
) -> Sharpened:
    """The strongest statement of a proved claim's form that is proved too, after about so many processor seconds.

    ``label`` names the one claim of a file that has several. Raises InputError where the claim is no inequality, or
    has no proof.

    >>> sharpen("ratio-bound", seconds=1).of.key
    'ratio-bound'
    """
    chosen = theorems(theorem, plugins) if label is None else {label: theorem_of(theorem, label, plugins)}
    if len(chosen) > 1:
        raise reject("one claim is sharpened at a time", ", ".join(chosen), "name it with --theorem")
    (claim,) = chosen.values()
    claim, reading = checked(claim, reading, "small", 0, seconds)
    how = READINGS[reading]
    search = Search(how, Screen(claim, how, []), time.process_time() + seconds)
    proof = search.whole_proof(claim) if claim.kind is Kind.INEQUALITY else None
    if proof is None:
        raise reject("only an inequality with a proof is sharpened", claim.key, "fedbounds referee judges it first")
    best = _Best(claim, proof, search)
    sharper = tuple(sharper_shipped(claim, READINGS[reading]))
    finished = False
    with contextlib.suppress(TimeSpent, KeyboardInterrupt), at_most(seconds):
        _improve(best, claim)
        finished = not best.search.late
    return Sharpened(claim, best.claim, best.proof, tuple(best.changes), tuple(best.false), sharper, finished)


def sharper_shipped(claim: Claim, reading: Reading) -> Iterator[str]:
    """The proved claims of the package that imply a claim within its step limit, and are not implied by it."""
    within = conditions(claim, reading)
    for other in installed.claims().values():
        how = READINGS[other.readings[-1]]
        if (
            other is not claim
            and (other.lhs, other.scope) == (claim.lhs, claim.scope)
            and follows(claim, reading, other, how, within)
            and not follows(other, how, claim, reading, within)
            and (proof := library.examine(other, how)) is not None
            and proof.status is Status.HOLDS
        ):
            yield f"{other.key} is sharper: {in_words(other)}"


def _improve(best: _Best, claim: Claim) -> None:
    """Each change in turn: whole terms, parts of what they are by then, assumptions."""
    for name in claim.terms:
        best.improve(_less(best.claim, next(part for part in parts(best.claim) if part.term == name)))
    for k in range(len(parts(claim))):
        best.improve(
            change for part in parts(best.claim)[k : k + 1] if part.path for change in _less(best.claim, part)
        )
    for item in claim.assumptions:
        best.improve(_without(best.claim, item))


@dataclass
class _Best:
    """The strongest claim so far."""

    claim: Claim
    proof: Verdict
    search: Search
    changes: list[str] = field(default_factory=list)
    false: list[str] = field(default_factory=list)
    suite: Suite = field(default_factory=lambda: Suite(REGIMES))
    known: list[Instance] = field(default_factory=list)

    def improve(self, ladder: Iterable[tuple[str, Claim]]) -> None:
        """Take the first claim of a ladder that is proved; note the last one before it that an instance refutes."""
        false = ""
        for change, changed in ladder:
            if self.search.late:
                return
            if self.refuted(changed):
                false = change
                continue
            proof = self.search.whole_proof(changed)
            if proof is not None:
                self.claim, self.proof = changed, proof
                self.changes.append(change)
                break
        self.false += [false] if false else []

    def refuted(self, claim: Claim) -> bool:
        """Whether a known instance violates a claim, or one at the limits, which is known from then on."""
        reading = self.search.reading
        if any(examine(instance, claim, reading).status is Status.REFUTED for instance in self.known):
            return True
        result, cut = Watch(AT_LIMITS).carry_out(sanity, Case(claim, reading, "small", 0, self.suite))
        if cut == INTERRUPTED:
            raise KeyboardInterrupt
        refuting = [verdict for verdict in result.verdicts if verdict.status is Status.REFUTED]
        self.known += [instance for verdict in refuting for instance in instances_of(verdict.data)]
        return bool(refuting)


def _without(claim: Claim, item: Assumption) -> Iterator[tuple[str, Claim]]:
    """The claim without an assumption, or with a longer step than it allows."""
    rest = tuple(other for other in claim.assumptions if other != item)
    yield f"without: {item.statement}", replace(claim, assumptions=rest)
    if item in STEP_LIMITS:
        for longer in reversed(STEP_LIMITS[STEP_LIMITS.index(item) + 1 :]):
            yield f"{longer.statement} in place of {item.statement}", replace(claim, assumptions=(*rest, longer))


def _less(claim: Claim, part: Part) -> Iterator[tuple[str, Claim]]:
    """A part of a term times a share, or divided by it where that makes the term smaller."""
    grows = bool(part.path) and part.expression.could_extract_minus_sign()
    for share in SHARES:
        if grows and share == 0:
            continue
        factor = 1 / share if grows else share
        term = scaled_term(claim, part, factor)
        if not never_negative(sp.sympify(claim.terms[part.term]) - term, LIMITS):
            return
        stated = claim.terms[part.term]
        what = f"without {stated}" if term == 0 else f"{term} in place of {stated}"
        yield f"{part.term}: {what}", replace(claim, terms={**claim.terms, part.term: term})
