"""Question 2: full gradients instead of stochastic ones: which rate, which floors, and how far are the bounds?

    python -m validate.questions.q2_full_gradients

Ridge problems with the corollary's steps and no gradient noise. FedAvg's exponent is compared with what its own
linear algebra predicts, FedMax's and FedSoftMax's floors with their limit points, and all with the bounds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fedbounds.engine.simulate import simulate
from fedbounds.evidence.assumption_checks import judged_on
from fedbounds.evidence.empirical.comparison import compare
from fedbounds.evidence.empirical.decay import floor_fit
from fedbounds.evidence.run_constants import examine_run
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array, Problem
from fedbounds.model.schedule import ConstantStep, StepSize
from fedbounds.model.trajectory import Trajectory
from fedbounds.model.weighting import Weighting
from fedbounds.plugins import claim_named
from fedbounds.study.objects_from_settings import build_problem, theory_step
from fedbounds.study.settings import Settings
from fedbounds.theory.reading import READINGS
from fedbounds.weightings.fedavg import FedAvg
from fedbounds.weightings.fedmax import FedMax
from fedbounds.weightings.fedsoftmax import FedSoftMax
from validate.questions._common import (
    BLACK,
    DARK,
    DASH,
    DASHDOT,
    DOT,
    LIGHT,
    Data,
    command,
    figure,
    late,
    slope,
    thin,
)
from validate.questions._limit import Limit, hard_limit, soft_limit

TEMPERATURE = 0.5
TAU = 5
PROBLEMS = 4
BOUNDS = ("corollary", "sharper-corollary", "star-corollary")
# Constant steps, as fractions of 1/L.
FRACTIONS = (1 / 4, 1 / 8, 1 / 16, 1 / 32)
# A gap below this fraction of the first is rounding, and outside every fit.
ROUNDING = 1e-18
BATCH = 8


def ridge(seed: int) -> Problem:
    """Six heterogeneous clients, five coefficients."""
    return build_problem(Settings(clients=6, dimension=5, samples=30, regularisation=0.3, seed=seed))


def simulated(
    target: Problem, weighting: Weighting, tau: int, total: int, eta: StepSize | None = None, noisy: int = 0
) -> Trajectory:
    """A run with the corollary's steps unless told otherwise: full gradients, or ``noisy`` replicates of SGD."""
    return simulate(
        Experiment(
            problem=target,
            weighting=weighting,
            eta=eta or theory_step(target),
            tau=tau,
            rounds=total // tau,
            replicates=noisy or 1,
            batch_size=BATCH if noisy else None,
            stride=TAU,
            seed=1,
        )
    )


def decay(trajectory: Trajectory) -> tuple[Array, Array]:
    """(T + gamma, mean gap) at the recorded times after the first whose gap is not rounding."""
    target = trajectory.experiment.problem
    gap = trajectory.paths["alpha"].gap.mean(axis=0)
    keep = gap > ROUNDING * gap[0]
    keep[0] = False
    return (trajectory.times + 4 * target.L / target.mu)[keep], gap[keep]


def exponents(seed: int, total: int) -> Data:
    """FedAvg's exponents on one problem, and 2 lambda_min(Hessian of F)/mu, which tau = 1 should show."""
    target = ridge(seed)
    hessians = target.grads(np.eye(target.d)) - target.grads(np.zeros(target.d))
    lowest = float(np.linalg.eigvalsh(np.tensordot(target.p, hessians.swapaxes(0, 1), 1)).min())
    measured = []
    for tau in (1, TAU):
        x, gap = decay(simulated(target, FedAvg(), tau, total))
        measured.append(slope(x[late(x)], gap[late(x)]))
    return {"seed": seed, "one_step": measured[0], "predicted": -2 * lowest / target.mu, "many_steps": measured[1]}


def floors(seed: int, total: int) -> list[Data]:
    """FedSoftMax's and FedMax's floors from the run, against the gap of their limit points."""
    target = ridge(seed)
    rows = []
    schemes: tuple[tuple[Any, Limit], ...] = (
        (FedSoftMax(TEMPERATURE), soft_limit(target, TEMPERATURE)),
        (FedMax(), hard_limit(target)),
    )
    for weighting, limit in schemes:
        trajectory = simulated(target, weighting, TAU, total)
        gamma = 4 * target.L / target.mu
        fit = floor_fit(trajectory.paths["alpha"].gap, trajectory.times, gamma, deterministic=True)
        rows.append(
            {
                "seed": seed,
                "weighting": weighting.name,
                "decision": fit.decision,
                "interval": [float(v) for v in fit.c0],
                "last": float(trajectory.paths["alpha"].gap[0, -1]),
                "limit": limit.gap,
            }
        )
    return rows


def bounds(trajectory: Trajectory) -> Data:
    """The bounds that apply to a run in the repaired reading, as curves over T, and their last ratio to the gap."""
    run = examine_run(trajectory, READINGS["repaired"])
    out: Data = {}
    keep = thin(trajectory.times[1:].astype(float)) + 1
    for key in BOUNDS:
        claim = claim_named(key)
        if not judged_on(claim, run)[0]:
            sides = compare(claim, run)
            rhs, lhs = sides.rhs.mean(axis=0), sides.lhs.mean(axis=0)
            out[key] = {"curve": rhs[keep].tolist(), "ratio_at_end": float(rhs[-1] / lhs[-1])}
    gap = trajectory.paths["alpha"].gap.mean(axis=0)
    return {"T": trajectory.times[keep].tolist(), "gap": gap[keep].tolist(), "bounds": out}


def constant_steps(total: int) -> list[Data]:
    """FedAvg with constant steps eta and tau local steps: where the gap ends."""
    target = ridge(0)
    rows = []
    for fraction in FRACTIONS:
        trajectory = simulated(target, FedAvg(), TAU, total, ConstantStep(fraction / target.L))
        rows.append({"eta_L": fraction, "end": float(trajectory.paths["alpha"].gap[0, -1])})
    return rows


def run(small: bool = False, seed: int = 0) -> Data:
    """All numbers of the page; ``small`` shortens every run."""
    total, count, replicates = (500, 1, 8) if small else (10_000, PROBLEMS, 32)
    seeds = range(seed, seed + count)
    powers = [exponents(s, total) for s in seeds]
    rows = [row for s in seeds for row in floors(s, total)]
    target = ridge(seed)
    panels = {
        "FedAvg, full": bounds(simulated(target, FedAvg(), TAU, total)),
        "FedAvg, SGD": bounds(simulated(target, FedAvg(), TAU, total, noisy=replicates)),
        "FedSoftMax, full": bounds(simulated(target, FedSoftMax(TEMPERATURE), TAU, total)),
        "FedMax, full": bounds(simulated(target, FedMax(), TAU, total)),
    }
    steady = constant_steps(total)
    x, gap = decay(simulated(target, FedAvg(), TAU, total, noisy=replicates))
    summary = {
        "FedAvg, tau = 1: exponents": [p["one_step"] for p in powers],
        "FedAvg, tau = 1: predicted": [p["predicted"] for p in powers],
        f"FedAvg, tau = {TAU}: exponents": [p["many_steps"] for p in powers],
        "FedAvg with SGD: exponent": slope(x[late(x)], gap[late(x)]),
        "floor seen in": [sum(r["decision"] == "floor" for r in rows), len(rows)],
        "intervals of the floor that hold the limit": [
            sum(r["interval"][0] <= r["limit"] <= r["interval"][1] for r in rows),
            len(rows),
        ],
        "largest |last gap/limit - 1|": max(abs(r["last"] / r["limit"] - 1) for r in rows),
        "constant steps: exponent of the floor in eta": slope(
            [r["eta_L"] for r in steady], [r["end"] for r in steady]
        ),
        **{
            f"bound/gap at the end, {name}": {k: v["ratio_at_end"] for k, v in panel["bounds"].items()}
            for name, panel in panels.items()
        },
    }
    settings: Data = {
        "total": total,
        "problems": count,
        "replicates": replicates,
        "tau": TAU,
        "temperature": TEMPERATURE,
    }
    return {
        "summary": summary,
        "settings": settings | {"seed": seed, "kappa": target.L / target.mu},
        "exponents": powers,
        "floors": rows,
        "panels": panels,
        "constant_steps": steady,
    }


def draw(data: Data, path: Path) -> None:
    """Left: the gaps. Right: FedAvg with full gradients, under its bounds."""

    def fill(left: Any, right: Any) -> None:
        styles = {"FedAvg, SGD": DOT, "FedAvg, full": "-", "FedSoftMax, full": DASH, "FedMax, full": DASHDOT}
        for name, dash in styles.items():
            panel = data["panels"][name]
            left.loglog(panel["T"], panel["gap"], ls=dash, color=BLACK if "Avg" in name else DARK, label=name)
        for row in data["floors"][:2]:
            left.axhline(row["limit"], color=LIGHT, lw=1)
        left.set(xlabel="T", ylabel=r"$F(w_T) - F^\star$", title=rf"$\tau = {TAU}$; grey: $F(w_\infty) - F^\star$")
        left.legend(fontsize=7)
        panel = data["panels"]["FedAvg, full"]
        for (key, result), ls in zip(panel["bounds"].items(), (DASH, DOT, DASHDOT), strict=False):
            right.loglog(panel["T"], result["curve"], color=DARK, ls=ls, label=key)
        right.loglog(panel["T"], panel["gap"], color=BLACK, label="measured")
        right.set(xlabel="T", ylabel=r"$F(w_T) - F^\star$", title="FedAvg, full gradients, and its bounds")
        right.legend(fontsize=7)

    figure(path, 2, fill)


if __name__ == "__main__":
    command("q2", run, draw)
