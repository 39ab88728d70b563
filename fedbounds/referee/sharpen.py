"""How much stronger a proved claim can be: assumptions that it does not need, smaller terms, longer steps.

One change after the other is kept if the claim with it is proved; where an instance refutes a change, that is said.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import sympy as sp

from fedbounds.errors import reject
from fedbounds.plugins import Plugins
from fedbounds.referee.case import TimeSpent, at_most
from fedbounds.referee.implication import SLACK, Source, conditions, follows, never_negative
from fedbounds.referee.mutants import Part, parts, scaled_term
from fedbounds.referee.repair import Search
from fedbounds.referee.screen import Screen, screen
from fedbounds.referee.theorems import theorem_of, theorems
from fedbounds.referee.trial import checked
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim, Kind, in_words
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Verdict

if TYPE_CHECKING:
    from fedbounds.plugins import Theorem

# What is left of a part is found to so much: from there on the statement is proved, below it refuted or open.
NEAR = sp.Rational(1, 1000)
# Limits on steps, each wider than the one before.
STEP_LIMITS = (a.quarter_steps, a.small_steps, a.steps_up_to_2_over_L_plus_mu)
# What every problem has: L >= mu and tau >= 1.
LIMITS = {symbols.L: symbols.mu + SLACK[0], symbols.tau: 1 + SLACK[1]}
Change = tuple[str, Claim]
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
    sharper = tuple(sharper_shipped(claim, search))
    finished = False
    with contextlib.suppress(TimeSpent, KeyboardInterrupt), at_most(seconds):
        _improve(best, claim)
        finished = not best.search.late
    return Sharpened(claim, best.claim, best.proof, tuple(best.changes), tuple(best.false), sharper, finished)


def sharper_shipped(claim: Claim, search: Search) -> Iterator[str]:
    """The proved claims of the package, or else pairs of them, that imply a claim and are not implied by it."""
    reading, found = search.reading, dict[str, Source]()
    for source in search.sources(claim):
        keys = [item.key for item in source.of]
        if claim.key in keys or (len(keys) > 1 and found) or source.proof(claim, reading) is None:
            continue
        if not follows(source.claim, source.reading, claim, reading, conditions(claim, reading)):
            found.setdefault(" with ".join(keys), source)
    for key, source in found.items():
        others = [item for item in found.values() if item is not source]
        put = conditions(claim, reading)
        if not any(follows(source.claim, source.reading, item.claim, item.reading, put) for item in others):
            yield f"{key} is sharper: {in_words(source.claim)}"


def _improve(best: _Best, claim: Claim) -> None:
    """Each change in turn: whole terms, parts of what they are by then, powers of tau, assumptions."""
    for name in claim.terms:
        best.lower(lambda share, name=name: _less(best.claim, parts_of(best.claim, name)[0], share))  # type: ignore[misc]
    for name in claim.terms:
        for k in range(1, len(parts_of(claim, name))):
            best.lower(lambda share, k=k, name=name: _less_of(best.claim, name, k, share))  # type: ignore[misc]
        best.lower(lambda share, name=name: _once(best.claim, name, share))  # type: ignore[misc]
    for item in claim.assumptions:
        best.without(_without(best.claim, item))


def parts_of(claim: Claim, name: str) -> list[Part]:
    """A term, and the parts of it."""
    return [part for part in parts(claim) if part.term == name]


@dataclass
class _Best:
    """The strongest claim so far."""

    claim: Claim
    proof: Verdict
    search: Search
    changes: list[str] = field(default_factory=list)
    false: list[str] = field(default_factory=list)
    screens: dict[object, Screen] = field(default_factory=dict)

    def lower(self, make: Callable[[sp.Expr], Change | None]) -> None:
        """The smallest share that is proved, by bisection, and the largest that an instance refutes."""
        low, high, best, false = sp.Integer(-1), sp.Integer(1), None, ""
        while high - low > NEAR and high > 0 and not self.search.late:
            share = sp.Integer(0) if low < 0 else simplest(low + (high - low) / 4, high - (high - low) / 4)
            changed = make(share)
            if changed is None and share != 0:
                return
            refuted = changed is not None and self.refuted(changed[1])
            proof = None if changed is None or refuted else self.search.whole_proof(changed[1])
            if changed is not None and proof is not None:
                high, best = share, (*changed, proof)
            else:
                low, false = share, changed[0] if changed is not None and refuted else false
        if best is not None:
            change, self.claim, self.proof = best
            self.changes.append(change)
        self.false += [false] if false else []

    def without(self, ladder: Iterable[Change]) -> None:
        """Take the first claim of a ladder that is proved; note the last one before it that an instance refutes."""
        false = ""
        for change, changed in ladder:
            if self.search.late:
                return
            if self.refuted(changed):
                false = change
            elif (proof := self.search.whole_proof(changed)) is not None:
                self.claim, self.proof = changed, proof
                self.changes.append(change)
                break
        self.false += [false] if false else []

    def refuted(self, claim: Claim) -> bool:
        """Whether an instance at the limits violates a claim in fractions."""
        key = claim.assumptions, claim.eta
        if key not in self.screens:
            whole = replace(self.claim, assumptions=claim.assumptions, eta=claim.eta)  # it measures every symbol
            self.screens[key] = screen(whole, self.search.reading, (), AT_LIMITS)
        return self.screens[key].refuting(claim) is not None


def simplest(low: sp.Rational, high: sp.Rational) -> sp.Rational:
    """The fraction with the smallest denominator between two.

    >>> simplest(sp.Rational(49, 100), sp.Rational(3, 5))
    1/2
    """
    return next(sp.Rational(p, q) for q in itertools.count(1) for p in [sp.ceiling(low * q)] if p <= high * q)


def _without(claim: Claim, item: Assumption) -> Iterator[tuple[str, Claim]]:
    """The claim without an assumption, or with a longer step than it allows."""
    rest = tuple(other for other in claim.assumptions if other != item)
    yield f"without: {item.statement}", replace(claim, assumptions=rest)
    if item in STEP_LIMITS:
        for longer in reversed(STEP_LIMITS[STEP_LIMITS.index(item) + 1 :]):
            yield f"{longer.statement} in place of {item.statement}", replace(claim, assumptions=(*rest, longer))


def _less(claim: Claim, part: Part, share: sp.Expr) -> Change | None:
    """A part of a term times a share, or divided by it where that makes the term smaller; None where neither does."""
    for factor in (share, 1 / share) if share != 0 else (share,):
        changed = _smaller(claim, part.term, scaled_term(claim, part, factor))
        if changed is not None:
            return changed
    return None


def _less_of(claim: Claim, name: str, k: int, share: sp.Expr) -> Change | None:
    """The same of a part inside a term, by its number."""
    there = parts_of(claim, name)
    return _less(claim, there[k], share) if k < len(there) else None


def _once(claim: Claim, name: str, share: sp.Expr) -> Change | None:
    """A term with share tau^2 + 1 - share in place of tau^2."""
    square = symbols.tau**2
    term = sp.sympify(claim.terms[name])
    return _smaller(
        claim, name, sp.expand(term.xreplace({square: share * square + 1 - share})) if term.has(square) else term
    )


def _smaller(claim: Claim, name: str, term: sp.Expr) -> Change | None:
    """The claim with another term, if that is smaller."""
    stated = sp.sympify(claim.terms[name])
    if stated == term or not never_negative(stated - term, LIMITS):
        return None
    what = f"without {stated}" if term == 0 else f"{term} in place of {stated}"
    return f"{name}: {what}", replace(claim, terms={**claim.terms, name: term})
