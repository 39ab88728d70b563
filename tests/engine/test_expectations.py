"""Exact expectations against enumeration, closed forms, the joint covariance of all clients, and sampled runs."""

import itertools

import numpy as np
import pytest
from problem_zoo import binary_problem, quadratic_problem, ridge_problem

from fedbounds.engine import expectations, quadratic_clients
from fedbounds.engine.simulate import simulate
from fedbounds.errors import DivergedError, InputError
from fedbounds.evidence.empirical.bands import band
from fedbounds.model.experiment import Experiment
from fedbounds.model.schedule import ConstantStep, InverseTime
from fedbounds.problems.least_squares import LeastSquaresProblem
from fedbounds.weightings.fedavg import FedAvg
from fedbounds.weightings.fedmax import FedMax
from fedbounds.weightings.fixed import Fixed

# Sums of a few hundred products, in another order on each side.
ROUNDING = 1e-11
ALPHA = Fixed((0.4, 0.1, 0.3, 0.2))
FIELDS = ("distance_sq", "gap", "drift")


def make(problem, weighting=None, **changes):
    settings = {"tau": 3, "rounds": 4, "replicates": 1, "batch_size": 1, "w0": np.arange(problem.d) - 0.7}
    step = InverseTime(problem.mu, 4 * problem.L / problem.mu)
    return Experiment(problem, weighting or FedAvg(), step, **(settings | changes))


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("tau", [2])
@pytest.mark.parametrize("entries", [0, 2**17], ids=["samples", "table"])
def test_two_steps_by_enumeration_of_every_minibatch(tau, replacement, entries, monkeypatch):
    monkeypatch.setattr(quadratic_clients, "TABLE_ENTRIES", entries)
    monkeypatch.setattr(quadratic_clients, "COLUMNS_PER_SAMPLE", 1000)  # clients here hold few samples
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((2, 3, 2)), rng.standard_normal((2, 3))
    problem = LeastSquaresProblem(list(X), list(y), 0.2, np.array([0.3, 0.7]))
    weighting = Fixed((0.6, 0.4))
    alpha = np.array(weighting.weights)
    experiment = make(problem, weighting, tau=tau, rounds=2 // tau, batch_size=2, replacement=replacement)
    batches = list(itertools.product(range(3), repeat=2) if replacement else itertools.combinations(range(3), 2))
    steps = np.array(list(itertools.product(batches, repeat=4))).reshape(-1, 2, 2, 2)  # sequence, step, client, b
    x = np.broadcast_to(experiment.start, (len(steps), 2, 2))
    result = simulate(experiment, exact=True)
    for t in range(3):
        for name, weights in (("alpha", alpha), ("p", problem.p if t % tau else alpha)):
            w = np.einsum("n,rnd->rd", weights, x)
            measured = {
                "distance_sq": ((w - problem.w_star) ** 2).sum(-1),
                "gap": problem.gap(w),
                "drift": ((w[:, None] - x) ** 2).sum(-1) @ alpha,
            }
            for field, values in measured.items():
                exact = getattr(result.paths[name], field)[0, t]
                np.testing.assert_allclose(exact, values.mean(), rtol=ROUNDING, atol=1e-14)
        mean_excess = problem.excess(np.einsum("n,rnd->rd", alpha, x)).mean(0)
        np.testing.assert_allclose(result.excess[0, t], mean_excess, rtol=ROUNDING)
        sums = [alpha @ mean_excess, problem.p @ mean_excess]
        np.testing.assert_allclose(result.skew_sums[0, t, :2], sums, rtol=ROUNDING)
        if t < 2:
            x = x - experiment.eta(t) * problem.client_grads(x, steps[:, t])
            if (t + 1) % tau == 0:
                x = np.broadcast_to(np.einsum("n,rnd->rd", alpha, x)[:, None], x.shape)


@pytest.mark.parametrize("build", [quadratic_problem, ridge_problem])
@pytest.mark.parametrize("weighting", [FedAvg(), ALPHA])
def test_full_gradients_are_the_simulators(build, weighting):
    experiment = make(build(3), weighting, batch_size=None, rounds=6)
    exact, run = simulate(experiment, exact=True), simulate(experiment)
    for name in ("alpha", "p"):
        for field in (*FIELDS, "next_distance_sq", "next_mean"):
            result, wanted = (getattr(each.paths[name], field) for each in (exact, run))
            np.testing.assert_allclose(result, wanted, rtol=1e-12, atol=1e-15)
    for field in ("excess", "grad_sq", "local_excess", "skew_sums", "alpha", "times", "round_times"):
        np.testing.assert_allclose(getattr(exact, field), getattr(run, field), rtol=1e-12, atol=1e-13)
    for field in ("rho_bar_all", "rho_bar_sync", "rho_star_max", "pi_min", "pi_max", "G_sq", "radius"):
        np.testing.assert_allclose(getattr(exact.extremes, field), getattr(run.extremes, field), rtol=1e-12)


@pytest.mark.parametrize("build", [ridge_problem])
@pytest.mark.parametrize("weighting", [ALPHA])
def test_the_band_of_2048_replicates_contains_the_expectation(build, weighting):
    experiment = make(build(7), weighting, replicates=2048, rounds=10)
    exact, run = simulate(experiment, exact=True), simulate(experiment)
    for name in ("alpha", "p"):
        for field in (*FIELDS, "next_mean"):
            values, wanted = (getattr(each.paths[name], field)[:, :-1] for each in (run, exact))
            random = values.std(axis=0) > 0
            interval = band(values[:, random])
            assert (interval.lower <= wanted[0, random]).all() and (wanted[0, random] <= interval.upper).all()
            width = (interval.upper - interval.lower)[5:] / interval.mean[5:]
            assert width.max() < 2, "a band this wide would contain anything"
            np.testing.assert_allclose(wanted[0, ~random], values[0, ~random], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("experiment", "words"),
    [
        (make(ridge_problem(0), FedMax()), "depend on w"),
        (make(binary_problem(0)), "Hessians must be constant"),
        (make(ridge_problem(0), participation=0.5), "C = 0.5"),
    ],
)
def test_where_moments_do_not_close_the_reason_is_given(experiment, words):
    assert words in expectations.not_applicable(experiment)
    with pytest.raises(InputError, match=words):
        simulate(experiment, exact=True)


def test_an_unstable_step_is_reported_with_its_time():
    experiment = make(ridge_problem(0), rounds=400).with_(eta=ConstantStep(5.0))
    with pytest.raises(DivergedError, match=r"in expectation.*2/L"):
        simulate(experiment, exact=True)
