"""Ridge regression over client datasets: F_i(w) = ||X_i w - y_i||^2 / (2 n_i) + (reg/2) ||w||^2."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import reject
from fedbounds.model.problem import Array, Indices, LeastSquaresArrays, Optimum, as_points, check_finite
from fedbounds.problems.linear import LinearModel, check_clients
from fedbounds.problems.registry import ProblemPlugin
from fedbounds.theory.constant import Constant, Provenance

# The largest singular value of a client's samples whose square, and products with that, are numbers.
LARGEST = 1e75
# The kernel holds two (N, d, d) arrays; beyond 5e7 entries (400 MB) each, the numpy engine runs instead.
KERNEL_ENTRIES = 5 * 10**7


@dataclass(frozen=True, eq=False, repr=False)
class LeastSquaresProblem(LinearModel):
    """Clients with features (n_i, d), targets (n_i,) and a common ridge; p_i = n_i/n unless given.

    Everything is closed form: excesses are ||X_i u||^2 / (2 n_i) + (reg/2) ||u||^2 with u = w - w_i*.
    Raises InputError on non-finite data, an empty client, mismatched shapes or mu = 0.
    """

    kind: ClassVar[str] = "least-squares"
    K: ClassVar[int] = 1  # one score a sample: its prediction
    _curvature: ClassVar[float] = 1.0

    features: Sequence[NDArray]
    targets: Sequence[NDArray]
    regularisation: float = 0.0
    p: Array = None  # type: ignore[assignment]  # None stands for n_i / n
    X: Array = field(init=False)
    y: Array = field(init=False)
    offsets: Indices = field(init=False)

    def __post_init__(self) -> None:
        X, y, offsets = check_clients(self.features, self.targets, "targets")
        try:
            y = y.astype(float)
        except (TypeError, ValueError):
            raise reject("targets must be numbers", f"dtype {y.dtype}", "encode them as floats") from None
        self._fix(X, check_finite(y, "targets"), offsets, targets=tuple(np.split(y, offsets[1:-1])))
        L, mu = self._curvatures
        # A zero singular value is computed as at most a few d eps of the largest.
        if self.regularisation == 0 and mu <= L * (self.d * np.finfo(float).eps) ** 2:
            raise reject(
                "every client needs mu > 0 (strong convexity), and some client's features are rank deficient",
                f"regularisation 0 with mu = {mu:.1e}",
                "add an L2 term with a positive regularisation",
            )

    def kernel_data(self) -> LeastSquaresArrays | None:
        if self.N * self.d**2 > KERNEL_ENTRIES:
            return None
        form = self._variance_form
        return LeastSquaresArrays(self.X, self.y, self.offsets, self.regularisation, self._hessians, *form)

    def _values(self, z: Array, rows: NDArray) -> Array:
        return (z[:, 0] - self.y[rows]) ** 2 / 2

    def _slopes(self, z: Array, rows: NDArray) -> Array:
        return z - (self.y[rows] if rows.ndim == 1 else self.y[rows][:, None, :])

    def _divergence(self, dz: Array, z: Array) -> Array:
        return dz[:, 0] ** 2 / 2

    def gap(self, w: Array) -> Array:
        """F(w) - F_star = ||R (w - w_star)||^2 / 2: (..., d) -> (...)."""
        return np.square((as_points(w, self.d) - self.w_star) @ self._root.T).sum(-1) / 2

    @cached_property
    def _root(self) -> Array:
        """R (d, d), R^T R the Hessian of F: by QR of the weighted samples, whose squaring would cost accuracy."""
        share = np.repeat(self.p / self.sizes, self.sizes)
        ridge = np.sqrt(self.regularisation * self.p.sum()) * np.eye(self.d)
        return np.linalg.qr(np.concatenate([np.sqrt(share)[:, None] * self.X, ridge])).R

    def _solve(self, clients: Indices, weights: Array) -> Optimum:
        X, y, share = self._samples_and_weights(clients, weights)
        hessian = X.T @ (share[:, None] * X) + self.regularisation * np.eye(self.d)

        def gradient(w: Array) -> Array:
            return X.T @ (share * (X @ w - y)) + self.regularisation * w

        w = np.zeros(self.d)
        for _ in range(3):  # a solve and two refinements, whose residuals come from the data
            w = w - np.linalg.solve(hessian, gradient(w))
        value = share @ (X @ w - y) ** 2 / 2 + self.regularisation / 2 * (w @ w)
        bound = float(np.sum(gradient(w) ** 2)) / (2 * self.mu)
        return Optimum(w, float(value), bound)

    def constants(self) -> Mapping[str, Constant]:
        L, mu = self._curvatures
        return {
            "L": Constant(L, Provenance.EXACT, "max_i lambda_max(X_i^T X_i / n_i) + reg"),
            "mu": Constant(mu, Provenance.EXACT, "min_i lambda_min(X_i^T X_i / n_i) + reg"),
        }

    @cached_property
    def _curvatures(self) -> tuple[float, float]:
        """(L, mu) from singular values: squaring them costs no accuracy at the small end."""
        singular = [np.linalg.svd(X, compute_uv=False) / np.sqrt(len(X)) for X in self.features]
        lowest = (s[-1] ** 2 if len(s) == self.d else 0.0 for s in singular)
        if not max(s[0] for s in singular) < LARGEST:
            received = f"features of norm {max(s[0] for s in singular):.1e}"
            raise reject(f"the squares of features must stay below {LARGEST:g}^2", received, "divide the features")
        return max(s[0] ** 2 for s in singular) + self.regularisation, min(lowest) + self.regularisation

    @cached_property
    def _hessians(self) -> Array:
        """H_i = X_i^T X_i / n_i + reg I (N, d, d)."""
        eye = self.regularisation * np.eye(self.d)
        return np.stack([X.T @ X / len(X) + eye for X in self.features])

    @cached_property
    def _variance_form(self) -> tuple[Array, Array, Array]:
        """varA (N, d, d), varb (N, d), varc (N,) of one sample's gradient variance about w_i*.

        With S = X^T X / n, r the residuals at w_i*, q_j = ||x_j||^2 and m = X^T r / n: the gradient of
        sample j deviates by (x_j x_j^T - S) u + r_j x_j - m, so varA = X^T diag(q) X / n - S^2,
        varb = X^T (q r) / n - S m and varc = mean_j ||r_j x_j - m||^2.
        """
        N, d = self.N, self.d
        A, b, c = np.zeros((N, d, d)), np.zeros((N, d)), np.zeros(N)
        for i, (X, y) in enumerate(zip(self.features, self.targets, strict=True)):
            n = len(X)
            if n == 1:  # a single sample has no variance; the differences below would leave rounding
                continue
            r, q = X @ self.w_i_star[i] - y, np.einsum("ni,ni->n", X, X)
            S, m = X.T @ X / n, X.T @ r / n
            A[i] = X.T @ (q[:, None] * X) / n - S @ S
            b[i] = X.T @ (q * r) / n - S @ m
            c[i] = np.sum((r[:, None] * X - m) ** 2) / n
        return A, b, c


PROBLEM = ProblemPlugin("least-squares", "ridge regression over client datasets, closed form", LeastSquaresProblem)
