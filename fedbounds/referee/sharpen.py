"""How much stronger a proved claim can be: assumptions that it does not need, smaller terms, longer steps.

One change after the other is kept if the claim with it is proved; where an instance refutes a change, that is said.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import sympy as sp

from fedbounds.errors import reject
from fedbounds.evidence.prover import automatic
from fedbounds.plugins import Plugins
from fedbounds.referee import sharper_changes as changes
from fedbounds.referee.implication import Source, conditions, follows
from fedbounds.referee.mutants import parts
from fedbounds.referee.pareto_front import Constants, front
from fedbounds.referee.repair_search import Search, in_time
from fedbounds.referee.screen import Screen, screen
from fedbounds.referee.sharper_changes import Change
from fedbounds.referee.stage_context import TimeSpent, at_most
from fedbounds.referee.theorems import theorem_of, theorems
from fedbounds.referee.trial import checked
from fedbounds.theory.claim import Claim, Kind, in_words
from fedbounds.theory.reading import READINGS, Reading
from fedbounds.theory.verdict import Verdict

if TYPE_CHECKING:
    from fedbounds.plugins import Theorem

# What is left of a part is found to so much: from there on the statement is proved, below it refuted or open.
NEAR = sp.Rational(1, 1000)
# A right side that is proved by no shipped proof or prover is multiplied by these until it is.
WIDENED = " times the right side"
MULTIPLES = (sp.Rational(3, 2), *(sp.Integer(2) ** k for k in range(1, 8)))
TOGETHER = "Its constants together, each line certified for two clients with p = (1/2, 1/2) and full gradients:"
TRIED = "parts of terms made smaller by a number or in tau, assumptions left out, wider step limits"
# Processor seconds that are spent unless others are given, and for the limits of one change; a share for the front.
SECONDS, AT_LIMITS, SHARE_OF_FRONT = 45.0, 0.6, 0.15


@dataclass(frozen=True)
class Sharpened:
    """The strongest claim found, its ``proof`` (None: no form is proved), the ``changes`` that lead to it.

    ``longer`` are steps for which it is proved as stated, ``refuted`` changes that an instance refutes, ``shipped``
    proved claims that are sharper than the given one; ``front`` how small its constants are together at settings.
    """

    of: Claim
    claim: Claim
    proof: Verdict | None
    changes: tuple[str, ...]
    longer: tuple[str, ...]
    refuted: tuple[str, ...]
    shipped: tuple[str, ...]
    finished: bool
    front: tuple[Constants, ...] = ()

    @property
    def never_needed(self) -> tuple[str, ...]:
        """What of the right side as stated is too much, and the assumptions that are not used."""
        if self.proof is None or any(WIDENED in change for change in self.changes):
            return ()
        stated = _with_repair(self.of, READINGS[self.proof.reading]).assumptions
        wider = any("eta" in item.symbols() for item in self.claim.assumptions if item not in stated)
        unused = (item for item in stated if item not in self.claim.assumptions)
        less = (sp.factor_terms(sp.expand(self.of.terms[name] - term)) for name, term in self.claim.terms.items())
        needless = [str(term) for term in less if term != 0]
        return (*needless, *(item.statement for item in unused if not (wider and "eta" in item.symbols())))

    def __str__(self) -> str:
        """The answer in a few lines."""
        ended = "" if self.finished else " (ended early: not every change was tried)"
        lines = [f"{self.of.key}: no {'sharper ' * (self.proof is not None)}form was proved{ended}."]
        if self.changes:
            widened = "not proved as stated; this statement is"
            about = widened if WIDENED in self.changes[0] else "a sharper statement is"
            lines = [f"{self.of.key}: {about} PROVED{ended}.", f"  {in_words(left_of(self.claim))}"]
            lines += [f"  assuming: {'; '.join(item.statement for item in self.claim.assumptions)}"]
            lines += [f"  {change}" for change in self.changes]
        lines += [f"Never needed: {', '.join(self.never_needed)}."] * bool(self.never_needed)
        lines += [f"Its terms as they are: PROVED for {change}" for change in self.longer]
        lines += ["False, by an instance in fractions:"] * bool(self.refuted)
        lines += [f"  {change}" for change in self.refuted]
        lines += [f"{sharper}." for sharper in self.shipped]
        lines += [TOGETHER] * bool(self.front) + [f"  {point}" for point in self.front]
        return "\n".join([*lines, f"Of the forms tried ({TRIED}) this is the strongest; others may be stronger."])

    def to_json(self) -> dict[str, Any]:
        """The answer as a JSON object."""
        lists = {"changes": self.changes, "never needed": self.never_needed, "as stated for": self.longer}
        lists |= {"refuted": self.refuted, "sharper": self.shipped}
        return {
            "claim": self.of.key,
            "proved": self.proof is not None,
            "statement": in_words(left_of(self.claim)),
            "assumptions": [item.statement for item in self.claim.assumptions],
            "terms": {name: str(term) for name, term in self.claim.terms.items()},
            **{name: list(items) for name, items in lists.items()},
            "constants together": [point.to_json() for point in self.front],
            "finished": self.finished,
        }


def sharpen(
    theorem: Theorem,
    reading: str | None = None,
    *,
    label: str | None = None,
    seconds: float = SECONDS,
    plugins: Plugins = (),
    progress: Callable[[str], None] = lambda change: None,
) -> Sharpened:
    """The strongest statement of a claim's form that is proved, after about so many processor seconds.

    Of a claim without proof, of the smallest of some multiples of its right side that has one. ``label`` names the
    one claim of a file that has several; ``progress`` is told each change when it is kept. Raises InputError where
    the claim is no inequality.

    >>> sharpen("ratio-bound", seconds=1).of.key
    'ratio-bound'
    """
    claim, how = chosen(theorem, reading, label, seconds, plugins)
    search = Search(how, Screen(claim, how, []), time.process_time() + seconds)
    best = _Best(_with_repair(claim, how), None, search, progress)
    sharper, longer = tuple[str, ...](), tuple[str, ...]()
    finished, points = False, list[Constants]()
    with contextlib.suppress(TimeSpent, KeyboardInterrupt), at_most(seconds * SHARE_OF_FRONT):
        points.extend(front(claim, how))
    with contextlib.suppress(TimeSpent, KeyboardInterrupt), at_most(seconds):
        sharper = tuple(sharper_shipped(claim, search))
        if best.begin():
            as_stated = replace(best, changes=[], false=[], progress=lambda change: None)
            _improve(best, best.claim)
            _longer_steps(as_stated)
            longer = tuple(as_stated.changes)
        finished = not best.search.late
    changes, false = tuple(best.changes), tuple(best.false)
    return Sharpened(claim, best.claim, best.proof, changes, longer, false, sharper, finished, tuple(points))


def chosen(
    theorem: Theorem, reading: str | None, label: str | None, seconds: float, plugins: Plugins
) -> tuple[Claim, Reading]:
    """The one claim to sharpen, and its reading. Raises InputError where the claim is no inequality.

    >>> chosen("ratio-bound", None, None, 1.0, ())[1].name
    'repaired'
    """
    every = theorems(theorem, plugins) if label is None else {label: theorem_of(theorem, label, plugins)}
    if len(every) > 1:
        raise reject("one claim is sharpened at a time", ", ".join(every), "name it with --theorem")
    (claim,) = every.values()
    claim, reading = checked(claim, reading, "small", 0, seconds)
    if claim.kind is not Kind.INEQUALITY:
        raise reject("only an inequality is sharpened", claim.key, "fedbounds referee judges it")
    return claim, READINGS[reading]


def _with_repair(claim: Claim, how: Reading) -> Claim:
    """The claim with what its repair assumes among its assumptions, if that is all that the repair does."""
    if claim.repair is None or claim.repair.substitutions or not how.repaired:
        return claim
    return replace(claim, assumptions=(*claim.assumptions, *claim.repair.assumptions), repair=None)


def left_of(claim: Claim) -> Claim:
    """The claim without terms that are 0."""
    return replace(claim, terms={name: term for name, term in claim.terms.items() if term != 0})


def sharper_shipped(claim: Claim, search: Search) -> Iterator[str]:
    """The proved claims of the package, or else pairs of them, that imply a claim and are not implied by it."""
    reading, implying = search.reading, dict[str, Source]()
    for source in search.sources(claim):
        keys = [item.key for item in source.of]
        if claim.key in keys or (len(keys) > 1 and implying) or source.proof(claim, reading) is None:
            continue
        if not follows(source.claim, source.reading, claim, reading, conditions(claim, reading)):
            implying.setdefault(" with ".join(keys), source)
    for key, source in implying.items():
        others = [item for item in implying.values() if item is not source]
        put = conditions(claim, reading)
        if not any(follows(source.claim, source.reading, item.claim, item.reading, put) for item in others):
            yield f"{key} is sharper: {in_words(source.claim)}"


def _improve(best: _Best, claim: Claim) -> None:
    """Each change in turn: whole terms, parts of what they are by then, powers of tau, assumptions, step limits."""
    for name in claim.terms:
        best.lower(partial(changes.less, name=name))
    for name in claim.terms:
        for k in range(1, sum(part.term == name for part in parts(claim))):
            best.lower(partial(changes.less, name=name, k=k))
        best.lower(partial(changes.in_tau, name=name))
        best.lower(partial(changes.once, name=name))
    for item in claim.assumptions:
        best.without(changes.without(best.claim, item))
    _longer_steps(best)


def _longer_steps(best: _Best) -> None:
    """Wider limits on steps: of the usual forms, then by a number."""
    for item in best.claim.assumptions:
        if "eta" in item.symbols() and item.parts:
            best.without(changes.without(best.claim, item))
    for item in best.claim.assumptions:
        if "eta" in item.symbols() and item.parts:
            best.lower(partial(changes.limited, item=item))


@dataclass
class _Best:
    """The strongest claim so far; the ``prover`` is asked of what it can prove the first one."""

    claim: Claim
    proof: Verdict | None
    search: Search
    progress: Callable[[str], None]
    prover: bool = True
    changes: list[str] = field(default_factory=list)
    false: list[str] = field(default_factory=list)
    screens: list[Screen] = field(default_factory=list)

    def begin(self) -> bool:
        """Whether the claim is proved, or else a multiple of its right side, the smallest of some."""
        whole = self.claim
        for factor in (sp.Integer(1), *MULTIPLES):
            terms = {name: factor * term for name, term in whole.terms.items()}
            changed = replace(whole, terms=terms) if factor != 1 else whole
            proof = in_time(automatic.examine, changed, self.search.reading)
            self.prover = proof is not None
            proof = proof or self.search.inherited(changed, self.search.reading)
            if proof is not None:
                if factor != 1:
                    self.keep(f"{factor}{WIDENED}", changed, proof)
                self.proof = proof
                return True
        return False

    def keep(self, change: str, claim: Claim, proof: Verdict) -> None:
        """Take a claim."""
        self.claim, self.proof = claim, proof
        self.changes.append(change)
        self.progress(change)

    def proved(self, claim: Claim) -> Verdict | None:
        """A proof of a claim; what proves no weaker one is not asked."""
        proof = self.search.inherited(claim, self.search.reading)
        return proof or (in_time(automatic.examine, claim, self.search.reading) if self.prover else None)

    def lower(self, change: Callable[[Claim, sp.Expr], Change | None]) -> None:
        """The smallest share that is proved, by bisection, and the largest that an instance refutes.

        Shipped proofs are asked first. The prover takes longer: it must prove a little less than what they do.
        """
        refuted, high, best, false = sp.Integer(-1), sp.Integer(1), None, ""
        for prover in (self.search.inherited, automatic.examine)[: 1 + self.prover]:
            prover_first = prover is automatic.examine
            low, share = refuted, simplest(high - NEAR, high - NEAR / 2) if prover_first else sp.Integer(0)
            while high > 0 and high - low > NEAR and not self.search.late:
                changed = change(self.claim, share)
                if changed is None and share != 0:
                    break
                if changed is not None and self.refuted(changed[1]):
                    low, refuted, false = share, share, changed[0]
                elif changed is not None and (proof := in_time(prover, changed[1], self.search.reading)) is not None:
                    high, best = share, (*changed, proof)
                elif prover_first:
                    break
                else:
                    low = share
                prover_first = False
                share = sp.Integer(0) if low < 0 else simplest(low + (high - low) / 4, high - (high - low) / 4)
        if best is not None:
            self.keep(*best)
        self.false += [false] if false else []

    def without(self, ladder: Iterable[Change]) -> None:
        """Take the first claim of a ladder that is proved; note the last one before it that an instance refutes."""
        false = ""
        for change, changed in ladder:
            if self.search.late:
                return
            if (proof := self.proved(changed)) is not None:
                self.keep(change, changed, proof)
                break
            false = change if self.refuted(changed) else false
        self.false += [false] if false else []

    def refuted(self, claim: Claim) -> bool:
        """Whether an instance at the limits violates a claim in fractions."""
        for earlier in self.screens:
            more = set(claim.assumptions) - set(earlier.claim.assumptions)
            if set(earlier.claim.assumptions) <= set(claim.assumptions) and all(item.parts for item in more):
                return earlier.refuting(claim) is not None
        whole = replace(self.claim, assumptions=claim.assumptions)  # it measures every symbol
        self.screens.append(screen(whole, self.search.reading, (), AT_LIMITS))
        return self.screens[-1].refuting(claim) is not None


def simplest(low: sp.Rational, high: sp.Rational) -> sp.Rational:
    """The fraction with the smallest denominator between two.

    >>> simplest(sp.Rational(49, 100), sp.Rational(3, 5))
    1/2
    """
    return next(sp.Rational(p, q) for q in itertools.count(1) for p in [sp.ceiling(low * q)] if p <= high * q)
