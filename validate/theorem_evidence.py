"""Evidence on theorems that FedAvg's referee cannot try: enumerated coins of Scaffnew, one step of SGD."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from fedbounds.algorithms.scaffnew import Scaffnew
from fedbounds.engine.iterates import run_algorithm
from fedbounds.evidence.assumption_checks import in_floats
from fedbounds.evidence.empirical.bands import band
from fedbounds.evidence.evaluate import evaluate
from fedbounds.model.algorithm import Round
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array, Problem
from fedbounds.plugins import algorithm_named
from fedbounds.problems.quadratic import QuadraticProblem
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import Delta_T

# Family-wise error rate of what replicates are compared with.
ERROR_RATE = 1e-3
# Bounds that are attained are computed with errors of a few units in the last place.
ROUNDING = 1e-9
# Paths of coins enumerated at once: 2^12 of a few small vectors.
LONGEST = 12


@dataclass(frozen=True)
class Tried:
    """A claim on one run: its ``verdict`` in words, and the smallest ``ratio`` bound over measured."""

    verdict: str
    ratio: float = math.nan


def constants(problem: Problem, experiment: Experiment) -> dict[str, float]:
    """What a claim on the distance may speak of with constant steps, exact for quadratics with additive noise."""
    slopes = problem.grads(problem.w_star)
    noise = problem.client_variance(np.tile(problem.w_star, (problem.N, 1)), experiment.batch_size)
    steps = experiment.eta
    return {
        "L": problem.L,
        "mu": problem.mu,
        "N": float(problem.N),
        "tau": float(experiment.tau),
        "eta_0": float(steps(0)),
        "eta": float(steps(0)),
        "t": 0.0,
        "Delta_0": float(((experiment.start - problem.w_star) ** 2).sum()),
        "zeta_star_sq": float(problem.p @ (slopes**2).sum(-1)),
        "sigma_sq": float(noise.max()),
        "C": experiment.participation,
        "pi_min": 1.0,
        "pi_max": 1.0,
    }


def tried(claim: Claim, experiment: Experiment) -> Tried:
    """A claim on E||w_T - w*||^2 against a run of its own algorithm with FedAvg's weights, at the end of every round.

    Exact where the coins of Scaffnew are all the chance there is, else replicates and a one-sided limit, Bonferroni
    over the rounds.
    """
    if claim.lhs != Delta_T:
        return Tried(f"not tried: its left side is {claim.lhs}")
    known = constants(experiment.problem, experiment)
    reading = READINGS[claim.readings[0]]
    asked = [item for item in claim.assumptions_in(reading) if item.parts]
    for answer, item in ((in_floats(item, known), item) for item in asked):
        if answer is not None and not answer.holds:
            return Tried(f"assumption fails: {item.statement}: {answer.observed}")
    rounds = np.arange(experiment.rounds + 1)
    right = evaluate(claim.sides(reading).rhs, {**known, "T": rounds * float(experiment.tau)}) + 0 * rounds
    if claim.algorithm == Scaffnew.key and experiment.batch_size is None:
        low = mean = coins_of_scaffnew(experiment)[0]
    else:
        distance = run_algorithm(algorithm_named(claim.algorithm), experiment).distance_sq
        mean, low = distance.mean(0), band(distance, ERROR_RATE, distance.std(0) == 0).lower
    ratio = float((right[1:] / np.maximum(mean[1:], np.finfo(float).tiny)).min())
    wrong = low > right * (1 + ROUNDING)
    return Tried("refuted" if wrong.any() else "not refuted on these runs", ratio)


def coins_of_scaffnew(experiment: Experiment, q: float | None = None) -> tuple[Array, Array]:
    """(E||w_r - w*||^2, E Psi_r) (rounds + 1,) with full gradients, every sequence of coins run and weighed."""
    problem, tau, rounds = experiment.problem, experiment.tau, experiment.rounds
    if tau * rounds > LONGEST:
        raise ValueError(f"at most {LONGEST} steps can be enumerated, but received {tau * rounds}")
    q, eta = q or 1 / tau, float(experiment.eta(0))
    heads = np.array(list(itertools.product((True, False), repeat=tau * rounds)))
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


def one_step(problem: Problem, x: Array, eta: float) -> float:
    """E||x - eta grad F_i(x) - w*||^2 over clients: every one of them in turn."""
    return float(problem.p @ ((x - eta * problem.grads(x) - problem.w_star) ** 2).sum(-1))


def attained(claim: Claim, N: int, eta: float, L: float, mu: float, R: float, zeta: float) -> float:
    """The claim's bound over what its attaining instance reaches."""
    problem, x = attaining(N, eta, L, mu, R, zeta)
    known = {"L": L, "mu": mu, "eta": eta, "Delta": R**2, "zeta_star_sq": zeta**2, "sigma_sq": 0.0}
    return float(evaluate(claim.sides(READINGS[claim.readings[0]]).rhs, known)) / one_step(problem, x, eta)
