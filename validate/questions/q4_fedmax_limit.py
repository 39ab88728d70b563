"""Question 4: which curve does FedSoftMax approach as 1/T grows, and how fast?

    python -m validate.questions.q4_fedmax_limit

The curve is FedMax's. Its distance from FedSoftMax's curve, with the same gradient noise in both, is measured
against T; the limit points of both, as the steps tend to 0, are computed by convex minimisation.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedbounds.model.problem import Array
from fedbounds.model.weighting import Weighting
from fedbounds.weightings.fedmax import FedMax
from fedbounds.weightings.fedsoftmax import FedSoftMax
from validate.questions import _common as common
from validate.questions._common import BLACK, CONFIDENCE, DARK, DASH, DASHDOT, DOT, LIGHT, Data, slope, thin
from validate.questions._limit import hard_limit, soft_limit
from validate.questions.q3_alpha_limit import problem, ran

TEMPERATURES = tuple(10.0 ** (2 - k / 2) for k in range(13))
# Windows of T in which slopes are read off: cold, and between the transition and the chatter of FedMax at the end.
COLD, BETWEEN = (0.0, 0.11), (0.009, 0.33)
SHOWN = (10.0, 1.0, 0.1)


def gaps(weighting: Weighting, total: int, replicates: int, seed: int) -> tuple[Array, Array]:
    """(times (K,), F(w_t) - F* (R, K)); equal seeds give equal noise whatever the weighting."""
    trajectory = ran(problem(True), weighting, 5, total, replicates, seed, 5)
    return trajectory.times.astype(float), trajectory.paths["alpha"].gap


def curves(total: int, replicates: int, seed: int) -> Data:
    """Distances max_t |gap_T(t) - gap_0(t)| and at the end, relative to the gap at the start, a row a temperature."""
    times, hard = gaps(FedMax(), total, replicates, seed)
    largest, last, shown = [], [], {}
    keep = np.concatenate([[0], thin(times[1:]) + 1])
    for temperature in TEMPERATURES:
        soft = gaps(FedSoftMax(temperature), total, replicates, seed)[1]
        apart = np.abs(soft - hard) / hard[:, :1]
        largest.append(apart.max(axis=1))
        last.append(apart[:, -1])
        if any(np.isclose(temperature, t) for t in SHOWN):
            shown[f"T = {temperature:g}"] = soft.mean(axis=0)[keep].tolist()
    shown["FedMax"] = hard.mean(axis=0)[keep].tolist()
    return {
        "times": times[keep].tolist(),
        "shown": shown,
        "largest": [list(common.mean_interval(d)) for d in largest],
        "last": [list(common.mean_interval(d)) for d in last],
        "slope_largest": _slope(np.array(largest), COLD),
        "slope_last": _slope(np.array(last), BETWEEN),
    }


def _within(window: tuple[float, float]) -> NDArray[np.bool_]:
    return np.asarray((np.array(TEMPERATURES) >= window[0]) & (np.array(TEMPERATURES) <= window[1]))


def _slope(distance: Array, window: tuple[float, float]) -> Data | None:
    """Slope in log T of each replicate over a window of T, and its interval; None if a distance is 0."""
    chosen = _within(window)
    rows, x = distance[chosen].T, np.array(TEMPERATURES)[chosen]
    if not (rows > 0).all():
        return None
    mean, low, high = common.mean_interval([slope(x, row) for row in rows])
    return {"slope": mean, "low": low, "high": high, "replicates": len(rows), "confidence": CONFIDENCE}


def limit_points() -> Data:
    """||w_inf(T) - w_inf(0)|| with its certified bound, and the floors."""
    target = problem(True, 0.0)
    end, cold = hard_limit(target), _within(COLD)
    soft = [soft_limit(target, temperature) for temperature in TEMPERATURES]
    distance = [float(np.linalg.norm(s.w - end.w)) for s in soft]
    return {
        "distance": distance,
        "bound": [float(np.sqrt(2 * t * np.log(1 / target.p.min()) / target.mu)) for t in TEMPERATURES],
        "floors": [s.gap for s in soft],
        "fedmax_floor": end.gap,
        "fedmax_alpha": end.alpha.tolist(),
        "accuracy": float(np.sqrt(2 * end.duality / target.mu)),
        "slope": slope(np.array(TEMPERATURES)[cold], np.array(distance)[cold]),
    }


def run(small: bool = False, seed: int = 0) -> Data:
    """All numbers of the page; ``small`` shortens every run."""
    total, replicates = (200, 8) if small else (4000, 64)
    points, noisy = limit_points(), curves(total, replicates, seed)
    over = [d / b for d, b in zip(points["distance"], points["bound"], strict=True)]
    summary = {
        "largest distance of noisy curves, slope in T": noisy["slope_largest"],
        "distance of noisy curves at the end, slope in T": noisy["slope_last"],
        "limit points: slope in T": points["slope"],
        "limit points: largest distance over its bound": max(over),
        "FedMax's limit known within": points["accuracy"],
        "floors (T = 100, 1, 0.01, FedMax)": [points["floors"][k] for k in (0, 4, 8)] + [points["fedmax_floor"]],
    }
    settings = {"total": total, "replicates": replicates, "seed": seed, "tau": 5, "temperatures": TEMPERATURES}
    return {"summary": summary, "settings": settings, "noisy": noisy, "limit_points": points}


def draw(data: Data, path: Path) -> None:
    """Left: the curves. Right: their distance to FedMax's against T, and that of the limit points."""
    noisy, points, x = data["noisy"], data["limit_points"], 1 / np.array(TEMPERATURES)
    with common.figure(path, 2) as (left, right):
        left.axhline(points["fedmax_floor"], color=LIGHT, lw=1)
        dashes, shades = (DASHDOT, DOT, DASH, "-"), (DARK, DARK, DARK, BLACK)
        lines = [
            (noisy["times"][1:], values[1:], {"ls": dash, "color": shade, "label": name})
            for (name, values), dash, shade in zip(noisy["shown"].items(), dashes, shades, strict=True)
        ]
        labels = {"xlabel": "t", "ylabel": r"$\mathbb{E}[F(w_t)] - F^\star$"}
        common.panel(left, "loglog", lines, **labels, title="FedSoftMax(T); grey line: FedMax's limit")
        lines = []
        for key, dash, label in (("largest", "-", "largest over t"), ("last", DASH, "at the end")):
            mean, low, high = np.array(noisy[key]).T
            lines.append((x, mean, {"ls": dash, "label": f"gap curves, {label}"}))
            right.fill_between(x, np.maximum(low, mean / 10), high, color=BLACK, alpha=0.2, lw=0)
        bound = r"its bound, $\sqrt{2T\ln(1/\min p)/\mu}$"
        lines.append((x, points["distance"], {"ls": DOT, "label": r"$\Vert w_\infty(T) - w_\infty(0)\Vert$"}))
        lines.append((x, points["bound"], {"color": LIGHT, "label": bound}))
        labels = {"xlabel": "1/T", "ylabel": "distance to FedMax"}
        common.panel(right, "loglog", lines, **labels, title="how fast the limit is approached")


STUDY = common.study(__doc__, "q4", run, draw)

if __name__ == "__main__":
    STUDY.main()
