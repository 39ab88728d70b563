"""Every problem against mathematics: differences, batches, minima by other solvers, certificates, accuracy."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problem_zoo import SAMPLED, SIZES, ZOO, features, labels

from fedbounds.errors import InputError
from fedbounds.model.problem import Array, Problem
from fedbounds.problems import newton
from fedbounds.problems.least_squares import LeastSquaresProblem
from fedbounds.problems.logistic import LogisticProblem
from fedbounds.problems.newton import cross_entropy, divergence, slopes
from fedbounds.problems.quadratic import quadratic

KINDS = sorted(ZOO)
# What the certificate promises, relative to the minimum.
CERTIFIED = 1e-12
# Interior-point and quasi-Newton solvers stop near here, relative to the minimum.
OTHER_SOLVER = 1e-7
BIASED = np.array([0.7, 0.0, 0.1, 0.2])


@pytest.mark.parametrize("kind", SAMPLED)
def test_optima_agree_with_scikit_learn(kind: str) -> None:
    from sklearn.linear_model import LogisticRegression, Ridge

    problem = ZOO[kind](2)
    X = np.concatenate(problem.features)  # type: ignore[attr-defined]
    n = len(X)
    if isinstance(problem, LeastSquaresProblem):
        model = Ridge(alpha=n * problem.regularisation, fit_intercept=False)
        w = model.fit(X, np.concatenate(problem.targets)).coef_
        np.testing.assert_allclose(problem.w_star, w, rtol=1e-10)
    else:
        assert isinstance(problem, LogisticProblem)
        inverse = 1 / (n * problem.regularisation)
        model = LogisticRegression(C=inverse, fit_intercept=False, tol=1e-12, solver="newton-cg", max_iter=1000)
        w = model.fit(X, np.concatenate(problem.labels)).coef_.ravel()
        np.testing.assert_allclose(problem.w_star, w, rtol=0, atol=1e-6)
    assert problem.F_star == pytest.approx(problem.p @ problem.losses(w), rel=OTHER_SOLVER)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_vanish_and_certificates_hold(kind: str) -> None:
    problem = ZOO[kind](3)
    assert np.abs(problem.p @ problem.grads(problem.w_star)).max() < 1e-14
    assert np.abs(problem.client_grads(problem.w_i_star)).max() < 1e-14
    biased = problem.argmin(BIASED)
    assert np.abs(BIASED @ problem.grads(biased.w)).max() < 1e-14
    for optimum in (problem.optimum, biased, *problem.client_optima):
        assert 0 <= optimum.excess_bound <= CERTIFIED * abs(optimum.value)
    assert np.all(problem.client_excess(problem.w_i_star) == 0) and problem.gap(problem.w_star) == 0


@given(
    z=st.lists(st.floats(-1000, 1000), min_size=3, max_size=3),
    dz=st.lists(st.floats(-1, 1), min_size=3, max_size=3),
    scale=st.sampled_from([1e-8, 1e-3, 1.0, 1e3]),
)
@settings(max_examples=40, deadline=None)
def test_softmax_at_extreme_margins(z: list[float], dz: list[float], scale: float) -> None:
    scores, step = np.array(z)[:, None], scale * np.array(dz)[:, None]
    code = np.array([1])
    with mpmath.workdps(1000):  # probabilities down to exp(-2000) are added to 1
        exps = [mpmath.exp(mpmath.mpf(v)) for v in z]
        s = [e / sum(exps) for e in exps]
        moved = sum(p * mpmath.exp(mpmath.mpf(v)) for p, v in zip(s, step[:, 0], strict=True))
        exact = float(mpmath.log(moved) - mpmath.fdot(s, map(mpmath.mpf, step[:, 0])))
        loss = float(-mpmath.log(s[1]))
        slope = float(s[1] - 1)
    # The centred step carries the rounding of softmax(z).dz, which is relative to the step's own square.
    # Below the smallest normal number no relative accuracy is left.
    floor = max(1e-14 * float(np.max(np.abs(step))) ** 2, 1e-300)
    assert float(divergence(step, scores)[0]) == pytest.approx(exact, rel=1e-9, abs=floor)
    assert float(cross_entropy(scores, code)[0]) == pytest.approx(loss, rel=1e-12, abs=1e-300)
    assert float(slopes(scores, code)[1, 0]) == pytest.approx(slope, rel=1e-11, abs=1e-300)


def test_conjugate_gradient_path_finds_the_dense_minimum(monkeypatch: pytest.MonkeyPatch) -> None:
    dense = ZOO["multinomial"](9)
    monkeypatch.setattr(newton, "DENSE_LIMIT", 0)
    matrix_free = ZOO["multinomial"](9)
    np.testing.assert_allclose(matrix_free.w_star, dense.w_star, rtol=0, atol=1e-12)


def test_an_uncertified_minimum_is_an_error() -> None:
    problem = ZOO["binary"](12)
    assert isinstance(problem, LogisticProblem)
    objective, w = problem._objective(np.arange(problem.N), problem.p), problem.w_star
    norm = np.linalg.norm(objective.residual(w))
    assert newton.certificate(objective, w) == norm**2 / (2 * problem.mu) == problem.optimum.excess_bound
    with pytest.raises(InputError, match=r"certified to 1e-12 relative.*increase the regularisation"):
        newton.certificate(objective, w + 1e-5)


# Two double-precision evaluations of the same short formula.
ROUNDING = 1e-12


def points(problem: Problem, seed: int, lead: tuple[int, ...] = (2,)) -> Array:
    return np.random.default_rng(seed).standard_normal((*lead, problem.N, problem.d))


@pytest.mark.parametrize("kind", SAMPLED)
@pytest.mark.parametrize("b", [1, 2])
@pytest.mark.parametrize("replacement", [True, False])
def test_variance_matches_enumeration_of_every_batch(kind: str, b: int, replacement: bool) -> None:
    rng = np.random.default_rng(5)
    sizes = (5, 2, 4) if b == 2 else SIZES
    X = features(rng, sizes)
    K = 3 if kind == "multinomial" else 2
    problem: Problem
    if kind == "least-squares":
        problem = LeastSquaresProblem(X, [rng.standard_normal(n) for n in sizes], 0.1)
    else:
        problem = LogisticProblem(X, labels(rng, K, sizes), 0.05)
    x = points(problem, 6, ())
    full = problem.client_grads(x)
    for i, n in enumerate(sizes):
        batches = itertools.product(range(n), repeat=b) if replacement else itertools.combinations(range(n), b)
        draws = np.array(list(batches))
        everywhere = np.zeros((len(draws), len(sizes), b), dtype=np.int64)
        everywhere[:, i] = draws
        g = problem.client_grads(np.broadcast_to(x, (len(draws), *x.shape)), everywhere)[:, i]
        np.testing.assert_allclose(g.mean(0), full[i], rtol=ROUNDING, atol=ROUNDING)
        enumerated = np.sum((g - full[i]) ** 2, -1).mean()
        computed = problem.client_variance(x, b, replacement)[i]
        np.testing.assert_allclose(computed, enumerated, rtol=ROUNDING, atol=ROUNDING)
    assert not problem.client_variance(x, None).any()


def test_multinomial_gradient_by_hand() -> None:
    problem = ZOO["multinomial"](13)
    assert isinstance(problem, LogisticProblem)
    X, y = problem.features[0], problem.labels[0]
    W = np.random.default_rng(1).standard_normal((3, 3))
    z = X @ W.T
    s = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    by_hand = (s - np.eye(3)[y]).T @ X / len(X) + 0.05 * W
    np.testing.assert_allclose(problem.grads(W.ravel())[0], by_hand.ravel(), rtol=ROUNDING, atol=ROUNDING)
    loss = -np.log(s[np.arange(len(y)), y]).mean() + 0.05 / 2 * np.sum(W**2)
    assert problem.losses(W.ravel())[0] == pytest.approx(loss, rel=ROUNDING)


@pytest.mark.parametrize("kind", SAMPLED)
def test_identical_clients_have_no_heterogeneity_at_all(kind: str) -> None:
    rng = np.random.default_rng(19)
    X = rng.standard_normal((6, 3))
    if kind == "least-squares":
        problem: Problem = LeastSquaresProblem([X] * 3, [X[:, 0] + 1] * 3, 0.1)
    else:
        y = np.arange(6) % (3 if kind == "multinomial" else 2)
        problem = LogisticProblem([X] * 3, [y] * 3, 0.1)
    assert float(problem.Gamma) == 0 and np.all(problem.w_i_star == problem.w_star)
    one = quadratic(np.array([1.0, 3.0]), np.ones((3, 2)) / 3)
    assert float(one.Gamma) == 0


def test_a_problem_shows_its_constants():
    problem = quadratic(np.array([1.0, 4.0]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    assert repr(problem) == "QuadraticProblem(N=2, d=2, L=4, mu=1, Gamma=0.625)"
    assert problem._repr_latex_() == r"$N = 2, d = 2, L = 4, \mu = 1, \Gamma = 0.625$"
