"""What would be true instead: the nearest statements to a refuted claim that are proved, or that withstand an attack.

A candidate (`repair_candidates`) that an exact run violates is dropped. What is left is proved: by shipped proofs,
from which it follows, or by the prover. Where nothing of the claim's width is proved, a candidate may be shown that a
long attack on its own does not refute; but none with a number that was fitted to what is known, which is soon too
small. What says no more than another one is dropped.
"""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import sympy as sp

from fedbounds import plugins
from fedbounds.errors import InputError, Interrupted
from fedbounds.evidence.ball_arithmetic import Undecided
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.evidence.exact.stated_steps import with_steps
from fedbounds.evidence.prover import automatic
from fedbounds.referee.dimensions_and_limits import misprints
from fedbounds.referee.implication import CURVATURES, Shipped, never_negative
from fedbounds.referee.repair_candidates import Change, Ladder, candidates
from fedbounds.referee.screen import Screen, screen
from fedbounds.referee.search.populations import BUDGETS
from fedbounds.referee.stage_context import Case, Prover, StageResult, TimeSpent, at_most, in_time, processor_seconds
from fedbounds.referee.stages import STAGES, search
from fedbounds.referee.trial import Alternative, Outcome, Trial, try_claim
from fedbounds.theory import symbols as s
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import READINGS, Reading

# How many are looked for, in so many processor seconds, of which shares are for exact runs, for attacks, for
# the candidates, and for the prover where shipped proofs show something already.
COUNT, SECONDS, SHARE_OF_RUNS, SHARE_OF_ATTACKS, SHARE_OF_MORE = 3, 45.0, 0.12, 0.5, 0.25
# Processor seconds under a verdict that was asked for alone: as many as that took, at least and at most so many.
AT_ONCE = 6.0, 12.0
# Processor seconds for exact runs and candidates at least, and for proofs before any are kept for attacks.
CANDIDATES, PROOFS = 2.0, 8.0
# Processor seconds for an attack: fewer are none; more find hardly more.
LEAST, MOST = 6.0, 20.0
# Processor seconds for a proof of what an attack left standing, which must be over so long before the end, and for
# the runs of other steps.
LONG_PROOF, SPARE, OTHER_STEPS = 10.0, 0.5, 1.0

# Claims of a ladder, each weaker than the one before, with the changes that make them.
Changes = Sequence[tuple[str, Claim]]


def thorough(case: Case) -> StageResult:
    """A search of as many shapes as the time allows, of sizes up to the large budget's."""
    small, large = BUDGETS["small"], BUDGETS["large"]
    left = MOST if case.end is None else max(case.end - processor_seconds(), 1.0)
    wide = replace(small, name="attack", clients=large.clients, dimensions=large.dimensions, longest=large.longest)
    return search(case, replace(wide, seconds=left))


# What a trial does to refute; proofs were looked for before. Half of the time is the search's.
ATTACKS = tuple(
    replace(stage, examine=thorough, seconds=sum(other.seconds for other in STAGES if other.breaks) - stage.seconds)
    if stage.examine is search
    else stage
    for stage in STAGES
    if stage.breaks
)


def alternatives(
    trial: Trial, count: int = COUNT, seconds: float = SECONDS, shipped: Mapping[str, Claim] | None = None
) -> tuple[Alternative, ...]:
    """At most ``count`` statements near a refuted claim that are proved; where none is, some that withstood attacks.

    Takes at most so many processor ``seconds``. None for an identity, a rate, and a claim that is not refuted.
    ``shipped`` claims may prove a candidate, and those near are candidates: all that there are, unless given.
    A candidate that fails is passed over. Raises Interrupted, with those that were found, on a KeyboardInterrupt.
    """
    claim, refutation = trial.claim, trial.refutation
    if claim.kind is not Kind.INEQUALITY or refutation is None:
        return ()
    theorems = plugins.claims() if shipped is None else shipped
    reading, end = READINGS[trial.reading], time.process_time() + seconds
    found: list[Alternative] = []
    try:
        with contextlib.suppress(TimeSpent), at_most(seconds):
            runs = screen(claim, reading, instances_of(refutation.data), seconds * SHARE_OF_RUNS)
            first = max(seconds * (SHARE_OF_RUNS + SHARE_OF_MORE), CANDIDATES)
            repairs = Repairs(reading, runs, end - seconds + first, Shipped(theorems.values()))
            ladders = repairs.standing(candidates(claim, reading, theorems, runs.negative))
            repairs.end = end - min(seconds * SHARE_OF_ATTACKS, max(seconds - PROOFS, 0.0))
            # What shipped proofs say takes no time: all of it is heard.
            rest = [ladder for ladder in ladders if not repairs.prove(ladder, found, repairs.shipped.proof)]
            repairs.end = min(repairs.end, time.process_time() + seconds * SHARE_OF_MORE) if found else repairs.end
            rest = [ladder for ladder in rest if not repairs.prove(ladder, found, automatic.examine)]
            if not any(as_wide(item.claim, claim, reading) for item in found):
                repairs.withstanding(rest, trial, found, max(count, len(found) + 1), end)
    except KeyboardInterrupt:
        raise Interrupted(chosen(found, claim, count)) from None
    return chosen(found, claim, count)


def limit(trial: Trial, wanted: bool | None, seconds: float | None) -> float:
    """The processor seconds for what stands in place of a false claim: None are ``wanted`` for what is said at once.

    That takes no more than the ``seconds`` of a trial, if they are limited.
    """
    taken = sum(stage.seconds for stage in trial.stages)
    at_once = min(max(taken, AT_ONCE[0]), AT_ONCE[1], AT_ONCE[1] if seconds is None else seconds)
    return at_once if wanted is None else SECONDS * wanted


def as_wide(changed: Claim, claim: Claim, reading: Reading) -> bool:
    """Whether it assumes no more than the claim."""
    return set(claim.assumptions_in(reading)).issuperset(changed.assumptions_in(reading))


def as_stated(changed: Claim, claim: Claim) -> bool:
    """Whether both sides are those of the claim."""
    return (changed.lhs, changed.rhs) == (claim.lhs, claim.rhs)


def chosen(found: Iterable[Alternative], claim: Claim, count: int) -> tuple[Alternative, ...]:
    """So many, guesses after proofs, and of these changed sides first; one of those as stated is among them."""
    guesses = [item for item in found if item.outcome is not Outcome.PROVED][:count]
    proved = sorted((item for item in found if item not in guesses), key=lambda item: as_stated(item.claim, claim))
    first, rest = proved[: count - len(guesses)], proved[count - len(guesses) :]
    conditions = [item for item in rest if as_stated(item.claim, claim)]
    if first and conditions and not any(as_stated(item.claim, claim) for item in first):
        first[-1] = conditions[0]
    return (*first, *guesses)


def instances_of(data: Mapping[str, Any]) -> list[Instance]:
    """The instance in a verdict's data, if it has one in fractions; not one made of a solver's functions."""
    return [from_json(data["instance"])] if "curvatures" in data.get("instance", ()) else []


@dataclass
class Repairs:
    """What is known against candidates and for them, and when to stop."""

    reading: Reading
    runs: Screen
    end: float
    shipped: Shipped = field(default_factory=lambda: Shipped(plugins.claims().values()))
    other_runs: dict[Any, Screen] = field(default_factory=dict)
    seen: set[tuple[object, ...]] = field(default_factory=set)

    def standing(self, groups: Iterable[Iterable[Sequence[Change]]]) -> list[Ladder]:
        """Of each ladder what no run violates, from the strongest on.

        Those whose dimensions agree come first, then the groups in their order, then those with the least room.
        """
        surviving: list[tuple[tuple[bool, int, float], Ladder]] = []
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
        """Whether it says nothing: its left side is on the right too, or is 0 where it speaks, not the right.

        A claim that states 0 on the left says of its right side that it is not negative.
        """
        left, right, _ = claim.sides(self.reading)
        if left == 0:
            return bool(right == 0)
        return (not left.is_Number and right.has(left)) or (right != 0 and self.runs_of(claim).trivial(claim))

    def says_more(self, other: Claim, claim: Claim, strictly: bool = False) -> bool:
        """Whether, on all known runs, another claim speaks of the same wherever one does, with no larger a bound."""
        if other.lhs != claim.lhs:
            return False
        if other.steps != claim.steps:
            return for_longer_steps(other, claim)
        runs = self.runs_of(claim)
        return runs.implies(other, claim) and not (strictly and runs.implies(claim, other))

    def prove(self, ladder: Changes, proved: list[Alternative], prover: Prover, seconds: float | None = None) -> bool:
        """Whether a claim of a ladder is proved, or says no more than a proved one; the strongest is added.

        Of those proved none stays of which another one says more.
        """
        low, high, best = 0, len(ladder) - 1, None
        plain = ladder.plain if isinstance(ladder, Ladder) else None
        # The strongest first, then 1, then the weakest; once one is proved half way.
        ahead = [0, *([] if plain is None else [plain]), high]
        try:
            while low <= high and not self.late:
                begun = best is not None
                middle = (low + high) // 2 if begun else next(k for k in ahead if low <= k)
                change, changed = ladder[middle]
                if middle == 0 and any(self.says_more(item.claim, changed) for item in proved):
                    return True
                proof = None
                with self._passed_over():
                    proof = in_time(prover, changed, self.reading, seconds)
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

    def withstanding(
        self, ladders: Iterable[Ladder], trial: Trial, found: list[Alternative], count: int, end: float
    ) -> None:
        """Add statements that an attack on each does not refute, or that a longer proof shows, up to ``count``.

        Of statements of which one says more, that one comes first. What refutes one is tried on all others. Those of
        a fitted number are proved or left out.
        """
        queue, self.end = [ladder for ladder in ladders if self._sensible(ladder[0][1])], end
        while queue and len(found) < count and (left := end - time.process_time()) > 0:
            ladder = queue[0]
            for other in queue[1:]:
                ladder = other if self.says_more(other[0][1], ladder[0][1], strictly=True) else ladder
            queue.remove(ladder)
            change, changed = ladder[0]
            if ladder.fitted:
                self.prove(ladder, found, automatic.examine, min(LONG_PROOF, left))
            elif left < LEAST or self.runs_of(changed).violates(changed):
                continue
            elif not any(self.says_more(item.claim, changed) for item in found):
                attacked = _attacked(changed, trial, min(max(left / 2, LEAST), MOST))
                spare = min(LONG_PROOF, end - time.process_time() - SPARE)
                if withstood(attacked) and not (spare > 0 and self.prove(ladder, found, automatic.examine, spare)):
                    certified = f"certified at {len(attacked.certified)} settings" * bool(attacked.certified)
                    found.append(Alternative(change, changed, Outcome.OPEN, certified or "no violation was found"))
                for instance in instances_of(attacked.refutation.data) if attacked.refutation is not None else ():
                    self.runs_of(changed).add(instance)

    def _sensible(self, claim: Claim) -> bool:
        """Whether somebody may state it: no bound that falls with T however short steps are."""
        right = claim.sides(self.reading).rhs
        stated = claim.steps is not None or right.has(s.eta, s.eta_0) or claim.scope != "horizon"
        return (stated or not right.has(s.T)) and not self.runs_of(claim).absurd(claim)

    @property
    def late(self) -> bool:
        """Whether its time is spent."""
        return time.process_time() > self.end

    @staticmethod
    @contextlib.contextmanager
    def _passed_over() -> Iterator[None]:
        """A change that makes no claim, by its units or its scope, or that runs do not decide, is none.

        Any other fault is warned of.
        """
        try:
            yield
        except (InputError, Undecided):
            pass
        except Exception as wrong:
            warnings.warn(f"a repair was passed over: {type(wrong).__name__}: {wrong}", stacklevel=2)

    def _is_new(self, claim: Claim) -> bool:
        """Whether a statement was not made before; it counts as made from then on."""
        statement = claim.lhs, claim.steps, claim.assumptions, claim.sides(self.reading).rhs
        new = statement not in self.seen
        self.seen.add(statement)
        return new


def _attacked(claim: Claim, trial: Trial, seconds: float) -> Trial:
    attacked = try_claim(claim, trial.reading, seed=trial.seed, seconds=seconds, stages=ATTACKS)
    if not attacked.finished and not attacked.fault:
        raise KeyboardInterrupt  # which a trial takes for its own end
    return attacked


def withstood(trial: Trial) -> bool:
    """Whether a search compared both sides of a claim and nothing violates it, in floats neither."""
    searched = trial.finished and any("searched" in verdict.data for verdict in trial.verdicts)  # of the search alone
    return searched and trial.outcome in (Outcome.OPEN, Outcome.PROVED) and trial.violation_in_floats is None


def for_longer_steps(other: Claim, claim: Claim) -> bool:
    """Whether another claim says the same for steps up to a limit that is no smaller."""
    if (other.lhs, other.rhs, other.assumptions) != (claim.lhs, claim.rhs, claim.assumptions):
        return False
    limits = [item.args for item in (other.steps, claim.steps) if isinstance(item, sp.Min)]
    if len(limits) < 2:
        return False
    (first,), (second,) = ([*set(mine) - set(theirs)] or [None] for mine, theirs in (limits, limits[::-1]))
    return first is not None and second is not None and never_negative(first - second, CURVATURES)
