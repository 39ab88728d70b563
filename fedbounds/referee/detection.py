"""A claim's two sides in the regimes where it applies; its mutants are examined only where they may be refuted."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fedbounds.errors import InputError
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.evidence.evaluate import evaluate
from fedbounds.evidence.measured_run import MeasuredRun
from fedbounds.referee.regime import Regime
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.verdict import Verdict

# A change of the right-hand side below this share of the larger side is rounding: the part is not exercised.
NEGLIGIBLE = 1e-9
# Thousands of examinations share one table, so each is decided far from a false alarm.
ERROR_RATE = 1e-6


@dataclass(frozen=True)
class Place:
    """A regime where the claim applies: its run, and the claim's own sides there.

    Its mutants share the left side and the values of symbols, so that mostly their right side alone is evaluated.
    """

    regime: Regime
    run: MeasuredRun
    sides: empirical.Comparison

    @cached_property
    def scale(self) -> np.ndarray:
        """The larger of both sides."""
        return np.asarray(np.maximum(np.abs(self.sides.lhs), np.abs(self.sides.rhs)))

    def rhs(self, read: Claim, **known: float) -> np.ndarray:
        """The right side of a mutant with the claim's left side, in floats."""
        with np.errstate(all="ignore"):
            result = evaluate(read.sides(self.run.reading).rhs, {**self.sides.values, **known})
        return np.broadcast_to(result, self.sides.lhs.shape)

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


def examined(claim: Claim, run: MeasuredRun) -> Verdict | None:
    """The verdict, or None where a mutant is undefined on the run (a division by zero)."""
    try:
        with np.errstate(all="ignore"):
            return empirical.examine(claim, run, ERROR_RATE)
    except InputError:
        return None
