"""How far a part of a claim can be scaled: until some regime refutes the claim, and as far as it is proved."""

import math
from collections.abc import Sequence
from dataclasses import replace

import sympy as sp

from fedbounds.referee.mutants import Part, at_factor, scaled
from fedbounds.referee.proved_mutants import argument_for, why_still_true
from fedbounds.referee.regime import RegimeRun, examined
from fedbounds.theory.claim import Claim
from fedbounds.theory.constant import Constant, Provenance
from fedbounds.theory.quantity import Quantity
from fedbounds.theory.reading import Reading
from fedbounds.theory.verdict import Status

# The smallest relative change of a part that is looked for, the largest, and the bisections of its logarithm.
SMALLEST_CHANGE, LARGEST_CHANGE, HALVINGS = 1e-8, 1e3, 12
# A second regime must catch a change smaller by this share to be called the sharper one (bisection's precision).
SAME_CHANGE = 0.02
HALF = 0.5
# Stands for the relative change of a part while its smallest caught value is sought.
CHANGE = Quantity("change", None, recorded={}, positive=True)
# The largest factor tried on a part that may grow, and the bisections between it (or 0) and 1.
LARGEST_PROVED, FACTOR_HALVINGS = 9, 8


def nearest_caught(read: Claim, places: Sequence[RegimeRun], up: bool) -> tuple[float | None, str]:
    """The FACTOR of a claim nearest to 1 that some regime refutes, by bisection of its distance, and that regime."""
    sign = 1 if up else -1
    read = at_factor(read, 1 + sign * CHANGE)
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


def _bisected(read: Claim, place: RegimeRun, high: float, up: bool) -> float:
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


def _catches(read: Claim, place: RegimeRun, change: float) -> bool:
    """Whether the claim with a part changed by the symbol CHANGE is refuted at that value of it."""
    if place.nearest(read, **{CHANGE.name: change}) > -math.inf:
        return False
    constants = {**place.run.constants, CHANGE.name: Constant(change, Provenance.GIVEN)}
    verdict = examined(read, replace(place.run, constants=constants))
    return verdict is not None and verdict.status is Status.REFUTED


def proved_factor(claim: Claim, part: Part, reading: Reading, up: bool) -> float | None:
    """How far a part can be scaled with the claim still proved: the extreme factor in that direction, or None.

    Downwards to 0 at most, upwards to ``LARGEST_PROVED``; bisected ``FACTOR_HALVINGS`` times.
    """

    def proved(factor: sp.Expr) -> bool:
        return bool(why_still_true(scaled(claim, part, factor), reading))

    good, bad = sp.Integer(1), sp.Integer(LARGEST_PROVED if up else 0)
    if argument_for(claim) is None or not reading.repaired:
        return None
    if proved(bad):
        return float(bad)
    if claim.rhs.has(sp.Max, sp.Min):
        return None  # nothing but deletion takes them away
    for _ in range(FACTOR_HALVINGS):
        middle = (good + bad) / 2
        good, bad = (middle, bad) if proved(middle) else (good, middle)
    return float(good) if good != 1 else None
