"""Every problem against mathematics: finite differences, enumeration of batches, inequalities, invariances."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from problem_zoo import SAMPLED, SIZES, ZOO, features, labels

from fedbounds.model.problem import Array, LogisticArrays, Problem, QuadraticArrays
from fedbounds.problems.least_squares import LeastSquaresProblem
from fedbounds.problems.logistic import LogisticProblem
from fedbounds.problems.quadratic import QuadraticProblem, quadratic

# Two double-precision evaluations of the same short formula.
ROUNDING = 1e-12
# Central differences at step 1e-5 of functions with moderate third derivatives, and their rounding 1e-16/1e-5.
DIFFERENCE_TOLERANCE = 1e-8
KINDS = sorted(ZOO)


def points(problem: Problem, seed: int, lead: tuple[int, ...] = (2,)) -> Array:
    return np.random.default_rng(seed).standard_normal((*lead, problem.N, problem.d))


@pytest.mark.parametrize("kind", KINDS)
def test_global_and_client_forms_agree(kind: str) -> None:
    problem = ZOO[kind](3)
    w = np.random.default_rng(4).standard_normal((2, 3, problem.d))
    x = np.broadcast_to(w[..., None, :], (2, 3, problem.N, problem.d))
    np.testing.assert_allclose(problem.losses(w), problem.client_losses(x), rtol=ROUNDING)
    np.testing.assert_allclose(problem.excess(w), problem.client_excess(x), rtol=ROUNDING)
    np.testing.assert_allclose(problem.grads(w), problem.client_grads(x), rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(problem.losses(w), problem.excess(w) + problem.F_i_star, rtol=ROUNDING)
    expected = problem.losses(w) @ problem.p - problem.F_star
    np.testing.assert_allclose(problem.gap(w), expected, rtol=0, atol=ROUNDING)
    one = problem.client_excess(x[0, 0])
    np.testing.assert_allclose(one, problem.excess(w)[0, 0], rtol=ROUNDING)


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


def test_gaussian_noise_has_the_stated_law() -> None:
    problem = ZOO["quadratic"](7)
    assert isinstance(problem, QuadraticProblem)
    x = points(problem, 8, ())
    z = np.eye(problem.d)[:, None, :] * np.ones((1, problem.N, 1))
    noise = problem.client_grads(np.broadcast_to(x, z.shape), z) - problem.client_grads(x)
    # E||A z||^2 = ||A||_F^2 for z ~ N(0, I): the sum over the unit draws is the variance itself.
    np.testing.assert_allclose(np.sum(noise**2, (0, 2)), problem.client_variance(x, 1), rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(problem.client_variance(x, 1), problem.noise_std**2)
    np.testing.assert_allclose(problem.client_variance(x, 4), problem.noise_std**2 / 4)


def test_variance_vanishes_only_where_it_should() -> None:
    problem = ZOO["binary"](9)
    x = points(problem, 10)
    single = SIZES.index(1)
    variance = problem.client_variance(x, 1)
    assert np.all(variance[:, single] == 0)
    assert np.all(np.delete(variance, single, 1) > 0)
    rng = np.random.default_rng(0)
    X = features(rng, (4, 6))
    whole = LeastSquaresProblem(X, [rng.standard_normal(4), rng.standard_normal(6)], 0.1)
    assert whole.client_variance(points(whole, 1), 4, False)[0, 0] == 0


def test_least_squares_variance_form_of_the_kernel() -> None:
    problem = ZOO["least-squares"](11)
    data = problem.kernel_data()
    assert data is not None
    stars = problem.w_i_star
    u = points(problem, 12)
    quadratic_form = np.einsum("rni,nij,rnj->rn", u, data.A, u) + 2 * np.einsum("rni,ni->rn", u, data.b) + data.c
    np.testing.assert_allclose(problem.client_variance(stars + u, 1), quadratic_form, rtol=ROUNDING, atol=ROUNDING)
    excess = np.einsum("rni,nij,rnj->rn", u, data.H, u) / 2
    np.testing.assert_allclose(problem.client_excess(stars + u), excess, rtol=ROUNDING)
    assert data.X.flags.c_contiguous and len(data.y) == data.offsets[-1] == sum(SIZES)


def test_kernel_arrays_of_the_other_problems() -> None:
    quadratic = ZOO["quadratic"](1).kernel_data()
    assert isinstance(quadratic, QuadraticArrays)
    assert quadratic.H.shape == (4, 3, 3) and quadratic.noise_std.shape == (4,)
    problem = ZOO["binary"](1)
    data = problem.kernel_data()
    assert isinstance(data, LogisticArrays) and data.K == 1 and set(data.y) == {-1.0, 1.0}
    w = np.random.default_rng(2).standard_normal(3)
    margins = data.y * (data.X @ w)
    by_hand = [np.log1p(np.exp(-m)).mean() for m in np.split(margins, data.offsets[1:-1])]
    np.testing.assert_allclose(problem.losses(w), np.array(by_hand) + data.reg / 2 * w @ w, rtol=ROUNDING)
    np.testing.assert_allclose(data.residual_i, problem.client_grads(problem.w_i_star), rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(data.residual, problem.p @ problem.grads(problem.w_star), rtol=0, atol=ROUNDING)
    many = ZOO["multinomial"](1).kernel_data()
    assert isinstance(many, LogisticArrays) and many.K == 3 and set(many.y) == {0.0, 1.0, 2.0}


def test_only_the_order_of_two_labels_matters() -> None:
    rng = np.random.default_rng(13)
    X, y = features(rng), labels(rng, 2)
    reference = LogisticProblem(X, y, 0.05)
    w = rng.standard_normal(3)
    for low, high in (("no", "yes"), (-7.0, 2.5), (False, True), (-1, 1)):
        same = LogisticProblem(X, [np.where(c == 1, high, low) for c in y], 0.05)
        np.testing.assert_array_equal(same.losses(w), reference.losses(w))
    swapped = LogisticProblem(X, [1 - c for c in y], 0.05)
    np.testing.assert_allclose(swapped.losses(-w), reference.losses(w), rtol=ROUNDING)


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


def test_a_problem_shows_its_constants():
    problem = quadratic(np.array([1.0, 4.0]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    assert repr(problem) == "QuadraticProblem(N=2, d=2, L=4, mu=1, Gamma=0.625)"
    assert problem._repr_latex_() == r"$N = 2, d = 2, L = 4, \mu = 1, \Gamma = 0.625$"
