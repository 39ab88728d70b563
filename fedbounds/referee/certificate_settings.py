"""Where a claim is certified: the settings of a round, and whole runs of a few rounds."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence.sdp.multi_round.claim_at_run import MEASURES, applies, strongly_convex
from fedbounds.evidence.sdp.multi_round.program import Present, Run, Start
from fedbounds.evidence.sdp.multi_round.verdict import examine, meets
from fedbounds.evidence.sdp.one_step.coverage import conditions, setting_with_stated_steps
from fedbounds.evidence.sdp.one_step.parameters import Setting, pointwise, round_setting, sizes_at
from fedbounds.referee.stage_context import Case, StageResult
from fedbounds.theory.assumptions import full_participation
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading
from fedbounds.theory.symbols import gap_0, mu
from fedbounds.theory.verdict import Status, Verdict


@dataclass(frozen=True)
class Grid:
    """Where claims about one round, or about whole runs of so many ``rounds``, are put to the SDP."""

    kappas: tuple[int, ...]
    taus: tuple[int, ...]
    weights: tuple[tuple[tuple[str, str], tuple[str, str]], ...]
    rounds: tuple[int, ...] = (1, 2, 4)


EVEN, UNEVEN, BIASED = ("1/2", "1/2"), ("9/10", "1/10"), ("3/4", "1/4")
GRIDS = {
    "small": Grid((2, 10, 100), (1, 2, 4), ((EVEN, EVEN), (UNEVEN, UNEVEN), (BIASED, EVEN))),
    "large": Grid(
        (2, 3, 10, 30, 100, 1000),
        (1, 2, 3, 4, 6),
        ((EVEN, EVEN), (UNEVEN, UNEVEN), (BIASED, EVEN), (EVEN, UNEVEN)),
        (1, 2, 4, 8),
    ),
}
# First step sizes in units of 1/L, where a claim about a whole run leaves them open, the largest first.
FIRST_STEPS = (Fraction(1), Fraction(1, 2), Fraction(1, 4), Fraction(1, 8), Fraction(1, 32))
# kappa at which functions are nearly flat, the worst of the class for a bound without mu.
FLAT = 10**4
# Clients a round, of N, where a claim does not want everyone; and each of N with a probability.
PRESENT: tuple[Present, ...] = ((1, 2), (2, 10))
BY_COINS: tuple[Present, ...] = ((Fraction(1, 2), 2), (Fraction(1, 5), 10))
# Of those that a claim allows so many are taken, and so many values of tau.
FEW = 2


def settings(claim: Claim, reading: Reading, grid: Grid) -> Iterator[Setting]:
    """Weights x tau x kappa at the claim's own step size, in the last step of the first round."""
    for (alpha, p), local, kappa in itertools.product(grid.weights, grid.taus, grid.kappas):
        try:
            setting = round_setting(
                tau=local,
                kappa=kappa,
                alpha=tuple(map(Fraction, alpha)),
                p=tuple(map(Fraction, p)),
                reading=reading.name,
            )
            setting = setting_with_stated_steps(claim, setting)
            if claim.steps is None and conditions(claim, setting)[0]:
                setting = replace(setting, eta=(Fraction(1),) * len(setting.eta))  # the claim may want equal steps
        except InputError:
            continue  # an irrational step size, or weights that this reading says too little about
        yield setting
        if pointwise(claim, reading) and (local, alpha) != (grid.taus[0], grid.weights[0][0]):
            return


def runs(claim: Claim, reading: Reading, grid: Grid) -> Iterator[tuple[Run, Fraction]]:
    """Rounds x tau x kappa x first step of a claim about whole runs, at its own steps, and the first step size."""
    measure, right = MEASURES[sp.sympify(claim.lhs)], sp.Add(*map(sp.sympify, claim.sides(reading).terms.values()))
    start: Start = "gap" if right.has(gap_0) else "distance"
    mild = right.has(mu)
    kappas: tuple[int | None, ...] = grid.kappas if mild else (*grid.kappas, FLAT)
    kappas = kappas if strongly_convex(claim, reading) else (None,)
    everyone = full_participation in claim.assumptions_in(reading)
    presents = (None,) if everyone else BY_COINS if claim.by_coins else PRESENT
    for present, kappa, local, rounds in itertools.product(presents, kappas, grid.taus[:FEW], grid.rounds):
        fitting = []
        for first in FIRST_STEPS:
            least = Fraction(1, kappa) if kappa else Fraction(0)
            values = {"L": Fraction(1), "mu": least, "tau": Fraction(local), "eta_0": first}
            try:
                total = rounds * local
                sizes = (first,) * total if claim.steps is None else sizes_at(claim, values, 0, total)
                run = Run(rounds, local, least, Fraction(1), sizes, measure=measure, present=present, start=start)
            except InputError:
                continue  # steps that are not rational or too long, or a mean of one iterate
            if (run, first) not in fitting and meets(claim, reading, run, first):
                fitting.append((run, sizes[0]))
        yield from dict.fromkeys(fitting[:FEW])


# A bound this near to an instance, relatively, is called attained (instances are told in floats), or tight.
ATTAINED, TIGHT = 1e-9, 0.01


def examined(case: Case, grid: Grid) -> StageResult:
    """What is found over a grid of runs, in sentences and verdicts; it stops where the claim is false."""
    claim, reading = case.claim, case.reading
    if not applies(claim, reading):
        return StageResult(
            ("it is no statement of one round, or of a whole run, in the quantities of the certificates",)
        )
    result: list[Verdict] = []
    for run, first in runs(claim, reading, grid):
        result.append(examine(claim, reading, run, first))
        if result[-1].status is Status.REFUTED:
            return StageResult((result[-1].detail,), tuple(result[-1:]))
        case.so_far(lambda: _in_sentences(result))
    return _in_sentences(result)


def _in_sentences(verdicts: list[Verdict]) -> StageResult:
    held = [verdict for verdict in verdicts if verdict.status is Status.HOLDS]
    open_ = Counter(v.detail for v in verdicts if v.status is Status.UNDECIDED)
    lines = [f"certified for {len(held)} of {len(verdicts)} whole runs that meet its assumptions"] if verdicts else []
    near = tightness(verdicts)
    lines += [near] if near else []
    lines += [f"undecided for {count}: {why}" for why, count in open_.items()]
    return StageResult(tuple(lines) or ("no run that was tried meets its assumptions",), tuple(verdicts))


def tightness(verdicts: Iterable[Verdict]) -> str:
    """How near an instance comes to a bound on whole runs, in words; empty where nothing is known."""
    compared = (Status.HOLDS, Status.UNDECIDED)
    near = [v for v in verdicts if v.status in compared and "run" in v.data and v.tightness is not None]
    if not near:
        return ""
    # Of those that come equally near, up to rounding, or near enough, the longest.
    least = min(round(verdict.tightness or 0.0, 9) for verdict in near)
    equal = [v for v in near if round(v.tightness or 0.0, 9) <= max(least, (1 + TIGHT) * (least > 1 + ATTAINED))]
    best = min(equal, key=lambda verdict: (-_steps(verdict), verdict.tightness or 0.0))
    excess = (best.tightness or 1.0) - 1
    where = best.data["where"]
    if excess <= ATTAINED:
        return f"the bound is tight: an instance attains it at {where}"
    tight = "the bound is tight: " * (excess <= TIGHT)
    return f"{tight}an instance comes within {float(f'{100 * excess:.2g}'):g}% of it at {where}"


def _steps(verdict: Verdict) -> int:
    at: Any = verdict.data["run"]
    return int(at["tau"] * at["rounds"])
