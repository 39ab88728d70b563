"""Question 2: full gradients instead of stochastic ones: which rate, which floors, and how far are the bounds?

    python -m validate.questions.q2_full_gradients

Ridge problems with the corollary's steps and no gradient noise. FedAvg's exponent is compared with what its own
linear algebra predicts, FedMax's and FedSoftMax's floors with their limit points, and all with the bounds.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from fedbounds.evidence.assumption_checks import judged_on
from fedbounds.evidence.empirical.comparison import compare
from fedbounds.evidence.empirical.decay import floor_fit
from fedbounds.evidence.measured_run import examine_run
from fedbounds.model.problem import Array
from fedbounds.model.trajectory import Trajectory
from fedbounds.plugins import claim_named
from fedbounds.theory.reading import READINGS
from fedbounds.weightings.fedavg import FedAvg
from fedbounds.weightings.fedmax import FedMax
from fedbounds.weightings.fedsoftmax import FedSoftMax
from validate.questions import _common as common
from validate.questions._common import BLACK, DARK, DASH, DASHDOT, DOT, LIGHT, Data, late, ridge, slope, thin
from validate.questions._limit import hard_limit, soft_limit

TEMPERATURE = 0.5
TAU = 5
PROBLEMS = 4
BOUNDS = ("corollary", "sharper-corollary", "star-corollary")
# A gap below this fraction of the first is rounding, and outside every fit.
ROUNDING = 1e-18
BATCH = 8

ran = partial(common.ran, stride=TAU, seed=1)


def decay(trajectory: Trajectory) -> tuple[Array, Array]:
    """(T + gamma, mean gap) at the recorded times after the first whose gap is not rounding."""
    target = trajectory.experiment.problem
    gap = trajectory.paths["alpha"].gap.mean(axis=0)
    keep = gap > ROUNDING * gap[0]
    keep[0] = False
    return (trajectory.times + 4 * target.L / target.mu)[keep], gap[keep]


def exponent(trajectory: Trajectory) -> float:
    """The exponent of the decay over its last decade."""
    x, gap = decay(trajectory)
    return slope(x[late(x)], gap[late(x)])


def exponents(seed: int, total: int) -> Data:
    """FedAvg's exponents on one problem, and 2 lambda_min(Hessian of F)/mu, which tau = 1 should show."""
    target = ridge(seed)
    hessians = target.grads(np.eye(target.d)) - target.grads(np.zeros(target.d))
    lowest = float(np.linalg.eigvalsh(np.tensordot(target.p, hessians.swapaxes(0, 1), 1)).min())
    one, many = (exponent(ran(target, FedAvg(), tau, total)) for tau in (1, TAU))
    return {"seed": seed, "one_step": one, "predicted": -2 * lowest / target.mu, "many_steps": many}


def floors(seed: int, total: int) -> list[Data]:
    """FedSoftMax's and FedMax's floors from the run, against the gap of their limit points."""
    target = ridge(seed)
    rows = []
    schemes = ((FedSoftMax(TEMPERATURE), soft_limit(target, TEMPERATURE)), (FedMax(), hard_limit(target)))
    for weighting, limit in schemes:
        trajectory = ran(target, weighting, TAU, total)
        gap, gamma = trajectory.paths["alpha"].gap, 4 * target.L / target.mu
        fit = floor_fit(gap, trajectory.times, gamma, deterministic=True)
        row = {
            "seed": seed,
            "weighting": weighting.name,
            "decision": fit.decision,
            "interval": list(map(float, fit.c0)),
        }
        rows.append(row | {"last": float(gap[0, -1]), "limit": limit.gap})
    return rows


def bounds(trajectory: Trajectory) -> Data:
    """The bounds that apply to a run in the repaired reading, as curves over T, and their last ratio to the gap."""
    run = examine_run(trajectory, READINGS["repaired"])
    out: Data = {}
    keep = thin(trajectory.times[1:].astype(float)) + 1
    for claim in map(claim_named, BOUNDS):
        if not judged_on(claim, run)[0]:
            sides = compare(claim, run)
            rhs, lhs = sides.rhs.mean(axis=0), sides.lhs.mean(axis=0)
            out[claim.key] = {"curve": rhs[keep].tolist(), "ratio_at_end": float(rhs[-1] / lhs[-1])}
    gap = trajectory.paths["alpha"].gap.mean(axis=0)
    return {"T": trajectory.times[keep].tolist(), "gap": gap[keep].tolist(), "bounds": out}


def run(small: bool = False, seed: int = 0) -> Data:
    """All numbers of the page; ``small`` shortens every run."""
    total, count, replicates = (500, 1, 8) if small else (10_000, PROBLEMS, 32)
    seeds = range(seed, seed + count)
    powers = [exponents(s, total) for s in seeds]
    rows = [row for s in seeds for row in floors(s, total)]
    target = ridge(seed)
    noisy = ran(target, FedAvg(), TAU, total, None, replicates, BATCH)
    panels = {
        "FedAvg, full": bounds(ran(target, FedAvg(), TAU, total)),
        "FedAvg, SGD": bounds(noisy),
        "FedSoftMax, full": bounds(ran(target, FedSoftMax(TEMPERATURE), TAU, total)),
        "FedMax, full": bounds(ran(target, FedMax(), TAU, total)),
    }
    held = [r["interval"][0] <= r["limit"] <= r["interval"][1] for r in rows]
    summary = {
        "FedAvg, tau = 1: exponents": [p["one_step"] for p in powers],
        "FedAvg, tau = 1: predicted": [p["predicted"] for p in powers],
        f"FedAvg, tau = {TAU}: exponents": [p["many_steps"] for p in powers],
        "FedAvg with SGD: exponent": exponent(noisy),
        "floor seen in": [sum(r["decision"] == "floor" for r in rows), len(rows)],
        "intervals of the floor that hold the limit": [sum(held), len(rows)],
        "largest |last gap/limit - 1|": max(abs(r["last"] / r["limit"] - 1) for r in rows),
    }
    for name, panel in panels.items():
        summary[f"bound/gap at the end, {name}"] = {k: v["ratio_at_end"] for k, v in panel["bounds"].items()}
    settings = {"total": total, "problems": count, "replicates": replicates, "tau": TAU, "temperature": TEMPERATURE}
    settings |= {"seed": seed, "kappa": target.L / target.mu}
    found = {"exponents": powers, "floors": rows, "panels": panels}
    return {"summary": summary, "settings": settings, **found}


def draw(data: Data, path: Path) -> None:
    """Left: the gaps. Right: FedAvg with full gradients, under its bounds."""
    styles = {"FedAvg, SGD": DOT, "FedAvg, full": "-", "FedSoftMax, full": DASH, "FedMax, full": DASHDOT}
    labels = {"xlabel": "T", "ylabel": r"$F(w_T) - F^\star$"}
    with common.figure(path, 2) as (left, right):
        for row in data["floors"][:2]:
            left.axhline(row["limit"], color=LIGHT, lw=1)
        shown = {name: data["panels"][name] for name in styles}
        lines = [
            (item["T"], item["gap"], {"ls": styles[name], "color": BLACK if "Avg" in name else DARK, "label": name})
            for name, item in shown.items()
        ]
        title = rf"$\tau = {TAU}$; grey: $F(w_\infty) - F^\star$"
        common.panel(left, "loglog", lines, **labels, title=title)
        panel = data["panels"]["FedAvg, full"]
        lines = [
            (panel["T"], result["curve"], {"color": DARK, "ls": ls, "label": key})
            for (key, result), ls in zip(panel["bounds"].items(), (DASH, DOT, DASHDOT), strict=False)
        ]
        lines.append((panel["T"], panel["gap"], {"label": "measured"}))
        common.panel(right, "loglog", lines, **labels, title="FedAvg, full gradients, and its bounds")


STUDY = common.study(__doc__, "q2", run, draw)

if __name__ == "__main__":
    STUDY.main()
