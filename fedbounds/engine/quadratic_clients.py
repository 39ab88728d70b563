"""Clients with constant Hessians as the moment recursion sees them: eigenbases, and the noise of a batch in them."""

from dataclasses import dataclass

import numpy as np

from fedbounds.engine.numpy_engine import batch_scale
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array, LeastSquaresArrays, Problem, QuadraticArrays, kernel_arrays

# A client's table of fourth moments may have so many entries (1 MB, a processor's second cache) and columns for
# each sample: beyond either, a pass over the samples is cheaper.
TABLE_ENTRIES = 2**17
COLUMNS_PER_SAMPLE = 2
# ... and all tables together so many (512 MB).
ALL_ENTRIES = 2**26


@dataclass(frozen=True)
class Clients:
    """What the recursion needs of the clients.

    ``H`` (N, d, d) with eigenvectors ``U``, ``away`` (N, d) = w* - w_i*, ``p`` (N,), ``mean_H`` = sum_i p_i H_i,
    and ``arrays``, the trailing arguments of the kernel.
    """

    H: Array
    U: Array
    away: Array
    p: Array
    mean_H: Array
    arrays: tuple

    @property
    def d(self) -> int:
        return int(self.H.shape[1])

    def excess(self, means: Array, covariances: Array) -> Array:
        """E e_i of a model with these means minus w* (k, d) and covariances (k, d, d): (k, N)."""
        u = means[:, None, :] + self.away
        slopes = (u.swapaxes(0, 1) @ self.H).swapaxes(0, 1)
        spread = covariances.reshape(len(means), -1) @ self.H.reshape(len(self.H), -1).T
        return (np.einsum("kni,kni->kn", u, slopes) + spread) / 2

    def combined(self, wide: Array, weights: Array) -> Array:
        """sum_i weights_i A_i U_i^T, the A_i side by side in ``wide`` (k, d, N d): one matrix product, (k, d, d)."""
        return wide @ (weights[:, None, None] * self.U.swapaxes(1, 2)).reshape(-1, self.d)


def hessians(problem: Problem) -> tuple[Array, Array]:
    """H_i (N, d, d) and w* - w_i* (N, d) of a problem to which exact expectations apply."""
    data = kernel_arrays(problem)
    assert isinstance(data, QuadraticArrays | LeastSquaresArrays)
    return data.H, problem.w_star - problem.w_i_star


def prepare(experiment: Experiment) -> Clients:
    """Eigenbases and noise of the clients of an experiment to which exact expectations apply."""
    problem, b, data = experiment.problem, experiment.batch_size, kernel_arrays(experiment.problem)
    H, away = hessians(problem)
    lam, U = np.linalg.eigh(H)
    offset = np.einsum("nak,na->nk", U, away)
    if isinstance(data, LeastSquaresArrays) and b is not None:
        noise = _sampled(data, problem.w_i_star, lam, U, batch_scale(problem.sizes, b, experiment.replacement))
    elif isinstance(data, QuadraticArrays) and b is not None:
        noise = _additive(data.noise_std**2 / b / problem.d, problem.d)
    else:
        noise = _additive(np.zeros(problem.N), problem.d)
    return Clients(H, U, away, problem.p, np.tensordot(problem.p, H, 1), (lam, offset, *noise))


def _additive(variance: Array, d: int) -> tuple:
    """Kernel arguments for clients whose gradient noise has covariance ``variance``_i I."""
    from fedbounds.engine.kernels.moment_recursion import ADDITIVE

    N = len(variance)
    forms = np.full(N, ADDITIVE)
    empty = np.empty((1, 0, 0)), np.empty((0, d)), np.empty(0)
    return variance, np.zeros(N), 0.0, np.zeros((N, d)), forms, *empty, np.zeros(N + 1, dtype=np.int64)


def _sampled(data: LeastSquaresArrays, w_i_star: Array, lam: Array, U: Array, scale: Array) -> tuple:
    """Kernel arguments for minibatches: residuals r_j at w_i*, samples and their moments in the eigenbases."""
    from fedbounds.engine.kernels.matrix_products import padded
    from fedbounds.engine.kernels.moment_recursion import SAMPLES, TABLE

    features, y, offsets = data.X, data.y, data.offsets
    N, d = lam.shape
    n = np.diff(offsets)
    r = np.einsum("nd,nd->n", features, np.repeat(w_i_star, n, axis=0)) - y
    X = np.concatenate([block @ U[i] for i, block in enumerate(np.split(features, offsets[1:-1]))])
    mean_slope = np.add.reduceat(r[:, None] * X, offsets[:-1]) / n[:, None]
    # Table rows are read four at a time, in vectors of eight.
    height, width = padded(d * (d + 1) // 2), padded(d * (d + 1) // 2 + d + 1)
    tabled = (
        (width <= COLUMNS_PER_SAMPLE * n) & (height * width <= TABLE_ENTRIES) & (N * height * width <= ALL_ENTRIES)
    )
    table = np.zeros((N, height, width) if tabled.any() else (1, 0, 0))
    for i in np.flatnonzero(tabled):
        rows = slice(offsets[i], offsets[i + 1])
        _fill_table(table[i], X[rows], r[rows])
    return np.zeros(N), scale, data.reg, mean_slope, np.where(tabled, TABLE, SAMPLES), table, X, r, offsets


def _fill_table(table: Array, X: Array, r: Array) -> None:
    """The linear form of (1/n) sum_j (x_j^T M x_j + 2 r_j x_j.z + r_j^2) x_j x_j^T on (M, z, 1), M by its triangle.

    ``X`` (n, d), ``r`` (n,); rows and columns of ``table`` beyond those needed stay 0.
    """
    n, d = X.shape
    k, l = np.triu_indices(d)
    D = len(k)
    products = X[:, k] * X[:, l]
    twice = np.where(k == l, 1.0, 2.0)  # M is symmetric: off the diagonal each entry stands for two
    table[:D, :D] = products.T @ products / n * twice
    table[:D, D : D + d] = 2 * products.T @ (r[:, None] * X) / n
    table[:D, D + d] = products.T @ r**2 / n
