"""How loose the one-step bounds are: over the worst case of the class, and over ordinary runs. Never mixed.

    python -m validate.sharper           (about half a minute on one core)

Draws docs/img/bound_over_worst.png and docs/img/bound_over_run.png, and prints where runs end. On a run each
inequality is iterated with the run's own constants, b_{t+1} = rhs at Delta = b_t, and compared with the
measured ||w_t - w*||^2. Where an inequality speaks of the drift, that is bounded by
(sum of the round's earlier step sizes)^2 G^2, which follows from Jensen's inequality.
"""

from __future__ import annotations

from fractions import Fraction as F
from pathlib import Path
from typing import Any

import numpy as np

from fedbounds.engine.simulate import simulate
from fedbounds.evidence.evaluate import evaluate
from fedbounds.evidence.measured_run import examine_run
from fedbounds.evidence.sdp.one_step.parameters import round_setting
from fedbounds.evidence.sdp.one_step.verdict import worst_ratio
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array
from fedbounds.model.trajectory import Trajectory
from fedbounds.plugins import claim_named, weighting_named
from fedbounds.study.objects_from_settings import build_problem, theory_step
from fedbounds.study.settings import Settings
from fedbounds.theory.reading import READINGS
from validate.runner import IMAGES, options

REPAIRED = READINGS["repaired"]
STEPS = ("theorem-1", "sharper-step", "star-step", "fedavg-step")
PROBLEM = Settings(problem="least-squares", clients=6)
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


def over_runs(weightings: tuple[str, ...], rounds: int) -> dict[str, tuple[Array, dict[str, Array]]]:
    """Weighting -> times and, of each one-step bound that is iterated, bound over measured; full gradients."""
    problem, result = build_problem(PROBLEM), {}
    for label in weightings:
        setting = Experiment(problem, weighting_named(label), theory_step(problem), 5, rounds, 1, None)
        trajectory = simulate(setting)
        measured, times = trajectory.paths["alpha"].distance_sq[0], trajectory.times
        keys = [key for key in STEPS if key != "fedavg-step" or label == "fedavg"]
        result[label] = times, {key: iterate(key, trajectory)[times] / measured for key in keys}
    return result


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


def pictures(kappas: tuple[int, ...], worst: dict[str, Any], runs: dict[str, Any], folder: Path) -> None:
    """The two pictures, a panel a class and a weighting."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.2, 3.4), layout="constrained", dpi=100)
    for axes, (case, lines) in zip(figure.subplots(1, 3, sharey=True), worst.items(), strict=True):
        for marker, (key, values) in zip("os^d", lines.items(), strict=False):
            axes.semilogx(kappas, values, marker=marker, markersize=4, label=key)
        _labelled(axes, f"over the worst case: {case}", "κ = L/μ", yscale="log")
    figure.axes[0].set_ylabel("bound / worst case of the class")
    figure.savefig(folder / "bound_over_worst.png")
    figure = Figure(figsize=(13.2, 3.4), layout="constrained", dpi=100)
    for axes, (label, (times, lines)) in zip(figure.subplots(1, len(runs), sharey=True), runs.items(), strict=True):
        for style, (key, values) in zip(("-", "--", "-.", ":"), lines.items(), strict=False):
            axes.loglog(times + 1, values, style, label=key)
        _labelled(axes, f"over a run: least squares, regression, {label}", "t + 1")
    figure.axes[0].set_ylabel("bound / measured")
    figure.savefig(folder / "bound_over_run.png")


def _labelled(axes: Any, title: str, along: str, **more: Any) -> None:
    axes.set_title(title, fontsize=8, loc="left")
    axes.set(xlabel=along, **more)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)


def main(arguments: list[str] | None = None, folder: Path = IMAGES) -> dict[str, Any]:
    """Both studies and pictures; ``--small`` does a little of each and draws nothing."""
    small = options(__doc__, arguments, small=False).small
    kappas = (10,) if small else (2, 5, 10, 20, 50, 100, 200, 500)
    worst, runs = over_worst(kappas), over_runs(WEIGHTINGS[:1] if small else WEIGHTINGS, 5 if small else 200)
    ends = {label: {key: float(values[-1]) for key, values in lines.items()} for label, (_, lines) in runs.items()}
    print(*(f"{label}: {end}" for label, end in ends.items()), sep="\n")
    if not small:
        pictures(kappas, worst, runs, folder)
    return {"worst": worst, "runs": ends}


if __name__ == "__main__":
    main()
