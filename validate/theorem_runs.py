"""A line of the theorems' table, and how one about FedAvg is tried: on runs with its own steps, and by the search."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

import fedbounds
from fedbounds.engine.simulate import simulate
from fedbounds.errors import InputError
from fedbounds.evidence.empirical import comparison
from fedbounds.evidence.evaluate import steps_asked
from fedbounds.evidence.run_constants import examine_run
from fedbounds.model.experiment import Experiment
from fedbounds.model.schedule import ConstantStep
from fedbounds.plugins import claim_named
from fedbounds.problems.quadratic import QuadraticProblem, quadratic
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import gamma, mu, t
from fedbounds.theory.verdict import Evidence, Status, word
from fedbounds.weightings.fedavg import FedAvg
from fedbounds.weightings.fedmax import FedMax

SEED, TAU, ROUNDS, REPLICATES = 20, 4, 20, 256
# Short enough for every theorem that leaves its constant step open; the theorems' own steps are used where stated.
# Below this value over bound the search has found nothing that says how tight a theorem is.
CLOSE = 1e-6
OPEN_STEP = 1 / (24 * TAU)


# Steps as printed where the claim counts them otherwise: there t begins at 1.
PRINTED = {"Li et al. 2020": 2 / (mu * (gamma + t + 1))}
OWN = "constants derived here; the printed text was not available"
# (name, keys, how the text was compared)
ON_FEDAVG: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        "Li et al. 2020",
        ("li-2020",),
        "Theorem 1 read in a copy of the paper: these constants and brackets, the index of the steps shifted by one",
    ),
    ("Cho et al. 2020", ("cho-2020",), "as this package has stated it; not compared anew"),
    ("Cho et al. 2020, constant step", ("cho-2020-step", "cho-2020-fixed"), OWN),
    ("Stich 2019", ("stich-2019-step", "stich-2019-drift"), OWN),
    ("Khaled et al. 2020, identical data", ("khaled-2020",), OWN),
    ("Khaled et al. 2020, different data", ("khaled-2020-opt",), OWN),
    ("Woodworth et al. 2020", ("woodworth-2020-drift", "woodworth-2020"), OWN),
    (
        "Koloskova et al. 2020",
        ("koloskova-2020-step",),
        f"{OWN}; with mu = 0 and full gradients they are those of Khaled et al. 2019, Lemma 1, read in a copy",
    ),
    (
        "Karimireddy et al. 2020, FedAvg",
        ("karimireddy-2020-round",),
        "Theorem I read in a copy of the paper, O(.) hides its constants; those here are derived here",
    ),
)

# What a theorem comes to beyond its runs; tests compute the numbers in fractions.
SAYS = {
    "Cho et al. 2020": "Over pairs of points of R^d, as the paper has it, rho_bar is 0 for a deterministic selection "
    "of one client with different minimisers, and the bound is infinite: VACUOUS. The smallest instance is (w - "
    "1)^2/2 and (w + 1)^2/2 with p = 1/2 each: at w = 1 FedMax selects the second client, whose gap at w' = -1 "
    "is 0 where the mean gap is 1. For which weights is it positive? For weights alpha that do not depend on "
    "w, if and only if the clients that have weight share no minimiser, or all clients do: a weighted sum of "
    "their gaps vanishes nowhere else, and far away the ratio is at least mu/L. So it is 1 for FedAvg. "
    "FedMax(k) has finitely many such alpha, so that it is positive if and only if no k clients that it "
    "selects share a minimiser while others do not: with curvature 1, minimisers -1, 0, 1 and k = 2 it is 1/4, "
    "at w' = -2/3 once -1 and 0 are selected. For FedSoftMax(T) with one curvature and different minimisers it "
    "is 0 at every temperature, in the limit: e_i - e_j is linear in w, so that far away all weight goes to "
    "one client, or to several of one minimiser. The runs below have the pairs that they visited.",
    "Cho et al. 2020, constant step": "For any weights, biased or not: at a constant step the squared distance falls "
    "by the factor q a step, to a floor at most, which is what the other terms come to as T grows. As the step falls "
    "the floor does not vanish but tends to 2 Gamma (rho_tilde - rho_bar)/(mu (1 + rho_bar)): that is the price of "
    "the bias, and it is 0 for FedAvg. The line over T follows from the step's, which is proved, by summing a "
    "geometric series. The paper's own theorem at a constant step was not available.",
}


@dataclass(frozen=True)
class Entry:
    """A line of the table and its section: ``keys`` of claims, or none where no claim states it."""

    name: str
    keys: tuple[str, ...]
    says: str
    source: str
    compared: str
    verdict: str
    tightness: str
    tried: tuple[str, ...]


def problems() -> tuple[QuadraticProblem, QuadraticProblem]:
    """Four clients in R^2 with L/mu about 8, different and identical, with noise."""
    rng = np.random.default_rng(SEED)
    spectra = np.exp(rng.uniform(0, np.log(8), (4, 2)))
    apart = quadratic(spectra, rng.standard_normal((4, 2)), rng=rng, noise_std=0.5)
    same = quadratic(spectra[0], np.tile(rng.standard_normal(2), (4, 1)), noise_std=0.5)
    return apart, same


def experiments(claim: Claim) -> Iterator[tuple[str, Experiment]]:
    """Runs with the claim's own steps: different and identical clients, with and without noise, one client too.

    What speaks of the weights' skew is run with FedMax(2) besides FedAvg.
    """
    weightings = (FedAvg(), FedMax(2)) if "rho_tilde" in claim.symbols else (FedAvg(),)
    kinds = zip(("different", "identical"), problems(), strict=True)
    for weighting, (kind, problem) in itertools.product(weightings, kinds):
        for batch, (tau, share) in ((b, s) for b in (None, 1) for s in ((TAU, 1.0), (1, 1 / problem.N))):
            known = {"L": problem.L, "mu": problem.mu, "tau": float(tau), "N": 4.0, "eta_0": OPEN_STEP / problem.L}
            known |= {"L_sample": problem.sample_smoothness}
            table = None if claim.steps is None else steps_asked(claim.steps, known, tau * ROUNDS)
            eta = ConstantStep(known["eta_0"]) if table is None else lambda t, table=table: float(table[t])
            name = "" if isinstance(weighting, FedAvg) else f"{weighting.name}, "
            name += f"{kind} clients, {'full gradients' if batch is None else 'noise'}, tau = {tau}, C = {share:g}"
            more = {"w0": np.full(2, 3.0), "participation": share, "seed": SEED}
            yield name, Experiment(problem, weighting, eta, tau, ROUNDS, REPLICATES, batch, **more)


def on_runs(claim: Claim) -> tuple[set[Status], float | None, list[str]]:
    """Statuses on the runs where the claim applies, the smallest bound over measured, and one sentence a run.

    Of a claim on every horizon it is that at the last one, as any bound that begins at the start is tight there.
    """
    reading, result, close, told = READINGS[claim.readings[0]], set(), [], []
    for name, experiment in experiments(claim):
        run = examine_run(simulate(experiment), reading)
        verdict = comparison.examine(claim, run)
        if verdict.status is Status.NOT_APPLICABLE:
            continue
        result.add(verdict.status)
        near = verdict.tightness
        if near is not None and claim.scope == "horizon":
            sides = comparison.compare(claim, run)
            near = float(sides.rhs.mean(0)[-1] / sides.lhs.mean(0)[-1])
        close += [] if near is None else [near]
        at = "at the end" if claim.scope == "horizon" else "at least"
        ratio = "" if near is None else f", bound over measured {at} {near:.3g}"
        said = word(verdict.status, Evidence.EMPIRICAL).lower()
        told.append(f"`{claim.key}` on a run ({name}): {said}{ratio}.")
    return result, min(close, default=None), told


def searched(claim: Claim) -> tuple[Status, float | None, str]:
    """The search for a counterexample in fractions, small budget: status, bound over closest value, a sentence."""
    (verdict,) = fedbounds.refute(claim.key, claim.readings[0], budget="small", seed=SEED)
    closest = float(str(verdict.data.get("closest") or 0))
    ratio = 1 / closest if closest > CLOSE else None
    if verdict.status is Status.REFUTED:
        return verdict.status, ratio, f"`{claim.key}`: refuted by an instance in fractions: {verdict.detail}."
    if "searched" not in verdict.data:
        return verdict.status, None, f"`{claim.key}`: the search in fractions says nothing: {verdict.detail}."
    tail = "none came close" if closest else str(verdict.data.get("approach") or verdict.detail)
    tail = tail if ratio is None else f"the closest instance has bound over value {ratio:.4g}"
    evaluations = verdict.data.get("evaluations", 0)
    return verdict.status, ratio, f"`{claim.key}`: {evaluations} instances searched, none refutes it; {tail}."


def certified(claim: Claim) -> str:
    """What certificates over the whole class say of a claim about one step, or why they say nothing."""
    try:
        result = [item.verdict for item in fedbounds.certify(claim.key, claim.readings[-1])]
    except InputError as wrong:
        return f"`fedbounds certify {claim.key}`: {wrong}"
    held = sum(verdict.status is Status.HOLDS for verdict in result)
    where = "kappa = 10, tau = 4, N = 2, full or stochastic gradients"
    return (
        f"`fedbounds certify {claim.key}`: certified for the whole class at {held} of {len(result)} steps ({where})."
    )


def entry(name: str, keys: tuple[str, ...], compared: str) -> Entry:
    """The line of a theorem about FedAvg."""
    claims = [claim_named(key) for key in keys]
    runs, hunts = [on_runs(claim) for claim in claims], [searched(claim) for claim in claims]
    refuted = any(Status.REFUTED in result for result, _, _ in runs) or any(s is Status.REFUTED for s, _, _ in hunts)
    measured = [f"{ratio:.3g}" for _, ratio, _ in runs if ratio is not None]
    worst = [f"{ratio:.3g}" for _, ratio, _ in hunts if ratio is not None]
    tight = [f"{', '.join(measured)} on runs"] if measured else []
    tight += [f"{', '.join(worst)} at the closest instance"] if worst else []
    lines = [line for _, _, told in runs for line in told] + [line for _, _, line in hunts]
    lines += [certified(claim) for claim in claims if claim.scope == "step"]
    for claim in claims if name in PRINTED else ():
        result, _, told = on_runs(replace(claim, eta=PRINTED[name]))
        refuted |= Status.REFUTED in result
        lines += [f"With the index as printed, eta_t = {PRINTED[name]} from t = 0: {line}" for line in told]
    verdict = "refuted" if refuted else "not refuted"
    return Entry(name, keys, SAYS.get(name, ""), claims[0].source, compared, verdict, "; ".join(tight), tuple(lines))
