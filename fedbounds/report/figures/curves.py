"""Numbers behind the pictures: bands, ranges and bounds of a study, with nothing drawn."""

from dataclasses import dataclass

import numpy as np

from fedbounds.evidence.empirical.bands import band
from fedbounds.model.problem import Array
from fedbounds.study.run_series import RunSeries, SidesOverTime
from fedbounds.study.settings import Settings

# Points of a curve that a picture can resolve; more only make the file larger.
MAX_POINTS = 250


@dataclass(frozen=True)
class Curve:
    """A line with a band, all (m,): ``x``, ``y``, ``lower``, ``upper``."""

    x: Array
    y: Array
    lower: Array
    upper: Array


def thin(count: int, limit: int = MAX_POINTS) -> np.ndarray:
    """At most ``limit`` indices of 0 ... count - 1, denser at the start (as a logarithmic axis shows them)."""
    if count <= limit:
        return np.arange(count)
    half = limit // 2
    spaced = (np.linspace(0, count - 1, half), np.geomspace(1, count, half) - 1)
    return np.unique(np.concatenate(spaced).round().astype(int))


def measured_gap(settings: Settings, run: RunSeries) -> Curve:
    """E[F(w_T)] - F* at synchronisation times, with the simultaneous band at the study's error rate."""
    at = np.flatnonzero(run.times % settings.tau == 0)
    at = at if len(at) > 1 else np.arange(len(run.times))
    at = at[thin(len(at))]
    gap = run.gap[:, at]
    interval = band(gap, settings.error_rate)
    constant = np.ptp(gap, axis=0) == 0
    lower = np.where(constant, interval.mean, interval.lower)
    upper = np.where(constant, interval.mean, interval.upper)
    return Curve(run.times[at], interval.mean, lower, upper)


def bound(sides: SidesOverTime) -> tuple[Array, Array]:
    """The times and the right side there, nan where it is not positive, as a logarithmic axis cannot show it."""
    keep = thin(len(sides.t))
    return sides.t[keep], np.where(sides.rhs > 0, sides.rhs, np.nan)[keep]


def left_over_right(sides: SidesOverTime) -> Curve:
    """Left over right side of a one-step claim with the left side's band; nan where the right side is not positive.

    Where the band is unbounded its limits are nan.
    """
    divisor = np.where(sides.rhs > 0, sides.rhs, np.nan)
    keep = thin(len(sides.t))
    finite = (np.where(np.isfinite(side), side, np.nan) for side in (sides.lhs, sides.lower, sides.upper))
    return Curve(sides.t[keep], *(side[keep] / divisor[keep] for side in finite))


def replicate_range(times: Array, values: Array) -> Curve | None:
    """Median over replicates of ``values`` (R, K), with the range from the smallest to the largest."""
    finite = np.isfinite(values).all(axis=0)
    if not finite.any():
        return None
    keep = np.flatnonzero(finite)[thin(int(finite.sum()))]
    part = values[:, keep]
    return Curve(times[keep], np.median(part, axis=0), part.min(axis=0), part.max(axis=0))
