"""Clients with constant Hessians as the recursion of moments sees them, each in the eigenbasis of its Hessian.

There a step x <- x - eta (H (x - w_i*) + noise) acts on covariances entry by entry, and only the noise of a
minibatch couples them. A sample's gradient is (x_j.u + r_j) x_j + reg x with u = x - w_i*, so that its
covariance, averaged over u with mean z and covariance C, is

    (1/n) sum_j (x_j^T (C + z z^T) x_j + 2 r_j x_j.z + r_j^2) x_j x_j^T - S C S - (S z + m)(S z + m)^T

with S = X^T X / n and m = X^T r / n. The first sum is linear in C + z z^T: a table of fourth moments, or, where
that is too large, a pass over the samples.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fedbounds.engine.loop import kernel_arrays
from fedbounds.engine.numpy_engine import batch_scale
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array, Indices, LeastSquaresArrays, Problem, QuadraticArrays

# A client's table of fourth moments may have so many entries (1 MB, a processor's second cache) and columns for
# each sample: beyond either, a pass over the samples is cheaper.
TABLE_ENTRIES = 2**17
COLUMNS_PER_SAMPLE = 2
# ... and all tables together so many (512 MB).
ALL_ENTRIES = 2**26


@dataclass(frozen=True)
class Batches:
    """The batches of all clients, in their eigenbases: ``samples`` X (n, d) with residuals r (n,) at w_i*, a client.

    ``curvature`` (N, d) is the diagonal of S, ``slope`` (N, d) is m, and ``scale`` (N,) turns one sample's covariance
    into a batch's. Of the clients ``tabled``, ``tables`` act on the upper triangle of C + z z^T followed by z and 1.
    """

    samples: list[tuple[Array, Array]]
    curvature: Array
    slope: Array
    scale: Array
    tabled: Indices
    tables: Array

    # The upper triangle of a (d, d) matrix, and the clients whose samples are gone through: looked up at every step.
    _triangle = cached_property(lambda batches: np.triu_indices(batches.slope.shape[1]))
    _passed = cached_property(lambda batches: np.setdiff1d(np.arange(len(batches.slope)), batches.tabled))

    def covariances(self, C: Array, z: Array) -> Array:
        """The expected covariances (N, d, d) of the stochastic gradients where u has means z and covariances C."""
        form, (k, l) = np.empty(C.shape), self._triangle
        for i in self._passed:
            X, r = self.samples[i]
            weight = ((X @ C[i]) * X).sum(-1) + (X @ z[i] + r) ** 2
            form[i] = X.T @ (weight[:, None] * X) / len(X)
        if len(self.tabled):
            few, at = z[self.tabled], self.tabled[:, None]
            square = C[at, k, l] + few[:, k] * few[:, l]
            packed = np.concatenate([square, few, np.ones((len(few), 1))], axis=1)
            form[at, k, l] = form[at, l, k] = (self.tables @ packed[..., None])[..., 0]
        mean, S = self.curvature * z + self.slope, self.curvature
        form -= S[:, :, None] * C * S[:, None, :] + mean[:, :, None] * mean[:, None, :]
        return self.scale[:, None, None] * form


@dataclass(frozen=True)
class Clients:
    """What the recursion needs of the clients.

    ``H`` (N, d, d) with eigenvalues ``lam`` (N, d) and eigenvectors ``U``, ``away`` (N, d) = w* - w_i*, ``p`` (N,),
    ``mean_H`` = sum_i p_i H_i. The noise of a gradient is that of its ``batches`` or has covariance ``additive``_i I.
    """

    H: Array
    lam: Array
    U: Array
    away: Array
    p: Array
    mean_H: Array
    additive: Array
    batches: Batches | None = None

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

    def local_steps(self, S: Array, start: Array, etas: Array) -> tuple[Array, Array, Array, Array]:
        """The moments of every client over one round that starts at a common model with random state.

        All in the eigenbases: ``S`` (N, d, d) and ``start`` (N, d) are the covariance and mean (from w*) of that
        model. With n steps ``etas`` it returns ``shift`` (n + 1, N, d), how far each mean has moved, ``gone`` (n +
        1, N, d), the diagonal of I - P_i, ``V`` (n + 1, N, d, d), and ``local`` (6, n + 1, N): E||grad F_i||^2, E
        e_i, E||g_i - grad F_i||^2 (0 after the last step), E||x_i - w*||^2, tr((I - P_i) S (I - P_i)) and tr V_i.
        """
        n, (N, d), lam = len(etas), start.shape, self.lam
        shift, gone, V = np.zeros((n + 1, N, d)), np.zeros((n + 1, N, d)), np.zeros((n + 1, N, d, d))
        local, offset = np.zeros((6, n + 1, N)), np.einsum("nak,na->nk", self.U, self.away)
        for s, eta in enumerate(etas):
            z, left, factor = start - shift[s] + offset, 1 - gone[s], 1 - eta * lam
            if self.batches is None:
                Q = self.additive[:, None, None] * np.eye(d)
            else:
                Q = self.batches.covariances(left[:, :, None] * S * left[:, None, :] + V[s], z)
            local[2, s] = np.einsum("nkk->n", Q)
            V[s + 1] = factor[:, :, None] * V[s] * factor[:, None, :] + eta**2 * Q
            shift[s + 1], gone[s + 1] = shift[s] + eta * lam * z, gone[s] + eta * lam * left
        y, left, common, spread = start - shift, 1 - gone, np.einsum("nkk->nk", S), np.einsum("snkk->snk", V)
        variance = left * common * left + spread
        square = (y + offset) ** 2 + variance
        sums = (lam**2 * square, lam * square / 2, y**2 + variance, gone**2 * common, spread)
        local[[0, 1, 3, 4, 5]] = [values.sum(-1) for values in sums]
        return shift, gone, V, local


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
    additive, batches = np.zeros(problem.N), None
    if isinstance(data, LeastSquaresArrays) and b is not None:
        scale = batch_scale(problem.sizes, b, experiment.replacement)
        batches = _batches(data, problem.w_i_star, lam, U, scale)
    elif isinstance(data, QuadraticArrays) and b is not None:
        additive = data.noise_std**2 / b / problem.d
    return Clients(H, lam, U, away, problem.p, np.tensordot(problem.p, H, 1), additive, batches)


def _batches(data: LeastSquaresArrays, w_i_star: Array, lam: Array, U: Array, scale: Array) -> Batches:
    """The samples of every client; tables stand where they are cheaper, as long as all of them fit."""
    (N, d), rows = lam.shape, list(map(slice, data.offsets[:-1], data.offsets[1:]))
    samples = [(data.X[part] @ U[i], data.X[part] @ w_i_star[i] - data.y[part]) for i, part in enumerate(rows)]
    slope = np.stack([X.T @ r / len(r) for X, r in samples])
    width, height = d * (d + 1) // 2 + d + 1, d * (d + 1) // 2
    tabled = width <= COLUMNS_PER_SAMPLE * np.diff(data.offsets)
    tabled &= height * width <= min(TABLE_ENTRIES, ALL_ENTRIES // N)
    tables = [_table(*samples[i]) for i in np.flatnonzero(tabled)]
    return Batches(samples, lam - data.reg, slope, scale, np.flatnonzero(tabled), np.array(tables))


def _table(X: Array, r: Array) -> Array:
    """The linear form of (1/n) sum_j (x_j^T M x_j + 2 r_j x_j.z + r_j^2) x_j x_j^T on (M, z, 1).

    M is symmetric and given by its triangle: off the diagonal each entry stands for two.
    """
    k, l = np.triu_indices(X.shape[1])
    products = X[:, k] * X[:, l]
    columns = [products * np.where(k == l, 1.0, 2.0), 2 * r[:, None] * X, r**2]
    return products.T @ np.column_stack(columns) / len(X)
