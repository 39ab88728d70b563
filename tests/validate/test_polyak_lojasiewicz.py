"""The bent problem: non-convex, Polyak-Lojasiewicz with an exact constant, and minima in closed form."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from fedbounds.study.run_study import check
from fedbounds.testing import check_problem
from fedbounds.theory.verdict import Status
from validate import polyak_lojasiewicz
from validate.polyak_lojasiewicz import BentProblem

PLUGIN = polyak_lojasiewicz.__file__


def bent(seed, N=3, d=2, bend=3.0, noise=0.0, spread=2.0):
    rng = np.random.default_rng(seed)
    return BentProblem(
        rng.uniform(1, 4, (N, d)), spread * rng.standard_normal((N, d)), rng.dirichlet(np.ones(N)), bend, noise
    )


@pytest.mark.parametrize("noise", [2.0])
def test_it_keeps_the_contract_of_problems(noise):
    check_problem(bent(5, noise=noise))


@pytest.mark.parametrize("seed", range(2))
def test_mixtures_are_minimised_globally(seed):
    problem = bent(seed, d=1)
    alpha = np.random.default_rng([seed, 2]).dirichlet(np.ones(problem.N))
    grid = np.linspace(-12, 12, 4001)
    k = int(np.argmin(problem.losses(grid[:, None]) @ alpha))
    result = minimize_scalar(
        lambda v: float(problem.losses(np.array([v])) @ alpha), bracket=(grid[k - 1], grid[k], grid[k + 1]), tol=1e-12
    )
    best = problem.argmin(alpha)
    assert best.value <= result.fun + 1e-12 * (1 + abs(result.fun))
    assert best.w[0] == pytest.approx(result.x, abs=1e-5)


def test_claims_that_assume_convexity_do_not_apply_and_lemma_1_does():
    keys = ("theorem-1", "corollary", "li-2020", "star-step", "fedavg-step", "lemma-1")
    sizes = {"clients": 3, "dimension": 2, "replicates": 8, "rounds": 4}
    result = check("pl", plugins=PLUGIN, weightings=["fedavg"], claims=keys, **sizes)
    for verdict in result.runs[0].verdicts:
        if verdict.claim == "lemma-1":
            assert verdict.status is Status.HOLDS
        else:
            assert verdict.status is Status.NOT_APPLICABLE and "not convex" in verdict.detail
