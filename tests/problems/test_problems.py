"""Every problem against mathematics: finite differences, enumeration of batches, inequalities, invariances."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from problem_zoo import SAMPLED, SIZES, ZOO, features, labels

from fedbounds.model.problem import Array, Problem
from fedbounds.problems.least_squares import LeastSquaresProblem
from fedbounds.problems.logistic import LogisticProblem
from fedbounds.problems.quadratic import quadratic

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
