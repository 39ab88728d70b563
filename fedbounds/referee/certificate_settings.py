"""Where one-round claims are put to the SDP."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence.sdp.multi_round.claim_at_run import MEASURES
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.evidence.sdp.multi_round.verdict import meets
from fedbounds.evidence.sdp.one_step.coverage import conditions, own_setting
from fedbounds.evidence.sdp.one_step.parameters import Setting, pointwise, round_setting, sizes_at
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading


@dataclass(frozen=True)
class Grid:
    """Where one-round claims are put to the SDP, and how many of the certified settings get tight constants."""

    kappas: tuple[int, ...]
    taus: tuple[int, ...]
    weights: tuple[tuple[tuple[str, str], tuple[str, str]], ...]
    tight: int
    rounds: tuple[int, ...] = (1, 2, 4)


EVEN, UNEVEN, BIASED = ("1/2", "1/2"), ("9/10", "1/10"), ("3/4", "1/4")
GRIDS = {
    "small": Grid((2, 10, 100), (1, 2, 4), ((EVEN, EVEN), (UNEVEN, UNEVEN), (BIASED, EVEN)), 2),
    "large": Grid(
        (2, 3, 10, 30, 100, 1000),
        (1, 2, 3, 4, 6),
        ((EVEN, EVEN), (UNEVEN, UNEVEN), (BIASED, EVEN), (EVEN, UNEVEN)),
        12,
        (1, 2, 4, 8),
    ),
}
# What a certificate combines, in words, by the first word of its label.
FACTS = {
    "interpolation": "that F_i is smooth and strongly convex, between pairs of points (interpolation inequalities)",
    "gradient": "||grad F_i||^2 <= G^2 at the local models",
    "noise": "that variances are at least 0",
    "variance": "that variances are at most sigma^2",
    "drift": "Minkowski's inequality for the drift",
}
# First step sizes in units of 1/L, where a claim about a whole run leaves them open, the largest first.
FIRST_STEPS = (Fraction(1), Fraction(1, 2), Fraction(1, 4), Fraction(1, 8), Fraction(1, 32))
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
            setting = own_setting(claim, setting)
            if claim.steps is None and conditions(claim, setting)[0]:
                setting = replace(setting, eta=(Fraction(1),) * len(setting.eta))  # the claim may want equal steps
        except InputError:
            continue  # an irrational step size, or weights that this reading says too little about
        yield setting
        if pointwise(claim, reading) and (local, alpha) != (grid.taus[0], grid.weights[0][0]):
            return


def runs(claim: Claim, reading: Reading, grid: Grid) -> Iterator[tuple[Run, Fraction]]:
    """Rounds x tau x kappa x first step of a claim about whole runs, at its own steps, and the first step size."""
    measure = MEASURES[sp.sympify(claim.lhs)]
    for kappa, local, rounds in itertools.product(grid.kappas, grid.taus[:FEW], grid.rounds):
        fitting = []
        for first in FIRST_STEPS:
            values = {"L": Fraction(1), "mu": Fraction(1, kappa), "tau": Fraction(local), "eta_0": first}
            try:
                sizes = sizes_at(claim, values, 0, rounds * local)
                run = Run(rounds, local, values["mu"], Fraction(1), sizes, measure=measure)
            except InputError:
                continue  # steps that are not rational or too long, or a mean of one iterate
            if (run, first) not in fitting and meets(claim, reading, run, first):
                fitting.append((run, sizes[0]))
        yield from dict.fromkeys(fitting[:FEW])
