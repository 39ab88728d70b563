"""What would be true instead: the nearest statements to a refuted claim that stand.

A candidate (`repair_candidates`) that a counterexample seen so far violates is dropped, and each that falls adds its
own. What is left is proved, or goes through a trial of its own. Fewer changes come first; what follows from another
candidate is dropped.
"""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from fedbounds import plugins
from fedbounds.errors import InputError, Interrupted
from fedbounds.evidence.exact.compare import examine
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.evidence.prover import automatic
from fedbounds.referee.case import INTERRUPTED, Case, TimeSpent, Watch, at_most
from fedbounds.referee.dimensions_and_limits import sanity
from fedbounds.referee.implication import follows, inherited
from fedbounds.referee.regime import Suite
from fedbounds.referee.regimes import REGIMES
from fedbounds.referee.repair_candidates import Change, candidates
from fedbounds.referee.trial import Alternative, Outcome, Trial, try_claim
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import READINGS, Reading
from fedbounds.theory.verdict import Status, Verdict

# How many are looked for, in so many processor seconds, of which a share is for trials of what was not proved.
COUNT, SECONDS, SHARE_OF_TRIALS = 3, 45.0, 0.4
# Processor seconds for the limits of one candidate, and for a trial at least and at most.
LIMITS, LEAST, MOST = 3.0, 5.0, 15.0


def alternatives(
    trial: Trial, count: int = COUNT, seconds: float = SECONDS, shipped: Mapping[str, Claim] | None = None
) -> tuple[Alternative, ...]:
    """At most ``count`` statements near a refuted claim: those proved first, then some that a trial leaves open.

    Takes at most so many processor ``seconds``. None for an identity, a rate, and a claim that is not refuted.
    ``shipped`` claims may prove a candidate, and those near are candidates: all that there are, unless given.
    A candidate that fails is passed over. Raises Interrupted, with those that were found, on a KeyboardInterrupt.
    """
    claim, refutation = trial.claim, trial.refutation
    if claim.kind is not Kind.INEQUALITY or refutation is None:
        return ()
    theorems = plugins.claims() if shipped is None else shipped
    reading, end = READINGS[trial.reading], time.process_time() + seconds
    search = Search(reading, instances_of(refutation.data), end - seconds * SHARE_OF_TRIALS, shipped=theorems)
    proved: list[Alternative] = []
    open_: list[Alternative] = []
    try:
        with contextlib.suppress(TimeSpent), at_most(seconds):
            ladders = [list(ladder) for ladder in candidates(claim, reading, theorems)]
            # What shipped proofs say takes no time: all of it is heard, and the strongest of it kept.
            for ladder in ladders:
                search.first(ladder, len(ladders), proved, search.inherited)
            proved[:] = strongest(proved, reading)
            unproved = [search.first(ladder, count, proved, automatic.examine) for ladder in ladders]
            proved[:] = strongest(proved, reading)
            open_.extend(_open(unproved, trial, count - len(proved), end))
    except KeyboardInterrupt:
        raise Interrupted((*strongest(proved, reading)[:count], *open_)) from None
    return (*strongest(proved, reading)[:count], *open_)


def strongest(proved: Sequence[Alternative], reading: Reading) -> list[Alternative]:
    """Those that follow from no other one, in their order; of two that say the same, the first."""
    result: list[Alternative] = []
    for k, item in enumerate(proved):
        implied = (follows(item.claim, reading, other.claim, reading) for other in proved[k + 1 :])
        included = (follows(item.claim, reading, other.claim, reading) for other in result)
        mutual = (follows(other.claim, reading, item.claim, reading) for other in proved[k + 1 :])
        if not any(included) and not any(weaker and not same for weaker, same in zip(implied, mutual, strict=True)):
            result.append(item)
    return result


def _open(ladders: Iterable[Changes], trial: Trial, count: int, end: float) -> Iterator[Alternative]:
    """Of each ladder the strongest that a trial of its own does not refute, while there is time for one."""
    for ladder in ladders:
        for change, changed in ladder:
            left = end - time.process_time()
            if count == 0 or left < LEAST:
                return
            retried = try_claim(changed, trial.reading, seed=trial.seed, seconds=min(left, MOST))
            if not retried.finished and not retried.fault:
                raise KeyboardInterrupt  # which a trial takes for its own end
            if retried.outcome in (Outcome.OPEN, Outcome.PROVED) and retried.violation_in_floats is None:
                grounds = (
                    f"certified at {len(retried.certified)} settings"
                    if retried.certified
                    else "no violation was found"
                )
                yield Alternative(change, changed, retried.outcome, grounds)
                count -= 1
                break


# Changed claims.
Changes = list[tuple[str, Claim]]
Prover = Callable[[Claim, Reading], Verdict | None]


@dataclass
class Search:
    """Counterexamples seen so far, which refute later candidates too, and when to stop."""

    reading: Reading
    refuting: list[Instance]
    end: float
    suite: Suite = field(default_factory=lambda: Suite(REGIMES))
    shipped: Mapping[str, Claim] = field(default_factory=plugins.claims)
    faulty: bool = False
    seen: set[tuple[object, ...]] = field(default_factory=set)

    def first(self, ladder: Iterable[Change], count: int, proved: list[Alternative], prove: Prover) -> Changes:
        """Add the first claim of a ladder that is proved; return those before it that nothing decides."""
        undecided: Changes = []
        ladder = list(ladder)
        if self._all_fall(ladder[1:], prove):
            return []
        for change, make in ladder:
            if len(proved) == count or self.late:
                break
            with self._passed_over():
                changed = make()
                if any(follows(changed, self.reading, other.claim, self.reading) for other in proved):
                    break
                if not self._is_new(changed, prove) or self._falls(changed, prove):
                    continue
                proof = prove(changed, self.reading)
                if proof is not None:
                    proved.append(Alternative(change, changed, Outcome.PROVED, proof.detail))
                    break
                undecided.append((change, changed))
        return undecided

    def _all_fall(self, weaker: Sequence[Change], prove: Prover) -> bool:
        """Whether an instance violates the weakest claim of a ladder, and with it every other."""
        with self._passed_over():
            return bool(weaker) and not self.late and self._falls(weaker[-1][1](), prove)
        return False

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

    def inherited(self, claim: Claim, reading: Reading) -> Verdict | None:
        """The proof of the whole statement by a shipped claim that implies it on sight."""
        for other in self.shipped.values():
            if (other.lhs, other.scope) == (claim.lhs, claim.scope):
                for verdict in inherited(claim, reading, other):
                    if verdict.coverage is None or verdict.coverage.includes(claim.coverage(reading)):
                        return verdict
        return None

    def _is_new(self, claim: Claim, prove: Prover) -> bool:
        """Whether a statement was not put to this prover before; it counts as put to it from then on."""
        statement = prove, claim.lhs, claim.steps, claim.assumptions, sp.Add(*claim.terms.values())
        new = statement not in self.seen
        self.seen.add(statement)
        return new

    def _falls(self, claim: Claim, prove: Prover) -> bool:
        """Whether an instance violates a claim: a known one, before what takes no time to prove, else any."""
        return self.violated(claim) if prove == self.inherited else self.refuted(claim)

    @property
    def late(self) -> bool:
        return time.process_time() > self.end

    def violated(self, claim: Claim) -> bool:
        """Whether a known instance violates a claim."""
        return any(examine(instance, claim, self.reading).status is Status.REFUTED for instance in self.refuting)

    def refuted(self, claim: Claim) -> bool:
        """Whether a known instance violates a claim, or one at the limits, which is known from then on."""
        if self.violated(claim):
            return True
        result, cut = Watch(LIMITS).carry_out(sanity, Case(claim, self.reading, "small", 0, self.suite))
        if cut == INTERRUPTED:
            raise KeyboardInterrupt
        refuting = [verdict for verdict in result.verdicts if verdict.status is Status.REFUTED]
        self.refuting += [instance for verdict in refuting for instance in instances_of(verdict.data)]
        return bool(refuting)


def instances_of(data: Mapping[str, Any]) -> list[Instance]:
    """The instance in a verdict's data, if it has one."""
    return [from_json(data["instance"])] if "instance" in data else []


def whole_proof(claim: Claim, reading: Reading) -> Verdict | None:
    """The proof of the whole statement: of a shipped claim that implies it, or one that the prover finds."""
    return Search(reading, [], 0.0).inherited(claim, reading) or automatic.examine(claim, reading)
