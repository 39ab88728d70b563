"""Small problems of every kind for the tests of fedbounds.problems, each a function of a seed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fedbounds.model.problem import Array, Problem
from fedbounds.problems.least_squares import LeastSquaresProblem
from fedbounds.problems.logistic import LogisticProblem
from fedbounds.problems.quadratic import QuadraticProblem, quadratic

SIZES = (5, 1, 7, 3)
COLUMNS = 3


def features(rng: np.random.Generator, sizes: tuple[int, ...] = SIZES, columns: int = COLUMNS) -> list[Array]:
    """One (n_i, columns) array a client, with client means that differ."""
    return [rng.standard_normal((n, columns)) + rng.standard_normal(columns) for n in sizes]


def labels(rng: np.random.Generator, K: int, sizes: tuple[int, ...] = SIZES) -> list[np.ndarray]:
    """Class labels 0..K-1 with every class present somewhere."""
    flat = np.concatenate([np.arange(K), rng.integers(0, K, sum(sizes) - K)])
    return np.split(rng.permutation(flat), np.cumsum(sizes)[:-1])


def quadratic_problem(seed: int) -> QuadraticProblem:
    """Four rotated quadratics in R^3 with noise on all clients but one."""
    rng = np.random.default_rng(seed)
    spectra = rng.uniform(0.5, 4.0, (4, COLUMNS))
    minima = rng.standard_normal((4, COLUMNS))
    noise = np.array([0.3, 0.0, 1.0, 2.0])
    p = rng.dirichlet(np.ones(4))
    return quadratic(spectra, minima, p, rng=rng, noise_std=noise, F_i_star=rng.standard_normal(4))


def ridge_problem(seed: int) -> LeastSquaresProblem:
    """Ridge regression with ragged clients, one of them with a single sample."""
    rng = np.random.default_rng(seed)
    X = features(rng)
    return LeastSquaresProblem(X, [rng.standard_normal(len(x)) for x in X], 0.1)


def binary_problem(seed: int) -> LogisticProblem:
    """Binary logistic regression on ragged clients."""
    rng = np.random.default_rng(seed)
    return LogisticProblem(features(rng), labels(rng, 2), 0.05)


def multinomial_problem(seed: int) -> LogisticProblem:
    """Three classes on ragged clients; some clients miss a class."""
    rng = np.random.default_rng(seed)
    return LogisticProblem(features(rng), labels(rng, 3), 0.05)


ZOO: dict[str, Callable[[int], Problem]] = {
    "quadratic": quadratic_problem,
    "least-squares": ridge_problem,
    "binary": binary_problem,
    "multinomial": multinomial_problem,
}
SAMPLED = ("least-squares", "binary", "multinomial")
