"""The compiled engine of multinomial logistic regression: the arrays its kernels read, and its primitives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fedbounds.engine.kernels import common as kernel_common
from fedbounds.engine.kernels import softmax as kernel_softmax
from fedbounds.engine.kernels.products import padded
from fedbounds.engine.kernels.session import Compiled
from fedbounds.engine.primitives import Moments
from fedbounds.model.problem import Array, Indices

# Arithmetic of an exponential with what goes with it, in fused operations.
EXPONENTIAL = 30


@dataclass(frozen=True)
class Softmax(Compiled):
    """K >= 3 classes; ``data`` = (X, codes, offsets, reg, w_i_star, w_star, residual_i, residual)."""

    @property
    def K(self) -> int:
        """Classes."""
        return self.w_star.size // self.data[0].shape[1]

    @property
    def work(self) -> int:
        """Rough arithmetic of one local step of one replicate: scores, gradients and divergences."""
        return int(self.starts[-1]) * self.K * (6 * self.data[0].shape[1] + 2 * EXPONENTIAL)

    @cached_property
    def sizes(self) -> Indices:
        """n_i (N,)."""
        return np.diff(self.data[2])

    @cached_property
    def starts(self) -> Indices:
        """Where each client's samples start once padded to whole vectors (N + 1,)."""
        return np.cumsum([0, *(padded(n) for n in self.sizes)])

    @cached_property
    def rows(self) -> Array:
        """The padded samples, each of whole vectors, one after another."""
        X = self.data[0]
        out = np.zeros((self.starts[-1], padded(X.shape[1])))
        out[self._places, : X.shape[1]] = X
        return out.ravel()

    @cached_property
    def columns(self) -> Array:
        """The features client by client, feature by feature."""
        return self._table(self.data[0].T, 0.0)

    @cached_property
    def norms(self) -> Array:
        """||x_j||^2 of every padded sample."""
        return self._table(np.einsum("ni,ni->n", self.data[0], self.data[0])[None], 0.0)

    @cached_property
    def codes(self) -> Array:
        """The class of every padded sample, as a float."""
        return self._table(self.data[1][None].astype(float), 0.0)

    @cached_property
    def client_centre(self) -> tuple[Array, Array]:
        """Probabilities of every sample at its client's w_i*, and their logarithms."""
        scores = np.empty((self.K, len(self.data[0])))
        for i, w in enumerate(self.w_i_star):
            part = slice(*self.data[2][i : i + 2])
            scores[:, part] = self._scores(w, part)
        return self._probabilities(scores)

    @cached_property
    def star_centre(self) -> tuple[Array, Array]:
        """Probabilities of every sample at w*, and their logarithms."""
        return self._probabilities(self._scores(self.w_star, slice(None)))

    def excess(self, W: Array) -> Array:
        """e_i(w): (R, d) -> (R, N)."""
        reg, residual_i = self.data[3][0], self.data[6]
        args = (self.columns, self.starts, self.sizes, reg, self.w_i_star, *self.client_centre, residual_i)
        return np.maximum(kernel_softmax.excess(W, *args), 0.0)

    def gap(self, W: Array) -> Array:
        """F(w) - F*: (R, d) -> (R,)."""
        reg, residual = self.data[3][0], self.data[7]
        args = (self.columns, self.starts, self.sizes, reg, self.w_star[None], *self.star_centre, residual[None])
        parts = kernel_softmax.excess(W, *args)
        return np.maximum((parts * self.experiment.problem.p).sum(-1), 0.0)

    def moments(self, X: Array) -> Moments:
        """Exact local quantities at the local models (R, N, d)."""
        grads, (grad_sq, variance, excess, radius_sq) = kernel_softmax.moments(
            X, self.columns, self.rows, self.codes, self.norms, self.starts, self.sizes, self.data[3][0],
            self.w_i_star, *self.client_centre, self.data[6], self.variance_scale, self.w_star,
        )  # fmt: skip
        return Moments(grads, grad_sq, variance, excess, radius_sq)

    def step(self, X: Array, eta: float, t: int, replicates: range, grads: Array) -> Array:
        """x_i - eta g_i with the draws of step t: (R, N, d)."""
        b = self.experiment.batch_size
        if b is None:
            return kernel_common.full_step(X, grads, eta)
        shape, keys = (self.starts, self.sizes, self.K), self.keys(replicates)
        replacement, reg = self.experiment.replacement, self.data[3][0]
        return kernel_softmax.sample_step(X, self.rows, self.codes, *shape, reg, eta, t, keys, b, replacement)

    @cached_property
    def _places(self) -> Indices:
        """Every sample's number among the padded ones (n,)."""
        shift = self.starts[:-1] - self.data[2][:-1]
        return np.arange(len(self.data[0])) + np.repeat(shift, self.sizes)

    def _scores(self, w: Array, part: slice) -> Array:
        """Scores (K, n) at w of some of the samples, with no BLAS, whose bits could depend on its threads."""
        return np.einsum("kf,nf->kn", w.reshape(self.K, -1), self.data[0][part])

    def _table(self, values: Array, padding: float) -> Array:
        """(v, n) values as one flat array, client after client, each (v, its padded number of samples)."""
        out = np.full((len(values), self.starts[-1]), padding)
        out[:, self._places] = values
        return np.concatenate([part.ravel() for part in np.split(out, self.starts[1:-1], axis=1)])

    def _probabilities(self, scores: Array) -> tuple[Array, Array]:
        """Soft-max of scores (K, n) and its logarithm, as tables; uniform where samples pad."""
        below = scores - scores.max(0)
        weights = np.exp(below)
        whole = weights.sum(0)
        return self._table(weights / whole, 1 / self.K), self._table(below - np.log(whole), -np.log(self.K))
