"""Which compiled engine runs an experiment, and the one for logistic regression."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fedbounds.engine.kernels import logistic as kernel_scores
from fedbounds.engine.kernels.compiled_engines import (
    EXPONENTIAL,
    Compiled,
    LeastSquares,
    Quadratic,
    Sampled,
    c_ordered,
)
from fedbounds.engine.kernels.vectors import padded
from fedbounds.engine.numpy_engine import Moments
from fedbounds.errors import reject
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array, Indices, LeastSquaresArrays, LogisticArrays, QuadraticArrays


@dataclass(frozen=True)
class Logistic(Sampled):
    """Logistic regression with K rows of scores, 1 where there are two classes; ``data`` are `LogisticArrays`."""

    @property
    def work(self) -> int:
        features = self.data.X.shape[1]
        return int(self.starts[-1]) * self.data.K * (6 * features + (200 if self.data.K == 1 else 2 * EXPONENTIAL))

    @cached_property
    def starts(self) -> Indices:
        """Where each client's samples start once padded to whole vectors (N + 1,)."""
        return np.cumsum([0, *(padded(n) for n in self.sizes)])

    @cached_property
    def rows(self) -> Array:
        """The padded samples, each of whole vectors, one after another."""
        X = self.data.X
        out = np.zeros((self.starts[-1], padded(X.shape[1])))
        out[self._positions, : X.shape[1]] = X
        return out.ravel()

    @cached_property
    def labels(self) -> Array:
        """The label or class of every padded sample."""
        return self.table(self.data.y[None], 0.0)

    @cached_property
    def _positions(self) -> Indices:
        """Every sample's number among the padded ones (n,)."""
        shift = self.starts[:-1] - self.data.offsets[:-1]
        return np.arange(len(self.data.X)) + np.repeat(shift, self.sizes)

    def table(self, values: Array, padding: float) -> Array:
        """(v, n) values as one flat array, client after client, each (v, its padded number of samples)."""
        out = np.full((len(values), self.starts[-1]), padding)
        out[:, self._positions] = values
        return np.concatenate([part.ravel() for part in np.split(out, self.starts[1:-1], axis=1)])

    @cached_property
    def columns(self) -> Array:
        """The features client by client, feature by feature."""
        return self.table(self.data.X.T, 0.0)

    @cached_property
    def norms(self) -> Array:
        """||x_j||^2 of every padded sample."""
        return self.table(np.einsum("ni,ni->n", self.data.X, self.data.X)[None], 0.0)

    @cached_property
    def client_centre(self) -> tuple[Array, Array]:
        """Probabilities of every sample at its client's w_i*, and what goes with them."""
        scores = np.empty((self.data.K, len(self.data.X)))
        for i, w in enumerate(self.w_i_star):
            part = slice(*self.data.offsets[i : i + 2])
            scores[:, part] = self._scores(w, part)
        return self._probabilities(scores)

    @cached_property
    def star_centre(self) -> tuple[Array, Array]:
        """Probabilities of every sample at w*, and what goes with them."""
        return self._probabilities(self._scores(self.w_star, slice(None)))

    @property
    def _shape(self) -> tuple[Any, ...]:
        return self.starts, self.sizes, self.data.K, self.data.reg

    @cached_property
    def _at_star(self) -> tuple[Array, Array]:
        """e_i(w*) (N,), and grad F_i(w*) (N, d) less grad F(w*), which rounding leaves of 0."""
        result = self.moments(np.tile(self.w_star, (1, len(self.sizes), 1)))
        return result.excess[0], result.grads[0] - self.data.residual

    def excess(self, W: Array) -> Array:
        return self.levels(W)[0]

    def gap(self, W: Array) -> Array:
        return self._gap(self._about_star(W))

    def levels(self, W: Array) -> tuple[Array, Array]:
        """e_i(w) = e_i(w*) + grad F_i(w*).(w - w*) + D_i(w, w*) by one pass, unless it is far smaller than these."""
        parts, (star, slopes) = self._about_star(W), self._at_star
        linear = np.einsum("rd,nd->rn", W - self.w_star, slopes)
        excess = star + linear + parts
        lost = ~(kernel_scores.CANCELLED * excess > star + np.abs(linear) + parts)
        rows = lost.any(-1)
        if rows.any():
            centre = self.w_i_star, *self.client_centre, self.data.residual_i
            exact = kernel_scores.excess(W[rows], self.columns, *self._shape, *centre)
            excess[lost] = exact[lost[rows]]
        return np.maximum(excess, 0.0), self._gap(parts)

    def _about_star(self, W: Array) -> Array:
        """D_i(w, w*) + grad F(w*).(w - w*), (R, N)."""
        centre = self.w_star[None], *self.star_centre, self.data.residual[None]
        return kernel_scores.excess(W, self.columns, *self._shape, *centre)

    def _gap(self, parts: Array) -> Array:
        return np.maximum((parts * self.experiment.problem.p).sum(-1), 0.0)

    def moments(self, X: Array) -> Moments:
        grads, sums = kernel_scores.moments(
            X, self.columns, self.rows, self.labels, self.norms, *self._shape, self.w_i_star, *self.client_centre,
            self.data.residual_i, self.variance_scale, self.w_star,
        )  # fmt: skip
        return Moments(grads, *sums)

    def _scores(self, w: Array, part: slice) -> Array:
        """Scores (K, n) at w of some of the samples, with no BLAS, whose bits could depend on its threads."""
        return np.einsum("kf,nf->kn", w.reshape(self.data.K, -1), self.data.X[part])

    def _probabilities(self, scores: Array) -> tuple[Array, Array]:
        """Soft-max of scores (K, n) and its logarithm, with K = 1 both labels' probabilities; as tables."""
        if self.data.K == 1:
            small = np.exp(-np.abs(scores))
            plus, minus = (np.where(side, 1.0, small) / (1.0 + small) for side in (scores >= 0, scores <= 0))
            return self.table(plus, 0.5), self.table(minus, 0.5)
        below = scores - scores.max(0)
        weights = np.exp(below)
        whole = weights.sum(0)
        return self.table(weights / whole, 1 / self.data.K), self.table(below - np.log(whole), -np.log(self.data.K))


ENGINES: dict[type, type[Compiled]] = {
    QuadraticArrays: Quadratic,
    LeastSquaresArrays: LeastSquares,
    LogisticArrays: Logistic,
}


def compiled_engine(experiment: Experiment, data: Any) -> Compiled:
    """The compiled primitives for an experiment whose problem has ``kernel_data``."""
    if type(data) not in ENGINES:
        names = ", ".join(kind.__name__ for kind in ENGINES)
        raise reject(f"kernel_data() must give one of {names}", type(data).__name__, "use engine reference")
    arrays = {name: c_ordered(value) for name, value in vars(data).items() if isinstance(value, np.ndarray)}
    return ENGINES[type(data)](experiment, replace(data, **arrays))
