"""Exact runs whose outcomes are too many to enumerate: means and covariances, where these are linear in the noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.exact.record import VIRTUALS, ExactRun


def linear(instance: Instance) -> bool:
    """Whether every local model is its mean plus a sum of the shocks so far with factors that are not negative."""
    steepest = max(row[0] for row in instance.curvatures)
    return instance.weighting == "fedavg" and instance.present == instance.N and max(instance.eta) * steepest <= 1


def by_moments(mean: ExactRun, instance: Instance) -> ExactRun:
    """A linear run: the one without noise, its ``mean``, plus the covariances of the local models' first coordinates.

    Its ``points`` and ``excesses`` are left out: the outcomes visited are not enumerated. The largest gradient among
    them is known all the same: it lies where every shock had the same sign.
    """
    N, p, tau, variances = instance.N, instance.p, instance.tau, tuple(s**2 for s in instance.noise)
    c, m = ([row[0] for row in rows] for rows in (instance.curvatures, instance.minima))

    def mean_of(numbers: Sequence[Fraction]) -> Fraction:
        return sum((a * x for a, x in zip(p, numbers, strict=True)), Fraction(0))

    center, reach, largest = [instance.w0[0]] * N, [Fraction(0)] * N, Fraction(0)
    covariance = [[Fraction(0)] * N for _ in range(N)]
    paths = {name: list(row) for name, row in mean.paths["alpha"].items()}
    for t in range(instance.total + 1):
        if t % tau == 0:  # all clients have one model
            center, reach = ([mean_of(row)] * N for row in (center, reach))
        spread = mean_of([mean_of(row) for row in covariance])
        if t % tau == 0:
            covariance = [[spread] * N for _ in range(N)]
        paths["distance_sq"][t] += spread
        paths["gap"][t] += mean_of(c) * spread / 2
        paths["drift"][t] += mean_of([covariance[i][i] for i in range(N)]) - spread
        if t == instance.total:
            break
        for (_, i, grad_sq, _), x in zip(mean.points[t * N : (t + 1) * N], center, strict=True):
            slope = abs(c[i] * (x - m[i]))
            largest = max(largest, grad_sq - slope**2 + (slope + c[i] * reach[i]) ** 2 + variances[i])
        eta, kept = instance.eta[t], [1 - instance.eta[t] * a for a in c]
        center = [x - eta * a * (x - b) for x, a, b in zip(center, c, m, strict=True)]
        reach = [k * r + eta * s for k, r, s in zip(kept, reach, map(abs, instance.noise), strict=True)]
        covariance = [[kept[i] * kept[j] * covariance[i][j] for j in range(N)] for i in range(N)]
        for i in range(N):
            covariance[i][i] += eta**2 * variances[i]
    noise = {
        "sigma_sq": max(variances),
        "sigma_p_sq": sum((q**2 * v for q, v in zip(p, variances, strict=True)), Fraction(0)),
        "G_sq": largest,
    }
    shared = {name: tuple(row) for name, row in paths.items()}
    none: dict[str, Any] = {"points": (), "excesses": frozenset()}
    return replace(
        mean, instance=instance, values={**mean.values, **noise}, paths=dict.fromkeys(VIRTUALS, shared), **none
    )
