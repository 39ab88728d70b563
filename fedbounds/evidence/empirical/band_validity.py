"""What may be wrong with the numbers of a run: floating point, and randomness that its replicates do not show.

A t-type band is blind to an event that no replicate shows. The sum over t of ||w_{t+1} - w*||^2 less its mean given
the state has mean exactly 0: where the same band excludes that, it is not to be trusted. Of random weights the range
is known: a round ends no farther from w* than the farthest local model, and what R replicates do not show has a
probability of at most log(1/error rate)/R in each.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from fedbounds.evidence.empirical.bands import band_from_moments
from fedbounds.evidence.evaluate import Measurement, Numbers, derivative, evaluate, moving, nudged
from fedbounds.evidence.judge import substitution
from fedbounds.evidence.measured_run import MeasuredRun
from fedbounds.model.problem import Array
from fedbounds.model.trajectory import PATH_FIELDS
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import measured_fields

# Every measured quantity is known to about this relative accuracy (sums of some thousand products in double
# precision); what such errors can do to lhs - rhs is rounding, not evidence.
RELATIVE_ROUNDING = 1e-11
# A computed iterate is off by a few units in the last place of |w|: so many epsilons are allowed for.
POSITION_ROUNDING = 64 * np.finfo(float).eps
# A squared gradient this far below the largest of the run is the square of a cancellation error.
SQUARED_CANCELLATION = 1e-26
# Sides that lie within rounding of each other count as equal where rounding is at most this part of the larger one:
# a hundred times RELATIVE_ROUNDING, so that an identity of some dozen terms without cancellation passes.
NEGLIGIBLE = 1e-9
# Replicates -> the share of the sum of squared deviations that the largest of so many chi-square variables (one
# degree of freedom), the band's reference law, exceeds with probability 1e-3 (measured
# on 23,000 to 375,000 samples; standard error below 0.01).
DOMINANT = {8: 0.873, 16: 0.916, 32: 0.890, 64: 0.795, 128: 0.644, 256: 0.490, 512: 0.344, 1024: 0.211}
REALISED, EXPECTED = PATH_FIELDS.index("next_distance_sq"), PATH_FIELDS.index("next_mean")


def distrust(
    claim: Claim,
    run: MeasuredRun,
    times: NDArray[Any],
    difference: Array,
    refuted: NDArray[np.bool_],
    error_rate: float,
) -> str | None:
    """Why a band over the replicates of a run is not to be trusted for a claim, if so.

    ``difference`` (m,) is the mean of lhs - rhs at ``times`` (m,), nan where it is known for certain; ``refuted``
    (m,) says where the band lies above 0.
    """
    measurement = run.measurement(claim.symbols)
    # The recorded columns that are tested: where a side is undefined nothing is.
    columns = np.flatnonzero(np.isin(measurement.times(claim.scope), times))
    slopes = {index: slope[:, columns] for index, slope in _slopes(claim, run, measurement).items()}
    return (
        run.once(("missed", error_rate), lambda: _missed_noise(run, error_rate))
        or _dominated(run, times, columns, np.abs(difference), slopes)
        or _unseen_weights(run, columns, difference, slopes, refuted, error_rate)
        or _own_tails(claim, run, columns)
    )


def _own_tails(claim: Claim, run: MeasuredRun, columns: NDArray[Any]) -> str | None:
    """Whether a measured symbol of one's own may vary more than replicates show: nothing is known of its range."""
    experiment = run.trajectory.experiment
    for name in sorted(moving(claim.computed)):
        if experiment.rule.random or not experiment.everyone_present:
            return f"how far weights that no replicate met may move {name} is not known"
        column = run.quantities.fields[name][:, columns]
        away, spread = column - column.mean(axis=0), column.var(axis=0, ddof=1)
        away = np.abs(away).max(axis=0)
        real = away > RELATIVE_ROUNDING * np.abs(column).max(axis=0)
        share = np.where(real, largest_share(away, spread, len(column)), 0.0)
        if share.max(initial=0.0) > share_limit(len(column)):
            return f"one of {len(column)} replicates carries {share.max():.0%} of the variance of {name}"
    return None


def quantity_rounding(claim: Claim, run: MeasuredRun, difference: sp.Expr) -> Array | float:
    """How far the rounding of measured symbols of one's own moves lhs - rhs.

    It is relative to the largest of the run, since a difference of large numbers may be in what the user computes.
    """
    rounding: Array | float = 0.0
    values = substitution(claim, run.reading, run.measurement(claim.symbols)).values
    for symbol in claim.computed:
        if symbol.name in run.quantities.fields and difference.has(symbol):
            size = np.abs(run.quantities.fields[symbol.name]).max(initial=0.0)
            moved = np.abs(evaluate(derivative(difference, symbol), values)) if size else 0.0
            rounding = rounding + RELATIVE_ROUNDING * size * moved
    return rounding


def _slopes(claim: Claim, run: MeasuredRun, measurement: Measurement[Numbers]) -> dict[int, Array]:
    """By how much lhs - rhs moves with each recorded field, (R or 1, recorded times), by the field's place."""
    fields = measured_fields()
    sides, count = substitution(claim, run.reading, measurement), len(measurement.times(claim.scope))
    slopes = {}
    for symbol in sorted(sides.difference.free_symbols, key=str):
        if fields.get(symbol.name) in PATH_FIELDS:
            slope = evaluate(derivative(sides.difference, symbol), sides.values)
            shape = np.broadcast_shapes(slope.shape, (1, count))
            slopes[PATH_FIELDS.index(fields[symbol.name])] = np.broadcast_to(slope, shape)
    return slopes


def share_limit(replicates: int) -> float:
    """The share of one replicate beyond which tails are heavier than the reference law's: DOMINANT, interpolated."""
    return float(np.interp(np.log(replicates), np.log(list(DOMINANT)), list(DOMINANT.values())))


def _missed_noise(run: MeasuredRun, error_rate: float) -> str | None:
    """The known null at each recorded step and in their sum, at half the error rate each.

    The differences are a martingale's, hence uncorrelated: the variance of their sum is the sum of variances.
    """
    mean, covariance, high = run.moments.mean, run.moments.covariance, run.moments.high
    steps = run.trajectory.times < len(run.trajectory.eta)
    mean, covariance, high = mean[steps], covariance[steps], high[steps]
    realised, expected = mean[:, REALISED], mean[:, EXPECTED]
    difference = realised - expected
    of_client = covariance[:, REALISED, REALISED] + covariance[:, EXPECTED, EXPECTED]
    # A variance cannot be known better than the cancellation in it.
    variance = np.maximum(of_client - 2 * covariance[:, REALISED, EXPECTED], 1e-14 * of_client)
    rounding = RELATIVE_ROUNDING * high[:, REALISED] + position_rounding(run, len(difference)).max(axis=0)
    replicates = run.trajectory.experiment.replicates
    for means, variances, allowed in (
        (difference.sum(keepdims=True), variance.sum(keepdims=True), rounding.sum(keepdims=True)),
        (difference, variance, rounding),
    ):
        interval = band_from_moments(means, np.sqrt(variances), replicates, error_rate / 2)
        missed = (interval.lower > allowed) | (interval.upper < -allowed)
        if missed.any():
            where = "" if len(means) == 1 else f" at t = {run.trajectory.times[steps][int(missed.argmax())]}"
            at = slice(None) if len(means) == 1 else slice(int(missed.argmax()), int(missed.argmax()) + 1)
            return (
                f"the run has not seen its rare events: realised squared distances after a step{where} "
                f"average {realised[at].mean():.4g} of exactly {expected[at].mean():.4g}"
            )
    return None


def _dominated(
    run: MeasuredRun, times: NDArray[Any], columns: NDArray[Any], slack: Array, slopes: Mapping[int, Array]
) -> str | None:
    """Whether one replicate carries more of a measured field's variance than the band's reference law allows.

    It does not matter where both sides would stay as they are if every replicate were like that one.
    """
    moments = [moment[columns] for moment in (run.moments.mean, run.moments.covariance, run.moments.high)]
    blur = position_rounding(run, len(run.trajectory.times)).max(axis=0)[columns]
    replicates = run.trajectory.experiment.replicates
    for index, slope in slopes.items():
        mean, variance, high = moments[0][:, index], moments[1][:, index, index], moments[2][:, index]
        away = high - mean
        real = away > RELATIVE_ROUNDING * high + blur
        matters = real & (np.abs(slope).max(axis=0) * away >= slack)
        share = np.where(matters, largest_share(away, variance, replicates), 0.0)
        if share.max(initial=0.0) > share_limit(replicates):
            worst = int(share.argmax())
            return (
                f"the run has not seen enough of its rare events: at t = {times[worst]} one of {replicates} "
                f"replicates carries {share[worst]:.0%} of the variance of {PATH_FIELDS[index]}"
            )
    return None


def largest_share(away: Array, variance: Array, replicates: int) -> Array:
    """The share of the sum of squared deviations that a replicate ``away`` from the mean carries."""
    total = (replicates - 1) * variance
    return np.asarray(np.where(total > 0, away**2 / np.where(total > 0, total, 1.0), 0.0))


def _unseen_weights(
    run: MeasuredRun,
    columns: NDArray[Any],
    difference: Array,
    slopes: Mapping[int, Array],
    refuted: NDArray[np.bool_],
    error_rate: float,
) -> str | None:
    """Whether weights that no replicate may have met could turn what was found; any are possible where few are.

    A local model moves at most (sum of its steps) ||grad F_i(w_t)|| in a round, and ||grad F_i||^2 <= 2 L e_i. The
    farthest such place at each of two recorded times counts.
    """
    trajectory, experiment = run.trajectory, run.trajectory.experiment
    present = max(round(experiment.participation * experiment.problem.N), 1)
    chance = min(1.0, math.log(1 / error_rate) / experiment.replicates)
    patterns = math.comb(experiment.problem.N, present)
    if not experiment.rule.random and (experiment.everyone_present or patterns * chance <= 1):
        return None
    L, steps = run.constants["L"].value, experiment.tau * float(trajectory.eta.max())
    gradient = np.sqrt(2 * L * trajectory.excess.max(axis=(0, -1)))
    away, moved = np.sqrt(run.moments.high[:, 0]), steps * gradient
    reach = {"distance_sq": (away + moved) ** 2, "gap": L / 2 * (away + moved) ** 2, "drift": (2 * moved) ** 2}
    reach |= dict.fromkeys(("next_distance_sq", "next_mean"), reach["distance_sq"])
    towards, could = -1 if refuted.any() else 1, np.zeros(len(difference))
    for index, slope in slopes.items():
        farthest = reach[PATH_FIELDS[index]]
        farthest = np.maximum(farthest, np.roll(farthest, 1))[columns]
        could += np.maximum(towards * slope, 0).max(axis=0) * farthest
    open_ = chance * could >= np.abs(difference)
    if not (open_[refuted].all() if refuted.any() else open_.any()):
        return None
    return (
        f"weights that a replicate meets with probability up to {chance:.2g} may not have been seen in "
        f"{experiment.replicates}, and could turn this: more replicates would tell"
    )


def value_rounding(difference: sp.Expr, values: Mapping[str, Numbers], base: Array) -> Array:
    """How far lhs - rhs moves when each measured quantity moves by its relative accuracy."""
    moved = np.zeros_like(base)
    with np.errstate(divide="ignore", invalid="ignore"):
        for result in nudged(difference, values, 1 + RELATIVE_ROUNDING):
            away = result - base
            moved += np.abs(away, out=away)
    return np.nan_to_num(moved, nan=0.0, posinf=0.0)


def position_rounding(run: MeasuredRun, count: int) -> Array:
    """delta^2 + 2 delta ||w_t - w*||, what an error delta of w does to it squared, at the first ``count`` times."""
    return run.once("rounding", lambda: _position_rounding(run))[:, :count]


def _position_rounding(run: MeasuredRun) -> Array:
    trajectory = run.trajectory
    reach = float(np.linalg.norm(trajectory.experiment.problem.w_star)) + float(trajectory.extremes.radius.max())
    delta = POSITION_ROUNDING * reach
    return delta**2 + 2 * delta * np.sqrt(trajectory.paths[run.reading.virtual].distance_sq)
