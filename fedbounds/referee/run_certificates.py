"""Claims about whole runs, put to the programmes of some rounds at their own steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from fedbounds.evidence.sdp.multi_round.claim_at_run import applies
from fedbounds.evidence.sdp.multi_round.verdict import examine
from fedbounds.referee.case import Case, Found
from fedbounds.referee.certificate_settings import Grid, runs
from fedbounds.theory.verdict import Status, Verdict

# A bound this near to an instance, relatively, is called attained: instances are told in floats.
ATTAINED = 1e-9


def examined(case: Case, grid: Grid) -> Found:
    """What is found over a grid of runs, in sentences and verdicts; it stops where the claim is false."""
    claim, reading = case.claim, case.reading
    if not applies(claim, reading):
        return Found(("it is no statement of one round, or of a whole run, in the quantities of the certificates",))
    result: list[Verdict] = []
    for run, first in runs(claim, reading, grid):
        result.append(examine(claim, reading, run, first))
        if result[-1].status is Status.REFUTED:
            return Found((result[-1].detail,), tuple(result[-1:]))
        case.so_far(lambda: _in_sentences(result))
    return _in_sentences(result)


def _in_sentences(found: list[Verdict]) -> Found:
    held = [verdict for verdict in found if verdict.status is Status.HOLDS]
    open_ = Counter(v.detail for v in found if v.status is Status.UNDECIDED)
    lines = [f"certified for {len(held)} of {len(found)} whole runs that meet its assumptions"] if found else []
    near = tightness(found)
    lines += [near] if near else []
    lines += [f"undecided for {count}: {why}" for why, count in open_.items()]
    return Found(tuple(lines) or ("no run that was tried meets its assumptions",), tuple(found))


def tightness(verdicts: Iterable[Verdict]) -> str:
    """How near an instance comes to a certified bound on whole runs, in words; empty where nothing is known."""
    near = [v for v in verdicts if v.status is Status.HOLDS and "run" in v.data and v.tightness is not None]
    if not near:
        return ""
    # Of those that come equally near, up to rounding, the longest.
    best = min(enumerate(near), key=lambda one: (round(one[1].tightness or 0.0, 9), -_steps(one[1]), one[0]))[1]
    excess = (best.tightness or 1.0) - 1
    where = best.detail.partition(": ")[2]
    if excess <= ATTAINED:
        return f"the bound is tight: an instance attains it at {where}"
    return f"an instance comes within {100 * excess:.2g}% of the bound at {where}"


def _steps(verdict: Verdict) -> int:
    at: Any = verdict.data["run"]
    return int(at["tau"] * at["rounds"])
