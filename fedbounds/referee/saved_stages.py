"""The stages that a trial has saved, as a file of anyone's may have them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedbounds import io
from fedbounds.referee.case import Stage
from fedbounds.referee.stages import STAGES, Step
from fedbounds.referee.work_items import SURE
from fedbounds.study.claim_identity import identity, tell_anew
from fedbounds.study.result import verdicts_from
from fedbounds.theory.claim import Claim
from fedbounds.theory.verdict import Evidence, Status, Verdict

# The stage that is not taken from a file: proofs are looked up again.
LOOKED_UP = "known"
# The evidence of the stages' verdicts; the other stages give none.
SAYS = {
    "sanity": Evidence.EXACT,
    "regimes": Evidence.EMPIRICAL,
    "certificates": Evidence.SDP,
    "search": Evidence.EXACT,
}


def saved_stages(
    claim: Claim, reading: str, budget: str, seed: int, state: Path | None, steps: Iterable[Step] = STAGES
) -> tuple[Stage, ...]:
    """The stages in a state file of this very claim; none where it was changed since, or is examined otherwise.

    A file may say anything: a stage that says of another claim, by other evidence, or for certain is asked again.
    """
    if state is None or not state.exists():
        return ()
    saved, wanted = io.read_json(state), identity(claim, reading, budget, seed)
    held = io.shaped(saved, _Saved, state.name)
    if held.stated != wanted["stated"]:
        tell_anew(state, claim.key)
    if any(saved.get(name) != value for name, value in wanted.items()):
        return ()
    stages = {step.name for step in steps} - {LOOKED_UP}
    result = []
    for stage in held.stages:
        verdicts = tuple(verdicts_from(stage.verdicts))
        of = (claim.key, reading, SAYS.get(stage.name))
        if stage.name in stages and all((v.claim, v.reading, v.evidence) == of and _uncertain(v) for v in verdicts):
            result.append(Stage(stage.name, stage.seconds, stage.lines, verdicts))
    return tuple(result)


def _uncertain(verdict: Verdict) -> bool:
    """Whether a verdict says nothing for certain: runs that did not refute a claim are no proof."""
    return verdict.status not in SURE or (verdict.evidence, verdict.status) == (Evidence.EMPIRICAL, Status.HOLDS)


@dataclass(frozen=True)
class _Written:
    """A stage as a state file holds it."""

    name: str
    seconds: float
    lines: tuple[str, ...]
    verdicts: list[dict[str, Any]]


@dataclass(frozen=True)
class _Saved:
    """What a state file holds besides what it belongs to."""

    stated: str
    stages: list[_Written]
