"""Question 3: where do FedSoftMax's weights converge, and how fast?

    python -m validate.questions.q3_alpha_limit

The fixed point alpha_i = p_i exp((F_i(w_inf) - F_i*)/T)/Z, w_inf = argmin sum_i alpha_i F_i, is computed by convex
minimisation and compared with long runs, noiseless and noisy, for Gamma > 0; for Gamma = 0 the limit is p, and the
rates are measured.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fedbounds.evidence.empirical.bands import band
from fedbounds.model.problem import Array, Problem
from fedbounds.model.trajectory import Trajectory
from fedbounds.model.weighting import Weighting
from fedbounds.problems.quadratic import quadratic
from fedbounds.weightings.fedsoftmax import FedSoftMax
from validate.questions import _common as common
from validate.questions._common import BLACK, DARK, DASH, DASHDOT, DOT, MIDDLE, Data, group_slopes, late, slope, thin
from validate.questions._limit import soft_limit

TEMPERATURES = (0.05, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
SPECTRA = np.array([[1.0, 3.0], [2.0, 1.0], [1.5, 1.5], [3.0, 2.0]])
MINIMA = np.array([[1.0, 0.0], [-1.0, 0.5], [0.0, -1.0], [0.5, 1.5]])
SHARES = np.array([0.4, 0.3, 0.2, 0.1])
NOISE = 1.0
GROUPS = 16
ERROR_RATE = 1e-3


def problem(apart: bool, noise: float = NOISE) -> Problem:
    """Four quadratics in the plane, curvatures 1 to 3; with one common minimiser (Gamma = 0) unless ``apart``."""
    return quadratic(SPECTRA, MINIMA if apart else np.zeros_like(MINIMA), SHARES, noise_std=noise)


def ran(target: Problem, weighting: Weighting, tau: int, total: int, replicates: int, seed: int, stride: int):
    """A run from (2, -1): equal seeds give equal noise, which there is where the problem has some."""
    batch = 1 if target.noise_std.any() else None
    w0 = np.array([2.0, -1.0])
    return common.ran(target, weighting, tau, total, None, replicates, batch, w0=w0, seed=seed, stride=stride)


def distances(trajectory: Trajectory, limit: Array) -> tuple[Array, Array]:
    """(x = t + gamma, ||alpha_t - limit||_1 (R, K)) at the recorded rounds after the first."""
    target = trajectory.experiment.problem
    x = np.asarray(trajectory.round_times[1:] + 4 * target.L / target.mu, dtype=float)
    return x, np.abs(trajectory.alpha[:, 1:] - limit).sum(axis=-1)


def noisy(apart: bool, total: int, replicates: int, seed: int) -> Data:
    """Decay of E||alpha_t - alpha_inf||_1 and of its mean square under noise, with bands and slopes."""
    target = problem(apart)
    limit = soft_limit(target, 1.0).alpha if apart else target.p
    x, distance = distances(ran(target, FedSoftMax(1.0), 5, total, replicates, seed, 10), limit)
    keep, window = thin(x), late(x)
    drawn = band(distance[:, keep], ERROR_RATE)
    return {
        "x": x[keep].tolist(),
        "mean": drawn.mean.tolist(),
        "lower": drawn.lower.tolist(),
        "upper": drawn.upper.tolist(),
        "slope": group_slopes(distance[:, window], x[window], GROUPS),
        "slope_of_square": group_slopes(distance[:, window] ** 2, x[window], GROUPS),
    }


def noiseless(tau: int, total: int) -> Data:
    """Decay of ||alpha_t - p||_1 without noise at Gamma = 0, and the exponent that linear contraction predicts."""
    target = problem(False, 0.0)
    x, distance = distances(ran(target, FedSoftMax(1.0), tau, total, 1, 0, 10), target.p)
    keep, window = thin(x), late(x)
    predicted = -2 * float((SHARES @ SPECTRA).min()) / target.mu
    rate = {"slope": slope(x[window], distance[0, window]), "predicted": predicted}
    return {"x": x[keep].tolist(), "mean": distance[0, keep].tolist(), **rate}


def fixed_points(total: int) -> list[Data]:
    """For each temperature: the fixed point, its residual, and the weights at the end of a noiseless run."""
    target = problem(True, 0.0)
    rows = []
    for temperature in TEMPERATURES:
        limit = soft_limit(target, temperature)
        end = ran(target, FedSoftMax(temperature), 5, total, 1, 0, 10).alpha[0, -1]
        apart = {"distance_from_p": limit.alpha - SHARES, "distance_of_run": end - limit.alpha}
        row = {"temperature": temperature, "alpha": limit.alpha.tolist(), "residual": limit.residual}
        rows.append(row | {"floor": limit.gap} | {name: float(np.abs(d).sum()) for name, d in apart.items()})
    return rows


def run(small: bool = False, seed: int = 0) -> Data:
    """All numbers of the page; ``small`` shortens every run."""
    total, replicates = (400, 32) if small else (20_000, 256)
    rows = fixed_points(total)
    curves = {"Gamma > 0": noisy(True, total, replicates, seed), "Gamma = 0": noisy(False, total, replicates, seed)}
    quiet = noiseless(1, total)
    from_p = [r["distance_from_p"] for r in rows]
    summary = {
        "largest fixed-point residual": max(r["residual"] for r in rows),
        "largest distance of a noiseless run's end from the fixed point": max(r["distance_of_run"] for r in rows),
        "smallest and largest distance of the fixed point from p": [min(from_p), max(from_p)],
        **{f"slope of E|alpha - limit|, {k}": v["slope"] for k, v in curves.items()},
        **{f"slope of E|alpha - limit|^2, {k}": v["slope_of_square"] for k, v in curves.items()},
        "slope without noise, Gamma = 0": [quiet["slope"], quiet["predicted"]],
    }
    settings = {"total": total, "replicates": replicates, "seed": seed, "tau": 5, "error_rate": ERROR_RATE}
    return {"summary": summary, "settings": settings, "fixed_points": rows, "noisy": curves, "noiseless": quiet}


def draw(data: Data, path: Path) -> None:
    """Left: alpha_inf against 1/T. Right: distances to the limit, with bands."""
    rows, quiet = data["fixed_points"], data["noiseless"]
    inverse = [1 / r["temperature"] for r in rows]
    with common.figure(path, 2) as (left, right):
        lines = [
            (inverse, [r["alpha"][i] for r in rows], {"ls": dash, "marker": "o", "label": f"i = {i + 1}"})
            for i, dash in enumerate(("-", DASH, DOT, DASHDOT))
        ]
        labels = {"xlabel": "1/T", "ylabel": r"$\alpha_\infty^i$ (arrows: $p_i$)"}
        common.panel(left, "semilogx", lines, **labels, title=r"fixed point, $\Gamma > 0$")
        for share in SHARES:
            left.plot(0.7 * min(inverse), share, marker="<", color=MIDDLE, clip_on=False)
        lines = []
        for (name, curve), dash, shade in zip(data["noisy"].items(), ("-", DASH), (BLACK, DARK), strict=True):
            where = name.replace("Gamma", r"\Gamma")
            label = f"noise, ${where}$: {curve['slope']['slope']:.2f}"
            lines.append((curve["x"], curve["mean"], {"color": shade, "ls": dash, "label": label}))
            floor = np.maximum(curve["lower"], 0.2 * np.array(curve["mean"]))
            right.fill_between(curve["x"], floor, curve["upper"], color=shade, alpha=0.2, lw=0)
        label = rf"no noise, $\Gamma = 0$: {quiet['slope']:.2f}"
        lines.append((quiet["x"], quiet["mean"], {"ls": DOT, "label": label}))
        labels = {"xlabel": r"$t + \gamma$", "ylabel": r"$\mathbb{E}\,\Vert\alpha_t - \alpha_\infty\Vert_1$"}
        common.panel(right, "loglog", lines, **labels, title="distance to the limit, slopes over the last decade")


STUDY = common.study(__doc__, "q3", run, draw)

if __name__ == "__main__":
    STUDY.main()
