"""The checker's own power: every claim's mutants against the regimes, and the smallest change still caught.

A row says that a mutant is refuted (by which regime), survives (how close any regime came, and whether it
is still a theorem), is weaker than the claim, says nothing at all (a division by zero), or that no regime exercises
the part that was changed.
"""

import enum
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from fedbounds.evidence.assumption_checks import judged_on
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.evidence.evaluate import UNDEFINED
from fedbounds.model.protocol import Progress
from fedbounds.referee.detection import NEGLIGIBLE, Place, closest, examined, nearest_caught
from fedbounds.referee.implication import proved_factor, why_still_true
from fedbounds.referee.mutants import (
    FACTOR,
    FACTORS,
    Mutant,
    Part,
    as_read,
    at_factor,
    dropped,
    parts,
    scaled,
    shifted,
    swapped,
)
from fedbounds.referee.regime import Regime, Suite, shipped_regimes
from fedbounds.referee.regimes import REGIMES
from fedbounds.study.sweep.spread import in_order
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

    ``regimes`` are those that refute it; ``closest`` is the smallest bound over measured any regime came to.
    ``caught`` is the factor on the part nearest to 1, in the change's direction, that some regime refutes,
    and ``sharpest`` that regime: 0.99 means that losing 1% is noticed, 0 that deleting it just is, and -6
    that the claim could lose it seven times over, so loose is it in every regime tried. ``proved`` is the
    factor down to (up to) which the claim is proved still true; ``proof`` says why this mutant is.
    """

    claim: str
    reading: str
    part: str
    change: str
    outcome: Outcome
    regimes: tuple[str, ...] = ()
    closest: float | None = None
    caught: float | None = None
    sharpest: str = ""
    proved: float | None = None
    proof: str = ""

    def to_json(self) -> dict[str, object]:
        return {**vars(self), "outcome": str(self.outcome), "regimes": list(self.regimes)}


def power(
    claims: Iterable[Claim],
    regimes: Sequence[Regime] | None = None,
    progress: Progress | None = None,
    jobs: int = 1,
) -> list[Row]:
    """Throw every mutant of every claim at every regime: one row a mutant, after one for the claim in each reading.

    Mutants are made in the repaired reading where there is one. A claim already false there has no mutants:
    a refutation of them would say nothing. Claims about rates have none either. ``jobs`` processes (-1: one a core).
    """
    suite = Suite((*REGIMES, *shipped_regimes()) if regimes is None else tuple(regimes))
    chosen = [claim for claim in claims if claim.kind is not Kind.RATE]
    # Those of most parts first, so that in the end no process waits long for another.
    longest = sorted(chosen, key=lambda claim: -len(parts(claim)))
    rows: dict[int, list[Row]] = {}
    if progress is not None:
        progress("mutants", 0, len(chosen))
    for k, of_claim in enumerate(in_order(partial(power_of, suite=suite), longest, jobs)):
        rows[id(longest[k])] = of_claim
        if progress is not None:
            progress("mutants", k + 1, len(chosen))
    return [row for claim in chosen for row in rows[id(claim)]]


def power_of(claim: Claim, suite: Suite) -> list[Row]:
    baseline, verdicts = [], {}
    for name in claim.readings:
        found = verdicts[name] = list(verdicts_in(claim, READINGS[name], suite))
        baseline.append(_row(claim, READINGS[name], "", "", found, Outcome.FALSE_AS_STATED, Outcome.HOLDS))
    reading = READINGS["repaired" if "repaired" in claim.readings else claim.readings[0]]
    of_reading = next(row for row in baseline if row.reading == reading.name)
    if of_reading.outcome is not Outcome.HOLDS:
        return baseline
    places = places_of(claim, reading, suite)
    rows = list(baseline)
    for part in parts(claim):
        rows += _part_rows(claim, reading, part, places)
    for mutant in (*shifted(claim), *swapped(claim), *dropped(claim, reading)):
        rows.append(_whole_row(mutant, reading, places, suite, verdicts[reading.name]))
    return rows


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
    claim: Claim, reading: Reading, suite: Suite, known: Mapping[str, Verdict] | None = None
) -> Iterator[tuple[Regime, Verdict]]:
    """The claim examined, assumptions included, in every regime that did not diverge; some may be ``known``."""
    read = as_read(claim, reading)
    for regime in suite.regimes:
        verdict = (known or {}).get(regime.name)
        run = suite.run(regime, reading, claim) if verdict is None else None
        verdict = verdict if run is None else examined(read, run)
        if verdict is not None:
            yield regime, verdict


def places_of(claim: Claim, reading: Reading, suite: Suite) -> list[Place]:
    """The regimes where the claim's assumptions hold and its bound is finite."""
    read, found = as_read(claim, reading), []
    for regime in suite.regimes:
        run = suite.run(regime, reading, claim)
        if run is None or run.quantities.lacking or judged_on(read, run)[0]:
            continue
        sides = empirical.compare(read, run)
        if np.isfinite(sides.rhs).all():
            found.append(Place(regime, run, sides))
    return found


def _part_rows(claim: Claim, reading: Reading, part: Part, places: Sequence[Place]) -> list[Row]:
    """The part deleted, flipped, divided and multiplied, with the smallest change of it that is caught."""
    read = as_read(scaled(claim, part, FACTOR).claim, reading)
    mutants = {change: at_factor(read, factor) for change, factor in FACTORS.items()}
    effects = {change: _effect(mutant, places) for change, mutant in mutants.items()}
    if set(effects.values()) <= {Outcome.NOT_EXERCISED, Outcome.UNDEFINED}:
        return [Row(claim.key, reading.name, part.label, "any", Outcome.NOT_EXERCISED)]
    judged = {change.startswith("times") for change, effect in effects.items() if effect is None}
    limits: dict[bool, dict[str, Any]] = {}
    for up in judged:
        caught, sharpest = nearest_caught(read, places, up)
        proved = proved_factor(claim, part, reading, up)
        limits[up] = {"caught": caught, "sharpest": sharpest, "proved": proved}
    rows = []
    for change, effect in effects.items():
        if effect is not None:
            rows.append(Row(claim.key, reading.name, part.label, change, effect))
            continue
        row = _row(claim, reading, part.label, change, closest(mutants[change], places))
        if row.outcome is Outcome.SURVIVES:
            row = _if_proved(row, scaled(claim, part, FACTORS[change], change), reading)
        rows.append(replace(row, **limits[change.startswith("times")]))
    return rows


def _effect(read: Claim, places: Sequence[Place]) -> Outcome | None:
    """NOT_EXERCISED if no right-hand side moves, WEAKER if none falls, UNDEFINED if none is a formula; else None."""
    if sp.Add(*read.terms.values()).has(*UNDEFINED):
        return Outcome.UNDEFINED
    moved, identity = False, read.kind is Kind.IDENTITY
    for place in places:
        with np.errstate(all="ignore"):
            change = place.compared(read) - place.sides.rhs
            share = change / np.maximum(place.scale, np.finfo(float).tiny)
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
    places: Sequence[Place],
    suite: Suite,
    unmutated: Sequence[tuple[Regime, Verdict]],
) -> Row:
    """A mutant of the claim as a whole (a shift, a swap, a dropped condition), its own assumptions checked.

    Where the claim was decided, one that says the same under fewer conditions is decided likewise.
    """
    read, of = as_read(mutant.claim, reading), as_read(mutant.of, reading)
    fewer = all(assumption in of.assumptions for assumption in read.assumptions)
    same = (read.sides(reading), read.computed, mutant.claim.steps) == (of.sides(reading), of.own, mutant.of.steps)
    decided = {r.name: v for r, v in unmutated if fewer and same and v.status in (Status.HOLDS, Status.REFUTED)}
    verdicts = list(verdicts_in(mutant.claim, reading, suite, decided))
    row = _row(mutant.of, reading, mutant.part, mutant.change, verdicts)
    if row.outcome is not Outcome.SURVIVES:
        return row
    if len(mutant.claim.assumptions_in(reading)) < len(mutant.of.assumptions_in(reading)):
        applied = sum(verdict.status is not Status.NOT_APPLICABLE for _, verdict in verdicts)
        if applied <= len(places):
            return replace(row, outcome=Outcome.NOT_EXERCISED)
    elif mutant.claim.eta == mutant.of.eta and mutant.claim.lhs == mutant.of.lhs:
        effect = _effect(read, places)
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
