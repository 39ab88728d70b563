"""The bent problem: non-convex, Polyak-Lojasiewicz with an exact constant, and minima in closed form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as profiles
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from fedbounds.engine.simulate import simulate
from fedbounds.errors import InputError
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.evidence.run_constants import examine_run
from fedbounds.model.experiment import Experiment
from fedbounds.plugins import claims
from fedbounds.study.check import check
from fedbounds.study.resolve import build_problem, theory_step
from fedbounds.study.settings import Settings
from fedbounds.theory import assumptions as a
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status
from fedbounds.weightings.fedavg import FedAvg
from validate import polyak_lojasiewicz
from validate.polyak_lojasiewicz import BentProblem, rise, unbent

profiles.load_profile("fedbounds")
PLUGIN = polyak_lojasiewicz.__file__
# Products and tanh of doubles, some dozen operations deep.
ROUNDING = 1e-12
finite = st.floats(-30, 30)


def bent(seed, N=3, d=2, bend=3.0, noise=0.0, spread=2.0):
    rng = np.random.default_rng(seed)
    return BentProblem(
        rng.uniform(1, 4, (N, d)), spread * rng.standard_normal((N, d)), rng.dirichlet(np.ones(N)), bend, noise
    )


@given(v=finite, m=finite, s=st.floats(0.01, 10))
def test_rise_is_a_difference_of_values_and_unbent_its_inverse(v, m, s):
    def phi(x):
        return x + s * np.tanh(x)

    assert rise(v, m, s) == pytest.approx(phi(v) - phi(m), rel=1e-9, abs=1e-12 * (1 + s))
    assert unbent(np.array(phi(v)), s) == pytest.approx(v, rel=1e-13, abs=1e-300)


def test_rise_keeps_its_digits_near_the_minimum():
    m, step = 0.7, 1e-12
    slope = 1 + 3.0 / np.cosh(m) ** 2
    assert rise(m + step, m, 3.0) == pytest.approx(slope * ((m + step) - m), rel=1e-9)


@given(seed=st.integers(0, 10**6), scale=st.sampled_from([0.01, 1.0, 5.0, 30.0]))
def test_the_inequality_holds_for_clients_and_for_every_mixture(seed, scale):
    problem, rng = bent(seed), np.random.default_rng([seed, 1])
    w = problem.w_star + scale * rng.standard_normal((50, problem.d))
    grads, excess = problem.grads(w), problem.excess(w)
    assert np.all((grads**2).sum(-1) >= 2 * problem.mu * excess * (1 - ROUNDING))
    alpha = rng.dirichlet(np.ones(problem.N))
    best = problem.argmin(alpha)
    mixed = ((alpha @ grads) ** 2).sum(-1)
    gap = excess @ alpha - best.value
    assert np.all(mixed >= 2 * problem.mu * gap - 1e-10 * (1 + np.abs(gap)))


def test_no_larger_constant_would_do():
    problem = BentProblem(np.ones((1, 1)), np.zeros((1, 1)), np.ones(1))
    w = np.array([[40.0]])
    ratio = (problem.grads(w) ** 2).sum() / (2 * problem.excess(w).sum())
    assert problem.mu == 1.0 and ratio == pytest.approx(1.0, rel=1e-12)


@given(seed=st.integers(0, 10**6), bend=st.sampled_from([0.1, 1.0, 10.0]), spread=st.sampled_from([0.1, 2.0, 10.0]))
def test_L_bounds_every_second_derivative(seed, bend, spread):
    problem = bent(seed, bend=bend, spread=spread)
    w = np.linspace(-15, 15, 2001)[:, None] * np.ones(problem.d)
    h = 1e-5
    second = (problem.grads(w + h) - problem.grads(w - h)) / (2 * h)
    assert np.abs(second).max() <= problem.L
    # ... and is no wild overestimate.
    assert np.abs(second).max() > problem.L / 8


def test_it_is_not_convex():
    problem = BentProblem(np.ones((1, 1)), np.array([[-3.0]]), np.ones(1))
    w = np.linspace(0, 2, 201)[:, None]
    assert not problem.convex and np.diff(problem.grads(w)[:, 0, 0]).min() < -0.01


@given(seed=st.integers(0, 10**6))
def test_mixtures_are_minimised_globally(seed):
    problem = bent(seed, d=1)
    alpha = np.random.default_rng([seed, 2]).dirichlet(np.ones(problem.N))
    grid = np.linspace(-12, 12, 4001)
    values = problem.losses(grid[:, None]) @ alpha
    k = int(np.argmin(values))
    found = minimize_scalar(
        lambda v: float(problem.losses(np.array([v])) @ alpha), bracket=(grid[k - 1], grid[k], grid[k + 1]), tol=1e-12
    )
    best = problem.argmin(alpha)
    assert best.value <= found.fun + 1e-12 * (1 + abs(found.fun))
    assert best.w[0] == pytest.approx(found.x, abs=1e-5)


def test_a_common_minimiser_is_returned_to_the_last_bit():
    m = np.array([0.1, -2.3])
    problem = BentProblem(np.array([[1.0, 2.0], [3.0, 1.0]]), np.stack([m, m]), np.array([0.3, 0.7]))
    np.testing.assert_array_equal(problem.w_star, m)
    assert float(problem.Gamma) == 0 and problem.gap(m) == 0


def test_the_gap_keeps_its_digits_near_the_minimum():
    problem = bent(4)
    step = 1e-9
    near = problem.gap(problem.w_star + step)
    farther = problem.gap(problem.w_star + 2 * step)
    assert farther / near == pytest.approx(4, rel=1e-5) and near > 0


def test_noise_has_the_stated_variance():
    problem = bent(5, noise=2.0)
    draws = np.random.default_rng(0).standard_normal((40_000, problem.N, problem.d)) / np.sqrt(4)
    x = np.zeros((1, problem.d))
    noise = problem.client_grads(x, draws) - problem.client_grads(x)
    # The mean of 40000 sums of two squares has a relative standard deviation of 0.5%.
    np.testing.assert_allclose((noise**2).sum(-1).mean(0), problem.client_variance(x, 4), rtol=0.025)


CONVEX = {
    "theorem-1", "corollary", "error-free", "error-free-step", "final-bound", "li-2020", "cho-2020",
    "sharper-step", "sharper-corollary", "star-step", "star-corollary", "fedavg-step", "growth-step",
}  # fmt: skip


def test_claims_that_assume_convexity_do_not_apply_and_say_why():
    sizes = {"clients": 3, "dimension": 2, "replicates": 8, "rounds": 4}
    result = check("pl", plugins=PLUGIN, weightings=["fedavg"], claims=sorted(CONVEX), **sizes)
    verdicts = result.runs[0].verdicts
    assert {v.claim for v in verdicts} == CONVEX
    for verdict in verdicts:
        assert verdict.status is Status.NOT_APPLICABLE and "not convex" in verdict.detail


def test_every_claim_with_the_assumption_of_convexity_names_it():
    problem = build_problem(Settings(problem="pl", clients=3, dimension=2), [polyak_lojasiewicz])
    trajectory = simulate(Experiment(problem, FedAvg(), theory_step(problem), 2, 5, 8, 1))
    for key, claim in claims().items():
        run = examine_run(trajectory, READINGS[claim.readings[-1]])
        if (
            "mu" in {s.name for s in claim.rhs.subs(dict(claim.definitions)).free_symbols}
            and claim.scope != "constant"
            and a.strongly_convex in claim.assumptions
        ):
            assert empirical.examine(claim, run).status is Status.NOT_APPLICABLE, key


def test_lemma_1_needs_no_convexity():
    sizes = {"clients": 4, "dimension": 3, "replicates": 8, "rounds": 10}
    result = check("pl", plugins=PLUGIN, weightings=["fedmax"], claims=["lemma-1"], **sizes)
    assert all(v.status is Status.HOLDS for v in result.runs[0].verdicts)


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"curvatures": np.zeros((2, 1))}, "curvatures"),
        ({"curvatures": np.ones((3, 1))}, "curvatures"),
        ({"w_i_star": np.ones(2)}, "w_i_star"),
        ({"w_i_star": np.array([[np.nan], [0.0]])}, "w_i_star"),
        ({"p": np.array([0.5, 0.6])}, "p must"),
        ({"bend": 0.0}, "bend"),
        ({"noise_std": -1.0}, "noise_std"),
    ],
)
def test_bad_input_is_refused_in_words(changes, words):
    good = {"curvatures": np.ones((2, 1)), "w_i_star": np.zeros((2, 1)), "p": np.full(2, 0.5)}
    with pytest.raises(InputError, match=words):
        BentProblem(**(good | changes))


def test_it_is_generated_only():
    with pytest.raises(InputError, match="generated"):
        build_problem(Settings(problem="pl", data="regression:1"), [polyak_lojasiewicz])
