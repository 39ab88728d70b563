"""How often does the checker cry wolf, or miss? Whole examinations of claims that hold with equality.

    python -m validate.false_alarms        (about three minutes on one core)

Two clients of curvature h = 1, FedAvg, tau = 1 and Gaussian gradient noise, from w_0: with
a_t = (1 - eta_t h)^2, E Delta_{t+1} = a_t Delta_t + eta_t^2 sum_i p_i^2 sigma_i^2 exactly. The left side is
the realised ||w_{t+1} - w*||^2, not its conditional mean, so every sampling error is there. A loose claim
would show nothing: only where both sides are equal does each error have the whole error rate to spend.

REFUTED on such a claim is a false alarm. Its mirror image (the sides exchanged) is as true: REFUTED on that
is a band that lies below the truth, which would lend a false claim a margin it does not have. HOLDS on the
equality is what a claim false by an arbitrarily small amount would get.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np
import sympy as sp

from fedbounds.engine.simulate import simulate
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.evidence.measured_run import examine_run
from fedbounds.model.experiment import Experiment
from fedbounds.model.schedule import ConstantStep
from fedbounds.model.trajectory import Trajectory, VirtualPath
from fedbounds.referee.regimes import experiment, quadratics
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import Delta, Delta_0, Delta_next, L, T, eta, gap, sigma_p_sq
from fedbounds.theory.verdict import Status
from fedbounds.weightings.fedavg import FedAvg
from validate.calibration import clopper_pearson
from validate.markdown import markdown_table
from validate.runner import Study

ERROR_RATES = (5e-2, 1e-2, 1e-3)
REPLICATES = (16, 64)
ROUNDS = (1, 20)
RUNS = 4000
# Replicates simulated at once.
CHUNK = 16_000
SEED = 20250311
STEP = sp.Rational(3, 10)
SHARES, NOISE = (0.7, 0.3), (1.0, 2.0)
READING = READINGS["all-steps"]


def equality(key: str, scope: Any, lhs: sp.Expr, terms: dict[str, sp.Expr]) -> Claim:
    return Claim(key, "SGD on a quadratic", "validate/false_alarms.py", scope, lhs, terms, readings=("all-steps",))


# E Delta_T = a^T Delta_0 + eta^2 sum_i p_i^2 sigma_i^2 (1 - a^T)/(1 - a), and F - F* = (L/2) Delta.
SHRINK = (1 - STEP * L) ** 2
RUN = {
    "start": L / 2 * SHRINK**T * Delta_0,
    "variance": L / 2 * STEP**2 * sigma_p_sq * (1 - SHRINK**T) / (1 - SHRINK),
}
ONE_STEP = {"contraction": (1 - eta * L) ** 2 * Delta, "variance": eta**2 * sigma_p_sq}
EQUALITIES = {
    "one step": equality("one-step-equality", "step", Delta_next, ONE_STEP),
    "horizon": equality("horizon-equality", "horizon", gap, RUN),
}
FALSE = ("false_refuted", "false_margin", "false_holds")


def mirrored(claim: Claim) -> Claim:
    """The same equality with its sides exchanged."""
    return replace(claim, key=f"{claim.key}-mirrored", lhs=claim.rhs, terms={"measured": claim.lhs})


class NamedRandom(FedAvg):
    """FedAvg that calls itself random: a realised next distance varies at t = 0 too, unlike its conditional mean."""

    random = True


def planned(rounds: int, replicates: int, seed: int) -> Experiment:
    """The experiment on which both claims are equalities."""
    problem = quadratics([1, 1], [1, -1], SHARES, NOISE)
    step = ConstantStep(float(STEP))
    return experiment(problem, [1], NamedRandom(), step, rounds=rounds, replicates=replicates, seed=seed)


def batches(trajectory: Trajectory, size: int) -> Iterator[Trajectory]:
    """The replicates of one simulation as independent runs of ``size`` replicates each, with raw next distances."""
    total = trajectory.experiment.replicates
    for start in range(0, total - size + 1, size):
        rows = slice(start, start + size)
        paths = {name: _raw(path, rows) for name, path in trajectory.paths.items()}
        arrays = ("skew_sums", "excess", "grad_sq", "local_excess", "alpha")
        extremes = trajectory.extremes
        kept = {
            f.name: value[rows]
            for f in fields(extremes)
            if isinstance(value := getattr(extremes, f.name), np.ndarray)
        }
        yield replace(
            trajectory,
            experiment=trajectory.experiment.with_(replicates=size),
            paths=paths,
            extremes=replace(extremes, **kept),
            **{name: getattr(trajectory, name)[rows] for name in arrays},
        )


def _raw(path: VirtualPath, rows: slice) -> VirtualPath:
    """Some replicates of a path, the realised next distance in the place of its conditional mean."""
    kept = {f.name: getattr(path, f.name)[rows] for f in fields(path)}
    return replace(path, **(kept | {"next_mean": kept["next_distance_sq"]}))


def measure(rounds: int, replicates: int, runs: int, seed: int = SEED) -> list[dict[str, Any]]:
    """Examine both equalities and their mirror images on ``runs`` independent runs, at every error rate."""
    counts: dict[tuple[str, float], np.ndarray] = {
        (name, rate): np.zeros(3, dtype=int) for name in EQUALITIES for rate in ERROR_RATES
    }
    done, chunk = 0, 0
    while done < runs:
        size = min(CHUNK // replicates, runs - done) * replicates
        trajectory = simulate(planned(rounds, size, seed + 1000 * rounds + 100 * replicates + chunk))
        for batch in batches(trajectory, replicates):
            run = examine_run(batch, READING)
            for name, rate in counts:
                claim = EQUALITIES[name]
                status = empirical.examine(claim, run, rate).status
                other = empirical.examine(mirrored(claim), run, rate).status
                counts[name, rate] += (status is Status.REFUTED, other is Status.REFUTED, status is Status.HOLDS)
            done += 1
        chunk += 1
    size = {"replicates": replicates, "rounds": rounds}
    return [
        {"claim": name, **size, "error_rate": rate, "runs": done}
        | {word: int(k) for word, k in zip(FALSE, count, strict=True)}
        | {f"{word}_interval": clopper_pearson(int(k), done) for word, k in zip(FALSE, count, strict=True)}
        for (name, rate), count in counts.items()
    ]


def study(runs: int = RUNS) -> list[dict[str, Any]]:
    """Every size."""
    return [cell for rounds in ROUNDS for R in REPLICATES for cell in measure(rounds, R, runs)]


def table(cells: list[dict[str, Any]]) -> str:
    """A Markdown table of rates in percent with their intervals."""

    def rate(cell: dict[str, Any], name: str) -> str:
        low, high = cell[f"{name}_interval"]
        return f"{100 * cell[name] / cell['runs']:.3g}% ({100 * low:.2g} to {100 * high:.2g})"

    head = ("equality", "replicates", "steps", "nominal, both sides", "false REFUTED", "false margin", "HOLDS")
    rows = [
        (c["claim"], c["replicates"], c["rounds"], f"{100 * c['error_rate']:g}%", *(rate(c, name) for name in FALSE))
        for c in cells
    ]
    return markdown_table(head, rows)


STUDY = Study(__doc__, "false_alarms", study, table)

if __name__ == "__main__":
    STUDY.main()
