"""Question 6: when does biased aggregation help, and does the theory say when?

    python -m validate.questions.q6_bias

The map of the paper's network (`docs/vision.md`) on convex problems: FedAvg and FedSoftMax(T) with steps 0.99^r eta_0
on multinomial logistic regression of digits dealt by label, and on quadratics whose curvatures differ between
clients. Rounds to a level of F - F*, replicate by replicate with the same draws, beside the theory's two numbers for
each T: the smallest skew rho_bar that the run visited, and the floor F(w_inf) - F* of the soft maximum. It promises
that FedSoftMax is faster where rho_bar > 1 and the level lies above the floor.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from fedbounds.model.problem import Array, Problem
from fedbounds.model.trajectory import Trajectory
from fedbounds.model.weighting import Weighting
from fedbounds.study.objects_from_settings import build_problem
from fedbounds.study.settings import Settings
from fedbounds.weightings.fedavg import FedAvg
from fedbounds.weightings.fedsoftmax import FedSoftMax
from validate.questions import _common as common
from validate.questions._common import BLACK, DASH, DASHDOT, DOT, LIGHT, Data
from validate.questions._limit import potential, softmax

LOGISTIC = {"problem": "logistic", "data": "digits", "clients": 20}
PROBLEMS = {
    "NIID digits": LOGISTIC | {"partition": "shards:30"},
    "TNIID digits": LOGISTIC | {"partition": "shards:60"},
    "quadratics": {"problem": "quadratic", "data": "quadratics:1", "clients": 20, "dimension": 8},
}
# Fixed before the stored run. Steps eta_0 L; the network's temperatures, in units in which the clients' mean gap at
# the start is log 10, that of a network that knows nothing; levels of F - F* as shares of its value at the start.
STEPS, TEMPERATURES, LEVELS = (0.03, 0.1, 0.3), (0.1, 0.2, 0.5, 1.0, 4.0), (0.5, 0.3, 0.2, 0.1, 0.05)
TAU, BATCH, DECAY = 7, 16, 0.99
# A replicate that has not reached a level counts as this many times the rounds that were run.
BEYOND = 2


def start_of(problem: Problem, name: str) -> Array:
    """w_0: 0 for digits; for quadratics as far from w* as the clients' minima are, in the mean square."""
    if name != "quadratics":
        return np.zeros(problem.d)
    apart: Array = problem.w_i_star - problem.w_star
    return np.asarray(problem.w_star + np.sqrt((apart**2).mean()))


def path(problem: Problem, rule: Weighting, step: float, w0: Array, size: tuple[int, int], seed: int) -> Trajectory:
    """A run of ``size`` = (rounds, replicates), recorded at the ends of rounds."""
    first, rounds, replicates = step / problem.L, *size
    more = {"w0": w0, "seed": seed, "stride": TAU}

    def eta(t: int) -> float:
        return first * DECAY ** (t // TAU)

    return common.ran(problem, rule, TAU, rounds * TAU, eta, replicates, BATCH, **more)


def reached(gap: Array, levels: Array) -> Array:
    """The first round whose gap (R, K) is at most each level, BEYOND times the last where none is: (R, levels)."""
    below = gap[:, :, None] <= levels
    return np.where(below.any(1), below.argmax(1), BEYOND * (gap.shape[1] - 1)).astype(float)


def floor(problem: Problem, temperature: float) -> float:
    """F(w_inf) - F* at the minimiser of Phi_T(w) = T log sum_i p_i exp(e_i(w)/T), which FedSoftMax descends on."""

    def value(w: Array) -> tuple[float, Array]:
        return potential(problem, w, temperature), softmax(problem, w, temperature) @ problem.grads(w)

    result = minimize(value, problem.w_star, jac=True, method="L-BFGS-B", options={"maxiter": 2000, "ftol": 1e-14})
    return float(problem.gap(result.x))


def _faster(ratios: Array) -> str:
    """faster, slower or even: whether the interval of the mean log ratio lies on one side of 0."""
    if len(ratios) < 2 or np.ptp(ratios) == 0:
        return "even" if ratios[0] == 0 else "faster" if ratios[0] < 0 else "slower"
    _, low, high = common.mean_interval(ratios)
    return "faster" if high < 0 else "slower" if low > 0 else "even"


def cells(
    name: str,
    size: tuple[int, int],
    steps: tuple[float, ...],
    temperatures: tuple[float, ...],
    seed: int,
    clients: Data,
) -> list[Data]:
    """A row a step, temperature and level that FedAvg reached in all replicates."""
    problem = build_problem(Settings(**PROBLEMS[name] | clients))  # type: ignore[arg-type]
    w0, rows = start_of(problem, name), []
    start, unit = float(problem.gap(w0)), float(problem.p @ problem.excess(w0)) / np.log(10)
    levels = start * np.array(LEVELS)
    floors = {T: floor(problem, T * unit) / start for T in temperatures}
    for step in steps:
        plain = reached(path(problem, FedAvg(), step, w0, size, seed).paths["alpha"].gap, levels)
        for T in temperatures:
            run = path(problem, FedSoftMax(T * unit), step, w0, size, seed)
            soft = reached(run.paths["alpha"].gap, levels)
            numbers = {
                "floor": floors[T],
                "rho_bar": float(run.extremes.rho_bar_all.min()),
                "rho_start": float((run.skew_sums[:, 0, 0] / run.skew_sums[:, 0, 1]).mean()),
            }
            for k, level in enumerate(LEVELS):
                if plain[:, k].max() > size[0]:
                    continue
                log_ratio = np.log(np.maximum(soft[:, k], 1) / np.maximum(plain[:, k], 1))
                cell = {"problem": name, "step": step, "T": T, "level": level}
                result = {"ratio": float(np.exp(log_ratio.mean())), "found": _faster(log_ratio)}
                rows.append(cell | result | numbers | {"unreached": float((soft[:, k] > size[0]).mean())})
    return rows


def run(small: bool = False, seed: int = 0) -> Data:
    """All numbers of the page; ``small`` shortens every run."""
    size, steps, some = ((20, 2), STEPS[-1:], TEMPERATURES[-1:]) if small else ((150, 6), STEPS, TEMPERATURES)
    clients = {"clients": 4} if small else {}
    names = ("quadratics",) if small else PROBLEMS
    rows = [row for name in names for row in cells(name, size, steps, some, seed, clients)]
    settings = {"rounds": size[0], "replicates": size[1], "seed": seed, "tau": TAU, "batch": BATCH, "steps": steps}
    return {"summary": counted(rows), "settings": settings, "cells": rows}


def counted(rows: list[Data]) -> Data:
    """Of each problem, where FedSoftMax was to be faster and elsewhere: how many cells were what, and ratios."""
    result: Data = {}
    for name, promised in product(PROBLEMS, (True, False)):
        own = [r for r in rows if r["problem"] == name and promised == (r["rho_bar"] > 1 and r["level"] > r["floor"])]
        result[f"{name}, {'promised to be faster' if promised else 'no promise'}"] = {
            **{word: sum(row["found"] == word for row in own) for word in ("faster", "even", "slower")},
            **{of: _extremes([r[of] for r in own]) for of in ("ratio", "rho_bar", "floor")},
        }
    return result


def _extremes(values: list[float]) -> list[float]:
    return [min(values), max(values)] if values else []


def draw(data: Data, path: Path) -> None:
    """A panel a problem: R of FedSoftMax over R of FedAvg against the level over the floor."""
    shades = dict(zip(TEMPERATURES, ("-", DASH, DASHDOT, DOT, (0, (3, 1, 1, 1, 1, 1))), strict=True))
    marks = dict(zip(STEPS, "ovs", strict=True))

    names = {"xlabel": "level / floor of FedSoftMax(T)", "ylabel": "rounds over FedAvg's", "ylim": (0.4, 200)}
    with common.figure(path, len(PROBLEMS)) as panels:
        for axis, name in zip(panels, PROBLEMS, strict=True):
            for T, step in product(TEMPERATURES, STEPS):
                own = [r for r in data["cells"] if (r["problem"], r["T"], r["step"]) == (name, T, step)]
                x, y = [r["level"] / r["floor"] for r in own], [r["ratio"] for r in own]
                axis.loglog(x, y, ls=shades[T], marker=marks[step], ms=4, color=BLACK, alpha=0.8, lw=1)
            axis.axhline(1, color=LIGHT, lw=1)
            axis.axvline(1, color=LIGHT, lw=1)
            axis.set(**names, title=name)
        for T, dash in shades.items():
            panels[0].plot([], [], ls=dash, color=BLACK, label=f"T = {T:g}")
        for step, mark in marks.items():
            panels[-1].plot([], [], ls="", marker=mark, color=BLACK, label=rf"$\eta_0 = {step:g}/L$")
        for axis in (panels[0], panels[-1]):
            axis.legend(fontsize=7)


STUDY = common.study(__doc__, "q6", run, draw)

if __name__ == "__main__":
    STUDY.main()
