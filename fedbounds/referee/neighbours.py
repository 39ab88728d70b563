"""The stage that names proved statements near a claim: an open one weakened, a proved one made stronger."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

from fedbounds.errors import InputError
from fedbounds.evidence.prover import automatic
from fedbounds.evidence.symbolic import verified_proofs
from fedbounds.referee.implication import USUAL
from fedbounds.referee.sharpen import Sharpening
from fedbounds.referee.stage_context import PROOFS, Case, StageResult, TimeSpent, at_most, processor_seconds
from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Kind

# Processor seconds after which no further proof with more assumptions is begun, and for first stronger statements, or
# for a multiple of the right side.
SECONDS, FIRST = 20.0, 3.0
# What a line begins with.
PROVED = "proved "


def neighbours(case: Case) -> StageResult:
    """With which further assumptions, or which multiple of its bound, an open claim is proved; what a proved one does
    not need."""
    lines: list[str] = []
    if case.claim.kind is Kind.INEQUALITY:
        if not case.proved:
            reporting = replace(case, so_far=lambda _: case.so_far(lambda: StageResult(tuple(lines))))
            lines.extend(_if_also(reporting))
        best = Sharpening.within(FIRST, case.claim, case.reading)
        with contextlib.suppress(TimeSpent), at_most(FIRST):
            best.soon(next(v for v in case.verdicts if v.evidence in PROOFS)) if case.proved else best.begin()
        lines += [f"{PROVED}{'too:' if case.proved else 'with'} {'; '.join(best.changes)}"] * bool(best.changes)
    none = "nothing stronger is soon proved" if case.proved else "no usual assumption more was found to do"
    return StageResult(tuple(lines) or (none,))


def _if_also(case: Case) -> Iterator[str]:
    """Further assumptions with which a claim is proved: one client, and few of the usual ones."""
    end = processor_seconds() + SECONDS
    stated = {part for item in case.claim.assumptions_in(case.reading) for part in item.parts}
    usual = tuple(item for item in USUAL if not stated.issuperset(item.parts))

    def proved(*several: Assumption) -> bool:
        case.so_far(lambda: StageResult(()))
        return processor_seconds() < end and _is_proved(case, several)

    if not stated.issuperset(a.one_client.parts) and proved(a.one_client):
        yield f"{PROVED}if also {a.one_client.statement}"
    enough: tuple[Assumption, ...] = next(((item,) for item in usual if proved(item)), ())
    if not enough and len(usual) > 1 and proved(*usual):
        enough = usual
        for item in reversed(usual):
            fewer = tuple(other for other in enough if other is not item)
            enough = fewer if proved(*fewer) else enough
    if enough:
        yield f"{PROVED}if also {' and '.join(item.statement for item in enough)}"


def _is_proved(case: Case, several: tuple[Assumption, ...]) -> bool:
    """Whether the prover proves a claim with further assumptions, which some known instance meets."""
    claim, words = case.claim, " and ".join(item.statement for item in several)
    with contextlib.suppress(InputError):  # assumptions that the claim has in other words
        changed = replace(claim, key=f"{claim.key} (if also {words})", assumptions=(*claim.assumptions, *several))
        proof = automatic.examine(changed, case.reading)
        return proof is not None and verified_proofs.UNMET not in proof.detail
    return False
