"""Every algorithm on the plain engine: against the engine of FedAvg, closed forms, and what each is known for."""

import dataclasses

import numpy as np
import pytest
from problem_zoo import ZOO

from fedbounds.engine.replay import reshuffled, run_algorithm
from fedbounds.engine.simulate import simulate
from fedbounds.errors import DivergedError, InputError
from fedbounds.model.algorithm import Algorithm, Round
from fedbounds.model.experiment import Experiment
from fedbounds.model.schedule import ConstantStep, InverseTime
from fedbounds.plugins import algorithm_named, algorithms, weighting_named
from fedbounds.problems.quadratic import quadratic

KEYS = tuple(algorithms())
LINEAR = ("scaffold", "scaffold:option=1", "scaffnew", "minibatch", "sgd")


def experiment(kind="quadratic", weighting="fedavg", **changes):
    problem = ZOO[kind](0)
    given = {"tau": 3, "rounds": 6, "replicates": 4, "batch_size": 2, "engine": "reference", "w0": np.ones(problem.d)}
    eta = InverseTime(problem.mu, 4 * problem.L / problem.mu)
    return Experiment(problem, weighting_named(weighting), **{"eta": eta} | given | changes)


def heterogeneous(**changes):
    """Two clients on a line, tau = 4: Hessians 1 and 4, minima 1 and -1, so that zeta_* > 0."""
    problem = quadratic(np.array([[1.0], [4.0]]), np.array([[1.0], [-1.0]]))
    given = {"eta": ConstantStep(0.1), "tau": 4, "rounds": 150, "replicates": 1, "batch_size": None}
    return Experiment(problem, weighting_named("fedavg"), **given | {"w0": np.array([3.0])} | changes)


@pytest.mark.parametrize("kind", ["least-squares"])
@pytest.mark.parametrize("participation", [1.0, 0.5])
@pytest.mark.parametrize(("weighting", "batch_size"), [("fedavg", None), ("fedavg", 2), ("fedmax", 2)])
def test_fedavg_is_the_run_of_the_reference_engine(kind, participation, weighting, batch_size):
    given = experiment(kind, weighting, participation=participation, batch_size=batch_size)
    result, right = run_algorithm(algorithm_named("fedavg"), given), simulate(given, record="distance")
    np.testing.assert_allclose(result.distance_sq, right.distance_sq, rtol=1e-12)
    np.testing.assert_allclose(result.gap, right.gap, rtol=1e-12)
    np.testing.assert_array_equal(result.times, right.times)


def test_with_a_constant_step_only_some_converge_and_those_linearly():
    given = heterogeneous()
    for key in LINEAR:
        result = run_algorithm(algorithm_named(key), given).distance_sq.mean(0)
        assert result[-1] < 1e-25 * result[0], key
        # Linear all the way: each ten rounds gain at least a factor, until rounding.
        above = result[: np.argmax(result < 1e-25 * result[0]) : 10]
        assert np.all(above[1:] < 0.1 * above[:-1]), key
    floor = run_algorithm(algorithm_named("fedavg"), given).distance_sq[0]
    # 4 steps contract F_i to (1 - eta h_i)^4 around its own minimiser: the fixed point in closed form.
    kept = (1 - 0.1 * np.array([1.0, 4.0])) ** 4
    fixed = ((1 - kept) @ np.array([1.0, -1.0])) / (2 - kept.sum())
    assert floor[-1] == pytest.approx((fixed - given.problem.w_star[0]) ** 2, rel=1e-12) and floor[-1] > 1e-3


@pytest.mark.parametrize("key", ["scaffnew", "scaffold"])
def test_what_should_be_zero_stays_zero_and_the_fixed_point_is_fixed(key):
    problem, method = ZOO["least-squares"](0), algorithm_named(key)
    state, rng = method.start(np.ones((3, problem.d)), problem.N), np.random.default_rng(1)
    p, present = np.tile(problem.p, (3, 1)), np.ones((3, problem.N), dtype=bool)
    draws = rng.integers(0, problem.sizes[:, None], (4, 2, 3, problem.N, 1))
    for batch in draws:
        state = method.round(state, Round(problem, p, present, np.full(2, 0.05), batch, rng.random((2, 3))))
        assert np.abs(method.zero(state, problem.p)).max() < 1e-12
    assert np.abs(state["c_i" if key == "scaffold" else "h_i"]).max() > 0.1
    rest = method.rest(problem)
    now = Round(problem, p[:1], present[:1], np.full(2, 0.05), None, np.array([[0.0], [1.0]]))
    for name, value in method.round(rest, now).items():
        np.testing.assert_allclose(value, rest[name], atol=1e-10)


def test_one_local_step_makes_local_sgd_minibatch_and_single_machine_one():
    given = experiment("binary", tau=1)
    right = run_algorithm(algorithm_named("fedavg"), given).distance_sq
    for key in ("minibatch", "sgd", "fednova", "fedprox", "fedavgm:momentum=0"):
        np.testing.assert_allclose(run_algorithm(algorithm_named(key), given).distance_sq, right, rtol=1e-12)


def test_an_exact_proximal_step_is_the_minimiser_in_closed_form():
    given = heterogeneous(rounds=1)
    h, a = np.array([1.0, 4.0]), np.array([1.0, -1.0])
    w = ((h * a + 2 * 3.0) / (h + 2)).mean()
    result = run_algorithm(algorithm_named("fedprox:strength=2,exact=1"), given).distance_sq[0, 1]
    assert result == pytest.approx((w - given.problem.w_star[0]) ** 2, rel=1e-12)
    many = run_algorithm(algorithm_named("fedprox:strength=2"), given.with_(tau=400)).distance_sq[0, 1]
    assert many == pytest.approx(result, rel=1e-12)


def test_fednova_mends_what_unequal_numbers_of_steps_do_to_fedavg():
    """With small steps FedNova tends to w*, averaged models to the minimiser of sum_i tau_i p_i F_i."""
    given, nova = heterogeneous(eta=ConstantStep(2e-3), rounds=1200), algorithm_named("fednova")
    assert nova.steps(given.problem, 4).tolist() == [1, 2]
    plain = type("Plain", (type(nova),), {"aggregate": lambda self, x, state, now: {"w": now.mean(x)}})()
    weights = np.array([1.0, 2.0]) / 3
    wrong = float(given.problem.argmin(weights).w[0] - given.problem.w_star[0]) ** 2
    assert run_algorithm(nova, given).distance_sq[0, -1] < 1e-5
    assert run_algorithm(plain, given).distance_sq[0, -1] == pytest.approx(wrong, rel=0.02)


def test_a_reshuffled_round_takes_no_sample_twice_and_every_order():
    sizes, u = np.array([4, 6]), np.random.default_rng(0).random((4000, 2, 6))
    result = reshuffled(u, sizes, 2)
    assert result.shape == (2, 4000, 2, 2)
    flat = result.transpose(1, 2, 0, 3).reshape(4000, 2, 4)
    assert np.all(np.sort(flat[:, 0]) == np.arange(4)) and len({tuple(row) for row in flat[:, 0]}) == 24
    assert flat[:, 1].max() == 5 and all(len(set(row)) == 4 for row in flat[:, 1].tolist())


@pytest.mark.parametrize("key", KEYS)
def test_every_algorithm_says_what_it_is_and_runs_alike_from_one_seed(key):
    method = algorithm_named(key)
    assert isinstance(method, Algorithm) and type(method).__doc__ and dataclasses.is_dataclass(method)
    given = experiment("binary" if key != "local-rr" else "least-squares")
    if key == "local-rr":
        given = given.with_(batch_size=None)
    result = [run_algorithm(method, given).distance_sq for _ in range(2)]
    np.testing.assert_array_equal(*result)
    few = run_algorithm(method, given.with_(replicates=2)).distance_sq
    np.testing.assert_allclose(few, result[0][:2], rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "changes", "said"),
    [
        ("scaffnew", {"participation": 0.5}, "needs every client"),
        ("local-rr", {"batch_size": 2}, "draws tau b = 6 samples, none twice"),
    ],
)
def test_what_an_algorithm_cannot_run_is_refused(text, changes, said):
    with pytest.raises(InputError, match=said):
        run_algorithm(algorithm_named(text), experiment("least-squares", **changes))


def test_a_run_that_leaves_the_numbers_says_so():
    with pytest.raises(DivergedError, match="exceeds 2/L"):
        run_algorithm(algorithm_named("scaffold"), heterogeneous(eta=ConstantStep(3.0)))


@pytest.mark.parametrize("text", ["scafold", "scaffold:option", "scaffold:momentum=1", "fedavg:server_step=x"])
def test_a_name_or_parameter_that_does_not_exist_is_refused(text):
    with pytest.raises(InputError):
        algorithm_named(text)
