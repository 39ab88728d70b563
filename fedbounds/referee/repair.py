"""What would be true instead: the nearest statements to a refuted claim that stand.

A candidate (`repair_candidates`) that an exact run violates is dropped. What is left is proved: by shipped proofs,
from which it follows, or by the prover; else an attack must leave it standing (`repair_search` holds what is known).
Changed sides come before further conditions; what says no more than another one is dropped.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fedbounds import plugins
from fedbounds.errors import Interrupted
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.evidence.prover import automatic
from fedbounds.referee.repair_candidates import candidates
from fedbounds.referee.repair_search import Changes, Search
from fedbounds.referee.screen import screen
from fedbounds.referee.stage_context import TimeSpent, at_most
from fedbounds.referee.stages import STAGES
from fedbounds.referee.trial import Alternative, Outcome, Trial, try_claim
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import READINGS, Reading

# How many are looked for, in so many processor seconds, of which shares are for exact runs, for trials, for
# the candidates, and for the prover where shipped proofs show something already.
COUNT, SECONDS, SHARE_OF_RUNS, SHARE_OF_TRIALS, SHARE_OF_MORE = 3, 45.0, 0.12, 0.5, 0.25
# Processor seconds under a verdict that was asked for alone: as many as that took, at least and at most so many.
AT_ONCE = 6.0, 12.0
# Processor seconds for exact runs and candidates at least, and for proofs before any are kept for attacks.
CANDIDATES, PROOFS = 2.0, 8.0
# Processor seconds for an attack at least and at most.
LEAST, MOST = 2.0, 20.0
# A ladder on which so many attacks refuted a claim is left: its constant grows with the instances that are found.
REFUTED = 2
# What a trial does to refute; proofs were looked for before.
ATTACKS = tuple(stage for stage in STAGES if stage.breaks)


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
            # What shipped proofs say takes no time: all of it is heard.
            rest = [ladder for ladder in ladders if not search.prove(ladder, proved, search.inherited)]
            search.end = min(search.end, time.process_time() + seconds * SHARE_OF_MORE) if proved else search.end
            rest = [ladder for ladder in rest if not search.prove(ladder, proved, automatic.examine)]
            wide = [item.claim for item in proved if as_wide(item.claim, claim, reading)]
            # A guess beside those is worth its time where it says more.
            more = (any(search.says_more(guess[0][1], item, strictly=True) for item in wide) for guess in rest)
            rest = list(itertools.compress(rest, more)) if wide else rest
            open_.extend(not_refuted(search, rest, trial, lacking(len(proved), bool(wide), count), end, proved))
            open_.sort(key=lambda item: (item.outcome is not Outcome.PROVED, as_stated(item.claim, claim)))
    except KeyboardInterrupt:
        raise Interrupted((*chosen(proved, claim, count - len(open_)), *open_)) from None
    return (*chosen(proved, claim, count - len(open_)), *open_)


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


def chosen(proved: Sequence[Alternative], claim: Claim, count: int) -> list[Alternative]:
    """So many, those under no further conditions first; one of those that are as stated is among them."""
    proved = sorted(proved, key=lambda item: as_stated(item.claim, claim))
    first, rest = list(proved[:count]), [item for item in proved[count:] if as_stated(item.claim, claim)]
    if rest and not any(as_stated(item.claim, claim) for item in first):
        first[-1] = rest[0]
    return first


def as_stated(changed: Claim, claim: Claim) -> bool:
    """Whether both sides are those of the claim."""
    return (changed.lhs, changed.rhs) == (claim.lhs, claim.rhs)


def instances_of(data: Mapping[str, Any]) -> list[Instance]:
    """The instance in a verdict's data, if it has one in fractions; not one made of a solver's functions."""
    return [from_json(data["instance"])] if "curvatures" in data.get("instance", ()) else []


def not_refuted(
    search: Search, ladders: Sequence[Changes], trial: Trial, count: int, end: float, proved: Sequence[Alternative]
) -> Iterator[Alternative]:
    """At most ``count`` of the statements that an attack on each does not refute, none weaker than another one shown.

    Of statements of which one says more, that one comes first; after one under a further condition those in other
    terms. What refutes one is tried on all others.
    """
    queue = [ladder for ladder in map(search.plausible, ladders) if ladder]
    queue.sort(key=lambda ladder: search.doubtful(ladder[0][1]))
    shown, fallen = [item.claim for item in proved], dict[int, int]()
    while queue and count > 0 and end - time.process_time() >= LEAST:
        others = [ladder for ladder in queue if not as_stated(ladder[0][1], trial.claim)]
        conditions = bool(shown) and all(as_stated(item, trial.claim) for item in shown)
        ladder = _strongest(search, others if conditions and others else queue)
        queue.remove(ladder)
        change, changed = ladder[0]
        if any(search.says_more(other, changed) for other in shown):
            continue
        if not search.runs_of(changed).violates(changed):
            attacked = _attacked(changed, trial, min((end - time.process_time()) / count, MOST))
            if attacked.outcome in (Outcome.OPEN, Outcome.PROVED) and attacked.violation_in_floats is None:
                certified = f"certified at {len(attacked.certified)} settings" * bool(attacked.certified)
                standing = Alternative(change, changed, Outcome.OPEN, certified or "no violation was found")
                yield search.with_longer_proof(standing, end)
                shown.append(changed)
                count -= 1
                continue
            for instance in instances_of(attacked.refutation.data) if attacked.refutation is not None else ():
                search.runs_of(changed).add(instance)
            first = id(ladder[-1][1])
            fallen[first] = fallen.get(first, 0) + 1
        if fallen.get(id(ladder[-1][1]), 0) < REFUTED and (weaker := search.plausible(ladder[1:])):
            queue.append(weaker)


def _attacked(claim: Claim, trial: Trial, seconds: float) -> Trial:
    attacked = try_claim(claim, trial.reading, seed=trial.seed, seconds=seconds, stages=ATTACKS)
    if not attacked.finished and not attacked.fault:
        raise KeyboardInterrupt  # which a trial takes for its own end
    return attacked


def _strongest(search: Search, queue: Sequence[Changes]) -> Changes:
    """The first ladder, or one that says more and is no more doubtful."""
    best = queue[0]
    for ladder in queue[1:]:
        claim, other = best[0][1], ladder[0][1]
        if search.doubtful(other) <= search.doubtful(claim) and search.says_more(other, claim, strictly=True):
            best = ladder
    return best
