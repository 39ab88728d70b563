"""What the regimes would notice: every mutant of a claim against them.

A mutant is refuted, survives, is weaker than the claim, says nothing (a division by zero), or changes nothing in any
regime.
"""

import enum
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass

import numpy as np
import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence.assumption_checks import judged_on
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.evidence.evaluate import UNDEFINED
from fedbounds.referee.mutants import kind, mutants, with_definitions, without_assumptions
from fedbounds.referee.regime import NEGLIGIBLE, Regime, RegimeRun, Suite, examined
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import Reading
from fedbounds.theory.verdict import Status, Verdict


class Outcome(enum.StrEnum):
    REFUTED = "refuted"
    SURVIVES = "survives"
    WEAKER = "weaker"
    NOT_EXERCISED = "not exercised"
    UNDEFINED = "undefined"


@dataclass(frozen=True)
class Row:
    """One mutant's fate."""

    part: str
    change: str
    outcome: Outcome


def mutant_rows(claim: Claim, reading: Reading, suite: Suite) -> Iterator[Row]:
    """One row a mutant; a claim that is false in the regimes, or speaks of none, has no mutants."""
    statuses = {verdict.status for _, verdict in verdicts_in(claim, reading, suite)}
    if Status.REFUTED in statuses or statuses <= {Status.NOT_APPLICABLE}:
        return
    regime_runs = regime_runs_of(claim, reading, suite)
    for mutant in mutants(claim, reading):
        read, of = (with_definitions(item, reading) for item in (mutant.claim, mutant.of))
        conditions = ((item.lhs, item.assumptions, item.scope) for item in (read, of))
        if len({*conditions}) == 1 and mutant.claim.steps == claim.steps:
            outcome = _of_right_side(without_assumptions(read), regime_runs)
        else:
            least = len(regime_runs) if len(read.assumptions) < len(of.assumptions) else 0
            outcome = _of_the_whole(
                [verdict.status for _, verdict in verdicts_in(mutant.claim, reading, suite)], least
            )
        yield Row(mutant.part, mutant.change, outcome)


def _of_the_whole(statuses: Sequence[Status], least: int) -> Outcome:
    """The fate of a mutant with conditions of its own, which counts where it speaks of more than so many regimes."""
    if Status.REFUTED in statuses:
        return Outcome.REFUTED
    applied = len(statuses) - statuses.count(Status.NOT_APPLICABLE)
    return Outcome.SURVIVES if applied > least else Outcome.NOT_EXERCISED


def verdicts_in(claim: Claim, reading: Reading, suite: Suite) -> Iterator[tuple[Regime, Verdict]]:
    """The claim examined, assumptions included, in every regime that did not diverge."""
    read = with_definitions(claim, reading)
    for regime in suite.regimes:
        run = suite.run(regime, reading, claim)
        verdict = None if run is None else examined(read, run)
        if verdict is not None:
            yield regime, verdict


def regime_runs_of(claim: Claim, reading: Reading, suite: Suite) -> list[RegimeRun]:
    """The regimes where the claim's assumptions hold and its bound is finite."""
    read, result = with_definitions(claim, reading), []
    for regime in suite.regimes:
        run = suite.run(regime, reading, claim)
        if run is None or run.quantities.lacking or judged_on(read, run)[0]:
            continue
        try:
            sides = empirical.compare(read, run)
        except InputError:
            continue  # a symbol has no value there, as q where K of N clients take part
        if np.isfinite(sides.rhs).all():
            result.append(RegimeRun(regime, run, sides))
    return result


def _of_right_side(read: Claim, regime_runs: Sequence[RegimeRun]) -> Outcome:
    """The fate of a mutant that has the claim's left side and assumptions."""
    outcome = _effect(read, regime_runs)
    if outcome is not None:
        return outcome
    verdicts = (examined(read, item.run) for item in regime_runs)
    refuted = any(verdict is not None and verdict.status is Status.REFUTED for verdict in verdicts)
    return Outcome.REFUTED if refuted else Outcome.SURVIVES


def _effect(read: Claim, regime_runs: Sequence[RegimeRun]) -> Outcome | None:
    """NOT_EXERCISED if no right-hand side moves, WEAKER if none falls, UNDEFINED if none is a formula; else None."""
    if sp.Add(*read.terms.values()).has(*UNDEFINED):
        return Outcome.UNDEFINED
    moved, identity = False, read.kind is Kind.IDENTITY
    for regime_run in regime_runs:
        with np.errstate(all="ignore"):
            change, sides = regime_run.compared(read) - regime_run.sides.rhs, regime_run.sides
            share = change / np.maximum(np.maximum(np.abs(sides.lhs), np.abs(sides.rhs)), np.finfo(float).tiny)
        if np.any(share < -NEGLIGIBLE) or (identity and np.any(share > NEGLIGIBLE)):
            return None
        moved |= bool(np.any(share > NEGLIGIBLE))
    return Outcome.WEAKER if moved else Outcome.NOT_EXERCISED


# What the sentence on slips has.
SLIPS = "slips such as drafts have"

# Mutants that count neither for nor against the regimes.
UNJUDGED = {
    Outcome.WEAKER: "are weaker claims",
    Outcome.NOT_EXERCISED: "change nothing in any regime",
}


def in_words(rows: Sequence[Row]) -> tuple[str, ...]:
    """How many changes of each kind the regimes notice, and by name those that they do not."""
    judged = [row for row in rows if row.outcome in (Outcome.REFUTED, Outcome.SURVIVES)]
    if not judged:
        return ("the regimes judge no mutant of it, so that nothing is known of what they would notice",)
    noticed = Counter(kind(row.change) for row in judged if row.outcome is Outcome.REFUTED)
    missed: dict[str, list[str]] = {}
    for row in judged:
        if row.outcome is Outcome.SURVIVES:
            missed.setdefault(kind(row.change), []).append(f"{row.part} ({row.change})")
    every = Counter(kind(row.change) for row in judged)
    gone = [f"{name} ({len(changes)} of {every[name]})" for name, changes in missed.items()]
    words = f"notice {sum(noticed.values())} and miss {', '.join(gone)}" if gone else "notice all"
    lines = [f"of {len(judged)} {SLIPS}, the runs of the regimes, on quadratics, {words}"]
    lines += [f"  {name}: {noticed[name]} of {n}" for name, n in every.items()]
    lines += [f"  missed, {name}: {', '.join(changes)}" for name, changes in missed.items()]
    counts = Counter(row.outcome for row in rows)
    rest = [f"{counts[outcome]} {words}" for outcome, words in UNJUDGED.items() if outcome in counts]
    return (*lines, *([f"of the other mutants {', '.join(rest)}"] if rest else []))


def after_the_start(regime_runs: Iterable[RegimeRun], names: Set[str]) -> list[tuple[float, str, Status]]:
    """The smallest bound over measured at T > 0 in each named regime: at T = 0 every such bound is met."""
    result = []
    for regime_run in regime_runs:
        lhs, rhs = (side.mean(axis=0) for side in (regime_run.sides.lhs, regime_run.sides.rhs))
        chosen = (regime_run.sides.times > 0) & (lhs > 0)
        if regime_run.regime.name in names and chosen.any():
            result.append((float(min(rhs[chosen] / lhs[chosen])), regime_run.regime.name, Status.HOLDS))
    return result
