"""The checker's own power: every claim's mutants against the regimes, and the smallest change still caught.

A row says that a mutant is refuted (by which regime), survives (how close any regime came, and whether it
is still a theorem), is weaker than the claim, or that no regime exercises the part that was changed.
"""

import enum
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedbounds.evidence.conditions import judged_on
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.model.protocol import Progress
from fedbounds.referee.mutants import FACTORS, Mutant, Part, as_read, dropped, parts, scaled, shifted, swapped
from fedbounds.referee.redundancy import proved_factor, why_still_true
from fedbounds.referee.regime import Regime, Suite, shipped_regimes
from fedbounds.referee.regimes import REGIMES
from fedbounds.referee.sensitivity import Place, examined, nearest_caught
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import READINGS, Reading
from fedbounds.theory.verdict import Status, Verdict

# A change of the right-hand side below this share of the larger side is rounding: the part is not exercised.
NEGLIGIBLE = 1e-9


class Outcome(enum.StrEnum):
    REFUTED = "refuted"
    SURVIVES = "survives"
    STILL_TRUE = "still true"
    WEAKER = "weaker"
    NOT_EXERCISED = "not exercised"
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
    claims: Iterable[Claim], regimes: Sequence[Regime] | None = None, progress: Progress | None = None
) -> list[Row]:
    """Throw every mutant of every claim at every regime: one row a mutant, after one for the claim in each reading.

    Mutants are made in the repaired reading where there is one. A claim already false there has no mutants:
    a refutation of them would say nothing. Claims about rates have none either.
    """
    suite = Suite((*REGIMES, *shipped_regimes()) if regimes is None else tuple(regimes))
    chosen = list(claims)
    rows: list[Row] = []
    for k, claim in enumerate(chosen):
        if progress is not None:
            progress("mutants", k, len(chosen))
        if claim.kind is not Kind.RATE:
            rows += power_of(claim, suite)
    if progress is not None:
        progress("mutants", len(chosen), len(chosen))
    return rows


def power_of(claim: Claim, suite: Suite) -> list[Row]:
    baseline = [_baseline(claim, READINGS[name], suite) for name in claim.readings]
    reading = READINGS["repaired" if "repaired" in claim.readings else claim.readings[0]]
    of_reading = next(row for row in baseline if row.reading == reading.name)
    if of_reading.outcome is not Outcome.HOLDS:
        return baseline
    places = places_of(claim, reading, suite)
    rows = list(baseline)
    for part in parts(claim):
        rows += _part_rows(claim, reading, part, places)
    for mutant in (*shifted(claim), *swapped(claim), *dropped(claim, reading)):
        rows.append(_whole_row(mutant, reading, places, suite))
    return rows


def _baseline(claim: Claim, reading: Reading, suite: Suite) -> Row:
    """The unmutated claim in a reading: it holds wherever it applies, or is false as stated."""
    verdicts = list(verdicts_in(claim, reading, suite))
    return _row(claim, reading, "", "", verdicts, Outcome.FALSE_AS_STATED, Outcome.HOLDS)


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


def verdicts_in(claim: Claim, reading: Reading, suite: Suite) -> Iterator[tuple[Regime, Verdict]]:
    """The claim examined, assumptions included, in every regime that did not diverge."""
    read = as_read(claim, reading)
    for regime in suite.regimes:
        run = suite.run(regime, reading, claim)
        if run is not None:
            verdict = examined(read, run)
            if verdict is not None:
                yield regime, verdict


def places_of(claim: Claim, reading: Reading, suite: Suite) -> list[Place]:
    """The regimes where the claim's assumptions hold and its bound is finite."""
    read, found = as_read(claim, reading), []
    for regime in suite.regimes:
        run = suite.run(regime, reading, claim)
        if run is None or run.own.lacking or judged_on(read, run)[0]:
            continue
        sides = empirical.compare(read, run)
        if np.isfinite(sides.rhs).all():
            found.append(Place(regime, run, sides.rhs, np.maximum(np.abs(sides.lhs), np.abs(sides.rhs))))
    return found


def _part_rows(claim: Claim, reading: Reading, part: Part, places: Sequence[Place]) -> list[Row]:
    """The part deleted, flipped, divided and multiplied, with the smallest change of it that is caught."""
    mutants = [scaled(claim, part, factor, change) for change, factor in FACTORS.items()]
    effects = [_effect(mutant, reading, places) for mutant in mutants]
    if all(effect is Outcome.NOT_EXERCISED for effect in effects):
        return [Row(claim.key, reading.name, part.label, "any", Outcome.NOT_EXERCISED)]
    judged = {
        mutant.change.startswith("times") for mutant, effect in zip(mutants, effects, strict=True) if effect is None
    }
    limits = {up: _limits(claim, reading, part, places, up) for up in judged}
    rows = []
    for mutant, effect in zip(mutants, effects, strict=True):
        if effect is not None:
            rows.append(Row(claim.key, reading.name, part.label, mutant.change, effect))
        else:
            rows.append(replace(_judged(mutant, reading, places), **limits[mutant.change.startswith("times")]))
    return rows


def _limits(claim: Claim, reading: Reading, part: Part, places: Sequence[Place], up: bool) -> dict[str, Any]:
    caught, sharpest = nearest_caught(claim, reading, part, places, up)
    return {"caught": caught, "sharpest": sharpest, "proved": proved_factor(claim, part, reading, up)}


def _effect(mutant: Mutant, reading: Reading, places: Sequence[Place]) -> Outcome | None:
    """NOT_EXERCISED if no right-hand side moves, WEAKER if none falls; None for a mutant to be judged."""
    read = as_read(mutant.claim, reading)
    moved = False
    identity = mutant.of.kind is Kind.IDENTITY
    for place in places:
        with np.errstate(all="ignore"):
            change = empirical.compare(read, place.run).rhs - place.rhs
            share = change / np.maximum(place.scale, np.finfo(float).tiny)
        if np.any(share < -NEGLIGIBLE) or (identity and np.any(share > NEGLIGIBLE)):
            return None
        moved |= bool(np.any(share > NEGLIGIBLE))
    return Outcome.WEAKER if moved else Outcome.NOT_EXERCISED


def _judged(mutant: Mutant, reading: Reading, places: Sequence[Place]) -> Row:
    """A mutant examined in the regimes where its claim applies."""
    read = as_read(mutant.claim, reading)
    bare = replace(read, assumptions=())
    found = [(place.regime, examined(bare, place.run)) for place in places]
    verdicts = [(regime, verdict) for regime, verdict in found if verdict is not None]
    row = _row(mutant.of, reading, mutant.part, mutant.change, verdicts)
    proof = why_still_true(mutant, reading) if row.outcome is Outcome.SURVIVES else ""
    return replace(row, outcome=Outcome.STILL_TRUE if proof else row.outcome, proof=proof)


def _whole_row(mutant: Mutant, reading: Reading, places: Sequence[Place], suite: Suite) -> Row:
    """A mutant of the claim as a whole (a shift, a swap, a dropped condition), its own assumptions checked."""
    verdicts = list(verdicts_in(mutant.claim, reading, suite))
    row = _row(mutant.of, reading, mutant.part, mutant.change, verdicts)
    if row.outcome is not Outcome.SURVIVES:
        return row
    if len(mutant.claim.assumptions_in(reading)) < len(mutant.of.assumptions_in(reading)):
        applied = sum(verdict.status is not Status.NOT_APPLICABLE for _, verdict in verdicts)
        if applied <= len(places):
            return replace(row, outcome=Outcome.NOT_EXERCISED)
    elif mutant.claim.eta == mutant.of.eta and mutant.claim.lhs == mutant.of.lhs:
        effect = _effect(mutant, reading, places)
        if effect is not None:
            return replace(row, outcome=effect)
    proof = why_still_true(mutant, reading)
    return replace(row, outcome=Outcome.STILL_TRUE, proof=proof) if proof else row


def tally(rows: Iterable[Row]) -> Mapping[str, int]:
    """How many mutants met each outcome (the claims' own rows left out)."""
    counts: dict[str, int] = {}
    for row in rows:
        if row.change:
            counts[str(row.outcome)] = counts.get(str(row.outcome), 0) + 1
    return counts
