"""L2-regularised logistic regression over client datasets, binary and multinomial."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import reject
from fedbounds.model.problem import Array, Indices, LogisticArrays, Optimum
from fedbounds.problems.linear import LinearModel, check_clients
from fedbounds.problems.newton import RowObjective, certificate, cross_entropy, divergence, logits, minimise, slopes
from fedbounds.problems.registry import ProblemPlugin
from fedbounds.theory.constant import Constant, Provenance


@dataclass(frozen=True, eq=False, repr=False)
class LogisticProblem(LinearModel):
    """F_i(w) = (1/n_i) sum_j -log softmax(W x_j)_{y_j} + (reg/2) ||w||^2; p_i = n_i/n unless given.

    Two distinct labels: w in R^d scores the larger label against the smaller. K >= 3: w in R^{K d} holds
    every class's vector, in the order of the sorted labels. Minima come from Newton's method and carry
    F - F* <= ||grad F||^2 / (2 mu), at most 1e-12 F.
    Raises InputError on non-finite data, an empty client, labels that are not classes or reg = 0.
    """

    kind: ClassVar[str] = "logistic"

    features: Sequence[NDArray]
    labels: Sequence[NDArray]
    regularisation: float = 0.0
    p: Array = None  # type: ignore[assignment]  # None stands for n_i / n
    X: Array = field(init=False)
    classes: NDArray = field(init=False)
    y: Indices = field(init=False)
    offsets: Indices = field(init=False)

    def __post_init__(self) -> None:
        X, labels, offsets = check_clients(self.features, self.labels, "labels")
        classes, codes = _classes(labels)
        self._fix(X, codes.astype(np.int64), offsets, classes=classes, labels=tuple(np.split(labels, offsets[1:-1])))
        if self.regularisation == 0:
            raise reject(
                "logistic regression needs mu > 0 (strong convexity)",
                "regularisation 0",
                "add an L2 term with a positive regularisation",
            )

    @property
    def K(self) -> int:
        """Score vectors: 1 for two classes, else one a class."""
        return 1 if len(self.classes) == 2 else len(self.classes)

    @cached_property
    def residual_i(self) -> Array:
        """grad F_i at the numerical w_i_star, in extended precision (N, d)."""
        alone = (self._objective(np.array([i]), np.ones(1)) for i in range(self.N))
        return np.stack([objective.residual(w) for objective, w in zip(alone, self.w_i_star, strict=True)])

    @cached_property
    def residual(self) -> Array:
        """grad F at the numerical w_star, in extended precision (d,)."""
        held = np.flatnonzero(self.p)
        return self._objective(held, self.p[held]).residual(self.w_star)

    @property
    def _curvature(self) -> float:
        return 0.25 if self.K == 1 else 0.5

    def kernel_data(self) -> LogisticArrays:
        y = np.where(self.y == 1, 1.0, -1.0) if self.K == 1 else self.y.astype(float)
        residuals = self.residual_i, self.residual
        return LogisticArrays(self.X, y, self.offsets, self.regularisation, self.K, *residuals)

    def _values(self, z: Array, rows: NDArray) -> Array:
        return cross_entropy(logits(z), self.y[rows])

    def _slopes(self, z: Array, rows: NDArray) -> Array:
        return slopes(logits(z), self.y[rows])[..., -self.K :, :]

    def _divergence(self, dz: Array, z: Array) -> Array:
        return divergence(logits(dz), logits(z))

    def _objective(self, clients: Indices, weights: Array) -> RowObjective:
        """sum_i weights_i F_i over some clients, of positive weights."""
        X, y, share = self._samples_and_weights(clients, weights.astype(np.longdouble))
        return RowObjective(X, y, share.astype(np.longdouble), self.regularisation, self.K)

    def _solve(self, clients: Indices, weights: Array) -> Optimum:
        objective = self._objective(clients, weights)
        w = minimise(objective, np.zeros(self.d))
        return Optimum(w, objective.value(w), certificate(objective, w))

    @cached_property
    def _steepest(self) -> float:
        """max_i lambda_max(X_i^T X_i / n_i), from the smaller Gram matrix."""
        grams = (X.T @ X if X.shape[0] > X.shape[1] else X @ X.T for X in self.features)
        return max(float(np.linalg.eigvalsh(G)[-1] / len(X)) for G, X in zip(grams, self.features, strict=True))

    def constants(self) -> Mapping[str, Constant]:
        # The soft-max Hessian is at most 1/4 (two classes, attained at w = 0) or 1/2 (Boehning 1992), and
        # vanishes far out along almost every direction, so reg is the infimum of the curvature.
        two = self.K == 1
        note = "max_i lambda_max(X_i^T X_i / n_i) / " + ("4 + reg, attained at w = 0" if two else "2 + reg")
        L = self._steepest / (4 if two else 2) + self.regularisation
        return {
            "L": Constant(L, Provenance.EXACT if two else Provenance.BOUND, note),
            "mu": Constant(self.regularisation, Provenance.EXACT, "reg, the infimum of the curvature over R^d"),
        }


def _classes(labels: NDArray) -> tuple[NDArray, NDArray]:
    """Sorted classes and each sample's class code; rejects labels that are not classes."""
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError:
        raise reject("labels must be of one kind", "a mixture of types", "use integers or strings") from None
    numeric = np.issubdtype(classes.dtype, np.floating)
    if np.issubdtype(classes.dtype, np.complexfloating) or (numeric and not np.isfinite(classes).all()):
        raise reject("labels must be finite numbers or strings", f"{classes[-1]}", "mend or drop those samples")
    if len(classes) < 2:
        raise reject("logistic regression needs at least two classes", f"{len(classes)}", "add a second label")
    if numeric and len(classes) > 2 and np.any(classes != np.round(classes)):
        raise reject(
            "labels must be classes: integers, strings, or any two values",
            f"{len(classes)} distinct real numbers",
            "use least-squares for real targets",
        )
    return classes, codes


PROBLEM = ProblemPlugin(
    "logistic", "L2-regularised logistic regression, binary and multinomial, certified minima", LogisticProblem
)
