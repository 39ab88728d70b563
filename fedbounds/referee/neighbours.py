"""The stage that names proved statements near a claim: an open one weakened, a proved one made stronger."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain

from fedbounds.errors import InputError
from fedbounds.evidence.prover import automatic
from fedbounds.evidence.symbolic import verified_proofs
from fedbounds.referee.implication import USUAL
from fedbounds.referee.sharper import Sharpening
from fedbounds.referee.stage_context import PROOFS, Case, StageResult, TimeSpent, at_most, processor_seconds
from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import Reading

# Processor seconds after which no further proof with more assumptions is begun, and for first stronger statements, or
# for a multiple of the right side.
SECONDS, FIRST = 20.0, 3.0
# What a line begins with.
PROVED = "proved "

Several = tuple[Assumption, ...]


def neighbours(case: Case) -> StageResult:
    """With which further assumptions, or which multiple of its bound, an open claim is proved; what a proved one does
    not need."""
    lines: list[str] = []
    reporting = replace(case, so_far=lambda _: case.so_far(lambda: StageResult(tuple(lines))))
    if case.claim.kind is Kind.INEQUALITY:
        for line in _stronger(case) if case.proved else chain(_if_also(reporting), _multiple(reporting)):
            lines.append(PROVED + line)
    none = "nothing stronger is soon proved" if case.proved else "no usual assumption more was found to do"
    return StageResult(tuple(lines) or (none,))


def _stronger(case: Case) -> Iterator[str]:
    """Changes that leave a proved claim proved, each with those before: of those that are found in a few seconds."""
    proof = next(v for v in case.verdicts if v.evidence in PROOFS)
    if changes := _changes(case, lambda best: best.soon(proof)):
        yield f"too: {'; '.join(changes)}"


def _multiple(case: Case) -> Iterator[str]:
    """The smallest of some multiples of the right side that is proved."""
    yield from (f"with {change}" for change in _changes(case, Sharpening.begin))


def _changes(case: Case, look: Callable[[Sharpening], object]) -> list[str]:
    """The changes that a look for the strongest claim makes in its first seconds."""
    best = Sharpening.of(case.claim, case.reading, FIRST)
    with contextlib.suppress(TimeSpent), at_most(FIRST):
        look(best)
    return best.changes


def _if_also(case: Case) -> Iterator[str]:
    """Further assumptions with which a claim is proved: one client, and few of the usual ones."""
    claim, reading = case.claim, case.reading
    end = processor_seconds() + SECONDS
    stated = {part for item in claim.assumptions_in(reading) for part in item.parts}
    usual = tuple(item for item in USUAL if not stated.issuperset(item.parts))

    def proved(several: Several) -> bool:
        case.so_far(lambda: StageResult(()))
        return processor_seconds() < end and _is_proved(claim, reading, several)

    if not stated.issuperset(a.one_client.parts) and proved((a.one_client,)):
        yield f"if also {a.one_client.statement}"
    first: Several | None = next(((item,) for item in usual if proved((item,))), None)
    if first is None and len(usual) > 1 and proved(usual):
        first = usual
        for item in reversed(usual):
            fewer = tuple(other for other in first if other is not item)
            first = fewer if proved(fewer) else first
    if first is not None:
        yield f"if also {' and '.join(item.statement for item in first)}"


def _is_proved(claim: Claim, reading: Reading, several: Several) -> bool:
    """Whether the prover proves a claim with further assumptions, which some known instance meets."""
    words = " and ".join(item.statement for item in several)
    with contextlib.suppress(InputError):  # assumptions that the claim has in other words
        changed = replace(claim, key=f"{claim.key} (if also {words})", assumptions=(*claim.assumptions, *several))
        proof = automatic.examine(changed, reading)
        return proof is not None and verified_proofs.UNMET not in proof.detail
    return False
