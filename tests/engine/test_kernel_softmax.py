"""The compiled multinomial logistic engine against its oracle, the numpy reference, and against mpmath."""

import mpmath
import numpy as np
import pytest
from test_kernels import AGREEMENT, MULTINOMIAL, experiment_on

from fedbounds.engine.kernels import logistic as kernel_softmax
from fedbounds.engine.kernels.compiled import kernel
from fedbounds.engine.kernels.vectors import product
from fedbounds.engine.loop import choose_engine

# Rounding of a client's excess next to its minimum: that of u = x - w_i* is exact, sums have some 100 terms.
NEAR_ACCURACY = 1e-13
# The gradient that is left at a numerical minimum is known to extended precision only, and counts once ||u|| does.
RESIDUAL_ACCURACY = float(np.finfo(np.longdouble).eps)


@kernel
def multiply(A, B, C, K, Q, M):
    product(A, 1, Q, B, 2, M, C, 3, M, K, Q, M)


def multiplied(A, B):
    (K, Q), M = A.shape, B.shape[1]
    C = np.full(3 + K * M + 1, np.nan)
    multiply(np.concatenate([[0.0], A.ravel()]), np.concatenate([[0.0, 0.0], B.ravel()]), C, K, Q, M)
    assert np.isnan(C[[0, 1, 2, -1]]).all()
    return C[3:-1].reshape(K, M)


@pytest.mark.parametrize("K", [3, 11])
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


@pytest.mark.parametrize("name", sorted(MULTINOMIAL))
def test_samples_near_and_far_share_a_client(name):
    """Some samples of a client take logarithms throughout, others do not, and both agree with the reference."""
    experiment = experiment_on(name)
    problem, ours = experiment.problem, choose_engine(experiment)
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


@pytest.mark.parametrize("distance", [1e-12, 1e-3])
def test_excess_next_to_a_minimum_keeps_relative_accuracy(distance):
    experiment = experiment_on("three")
    problem, rng = experiment.problem, np.random.default_rng(2)
    engine = choose_engine(experiment)
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
    for x, code in zip(problem.X[part].tolist(), problem.y[part], strict=True):
        scores = [sum(a * mpmath.mpf(b) for a, b in zip(row, x, strict=True)) for row in W]
        total += mpmath.log(sum(map(mpmath.exp, scores))) - scores[code]
    square = sum(v * v for row in W for v in row)
    return total / int(problem.sizes[i]) + mpmath.mpf(problem.regularisation) / 2 * square
