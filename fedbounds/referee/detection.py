"""Where a claim applies, and which of its mutants are refuted there, with as little computed as tells."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.evidence.evaluate import evaluate
from fedbounds.evidence.measured_run import Run
from fedbounds.referee.mutants import at_factor
from fedbounds.referee.regime import Regime
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.constant import Constant, Provenance
from fedbounds.theory.verdict import Status, Verdict

# A change of the right-hand side below this share of the larger side is rounding: the part is not exercised.
NEGLIGIBLE = 1e-9
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
    """A regime where the claim applies: its run, and the claim's own sides there.

    Its mutants share the left side and the values of symbols, so that mostly their right side alone is evaluated.
    """

    regime: Regime
    run: Run
    sides: empirical.Comparison

    @cached_property
    def scale(self) -> np.ndarray:
        """The larger of both sides."""
        return np.asarray(np.maximum(np.abs(self.sides.lhs), np.abs(self.sides.rhs)))

    def rhs(self, read: Claim, **known: float) -> np.ndarray:
        """The right side of a mutant with the claim's left side, in floats."""
        with np.errstate(all="ignore"):
            found = evaluate(read.sides(self.run.reading).rhs, {**self.sides.values, **known})
        return np.broadcast_to(found, self.sides.lhs.shape)

    def compared(self, read: Claim) -> np.ndarray:
        """The right side that is compared: in more digits where a horizon's may have been lost by cancelling."""
        if not self.run.trajectory.streamed:
            rhs = self.rhs(read)
            if read.scope != "horizon" or not (self.sides.lhs > rhs).any():
                return rhs
        return empirical.compare(read, self.run).rhs

    def nearest(self, read: Claim, **known: float) -> float:
        """A lower bound of the tightness of a mutant that this run cannot refute; -infinity where it may.

        It cannot where the left side is nowhere above: all that rounding may do then is to leave columns out.
        """
        lhs, rhs = self.sides.lhs, self.rhs(read, **known)
        if read.scope == "point":
            lhs, rhs = lhs.reshape(1, -1), rhs.reshape(1, -1)
        plain = read.kind is Kind.INEQUALITY and not self.run.trajectory.streamed and lhs.size > 0
        if not (plain and np.isfinite(lhs).all() and np.isfinite(rhs).all()):
            return -math.inf
        # Of a horizon every repetition counts: each that seems to fail is computed again in more digits.
        if (lhs > rhs).any() if read.scope == "horizon" else ((lhs - rhs).mean(axis=0) > 0).any():
            return -math.inf
        lhs, rhs = lhs.mean(axis=0), rhs.mean(axis=0)
        return float(np.min(rhs[lhs > 0] / lhs[lhs > 0], initial=math.inf)) * (1 - NEGLIGIBLE)


def closest(bare: Claim, places: Sequence[Place]) -> list[tuple[Regime, Verdict]]:
    """A mutant examined where its claim applies, but in regimes that cannot refute it nor come closer than others."""
    verdicts, best = {}, math.inf
    for near, k in sorted((place.nearest(bare), k) for k, place in enumerate(places)):
        if best <= near and best < math.inf:
            break
        verdict = examined(bare, places[k].run)
        if verdict is not None:
            verdicts[k] = places[k].regime, verdict
            best = min(best, *(t for t in (verdict.tightness,) if t is not None and math.isfinite(t)), math.inf)
    return [verdicts[k] for k in sorted(verdicts)]


def examined(claim: Claim, run: Run) -> Verdict | None:
    """The verdict, or None where a mutant is undefined on the run (a division by zero)."""
    try:
        with np.errstate(all="ignore"):
            return empirical.examine(claim, run, ERROR_RATE)
    except InputError:
        return None


def nearest_caught(read: Claim, places: Sequence[Place], up: bool) -> tuple[float | None, str]:
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
    if place.nearest(read, **{CHANGE.name: change}) > -math.inf:
        return False
    constants = {**place.run.constants, CHANGE.name: Constant(change, Provenance.GIVEN)}
    verdict = examined(read, replace(place.run, constants=constants))
    return verdict is not None and verdict.status is Status.REFUTED
