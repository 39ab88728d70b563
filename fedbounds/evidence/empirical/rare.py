"""Whether a run's replicates show what its noise can do: a known null, and the share of the largest replicate.

A t-type band is blind to an event that no replicate shows. The record holds ||w_{t+1} - w*||^2 and its exact mean
given the state at t, so that sum_t of their difference has mean exactly 0: where the very same band excludes that
known truth, it is not to be trusted on these data.
"""

from __future__ import annotations

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from fedbounds.evidence.empirical.bands import band_from_moments
from fedbounds.evidence.empirical.rounding import RELATIVE_ROUNDING, position_rounding
from fedbounds.evidence.evaluate import evaluate
from fedbounds.evidence.run import Run
from fedbounds.model.problem import Array
from fedbounds.model.trajectory import PATH_FIELDS
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import fields

# Replicates -> the share of the sum of squared deviations that the largest of so many chi-square variables (one
# degree of freedom), the band's reference law, exceeds with probability 1e-3 (measured
# on 23,000 to 375,000 samples; standard error below 0.01).
DOMINANT = {8: 0.873, 16: 0.916, 32: 0.890, 64: 0.795, 128: 0.644, 256: 0.490, 512: 0.344, 1024: 0.211}
REALISED, EXPECTED = PATH_FIELDS.index("next_distance_sq"), PATH_FIELDS.index("next_mean")


def distrust(claim: Claim, run: Run, times: NDArray, room: Array, error_rate: float) -> str | None:
    """Why a band over the replicates of a run is not to be trusted for a claim, if so.

    ``room`` (m,) is how far the means of both sides lie from each other at ``times`` (m,).
    """
    return _missed_noise(run, error_rate) or _dominated(claim, run, times, room)


def share_limit(replicates: int) -> float:
    """The share of one replicate beyond which tails are heavier than the reference law's: DOMINANT, interpolated."""
    return float(np.interp(np.log(replicates), np.log(list(DOMINANT)), list(DOMINANT.values())))


def _moments(run: Run) -> tuple[Array, Array, Array]:
    """(means (K, 5), covariances (K, 5, 5), largest values (K, 5)) of the recorded fields, whoever kept them."""
    if run.trajectory.streamed is not None:
        path = run.trajectory.streamed.paths[run.reading.virtual]
        return path.mean, path.covariance, path.high
    stored = run.trajectory.paths[run.reading.virtual]
    values = np.stack([getattr(stored, name) for name in PATH_FIELDS], axis=-1)
    mean = values.mean(axis=0)
    away = values - mean
    return mean, np.einsum("rka,rkb->kab", away, away) / max(len(values) - 1, 1), values.max(axis=0)


def _missed_noise(run: Run, error_rate: float) -> str | None:
    """The known null at each recorded step and in their sum, at half the error rate each.

    The differences are a martingale's, hence uncorrelated: the variance of their sum is the sum of variances.
    """
    mean, covariance, high = _moments(run)
    steps = run.trajectory.times < len(run.trajectory.eta)
    mean, covariance, high = mean[steps], covariance[steps], high[steps]
    realised, expected = mean[:, REALISED], mean[:, EXPECTED]
    difference = realised - expected
    own = covariance[:, REALISED, REALISED] + covariance[:, EXPECTED, EXPECTED]
    # A variance cannot be known better than the cancellation in it.
    variance = np.maximum(own - 2 * covariance[:, REALISED, EXPECTED], 1e-14 * own)
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


def _dominated(claim: Claim, run: Run, times: NDArray, room: Array) -> str | None:
    """Whether one replicate carries more of a measured field's variance than the band's reference law allows.

    It does not matter where both sides would stay as they are if every replicate were like that one.
    """
    left, right, _ = claim.sides(run.reading)
    seen, behind = run.observed(claim.symbols), fields("random")
    values = {**seen.constants, **seen.places(claim.scope)}
    moments = [moment[: len(times)] for moment in _moments(run)]
    replicates = run.trajectory.experiment.replicates
    for symbol in sorted((left - right).free_symbols, key=str):
        if behind.get(symbol.name) not in PATH_FIELDS:
            continue
        index = PATH_FIELDS.index(behind[symbol.name])
        mean, variance, high = moments[0][:, index], moments[1][:, index, index], moments[2][:, index]
        slope = np.abs(evaluate(sp.diff(left - right, symbol), values))
        slope = np.broadcast_to(slope, np.broadcast_shapes(slope.shape, (1, len(times)))).max(axis=0)
        away, total = high - mean, (replicates - 1) * variance
        real = away > RELATIVE_ROUNDING * high + position_rounding(run, len(away)).max(axis=0)
        share = np.where(real & (slope * away >= room), away**2 / np.where(real & (total > 0), total, np.inf), 0.0)
        if share.max(initial=0.0) > share_limit(replicates):
            worst = int(share.argmax())
            return (
                f"the run has not seen enough of its rare events: at t = {times[worst]} one of {replicates} "
                f"replicates carries {share[worst]:.0%} of the variance of {PATH_FIELDS[index]}"
            )
    return None
