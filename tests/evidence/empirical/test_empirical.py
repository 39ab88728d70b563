"""Empirical verdicts: false claims refuted on hand-made instances, true ones not, and nothing overclaimed."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from fedbounds.engine.simulate import simulate
from fedbounds.errors import InputError
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.evidence.measured_run import Policy, examine_run
from fedbounds.model.experiment import Experiment
from fedbounds.model.schedule import ConstantStep, InverseTime
from fedbounds.plugins import claims
from fedbounds.problems.quadratic import quadratic
from fedbounds.theory.assumptions import full_participation
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import Delta, Delta_next, eta, gap, mu, sigma_p_sq
from fedbounds.theory.verdict import Status
from fedbounds.weightings.fedavg import FedAvg
from fedbounds.weightings.fedmax import FedMax

KNOWN = claims()


def pair(p=(0.5, 0.5), minima=(-1.0, 1.0), noise_std=0.0, curvature=1.0):
    return quadratic(np.full((2, 1), curvature), np.array(minima)[:, None], np.array(p), noise_std=noise_std)


def noiseless(problem, weighting, eta, **changes):
    base = {"tau": 2, "rounds": 1, "replicates": 1, "batch_size": None, "engine": "reference"}
    return simulate(Experiment(problem=problem, weighting=weighting, eta=eta, **(base | changes)))


def examine(key, trajectory, reading="repaired", policy=None, error_rate=1e-3):
    claim = KNOWN[key] if isinstance(key, str) else key
    return empirical.examine(claim, examine_run(trajectory, READINGS[reading], policy), error_rate)


def test_lemma_2_is_false_for_arbitrary_steps():
    """F_i = (w -/+ 1)^2/2, w_0 = 0, eta = (1/4, 1/100): the drift 1/16 exceeds 16 eta^2 tau^2 G^2 = 4/625."""
    trajectory = noiseless(pair(), FedAvg(), lambda t: (0.25, 0.01)[t])
    verdict = examine("lemma-2", trajectory, "literal")
    assert verdict.status is Status.REFUTED and verdict.worst_t == 1 and verdict.error_rate == 0
    assert verdict.data["lhs"] == pytest.approx(1 / 16) and verdict.data["rhs"] == pytest.approx(4 / 625)
    repaired = examine("lemma-2", trajectory, "repaired")
    assert repaired.status is Status.NOT_APPLICABLE and "earlier step size" in repaired.detail


@pytest.fixture(scope="module")
def rare_client():
    """A client of weight 1e-4 that FedMax follows for a round: rho is 1/p at its start and 9 a step later."""
    problem = pair(p=(1e-4, 1 - 1e-4), minima=(1.0, 0.0))
    return noiseless(problem, FedMax(), InverseTime(1.0, 4.0))


def test_theorem_1_is_false_with_rho_bar_at_synchronisation_times(rare_client):
    verdict = examine("theorem-1", rare_client, "sync")
    assert verdict.status is Status.REFUTED and verdict.worst_t == 1 and verdict.data["rhs"] < 0
    assert examine("theorem-1", rare_client, "repaired").status is Status.HOLDS
    assert examine("sharper-step", rare_client).status is Status.HOLDS


def test_fedmax_has_a_floor_and_fedavg_has_none():
    problem = quadratic(np.array([[1.0], [2.0]]), np.array([[0.0], [1.0]]), np.array([0.7, 0.3]))
    eta = InverseTime(problem.mu, 4 * problem.L / problem.mu)
    floor = examine("rate", noiseless(problem, FedMax(), eta, tau=1, rounds=1000, w0=np.array([2.0])), "literal")
    assert floor.status is Status.REFUTED
    # With steps going to 0 the iterate settles where both gaps agree: w^2/2 = (1 - w)^2, w = sqrt(2)/(1 + sqrt(2)).
    w = np.sqrt(2) / (1 + np.sqrt(2))
    exact = float(problem.gap(np.array([w])))
    assert floor.data["floor"][0] <= exact * 1.05 and floor.data["floor"][1] >= exact * 0.95
    assert exact < floor.data["error_term"]
    average = examine("rate", noiseless(problem, FedAvg(), eta, tau=2, rounds=1000, w0=np.array([2.0])), "literal")
    assert average.status is Status.UNDECIDED and "no floor" in average.detail


def noisy():
    protocol = {
        "tau": 1,
        "rounds": 100,
        "replicates": 64,
        "batch_size": 1,
        "engine": "reference",
        "w0": np.array([3.0]),
    }
    return simulate(Experiment(pair(noise_std=1.0), FedAvg(), ConstantStep(0.1), **protocol))


# Equal curvature h = 1 under FedAvg with tau = 1: E Delta_{t+1} = (1 - eta h)^2 Delta_t + eta^2 sum p_i^2 sigma_i^2.
EQUALITY = Claim(
    "equality", "One step of averaged SGD on equal quadratics", "closed form", "step", Delta_next,
    {"contraction": (1 - eta * mu) ** 2 * Delta, "noise": eta**2 * sigma_p_sq}, Kind.IDENTITY, (full_participation,),
)  # fmt: skip


@pytest.fixture(scope="module")
def noisy_run():
    return noisy()


def test_an_equality_is_confirmed_and_its_mutants_refuted(noisy_run):
    trajectory = noisy_run
    assert examine(EQUALITY, trajectory).status is Status.HOLDS
    for factor in (sp.Rational(99, 100), sp.Rational(101, 100)):
        off = replace(EQUALITY, terms=EQUALITY.terms | {"noise": factor * EQUALITY.terms["noise"]})
        assert examine(off, trajectory).status is Status.REFUTED
    as_bound = replace(EQUALITY, kind=Kind.INEQUALITY)
    assert examine(as_bound, trajectory).status is Status.HOLDS
    weaker = replace(as_bound, terms={"contraction": EQUALITY.terms["contraction"]})
    assert examine(weaker, trajectory).status is Status.REFUTED


def test_a_horizon_claim_with_noise_is_decided_by_its_band(noisy_run):
    below = Claim("c", "gap below its mean", "test", "horizon", gap, {"bound": sp.Integer(10)}, readings=("literal",))
    assert examine(below, noisy_run, "literal").status is Status.HOLDS
    above = replace(below, terms={"bound": sp.Rational(1, 10000)})
    verdict = examine(above, noisy_run, "literal")
    assert verdict.status is Status.REFUTED and verdict.error_rate == 1e-3 and verdict.margin < 0


def test_given_constants_that_the_run_exceeds_make_a_claim_not_applicable(noisy_run):
    policy = Policy(sigma_sq=10.0, G_sq=1e-6)
    verdict = examine("theorem-1", noisy_run, "sync", policy)
    assert verdict.status is Status.NOT_APPLICABLE and "G_sq" in verdict.detail
    generous = Policy(sigma_sq=10.0, G_sq=1e3)
    assert examine("theorem-1", noisy_run, "sync", generous).status is Status.HOLDS
    with pytest.raises(InputError, match="both"):
        Policy(G_sq=1.0)
