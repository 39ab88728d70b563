"""How loose the one-step bounds are: over the worst case of the class, and over ordinary runs. Never mixed.

    python -m validate.sharper           (about half a minute on one core)

Writes validate/results/sharper.json, docs/img/bound_over_worst.png and docs/img/bound_over_run.png. On runs each
inequality is iterated with the run's own constants, b_{t+1} = rhs at Delta = b_t, and compared with the
measured ||w_t - w*||^2. Where an inequality speaks of the drift, that is bounded by
(sum of the round's earlier step sizes)^2 G^2, which follows from Jensen's inequality.
"""

from __future__ import annotations

import json
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import numpy as np

from fedbounds.engine.simulate import simulate
from fedbounds.evidence.evaluate import evaluate
from fedbounds.evidence.run_constants import examine_run
from fedbounds.evidence.sdp.one_step.parameters import round_setting
from fedbounds.evidence.sdp.one_step.verdict import worst_ratio
from fedbounds.io import write_text
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array
from fedbounds.model.trajectory import Trajectory
from fedbounds.plugins import claim_named, weighting_named
from fedbounds.study.objects_from_settings import build_problem, theory_step
from fedbounds.study.settings import Settings
from fedbounds.theory.reading import READINGS
from validate.runner import IMAGES, RESULTS, options

REPAIRED = READINGS["repaired"]
STEPS = ("theorem-1", "sharper-step", "star-step", "fedavg-step")
HORIZONS = ("corollary", "sharper-corollary", "star-corollary")
PROBLEMS = {
    "least squares, regression": Settings(problem="least-squares", clients=6),
    "least squares, diabetes": Settings(problem="least-squares", data="diabetes", clients=6),
    "quadratic": Settings(problem="quadratic", clients=6),
}
WEIGHTINGS = ("fedavg", "fedsoftmax:0.5", "fedmax")
CASES: dict[str, dict[str, Any]] = {
    "alpha = p": {},
    "alpha = (.9, .1), rho_bar = 1.5": {"alpha": (F(9, 10), F(1, 10)), "p": (F(1, 2), F(1, 2)), "rho_bar": F(3, 2)},
    "alpha = (0, 1), p = (.9, .1), rho_bar = 3": {"alpha": (F(0), F(1)), "p": (F(9, 10), F(1, 10)), "rho_bar": F(3)},
}


def iterate(key: str, trajectory: Trajectory) -> Array:
    """b_0 .. b_T of a one-step claim, from b_0 = ||w_0 - w*||^2."""
    claim, run = claim_named(key), examine_run(trajectory, REPAIRED)
    values = {name: np.min(value) for name, value in run.values(claim.symbols).items()}
    eta, tau = trajectory.eta, trajectory.experiment.tau
    starts = np.concatenate([[0.0], np.cumsum(eta)])
    bounds = [float(trajectory.paths["alpha"].distance_sq[0, 0])]
    for t in range(len(eta)):
        drift = (starts[t] - starts[t - t % tau]) ** 2 * values["G_sq"]
        now = {**values, "eta": eta[t], "drift": drift, "Delta": bounds[-1], "t": t}
        bounds.append(float(sum(evaluate(term, now) for term in claim.sides(REPAIRED).terms.values())))
    return np.array(bounds)


def over_runs(problems: dict[str, Settings], weightings: tuple[str, ...], rounds: int) -> dict[str, Any]:
    """Bound over measured at the end of runs with full gradients, one-step bounds iterated and horizon bounds."""
    table: dict[str, Any] = {}
    for name, settings in problems.items():
        problem = build_problem(settings)
        for label in weightings:
            weighting = weighting_named(label)
            experiment = Experiment(
                problem, weighting, theory_step(problem), tau=5, rounds=rounds, replicates=1, batch_size=None
            )
            trajectory = simulate(experiment)
            path = trajectory.paths["alpha"]
            measured = path.distance_sq[0]
            curves = {k: iterate(k, trajectory) for k in STEPS if k != "fedavg-step" or label == "fedavg"}
            run = examine_run(trajectory, REPAIRED)
            horizon = {}
            for key in HORIZONS:
                claim = claim_named(key)
                values = {**run.values(claim.symbols), "T": float(len(trajectory.eta))}
                bound = sum(float(np.min(evaluate(term, values))) for term in claim.sides(REPAIRED).terms.values())
                horizon[key] = bound / float(path.gap[0, -1])
            table[f"{name}, {label}"] = {
                "times": trajectory.times.tolist(),
                "ratio": {k: (b[trajectory.times] / measured).tolist() for k, b in curves.items()},
                "horizon": horizon,
            }
    return table


def over_worst(kappas: tuple[int, ...], tau: int = 3) -> dict[str, Any]:
    """rhs / sup lhs of each one-step claim at the last step of a first round, along kappa."""
    return {
        case: {
            key: [1 / worst_ratio(claim_named(key), round_setting(2, tau, kappa=k, **weights)) for k in kappas]
            for key in STEPS
            if key != "fedavg-step" or not weights
        }
        for case, weights in CASES.items()
    }


def draw(kappas: tuple[int, ...], worst: dict[str, Any], runs: dict[str, Any], folder: Path) -> None:
    """The two pictures."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.2, 3.4), layout="constrained", dpi=100)
    for axes, (case, lines) in zip(figure.subplots(1, 3, sharey=True), worst.items(), strict=True):
        for marker, (key, values) in zip("os^d", lines.items(), strict=False):
            axes.semilogx(kappas, values, marker=marker, markersize=4, label=key)
        axes.set_title(f"over the worst case: {case}", fontsize=8, loc="left")
        axes.set_xlabel("κ = L/μ")
        axes.set_yscale("log")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    figure.axes[0].set_ylabel("bound / worst case of the class")
    figure.savefig(folder / "bound_over_worst.png")
    shown = [name for name in runs if name.startswith("least squares, regression")]
    figure = Figure(figsize=(13.2, 3.4), layout="constrained", dpi=100)
    for axes, name in zip(figure.subplots(1, len(shown), sharey=True), shown, strict=True):
        for style, (key, values) in zip(("-", "--", "-.", ":"), runs[name]["ratio"].items(), strict=False):
            axes.loglog(np.array(runs[name]["times"]) + 1, values, style, label=key)
        axes.set_title(f"over a run: {name}", fontsize=8, loc="left")
        axes.set_xlabel("t + 1")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    figure.axes[0].set_ylabel("bound / measured")
    figure.savefig(folder / "bound_over_run.png")


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Both tables and pictures; ``--small`` does a little of each and writes nothing."""
    small = options(__doc__, arguments, small=False).small
    kappas = (10,) if small else (2, 5, 10, 20, 50, 100, 200, 500)
    problems = dict(list(PROBLEMS.items())[2:]) if small else PROBLEMS
    worst, runs = (
        over_worst(kappas),
        over_runs(problems, WEIGHTINGS[:1] if small else WEIGHTINGS, 5 if small else 200),
    )
    ends = {name: {k: v[-1] for k, v in run["ratio"].items()} | run["horizon"] for name, run in runs.items()}
    for name, end in ends.items():
        print(name, {k: f"{v:.3g}" for k, v in end.items()})
    if not small:
        draw(kappas, worst, runs, IMAGES)
        text = json.dumps({"kappas": kappas, "over_worst": worst, "over_run_at_end": ends}, indent=1) + "\n"
        write_text(RESULTS / "sharper.json", text)
    return {"worst": worst, "runs": ends}


if __name__ == "__main__":
    main()
