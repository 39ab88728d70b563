"""Every mutant of a claim against the regimes: what surviving the regimes is worth.

A mutant is refuted, survives, is proved still true, is weaker than the claim, says nothing (a division by zero), or
changes nothing in any regime.
"""

import enum
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np
import sympy as sp

from fedbounds.evidence.assumption_checks import judged_on
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.evidence.evaluate import UNDEFINED
from fedbounds.referee.mutants import (
    FACTOR,
    FACTORS,
    Mutant,
    Part,
    as_read,
    at_factor,
    bare,
    dropped,
    kind,
    parts,
    scaled,
    shifted,
    swapped,
)
from fedbounds.referee.proved_mutants import why_still_true
from fedbounds.referee.regime import NEGLIGIBLE, Regime, RegimeRun, Suite, closest, examined
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import READINGS, Reading
from fedbounds.theory.verdict import Status, Verdict


class Outcome(enum.StrEnum):
    REFUTED = "refuted"
    SURVIVES = "survives"
    STILL_TRUE = "still true"
    WEAKER = "weaker"
    NOT_EXERCISED = "not exercised"
    UNDEFINED = "undefined"
    FALSE_AS_STATED = "false as stated"
    HOLDS = "holds"


@dataclass(frozen=True)
class Row:
    """One mutant's fate, or (``change`` empty) the unmutated claim's.

    ``regimes`` refute it; ``closest`` is the smallest bound over measured in any regime; ``proof`` says why it is
    still true.
    """

    claim: str
    reading: str
    part: str
    change: str
    outcome: Outcome
    regimes: tuple[str, ...] = ()
    closest: float | None = None
    proof: str = ""

    def to_json(self) -> dict[str, object]:
        return {**vars(self), "outcome": str(self.outcome), "regimes": list(self.regimes)}


def mutant_rows(
    claim: Claim, suite: Suite, more: Callable[[Claim], Iterable[Mutant]] = lambda claim: ()
) -> Iterator[Row]:
    """One row a mutant, after one for the claim in each reading; ``more`` gives mutants of the right side alone.

    Mutants are made in the repaired reading where there is one. A claim already false there has no mutants.
    """
    baseline, verdicts = [], {}
    for name in claim.readings:
        result = verdicts[name] = list(verdicts_in(claim, READINGS[name], suite))
        baseline.append(_row(claim, READINGS[name], "", "", result, Outcome.FALSE_AS_STATED, Outcome.HOLDS))
    reading = READINGS["repaired" if "repaired" in claim.readings else claim.readings[0]]
    of_reading = next(row for row in baseline if row.reading == reading.name)
    yield from baseline
    if of_reading.outcome is not Outcome.HOLDS:
        return
    regime_runs = regime_runs_of(claim, reading, suite)
    for part in parts(claim):
        yield from _part_rows(claim, reading, part, regime_runs)
    for mutant in (*shifted(claim), *swapped(claim), *dropped(claim, reading)):
        yield _whole_row(mutant, reading, regime_runs, suite, verdicts[reading.name])
    yield from (_right_side_row(mutant, reading, regime_runs) for mutant in more(claim))


def _row(
    claim: Claim,
    reading: Reading,
    part: str,
    change: str,
    verdicts: Sequence[tuple[Regime, Verdict]],
    bad: Outcome = Outcome.REFUTED,
    good: Outcome = Outcome.SURVIVES,
) -> Row:
    refuting = tuple(regime.name for regime, verdict in verdicts if verdict.status is Status.REFUTED)
    close = [v.tightness for _, v in verdicts if v.tightness is not None and math.isfinite(v.tightness)]
    applied = any(verdict.status is not Status.NOT_APPLICABLE for _, verdict in verdicts)
    outcome = bad if refuting else good if applied else Outcome.NOT_EXERCISED
    return Row(claim.key, reading.name, part, change, outcome, refuting, min(close, default=None))


def verdicts_in(
    claim: Claim, reading: Reading, suite: Suite, by_regime: Mapping[str, Verdict] | None = None
) -> Iterator[tuple[Regime, Verdict]]:
    """The claim examined, assumptions included, in every regime that did not diverge; some may be ``known``."""
    read = as_read(claim, reading)
    for regime in suite.regimes:
        verdict = (by_regime or {}).get(regime.name)
        run = suite.run(regime, reading, claim) if verdict is None else None
        verdict = verdict if run is None else examined(read, run)
        if verdict is not None:
            yield regime, verdict


def regime_runs_of(claim: Claim, reading: Reading, suite: Suite) -> list[RegimeRun]:
    """The regimes where the claim's assumptions hold and its bound is finite."""
    read, result = as_read(claim, reading), []
    for regime in suite.regimes:
        run = suite.run(regime, reading, claim)
        if run is None or run.quantities.lacking or judged_on(read, run)[0]:
            continue
        sides = empirical.compare(read, run)
        if np.isfinite(sides.rhs).all():
            result.append(RegimeRun(regime, run, sides))
    return result


def _part_rows(claim: Claim, reading: Reading, part: Part, regime_runs: Sequence[RegimeRun]) -> list[Row]:
    """The part deleted, flipped, divided and multiplied."""
    read = as_read(scaled(claim, part, FACTOR).claim, reading)
    mutants = {change: at_factor(read, factor) for change, factor in FACTORS.items()}
    effects = {change: _effect(mutant, regime_runs) for change, mutant in mutants.items()}
    if set(effects.values()) <= {Outcome.NOT_EXERCISED, Outcome.UNDEFINED}:
        return [Row(claim.key, reading.name, part.label, "any", Outcome.NOT_EXERCISED)]
    rows = []
    for change, effect in effects.items():
        if effect is not None:
            rows.append(Row(claim.key, reading.name, part.label, change, effect))
            continue
        row = _row(claim, reading, part.label, change, closest(mutants[change], regime_runs))
        if row.outcome is Outcome.SURVIVES:
            row = _if_proved(row, scaled(claim, part, FACTORS[change], change), reading)
        rows.append(row)
    return rows


def _right_side_row(mutant: Mutant, reading: Reading, regime_runs: Sequence[RegimeRun]) -> Row:
    """A mutant that has the claim's left side and assumptions."""
    read = bare(as_read(mutant.claim, reading))
    effect = _effect(read, regime_runs)
    if effect is not None:
        return Row(mutant.of.key, reading.name, mutant.part, mutant.change, effect)
    row = _row(mutant.of, reading, mutant.part, mutant.change, closest(read, regime_runs))
    return _if_proved(row, mutant, reading) if row.outcome is Outcome.SURVIVES else row


def _effect(read: Claim, regime_runs: Sequence[RegimeRun]) -> Outcome | None:
    """NOT_EXERCISED if no right-hand side moves, WEAKER if none falls, UNDEFINED if none is a formula; else None."""
    if sp.Add(*read.terms.values()).has(*UNDEFINED):
        return Outcome.UNDEFINED
    moved, identity = False, read.kind is Kind.IDENTITY
    for regime_run in regime_runs:
        with np.errstate(all="ignore"):
            change = regime_run.compared(read) - regime_run.sides.rhs
            share = change / np.maximum(regime_run.scale, np.finfo(float).tiny)
        if np.any(share < -NEGLIGIBLE) or (identity and np.any(share > NEGLIGIBLE)):
            return None
        moved |= bool(np.any(share > NEGLIGIBLE))
    return Outcome.WEAKER if moved else Outcome.NOT_EXERCISED


def _if_proved(row: Row, mutant: Mutant, reading: Reading) -> Row:
    proof = why_still_true(mutant, reading)
    return replace(row, outcome=Outcome.STILL_TRUE, proof=proof) if proof else row


def _whole_row(
    mutant: Mutant,
    reading: Reading,
    regime_runs: Sequence[RegimeRun],
    suite: Suite,
    unmutated: Sequence[tuple[Regime, Verdict]],
) -> Row:
    """A mutant of the claim as a whole (a shift, a swap, a dropped condition), its own assumptions checked.

    Where the claim was decided, one that says the same under fewer conditions is decided likewise.
    """
    read, of = as_read(mutant.claim, reading), as_read(mutant.of, reading)
    fewer = all(assumption in of.assumptions for assumption in read.assumptions)
    same = (read.sides(reading), read.computed, mutant.claim.steps) == (
        of.sides(reading),
        of.computed,
        mutant.of.steps,
    )
    decided = {r.name: v for r, v in unmutated if fewer and same and v.status in (Status.HOLDS, Status.REFUTED)}
    verdicts = list(verdicts_in(mutant.claim, reading, suite, decided))
    row = _row(mutant.of, reading, mutant.part, mutant.change, verdicts)
    if row.outcome is not Outcome.SURVIVES:
        return row
    if len(mutant.claim.assumptions_in(reading)) < len(mutant.of.assumptions_in(reading)):
        applied = sum(verdict.status is not Status.NOT_APPLICABLE for _, verdict in verdicts)
        if applied <= len(regime_runs):
            return replace(row, outcome=Outcome.NOT_EXERCISED)
    elif mutant.claim.eta == mutant.of.eta and mutant.claim.lhs == mutant.of.lhs:
        effect = _effect(read, regime_runs)
        if effect is not None:
            return replace(row, outcome=effect)
    return _if_proved(row, mutant, reading)


def tally(rows: Iterable[Row]) -> Mapping[str, int]:
    """How many mutants met each outcome (the claims' own rows left out)."""
    counts: dict[str, int] = {}
    for row in rows:
        if row.change:
            counts[str(row.outcome)] = counts.get(str(row.outcome), 0) + 1
    return counts


# What the sentence on slips has.
SLIPS = "slips such as drafts have"

# Mutants that count neither for nor against the regimes.
UNJUDGED = {
    "weaker": "are weaker claims",
    "still true": "are proved to be true",
    "not exercised": "change nothing in any regime",
}


def in_words(rows: Sequence[Row]) -> tuple[str, ...]:
    """How many changes of each kind the regimes notice, and by name those that they do not."""
    judged = [row for row in rows if row.change and row.outcome in (Outcome.REFUTED, Outcome.SURVIVES)]
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
    counts = tally(rows)
    rest = [f"{counts[name]} {words}" for name, words in UNJUDGED.items() if name in counts]
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
