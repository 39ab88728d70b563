"""Theories other than the paper's: never refuted where their assumptions hold, refuted once a term is taken away."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problem_zoo import ZOO

from fedbounds.claims.khaled2020 import AT_OPTIMUM, IDENTICAL
from fedbounds.claims.stich2019 import DRIFT, STEP
from fedbounds.engine.simulate import simulate
from fedbounds.evidence import expectation
from fedbounds.evidence.assumption_checks import on_run
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.evidence.measured_run import examine_run
from fedbounds.model.schedule import ConstantStep
from fedbounds.problems.quadratic import quadratic
from fedbounds.referee.regimes import experiment, quadratics
from fedbounds.testing import problems
from fedbounds.theory import assumptions as a
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status
from fedbounds.weightings.fedavg import FedAvg
from fedbounds.weightings.fedmax import FedMax

THEORIES = (IDENTICAL, AT_OPTIMUM, STEP, DRIFT)
ON_ONE_FUNCTION = (IDENTICAL, STEP)
LITERAL = READINGS["literal"]


def largest_step(problem, tau):
    """A step that every one of the theories allows."""
    return 1 / (8 * problem.sample_smoothness * max(1, tau - 1))


def run(problem, tau=4, rounds=12, step=None, weighting=None, **others):
    eta = ConstantStep(largest_step(problem, tau) if step is None else step)
    made = experiment(problem, 2 * np.ones(problem.d), weighting or FedAvg(), eta, tau, rounds, **others)
    return examine_run(simulate(made), LITERAL)


def exact(problem, **others):
    """The claim's two sides without sampling error, where expectations are computed."""
    made = run(problem, **others).trajectory.experiment
    return expectation.exact_run(simulate(made, exact=True), LITERAL)


def same_quadratics(N=3, noise=1.0):
    return quadratics([[1.0, 6.0]] * N, [[0.5, -1.0]] * N, noise=noise)


def different_quadratics(noise=0.5):
    return quadratics(
        [[1.0, 6.0], [6.0, 1.0], [2.0, 2.0]], [[3.0, 0.0], [0.0, -3.0], [-2.0, 1.0]], [0.5, 0.3, 0.2], noise
    )


@settings(max_examples=20, deadline=None)
@given(problems(), st.integers(1, 6), st.integers(1, 8), st.sampled_from((1.0, 0.3)))
def test_moments_at_the_optimum_suffice_on_any_quadratics(problem, tau, rounds, share):
    result = exact(problem, tau=tau, rounds=rounds, step=share * largest_step(problem, tau))
    for claim in (AT_OPTIMUM, DRIFT):
        assert expectation.examine(claim, result).status is Status.HOLDS


# What each term is for: an instance on which the claim without it is false.
NEEDED = [
    (IDENTICAL, "start", same_quadratics(noise=0.0), {}),
    (IDENTICAL, "noise", same_quadratics(noise=30.0), {"rounds": 200, "tau": 1}),
    (AT_OPTIMUM, "start", different_quadratics(), {}),
    (AT_OPTIMUM, "noise", same_quadratics(noise=30.0), {"rounds": 200, "tau": 1}),
    (AT_OPTIMUM, "drift", quadratics([[1.0], [2.0]], [[4.0], [-4.0]]), {"rounds": 300, "tau": 6}),
    (STEP, "variance", same_quadratics(noise=30.0), {"rounds": 200, "tau": 1}),
    (DRIFT, "drift", different_quadratics(noise=0.0), {}),
]


@pytest.mark.parametrize(("claim", "term", "problem", "others"), NEEDED, ids=lambda x: getattr(x, "key", None))
def test_without_a_term_they_are_refuted(claim, term, problem, others):
    result = exact(problem, **others)
    assert expectation.examine(claim, result).status is Status.HOLDS
    without = replace(claim, terms={**claim.terms, term: 0 * claim.terms[term]})
    assert expectation.examine(without, result).status is Status.REFUTED


def test_what_they_assume_is_checked():
    for claim in ON_ONE_FUNCTION:
        assert "same function" in empirical.examine(claim, run(different_quadratics())).detail
        assert "1/N" in empirical.examine(claim, run(quadratics([[1.0]] * 2, [[0.0]] * 2, [0.7, 0.3]))).detail
    too_long = run(same_quadratics(noise=0.0), step=0.3)
    assert "eta_t <= 1/(4L)" in empirical.examine(STEP, too_long).detail
    assert "the claim asks" in empirical.examine(IDENTICAL, too_long).detail
    biased = run(different_quadratics(), weighting=FedMax(1))
    assert all(empirical.examine(c, biased).status is Status.NOT_APPLICABLE for c in THEORIES)
    decaying = experiment(same_quadratics(), [1.0, 1.0], eta=lambda t: 0.01 / (1 + t), tau=4)
    assert "at most 2 eta_t" in empirical.examine(DRIFT, examine_run(simulate(decaying), LITERAL)).detail


def test_identical_means_the_same_function():
    def one(minima, spectra):
        return on_run(a.identical, run(quadratic(np.array(spectra), np.array(minima)))).holds

    assert one([[1.0, 2.0]] * 3, [[1.0, 3.0]] * 3)
    assert not one([[1.0, 2.0], [1.0, 2.000001]], [[1.0, 3.0]] * 2)
    assert not one([[1.0, 2.0]] * 2, [[1.0, 3.0], [1.0, 3.000001]])


def test_the_moments_at_the_optimum_are_those_of_the_gradients():
    problem = ZOO["least-squares"](3)
    constants = run(problem, replicates=8, rounds=1, batch_size=1).constants
    weighted, second = 0.0, 0.0
    for i, (X, y) in enumerate(zip(problem.features, problem.targets, strict=True)):
        each = (X @ problem.w_star - y)[:, None] * X + problem.regularisation * problem.w_star
        weighted += problem.p[i] ** 2 * ((each - each.mean(0)) ** 2).sum(1).mean()
        second += problem.p[i] * (each**2).sum(1).mean()
    assert constants["sigma_opt_sq"].value == pytest.approx(weighted, rel=1e-9)
    assert constants["sigma_dif_sq"].value == pytest.approx(second, rel=1e-9)
    full = run(problem, replicates=1, rounds=1, batch_size=None).constants
    assert full["sigma_opt_sq"].value == 0 and full["L_sample"].value == problem.L
