"""Question 4: which curve does FedSoftMax approach as 1/T grows, and how fast?

    python -m validate.questions.q4_fedmax_limit

The curve is FedMax's. Its distance from FedSoftMax's curve, with the same gradient noise in both, is measured
against T; the limit points of both, as the steps tend to 0, are computed by convex minimisation.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbounds.engine.simulate import simulate
from fedbounds.model.experiment import Experiment
from fedbounds.model.weighting import Weighting
from fedbounds.study.objects_from_settings import theory_step
from fedbounds.weightings.fedmax import FedMax
from fedbounds.weightings.fedsoftmax import FedSoftMax
from validate.questions._common import (
    BLACK,
    CONFIDENCE,
    DARK,
    DASH,
    DASHDOT,
    DOT,
    LIGHT,
    Array,
    Data,
    command,
    figure,
    group_slopes,
    mean_interval,
    slope,
    thin,
)
from validate.questions._limit import hard_limit, soft_limit
from validate.questions.q3_alpha_limit import problem

TEMPERATURES = tuple(10.0 ** (2 - k / 2) for k in range(13))
# Windows of T in which slopes are read off: cold, and between the transition and the chatter of FedMax at the end.
COLD, BETWEEN = (0.0, 0.11), (0.009, 0.33)
# The temperature at which FedSoftMax is compared with FedMax over a long run, and the bins of its last decade.
CHATTER, BINS = 1e-4, 8
SHOWN = (10.0, 1.0, 0.1)


def gaps(weighting: Weighting, tau: int, total: int, replicates: int, noise: float, seed: int) -> tuple[Array, Array]:
    """(times (K,), F(w_t) - F* (R, K)); equal seeds give equal noise whatever the weighting."""
    target = problem(True, noise)
    trajectory = simulate(
        Experiment(
            problem=target,
            weighting=weighting,
            eta=theory_step(target),
            tau=tau,
            rounds=total // tau,
            replicates=replicates,
            batch_size=1 if noise else None,
            w0=np.array([2.0, -1.0]),
            seed=seed,
            stride=tau,
        )
    )
    return trajectory.times.astype(float), trajectory.paths["alpha"].gap


def curves(tau: int, total: int, replicates: int, noise: float, seed: int) -> Data:
    """Distances max_t |gap_T(t) - gap_0(t)| and at the end, relative to the gap at the start, a row a temperature."""
    times, hard = gaps(FedMax(), tau, total, replicates, noise, seed)
    largest, last, mean_largest, shown = [], [], [], {}
    keep = np.concatenate([[0], thin(times[1:]) + 1])
    for temperature in TEMPERATURES:
        soft = gaps(FedSoftMax(temperature), tau, total, replicates, noise, seed)[1]
        apart = np.abs(soft - hard) / hard[:, :1]
        largest.append(apart.max(axis=1))
        last.append(apart[:, -1])
        mean_largest.append(float(np.abs((soft - hard).mean(axis=0)).max() / hard[0, 0]))
        if any(np.isclose(temperature, t) for t in SHOWN):
            shown[f"T = {temperature:g}"] = soft.mean(axis=0)[keep].tolist()
    shown["FedMax"] = hard.mean(axis=0)[keep].tolist()
    return {
        "times": times[keep].tolist(),
        "shown": shown,
        "largest": [_interval(d) for d in largest],
        "last": [_interval(d) for d in last],
        "largest_of_mean": mean_largest,
        "slope_largest": _slope(np.array(largest), COLD),
        "slope_last": _slope(np.array(last), BETWEEN),
    }


def chatter(total: int, replicates: int, seed: int) -> Data:
    """How |gap_T(t) - gap_0(t)| at a low T falls with t, in bins of the last decade."""
    times, hard = gaps(FedMax(), 5, total, replicates, 1.0, seed)
    apart = np.abs(gaps(FedSoftMax(CHATTER), 5, total, replicates, 1.0, seed)[1] - hard) / hard[:, :1]
    edges = np.geomspace(total / 10, total * (1 + 1e-9), BINS + 1)
    inside = [(times >= a) & (times < b) for a, b in pairwise(edges)]
    binned = np.stack([apart[:, m].mean(axis=1) for m in inside], axis=1)
    x = np.sqrt(edges[1:] * edges[:-1])
    return {
        "temperature": CHATTER,
        "t": x.tolist(),
        "distance": binned.mean(axis=0).tolist(),
        **group_slopes(binned, x, replicates),
    }


def _interval(values: Array) -> list[float]:
    """[mean, low, high] over replicates; the value itself where there is one."""
    return list(mean_interval(values)) if values.size > 1 else [float(values[0])] * 3


def _within(window: tuple[float, float]) -> NDArray[np.bool_]:
    return np.asarray((np.array(TEMPERATURES) >= window[0]) & (np.array(TEMPERATURES) <= window[1]))


def _slope(distance: Array, window: tuple[float, float]) -> Data | None:
    """Slope in log T of each replicate over a window of T, and its interval; None if a distance is 0."""
    chosen = _within(window)
    rows, x = distance[chosen].T, np.array(TEMPERATURES)[chosen]
    rows = rows[(rows > 0).all(axis=1)]
    if len(rows) < len(distance.T):
        return None
    mean, low, high = _interval(np.array([slope(x, row) for row in rows]))
    return {"slope": mean, "low": low, "high": high, "replicates": len(rows), "confidence": CONFIDENCE}


def limit_points() -> Data:
    """||w_inf(T) - w_inf(0)|| with its certified bound, and the floors."""
    target = problem(True, 0.0)
    end = hard_limit(target)
    soft = [soft_limit(target, temperature) for temperature in TEMPERATURES]
    distance = [float(np.linalg.norm(s.w - end.w)) for s in soft]
    bound = [float(np.sqrt(2 * t * np.log(1 / target.p.min()) / target.mu)) for t in TEMPERATURES]
    cold = _within(COLD)
    return {
        "distance": distance,
        "bound": bound,
        "floors": [s.gap for s in soft],
        "fedmax_floor": end.gap,
        "fedmax_alpha": end.alpha.tolist(),
        "accuracy": float(np.sqrt(2 * end.duality / target.mu)),
        "slope": slope(np.array(TEMPERATURES)[cold], np.array(distance)[cold]),
    }


def run(small: bool = False, seed: int = 0) -> Data:
    """All numbers of the page; ``small`` shortens every run."""
    total, replicates = (200, 8) if small else (4000, 64)
    points, wander = limit_points(), chatter(10 * total, 8 if small else 16, seed)
    noisy, quiet = curves(5, total, replicates, 1.0, seed), curves(5, total, 1, 0.0, seed)
    summary = {
        "distance at T = 1e-4 over a long run, slope in t": {
            k: wander[k] for k in ("slope", "low", "high", "groups")
        },
        "largest distance of noisy curves, slope in T": noisy["slope_largest"],
        "distance of noisy curves at the end, slope in T": noisy["slope_last"],
        "largest distance of noiseless curves, slope in T": quiet["slope_largest"],
        "limit points: slope in T": points["slope"],
        "limit points: largest distance over its bound": max(
            d / b for d, b in zip(points["distance"], points["bound"], strict=True)
        ),
        "FedMax's limit known within": points["accuracy"],
        "floors (T = 100, 1, 0.01, FedMax)": [points["floors"][k] for k in (0, 4, 8)] + [points["fedmax_floor"]],
    }
    settings = {"total": total, "replicates": replicates, "seed": seed, "tau": 5, "temperatures": TEMPERATURES}
    return {
        "summary": summary,
        "settings": settings,
        "noisy": noisy,
        "noiseless": quiet,
        "limit_points": points,
        "chatter": wander,
    }


def draw(data: Data, path: Path) -> None:
    """Left: the curves. Right: their distance to FedMax's against T, and that of the limit points."""

    def fill(left: Any, right: Any) -> None:
        noisy, points, x = data["noisy"], data["limit_points"], np.array(TEMPERATURES)
        times = np.array(noisy["times"][1:])
        for (name, values), dash, shade in zip(
            noisy["shown"].items(), (DASHDOT, DOT, DASH, "-"), (DARK, DARK, DARK, BLACK), strict=True
        ):
            left.loglog(times, values[1:], ls=dash, color=shade, label=name)
        left.axhline(points["fedmax_floor"], color=LIGHT, lw=1)
        left.set(
            xlabel="t", ylabel=r"$\mathbb{E}[F(w_t)] - F^\star$", title="FedSoftMax(T); grey line: FedMax's limit"
        )
        left.legend(fontsize=7)
        for key, dash, label in (("largest", "-", "largest over t"), ("last", DASH, "at the end")):
            mean, low, high = np.array(noisy[key]).T
            right.loglog(1 / x, mean, ls=dash, color=BLACK, label=f"gap curves, {label}")
            right.fill_between(1 / x, np.maximum(low, mean / 10), high, color=BLACK, alpha=0.2, lw=0)
        right.loglog(1 / x, points["distance"], ls=DOT, color=BLACK, label=r"$\Vert w_\infty(T) - w_\infty(0)\Vert$")
        right.loglog(1 / x, points["bound"], ls="-", color=LIGHT, label=r"its bound, $\sqrt{2T\ln(1/\min p)/\mu}$")
        right.set(xlabel="1/T", ylabel="distance to FedMax", title="how fast the limit is approached")
        right.legend(fontsize=7)

    figure(path, 2, fill)


if __name__ == "__main__":
    command("q4", run, draw)
