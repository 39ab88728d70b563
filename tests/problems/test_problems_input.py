"""Bad input to the problems: one clear sentence each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fedbounds.errors import InputError
from fedbounds.problems.least_squares import LeastSquaresProblem
from fedbounds.problems.logistic import LogisticProblem
from fedbounds.problems.quadratic import QuadraticProblem, quadratic

X = np.arange(8.0).reshape(4, 2) % 3
Y = np.array([0.0, 1.0, 1.0, 0.0])
HOLE = np.where(X == 1, np.nan, X)
EYES = np.stack([np.eye(2)] * 2)


def ridge(features: object = (X, X), targets: object = (Y, Y), reg: float = 0.1, p: object = None) -> object:
    return LeastSquaresProblem(features, targets, reg, p)  # type: ignore[arg-type]


def logistic(features: object = (X, X), labels: object = (Y, Y), reg: float = 0.1, p: object = None) -> object:
    return LogisticProblem(features, labels, reg, p)  # type: ignore[arg-type]


def quad(**changes: object) -> object:
    fields = {"H": EYES, "w_i_star": np.eye(2), "F_i_star": np.zeros(2), "p": np.full(2, 0.5)}
    return QuadraticProblem(**(fields | changes))  # type: ignore[arg-type]


CASES: dict[str, tuple[Callable[[], object], str]] = {
    "nan": (lambda: ridge((X, HOLE)), r"features of client 1 must be finite.*nan at index \(0, 1\)"),
    "inf": (lambda: ridge(targets=(Y, Y / 0.0 + 1e999)), "targets must be finite"),
    "empty": (lambda: ridge((X, X[:0]), (Y, Y[:0])), "at least one sample.*empty client 1"),
    "no clients": (lambda: ridge((), ()), "one array each for every client"),
    "columns": (lambda: ridge((X, X[:, :1])), "client 1 need shape"),
    "lengths": (lambda: ridge(targets=(Y, Y[:2])), "client 1 needs one of the targets.*give 4"),
    "targets": (lambda: ridge(targets=(Y.astype(str), np.array(list("abcd")))), "targets must be numbers"),
    "ridge mu": (lambda: ridge((X, X[:1]), (Y, Y[:1]), 0.0), "mu > 0.*positive regularisation"),
    "negative": (lambda: ridge(reg=-1.0), "regularisation must be finite and at least 0"),
    "p": (lambda: ridge(p=np.array([0.5, 0.6])), "p must be a distribution"),
    "p of 0": (lambda: ridge(p=np.array([1.0, 0.0])), "client 1 too, but received p = 0: leave that client out"),
    "p shape": (lambda: logistic(p=np.ones(3) / 3), "one entry for each of the 2 clients"),
    "logistic mu": (lambda: logistic(reg=0.0), "mu > 0.*positive regularisation"),
    "real labels": (lambda: logistic(labels=(Y + 0.5, Y * 0.3)), "labels must be classes.*least-squares"),
    "nan labels": (lambda: logistic(labels=(Y, np.where(Y == 1, np.nan, Y))), "finite numbers or strings"),
    "one label": (lambda: logistic(labels=(Y * 0, Y * 0)), "at least two classes"),
    "mixed": (lambda: logistic(labels=(Y.astype(object), np.array([*"abc", None]))), "labels must be of one kind"),
    "asymmetric": (lambda: quad(H=EYES + np.triu(np.ones((2, 2)), 1)), "H must be symmetric"),
    "H shape": (lambda: quad(H=np.eye(2)), r"H needs shape \(N, d, d\)"),
    "H nan": (lambda: quad(H=EYES * np.nan), "H must be finite"),
    "singular": (lambda: quad(H=EYES * [1.0, 0.0]), "positive definite.*lambda I"),
    "minima": (lambda: quad(w_i_star=np.eye(3)), r"w_i_star needs shape \(2, 2\)"),
    "noise": (lambda: quad(noise_std=-1.0), "noise_std must be non-negative"),
    "spectra": (lambda: quadratic(np.array([1.0, -1.0]), np.eye(2)), "positive definite"),
    "spectra shape": (lambda: quadratic(np.ones(3), np.eye(2)), "spectra needs shape"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_bad_input_is_one_clear_sentence(name: str) -> None:
    build, message = CASES[name]
    with pytest.raises(InputError, match=message) as caught:
        build()
    text = str(caught.value)
    assert "\n" not in text and "but received" in text and text.endswith(".")


def test_bad_queries() -> None:
    problem = LeastSquaresProblem((X, X), (Y, Y), 0.1)
    with pytest.raises(InputError, match=r"points need shape \(..., 2, 2\)"):
        problem.losses(np.zeros(3))
    with pytest.raises(InputError, match="must fit in every client"):
        problem.client_variance(np.zeros((2, 2)), 5, replacement=False)
    with pytest.raises(InputError, match="weights must be a distribution"):
        problem.argmin(np.array([2.0, -1.0]))


def test_unregularised_ridge_is_fine_where_every_client_has_full_rank() -> None:
    problem = LeastSquaresProblem((X, X + 1), (Y, Y), 0.0)
    assert problem.mu > 0
    assert np.abs(problem.client_grads(problem.w_i_star)).max() < 1e-14
