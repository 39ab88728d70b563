"""The compiled multinomial logistic engine against its oracle, the numpy reference, and against mpmath."""

import itertools

import mpmath
import numpy as np
import pytest
from problem_zoo import ZOO
from test_kernels import BATCHES, recorded

from fedbounds.engine.kernels import math as kernel_math
from fedbounds.engine.kernels import softmax as kernel_softmax
from fedbounds.engine.kernels.compiled import kernel
from fedbounds.engine.kernels.products import padded, product
from fedbounds.engine.kernels.select import compiled_engine
from fedbounds.engine.loop import run
from fedbounds.engine.reference import Reference
from fedbounds.model.experiment import Experiment
from fedbounds.model.schedule import InverseTime
from fedbounds.problems.logistic import LogisticProblem
from fedbounds.study.build import build_problem
from fedbounds.study.settings import Settings
from fedbounds.weightings.fedavg import FedAvg
from fedbounds.weightings.fedsoftmax import FedSoftMax

# The agreement required of kernels and reference, relative to the largest entry of each array.
AGREEMENT = 1e-12
# Two units in the last place; exp(x) - 1 - x just beyond ln(2)/2 loses a factor of about 20.
EXP_ACCURACY, REMAINDER_ACCURACY = 2 * 2.0**-52, 5e-15
# Rounding of a client's excess next to its minimum: that of u = x - w_i* is exact, sums have some 100 terms.
NEAR_ACCURACY = 1e-13
# The gradient that is left at a numerical minimum is known to extended precision only, and counts once ||u|| does.
RESIDUAL_ACCURACY = float(np.finfo(np.longdouble).eps)
RANGE = np.concatenate([-np.logspace(2.84, -12, 60), [-0.3466, 0.0, 0.3466], np.logspace(-12, 2.84, 60)])


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


PROBLEMS = {
    "digits": digits(),
    "synthetic": synthetic(),
    "three": ZOO["multinomial"](3),
    "eleven": eleven_classes(),
}
NAMES = sorted(PROBLEMS)


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=AGREEMENT * max(np.abs(expected).max(), 1e-300))


def experiment_on(name, batch_size=2, replacement=True, **changes):
    problem = PROBLEMS[name]
    eta = InverseTime(problem.mu, 4 * problem.L / problem.mu)
    start = np.full(problem.d, 0.1)
    return Experiment(
        problem, FedSoftMax(0.5), eta, 3, 3, 6, batch_size, replacement, w0=start, seed=5, engine="kernels"
    ).with_(**changes)


@kernel
def elementary(values, out):
    for k in range(len(values)):
        out[0, k], out[1, k] = kernel_math.exponentials(values[k])


@kernel
def multiply(A, B, C, K, Q, M):
    product(A, 1, Q, B, 2, M, C, 3, M, K, Q, M)


def multiplied(A, B):
    (K, Q), M = A.shape, B.shape[1]
    C = np.full(3 + K * M + 1, np.nan)
    multiply(np.concatenate([[0.0], A.ravel()]), np.concatenate([[0.0, 0.0], B.ravel()]), C, K, Q, M)
    assert np.isnan(C[[0, 1, 2, -1]]).all()
    return C[3:-1].reshape(K, M)


def test_exponentials_keep_relative_accuracy():
    out = np.empty((2, len(RANGE)))
    elementary(RANGE, out)
    with mpmath.workdps(60):
        for row, accuracy in enumerate((EXP_ACCURACY, REMAINDER_ACCURACY)):
            for x, value in zip(RANGE.tolist(), out[row].tolist(), strict=True):
                exact = mpmath.exp(x) - (row and 1 + mpmath.mpf(x))
                assert abs(value - exact) <= accuracy * exact, (row, x)


@pytest.mark.parametrize("K", [1, 3, 4, 5, 8, 11])
@pytest.mark.parametrize(("Q", "M"), [(1, 8), (7, 40), (64, 96)])
def test_products_are_exact_on_integers_and_bits_depend_on_no_shape(K, Q, M):
    rng = np.random.default_rng(K)
    A, B = rng.integers(-50, 50, (K, Q)).astype(float), rng.integers(-50, 50, (Q, M)).astype(float)
    np.testing.assert_array_equal(multiplied(A, B), A @ B)
    A, B = rng.standard_normal((K, Q)), rng.standard_normal((Q, M))
    whole = multiplied(A, B)
    np.testing.assert_allclose(whole, A @ B, rtol=0, atol=1e-13)
    for row in range(K):
        for column in range(0, M, 8):
            part = multiplied(A[row : row + 1], np.ascontiguousarray(B[:, column : column + 8]))
            assert np.array_equal(part[0], whole[row, column : column + 8])


@pytest.mark.parametrize(("batch_size", "replacement"), BATCHES)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("distance", [1e-8, 1.0, 100.0, 1e4])
def test_primitives_agree_with_the_reference(name, batch_size, replacement, distance):
    experiment = experiment_on(name, batch_size, replacement)
    problem, rng = experiment.problem, np.random.default_rng(1)
    ours, oracle = compiled_engine(experiment), Reference(experiment)
    R, N, d = 5, problem.N, problem.d
    W = problem.w_star + distance * rng.standard_normal((R, d))
    X = problem.w_i_star + distance * rng.standard_normal((R, N, d))
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
    close(ours.step(X, 0.1, 7, range(R), moments.grads), oracle.step(X, 0.1, 7, range(R), expected.grads))


@pytest.mark.parametrize("name", NAMES)
def test_samples_near_and_far_share_a_client(name):
    """Some samples of a client take logarithms throughout, others do not, and both agree with the reference."""
    experiment = experiment_on(name)
    problem, ours = experiment.problem, compiled_engine(experiment)
    X = problem.X.reshape(len(problem.X), -1)
    direction = np.zeros((problem.K, X.shape[1]))
    direction[0] = X[0]  # the scores of class 0 move by x_j.x_0 times the distance
    product_ = X @ X[0]
    for factor in (2, 5):
        distance = factor * kernel_softmax.FAR / product_.max()
        W = problem.w_star + distance * direction.reshape(1, -1)
        assert np.unique(distance * product_ > kernel_softmax.FAR).size == 2
        np.testing.assert_allclose(ours.excess(W), problem.excess(W), rtol=AGREEMENT)
        np.testing.assert_allclose(ours.gap(W), problem.gap(W), rtol=AGREEMENT)


@pytest.mark.parametrize("distance", [1e-12, 1e-8, 1e-3, 1.0])
def test_excess_next_to_a_minimum_keeps_relative_accuracy(distance):
    experiment = experiment_on("three")
    problem, rng = experiment.problem, np.random.default_rng(2)
    engine = compiled_engine(experiment)
    X = problem.w_i_star + distance * rng.standard_normal((1, problem.N, problem.d))
    W = problem.w_star + distance * rng.standard_normal((1, problem.d))
    local, gap = engine.moments(X).excess[0], engine.gap(W)[0]
    with mpmath.workdps(60):
        for i in range(problem.N):
            exact = value_of(problem, i, X[0, i]) - value_of(problem, i, problem.w_i_star[i])
            assert abs(local[i] - exact) <= NEAR_ACCURACY * exact + RESIDUAL_ACCURACY * distance
        exact = sum(
            mpmath.mpf(int(n)) / int(problem.sizes.sum())
            * (value_of(problem, i, W[0]) - value_of(problem, i, problem.w_star))
            for i, n in enumerate(problem.sizes)
        )  # fmt: skip
        assert abs(gap - exact) <= NEAR_ACCURACY * exact + RESIDUAL_ACCURACY * distance


def value_of(problem, i, w):
    """F_i(w) in mpmath's precision."""
    part = slice(*problem.offsets[i : i + 2])
    W = [[mpmath.mpf(float(v)) for v in row] for row in w.reshape(problem.K, -1)]
    total = mpmath.mpf(0)
    for x, code in zip(problem.X[part].tolist(), problem.codes[part], strict=True):
        scores = [sum(a * mpmath.mpf(b) for a, b in zip(row, x, strict=True)) for row in W]
        total += mpmath.log(sum(map(mpmath.exp, scores))) - scores[code]
    square = sum(v * v for row in W for v in row)
    return total / int(problem.sizes[i]) + mpmath.mpf(problem.regularisation) / 2 * square


@pytest.mark.parametrize(
    "changes", [{}, {"weighting": FedAvg(), "batch_size": None}, {"participation": 0.5}], ids=str
)
@pytest.mark.parametrize("name", NAMES)
def test_runs_agree_with_the_reference(name, changes):
    experiment = experiment_on(name, **changes)
    ours, oracle = run(experiment), run(experiment.with_(engine="reference"))
    assert (ours.engine, oracle.engine, run(experiment.with_(engine="auto", rounds=1)).engine) == (
        "kernels", "reference", "kernels",
    )  # fmt: skip
    theirs = recorded(oracle)
    for field, values in recorded(ours).items():
        assert np.array_equal(np.isfinite(values), np.isfinite(theirs[field])), field
        seen = np.isfinite(values)
        close(values[seen], theirs[field][seen])


@pytest.mark.parametrize("name", NAMES)
def test_bits_depend_on_neither_threads_nor_replicates(name, monkeypatch):
    monkeypatch.setattr("fedbounds.engine.kernels.session.BLOCK_WORK", 1)  # small blocks, so that there are several
    experiment = experiment_on(name, replicates=11)
    wide = recorded(run(experiment, threads=1))
    again = recorded(run(experiment, threads=2))
    narrow = recorded(run(experiment.with_(replicates=3), threads=2))
    monkeypatch.setattr("fedbounds.engine.kernels.session.BLOCK_WORK", 2**40)
    together = recorded(run(experiment, threads=1))
    for field, values in wide.items():
        assert np.array_equal(values, again[field], equal_nan=True), field
        if values.ndim and len(values) == 11:
            assert np.array_equal(values, together[field], equal_nan=True), field
            assert np.array_equal(values[:3], narrow[field], equal_nan=True), field


@pytest.mark.parametrize("name", NAMES)
def test_bits_do_not_depend_on_where_arrays_lie(name):
    experiment = experiment_on(name)
    rng = np.random.default_rng(0)
    N, d = experiment.problem.N, experiment.problem.d
    values = rng.standard_normal((3, N, d))
    kept, seen = [], set()
    for _ in range(20):
        kept.append(np.empty(rng.integers(1, 200)))  # litter, so that later arrays land elsewhere
        engine = compiled_engine(experiment)
        home = np.empty(values.size + 8)
        X = home[(start := rng.integers(0, 8)) : start + values.size].reshape(values.shape)
        X[:] = values
        moments = engine.moments(X)
        after = engine.step(X, 0.1, 3, range(3), moments.grads)
        found = (*moments, after, engine.excess(after[:, 0].copy()), engine.gap(after[:, 1].copy()))
        seen.add(b"".join(a.tobytes() for a in found))
    assert len(seen) == 1


def test_tables_pad_every_client_to_whole_vectors():
    engine = compiled_engine(experiment_on("eleven"))
    assert np.diff(engine.starts).tolist() == [16, 8, 16] == [padded(n) for n in (9, 1, 16)]
    first = engine.columns[: 9 * 16].reshape(9, 16)
    np.testing.assert_array_equal(first[:, :9], engine.experiment.problem.X[:9].T)
    assert not first[:, 9:].any()
    shares, logs = engine.client_centre
    for table in (shares, np.exp(logs)):
        sums = [table[11 * a : 11 * b].reshape(11, -1).sum(0) for a, b in itertools.pairwise(engine.starts)]
        np.testing.assert_allclose(np.concatenate(sums), 1, rtol=1e-14)
