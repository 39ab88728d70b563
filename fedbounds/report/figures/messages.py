"""Titles that say what a picture shows, from the numbers of its study."""

from collections.abc import Collection, Sequence

import numpy as np

from fedbounds.report.number_format import number, readable
from fedbounds.study.bounds import main_bound
from fedbounds.study.result import Result
from fedbounds.study.store import RunSeries
from fedbounds.theory.verdict import Evidence


def bounds(result: Result) -> str:
    """Which weighting stops at a floor, and how far above the run the theory's bound lies."""
    floors = {run.weighting: run.decay.floor_low for run in result.runs if run.decay and run.decay.answer == "no"}
    main = main_bound()
    ratios = [
        verdict.tightness
        for run in result.runs
        for verdict in run.verdicts
        if (verdict.claim, verdict.reading) == (main.key, main.readings[-1])
        and verdict.evidence is Evidence.EMPIRICAL
        and verdict.tightness is not None
    ]
    parts = []
    if floors:
        least = number(min(floor or 0.0 for floor in floors.values()), 2)
        parts.append(f"{', '.join(floors)} {_verb(len(floors), 'stop')} above {least}")
    if ratios:
        parts.append(f"the {main.short} lies {_range(ratios)} above what is measured")
    return _sentence(parts) or "Measured suboptimality and the bounds on it"


def one_step(result: Result, claims: Collection[str]) -> str:
    """How near the tightest of the claims drawn comes to what is measured."""
    steps = [
        verdict.tightness
        for run in result.runs
        for verdict in run.verdicts
        if verdict.claim in claims and verdict.evidence is Evidence.EMPIRICAL and verdict.tightness is not None
    ]
    title = "One step: left side over right side (1 = tight, above 1 = violated)"
    return f"{title}; nowhere above {number(1 / min(steps), 2)}" if steps and min(steps) > 0 else title


def skew(result: Result) -> str:
    """The smallest rho_bar and the largest rho_tilde, with their weightings."""
    low = min((run for run in result.runs if run.rho_bar is not None), key=lambda run: run.rho_bar or 0, default=None)
    high = max(
        (run for run in result.runs if run.rho_tilde is not None), key=lambda run: run.rho_tilde or 0, default=None
    )
    if low is None or high is None:
        return "Weighting skew: median and range over replicates"
    return (
        f"Skew: at the iterates down to {number(low.rho_bar, 2)} ({low.weighting}), "
        f"at the optimum up to {number(high.rho_tilde, 2)} ({high.weighting})"
    )


def weights(result: Result, drawn: Sequence[RunSeries]) -> str:
    """The weighting whose mean weights leave p the farthest."""
    p = np.array(result.facts.p)
    away = [float(np.abs(run.alpha.mean(axis=0) - p).max()) for run in drawn]
    k = int(np.argmax(away))
    most = f"{number(away[k], 2)} ({result.runs[k].weighting})"
    return f"Weights leave the clients' shares by up to {most}; means over replicates"


def participation(result: Result, drawn: Sequence[RunSeries]) -> str:
    """The weighting that uses the fewest clients a round: one over the sum of squared weights, on average."""
    used = [float((1 / (run.alpha**2).sum(axis=-1)).mean()) for run in drawn]
    k = int(np.argmin(used))
    return f"{result.runs[k].weighting} uses {number(used[k], 2)} of {result.facts.N} clients a round"


def _range(ratios: Sequence[float]) -> str:
    low, high = (readable(number(value, 2)) for value in (min(ratios), max(ratios)))
    return f"{low} times" if low == high else f"{low} to {high} times"


def _verb(count: int, verb: str) -> str:
    return verb if count > 1 else f"{verb}s"


def _sentence(parts: Sequence[str]) -> str:
    text = "; ".join(parts)
    return text[:1].upper() + text[1:] if text.startswith("the ") else text
