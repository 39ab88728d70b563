"""Every mutant of every claim against the regimes, with the smallest change of each part that is still noticed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from fedbounds.model.protocol import Progress
from fedbounds.referee.mutants import FACTOR, FACTORS, as_read, parts, scaled
from fedbounds.referee.mutants_in_regimes import Outcome, Row, mutant_rows, regime_runs_of
from fedbounds.referee.regime import Regime, Suite
from fedbounds.referee.regimes import REGIMES
from fedbounds.study.parallel import in_order
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import READINGS
from validate.power.sensitivity import nearest_caught, proved_factor
from validate.power.shipped import shipped_regimes

JUDGED = (Outcome.REFUTED, Outcome.SURVIVES, Outcome.STILL_TRUE)


@dataclass(frozen=True)
class Measured(Row):
    """A mutant, with the factor nearest to 1 on its part that the regime ``sharpest`` refutes, in the same direction.

    0.99 means that losing 1% is noticed, and -6 that the claim could lose the part seven times over. ``proved`` is
    the factor down to (up to) which the claim is proved still true.
    """

    caught: float | None = None
    sharpest: str = ""
    proved: float | None = None


def power(
    claims: Iterable[Claim],
    regimes: Sequence[Regime] | None = None,
    progress: Progress | None = None,
    jobs: int = 1,
) -> list[Measured]:
    """The rows of every claim that has terms; ``jobs`` processes (-1: one a core)."""
    suite = Suite((*REGIMES, *shipped_regimes()) if regimes is None else tuple(regimes))
    chosen = [claim for claim in claims if claim.kind is not Kind.RATE]
    # Those of most parts first, so that in the end no process waits long for another.
    longest = sorted(chosen, key=lambda claim: -len(parts(claim)))
    rows: dict[int, list[Measured]] = {}
    if progress is not None:
        progress("mutants", 0, len(chosen))
    for k, of_claim in enumerate(in_order(partial(measured, suite=suite), longest, jobs)):
        rows[id(longest[k])] = of_claim
        if progress is not None:
            progress("mutants", k + 1, len(chosen))
    return [row for claim in chosen for row in rows[id(claim)]]


def measured(claim: Claim, suite: Suite) -> list[Measured]:
    """The claim's rows, those about a part with its limits in both directions."""
    rows = list(mutant_rows(claim, suite))
    labels = {row.part for row in rows if row.change in FACTORS and row.outcome in JUDGED}
    if not labels:
        return [Measured(**vars(row)) for row in rows]
    reading = READINGS[next(row.reading for row in rows if row.part in labels)]
    places = regime_runs_of(claim, reading, suite)
    limits = {}
    for part in parts(claim):
        read = as_read(scaled(claim, part, FACTOR).claim, reading)
        for up in {row.change.startswith("times") for row in rows if row.part == part.label and _limited(row)}:
            caught, sharpest = nearest_caught(read, places, up)
            proved = proved_factor(claim, part, reading, up)
            limits[part.label, up] = {"caught": caught, "sharpest": sharpest, "proved": proved}
    return [
        Measured(**vars(row), **(limits[row.part, row.change.startswith("times")] if _limited(row) else {}))
        for row in rows
    ]


def _limited(row: Row) -> bool:
    return row.change in FACTORS and row.outcome in JUDGED
