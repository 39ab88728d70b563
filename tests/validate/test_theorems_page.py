"""The page of the field's theorems names shipped claims, and what it says beyond the ledger is computed here."""

import re
from dataclasses import replace
from fractions import Fraction as Q
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

from fedbounds.algorithms.scaffnew import Scaffnew
from fedbounds.engine.replay import run_algorithm
from fedbounds.evidence.evaluate import evaluate
from fedbounds.model.algorithm import Round
from fedbounds.model.experiment import Experiment
from fedbounds.model.schedule import ConstantStep
from fedbounds.plugins import algorithm_named, claim_named, claims
from fedbounds.problems.quadratic import QuadraticProblem, quadratic
from fedbounds.theory.reading import READINGS
from fedbounds.weightings.fedavg import FedAvg

PAGE = (Path(__file__).parents[2] / "docs" / "theorems.md").read_text(encoding="utf-8")
SCAFFNEW, SGD = claim_named("mishchenko-2022"), claim_named("pepit-sgd-step")


def test_the_page_names_shipped_claims():
    keys = {key for line in PAGE.splitlines() if line.startswith("| ") for key in re.findall("`([^`]+)`", line)}
    assert len(keys) == 14 and keys <= claims().keys()


def skew(minima, selected, at):
    """rho of equal weights on the selected clients of curvature 1 and equal p, at a point."""
    gaps = [(at - Q(minimum)) ** 2 for minimum in minima]
    return sum(gaps[i] for i in selected) / len(selected) / (sum(gaps) / len(gaps))


def test_the_skew_of_a_selection_over_all_pairs_of_points():
    """FedMax: 0. FedMax(2): 1/4, the least value, as rho - 1/4 times the mean of (w' - m)^2 is (3 w' + 2)^2/12."""
    assert skew((1, -1), (1,), Q(-1)) == 0
    minima, pair = (-1, 0, 1), (0, 1)
    assert skew(minima, pair, Q(-2, 3)) == Q(1, 4)
    for at in (Q(k, 7) for k in range(-40, 40)):
        assert (skew(minima, pair, at) - Q(1, 4)) * sum((at - m) ** 2 for m in minima) / 3 == (3 * at + 2) ** 2 / 12
    assert all(skew(minima, (0, 2), Q(k, 7)) >= 1 for k in range(-40, 40))


def right_over_left(claim, eta, L, mu, R, zeta, N=3):
    """PEPit's step over what one step reaches, in the mean over clients, on an instance built to attain it."""
    angles, y = 2 * np.pi * np.arange(N) / N, np.array([R, 0.0, 0.0])
    slopes = zeta * np.stack([np.zeros(N), np.cos(angles), np.sin(angles)], -1)
    wanted = eta * slopes - (1 - eta * (L + mu) / 2) * y
    mirror = y / R - wanted / np.linalg.norm(wanted, axis=-1, keepdims=True)
    reflection = np.eye(3) - 2 * mirror[:, :, None] * mirror[:, None, :] / (mirror**2).sum(-1)[:, None, None]
    H = (L + mu) / 2 * np.eye(3) + (L - mu) / 2 * reflection
    minima = -np.linalg.solve(H, slopes[..., None])[..., 0]
    problem = QuadraticProblem(H=H, w_i_star=minima, F_i_star=np.zeros(N), p=np.full(N, 1 / N))
    reached = problem.p @ ((y - eta * problem.grads(y) - problem.w_star) ** 2).sum(-1)
    known = {"L": L, "mu": mu, "eta": eta, "Delta": R**2, "zeta_star_sq": zeta**2, "sigma_sq": 0.0}
    return float(evaluate(claim.sides(READINGS[claim.readings[0]]).rhs, known)) / float(reached)


def test_the_step_of_sgd_is_attained_and_a_smaller_constant_is_refuted():
    assert right_over_left(SGD, 1.0, 1.0, 0.5, 0.1, 1) == pytest.approx(1, abs=1e-9)
    less = replace(SGD, terms={"step": sp.Rational(999, 1000) * SGD.terms["step"]})
    assert right_over_left(less, 0.7, 1.0, 0.2, 1.0, 1.0) < 1


def over_coins(experiment, q):
    """(E||w_r - w*||^2, E Psi_r) of Scaffnew with full gradients, every sequence of coins run and weighed."""
    problem, tau, eta = experiment.problem, experiment.tau, float(experiment.eta(0))
    heads = np.array(list(product((True, False), repeat=tau * experiment.rounds)))
    chance, algorithm = np.where(heads, q, 1 - q).prod(-1), Scaffnew(q)
    state = algorithm.start(np.tile(experiment.start, (len(heads), 1)), problem.N)
    alpha, slopes, means = np.tile(problem.p, (len(heads), 1)), problem.grads(problem.w_star), []
    for r in range(experiment.rounds + 1):
        apart = ((state["x_i"] - problem.w_star) ** 2).sum(-1) @ problem.p
        potential = apart + (eta / q) ** 2 * ((state["h_i"] - slopes) ** 2).sum(-1) @ problem.p
        means.append((chance @ ((state["w"] - problem.w_star) ** 2).sum(-1), chance @ potential))
        if r < experiment.rounds:
            coins = np.where(heads[:, r * tau : (r + 1) * tau], 0.0, 1.0).T
            state = algorithm.round(state, Round(problem, alpha, alpha > 0, np.full(tau, eta), None, coins))
    return np.array(means).T


def scaffnew_run(**more):
    rng = np.random.default_rng(20)
    problem = quadratic(np.exp(rng.uniform(0, np.log(8), (4, 2))), rng.standard_normal((4, 2)), rng=rng)
    shape = {"tau": 4, "rounds": 3, "replicates": 4000, "batch_size": None, "w0": np.full(2, 3.0), "seed": 20}
    return Experiment(problem, FedAvg(), ConstantStep(1 / problem.L), **shape | more)


def test_scaffnews_rate_holds_over_all_coins_and_without_its_start_does_not():
    run = scaffnew_run()
    distance, _ = over_coins(run, 1 / run.tau)
    problem = run.problem
    zeta = float(problem.p @ (problem.grads(problem.w_star) ** 2).sum(-1))
    known = {"L": problem.L, "mu": problem.mu, "tau": 4.0, "N": 4.0, "eta_0": 1 / problem.L, "sigma_sq": 0.0}
    known |= {"Delta_0": distance[0], "zeta_star_sq": zeta, "T": 4.0 * np.arange(4)}
    assert (distance <= evaluate(SCAFFNEW.sides(READINGS[SCAFFNEW.readings[0]]).rhs, known)).all()
    wrong = replace(SCAFFNEW, terms=SCAFFNEW.terms | {"start": sp.Integer(0)})
    assert (distance > evaluate(wrong.sides(READINGS[SCAFFNEW.readings[0]]).rhs, known) + 0 * distance).any()
    many = run_algorithm(algorithm_named("scaffnew"), run).distance_sq
    assert np.abs(many.mean(0) - distance).max() < 5 * (many.std(0) / np.sqrt(len(many))).max()


def test_scaffnews_factor_is_attained_in_one_iteration():
    """Curvatures 1, eta = 1 and w_0 = w*: (1 - q^2) Psi_0 is E Psi_1, so that q^2 cannot be improved."""
    problem = quadratic(np.ones((2, 1)), np.array([[1.0], [-1.0]]))
    run = Experiment(problem, FedAvg(), ConstantStep(1.0), 1, 1, 1, None, w0=np.zeros(1))
    _, potential = over_coins(run, 0.25)
    assert potential[1] == pytest.approx((1 - 0.25**2) * potential[0], abs=1e-12)
