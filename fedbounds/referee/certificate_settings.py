"""Where one-round claims are put to the SDP."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from fedbounds.errors import InputError
from fedbounds.evidence.sdp.one_step.coverage import conditions, own_setting
from fedbounds.evidence.sdp.one_step.parameters import Setting, pointwise, round_setting
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading


@dataclass(frozen=True)
class Grid:
    """Where one-round claims are put to the SDP, and how many of the certified settings get tight constants."""

    kappas: tuple[int, ...]
    taus: tuple[int, ...]
    weights: tuple[tuple[tuple[str, str], tuple[str, str]], ...]
    tight: int


EVEN, UNEVEN, BIASED = ("1/2", "1/2"), ("9/10", "1/10"), ("3/4", "1/4")
GRIDS = {
    "small": Grid((2, 10, 100), (1, 2, 4), ((EVEN, EVEN), (UNEVEN, UNEVEN), (BIASED, EVEN)), 2),
    "large": Grid(
        (2, 3, 10, 30, 100, 1000),
        (1, 2, 3, 4, 6),
        ((EVEN, EVEN), (UNEVEN, UNEVEN), (BIASED, EVEN), (EVEN, UNEVEN)),
        12,
    ),
}


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
