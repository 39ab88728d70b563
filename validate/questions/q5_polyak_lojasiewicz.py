"""Question 5: what survives of the theorem on non-convex problems with a Polyak-Lojasiewicz inequality?

    python -m validate.questions.q5_polyak_lojasiewicz

Claims that assume convexity are NOT_APPLICABLE; so the assumption is struck out, mu becomes the constant of the
inequality, and the claims are examined all the same: on random bent problems, where every mixture of the clients
satisfies it, and in two settings made to break Theorem 1,
``bend`` and ``twins`` of validate/questions/_pl_examples.py.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from fedbounds.evidence.empirical.comparison import examine
from fedbounds.evidence.measured_run import examine_run
from fedbounds.model.schedule import ConstantStep
from fedbounds.model.trajectory import Trajectory
from fedbounds.model.weighting import Weighting
from fedbounds.plugins import claim_named, claims
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status
from fedbounds.weightings.fedavg import FedAvg
from fedbounds.weightings.fedmax import FedMax
from fedbounds.weightings.fedsoftmax import FedSoftMax
from validate.calibration import clopper_pearson
from validate.polyak_lojasiewicz import BentProblem
from validate.questions import _common as common
from validate.questions._common import BLACK, DARK, DASH, DOT, LIGHT, Data
from validate.questions._pl_examples import bend_path, bend_search, twins

ERROR_RATE = 1e-6
SCHEMES = (FedAvg(), FedSoftMax(1.0), FedMax())
RELAXED = ("theorem-1", "corollary", "sharper-step", "sharper-corollary", "star-step", "fedavg-step", "final-bound")
REPAIRED = READINGS["repaired"]


def relaxed(claim: Claim) -> Claim:
    """The claim without the assumption of strong convexity: mu is then whatever the problem calls so."""
    kept = tuple(a for a in claim.assumptions if a.key != "strongly-convex")
    return replace(claim, key=claim.key + "-pl", assumptions=kept)


def random_problem(rng: np.random.Generator) -> BentProblem:
    """Two to four bent clients in one or two dimensions; half of them noisy."""
    N, d = int(rng.integers(2, 5)), int(rng.integers(1, 3))
    return BentProblem(
        curvatures=10.0 ** rng.uniform(0, 1, (N, d)),
        w_i_star=rng.normal(0, 2, (N, d)),
        p=rng.dirichlet(np.ones(N)),
        bend=float(rng.choice([1.0, 3.0, 10.0])),
        noise_std=np.full(N, float(rng.choice([0.0, 1.0]))),
    )


def simulated(
    target: BentProblem, scheme: Weighting, theory: bool, total: int, rng: np.random.Generator
) -> Trajectory:
    """A run from a random start, with the corollary's steps or small constant ones."""
    noisy = bool(target.noise_std.any())
    eta = None if theory else ConstantStep(10.0 ** rng.uniform(-4, 0) / target.L)
    tau, replicates, batch = int(rng.choice([1, 3])), 16 if noisy else 1, 1 if noisy else None
    w0, seed = rng.normal(0, 3, target.d), int(rng.integers(2**31))
    return common.ran(target, scheme, tau, tau * (total // 3), eta, replicates, batch, w0=w0, seed=seed)


def survey(count: int, total: int, seed: int) -> dict[str, Data]:
    """On random bent problems: how often each relaxed claim is refuted, out of how often it was examined."""
    result: dict[str, Data] = {key: {"examined": 0, "refuted": 0, "examples": []} for key in RELAXED}
    known = {key: relaxed(claim_named(key)) for key in RELAXED}
    for k in range(count):
        rng = np.random.default_rng([seed, k])
        target, scheme = random_problem(rng), SCHEMES[k % len(SCHEMES)]
        run = examine_run(simulated(target, scheme, k % 2 == 0, total, rng), REPAIRED)
        for key, claim in known.items():
            with np.errstate(over="ignore"):  # a weight of 1e-300 makes a bound infinite
                verdict = examine(claim, run, ERROR_RATE)
            if verdict.status is not Status.NOT_APPLICABLE:
                result[key]["examined"] += 1
                if verdict.status is Status.REFUTED:
                    result[key]["refuted"] += 1
                    result[key]["examples"].append({"instance": k, "scheme": scheme.name, "detail": verdict.detail})
    for entry in result.values():
        interval = clopper_pearson(entry["refuted"], entry["examined"]) if entry["examined"] else (0.0, 1.0)
        entry["interval"], entry["examples"] = list(interval), entry["examples"][:3]
    return result


def applicability(total: int, seed: int) -> dict[str, str]:
    """Every claim as it stands, on one bent problem: its status in its last reading."""
    rng = np.random.default_rng([seed, 0])
    target = random_problem(rng)
    trajectory = simulated(target, FedAvg(), True, total, rng)
    return {
        key: str(examine(claim, examine_run(trajectory, READINGS[claim.readings[-1]]), ERROR_RATE).status)
        for key, claim in claims().items()
    }


def run(small: bool = False, seed: int = 0) -> Data:
    """All numbers of the page; ``small`` shortens every run."""
    count, total, steps = (12, 30, 500) if small else (600, 120, 20_000)
    plain, result = applicability(total, seed), survey(count, total, seed)
    bend = bend_search(200 if small else 4000, seed)
    path = bend_path(bend["worst"], 400)
    pairs = [twins(0.5, 0.0, steps), twins(0.45, 0.8, steps), twins(0.45, -0.8, steps)]
    summary = {
        "not applicable": sorted(k for k, s in plain.items() if s == "NOT_APPLICABLE"),
        "still applicable": {k: s for k, s in sorted(plain.items()) if s != "NOT_APPLICABLE"},
        **{f"refuted/examined, {k}-pl": [v["refuted"], v["examined"], v["interval"]] for k, v in result.items()},
        "bend: points that break Theorem 1": [bend["broken"], bend["examined"], bend["interval"]],
        "bend: the worst": bend["worst"],
        "bend: largest squared distance over the first": max(path["distance_sq"]) / path["distance_sq"][0],
        "twins: gap at the end (start 0; wrong side; right side)": [pair["end"] for pair in pairs],
        "twins: |F'| at the end": [pair["slope_at_end"] for pair in pairs],
        "twins: T from which the corollary's bound is below the gap": [pair["below"] for pair in pairs],
        "twins: mu and L": [pairs[0]["mu"], pairs[0]["L"]],
    }
    settings = {"instances": count, "total": total, "steps": steps, "seed": seed, "error_rate": ERROR_RATE}
    found = {"statuses": plain, "survey": result, "bend": bend, "bend_path": path, "twins": pairs}
    return {"summary": summary, "settings": settings, **found}


def draw(data: Data, path: Path) -> None:
    """A descent that goes away from w*; a mean of two good clients that is not good; how often claims fail."""
    descent, names = data["bend_path"], list(data["survey"])
    t = np.arange(len(descent["gap"]))
    with common.figure(path, 3) as (left, middle, right):
        lines = [(t, descent["distance_sq"], {"label": r"$\Vert w_t - w^\star\Vert^2$"})]
        lines += [(t, descent["gap"], {"color": DARK, "ls": DASH, "label": r"$F(w_t) - F^\star$"})]
        title = f"bend: one client, $\\eta$ = {descent['eta']:g}"
        common.panel(left, "semilogy", lines, xlabel="t", ylabel="squared distance, gap", title=title)
        labels = (r"$p_1 = 1/2$, $w_0 = 0$", r"$p_1 = 0.45$, $w_0 = 0.8$", r"$p_1 = 0.45$, $w_0 = -0.8$")
        lines = [
            (pair["T"], np.maximum(pair["gap"], 1e-16), {"ls": dash, "label": label})
            for pair, dash, label in zip(data["twins"], ("-", DASH, DOT), labels, strict=True)
        ]
        bound = {"color": LIGHT, "lw": 2, "label": "corollary, second case"}
        lines.append((data["twins"][1]["T"], data["twins"][1]["bound"], bound))
        label, title = r"$F(w_T) - F^\star$", "twins: FedAvg, full gradients"
        common.panel(middle, "loglog", lines, xlabel="T", ylabel=label, title=title)
        for y, result in enumerate(data["survey"].values()):
            low, high = result["interval"]
            right.plot([low, high], [y, y], color=LIGHT, lw=4)
            right.plot(result["refuted"] / max(result["examined"], 1), y, "o", color=BLACK)
            count = f"{result['refuted']}/{result['examined']}"
            right.annotate(count, (high, y), (4, 0), textcoords="offset points", va="center", fontsize=7)
        right.set(yticks=range(len(names)), yticklabels=names, xlabel="share refuted, 95% interval")
        right.margins(x=0.15)
        right.set_title("random bent problems, convexity struck out")
        right.invert_yaxis()


STUDY = common.study(__doc__, "q5", run, draw)

if __name__ == "__main__":
    STUDY.main()
