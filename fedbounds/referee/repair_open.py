"""Which statements near a refuted one may be shown without a proof: those that an attack leaves standing."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import sympy as sp

from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.referee.implication import CURVATURES, never_negative
from fedbounds.referee.screen import Screen
from fedbounds.referee.stages import STAGES
from fedbounds.referee.trial import Alternative, Outcome, Trial, try_claim
from fedbounds.theory.claim import Claim
from fedbounds.theory.verdict import Verdict

# Processor seconds for an attack at least and at most.
LEAST, MOST = 2.0, 20.0
# The same for the proof of one that is left standing, which must be over before all time is.
LATER_PROOF, SPARE = 10.0, 0.5
# A ladder on which so many attacks refuted a claim is left: its constant grows with the instances that are found.
REFUTED = 2
# What a trial does to refute; proofs were looked for before.
ATTACKS = tuple(stage for stage in STAGES if stage.breaks)

# Changed claims, each weaker than the one before.
Changes = Sequence[tuple[str, Claim]]


class Known(Protocol):
    """What is known against claims."""

    def runs_of(self, claim: Claim) -> Screen:
        """The runs for claims with its steps."""

    def implausible(self, claim: Claim) -> bool:
        """Whether nobody would believe or state it without a proof."""

    def doubtful(self, claim: Claim) -> tuple[bool, ...]:
        """The larger, the more speaks against it."""

    def later_proof(self, claim: Claim, seconds: float) -> Verdict | None:
        """A proof that takes longer than those that were looked for."""


def not_refuted(
    search: Known, ladders: Sequence[Changes], trial: Trial, count: int, end: float, proved: Sequence[Alternative]
) -> Iterator[Alternative]:
    """At most ``count`` of the statements that an attack on each does not refute, none weaker than another one shown.

    Of statements of which one says more, that one comes first; after one under a further condition those in other
    terms. What refutes one is tried on all others.
    """
    queue = [plausible for ladder in ladders if (plausible := _plausible(search, ladder))]
    queue.sort(key=lambda ladder: search.doubtful(ladder[0][1]))
    shown, fallen = [item.claim for item in proved], dict[int, int]()
    while queue and count > 0 and end - time.process_time() >= LEAST:
        ladder = _strongest(search, _in_other_terms(queue, trial.claim, shown) or queue)
        queue.remove(ladder)
        change, changed = ladder[0]
        if any(says_more(search, other, changed) for other in shown):
            continue
        if search.runs_of(changed).violates(changed):
            queue = _requeued(search, queue, ladder)
            continue
        seconds = min((end - time.process_time()) / count, MOST)
        attacked = try_claim(changed, trial.reading, seed=trial.seed, seconds=seconds, stages=ATTACKS)
        if not attacked.finished and not attacked.fault:
            raise KeyboardInterrupt  # which a trial takes for its own end
        if attacked.outcome in (Outcome.OPEN, Outcome.PROVED) and attacked.violation_in_floats is None:
            yield _with_grounds(search, change, attacked, end)
            shown.append(changed)
            count -= 1
            continue
        for instance in instances_of(attacked.refutation.data) if attacked.refutation is not None else ():
            search.runs_of(changed).add(instance)
        first = id(ladder[-1][1])
        fallen[first] = fallen.get(first, 0) + 1
        if fallen[first] < REFUTED:
            queue = _requeued(search, queue, ladder)


def _plausible(search: Known, ladder: Changes) -> Changes:
    """A ladder from the first claim on that somebody might state; none where nobody would state the last one."""
    if search.implausible(ladder[-1][1]):
        return []
    return next(ladder[k:] for k, (_, claim) in enumerate(ladder) if not search.implausible(claim))


def _with_grounds(search: Known, change: str, attacked: Trial, end: float) -> Alternative:
    """What an attack left standing: with a proof, if one is found late, or else with where it is certified."""
    claim, certified = attacked.claim, f"certified at {len(attacked.certified)} settings" * bool(attacked.certified)
    proof = attacked.whole_proof or search.later_proof(claim, min(LATER_PROOF, end - time.process_time() - SPARE))
    if proof is not None:
        return Alternative(change, claim, Outcome.PROVED, proof.detail)
    return Alternative(change, claim, Outcome.OPEN, certified or "no violation was found")


def _in_other_terms(queue: Sequence[Changes], claim: Claim, shown: Sequence[Claim]) -> list[Changes]:
    """The ladders that change a side, once all that is shown are the sides as stated; else none."""
    if not shown or not all(as_stated(item, claim) for item in shown):
        return []
    return [ladder for ladder in queue if not as_stated(ladder[0][1], claim)]


def _requeued(search: Known, queue: list[Changes], ladder: Changes) -> list[Changes]:
    """The queue with what is left of a ladder whose first claim fell, at its end."""
    rest = ladder[1:]
    while rest and search.runs_of(rest[0][1]).violates(rest[0][1]):
        rest = rest[1:]
    return [*queue, rest] if rest else queue


def _strongest(search: Known, queue: Sequence[Changes]) -> Changes:
    """The first ladder, or one that says more and is no more doubtful."""
    best = queue[0]
    for ladder in queue[1:]:
        claim, other = best[0][1], ladder[0][1]
        if search.doubtful(other) <= search.doubtful(claim) and says_more(search, other, claim, strictly=True):
            best = ladder
    return best


def says_more(search: Known, other: Claim, claim: Claim, strictly: bool = False) -> bool:
    """Whether, on all known runs, another claim speaks wherever one does, of the same and with no larger a bound."""
    if other.lhs != claim.lhs:
        return False
    if other.steps != claim.steps:
        return for_longer_steps(other, claim)
    runs = search.runs_of(claim)
    return runs.implies(other, claim) and not (strictly and runs.implies(claim, other))


def for_longer_steps(other: Claim, claim: Claim) -> bool:
    """Whether another claim says the same for steps up to a limit that is no smaller."""
    if (other.lhs, other.rhs, other.assumptions) != (claim.lhs, claim.rhs, claim.assumptions):
        return False
    limits = [item.args for item in (other.steps, claim.steps) if isinstance(item, sp.Min)]
    if len(limits) < 2:
        return False
    (first,), (second,) = ([*set(mine) - set(theirs)] or [None] for mine, theirs in (limits, limits[::-1]))
    return first is not None and second is not None and never_negative(first - second, CURVATURES)


def as_stated(changed: Claim, claim: Claim) -> bool:
    """Whether both sides are those of the claim."""
    return (changed.lhs, changed.rhs) == (claim.lhs, claim.rhs)


def instances_of(data: Mapping[str, Any]) -> list[Instance]:
    """The instance in a verdict's data, if it has one in fractions; not one made of a solver's functions."""
    return [from_json(data["instance"])] if "curvatures" in data.get("instance", ()) else []
