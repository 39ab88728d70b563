"""Quadratic clients F_i(w) = F_i* + (w - w_i*)^T H_i (w - w_i*) / 2 with additive Gaussian gradient noise."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import reject
from fedbounds.model.problem import (
    Array,
    Indices,
    Optimum,
    Problem,
    QuadraticArrays,
    as_points,
    check_distribution,
    check_finite,
    client_weights,
)
from fedbounds.problems.registry import ProblemPlugin
from fedbounds.theory.constant import Constant, Provenance

# A matrix product Q diag(s) Q^T is symmetric up to a few roundings per entry; more is another matrix.
SYMMETRY_TOLERANCE = 1e-10


class AdditiveNoise(Problem):
    """Clients without samples whose gradients carry noise_std_i z / sqrt(d b), z ~ N(0, I_d), at batch size b.

    So E||g_i - grad F_i||^2 = noise_std_i^2 / b; ``draws`` of a stochastic gradient are z / sqrt(b).
    """

    sampling: ClassVar[Literal["indices", "normal"]] = "normal"
    w_i_star: Array
    noise_std: Array

    @property
    def d(self) -> int:
        return int(self.w_i_star.shape[1])

    @property
    def sizes(self) -> Indices:
        """Zeros (N,): these clients hold no samples."""
        return np.zeros(self.N, dtype=np.int64)

    def client_variance(self, x: Array, batch_size: int | None, replacement: bool = True) -> Array:
        """noise_std_i^2 / batch_size at every point, zeros for full gradients: (..., N, d) -> (..., N)."""
        shape = np.broadcast_shapes(np.shape(x)[:-1], (self.N,))
        if batch_size is None:
            return np.zeros(shape)
        return np.broadcast_to(self.noise_std**2 / batch_size, shape).copy()

    @property
    def noise_lipschitz(self) -> Array:
        """Zeros (N,): the noise is additive."""
        return np.zeros(self.N)

    def _noisy(self, grads: Array, draws: NDArray | None) -> Array:
        """The gradients plus noise_std_i draws_i / sqrt(d), where there are draws."""
        return grads if draws is None else grads + self.noise_std[:, None] / np.sqrt(self.d) * draws

    def _fix(self, fixed: Mapping[str, Array]) -> None:
        """Set the checked fields of a frozen problem, the noise among them."""
        noise_std = shaped(self.noise_std, (len(self.w_i_star),), "noise_std")
        for name, value in {**fixed, "noise_std": noise_std}.items():
            object.__setattr__(self, name, np.ascontiguousarray(value))
        if self.noise_std.min() < 0:
            raise reject("noise_std must be non-negative", float(self.noise_std.min()), "give its modulus")


def shaped(values: NDArray | float, shape: tuple[int, ...], name: str) -> Array:
    """Finite ``values`` of this shape, a scalar broadcast to it; else an input error."""
    values = check_finite(np.asarray(values, dtype=float), name)
    if values.shape not in ((), shape):
        raise reject(f"{name} needs shape {shape}", f"shape {values.shape}", "match the minimisers, or give a scalar")
    return np.broadcast_to(values, shape)


@dataclass(frozen=True, eq=False, repr=False)
class QuadraticProblem(AdditiveNoise):
    """Clients with Hessians H (N, d, d), minimisers w_i_star (N, d), minima F_i_star (N,), weights p (N,).

    Raises InputError on non-finite, asymmetric or not positive definite input.
    """

    kind: ClassVar[str] = "quadratic"

    H: Array
    w_i_star: Array = field()  # or the property of that name would be its default
    F_i_star: Array = field()
    p: Array
    noise_std: Array = 0.0  # type: ignore[assignment]  # a scalar is broadcast

    def __post_init__(self) -> None:
        H = check_finite(self.H, "H")
        if H.ndim != 3 or H.shape[1] != H.shape[2] or 0 in H.shape:
            raise reject("H needs shape (N, d, d)", f"shape {H.shape}", "stack one d x d Hessian a client")
        N, d, _ = H.shape
        asymmetry = np.abs(H - H.swapaxes(1, 2)).max() / max(np.abs(H).max(), np.finfo(float).tiny)
        if asymmetry > SYMMETRY_TOLERANCE:
            raise reject("H must be symmetric", f"relative asymmetry {asymmetry:.1e}", "give (H + H^T) / 2")
        self._fix(
            {
                "H": (H + H.swapaxes(1, 2)) / 2,
                "w_i_star": shaped(self.w_i_star, (N, d), "w_i_star"),
                "F_i_star": shaped(self.F_i_star, (N,), "F_i_star"),
                "p": client_weights(self.p, N),
            }
        )
        _check_definite(self._spectra)

    @cached_property
    def _spectra(self) -> Array:
        """Eigenvalues of every H_i, ascending (N, d)."""
        return np.asarray(np.linalg.eigvalsh(self.H), dtype=float)

    @cached_property
    def client_optima(self) -> tuple[Optimum, ...]:
        """The prescribed minimisers and minima, exact."""
        return tuple(Optimum(w, float(v), 0.0) for w, v in zip(self.w_i_star, self.F_i_star, strict=True))

    def client_losses(self, x: Array) -> Array:
        """F_i* + e_i(x_i): (..., N, d) -> (..., N)."""
        return self.F_i_star + self.client_excess(x)

    def client_excess(self, x: Array) -> Array:
        """u^T H_i u / 2 with u = x_i - w_i*: (..., N, d) -> (..., N)."""
        u = np.asarray(x, dtype=float) - self.w_i_star
        return np.einsum("...i,...i->...", u, _times(self.H, u)) / 2

    def client_grads(self, x: Array, draws: NDArray | None = None) -> Array:
        """H_i (x_i - w_i*), plus noise_std_i draws_i / sqrt(d) where draws (..., N, d) are given."""
        return self._noisy(_times(self.H, np.asarray(x, dtype=float) - self.w_i_star), draws)

    @property
    def sample_smoothness(self) -> float:
        """L: additive noise adds a linear function to F_i."""
        return self.L

    def gap(self, w: Array) -> Array:
        """(w - w*)^T (sum_i p_i H_i) (w - w*) / 2: (..., d) -> (...)."""
        u = as_points(w, self.d) - self.w_star
        return np.einsum("...i,...i->...", u, u @ self._mean_hessian) / 2

    @cached_property
    def _mean_hessian(self) -> Array:
        return np.tensordot(self.p, self.H, 1)

    def argmin(self, weights: Array) -> Optimum:
        """Solve sum_i weights_i H_i (w - w_i*) = 0, exact up to rounding."""
        weights = check_distribution(weights, self.N, "weights")
        # Measured from a client's own minimiser, so that coinciding minimisers are returned bit for bit.
        origin = self.w_i_star[np.argmax(weights)]
        hessian = np.tensordot(weights, self.H, 1)
        w = origin - np.linalg.solve(hessian, weights @ self.client_grads(origin[None, :]))
        return Optimum(w, float(weights @ self.losses(w)), 0.0)

    def constants(self) -> Mapping[str, Constant]:
        """L and mu: the largest and smallest eigenvalue over all clients, exact."""
        return {
            "L": Constant(float(self._spectra.max()), Provenance.EXACT, "max_i lambda_max(H_i)"),
            "mu": Constant(float(self._spectra.min()), Provenance.EXACT, "min_i lambda_min(H_i)"),
        }

    def kernel_data(self) -> QuadraticArrays:
        return QuadraticArrays(self.H, self.noise_std)


def quadratic(
    spectra: NDArray,
    minima: NDArray,
    p: NDArray | None = None,
    *,
    rng: np.random.Generator | None = None,
    noise_std: float | NDArray = 0.0,
    F_i_star: float | NDArray = 0.0,
) -> QuadraticProblem:
    """Quadratic clients H_i = Q_i diag(spectra_i) Q_i^T with prescribed minimisers.

    ``spectra`` is (N, d), or (d,) for all clients; ``minima`` (N, d); ``p`` uniform unless given. Q_i is
    Haar-distributed if ``rng`` is given, else the identity. Raises InputError on a spectrum that is not positive.
    """
    minima = check_finite(minima, "minima")
    if minima.ndim != 2:
        raise reject("minima needs shape (N, d)", f"shape {minima.shape}", "give one minimiser a client")
    N, d = minima.shape
    spectra = check_finite(spectra, "spectra")
    if spectra.shape not in ((d,), (N, d)):
        raise reject(f"spectra needs shape ({N}, {d}) or ({d},)", f"shape {spectra.shape}", "match the minima")
    spectra = np.broadcast_to(spectra, (N, d))
    _check_definite(spectra)
    Q = np.broadcast_to(np.eye(d), (N, d, d)) if rng is None else _haar(N, d, rng)
    return QuadraticProblem(
        H=(Q * spectra[:, None, :]) @ Q.swapaxes(1, 2),
        w_i_star=minima,
        F_i_star=np.asarray(F_i_star, dtype=float),
        p=np.full(N, 1 / N) if p is None else p,
        noise_std=np.asarray(noise_std, dtype=float),
    )


def _times(H: Array, u: Array) -> Array:
    """H_i u_i: (N, d, d), (..., N, d) -> (..., N, d), as one matrix product a client."""
    flat = u.reshape(-1, *u.shape[-2:]).swapaxes(0, 1)
    return (flat @ H).swapaxes(0, 1).reshape(u.shape)


def _check_definite(spectra: Array) -> None:
    """Reject eigenvalues that are not positive beyond the rounding of an eigenvalue solver."""
    lowest, floor = spectra.min(), spectra.shape[-1] * np.finfo(float).eps * spectra.max()
    if lowest <= max(floor, 0.0):
        raise reject(
            "every H_i must be positive definite (mu > 0, strong convexity)",
            f"smallest eigenvalue {lowest:.3g}",
            "add a regularisation, H_i + lambda I with lambda > 0",
        )


def _haar(N: int, d: int, rng: np.random.Generator) -> Array:
    """Haar-distributed orthogonal matrices (N, d, d): QR of Gaussians with the signs of R removed."""
    Q, R = np.linalg.qr(rng.standard_normal((N, d, d)))
    return Q * np.where(np.diagonal(R, axis1=1, axis2=2) < 0, -1.0, 1.0)[:, None, :]


PROBLEM = ProblemPlugin("quadratic", "prescribed Hessians and minimisers, additive Gaussian gradient noise")
