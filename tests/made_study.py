"""A small made-up study, as JSON and as objects, whose every number is chosen by hand."""

import copy

import numpy as np

from fedbounds.plugins import claim_named
from fedbounds.study import run_series
from fedbounds.study.result import ProblemFacts, Result, WeightingRun, verdicts_from
from fedbounds.study.settings import Settings
from fedbounds.theory.constant import Constant


def constant(value):
    return {"value": value, "provenance": "exact", "note": ""}


def verdict(claim, status, reading="literal", tightness=None, worst_t=None, detail="", evidence="empirical"):
    return {
        "claim": claim,
        "reading": reading,
        "evidence": evidence,
        "status": status,
        "margin": None,
        "tightness": tightness,
        "worst_t": worst_t,
        "error_rate": 1e-3,
        "detail": detail,
    }


def run(weighting, verdicts, error=0.5):
    return {
        "weighting": weighting,
        "rho_bar": 0.8,
        "rho_bar_sync": 0.9,
        "rho_tilde": 1.4,
        "pi_min": 0.0,
        "pi_max": 3.0,
        "speed": 1234.5,
        "error": error,
        "engine": "reference",
        "constants": {"sigma_sq": constant(2.0), "G_sq": constant(4.0)},
        "verdicts": copy.deepcopy(verdicts),  # tests change what they are given
    }


VERDICTS = [
    verdict(
        "theorem-1", "REFUTED", tightness=0.98, worst_t=7, detail="lhs 2 > rhs 1; 10 means x 2 sides, Bonferroni"
    ),
    verdict("theorem-1", "HOLDS", "repaired", tightness=21234.5, detail="lhs 1 <= rhs 2"),
    verdict("corollary", "UNDECIDED", tightness=-3.0, detail="lhs 1 against rhs 1"),
    verdict("li-2020", "NOT_APPLICABLE", detail="assumption fails")
    | {"failed": [{"key": "unbiased", "statement": "alpha_t^i = p_i (FedAvg)", "found": "alpha_i/p_i in [0, 2]"}]},
]


def study(names=("fedavg", "fedmax"), N=3, R=6, K=21, tau=4, seed=0):
    """(result, arrays) of a made-up study: one run a name, K recorded steps, N clients, R replicates."""
    rng = np.random.default_rng(seed)
    result = {
        "problem": {
            "kind": "quadratic",
            "N": N,
            "d": 2,
            "p": [1 / N] * N,
            "sizes": [0] * N,
            "L": constant(5.0),
            "mu": constant(1.0),
            "Gamma": constant(0.25),
            "F_star": 0.1,
            "F_i_star": [0.0] * N,
            "minima_excess_bound": 0.0,
        },
        "runs": [run(name, VERDICTS) for name in names],
        "settings": Settings(clients=N, tau=tau, rounds=(K - 1) // tau, replicates=R).to_json(),
        "versions": {"fedbounds": "0"},
    }
    times = np.arange(K)
    arrays = {"p": np.full(N, 1 / N)}
    for j in range(len(names)):
        decay = 1 / (times + 20.0)
        gap = decay * (1 + 0.1 * rng.random((R, K)))
        gap[:, 0] = decay[0]
        alpha = rng.dirichlet(np.ones(N), size=(R, K // tau + 1))
        arrays |= {
            f"{j}/times": times,
            f"{j}/gap": gap,
            f"{j}/distance_sq": 2 * gap,
            f"{j}/drift": 0.1 * gap,
            f"{j}/rho": 1 + 0.2 * rng.random((R, K)),
            f"{j}/rho_star": 1 + 0.4 * rng.random((R, K)),
            f"{j}/round_times": times[::tau],
            f"{j}/alpha": alpha,
        }
        for key in ("corollary@literal", "corollary@repaired", "sharper-corollary@repaired"):
            arrays |= sides(j, key, times, decay, 100 * decay)
        for key in ("theorem-1@literal", "theorem-1@repaired", "sharper-step@repaired"):
            arrays |= sides(j, key, times[:-1], decay[:-1], 2 * decay[:-1])
    return result, arrays


def sides(j, key, t, lhs, rhs):
    """The sides of a claim with a 10% band, unbounded at the first time as a constant column's is."""
    lower, upper = 0.9 * lhs, 1.1 * lhs
    lower[0], upper[0] = -np.inf, np.inf
    values = {"t": t, "lhs": lhs, "rhs": rhs, "lower": lower, "upper": upper}
    return {f"{j}/claim/{key}/{name}": value.copy() for name, value in values.items()}


def objects(result, arrays):
    """The same as a `Result` and one `RunSeries` a run."""
    runs = tuple(
        WeightingRun(
            **run | {"constants": constants(run["constants"]), "verdicts": (*verdicts_from(run["verdicts"]),)}
        )
        for run in result["runs"]
    )
    facts = ProblemFacts(**{name: made(value) for name, value in result["problem"].items()})
    seen = dict.fromkeys(verdict.claim for run in runs for verdict in run.verdicts)
    claims = {key: claim_named(key) for key in seen}
    settings = Settings.of(result["settings"])
    results = Result(facts, settings, runs, result["versions"], None, claims, tuple(result.get("objects", ())))
    drawn = []
    for j in range(len(runs)):
        sides = {}
        for key in [key.removesuffix("t") for key in arrays if key.startswith(f"{j}/claim/") and key.endswith("/t")]:
            claim, _, reading = key.split("/")[2].partition("@")
            values = (np.asarray(arrays[key + name], dtype=float) for name in run_series.SIDES)
            sides[claim, reading] = run_series.SidesOverTime(*values)
        plain = {name: np.asarray(arrays[f"{j}/{name}"], dtype=float) for name in run_series.PLAIN}
        drawn.append(run_series.RunSeries(**plain, sides=sides))
    return results, tuple(drawn)


def constants(values):
    return {name: made(value) for name, value in values.items()}


def made(value):
    """A value of the problem: a constant from its fields, a tuple from a list."""
    return Constant(**value) if isinstance(value, dict) else tuple(value) if isinstance(value, list) else value
