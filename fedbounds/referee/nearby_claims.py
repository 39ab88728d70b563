"""What stands near a claim: the assumptions with which it is proved, and shipped claims about the same."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from fedbounds import plugins
from fedbounds.errors import InputError
from fedbounds.evidence.empirical.sides import Comparison
from fedbounds.evidence.prover import automatic
from fedbounds.evidence.symbolic import library
from fedbounds.model.problem import Array
from fedbounds.referee.case import Case, StageResult, processor_seconds
from fedbounds.referee.mutants_in_regimes import regime_runs_of
from fedbounds.referee.regime import NEGLIGIBLE
from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import READINGS, Reading

# What authors leave out, the mildest first. An open claim is put to the prover with one of them, then with several.
USUAL = (a.unbiased, a.full_participation, a.constant_steps, a.full_gradients, a.one_local_step, a.homogeneous)
# Processor seconds after which no further proof is begun.
SECONDS = 20.0
PROVED_IF = "proved if also "

Several = tuple[Assumption, ...]


def neighbours(case: Case) -> StageResult:
    """With which further assumptions an open claim is proved, and how it compares with shipped claims."""
    lines: list[str] = []
    reporting = replace(case, so_far=lambda _: case.so_far(lambda: StageResult(tuple(lines))))
    if not case.proved and case.claim.kind is Kind.INEQUALITY:
        for several in _enough(reporting):
            lines.append(PROVED_IF + " and ".join(item.statement for item in several))
    for line in _implications(reporting):
        lines.append(line)
    return StageResult(tuple(lines) or ("no shipped claim bounds the same in a common regime",))


def _enough(case: Case) -> Iterator[Several]:
    """Further assumptions with which a claim is proved: one client, and few of the usual ones."""
    claim, reading = case.claim, case.reading
    end = processor_seconds() + SECONDS
    stated = {part for item in claim.assumptions_in(reading) for part in item.parts}
    usual = tuple(item for item in USUAL if not stated.issuperset(item.parts))

    def proved(several: Several) -> bool:
        case.so_far(lambda: StageResult(()))
        return processor_seconds() < end and _is_proved(claim, reading, several)

    if not stated.issuperset(a.one_client.parts) and proved((a.one_client,)):
        yield (a.one_client,)
    first: Several | None = next(((item,) for item in usual if proved((item,))), None)
    if first is None and len(usual) > 1 and proved(usual):
        first = usual
        for item in reversed(usual):
            fewer = tuple(other for other in first if other is not item)
            first = fewer if proved(fewer) else first
    if first is not None:
        yield first


def _is_proved(claim: Claim, reading: Reading, several: Several) -> bool:
    """Whether the prover proves a claim with further assumptions, which some known instance meets."""
    words = " and ".join(item.statement for item in several)
    with contextlib.suppress(InputError):  # assumptions that the claim has in other words
        changed = replace(claim, key=f"{claim.key} (if also {words})", assumptions=(*claim.assumptions, *several))
        proof = automatic.examine(changed, reading)
        return proof is not None and library.UNMET not in proof.detail
    return False


def _implications(case: Case) -> Iterator[str]:
    """Which shipped claims with the same left side its bound is below, or above, wherever both apply to a regime."""
    mine = _bounds(case.claim, case.reading, case.suite)
    for other in plugins.claims().values():
        if other is case.claim or (other.lhs, other.scope) != (case.claim.lhs, case.claim.scope):
            continue
        case.so_far(lambda: StageResult(()))
        theirs = _bounds(other, READINGS[other.readings[-1]], case.suite)
        both = [_at_common_times(mine[key], theirs[key]) for key in mine.keys() & theirs.keys()]
        if both:
            below = all((x <= y * (1 + NEGLIGIBLE)).all() for x, y in both)
            above = all((y <= x * (1 + NEGLIGIBLE)).all() for x, y in both)
            relations = {
                (True, True): "implies and is implied by",
                (True, False): "implies",
                (False, True): "is implied by",
            }
            how = relations.get((below, above), "neither implies nor is implied by")
            yield f"by its bound it {how} {other.key} in the {len(both)} regimes where both apply"


def _at_common_times(own: Comparison, theirs: Comparison) -> tuple[Array, Array]:
    """The right sides of two claims at the times of which both speak."""
    here, there = np.isin(own.times, theirs.times), np.isin(theirs.times, own.times)
    return own.rhs[..., here], theirs.rhs[..., there]


def _bounds(claim: Claim, reading: Reading, suite: Any) -> dict[tuple[str, str], Comparison]:
    """(regime, step size) -> both sides there, where the claim applies."""
    regime_runs = regime_runs_of(claim, reading, suite) if claim.kind is Kind.INEQUALITY else ()
    return {(regime_run.regime.name, str(claim.steps)): regime_run.sides for regime_run in regime_runs}
