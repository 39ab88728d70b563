"""What would be true instead: the nearest statements to a refuted claim that stand.

A candidate (`repair_candidates`) that an exact run of the battery violates is dropped (`screen`). What is left is
proved: by shipped proofs, from which it follows, or by the prover; else an attack must leave it standing
(`repair_open`). Changed sides come before further conditions; what follows from another candidate is dropped.
"""

from __future__ import annotations

import contextlib
import itertools
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fedbounds import plugins
from fedbounds.errors import InputError, Interrupted
from fedbounds.evidence.exact.stated_steps import with_steps
from fedbounds.evidence.prover import automatic
from fedbounds.referee.case import TimeSpent, at_most
from fedbounds.referee.dimensions_and_limits import misprints
from fedbounds.referee.implication import Source, alone, at_random, conditions, follows, sources
from fedbounds.referee.repair_candidates import Change, Ladder, candidates
from fedbounds.referee.repair_open import Changes, as_stated, for_longer_steps, instances_of, not_refuted, says_more
from fedbounds.referee.screen import Screen, screen
from fedbounds.referee.trial import Alternative, Outcome, Trial
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import READINGS, Reading
from fedbounds.theory.verdict import Verdict

# How many are looked for, in so many processor seconds, of which shares are for exact runs, for trials, for
# the candidates, and for the prover where shipped proofs show something already.
COUNT, SECONDS, SHARE_OF_RUNS, SHARE_OF_TRIALS, SHARE_OF_MORE = 3, 45.0, 0.12, 0.5, 0.25
# Processor seconds under a verdict that was asked for alone: as many as that took, at least and at most so many.
AT_ONCE = 5.0, 12.0
# Processor seconds for exact runs and candidates at least, and for proofs before any are kept for attacks.
CANDIDATES, PROOFS = 2.0, 8.0
# Processor seconds for one proof, and for the runs of other steps.
ONE_PROOF, OTHER_STEPS = 2.0, 1.0
# A bound with more room than this hardly says anything.
LOOSE = 0.8
# Of two right sides at random values the smaller, up to rounding.
ROUNDING = 1e-9


def alternatives(
    trial: Trial, count: int = COUNT, seconds: float = SECONDS, shipped: Mapping[str, Claim] | None = None
) -> tuple[Alternative, ...]:
    """At most ``count`` statements near a refuted claim that are proved; where none is, some that are left open.

    Takes at most so many processor ``seconds``. None for an identity, a rate, and a claim that is not refuted.
    ``shipped`` claims may prove a candidate, and those near are candidates: all that there are, unless given.
    A candidate that fails is passed over. Raises Interrupted, with those that were found, on a KeyboardInterrupt.
    """
    claim, refutation = trial.claim, trial.refutation
    if claim.kind is not Kind.INEQUALITY or refutation is None:
        return ()
    theorems = plugins.claims() if shipped is None else shipped
    reading, end = READINGS[trial.reading], time.process_time() + seconds
    proved: list[Alternative] = []
    open_: list[Alternative] = []
    try:
        with contextlib.suppress(TimeSpent), at_most(seconds):
            runs = screen(claim, reading, instances_of(refutation.data), seconds * SHARE_OF_RUNS)
            first = max(seconds * (SHARE_OF_RUNS + SHARE_OF_MORE), CANDIDATES)
            search = Search(reading, runs, end - seconds + first, theorems.values())
            ladders = search.standing(candidates(claim, reading, theorems, runs.negative))
            search.end = end - min(seconds * SHARE_OF_TRIALS, max(seconds - PROOFS, 0.0))
            # What shipped proofs say takes no time: all of it is heard, and the strongest of it kept.
            rest = [ladder for ladder in ladders if not search.prove(ladder, proved, search.inherited)]
            proved[:] = strongest(proved, reading)
            search.end = min(search.end, time.process_time() + seconds * SHARE_OF_MORE) if proved else search.end
            rest = [ladder for ladder in rest if not search.prove(ladder, proved, automatic.examine)]
            wide = [item.claim for item in proved if as_wide(item.claim, claim, reading)]
            # A guess beside those is worth its time where it says more.
            more = (any(says_more(search, guess[0][1], item, strictly=True) for item in wide) for guess in rest)
            rest = list(itertools.compress(rest, more)) if wide else rest
            open_.extend(not_refuted(search, rest, trial, lacking(len(proved), bool(wide), count), end, proved))
            open_.sort(key=lambda item: (item.outcome is not Outcome.PROVED, as_stated(item.claim, claim)))
    except KeyboardInterrupt:
        raise Interrupted((*chosen(strongest(proved, reading), claim, count - len(open_)), *open_)) from None
    return (*chosen(strongest(proved, reading), claim, count - len(open_)), *open_)


def limit(trial: Trial, wanted: bool | None, seconds: float | None) -> float:
    """The processor seconds for what stands in place of a false claim: None are ``wanted`` for what is said at once.

    That takes no more than the ``seconds`` of a trial, if they are limited.
    """
    taken = sum(stage.seconds for stage in trial.stages)
    at_once = min(max(taken, AT_ONCE[0]), AT_ONCE[1], AT_ONCE[1] if seconds is None else seconds)
    return at_once if wanted is None else SECONDS * wanted


def lacking(found: int, wide: bool, count: int) -> int:
    """How many are looked for that may stay open: one at most beside a proof as ``wide``, else at least."""
    return min(max(count - found, 0), 1) if wide else max(count - found, min(count - 1, 1))


def as_wide(changed: Claim, claim: Claim, reading: Reading) -> bool:
    """Whether it assumes no more than the claim."""
    return set(claim.assumptions_in(reading)).issuperset(changed.assumptions_in(reading))


def strongest(proved: Sequence[Alternative], reading: Reading) -> list[Alternative]:
    """Those that follow from no other one, in their order; of two that say the same, the first."""
    result: list[Alternative] = []
    for k, item in enumerate(proved):
        implied = (_weaker(item.claim, other.claim, reading) for other in proved[k + 1 :])
        included = (_weaker(item.claim, other.claim, reading) for other in result)
        mutual = (_weaker(other.claim, item.claim, reading) for other in proved[k + 1 :])
        if not any(included) and not any(weaker and not same for weaker, same in zip(implied, mutual, strict=True)):
            result.append(item)
    return result


def _weaker(claim: Claim, other: Claim, reading: Reading) -> bool:
    return for_longer_steps(other, claim) or follows(claim, reading, other, reading, conditions(claim, reading))


def chosen(proved: Sequence[Alternative], claim: Claim, count: int) -> list[Alternative]:
    """So many, those under no further conditions first; one of those that are as stated is among them."""
    proved = sorted(proved, key=lambda item: as_stated(item.claim, claim))
    first, rest = list(proved[:count]), [item for item in proved[count:] if as_stated(item.claim, claim)]
    if rest and not any(as_stated(item.claim, claim) for item in first):
        first[-1] = rest[0]
    return first


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

    def doubtful(self, claim: Claim) -> tuple[bool, bool]:
        """Whether it has a new term that is negative throughout, or hardly says anything."""
        runs, stated = self.runs_of(claim), self.runs.claim
        new = set(claim.terms.values()) - set(stated.terms.values())
        return (
            any(runs.negative(term, always=True) for term in new),
            runs.room(claim) > LOOSE,
        )

    def prove(self, ladder: Changes, proved: list[Alternative], prover: Prover) -> bool:
        """Whether a claim of a ladder is proved, or follows from a proved one; the strongest is added."""
        low, high, best = 0, len(ladder) - 1, None
        try:
            while low <= high and not self.late:
                # The strongest first, then the weakest; between those two half way.
                middle = low if best is None and low == 0 else high if best is None else (low + high) // 2
                change, changed = ladder[middle]
                if middle == 0 and any(_weaker(changed, item.claim, self.reading) for item in proved):
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
            proved += [best] if best else []
        return best is not None

    def later_proof(self, claim: Claim, seconds: float) -> Verdict | None:
        """A proof that takes longer than those that were looked for."""
        with self._passed_over():
            return in_time(automatic.examine, claim, self.reading, seconds) if seconds > 0 else None
        return None

    @property
    def late(self) -> bool:
        """Whether its time is spent."""
        return time.process_time() > self.end

    @contextlib.contextmanager
    def _passed_over(self) -> Iterator[None]:
        """A change that makes no claim, by its units or its scope, is none; any other fault is warned of, once."""
        try:
            yield
        except InputError:
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
        key = alone(put), claim.steps
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
