"""The worst case of R rounds between an instance and a theorem: the table and the picture of docs/worst.md.

python -m validate.horizon        (two minutes on one core)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from fractions import Fraction as Q
from pathlib import Path
from typing import Any

import numpy as np

from fedbounds.engine.simulate import simulate
from fedbounds.evidence.evaluate import evaluate
from fedbounds.evidence.sdp.multi_round.lower_bound import Attained, attained, experiment
from fedbounds.evidence.sdp.multi_round.program import Measure, Run
from fedbounds.model.problem import Array
from fedbounds.plugins import claim_named
from fedbounds.problems.quadratic import QuadraticProblem
from fedbounds.study.worst_case_and_theorems import Sandwich, bounds, curve, sandwich
from fedbounds.theory.reading import READINGS
from validate.runner import IMAGES, Study, grid

RUN = Run(1, 4, Q(1, 10), Q(1), Q(1, 2))
# (tau, rounds): R tau up to 100.
TABLE = {2: (5, 50), 4: (1, 2, 5, 10, 25), 10: (1, 5, 10)}
# (measure, claim whose steps are taken, sigma^2, rounds) at tau = 4.
MEASURES: tuple[tuple[Measure, str, int, int], ...] = (
    ("gap", "", 0, 5),
    ("average", "", 0, 5),
    ("distance", "corollary", 0, 5),
    ("distance", "corollary", 0, 25),
    ("gap", "corollary", 0, 5),
    ("gap", "corollary", 0, 10),
    ("average", "corollary", 0, 5),
    ("average", "corollary", 0, 10),
    ("distance", "", 1, 5),
    ("distance", "", 1, 25),
    ("distance", "corollary", 1, 25),
)
CLIENTS, DIMENSION = 10, 5
# Where theorem over instance is asked, R tau up to 100; the step in units of 1/L, the start in ||w_0 - w*||^2.
GRID = {"tau": (2, 4, 10, 20, 50), "rounds": (1, 2, 5, 10, 20, 50), "kappa": (2, 5, 10, 100, 1000)}
STEPS, STARTS = (Q(1, 4), Q(1, 2), Q(1)), (Q(1, 100), Q(1), Q(100))
LEFT_OUT = "fedavg-push"


def factors(
    taus: Sequence[int] = GRID["tau"], rounds: Sequence[int] = GRID["rounds"], kappas: Sequence[int] = GRID["kappa"]
) -> list[dict[str, float]]:
    """Smallest bound over the instance at every place of the grid, with and without `fedavg-push`, largest first."""
    result = []
    for place in grid(tau=taus, rounds=rounds, kappa=kappas, step=STEPS, delta_0=STARTS):
        tau, R, kappa, step, start = place.values()
        if R * tau <= 100:
            run = Run(R, tau, Q(1, kappa), Q(1), step)
            proved, lower = bounds(run, start, Q(1)), attained(run, float(start), 1.0).value
            rest = min(value for key, value in proved.items() if key != LEFT_OUT)
            place |= {"step": float(step), "delta_0": float(start)}
            result.append({**place, "factor": min(proved.values()) / lower, "without": rest / lower})
    return sorted(result, key=lambda one: -one["factor"])


def summary(found: Sequence[dict[str, float]]) -> dict[str, object]:
    """What the page quotes of the grid, and its three worst places."""
    told = {name: np.array([item[name] for item in found]) for name in ("factor", "without")}
    return {
        "places": len(found),
        "largest": {name: float(each.max()) for name, each in told.items()},
        "median": {name: float(np.median(each)) for name, each in told.items()},
        "within 2": {name: int((each <= 2).sum()) for name, each in told.items()},
        "worst": list(found[:3]),
    }


def papers(run: Run, instance: Attained) -> Array:
    """Theorem 1 iterated, with the G^2 and Gamma of the instance itself: (R + 1,) at the ends of rounds."""
    ran = simulate(experiment(run, instance.problem, np.array([1.0, 0.0])))
    rhs = claim_named("theorem-1").sides(READINGS["repaired"]).rhs
    known = {"L": float(run.L), "mu": float(run.mu), "eta": float(run.eta), "tau": float(run.tau), "sigma_sq": 0.0}
    known |= {"rho_bar": 1.0, "rho_tilde": 1.0, "G_sq": float(ran.grad_sq.max())}
    known |= {"Gamma": float(instance.problem.p @ instance.problem.star_excess)}
    result = [1.0]
    for _ in range(run.T):
        result.append(float(evaluate(rhs, {**known, "Delta": result[-1]})))
    return np.array(result[:: run.tau])


def ordinary(run: Run) -> Array:
    """||w_r - w*||^2 on random quadratics with the same L, mu, zeta_* = 1 and start at distance 1: (R + 1,)."""
    rng = np.random.default_rng(0)
    frames = np.linalg.qr(rng.standard_normal((CLIENTS, DIMENSION, DIMENSION)))[0]
    spectra = np.geomspace(float(run.mu), float(run.L), DIMENSION)
    H = np.einsum("nij,j,nkj->nik", frames, spectra, frames)
    pull = rng.standard_normal((CLIENTS, DIMENSION))
    pull -= pull.mean(axis=0)
    pull /= np.sqrt((pull**2).sum(axis=1).mean())
    own = np.linalg.solve(H, pull[..., None])[..., 0]
    problem = QuadraticProblem(H, own, np.zeros(CLIENTS), np.full(CLIENTS, 1 / CLIENTS))
    start = rng.standard_normal(DIMENSION)
    begun = experiment(run, problem, start / np.linalg.norm(start))
    path: Array = simulate(begun, record="distance").distance_sq[0]
    return path


def of_measure(measure: Measure, key: str, sigma_sq: int, rounds: int) -> Sandwich:
    """The row of `MEASURES`."""
    run = replace(RUN, rounds=rounds, measure=measure)
    return next(curve(run, None, steps=claim_named(key) if key else None, sigma_sq=Q(sigma_sq)))


def draw(record: dict[str, Any], path: Path) -> None:
    """Five curves over rounds."""
    from matplotlib import pyplot as plt

    from fedbounds.report.figure_styles import BLACK, BLUE, DPI, GREEN, ORANGE, RC, SKY

    drawn = [item for item in record["table"] if item["tau"] == RUN.tau]
    rounds, bound, worst, lower = ([item[name] for item in drawn] for name in ("rounds", "bound", "worst", "lower"))
    run = replace(RUN, rounds=rounds[-1])
    with plt.rc_context(RC):
        figure, axes = plt.subplots(figsize=(5, 3.4), dpi=DPI)
        every = range(run.rounds + 1)
        axes.semilogy(every, papers(run, attained(run)), color=ORANGE, ls=(0, (5, 2)), label="Theorem 1 of the paper")
        axes.semilogy(rounds, bound, color=GREEN, marker="^", label="theorem")
        axes.semilogy(rounds, worst, color=BLUE, marker="s", label="worst case, certified")
        axes.semilogy(rounds, lower, color=SKY, marker="v", label="two quadratics, run")
        axes.semilogy(every, ordinary(run), color=BLACK, ls=(0, (1, 1.2)), label="an ordinary run")
        axes.set_xlabel("rounds")
        axes.set_ylabel(r"$\Vert w_R - w^\star\Vert^2$")
        axes.legend(loc="center right", bbox_to_anchor=(1.0, 0.6))
        figure.tight_layout()
        figure.savefig(path, metadata={"Software": None})
        plt.close(figure)


def told(one: Sandwich) -> dict[str, object]:
    """All but the seconds, which are those of one machine on one day."""
    return {name: value for name, value in asdict(one).items() if name != "seconds"}


def compute() -> dict[str, Any]:
    """The table, what ends the drawn curves, the grid in brief, and other measures."""
    rows = []
    for tau, several in TABLE.items():
        for rounds in several:
            rows.append(told(sandwich(replace(RUN, tau=tau, rounds=rounds))))
            print(rows[-1], flush=True)
    longest = replace(RUN, rounds=TABLE[RUN.tau][-1])
    last = {"theorem-1": papers(longest, attained(longest)), "ordinary": ordinary(longest)}
    measures = [[*row, told(of_measure(*row))] for row in MEASURES]
    ends = {name: float(curve[-1]) for name, curve in last.items()}
    return {"table": rows, "after the last round drawn": ends, "grid": summary(factors()), "measures": measures}


STUDY = Study(__doc__, "horizon", compute, lambda record: str(record["grid"]), draw, IMAGES / "sandwich.png")

if __name__ == "__main__":
    STUDY.main()
