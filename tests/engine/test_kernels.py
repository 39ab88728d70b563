"""The compiled kernels against their oracle, the numpy reference, and their arithmetic against mpmath."""

import functools
import itertools

import mpmath
import numpy as np
import pytest
from problem_zoo import ZOO

from fedbounds.engine.kernels import compiled, compiled_engines, minibatch_steps, quadratic
from fedbounds.engine.kernels import scalar_math as kernel_math
from fedbounds.engine.kernels.compiled import kernel
from fedbounds.engine.loop import choose_engine
from fedbounds.engine.numpy_engine import NumpyEngine
from fedbounds.engine.simulate import run_in_full
from fedbounds.model.experiment import Experiment
from fedbounds.model.schedule import InverseTime
from fedbounds.problems.logistic import LogisticProblem
from fedbounds.study.objects_from_settings import build_problem
from fedbounds.study.settings import Settings
from fedbounds.weightings.fedavg import FedAvg
from fedbounds.weightings.fedsoftmax import FedSoftMax

# The agreement required of kernels and reference, relative to the largest entry of each array.
AGREEMENT = 1e-12
# A divergence inherits the roundings of s and 1 - s and a factor of about 20 from exp(x) - 1 - x.
DIVERGENCE_ACCURACY = 5e-15
# A probability inherits the roundings of s and 1 - s, of an exponential and of a quotient.
PROBABILITY_ACCURACY = 2e-15
# Below this numbers lose digits as they underflow.
TINY = 1e-300
COMPILED = ("quadratic", "least-squares", "binary")
BATCHES = [(None, True), (2, True), (1, False)]
RANGE = np.concatenate([-np.logspace(2.8, -12, 40), [0.0], np.logspace(-12, 2.8, 40)])


def digits():
    settings = Settings("logistic", "digits", "shards:12", clients=4, limit=150, seed=1)
    return build_problem(settings)


def synthetic():
    return build_problem(Settings("logistic", "synthetic:1,1", clients=3, dimension=5, samples=20, seed=2))


def eleven_classes():
    """More classes than one tile of rows, features and samples that fill no vector, one sample on a client."""
    rng = np.random.default_rng(7)
    sizes = (9, 1, 16)
    codes = np.split(rng.permutation(np.arange(26) % 11), np.cumsum(sizes)[:-1])
    return LogisticProblem([rng.standard_normal((n, 9)) for n in sizes], codes, 0.05)


def uneven():
    """Two classes and clients that fill different numbers of vectors, the largest first: room is of its size."""
    rng = np.random.default_rng(8)
    sizes = (20, 3, 9)
    return LogisticProblem([rng.standard_normal((n, 4)) for n in sizes], [np.arange(n) % 2 for n in sizes], 0.1)


MULTINOMIAL = {
    "digits": digits,
    "synthetic": synthetic,
    "three": functools.partial(ZOO["multinomial"], 3),
    "eleven": eleven_classes,
}
PROBLEMS = {kind: functools.partial(ZOO[kind], 3) for kind in COMPILED} | {"uneven": uneven} | MULTINOMIAL
problem_named = functools.cache(lambda name: PROBLEMS[name]())


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=AGREEMENT * max(np.abs(expected).max(), 1e-300))


def experiment_on(name, batch_size=2, replacement=True, **changes):
    problem = problem_named(name)
    eta = InverseTime(problem.mu, 4 * problem.L / problem.mu)
    rounds, start = (3, 0.1) if name in MULTINOMIAL else (4, 0.7)
    w0 = np.full(problem.d, start)
    return Experiment(problem, FedSoftMax(0.5), eta, 3, rounds, 6, batch_size, replacement, w0=w0, seed=5).with_(
        **changes
    )


@kernel
def over(values, out):
    for k in range(len(values)):
        out[0, k] = kernel_math.exp(values[k])
        out[1, k] = kernel_math.exponentials(kernel_math.clamp(values[k]))[1]
        out[2, k] = kernel_math.log1p(abs(values[k]))


@kernel
def divergences(delta, s, q, out):
    for k in range(len(delta)):
        out[0, k], out[1, k], out[2, k] = kernel_math.divergence(delta[k], s, q)


@pytest.mark.parametrize("row", range(3), ids=["exp", "exp_remainder", "log1p"])
def test_elementary_functions_keep_relative_accuracy(row):
    out = np.empty((3, len(RANGE)))
    over(RANGE, out)
    with mpmath.workdps(60):
        exact = [
            (mpmath.exp(x), mpmath.exp(x) - 1 - mpmath.mpf(x), mpmath.log1p(abs(mpmath.mpf(x))))[row]
            for x in map(float, RANGE)
        ]
        worst = max(abs(mpmath.mpf(float(a)) - b) / b for a, b in zip(out[row], exact, strict=True) if b)
    # Some units in the last place; exp(x) - 1 - x just beyond ln(2)/2 loses a factor of about 20.
    assert worst < (2e-15 if row == 1 else 5e-16)


@pytest.mark.parametrize("margin", [-600.0, -0.7, 0.4])
def test_divergence_keeps_relative_accuracy(margin):
    delta = np.concatenate([RANGE, [-1e4, 1e4]])
    out = np.empty((3, len(delta)))
    with mpmath.workdps(700):
        s = 1 / (1 + mpmath.exp(-margin))
        divergences(delta, float(s), float(1 - s), out)
        exact = [mpmath.log(s * mpmath.exp(x) + 1 - s) - s * mpmath.mpf(x) for x in map(float, delta)]
        worst = max(abs(float(a) - b) / b for a, b in zip(out[0], exact, strict=True) if b)
        assert worst < DIVERGENCE_ACCURACY
        # The probabilities at the new margin, the smaller label's at the old one first; the clamp holds them off 0.
        rarer = s if s < mpmath.mpf(1) / 2 else 1 - s
        for x, small, large in zip(delta.tolist(), out[1].tolist(), out[2].tolist(), strict=True):
            odds = rarer / (1 - rarer) * mpmath.exp(x if rarer is s else -mpmath.mpf(x))
            if abs(x) < kernel_math.LIMIT:
                assert abs(small - odds / (1 + odds)) <= PROBABILITY_ACCURACY * odds / (1 + odds) + TINY
                assert abs(large - 1 / (1 + odds)) <= PROBABILITY_ACCURACY / (1 + odds) + TINY


@pytest.mark.parametrize(("batch_size", "replacement"), BATCHES)
@pytest.mark.parametrize(
    ("name", "distance"),
    [
        *itertools.product((*COMPILED, "uneven"), (1e-8, 1e3)),
        *itertools.product(("three", "eleven"), (1e-8, 1e4)),
    ],
)
def test_primitives_agree_with_the_reference(name, batch_size, replacement, distance):
    experiment = experiment_on(name, batch_size, replacement)
    problem, rng = experiment.problem, np.random.default_rng(1)
    ours, oracle = choose_engine(experiment), NumpyEngine(experiment)
    R, N, d = 6, problem.N, problem.d
    W = problem.w_star + distance * rng.standard_normal((R, d))
    X = problem.w_i_star + distance * rng.standard_normal((R, N, d))
    alpha, other = rng.dirichlet(np.ones(N), (2, R))
    close(ours.excess(W), oracle.excess(W))
    close(ours.gap(W), oracle.gap(W))
    moments, expected = ours.moments(X), oracle.moments(X)
    # A gradient is computed from x, so its rounding is relative to L ||x||, not to its own size near w_i*.
    scale = max(np.abs(expected.grads).max(), problem.L * np.abs(X).max())
    np.testing.assert_allclose(moments.grads, expected.grads, rtol=0, atol=AGREEMENT * scale)
    np.testing.assert_allclose(moments.grad_sq, expected.grad_sq, rtol=0, atol=AGREEMENT * scale**2)
    close(moments.variance, expected.variance)
    close(moments.excess, expected.excess)
    close(moments.radius_sq, expected.radius_sq)
    models, wanted = np.stack([X, X, X]), np.stack([X, X, X])
    ours.walk(models, np.array([0.1, 0.05]), 7, range(R))
    oracle.walk(wanted, np.array([0.1, 0.05]), 7, range(R))
    close(models, wanted)
    close(ours.combine(X, alpha), oracle.combine(X, alpha))
    for actual, wanted in zip(
        ours.virtual(X, W, alpha, expected, other, 0.1),
        oracle.virtual(X, W, alpha, expected, other, 0.1),
        strict=True,
    ):
        close(actual, wanted)


def recorded(trajectory):
    """Every array of a trajectory by name."""
    named = {f"{name}.{k}": v for name, path in trajectory.paths.items() for k, v in vars(path).items()}
    named |= {k: v for k, v in vars(trajectory).items() if isinstance(v, np.ndarray)}
    return named | {f"extremes.{k}": np.asarray(v) for k, v in vars(trajectory.extremes).items()}


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        *itertools.product(COMPILED, [{"participation": 0.75}]),
        *itertools.product(
            ("digits", "eleven"), [{}, {"weighting": FedAvg(), "batch_size": None}, {"participation": 0.5}]
        ),
    ],
    ids=str,
)
def test_runs_agree_with_the_reference(name, changes):
    experiment = experiment_on(name, **changes)
    ours, oracle = run_in_full(experiment), run_in_full(experiment.with_(engine="reference"))
    assert (ours.engine, oracle.engine) == ("kernels", "reference")
    theirs = recorded(oracle)
    for field, values in recorded(ours).items():
        assert np.array_equal(np.isfinite(values), np.isfinite(theirs[field])), field
        seen = np.isfinite(values)
        close(values[seen], theirs[field][seen])


@pytest.mark.parametrize(
    ("name", "engine"),
    [("quadratic", "reference"), *((name, "kernels") for name in (*COMPILED, "eleven"))],
)
def test_bits_depend_on_neither_threads_nor_replicates_nor_blocks(name, engine, monkeypatch):
    monkeypatch.setattr(
        "fedbounds.engine.kernels.compiled_engines.BLOCK_WORK", 1
    )  # small blocks, so that there are several
    monkeypatch.setattr("fedbounds.engine.kernels.compiled_engines.SHARED", 1)
    many = 11 if name in MULTINOMIAL else 37
    experiment = experiment_on(name, engine=engine, rounds=2, participation=0.75, replicates=many)
    wide = recorded(run_in_full(experiment, threads=1))
    again = recorded(run_in_full(experiment, threads=2))
    narrow = recorded(run_in_full(experiment.with_(replicates=5), threads=2))
    monkeypatch.setattr("fedbounds.engine.kernels.compiled_engines.BLOCK_WORK", 2**40)
    together = recorded(run_in_full(experiment, threads=1))
    for field, values in wide.items():
        assert np.array_equal(values, again[field], equal_nan=True), field
        if values.ndim and len(values) == many:
            assert np.array_equal(values, together[field], equal_nan=True), field
            assert np.array_equal(values[:5], narrow[field], equal_nan=True), field


def test_what_is_compiled_ahead_is_what_a_run_calls(monkeypatch):
    """The first run after an installation compiles everything beforehand, side by side: no kernel a second time."""
    monkeypatch.setattr(compiled_engines, "in_processes", lambda tasks: [task() for task in tasks])
    kernels = [quadratic.moments, quadratic.excess, minibatch_steps.local_steps, compiled.combine, compiled.virtual]
    experiment = experiment_on("least-squares")
    choose_engine(experiment).compile_ahead()
    ahead = [len(kernel.signatures) for kernel in kernels]
    run_in_full(experiment)
    assert min(ahead) > 0 and ahead == [len(kernel.signatures) for kernel in kernels]


def test_a_kernel_of_other_sources_is_not_in_the_cache(monkeypatch):
    run_in_full(experiment_on("least-squares"))
    assert compiled.is_cached(quadratic.moments)
    monkeypatch.setattr(quadratic.moments._cache._cache_file, "_source_stamp", "other sources")
    assert not compiled.is_cached(quadratic.moments)
