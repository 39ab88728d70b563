"""What a picture of a study shows, in its title."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from fedbounds.report.number_format import grouped, number
from fedbounds.study.bounds import main_bound
from fedbounds.study.result import Result
from fedbounds.study.store import RunSeries
from fedbounds.theory.verdict import Evidence


def bounds_title(result: Result) -> str:
    """Which weighting stops at a floor, and how far above the run the theory's bound lies."""
    floors = {
        run.weighting: run.decay.floor_low or 0.0 for run in result.runs if run.decay and run.decay.answer == "no"
    }
    main = main_bound()
    ratios = _tightness(result, lambda claim, reading: (claim, reading) == (main.key, main.readings[-1]))
    parts = []
    if floors:
        stall = "stall" if len(floors) > 1 else "stalls"
        parts.append(f"{', '.join(floors)} {stall} above {number(min(floors.values()), 2)}")
    if ratios:
        low, high = grouped(min(ratios)), grouped(max(ratios))
        parts.append(
            f"the {main.short} lies {low if low == high else f'{low} to {high}'} times above what is measured"
        )
    title = "; ".join(parts) or "Measured suboptimality and the bounds on it"
    return title[:1].upper() + title[1:] if title.startswith("the ") else title


def one_step_title(result: Result, claims: Collection[str]) -> str:
    """How near the tightest of the claims that are drawn comes to what is measured."""
    title = "One step: left side over right side (1 = tight, above 1 = violated)"
    ratios = _tightness(result, lambda claim, _: claim in claims)
    return f"{title}; nowhere above {number(1 / min(ratios), 2)}" if ratios and min(ratios) > 0 else title


def skew_title(result: Result) -> str:
    """The smallest rho_bar and the largest rho_tilde, with their weightings."""
    low = min(((run.rho_bar, run.weighting) for run in result.runs if run.rho_bar is not None), default=None)
    high = max(((run.rho_tilde, run.weighting) for run in result.runs if run.rho_tilde is not None), default=None)
    if low is None or high is None:
        return "Skew: median and range over replicates"
    return (
        f"Skew: at the iterates down to {number(low[0], 2)} ({low[1]}), "
        f"at the optimum up to {number(high[0], 2)} ({high[1]})"
    )


def participation_title(result: Result, drawn: Sequence[RunSeries], marked: int) -> str:
    """The weighting that uses the fewest clients a round: one over the sum of squared weights, on average."""
    used = [float((1 / (run.alpha**2).sum(axis=-1)).mean()) for run in drawn]
    k = int(np.argmin(used))
    clients = f"{result.runs[k].weighting} uses {number(used[k], 2)} of {result.facts.N} clients a round"
    return f"{clients}; dots: the {marked} largest weights of a round"


def _tightness(result: Result, wanted: Callable[[str, str], bool]) -> list[float]:
    """Bound over measured of every claim as read that is ``wanted``."""
    return [
        verdict.tightness
        for run in result.runs
        for verdict in run.verdicts
        if wanted(verdict.claim, verdict.reading)
        and verdict.evidence is Evidence.EMPIRICAL
        and verdict.tightness is not None
    ]
