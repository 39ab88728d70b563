"""The referee's answer on one statement, within a budget of processor time."""

from __future__ import annotations

from typing import Any

import fedbounds
from fedbounds.referee.stage_context import processor_seconds
from fedbounds.report.trial_coverage import certified_settings
from fedbounds.report.trial_text import verdict
from validate.outside_theorems import ordinary, subtle

CLAIMS = {claim.key: claim for claim in (*ordinary.CLAIMS, *subtle.CLAIMS)}
# The statements that their authors made false by one slip, each with an instance of their own that violates it.
FALSE = {
    "ordinary": {1, 3, 6, 8, 14, 15, 16, 17, 18, 19, 20, 24, 25, 26, 27},
    "subtle": {2, 3, 5, 7, 9, 12, 15, 18, 19, 20, 22, 24, 25, 28, 30},
}
# Processor seconds of a process, which the stages of the trial share.
BUDGET = 60
# The line of an open answer that says most.
TELLING = ("Violated", "Proved only", "Certified only", "Tried")


def judged(key: str, budget: float = BUDGET) -> dict[str, Any]:
    """The referee's answer on a claim, after ``budget`` processor seconds at most."""
    (trial,) = fedbounds.referee(CLAIMS[key], seed=0, jobs=1, seconds=max(budget - processor_seconds(), 1))
    lines = verdict(trial)
    said = next((line for line in lines[1:] if line.startswith(TELLING)), lines[0])
    return {
        "headline": str(trial.outcome),
        "rocq": any("rocq" in verdict.data for verdict in trial.verdicts),
        "certified": certified_settings(trial) if trial.certified else "",
        "seconds": round(processor_seconds(), 1),
        "budget": budget,
        "stages": [stage.name for stage in trial.stages if not stage.cut],
        "finished": trial.finished and not trial.cut,
        "answer": said,
    }
