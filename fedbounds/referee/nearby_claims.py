"""What stands near a claim: the assumptions with which it is proved."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

from fedbounds.errors import InputError
from fedbounds.evidence.prover import automatic
from fedbounds.evidence.symbolic import library
from fedbounds.referee.case import Case, StageResult, processor_seconds
from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import Reading

# What authors leave out, the mildest first. An open claim is put to the prover with one of them, then with several.
USUAL = (a.unbiased, a.full_participation, a.constant_steps, a.full_gradients, a.one_local_step, a.homogeneous)
# Processor seconds after which no further proof is begun.
SECONDS = 20.0
PROVED_IF = "proved if also "

Several = tuple[Assumption, ...]


def neighbours(case: Case) -> StageResult:
    """With which further assumptions an open claim is proved."""
    lines: list[str] = []
    reporting = replace(case, so_far=lambda _: case.so_far(lambda: StageResult(tuple(lines))))
    if not case.proved and case.claim.kind is Kind.INEQUALITY:
        for several in _enough(reporting):
            lines.append(PROVED_IF + " and ".join(item.statement for item in several))
    none = "it is proved as it stands" if case.proved else "no usual assumption more was found that proves it"
    return StageResult(tuple(lines) or (none,))


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
