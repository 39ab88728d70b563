"""What must not change when clients are permuted, features rotated or targets scaled; and the registry."""

from __future__ import annotations

import numpy as np
import pytest
from problem_zoo import SAMPLED

from fedbounds.model.problem import Problem
from fedbounds.problems.least_squares import LeastSquaresProblem
from fedbounds.problems.logistic import LogisticProblem
from fedbounds.problems.quadratic import QuadraticProblem, quadratic
from fedbounds.problems.registry import problem_plugin, problem_plugins


def permuted(problem: Problem, order: list[int]) -> Problem:
    if isinstance(problem, QuadraticProblem):
        fields = (problem.H, problem.w_i_star, problem.F_i_star, problem.p, problem.noise_std)
        return QuadraticProblem(*(f[order] for f in fields))
    if isinstance(problem, LeastSquaresProblem):
        X, y = [[f[i] for i in order] for f in (problem.features, problem.targets)]
        return LeastSquaresProblem(X, y, problem.regularisation)
    assert isinstance(problem, LogisticProblem)
    X, y = [[f[i] for i in order] for f in (problem.features, problem.labels)]
    return LogisticProblem(X, y, problem.regularisation)


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


def test_registry_finds_the_problems_by_looking() -> None:
    assert {"quadratic", "least-squares", "logistic"} <= set(problem_plugins())
    build = problem_plugin("logistic").from_clients
    assert build is not None
    X = [np.eye(2), np.eye(2)]
    problem = build(X, [np.array([0, 1])] * 2, 0.1, np.array([0.25, 0.75]))
    assert problem.kind == "logistic" and problem.p[1] == 0.75
    assert problem_plugin("quadratic").from_clients is None
    with pytest.raises(ValueError, match="did you mean 'logistic'"):
        problem_plugin("logistc")
