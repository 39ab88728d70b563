"""Minima against other solvers and extended precision, certificates, and accuracy next to the minimum."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problem_zoo import SAMPLED, ZOO, features, labels

from fedbounds.errors import InputError
from fedbounds.model.problem import Array
from fedbounds.problems import newton
from fedbounds.problems.least_squares import LeastSquaresProblem
from fedbounds.problems.logistic import LogisticProblem
from fedbounds.problems.logsumexp import cross_entropy, divergence, exp_remainder, slopes

KINDS = sorted(ZOO)
# What the certificate promises, relative to the minimum.
CERTIFIED = 1e-12
# Interior-point and quasi-Newton solvers stop near here, relative to the minimum.
OTHER_SOLVER = 1e-7
# Relative accuracy of an excess 1e-9 from the minimum; platforms without a float wider than double get 1e-6.
NEAR = 2e-8 if np.finfo(np.longdouble).eps < 1e-18 else 1e-6
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


def exact_excess(problem: LogisticProblem, i: int, w: Array) -> float:
    """F_i(w) - F_i* in 50 digits, the minimiser found by Newton steps in the same precision."""
    X, K = problem.features[i], problem.K
    codes = np.searchsorted(problem.classes, problem.labels[i])
    reg, n = mpmath.mpf(problem.regularisation), len(X)

    def scores(v: list) -> list[list]:
        rows = [[mpmath.fdot(map(mpmath.mpf, x), v[3 * k : 3 * k + 3]) for k in range(K)] for x in X]
        return [[mpmath.mpf(0), *row] if K == 1 else row for row in rows]

    def value(v: list) -> mpmath.mpf:
        each = [mpmath.log(sum(map(mpmath.exp, z))) - z[c] for z, c in zip(scores(v), codes, strict=True)]
        return sum(each) / n + reg / 2 * mpmath.fdot(v, v)

    def gradient(v: list) -> list:
        out = [reg * entry for entry in v]
        for x, z, c in zip(X, scores(v), codes, strict=True):
            total = sum(map(mpmath.exp, z))
            for k in range(K):
                row = k + (1 if K == 1 else 0)
                slope = (mpmath.exp(z[row]) / total - int(row == c)) / n
                for m in range(3):
                    out[3 * k + m] += slope * mpmath.mpf(x[m])
        return out

    with mpmath.workdps(50):
        objective = problem._objective(np.array([i]), np.ones(1))
        inverse = np.linalg.inv(objective.hessian(problem.w_i_star[i]))
        best = [mpmath.mpf(entry) for entry in problem.w_i_star[i]]
        for _ in range(4):  # each gains the twelve or more digits the double-precision Hessian is right to
            g = np.array([float(entry * mpmath.mpf(10) ** 15) for entry in gradient(best)])
            best = [b - mpmath.mpf(s) / mpmath.mpf(10) ** 15 for b, s in zip(best, inverse @ g, strict=True)]
        return float(value([mpmath.mpf(entry) for entry in w]) - value(best))


@pytest.mark.parametrize("kind", ["binary", "multinomial"])
def test_excess_next_to_the_minimum_matches_fifty_digits(kind: str) -> None:
    problem = ZOO[kind](4)
    assert isinstance(problem, LogisticProblem)
    u = np.random.default_rng(5).standard_normal(problem.d)
    for size in (1e-9, 1e-6, 1e-3, 1.0, 100.0):
        for i in range(problem.N):
            w = problem.w_i_star[i] + size * u
            exact = exact_excess(problem, i, w)
            assert problem.excess(w)[i] == pytest.approx(exact, rel=NEAR, abs=0), (size, i)


@pytest.mark.parametrize("K", [2, 3])
def test_rounding_of_the_minimiser_itself_is_accounted_for(K: int) -> None:
    rng = np.random.default_rng(0)
    problem = LogisticProblem([100 * x for x in features(rng)], labels(rng, K), 0.01)
    u = 1e-10 * rng.standard_normal(problem.d)  # where kappa ~ 1e6 makes the residual gradient visible
    for i in range(problem.N):
        w = problem.w_i_star[i] + u
        assert problem.excess(w)[i] == pytest.approx(exact_excess(problem, i, w), rel=NEAR, abs=0)


@given(x=st.floats(-600, 600))
@settings(max_examples=200, deadline=None)
def test_exp_remainder_to_rounding(x: float) -> None:
    with mpmath.workdps(700):  # exp(x) - 1 - x of the smallest doubles whose square is one too
        exact = float(mpmath.exp(mpmath.mpf(x)) - 1 - mpmath.mpf(x))
    assert float(exp_remainder(np.array([x]))[0]) == pytest.approx(exact, rel=1e-14, abs=1e-300)


@given(
    z=st.lists(st.floats(-1000, 1000), min_size=3, max_size=3),
    dz=st.lists(st.floats(-1, 1), min_size=3, max_size=3),
    scale=st.sampled_from([1e-8, 1e-3, 1.0, 1e3]),
)
@settings(max_examples=200, deadline=None)
def test_softmax_at_extreme_margins(z: list[float], dz: list[float], scale: float) -> None:
    scores, step = np.array(z)[:, None], scale * np.array(dz)[:, None]
    code = np.array([1])
    with mpmath.workdps(1500):  # probabilities down to exp(-2000) are added to 1
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
