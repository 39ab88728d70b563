"""The theorems that FedAvg's referee cannot try alone: enumerated coins of Scaffnew, instances that attain a step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from fedbounds.algorithms.scaffnew import Scaffnew
from fedbounds.engine.iterates import run_algorithm
from fedbounds.evidence.assumption_checks import in_floats
from fedbounds.evidence.empirical.bands import band
from fedbounds.evidence.evaluate import evaluate
from fedbounds.model.algorithm import Round
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array, Problem
from fedbounds.model.schedule import ConstantStep
from fedbounds.plugins import algorithm_named, claim_named
from fedbounds.problems.quadratic import QuadraticProblem, quadratic
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS
from fedbounds.weightings.fedavg import FedAvg
from validate.theorem_runs import REPLICATES, SEED, Entry, entry, problems

# Family-wise error rate of what replicates are compared with.
ERROR_RATE = 1e-3
# Bounds that are attained are computed with errors of a few units in the last place.
ROUNDING = 1e-9
# Paths of coins enumerated at once: 2^12 of a few small vectors.
LONGEST = 12
NOT_REFUTED = "not refuted on these runs"


def constants(problem: Problem, experiment: Experiment) -> dict[str, float]:
    """What a claim on the distance may speak of with constant steps, exact for quadratics with additive noise."""
    slopes, eta = problem.grads(problem.w_star), float(experiment.eta(0))
    noise = problem.client_variance(np.tile(problem.w_star, (problem.N, 1)), experiment.batch_size)
    known = {"L": problem.L, "mu": problem.mu, "N": float(problem.N), "tau": float(experiment.tau)}
    known |= {"eta_0": eta, "eta": eta, "t": 0.0, "C": experiment.participation, "pi_min": 1.0, "pi_max": 1.0}
    known |= {"Delta_0": float(((experiment.start - problem.w_star) ** 2).sum()), "sigma_sq": float(noise.max())}
    return known | {"zeta_star_sq": float(problem.p @ (slopes**2).sum(-1))}


def tried(claim: Claim, experiment: Experiment) -> tuple[str, float]:
    """A claim on E||w_T - w*||^2 against a run of its own algorithm with FedAvg's weights, at the end of every round.

    Its verdict in words, and the smallest ratio of bound over measured. Exact where the coins of Scaffnew are all the
    chance there is, else replicates and a one-sided limit, Bonferroni over the rounds.
    """
    known = constants(experiment.problem, experiment)
    reading = READINGS[claim.readings[0]]
    for item in (item for item in claim.assumptions_in(reading) if item.parts):
        answer = in_floats(item, known)
        if answer is not None and not answer.holds:
            return f"assumption fails: {item.statement}: {answer.observed}", math.nan
    rounds = np.arange(experiment.rounds + 1)
    right = evaluate(claim.sides(reading).rhs, {**known, "T": rounds * float(experiment.tau)}) + 0 * rounds
    if claim.algorithm == Scaffnew.key and experiment.batch_size is None:
        low = mean = coins_of_scaffnew(experiment)[0]
    else:
        distance = run_algorithm(algorithm_named(claim.algorithm), experiment).distance_sq
        mean, low = distance.mean(0), band(distance, ERROR_RATE, distance.std(0) == 0).lower
    ratio = float((right[1:] / np.maximum(mean[1:], np.finfo(float).tiny)).min())
    return ("refuted" if (low > right * (1 + ROUNDING)).any() else NOT_REFUTED), ratio


def coins_of_scaffnew(experiment: Experiment, q: float | None = None) -> tuple[Array, Array]:
    """(E||w_r - w*||^2, E Psi_r) (rounds + 1,) with full gradients, every sequence of coins run and weighed."""
    problem, tau, rounds = experiment.problem, experiment.tau, experiment.rounds
    if tau * rounds > LONGEST:
        raise ValueError(f"at most {LONGEST} steps can be enumerated, but received {tau * rounds}")
    q, eta = q or 1 / tau, float(experiment.eta(0))
    heads = np.array(list(product((True, False), repeat=tau * rounds)))
    chance = np.where(heads, q, 1 - q).prod(-1)
    algorithm, R = Scaffnew(q), len(heads)
    state = algorithm.start(np.tile(experiment.start, (R, 1)), problem.N)
    alpha, slopes = np.tile(problem.p, (R, 1)), problem.grads(problem.w_star)
    distances, psis = [], []
    for r in range(rounds + 1):
        apart = ((state["x_i"] - problem.w_star) ** 2).sum(-1) @ problem.p
        variates = ((state["h_i"] - slopes) ** 2).sum(-1) @ problem.p
        distances.append(chance @ ((state["w"] - problem.w_star) ** 2).sum(-1))
        psis.append(chance @ (apart + (eta / q) ** 2 * variates))
        if r < rounds:
            coins = np.where(heads[:, r * tau : (r + 1) * tau], 0.0, 1.0).T
            state = algorithm.round(state, Round(problem, alpha, alpha > 0, np.full(tau, eta), None, coins))
    return np.array(distances), np.array(psis)


def attaining(N: int, eta: float, L: float, mu: float, R: float, zeta: float) -> tuple[QuadraticProblem, Array]:
    """Clients, and a start at distance R of w* = 0, at which one step of SGD over clients attains PEPit's bound."""
    angles = 2 * np.pi * np.arange(N) / N
    y = np.array([R, 0.0, 0.0])
    slopes = zeta * np.stack([np.zeros(N), np.cos(angles), np.sin(angles)], -1)
    wanted = eta * slopes - (1 - eta * (L + mu) / 2) * y
    mirror = y / R - wanted / np.linalg.norm(wanted, axis=-1, keepdims=True)
    Q = np.eye(3) - 2 * mirror[:, :, None] * mirror[:, None, :] / (mirror**2).sum(-1)[:, None, None]
    H = (L + mu) / 2 * np.eye(3) + (L - mu) / 2 * Q
    minima = -np.linalg.solve(H, slopes[..., None])[..., 0]
    return QuadraticProblem(H=H, w_i_star=minima, F_i_star=np.zeros(N), p=np.full(N, 1 / N)), y


def attained(claim: Claim, N: int, eta: float, L: float, mu: float, R: float, zeta: float) -> float:
    """The claim's bound over what one step reaches on its attaining instance, in the mean over clients."""
    problem, x = attaining(N, eta, L, mu, R, zeta)
    reached = problem.p @ ((x - eta * problem.grads(x) - problem.w_star) ** 2).sum(-1)
    known = {"L": L, "mu": mu, "eta": eta, "Delta": R**2, "zeta_star_sq": zeta**2, "sigma_sq": 0.0}
    return float(evaluate(claim.sides(READINGS[claim.readings[0]]).rhs, known)) / float(reached)


def pepit() -> Entry:
    """PEPit's step, with instances that attain it."""
    claim, result = claim_named("pepit-sgd-step"), []
    base = entry("PEPit's SGD step", (claim.key,), "printed form read for eta = 1/L; other steps derived here")
    for N, eta_L in ((2, 0.1), (2, 1.0), (3, 0.5), (5, 1.0), (5, 1.9)):
        result += [attained(claim, N, eta_L, 1.0, mu, R, 1.0) for mu in (0.01, 0.1, 0.5) for R in (0.1, 1, 10)]
    away = max(abs(ratio - 1) for ratio in result)
    line = (
        f"{len(result)} instances built to attain it, N = 2 to 5, eta L = 0.1 to 1.9: bound over value differs from "
        f"1 by at most {away:.0e}. The claim's module proves the bound and that these instances attain it."
    )
    said = "attained: 1, for every step size and N >= 2"
    return replace(base, verdict="proved by hand, tight; not refuted", tightness=said, tried=(*base.tried, line))


def scaffnew_runs() -> Iterator[tuple[str, Experiment]]:
    """Runs of Scaffnew on which its coins can be enumerated, and one with noise."""
    problem = problems()[0]
    eta = ConstantStep(1 / problem.L)
    for tau, rounds, batch in ((2, 6, None), (4, 3, None), (4, 40, 1)):
        name = "coins enumerated, full gradients" if batch is None else f"{REPLICATES} replicates, noise"
        run = Experiment(problem, FedAvg(), eta, tau, rounds, REPLICATES, batch, seed=SEED)
        yield f"{name}, tau = {tau}, {rounds} rounds", run


def potential_attained(q: float = 0.25) -> float:
    """(1 - q^2) Psi_0 over E Psi_1 where curvatures are 1, eta = 1 and w_0 = w*: 1, so q^2 cannot be improved."""
    problem = quadratic(np.ones((2, 1)), np.array([[1.0], [-1.0]]))
    run = Experiment(problem, FedAvg(), ConstantStep(1.0), 1, 1, 1, None, w0=np.zeros(1))
    _, psi = coins_of_scaffnew(run, q)
    return float((1 - q**2) * psi[0] / psi[1])


def scaffnew() -> Entry:
    """Scaffnew's linear rate on runs of Scaffnew."""
    claim, lines, result = claim_named("mishchenko-2022"), [], []
    for name, experiment in scaffnew_runs():
        result.append(tried(claim, experiment))
        said, near = result[-1]
        lines.append(f"{name[0].upper()}{name[1:]}: {said}, bound over measured at least {near:.3g}.")
    lines.append(
        f"One iteration from w* on two clients of curvature 1 with eta = 1: (1 - q^2) Psi_0 over E Psi_1 is "
        f"{potential_attained():.12g}, so its factor is attained. The claim's module proves the rate."
    )
    lines.append(f"The referee runs FedAvg only; `fedbounds compare --claim {claim.key}` tries it on Scaffnew.")
    verdict = "refuted" if any(said == "refuted" for said, _ in result) else "proved by hand; not refuted"
    ratio = f"potential attained in one iteration; distance {min(near for _, near in result):.3g} on runs"
    compared = "the rate as commonly quoted; the term of the noise derived here"
    return Entry(
        "Mishchenko et al. 2022, Scaffnew", (claim.key,), "", claim.source, compared, verdict, ratio, tuple(lines)
    )


OTHERS: tuple[Callable[[], Entry], ...] = (pepit, scaffnew)
