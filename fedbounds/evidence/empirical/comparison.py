"""Empirical evidence: a claim against a simulated run, with control of the error.

For every tested time t the paired difference lhs - rhs of each replicate has a mean, and a band that
covers all those means at once (and on both sides) decides. Nothing here is ever 'proved'.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from fedbounds.evidence.assumption_checks import with_quantities_if_needed
from fedbounds.evidence.empirical.band_validity import distrust
from fedbounds.evidence.empirical.bands import MIN_REPLICATES, Band, ComparedBands, columns_that_vary
from fedbounds.evidence.empirical.decay import floor_fit
from fedbounds.evidence.empirical.sides import Comparison as Comparison
from fedbounds.evidence.empirical.sides import Points, Worst, at_points
from fedbounds.evidence.empirical.sides import compare as compare
from fedbounds.evidence.evaluate import difference, evaluate, is_affine, names_in
from fedbounds.evidence.judge import OnRun, conclude, judge, verdict
from fedbounds.evidence.measured_run import MeasuredRun
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import ERROR_RATE
from fedbounds.theory.symbols import RECORDED, measured_fields
from fedbounds.theory.verdict import Evidence, Status, Verdict

# Any rate the bands' table has, for columns that are known for certain and need none.
CERTAIN = 0.1
# Why the mean of a curved function of what was measured decides nothing.
NOT_LINEAR = "it is not linear in expectations, so means of replicates do not stand for it"
# Why repetitions that should be one are not compared.
UNSTEADY = "a symbol of one's own differs between repetitions in which everything that it may look at is the same"
# What the band's error rate rests on, said beside it.
BAND_NEEDS = (
    "a t-type band: nominal for tails up to chi-square, where it needs a finite variance; for 0.1% up to 0.085% was "
    "measured on lognormal data and 1.7% on products of two chi-square variables, and far more on heavier tails"
)


@dataclass(frozen=True)
class Sampled(OnRun):
    """A simulated run as `judge` sees it: decided by a band at family-wise ``error_rate`` over the tested times.

    What was compared along t is put into ``compared``.
    """

    error_rate: float = ERROR_RATE
    compared: ComparedBands | None = None
    evidence = Evidence.EMPIRICAL

    def of(self, claim: Claim) -> Sampled:
        """The run with the claim's computed quantities, unless an assumption without them fails."""
        return replace(self, run=with_quantities_if_needed(claim, self.run))

    def refusal(self, claim: Claim) -> Verdict | None:
        """UNDECIDED where means of replicates do not stand for the two sides."""
        left, right, _ = claim.sides(self.run.reading)
        curved = claim.kind is not Kind.RATE and claim.scope != "point" and self.run.trajectory.random
        if curved and not is_affine(difference(left, right)):
            return verdict(claim, self.run.reading, Status.UNDECIDED, detail=NOT_LINEAR)
        return None

    def rate(self, claim: Claim) -> Verdict:
        """Whether the run shows a floor."""
        return examine_rate(claim, self.run, self.error_rate, not self.run.trajectory.random)

    def sides(self, claim: Claim) -> Comparison | Points | None:
        """Both sides at every tested time; of a claim about points what is decided at each by itself."""
        if claim.scope == "point":
            points = at_points(claim, self.run)
            return points if points.total else None
        sides = compare(claim, self.run)
        return sides if sides.lhs.size else None

    def decide(self, claim: Claim, sides: Comparison | Points) -> Verdict:
        """The decision where the right side is finite, and what was left out."""
        run = self.run
        if isinstance(sides, Points):
            result = None if sides.worst is None else decide_points(claim, run, sides, sides.worst)
            return _less_undefined(claim, run, result, len(sides.cells.holds), sides.total, sides.poles)
        defined, below = sides.defined, np.asarray(np.isneginf(sides.rhs).any(axis=0))
        poles = int(below.sum()), int(sides.times[np.argmax(below)])
        result = self._decided(claim, sides.at(defined)) if defined.any() else None
        return _less_undefined(claim, run, result, int(defined.sum()), defined.size, poles)

    def _decided(self, claim: Claim, sides: Comparison) -> Verdict:
        run = self.run
        certain = known_columns(claim, run, sides.times)
        if claim.computed and columns_that_vary(sides.lhs - sides.rhs, certain):
            return verdict(claim, run.reading, Status.UNDECIDED, detail=UNSTEADY)
        interval = sides.band(self.error_rate, certain)
        if self.compared is not None and claim.scope in ("step", "horizon"):
            self.compared[claim.key, run.reading.name] = (sides.times, *sides.means, interval)
        return decide(claim, run, sides, interval, certain)


def _less_undefined(
    claim: Claim, run: MeasuredRun, result: Verdict | None, defined: int, total: int, poles: tuple[int, int]
) -> Verdict:
    """``result`` on the ``defined`` of ``total`` times, with what was left out; ``poles``: their number and first."""
    if result is None:
        undefined = "the bound is infinite or undefined on this run"
        return verdict(claim, run.reading, Status.NOT_APPLICABLE, detail=undefined)
    count, first = poles
    if count and result.status is Status.HOLDS:
        # 1 - 1/T at T = 0 may be no slip, and a pole inside the range may be one: neither is decided here.
        pole = f"the bound is -infinity at {count} times, first at t = {first}, but {result.detail} elsewhere"
        result = replace(result, status=Status.UNDECIDED, detail=pole)
    left_out = f"; {total - defined} of {total} times left out, where the bound is infinite or undefined"
    return result if defined == total else replace(result, detail=result.detail + left_out)


def examine(
    claim: Claim, run: MeasuredRun, error_rate: float = ERROR_RATE, compared: ComparedBands | None = None
) -> Verdict:
    """Judge a claim on a run in the run's reading."""
    return judge(claim, run.reading, Sampled(run, error_rate, compared))


def known_columns(claim: Claim, run: MeasuredRun, times: np.ndarray) -> np.ndarray:
    """The tested times (m,) at which both sides are the same in every repetition, not merely in those run."""
    if claim.scope in ("point", "constant"):
        return np.ones(len(times), dtype=bool)
    left, right, _ = claim.sides(run.reading)
    used = names_in(difference(left, right))
    moving = [varies(run, name, times) for name in used] or [np.zeros(len(times), dtype=bool)]
    return np.asarray(~np.any(moving, axis=0))


def varies(run: MeasuredRun, symbol: str, times: NDArray[np.int64]) -> NDArray[np.bool_]:
    """The times (m,) at which a symbol may differ between repetitions, not merely in those run.

    Never without randomness, nor where it is a constant or a step size. The state is w_0 at t = 0, and so is
    all that follows from it unless the first weights are random; the drift is 0 where models have just been
    aggregated, and where one client has all weight. Whatever is not known to be fixed is random.
    """
    random = run.trajectory.random
    never, always = np.zeros(len(times), dtype=bool), np.ones(len(times), dtype=bool)
    if random and symbol in run.quantities.fields:
        return ~run.quantities.fixed[symbol][times] if symbol in run.quantities.fixed else never
    field = measured_fields().get(symbol)
    if not random or (field is None and (symbol in run.constants or symbol in RECORDED)):
        return never
    if field in ("distance_sq", "gap") or (field == "next_mean" and not _first_weights_vary(run)):
        return np.asarray(times != 0)
    return ~_together(run, times) if field == "drift" else always


def _first_weights_vary(run: MeasuredRun) -> bool:
    """Whether E||w_1 - w*||^2 given w_0 depends on the random weights of the first round."""
    experiment = run.trajectory.experiment
    if run.reading.virtual == "p" and experiment.tau > 1:
        return False  # inside the first round the p-weighted iterate does not see the weights
    return not experiment.everyone_present or experiment.rule.random


def _together(run: MeasuredRun, times: NDArray[np.int64]) -> NDArray[np.bool_]:
    """The times at which the drift is 0 by definition."""
    trajectory = run.trajectory
    aggregated = np.isin(times, trajectory.round_times)
    rounds = np.searchsorted(trajectory.round_times, times, side="right") - 1
    if len(trajectory.round_times) <= rounds.max(initial=0) or trajectory.experiment.stride != 1:
        return aggregated
    alone = (trajectory.alpha.max(axis=-1) == 1).all(axis=0) & (run.reading.virtual == "alpha")
    return np.asarray(aggregated | alone[rounds])


def decide(claim: Claim, run: MeasuredRun, sides: Comparison, interval: Band, certain_columns: np.ndarray) -> Verdict:
    """HOLDS if the band of lhs - rhs lies below 0 (identity: around it), REFUTED if some t lies above.

    Within rounding of 0 is neither, unless rounding is negligible beside the sides; see `conclude`.
    """
    lower, upper, error_rate = interval.lower, interval.upper, interval.error_rate
    lhs, rhs = sides.means
    cells = sides.cells(claim.kind, lower, upper)
    refuted = cells.refuted
    status, grounds = conclude(claim, run, refuted, cells.holds, cells.untested)
    if status in (Status.HOLDS, Status.REFUTED) and not (certain_columns.all() or (refuted & certain_columns).any()):
        doubt = distrust(claim, run, sides.times, np.where(certain_columns, np.nan, lhs - rhs), refuted, error_rate)
        status, grounds = (status, grounds) if doubt is None else (Status.UNDECIDED, f"; {doubt}")
    agreeing = np.isposinf(upper) & ~certain_columns & (run.trajectory.experiment.replicates >= MIN_REPLICATES)
    if status is Status.UNDECIDED and not grounds and agreeing.any():
        grounds = (
            f"; at {agreeing.sum()} of {agreeing.size} times all replicates agree to rounding, which gives no band"
        )
    band = None if certain_columns.all() else interval
    return _at_worst(claim, run, (status, grounds), sides.worst(cells), sides.tightness, band)


def decide_points(claim: Claim, run: MeasuredRun, points: Points, worst: Worst) -> Verdict:
    """HOLDS if lhs - rhs lies below 0 at every visited point, REFUTED if it lies above at one."""
    cells = points.cells
    concluded = conclude(claim, run, cells.refuted, cells.holds, cells.untested)
    return _at_worst(claim, run, concluded, worst, points.tightness)


def _at_worst(
    claim: Claim,
    run: MeasuredRun,
    concluded: tuple[Status, str],
    worst: Worst,
    tightness: float | None,
    band: Band | None = None,
) -> Verdict:
    """The verdict with both sides where they are nearest, or apart the wrong way; without a ``band`` for certain."""
    status, grounds = concluded
    relation = {Status.REFUTED: ">", Status.HOLDS: "<="}.get(status, "against")
    how = "no sampling error" if band is None else f"{band.family}; {BAND_NEEDS}"
    return verdict(
        claim,
        run.reading,
        status,
        margin=worst.margin,
        tightness=tightness,
        worst_t=None if claim.scope == "constant" else worst.t,
        error_rate=0.0 if band is None else band.error_rate,
        detail=f"lhs {worst.lhs:.4g} {relation} rhs {worst.rhs:.4g}; {how}{grounds}",
        data={"lhs": worst.lhs, "rhs": worst.rhs},
    )


def examine_rate(claim: Claim, run: MeasuredRun, error_rate: float, deterministic: bool) -> Verdict:
    """O(1/T): a floor c0 > 0 in c0 + c1/(T + gamma) refutes; its absence on a finite run proves nothing."""
    trajectory = run.trajectory
    gamma = float(evaluate(sum(claim.definitions.values(), sp.Integer(0)), run.values()))
    gaps = trajectory.paths[run.reading.virtual].gap
    fit = floor_fit(gaps, trajectory.times, gamma, error_rate, deterministic=deterministic)
    status = Status.REFUTED if fit.decision == "floor" else Status.UNDECIDED
    error = float("nan") if claim.floor is None else float(evaluate(claim.floor, run.values()).max())
    compared = f"; the error term is {error:.4g}" if np.isfinite(error) else ""
    return verdict(
        claim,
        run.reading,
        status,
        worst_t=int(trajectory.times[-1]),
        error_rate=0.0 if deterministic else error_rate,
        detail=fit.detail + compared,
        data={"floor": list(fit.c0), "slope": list(fit.c1), "span": float(fit.span), "error_term": error},
    )
