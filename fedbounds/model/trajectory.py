"""The record of a run."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import reject
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array
from fedbounds.theory import sample_path as on

# The fields of a `VirtualPath`, in the order of the axes of `PathMoments`.
PATH_FIELDS = ("distance_sq", "gap", "drift", "next_distance_sq", "next_mean")

# A share of the weight this far from 1/m is another share.
SHARE_ROUNDING = 1e-12


@dataclass(frozen=True)
class VirtualPath:
    """What is recorded of one virtual iterate: arrays (R, K), time axis = ``Trajectory.times``.

    ``distance_sq`` ||w_t - w*||^2, ``gap`` F(w_t) - F*, ``drift`` sum_i alpha_i ||w_t - w_t^i||^2,
    ``next_distance_sq`` ||w_{t+1} - w*||^2 and ``next_mean`` its exact expectation given the state at
    t (nan at the final time).
    """

    distance_sq: Array
    gap: Array
    drift: Array
    next_distance_sq: Array
    next_mean: Array


@dataclass(frozen=True)
class PathMoments:
    """One virtual iterate's recorded values over all replicates, fields in the order of PATH_FIELDS.

    ``mean`` and ``high``, the largest, (K, 5), and ``covariance`` (divisor R - 1) (K, 5, 5); nan at the final
    time where a field has no value.
    """

    mean: Array
    covariance: Array
    high: Array


@dataclass(frozen=True)
class Extremes:
    """Worst values over every step t < T, whatever the stride; one entry a replicate (R,) unless said.

    rho_bar over all steps and over synchronisation times, rho_star_max = max_t sum_i alpha_i e_i(w*)
    (= Gamma * rho_tilde, defined at Gamma = 0 too), pi_min / pi_max of alpha/p, sigma_i_sq and G_sq
    the conditional moments at the local models ((R, N) and (R,)), and radius the largest ||w_t^i - w*||.
    """

    rho_bar_all: Array
    rho_bar_sync: Array
    rho_star_max: Array
    pi_min: Array
    pi_max: Array
    sigma_i_sq: Array
    G_sq: Array
    radius: Array


@dataclass(frozen=True)
class Trajectory:
    """The record of ``replicates`` independent runs of an experiment.

    ``times`` (K,) local steps; ``eta`` (T,) step sizes; ``paths`` one `VirtualPath` a virtual iterate ("alpha" and
    "p"). ``skew_sums`` (R, K, 3): sum_i alpha_i e_i(w_t), sum_i p_i e_i(w_t), sum_i alpha_i e_i(w*). ``alpha`` (R,
    rounds', N) at the recorded rounds ``round_times``; ``excess`` e_i(w_t) (R, K, N); ``grad_sq`` and
    ``local_excess`` ||grad F_i||^2 and e_i at w_t^i. ``tosses``: its algorithm tosses coins. ``iterates`` (R, K, d):
    w_t, if asked for.
    """

    experiment: Experiment
    times: NDArray[np.int64]
    eta: Array
    paths: Mapping[str, VirtualPath]
    skew_sums: Array
    excess: Array
    grad_sq: Array
    local_excess: Array
    round_times: NDArray[np.int64]
    alpha: Array
    extremes: Extremes
    engine: str
    iterates: Array | None = None
    tosses: bool = False

    @property
    def w(self) -> Array:
        """w_t (R, K, d); InputError where the run did not record it."""
        if self.iterates is None:
            remedy = 'call simulate(experiment, record="iterates")'
            raise reject("w_t must be recorded during the run", "a record without iterates", remedy)
        return self.iterates

    @property
    def random(self) -> bool:
        """Whether repetitions may differ."""
        return self.experiment.stochastic or self.tosses

    def moments(self, virtual: str) -> PathMoments:
        """The moments of a virtual iterate's fields over replicates."""
        values = np.stack([getattr(self.paths[virtual], name) for name in PATH_FIELDS], axis=-1)
        mean = values.mean(axis=0)
        away = np.ascontiguousarray((values - mean).swapaxes(0, 1))
        covariance = away.swapaxes(1, 2) @ away / max(len(values) - 1, 1)
        return PathMoments(mean, covariance, values.max(axis=0))

    def rho(self) -> Array:
        """rho(t, w_t) = sum_i alpha_i e_i(w_t) / sum_i p_i e_i(w_t), (R, K); 1 where both sums are 0."""
        return np.asarray(on.ratio(self.skew_sums[..., 0], self.skew_sums[..., 1]))

    def rho_star(self) -> Array:
        """rho(t, w*) (R, K); nan where Gamma = 0 (use the product Gamma * rho instead)."""
        Gamma = float(self.experiment.problem.Gamma)
        return self.skew_sums[..., 2] / Gamma if Gamma > 0 else np.full(self.skew_sums.shape[:2], np.nan)

    @property
    def is_p(self) -> NDArray[np.bool_]:
        """Where alpha = p throughout (R,): rho is then 1 by definition, not merely up to rounding."""
        return np.asarray((self.extremes.pi_min == 1) & (self.extremes.pi_max == 1))

    @property
    def rho_tilde(self) -> Array:
        """max_t rho(t, w*) (R,); 1 at Gamma = 0, where only Gamma * rho_tilde = 0 enters a bound."""
        Gamma = np.asarray(float(self.experiment.problem.Gamma))
        return np.asarray(on.skew_at_optimum(self.extremes.rho_star_max, Gamma, self.is_p))

    @property
    def equally_many(self) -> int:
        """m if every recorded row of alpha gives 1/m to exactly m clients, the same m always, else 0."""
        return int(on.equally_many(self.alpha.reshape(-1, self.alpha.shape[-1]), SHARE_ROUNDING))

    @property
    def quotients_of_steps(self) -> dict[str, float]:
        """eta_ratio and eta_growth by name."""
        return on.quotients_of_steps(self.eta, self.experiment.tau)


@dataclass(frozen=True)
class Distances:
    """What is recorded at the ends of rounds only: no claim can be examined on it, but curves can be drawn.

    ``distance_sq`` ||w_t - w*||^2 and ``gap`` F(w_t) - F*, each (R, K), at the steps ``times`` (K,).
    """

    experiment: Experiment
    times: NDArray[np.int64]
    distance_sq: Array
    gap: Array
    engine: str
