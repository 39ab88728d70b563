"""A federated problem: N strongly convex client objectives F_i and their weights p_i.

F(w) = sum_i p_i F_i(w), each F_i L-smooth and mu-strongly convex on R^d (Assumptions 1 and 2).
"""

import abc
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import quoted, reject
from fedbounds.theory.constant import Constant, Provenance

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# A sum of N rounded probabilities differs from 1 by a few units in the last place; anything larger is a mistake.
SIMPLEX_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Optimum:
    """A minimiser ``w`` (d,), its value, and a certified bound on value - min (0 where exact)."""

    w: Array
    value: float
    excess_bound: float


@dataclass(frozen=True)
class QuadraticArrays:
    """What kernels read of clients with Hessians ``H`` (N, d, d) and additive noise ``noise_std`` (N,)."""

    H: Array
    noise_std: Array


@dataclass(frozen=True)
class LeastSquaresArrays:
    """What kernels read of ridge regression: samples ``X`` (n, d), ``y`` (n,), client i from offsets[i] on.

    ``H`` (N, d, d) are the Hessians; one sample's gradient variance at w_i* + u is u^T A_i u + 2 b_i.u + c_i.
    """

    X: Array
    y: Array
    offsets: Indices
    reg: float
    H: Array
    A: Array
    b: Array
    c: Array


@dataclass(frozen=True)
class LogisticArrays:
    """What kernels read of logistic regression: samples ``X`` (n, features), client i from offsets[i] on.

    ``y`` (n,) are labels +1 and -1 where there is ``K`` = 1 score, else the codes 0 ... K - 1 of the classes;
    ``residual_i`` (N, d) and ``residual`` (d,) the gradients left at the numerical w_i* and w*.
    """

    X: Array
    y: Array
    offsets: Indices
    reg: float
    K: int
    residual_i: Array
    residual: Array


KernelArrays = QuadraticArrays | LeastSquaresArrays | LogisticArrays


class Problem(abc.ABC):
    """Abstract federated problem; subclasses are final, frozen, and state only the mathematics.

    Axes: ``w`` is (..., d) for a global point and ``x`` is (..., N, d) (or (..., 1, d)) for one point
    a client. ``draws`` of a stochastic gradient are sample indices (..., N, b) where ``sampling`` is
    ``"indices"``, or standard normal vectors (..., N, d) where it is ``"normal"``.
    """

    kind: ClassVar[str]
    sampling: ClassVar[Literal["indices", "normal"]] = "indices"
    convex: ClassVar[bool] = True
    p: Array

    @property
    @abc.abstractmethod
    def d(self) -> int:
        """Dimension of w."""

    @property
    @abc.abstractmethod
    def sizes(self) -> Indices:
        """n_i, the number of samples of each client (N,); zeros where there are no samples."""

    @abc.abstractmethod
    def client_losses(self, x: Array) -> Array:
        """F_i(x_i): (..., N, d) -> (..., N)."""

    @abc.abstractmethod
    def client_excess(self, x: Array) -> Array:
        """F_i(x_i) - F_i_star without cancellation near w_i_star: (..., N, d) -> (..., N)."""

    @abc.abstractmethod
    def client_grads(self, x: Array, draws: NDArray[Any] | None = None) -> Array:
        """grad F_i(x_i), or the stochastic gradient g_i for ``draws``: (..., N, d) -> (..., N, d)."""

    @abc.abstractmethod
    def client_variance(self, x: Array, batch_size: int | None, replacement: bool = True) -> Array:
        """E||g_i(x_i) - grad F_i(x_i)||^2 given x_i, in closed form: (..., N, d) -> (..., N).

        ``batch_size`` None means full gradients: zeros.
        """

    @property
    @abc.abstractmethod
    def noise_lipschitz(self) -> Array:
        """Lipschitz constants (N,) of x -> sqrt(variance of one sample's gradient at x), client by client.

        They certify Assumption 3 over a ball; infinity where none is known.
        """

    @property
    def sample_smoothness(self) -> float:
        """A smoothness constant of every sample's loss, where each is convex; infinity where none is known.

        Stochastic gradients then satisfy E||g_i(x) - g_i(y)||^2 <= 2 L_sample D_i(x, y), D_i the Bregman divergence.
        """
        return float("inf")

    @abc.abstractmethod
    def gap(self, w: Array) -> Array:
        """F(w) - F_star without cancellation near w_star: (..., d) -> (...)."""

    @abc.abstractmethod
    def argmin(self, weights: Array) -> Optimum:
        """Minimiser of sum_i weights_i F_i for weights on the simplex (N,)."""

    @abc.abstractmethod
    def constants(self) -> Mapping[str, Constant]:
        """At least ``L`` and ``mu``, valid for every F_i, with provenance."""

    def kernel_data(self) -> KernelArrays | None:
        """The arrays of a compiled kernel, whose type says which; None: the plain numpy engine runs the problem."""
        return None

    def __repr__(self) -> str:
        """The class with N, d, L, mu and Gamma; those that cannot be computed are left out."""
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in self._summary().items())})"

    def _repr_latex_(self) -> str:
        """The same numbers for a notebook."""
        letters = {"mu": r"\mu", "Gamma": r"\Gamma"}
        parts = (f"{letters.get(name, name)} = {value}" for name, value in self._summary().items())
        return f"${', '.join(parts)}$"

    def _summary(self) -> dict[str, str]:
        numbers = {}
        for name in ("N", "d", "L", "mu", "Gamma"):
            with suppress(Exception):  # a message about a user's faulty problem shows it, and must not fail itself
                numbers[name] = f"{float(getattr(self, name)):.4g}"
        return numbers

    @property
    def N(self) -> int:
        """Number of clients."""
        return int(self.p.shape[0])

    def losses(self, w: Array) -> Array:
        """F_i(w): (..., d) -> (..., N)."""
        return self.client_losses(np.asarray(w, dtype=float)[..., None, :])

    def excess(self, w: Array) -> Array:
        """e_i(w) = F_i(w) - F_i_star: (..., d) -> (..., N)."""
        return self.client_excess(np.asarray(w, dtype=float)[..., None, :])

    def grads(self, w: Array) -> Array:
        """grad F_i(w) at one global point: (..., d) -> (..., N, d)."""
        return self.client_grads(np.asarray(w, dtype=float)[..., None, :])

    @property
    def L(self) -> float:
        """Smoothness constant valid for every F_i (Assumption 1)."""
        return float(self.constants()["L"])

    @property
    def mu(self) -> float:
        """Strong-convexity constant valid for every F_i (Assumption 2)."""
        return float(self.constants()["mu"])

    @cached_property
    def optimum(self) -> Optimum:
        """The minimiser of F = sum_i p_i F_i."""
        return self.argmin(self.p)

    @cached_property
    def client_optima(self) -> tuple[Optimum, ...]:
        """The minimiser of each F_i."""
        return tuple(self.argmin(row) for row in np.eye(self.N))

    @property
    def w_star(self) -> Array:
        """w* (d,)."""
        return self.optimum.w

    @property
    def F_star(self) -> float:
        """F(w*)."""
        return self.optimum.value

    @cached_property
    def w_i_star(self) -> Array:
        """w_i* (N, d)."""
        return np.stack([o.w for o in self.client_optima])

    @cached_property
    def F_i_star(self) -> Array:
        """F_i* (N,)."""
        return np.array([o.value for o in self.client_optima])

    @cached_property
    def star_excess(self) -> Array:
        """e_i(w*) = F_i(w*) - F_i* (N,)."""
        return self.excess(self.w_star)

    @cached_property
    def Gamma(self) -> Constant:
        """Gamma = F* - sum_i p_i F_i* = sum_i p_i e_i(w*) (the paper's heterogeneity)."""
        slack = self.optimum.excess_bound + float(self.p @ [o.excess_bound for o in self.client_optima])
        value = float(self.p @ self.star_excess)
        note = "sum_i p_i (F_i(w*) - F_i*)" + (f", within {slack:.1e}" if slack else "")
        return Constant(value, Provenance.EXACT, note)


def check_distribution(p: NDArray[Any], N: int, name: str = "p") -> Array:
    """``p`` as a float array if it is a distribution over N clients, else an input error.

    >>> check_distribution([0.25, 0.75], 2)
    array([0.25, 0.75])
    """
    p = np.asarray(p, dtype=float)
    if p.shape != (N,):
        raise reject(f"{name} needs one entry for each of the {N} clients", f"shape {p.shape}", f"give {N} weights")
    if not np.all(np.isfinite(p)) or np.any(p < 0) or abs(p.sum() - 1) > SIMPLEX_TOLERANCE:
        raise reject(
            f"{name} must be a distribution (non-negative, summing to 1)",
            f"{np.array2string(p, threshold=8)} with sum {p.sum():.12g}",
            f"divide {name} by its sum",
        )
    return p


def client_weights(p: NDArray[Any], N: int) -> Array:
    """``p`` as a float array if it is a distribution that leaves none of N clients out, else an input error.

    Gamma and rho say nothing of a client of p_i = 0, and alpha_i/p_i is not defined there.

    >>> client_weights([0.25, 0.75], 2)
    array([0.25, 0.75])
    """
    p = check_distribution(p, N)
    if np.any(p == 0):
        client = int(np.argmin(p))
        raise reject(
            f"every client needs a positive weight p_i, client {client} too", "p = 0", "leave that client out"
        )
    return p


def as_points(w: Any, d: int) -> Array:
    """``w`` (..., d) as a float array, else an input error.

    >>> as_points([1, 2], 2)
    array([1., 2.])
    """
    try:
        points = np.asarray(w, dtype=float)
    except (TypeError, ValueError):
        raise reject(f"w must be numbers of shape (..., {d})", quoted(w), "give an array of points") from None
    if points.shape[-1:] != (d,):
        received = "None" if w is None else f"shape {points.shape}"
        raise reject(f"w must have shape (..., {d})", received, f"give points of {d} coordinates")
    return points


def check_finite(values: NDArray[Any], name: str) -> Array:
    """``values`` as a float array if every entry is finite, else an input error naming the first bad one.

    >>> check_finite([[1, 2]], "features")
    array([[1., 2.]])
    """
    values = np.asarray(values, dtype=float)
    bad = np.argwhere(~np.isfinite(values))
    if bad.size:
        where = tuple(int(k) for k in bad[0])
        raise reject(f"{name} must be finite", f"{values[where]} at index {where}", "remove or impute the entry")
    return values
