"""What is known against statements near a refuted one, and for them: exact runs, and proofs."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import sympy as sp

from fedbounds import plugins
from fedbounds.errors import InputError
from fedbounds.evidence.ball_arithmetic import Undecided
from fedbounds.evidence.exact.stated_steps import with_steps
from fedbounds.evidence.prover import automatic
from fedbounds.referee.dimensions_and_limits import misprints
from fedbounds.referee.implication import (
    CURVATURES,
    Source,
    at_random,
    conditions,
    conditions_on_one_symbol,
    never_negative,
    sources,
)
from fedbounds.referee.repair_candidates import Change, Ladder
from fedbounds.referee.screen import Screen, screen
from fedbounds.referee.stage_context import TimeSpent, at_most
from fedbounds.referee.trial import Alternative, Outcome
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading
from fedbounds.theory.verdict import Verdict

# Processor seconds for one proof, for one of what an attack left standing, which must be over so long before the end,
# and for the runs of other steps.
ONE_PROOF, LONG_PROOF, SPARE, OTHER_STEPS = 2.0, 10.0, 0.5, 1.0
# A bound with more room than this hardly says anything.
LOOSE = 0.8
# Of two right sides at random values the smaller, up to rounding.
ROUNDING = 1e-9
# Changed claims, each weaker than the one before.
Changes = Sequence[tuple[str, Claim]]

Prover = Callable[[Claim, Reading], Verdict | None]


def in_time(prover: Prover, claim: Claim, reading: Reading, seconds: float | None = None) -> Verdict | None:
    """What a prover finds in so many processor seconds, a few unless given."""
    try:
        with at_most(ONE_PROOF if seconds is None else seconds):
            return prover(claim, reading)
    except TimeSpent as spent:
        if spent.args[0]:
            raise
        return None


@dataclass
class Search:
    """What is known against candidates and for them, and when to stop."""

    reading: Reading
    runs: Screen
    end: float
    shipped: Iterable[Claim] = field(default_factory=lambda: plugins.claims().values())
    faulty: bool = False
    other_runs: dict[Any, Screen] = field(default_factory=dict)
    implying: dict[Any, list[Source]] = field(default_factory=dict)
    seen: set[tuple[object, ...]] = field(default_factory=set)

    def standing(self, groups: Iterable[Iterable[Sequence[Change]]]) -> list[Changes]:
        """Of each ladder what no run violates, from the strongest on.

        Those whose dimensions agree come first, then the groups in their order, then those with the least room.
        """
        surviving: list[tuple[tuple[bool, int, float], Changes]] = []
        for k, ladder in ((k, ladder) for k, group in enumerate(groups) for ladder in group):
            if self.late:
                break
            with self._passed_over():
                low, high, made = 0, len(ladder) - 1, Ladder(lambda change: (change[0], change[1]()), ladder)
                runs = self.runs_of(made[high][1])
                if runs.violates(made[high][1]):
                    continue
                while low < high:
                    middle = (low + high) // 2
                    low, high = (middle + 1, high) if runs.violates(made[middle][1]) else (low, middle)
                claim = made[low][1]
                if self._is_new(claim) and not self.useless(claim):
                    surviving.append(((bool(misprints(claim, self.reading)), k, runs.room(claim)), made[low:]))
        return [standing for _, standing in sorted(surviving, key=lambda item: item[0])]

    def runs_of(self, claim: Claim) -> Screen:
        """The runs for claims with its steps: those known with other steps, where its own are other ones."""
        if claim.steps == self.runs.claim.steps:
            return self.runs
        if claim.steps not in self.other_runs:
            instances = [with_steps(instance, claim.steps) for instance in self.runs.known]
            self.other_runs[claim.steps] = screen(claim, self.reading, instances, OTHER_STEPS)
        return self.other_runs[claim.steps]

    def useless(self, claim: Claim) -> bool:
        """Whether it says nothing: its left side is on the right too, or is 0 where it speaks, not the right."""
        left, right, _ = claim.sides(self.reading)
        return (not left.is_Number and right.has(left)) or (right != 0 and self.runs_of(claim).trivial(claim))

    def implausible(self, claim: Claim) -> bool:
        """Whether nobody would believe or state it without a proof: longer runs outgrow it, or its form is absurd."""
        runs = self.runs_of(claim)
        return runs.outgrown(claim) or runs.absurd(claim)

    def plausible(self, ladder: Changes) -> Changes:
        """A ladder from the first claim on that stands and that somebody might state; none if not its last is."""
        if not ladder or self.implausible(ladder[-1][1]):
            return ladder[:0]
        claims = (claim for _, claim in ladder)
        stands = (not (self.runs_of(claim).violates(claim) or self.implausible(claim)) for claim in claims)
        return ladder[next((k for k, plausible in enumerate(stands) if plausible), len(ladder)) :]

    def doubtful(self, claim: Claim) -> tuple[bool, bool]:
        """Whether it has a new term that is negative throughout, or hardly says anything."""
        runs, stated = self.runs_of(claim), self.runs.claim
        new = set(claim.terms.values()) - set(stated.terms.values())
        return (
            any(runs.negative(term, always=True) for term in new),
            runs.room(claim) > LOOSE,
        )

    def says_more(self, other: Claim, claim: Claim, strictly: bool = False) -> bool:
        """Whether, on all known runs, another claim speaks of the same wherever one does, with no larger a bound."""
        if other.lhs != claim.lhs:
            return False
        if other.steps != claim.steps:
            return for_longer_steps(other, claim)
        runs = self.runs_of(claim)
        return runs.implies(other, claim) and not (strictly and runs.implies(claim, other))

    def prove(self, ladder: Changes, proved: list[Alternative], prover: Prover) -> bool:
        """Whether a claim of a ladder is proved, or says no more than a proved one; the strongest is added.

        Of those proved none stays of which another one says more.
        """
        low, high, best = 0, len(ladder) - 1, None
        try:
            while low <= high and not self.late:
                # The strongest first, then the weakest; between those two half way.
                middle = low if best is None and low == 0 else high if best is None else (low + high) // 2
                change, changed = ladder[middle]
                if middle == 0 and any(self.says_more(item.claim, changed) for item in proved):
                    return True
                proof = None
                with self._passed_over():
                    proof = in_time(prover, changed, self.reading)
                if proof is not None:
                    best, high = Alternative(change, changed, Outcome.PROVED, proof.detail), middle - 1
                elif middle == high and best is None:
                    break
                else:
                    low = middle + 1
        finally:  # when all time is spent, too
            if best is not None and not any(self.says_more(item.claim, best.claim) for item in proved):
                proved[:] = [*(item for item in proved if not self.says_more(best.claim, item.claim)), best]
        return best is not None

    def with_longer_proof(self, item: Alternative, end: float) -> Alternative:
        """What an attack left standing, proved where that takes longer than the proofs that were looked for."""
        seconds, proof = min(LONG_PROOF, end - time.process_time() - SPARE), None
        if seconds > 0:
            with self._passed_over():
                proof = in_time(automatic.examine, item.claim, self.reading, seconds)
        return item if proof is None else replace(item, outcome=Outcome.PROVED, grounds=proof.detail)

    @property
    def late(self) -> bool:
        """Whether its time is spent."""
        return time.process_time() > self.end

    @contextlib.contextmanager
    def _passed_over(self) -> Iterator[None]:
        """A change that makes no claim, by its units or its scope, or that runs do not decide, is none.

        Any other fault is warned of, once.
        """
        try:
            yield
        except (InputError, Undecided):
            pass
        except Exception as wrong:
            if not self.faulty:
                warnings.warn(f"a repair was passed over: {type(wrong).__name__}: {wrong}", stacklevel=2)
            self.faulty = True

    def sources(self, claim: Claim) -> list[Source]:
        """What shipped claims say of a claim's left side."""
        about = claim.lhs, claim.scope
        if about not in self.implying:
            self.implying[about] = list(sources(self.shipped, *about))
        return self.implying[about]

    def inherited(self, claim: Claim, reading: Reading) -> Verdict | None:
        """The proof of the whole statement by shipped claims that imply it on sight."""
        put = conditions(claim, reading)
        mine = at_random(claim, reading, put, claim.steps)
        key = conditions_on_one_symbol(put), claim.steps
        for source in self.sources(claim):
            if key not in source.at_random:
                source.at_random[key] = at_random(source.claim, source.reading, put, claim.steps)
            with np.errstate(all="ignore"):
                above = source.at_random[key] > mine + ROUNDING * abs(mine)
            if not above.any() and (proof := source.proof(claim, reading)) is not None:
                return proof
        return None

    def _is_new(self, claim: Claim) -> bool:
        """Whether a statement was not made before; it counts as made from then on."""
        statement = claim.lhs, claim.steps, claim.assumptions, claim.sides(self.reading).rhs
        new = statement not in self.seen
        self.seen.add(statement)
        return new


def for_longer_steps(other: Claim, claim: Claim) -> bool:
    """Whether another claim says the same for steps up to a limit that is no smaller."""
    if (other.lhs, other.rhs, other.assumptions) != (claim.lhs, claim.rhs, claim.assumptions):
        return False
    limits = [item.args for item in (other.steps, claim.steps) if isinstance(item, sp.Min)]
    if len(limits) < 2:
        return False
    (first,), (second,) = ([*set(mine) - set(theirs)] or [None] for mine, theirs in (limits, limits[::-1]))
    return first is not None and second is not None and never_negative(first - second, CURVATURES)
