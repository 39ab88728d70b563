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


def sample_covariance(problem, i, mean, covariance, experiment):
    """E Cov(g_i | x_i) from one gradient a sample: the law of total expectation, written out."""
    b, d = experiment.batch_size, problem.d
    if b is None:
        return np.zeros((d, d))
    if problem.sampling == "normal":
        return np.eye(d) * problem.noise_std[i] ** 2 / (d * b)
    X, y = problem.features[i], problem.targets[i]
    n = len(X)
    second = np.zeros((d, d))
    for x, target in zip(X, y, strict=True):
        slope = x @ mean - target
        second += np.outer(x, x) * (slope**2 + x @ covariance @ x) / n
    S = X.T @ X / n
    centre = S @ mean - X.T @ y / n
    factor = 1 if experiment.replacement else (n - b) / max(n - 1, 1)
    return (second - np.outer(centre, centre) - S @ covariance @ S) * factor / b


def joint_recursion(experiment, aggregates):
    """Mean (N d,) and covariance (N d, N d) of all local models together, at every t; no structure is used."""
    problem, d, N = experiment.problem, experiment.problem.d, experiment.problem.N
    H = quadratic_clients.hessians(problem)[0]
    alpha = experiment.rule(problem.p, np.zeros((1, N)), 0, None)[0]
    gather = np.kron(np.outer(np.ones(N), alpha), np.eye(d))
    mean, covariance = np.tile(experiment.start, N), np.zeros((N * d, N * d))
    states = [(mean, covariance)]
    for t in range(experiment.total_steps):
        eta = experiment.eta(t)
        A, pull, Q = np.eye(N * d), np.zeros(N * d), np.zeros((N * d, N * d))
        for i in range(N):
            own = slice(i * d, (i + 1) * d)
            A[own, own] -= eta * H[i]
            pull[own] = eta * H[i] @ problem.w_i_star[i]
            Q[own, own] = sample_covariance(problem, i, mean[own], covariance[own, own], experiment)
        mean, covariance = A @ mean + pull, A @ covariance @ A.T + eta**2 * Q
        if aggregates(t + 1):
            mean, covariance = gather @ mean, gather @ covariance @ gather.T
        states.append((mean, covariance))
    return alpha, states


def path_of(problem, alpha, weights, state):
    """E||w - w*||^2, E F(w) - F*, E drift, for w = sum_i weights_i x_i."""
    N, d = problem.N, problem.d
    H = quadratic_clients.hessians(problem)[0]

    def second(c):  # E v v^T for v = sum_i c_i x_i - (sum_i c_i) w*
        row = np.kron(c[None, :], np.eye(d))
        centre = row @ state[0] - c.sum() * problem.w_star
        return np.outer(centre, centre) + row @ state[1] @ row.T

    M = second(weights)
    drift = sum(alpha[i] * np.trace(second(weights - np.eye(N)[i])) for i in range(N))
    return np.trace(M), np.trace(M @ np.tensordot(problem.p, H, 1)) / 2, drift


CASES = {
    "ridge, FedAvg": (ridge_problem, {}),
    "ridge, fixed": (ridge_problem, {"weighting": ALPHA, "batch_size": 2}),
    "ridge, no replacement": (ridge_problem, {"weighting": ALPHA, "replacement": False}),
    "ridge, full gradients": (ridge_problem, {"weighting": ALPHA, "batch_size": None}),
    "ridge, tau = 1": (ridge_problem, {"weighting": ALPHA, "tau": 1, "rounds": 9}),
    "ridge, equation (2)": (ridge_problem, {"weighting": ALPHA, "aggregation": "equation-2"}),
    "quadratic, FedAvg": (quadratic_problem, {}),
    "quadratic, fixed": (quadratic_problem, {"weighting": ALPHA, "batch_size": 3}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("form", ["table", "samples"])
def test_every_curve_agrees_with_the_joint_covariance_of_all_clients(case, form, monkeypatch):
    if form == "samples":
        monkeypatch.setattr(quadratic_clients, "TABLE_ENTRIES", 0)
    else:  # the clients of the zoo hold fewer samples than a table is wide
        monkeypatch.setattr(quadratic_clients, "COLUMNS_PER_SAMPLE", 1000)
    build, changes = CASES[case]
    problem = build(1)
    experiment = make(problem, **changes)
    trajectory = simulate(experiment, exact=True)
    first = 0 if experiment.aggregation == "algorithm-1" else 1
    alpha, states = joint_recursion(experiment, lambda t: (t - first) % experiment.tau == 0)
    for name, weights in (("alpha", alpha), ("p", problem.p)):
        for k, state in enumerate(states):
            gathered = k > 0 and (k - first) % experiment.tau == 0
            expected = path_of(problem, alpha, alpha if gathered or name == "alpha" else weights, state)
            found = [getattr(trajectory.paths[name], field)[0, k] for field in FIELDS]
            np.testing.assert_allclose(found, expected, rtol=ROUNDING, atol=1e-13)
    check_clients(problem, experiment, trajectory, states)


def check_clients(problem, experiment, trajectory, states):
    """Gradients, excesses and variances at the local models, and sigma_sq and G_sq in the `total` reading."""
    H, d = quadratic_clients.hessians(problem)[0], problem.d
    largest = np.zeros((2, problem.N))
    for k, (mean, covariance) in enumerate(states):
        for i in range(problem.N):
            own = slice(i * d, (i + 1) * d)
            u = mean[own] - problem.w_i_star[i]
            M = np.outer(u, u) + covariance[own, own]
            grad_sq = np.trace(H[i] @ M @ H[i])
            np.testing.assert_allclose(trajectory.grad_sq[0, k, i], grad_sq, rtol=ROUNDING)
            np.testing.assert_allclose(trajectory.local_excess[0, k, i], np.trace(H[i] @ M) / 2, rtol=ROUNDING)
            if k < experiment.total_steps:
                noise = np.trace(sample_covariance(problem, i, mean[own], covariance[own, own], experiment))
                largest[:, i] = np.maximum(largest[:, i], [noise, noise + grad_sq])
    extremes = trajectory.extremes
    np.testing.assert_allclose(extremes.sigma_i_sq[0], largest[0], rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(extremes.sigma_sq_mean, largest[0].max(), rtol=ROUNDING, atol=1e-13)
    np.testing.assert_allclose([extremes.G_sq[0], extremes.G_sq_mean], largest[1].max(), rtol=ROUNDING)


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("tau", [1, 2])
def test_two_steps_by_enumeration_of_every_minibatch(tau, replacement):
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((2, 3, 2)), rng.standard_normal((2, 3))
    problem = LeastSquaresProblem(list(X), list(y), 0.2, np.array([0.3, 0.7]))
    weighting = Fixed((0.6, 0.4))
    alpha = np.array(weighting.weights)
    experiment = make(problem, weighting, tau=tau, rounds=2 // tau, batch_size=2, replacement=replacement)
    batches = list(itertools.product(range(3), repeat=2) if replacement else itertools.combinations(range(3), 2))
    steps = np.array(list(itertools.product(batches, repeat=4))).reshape(-1, 2, 2, 2)  # sequence, step, client, b
    x = np.broadcast_to(experiment.start, (len(steps), 2, 2))
    found = simulate(experiment, exact=True)
    for t in range(3):
        for name, weights in (("alpha", alpha), ("p", problem.p if t % tau else alpha)):
            w = np.einsum("n,rnd->rd", weights, x)
            measured = {
                "distance_sq": ((w - problem.w_star) ** 2).sum(-1),
                "gap": problem.gap(w),
                "drift": ((w[:, None] - x) ** 2).sum(-1) @ alpha,
            }
            for field, values in measured.items():
                exact = getattr(found.paths[name], field)[0, t]
                np.testing.assert_allclose(exact, values.mean(), rtol=ROUNDING, atol=1e-14)
        mean_excess = problem.excess(np.einsum("n,rnd->rd", alpha, x)).mean(0)
        np.testing.assert_allclose(found.excess[0, t], mean_excess, rtol=ROUNDING)
        sums = [alpha @ mean_excess, problem.p @ mean_excess]
        np.testing.assert_allclose(found.skew_sums[0, t, :2], sums, rtol=ROUNDING)
        if t < 2:
            x = x - experiment.eta(t) * problem.client_grads(x, steps[:, t])
            if (t + 1) % tau == 0:
                x = np.broadcast_to(np.einsum("n,rnd->rd", alpha, x)[:, None], x.shape)


@pytest.mark.parametrize("build", [quadratic_problem, ridge_problem])
@pytest.mark.parametrize("weighting", [FedAvg(), ALPHA])
@pytest.mark.parametrize("aggregation", ["algorithm-1", "equation-2"])
def test_full_gradients_are_the_simulators(build, weighting, aggregation):
    experiment = make(build(3), weighting, batch_size=None, rounds=6, aggregation=aggregation)
    exact, run = simulate(experiment, exact=True), simulate(experiment)
    for name in ("alpha", "p"):
        for field in (*FIELDS, "next_distance_sq", "next_mean"):
            found, wanted = (getattr(each.paths[name], field) for each in (exact, run))
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15)
    for field in ("excess", "grad_sq", "local_excess", "skew_sums", "alpha", "times", "round_times"):
        np.testing.assert_allclose(getattr(exact, field), getattr(run, field), rtol=1e-12, atol=1e-13)
    for field in ("rho_bar_all", "rho_bar_sync", "rho_star_max", "pi_min", "pi_max", "G_sq", "G_sq_mean", "radius"):
        np.testing.assert_allclose(getattr(exact.extremes, field), getattr(run.extremes, field), rtol=1e-12)


@pytest.mark.parametrize("build", [quadratic_problem, ridge_problem])
@pytest.mark.parametrize("weighting", [FedAvg(), ALPHA])
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
    assert words in expectations.applies(experiment)
    with pytest.raises(InputError, match=words):
        simulate(experiment, exact=True)


def test_an_unstable_step_is_reported_with_its_time():
    experiment = make(ridge_problem(0), rounds=400).with_(eta=ConstantStep(5.0))
    with pytest.raises(DivergedError, match=r"in expectation.*2/L"):
        simulate(experiment, exact=True)
