"""How small a change of one part of a claim is still refuted, and by which regime."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.evidence.run import Run
from fedbounds.referee.mutants import Part, as_read, scaled
from fedbounds.referee.regime import Regime
from fedbounds.theory.claim import Claim
from fedbounds.theory.quantity import Constant, Provenance
from fedbounds.theory.reading import Reading
from fedbounds.theory.verdict import Status, Verdict

# Thousands of examinations share one table, so each is decided far from a false alarm.
ERROR_RATE = 1e-6
# The smallest relative change of a part that is looked for, the largest, and the bisections of its logarithm.
SMALLEST_CHANGE, LARGEST_CHANGE, HALVINGS = 1e-8, 1e3, 12
# A second regime must catch a change smaller by this share to be called the sharper one (bisection's precision).
SAME_CHANGE = 0.02
HALF = 0.5
# Stands for the relative change of a part while its smallest caught value is sought.
CHANGE = sp.Symbol("change", positive=True)


@dataclass(frozen=True)
class Place:
    """A regime where the claim applies: its run, and the unmutated right-hand side there."""

    regime: Regime
    run: Run
    rhs: np.ndarray
    scale: np.ndarray


def examined(claim: Claim, run: Run) -> Verdict | None:
    """The verdict, or None where a mutant is undefined on the run (a division by zero)."""
    try:
        with np.errstate(all="ignore"):
            return empirical.examine(claim, run, ERROR_RATE)
    except InputError:
        return None


def nearest_caught(
    claim: Claim, reading: Reading, part: Part, places: Sequence[Place], up: bool
) -> tuple[float | None, str]:
    """The factor on a part nearest to 1 that some regime refutes, by bisection of its distance, and that regime."""
    sign = 1 if up else -1
    read = replace(as_read(scaled(claim, part, 1 + sign * CHANGE).claim, reading), assumptions=())
    best, sharpest = LARGEST_CHANGE, ""
    for place in places:
        if _catches(read, place, _clearly_below(best) if sharpest else best):
            best, sharpest = _bisected(read, place, best, up), place.regime.name
        if best <= SMALLEST_CHANGE:
            break
    return (1 + sign * best, sharpest) if sharpest else (None, "")


def _clearly_below(change: float) -> float:
    """A change that is smaller than ``change``, or leaves more of the part, by the share SAME_CHANGE."""
    if change > 1:
        return max(change * (1 - SAME_CHANGE), 1.0)
    return 1 - (1 - change) * (1 + SAME_CHANGE) - SMALLEST_CHANGE if change > HALF else change * (1 - SAME_CHANGE)


def _bisected(read: Claim, place: Place, high: float, up: bool) -> float:
    """The smallest change that a place catches, at most ``high``, itself caught.

    Bisected on a logarithmic scale; towards deletion (change 1) on that of what is left of the part.
    """
    low = SMALLEST_CHANGE
    if _catches(read, place, low):
        return low
    for corner in () if up else (1.0, HALF):
        if low < corner < high:
            low, high = (low, corner) if _catches(read, place, corner) else (corner, high)
    toward_deletion = not up and low >= HALF and high <= 1
    if toward_deletion:
        low, high = 1 - low, max(1 - high, SMALLEST_CHANGE)
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        caught = _catches(read, place, 1 - middle if toward_deletion else middle)
        low, high = (low, middle) if caught else (middle, high)
    return 1 - high if toward_deletion else high


def _catches(read: Claim, place: Place, change: float) -> bool:
    """Whether the claim with a part changed by the symbol CHANGE is refuted at that value of it."""
    constants = {**place.run.constants, CHANGE.name: Constant(change, Provenance.GIVEN)}
    verdict = examined(read, replace(place.run, constants=constants))
    return verdict is not None and verdict.status is Status.REFUTED
