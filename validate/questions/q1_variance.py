"""Question 1: what if the variance may grow with the gradient, instead of being bounded (Assumption 3)?

    python -m validate.questions.q1_variance

Minibatch noise of least squares satisfies E||g_i - grad F_i||^2 <= sigma_0^2 + c ||grad F_i||^2 on R^d, with
constants computed exactly here, while no sigma^2 and no G^2 exist on R^d. The claim growth-step is
checked with them, compared with Theorem 1, and the step size that it asks for is compared with the corollary's.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from fedbounds.engine.simulate import simulate
from fedbounds.evidence.empirical.comparison import compare, examine
from fedbounds.evidence.measured_run import MeasuredRun, examine_run
from fedbounds.model.experiment import Experiment
from fedbounds.model.schedule import InverseTime
from fedbounds.plugins import claim_named
from fedbounds.problems.least_squares import LeastSquaresProblem
from fedbounds.theory.constant import Constant, Provenance
from fedbounds.theory.reading import READINGS
from fedbounds.weightings.fedavg import FedAvg
from fedbounds.weightings.fedmax import FedMax
from fedbounds.weightings.fedsoftmax import FedSoftMax
from validate.questions import _common as common
from validate.questions._common import DARK, DASH, DASHDOT, DOT, MIDDLE, Data, ran, ridge, slope

BATCH = 4
ERROR_RATE = 1e-3
# c is chosen this factor above the smallest that any sigma_0^2 goes with, where sigma_0^2 would be infinite.
ROOM = 1.25
SCALES = (1.0, 10.0, 100.0, 1000.0)
SPIKES = (1, 2, 4, 8, 16, 32, 64, 128)
CLAIMS = ("growth-step", "theorem-1", "sharper-step")
SCHEMES = (FedAvg(), FedSoftMax(0.5), FedMax())
REPAIRED = READINGS["repaired"]


def growth_constants(problem: LeastSquaresProblem, batch: int) -> tuple[float, float]:
    """(sigma_0^2, c), valid on all of R^d, for minibatches drawn with replacement.

    With u = x - w_i*, b E||noise||^2 = u'Au + 2 v'u + s and ||grad F_i||^2 = u'H^2 u, so c must be at least
    lambda_max(H^-1 A H^-1)/b, and above it sigma_0^2 = (s + v'(b c H^2 - A)^-1 v)/b is the smallest that will do.
    """
    data = problem.kernel_data()
    H, A, v, s = data.H, data.A, data.b, data.c
    inner = (np.linalg.solve(h, np.linalg.solve(h, a).T) for h, a in zip(H, A, strict=True))
    c = ROOM * max(float(np.linalg.eigvalsh(matrix).max()) for matrix in inner)
    sigma = [si + vi @ np.linalg.solve(c * h @ h - a, vi) for h, a, vi, si in zip(H, A, v, s, strict=True)]
    return float(max(sigma)) / batch, c / batch


def with_constants(run: MeasuredRun, sigma_0_sq: float, c: float) -> MeasuredRun:
    """The run with these growth constants in place of the general ones."""
    known = {"sigma_0_sq": sigma_0_sq, "growth": c}
    exact = {k: Constant(value, Provenance.EXACT, "least squares, on R^d") for k, value in known.items()}
    return replace(run, constants={**run.constants, **exact})


def steps(seed: int, total: int, replicates: int) -> Data:
    """Both sides of the claims, with the step size that growth-step asks for, tau = 1 and tau = 5."""
    target = ridge(seed)
    sigma, c = growth_constants(target, BATCH)
    eta = InverseTime(target.mu, 4 * (1 + c) * target.L / target.mu)
    rows: list[Data] = []
    curves: Data = {}
    for tau, scheme in ((tau, scheme) for tau in (1, 5) for scheme in SCHEMES):
        trajectory = ran(target, scheme, tau, total, eta, replicates, BATCH, seed=seed, stride=max(1, total // 100))
        run = with_constants(examine_run(trajectory, REPAIRED), sigma, c)
        for key in CLAIMS:
            verdict, sides = examine(claim_named(key), run, ERROR_RATE), compare(claim_named(key), run)
            apart = (sides.rhs - sides.lhs).mean(axis=0)
            added = sides.rhs.mean(axis=0) - trajectory.paths["alpha"].distance_sq[:, :-1].mean(axis=0)
            row = {"tau": tau, "weighting": scheme.name, "claim": key, "status": str(verdict.status)}
            rows.append(row | {"rhs_minus_lhs_at_end": float(apart[-1]), "added_at_end": float(added[-1])})
            if tau == 1 and scheme.name == "fedavg":
                curves[key] = apart.tolist()
    return {"rows": rows, "t": trajectory.times[:-1].tolist(), "excess": curves, "sigma_0_sq": sigma, "c": c}


def scales(seed: int, total: int, replicates: int) -> list[Data]:
    """The sigma^2 and G^2 that runs need, started at distance 1 ... 1000: they do not exist on R^d."""
    target, rows = ridge(seed), []
    direction = np.random.default_rng(seed).standard_normal(target.d)
    for scale in SCALES:
        w0 = target.w_star + scale * direction / np.linalg.norm(direction)
        eta = InverseTime(target.mu, 4 * target.L / target.mu)
        trajectory = ran(target, FedAvg(), 1, total, eta, replicates, BATCH, w0=w0, seed=seed, stride=total)
        constants = examine_run(trajectory, REPAIRED).constants
        rows.append({"scale": scale, "sigma_sq": constants["sigma_sq"].value, "G_sq": constants["G_sq"].value})
    return rows


def cloud(seed: int, points: int) -> Data:
    """(||grad F_i||^2, E||noise||^2) at random points at distances 1e-3 ... 1e3 from w_i*."""
    target, rng = ridge(seed), np.random.default_rng([seed, 1])
    u = rng.standard_normal((points, target.N, target.d))
    u *= 10.0 ** rng.uniform(-3, 3, (points, target.N, 1)) / np.linalg.norm(u, axis=-1, keepdims=True)
    x = target.w_i_star + u
    return {
        "grad_sq": (target.client_grads(x) ** 2).sum(axis=-1).ravel().tolist(),
        "variance": target.client_variance(x, BATCH).ravel().tolist(),
    }


def spiked(n: int) -> LeastSquaresProblem:
    """One client, one coefficient, n samples of which one has a feature: c = n - 1 at batch size 1, L = mu = 1."""
    X = np.zeros((n, 1))
    X[0] = np.sqrt(n)
    return LeastSquaresProblem([X], [np.zeros(n)], 0.0)


def peaks(total: int) -> list[Data]:
    """max_t E||w_t - w*||^2 (no sampling: exact expectations) from ||w_0 - w*|| = 1, for both step sizes."""
    rows = []
    for n in SPIKES:
        target = spiked(n)
        c = growth_constants(target, 1)[1] / ROOM if n > 1 else 0.0
        result = []
        for gamma in (4.0, 4 * (1 + c)):
            base = Experiment(target, FedAvg(), InverseTime(1.0, gamma), 1, total, 1, 1, w0=np.ones(1))
            result.append(simulate(base, exact=True).paths["alpha"].distance_sq[0])
        rows.append({"c": c, "paper": float(result[0].max()), "adapted": float(result[1].max())})
    return rows


def run(small: bool = False, seed: int = 0) -> Data:
    """All numbers of the page; ``small`` shortens every run."""
    total, replicates, points = (50, 16, 20) if small else (2000, 64, 60)
    checked, seen, tall = steps(seed, total, replicates), cloud(seed, points), peaks(total)
    needed = scales(seed, min(total, 200), replicates)
    inside = np.array(seen["variance"]) <= checked["sigma_0_sq"] + checked["c"] * np.array(seen["grad_sq"])
    rows, worst, far = checked["rows"], tall[-1], needed[1:]
    summary = {
        "sigma_0^2 and c on R^d": [checked["sigma_0_sq"], checked["c"]],
        "points of the cloud inside": [int(inside.sum()), int(inside.size)],
        "sigma^2 that runs need, by distance of the start": [[r["scale"], r["sigma_sq"]] for r in needed],
        "growth of that sigma^2, exponent": slope([r["scale"] for r in far], [r["sigma_sq"] for r in far]),
        "growth-step statuses": sorted({r["status"] for r in rows if r["claim"] == "growth-step"}),
        "looseness at the end, Theorem 1 over growth-step, tau = 1": {
            w.name: _ratio(rows, w.name, "theorem-1") for w in SCHEMES
        },
        "peak of E||w_t - w*||^2 at the largest c": [worst["c"], worst["paper"], worst["adapted"]],
    }
    settings = {"total": total, "replicates": replicates, "batch": BATCH, "seed": seed, "error_rate": ERROR_RATE}
    found = {"steps": checked, "scales": needed, "cloud": seen, "peaks": tall}
    return {"summary": summary, "settings": settings, **found}


def _ratio(rows: list[Data], weighting: str, key: str) -> float:
    """(rhs - lhs) of a claim over that of growth-step, at the last step with tau = 1."""
    chosen = {r["claim"]: r for r in rows if r["tau"] == 1 and r["weighting"] == weighting}
    return float(chosen[key]["rhs_minus_lhs_at_end"] / chosen["growth-step"]["rhs_minus_lhs_at_end"])


def draw(data: Data, path: Path) -> None:
    """The cloud and its envelope; what each one-step bound gives away; the price in step size."""
    seen, checked = data["cloud"], data["steps"]
    x = np.geomspace(min(seen["grad_sq"]), max(seen["grad_sq"]), 200)
    t = np.array(checked["t"])
    keep = common.thin(t[1:].astype(float)) + 1
    rows = [r for r in data["peaks"] if r["c"] > 0]
    c, paper, adapted = ([r[name] for r in rows] for name in ("c", "paper", "adapted"))
    with common.figure(path, 3) as (left, middle, right):
        for row, dash in zip(data["scales"][::2], (DASH, DOT), strict=False):
            label = rf"$\sigma^2$ of a run from distance {row['scale']:g}"
            left.axhline(row["sigma_sq"], color=DARK, ls=dash, lw=1, label=label)
        envelope = checked["sigma_0_sq"] + checked["c"] * x
        lines = [(seen["grad_sq"], seen["variance"], {"marker": ".", "ls": "", "ms": 3, "color": MIDDLE})]
        lines += [(x, envelope, {"label": r"$\sigma_0^2 + c\,\Vert\nabla F_i\Vert^2$"})]
        names = {"xlabel": r"$\Vert\nabla F_i(w)\Vert^2$", "ylabel": r"$\mathbb{E}\Vert g_i - \nabla F_i\Vert^2$"}
        common.panel(left, "loglog", lines, **names, title="noise of minibatches")
        lines = [
            (t[keep], np.array(values)[keep], {"ls": style, "label": key})
            for (key, values), style in zip(checked["excess"].items(), ("-", DASH, DOT), strict=True)
        ]
        title = r"one step, FedAvg, $\tau = 1$"
        common.panel(middle, "loglog", lines, xlabel="t", ylabel="right side minus left side", title=title)
        lines = [(c, paper, {"marker": "o", "label": r"$\gamma = 4L/\mu$"})]
        lines += [(c, adapted, {"color": DARK, "ls": DASHDOT, "marker": "s", "label": r"$\gamma = 4(1+c)L/\mu$"})]
        price = r"$\max_t\,\mathbb{E}\Vert w_t - w^\star\Vert^2/\Vert w_0 - w^\star\Vert^2$"
        common.panel(right, "loglog", lines, xlabel="c", ylabel=price, title="the price: smaller steps")


STUDY = common.study(__doc__, "q1", run, draw)

if __name__ == "__main__":
    STUDY.main()
