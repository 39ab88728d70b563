"""What an engine must be able to do; the loop is written once on top of it."""

import abc
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import ClassVar, NamedTuple

import numpy as np

from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array, Indices


def batch_scale(n: Indices, b: int | None, replacement: bool) -> Array:
    """What turns one sample's gradient covariance into that of a batch's mean (N,); 0 where n_i = 1 or b is None."""
    if b is None:
        return np.zeros(len(n))
    correction = np.ones(len(n)) if replacement else (n - b) / np.maximum(n - 1, 1)
    return np.where(n > 1, correction, 0.0) / b


class Moments(NamedTuple):
    """Exact local quantities at the local models x_i of one step.

    ``grads`` grad F_i(x_i) (R, N, d), ``grad_sq`` its squared norm, ``variance`` E||g_i - grad F_i||^2,
    ``excess`` F_i(x_i) - F_i*, ``radius_sq`` ||x_i - w*||^2; all but the first (R, N).
    """

    grads: Array
    grad_sq: Array
    variance: Array
    excess: Array
    radius_sq: Array


class Backend(abc.ABC):
    """The operations on models that the reference and the compiled engine both offer.

    ``W`` is a global model a row (R, d), ``X`` a local model a row and client (R, N, d), ``weights`` (R, N); rows
    are replicates at one step or at several, and what is computed of one depends on no other.
    """

    experiment: Experiment
    name: ClassVar[str]

    def session(self) -> AbstractContextManager[object]:
        """What must hold while the engine runs: nothing, unless an engine says so."""
        return nullcontext()

    @abc.abstractmethod
    def blocks(self, replicates: int) -> Sequence[range]:
        """The replicates to be run together; may reach beyond the number wanted (those rows are discarded)."""

    @abc.abstractmethod
    def excess(self, W: Array) -> Array:
        """e_i(w) at global models: (R, d) -> (R, N)."""

    @abc.abstractmethod
    def gap(self, W: Array) -> Array:
        """F(w) - F*: (R, d) -> (R,)."""

    def levels(self, W: Array) -> tuple[Array, Array]:
        """Both of them."""
        return self.excess(W), self.gap(W)

    @abc.abstractmethod
    def moments(self, X: Array) -> Moments:
        """Exact local quantities at the local models."""

    @abc.abstractmethod
    def step(self, X: Array, eta: float, t: int, replicates: range, grads: Array) -> Array:
        """x_i - eta g_i with the draws of step t (or ``grads`` where gradients are full): (R, N, d)."""

    @abc.abstractmethod
    def combine(self, X: Array, weights: Array) -> Array:
        """sum_i weights_i x_i: (R, d)."""

    @abc.abstractmethod
    def virtual(
        self, X: Array, W: Array, alpha: Array, moments: Moments, weights: Array, eta: Array | float
    ) -> tuple[Array, Array]:
        """The drift of a virtual iterate w and the exact expectation of its next squared distance, each (R,).

        sum_i alpha_i ||w - x_i||^2, and E||sum_i weights_i (x_i - eta g_i) - w*||^2 given X =
        ||sum_i weights_i (x_i - eta grad F_i) - w*||^2 + eta^2 sum_i weights_i^2 variance_i, as the clients'
        noises are independent with mean zero. ``eta`` is one number or one a row (R,).
        """

    def walk(self, models: Array, etas: Array, t0: int, replicates: range) -> Moments | None:
        """Local steps t0, t0 + 1, ... from models[0], with no aggregation, into models (n + 1, R, N, d).

        Where the steps are taken along gradients that were found with all their moments: these (n, R, ...).
        """
        moments = []
        for k, eta in enumerate(etas.tolist()):
            moments.append(self.moments(models[k]))
            models[k + 1] = self.step(models[k], eta, t0 + k, replicates, moments[-1].grads)
        return Moments(*map(np.stack, zip(*moments, strict=True)))
