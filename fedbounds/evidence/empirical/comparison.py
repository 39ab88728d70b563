"""Empirical evidence: a claim against a simulated run, with control of the error.

For every tested time t the paired difference lhs - rhs of each replicate has a mean, and a band that
covers all those means at once (and on both sides) decides. Nothing here is ever 'proved'.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import sympy as sp

from fedbounds.errors import reject
from fedbounds.evidence.conditions import cannot_express, judged_on
from fedbounds.evidence.conditions import failed_on as failed_assumptions
from fedbounds.evidence.constants import Run, Value, evaluate
from fedbounds.evidence.empirical import streamed as linear
from fedbounds.evidence.empirical.bands import Band, band, band_from_moments
from fedbounds.evidence.empirical.floor import floor_fit
from fedbounds.model.problem import Array
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.quantity import Provenance
from fedbounds.theory.symbols import gap
from fedbounds.theory.verdict import Evidence, Status, Verdict

# Every measured quantity is known to about this relative accuracy (sums of some thousand products in double
# precision); what such errors can do to lhs - rhs is rounding, not evidence.
RELATIVE_ROUNDING = 1e-11
# A computed iterate is off by a few units in the last place of |w|: so many epsilons are allowed for.
POSITION_ROUNDING = 64 * np.finfo(float).eps
# A squared gradient this far below the largest of the run is the square of a cancellation error.
SQUARED_CANCELLATION = 1e-26


@dataclass(frozen=True)
class Comparison:
    """Both sides of a claim on a run: ``lhs`` and ``rhs`` (R, m) at ``times`` (m,).

    ``rounding`` (R, m) is how far floating point alone may put lhs above rhs. Of a streamed run both sides are
    means (1, m), and ``std`` (m,) is the standard deviation of lhs - rhs over its ``replicates``.
    """

    times: np.ndarray
    lhs: Array
    rhs: Array
    rounding: Array
    std: Array | None = None
    replicates: int = 1

    def band(self, error_rate: float, known: np.ndarray) -> Band:
        """The simultaneous band of the mean of lhs - rhs; ``known`` columns do not vary."""
        difference = self.lhs - self.rhs
        if self.std is None:
            return band(difference, error_rate, deterministic=known)
        if not np.isfinite(difference).all():
            raise reject("both sides must be finite", "nan or infinity", "drop the times at which the run diverged")
        return band_from_moments(difference[0], self.std, self.replicates, error_rate, known)


def compare(claim: Claim, run: Run) -> Comparison:
    """Evaluate both sides of a claim on every replicate and tested time of a run."""
    if claim.scope == "constant":
        run = replace(run, overrides={})  # a statement about the run's worst skews, not about each path's
    seen = run.observed(claim.symbols)
    times, places = np.asarray(seen.times(claim.scope)), seen.places(claim.scope)
    values = {**seen.constants, **places}
    shape = np.broadcast_shapes(*(np.shape(value) for value in places.values()), (1, 1))
    left, right, _ = claim.sides(run.reading)
    if run.trajectory.streamed and claim.scope in ("step", "horizon"):
        means = linear.both_sides(left, right, claim, run, values)
        rounding = means.rounding * RELATIVE_ROUNDING + _position_rounding(claim, run, len(times))
        return Comparison(
            times, means.lhs[None], means.rhs[None], rounding, means.std, run.trajectory.experiment.replicates
        )
    lhs = np.broadcast_to(evaluate(left, values), shape).astype(float)
    rhs = np.broadcast_to(evaluate(right, values), shape).astype(float)
    rounding = _value_rounding(left - right, values, lhs - rhs) + _position_rounding(claim, run, len(times))
    return Comparison(times, lhs, rhs, np.broadcast_to(rounding, shape))


def _value_rounding(difference: sp.Expr, values: Mapping[str, Value], base: Array) -> Array:
    """How far lhs - rhs moves when each measured quantity moves by its relative accuracy."""
    moved = np.zeros_like(base)
    for name in sorted(symbol.name for symbol in difference.free_symbols):
        nudged = dict(values) | {name: np.asarray(values[name]) * (1 + RELATIVE_ROUNDING)}
        with np.errstate(invalid="ignore"):
            moved = moved + np.abs(evaluate(difference, nudged) - base)
    return np.nan_to_num(moved, nan=0.0, posinf=0.0)


def _position_rounding(claim: Claim, run: Run, count: int) -> Array:
    """What an error delta in w does to ||w_t - w*||^2: delta^2 + 2 delta ||w_t - w*||; L times that for F."""
    if claim.scope not in ("step", "horizon"):
        return np.zeros((1, 1))
    trajectory = run.trajectory
    reach = float(np.linalg.norm(trajectory.experiment.problem.w_star)) + float(trajectory.extremes.radius.max())
    delta = POSITION_ROUNDING * reach
    if trajectory.streamed:
        distance = np.sqrt(trajectory.streamed.paths[run.reading.virtual].high[None, :count, 0])
    else:
        distance = np.sqrt(trajectory.paths[run.reading.virtual].distance_sq[:, :count])
    return (delta**2 + 2 * delta * distance) * (run.constants["L"].value if sp.sympify(claim.lhs).has(gap) else 1.0)


def not_applicable(claim: Claim, run: Run) -> Verdict | None:
    """NOT_APPLICABLE where an assumption fails on the run, UNDECIDED where one cannot be expressed, else None."""
    failed, unknown = judged_on(claim, run)
    if failed:
        detail = "assumption fails: " + "; ".join(map(str, failed))
        return _verdict(claim, run, Status.NOT_APPLICABLE, detail=detail, failed=failed)
    return _verdict(claim, run, Status.UNDECIDED, detail=cannot_express(unknown)) if unknown else None


def examine(claim: Claim, run: Run, error_rate: float = 1e-3) -> Verdict:
    """Decide a claim on a run in the run's reading, at family-wise ``error_rate`` over the tested times."""
    unmet = not_applicable(claim, run)
    if unmet is not None:
        return unmet
    if claim.kind is Kind.RATE:
        return examine_rate(claim, run, error_rate, not run.trajectory.experiment.stochastic)
    sides = compare(claim, run)
    deterministic = known_columns(claim, run, sides.times)
    if claim.scope == "point":
        return _examine_points(claim, run, sides)
    vacuous = np.isposinf(sides.rhs).any(axis=0)
    if vacuous.all():
        return _verdict(claim, run, Status.NOT_APPLICABLE, detail="the bound is infinite on this run")
    return decide(claim, run, sides, error_rate, deterministic)


def known_columns(claim: Claim, run: Run, times: np.ndarray) -> np.ndarray:
    """The tested times (m,) at which both sides are the same in every repetition, not merely in those run."""
    if claim.scope in ("point", "constant"):
        return np.ones(len(times), dtype=bool)
    left, right, _ = claim.sides(run.reading)
    used = (left - right).free_symbols
    return ~np.any([run.varies(symbol.name, times) for symbol in used] or [np.zeros(len(times), dtype=bool)], axis=0)


def decide(claim: Claim, run: Run, sides: Comparison, error_rate: float, known: np.ndarray) -> Verdict:
    """HOLDS if the band of lhs - rhs lies below 0 (identity: around it), REFUTED if some t lies above."""
    rounding = sides.rounding.max(axis=0)
    interval = sides.band(error_rate, known)
    deterministic = bool(known.all())
    if claim.kind is Kind.IDENTITY:
        refuted = (interval.lower > rounding) | (interval.upper < -rounding)
        holds = (np.abs(interval.lower) <= rounding) & (np.abs(interval.upper) <= rounding)
        distance = -np.maximum(np.abs(interval.lower), np.abs(interval.upper))
    else:
        refuted, holds, distance = interval.lower > rounding, interval.upper <= rounding, -interval.upper
    lhs, rhs = sides.lhs.mean(axis=0), sides.rhs.mean(axis=0)
    relative = distance / np.maximum(np.maximum(np.abs(lhs), np.abs(rhs)), np.finfo(float).tiny)
    relative[np.abs(distance) <= rounding] = 0.0
    relative = np.where(np.isnan(relative), -np.inf, relative)
    worst = int(np.argmin(np.where(refuted, relative - 1e9, relative))) if refuted.any() else int(np.argmin(relative))
    status = Status.REFUTED if refuted.any() else Status.HOLDS if holds.all() else Status.UNDECIDED
    return _verdict(
        claim,
        run,
        status,
        margin=float(relative[worst]),
        tightness=_tightness(lhs, rhs),
        worst_t=None if claim.scope == "constant" else int(sides.times[worst]),
        error_rate=0.0 if deterministic else error_rate,
        detail=_explain(run, status, lhs[worst], rhs[worst], interval.family, deterministic),
        data={"lhs": float(lhs[worst]), "rhs": float(rhs[worst])},
    )


def _tightness(lhs: Array, rhs: Array) -> float | None:
    """The smallest bound over measured among positive measured values."""
    positive = lhs > 0
    return float(np.min(rhs[positive] / lhs[positive])) if positive.any() else None


def _explain(run: Run, status: Status, lhs: float, rhs: float, family: str, deterministic: bool) -> str:
    relation = {Status.REFUTED: ">", Status.HOLDS: "<=", Status.UNDECIDED: "against"}[status]
    words = [f"lhs {lhs:.4g} {relation} rhs {rhs:.4g}"]
    words.append("no sampling error" if deterministic else family)
    estimated = [n for n, c in run.constants.items() if c.provenance is Provenance.ESTIMATED]
    if estimated:
        words.append("with estimated " + ", ".join(estimated))
    return "; ".join(words)


def _examine_points(claim: Claim, run: Run, sides: Comparison) -> Verdict:
    """A statement about every visited point and client: deterministic, no band."""
    floor = SQUARED_CANCELLATION * float(sides.lhs.max(initial=0.0))
    rounding = sides.rounding + floor
    difference = sides.lhs - sides.rhs
    refuted = difference > rounding
    relative = -difference / np.maximum(np.maximum(sides.lhs, sides.rhs), np.finfo(float).tiny)
    relative[np.abs(difference) <= rounding] = 0.0
    row, column = np.unravel_index(int(np.argmin(relative)), relative.shape)
    status = Status.REFUTED if refuted.any() else Status.HOLDS
    used = sides.lhs > floor
    return _verdict(
        claim,
        run,
        status,
        margin=float(relative[row, column]),
        tightness=float((sides.rhs[used] / sides.lhs[used]).min()) if used.any() else None,
        worst_t=int(sides.times[column]),
        detail=f"{relative.size} visited points; worst lhs {sides.lhs[row, column]:.4g}, "
        f"rhs {sides.rhs[row, column]:.4g}",
        data={"lhs": float(sides.lhs[row, column]), "rhs": float(sides.rhs[row, column])},
    )


def examine_rate(claim: Claim, run: Run, error_rate: float, deterministic: bool) -> Verdict:
    """O(1/T): a floor c0 > 0 in c0 + c1/(T + gamma) refutes; its absence on a finite run proves nothing."""
    trajectory = run.trajectory
    gamma = float(evaluate(sum(claim.definitions.values(), sp.Integer(0)), run.values()))
    fit = floor_fit(
        trajectory.paths[run.reading.virtual].gap,
        trajectory.times,
        gamma,
        error_rate,
        deterministic=deterministic,
    )
    status = Status.REFUTED if fit.decision == "floor" else Status.UNDECIDED
    error = float("nan") if claim.floor is None else float(evaluate(claim.floor, run.values()).max())
    rows = len(trajectory.paths[run.reading.virtual].gap)
    fitted = f"; fitted to the first {rows} replicates" if trajectory.streamed else ""
    compared = f"; the error term is {error:.4g}" if np.isfinite(error) else ""
    return _verdict(
        claim,
        run,
        status,
        worst_t=int(trajectory.times[-1]),
        error_rate=0.0 if deterministic else error_rate,
        detail=fit.detail + compared + fitted,
        data={"floor": list(fit.c0), "slope": list(fit.c1), "span": float(fit.span), "error_term": error},
    )


def _verdict(claim: Claim, run: Run, status: Status, **fields: object) -> Verdict:
    return Verdict(claim.key, run.reading.name, Evidence.EMPIRICAL, status, **fields)  # type: ignore[arg-type]


__all__ = ["Comparison", "compare", "decide", "examine", "examine_rate", "failed_assumptions", "not_applicable"]
