"""A trajectory in one reading, the policy for its constants, and its weighting skews reduced over the run."""

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fedbounds.engine.record import make_time_grid
from fedbounds.errors import reject
from fedbounds.evidence.evaluate import Numbers
from fedbounds.evidence.quantity_values import Values
from fedbounds.model.problem import Array, Problem
from fedbounds.model.trajectory import PathMoments, Trajectory
from fedbounds.theory.constant import Constant, Provenance
from fedbounds.theory.measurement import Measurement
from fedbounds.theory.quantity import Quantity
from fedbounds.theory.reading import Reading
from fedbounds.theory.symbols import PROTOCOL_FIELDS, RECORDED, Scope, measured_fields

V = TypeVar("V")


@dataclass(frozen=True)
class Policy:
    """Bounds sigma_sq and G_sq that are given, else the smallest for which Assumptions 3 and 4 hold on a run."""

    sigma_sq: float | None = None
    G_sq: float | None = None

    def __post_init__(self) -> None:
        if (self.sigma_sq is None) != (self.G_sq is None):
            raise reject(
                "given constants need both sigma_sq and G_sq",
                f"sigma_sq = {self.sigma_sq}, G_sq = {self.G_sq}",
                "give both, or take them from the run",
            )
        for name in ("sigma_sq", "G_sq"):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and value >= 0):
                raise reject(f"{name} must be finite and non-negative", value, "give another bound")

    @property
    def given(self) -> bool:
        return self.sigma_sq is not None


@dataclass(frozen=True)
class MeasuredRun:
    """A trajectory seen in one reading: what claims and assumptions are evaluated on.

    ``constants`` are scalars with provenance.
    ``quantities`` are the values of the computed quantities ``evaluated``, for claims of a scope.
    """

    trajectory: Trajectory
    reading: Reading
    policy: Policy
    constants: Mapping[str, Constant]
    quantities: Values = field(default_factory=Values)
    evaluated: tuple[frozenset[Quantity], Scope] | None = None
    _results: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    def values(self, used: Collection[str] = ()) -> dict[str, Numbers]:
        """Symbol name -> value for every constant symbol; a costly one only where ``used`` names it."""
        costly = {name: result(self)[name].value for name, result in COSTLY.items() if name in used}
        return {**costly, **self._constant_values}

    @cached_property
    def _constant_values(self) -> dict[str, Numbers]:
        experiment = self.trajectory.experiment
        share = 1.0 if experiment.everyone_present else experiment.participation
        growth = self.once("growth", lambda: make_time_grid(experiment).eta_growth)
        protocol = {"C": share, "eta_ratio": self.trajectory.extremes.eta_ratio, "eta_growth": growth}
        return {**protocol, **{name: constant.value for name, constant in self.constants.items()}}

    def at_every_step(self, used: Collection[str] = ()) -> dict[str, Numbers]:
        """The constants with t and eta_t of every step (T,), recorded or not."""
        eta = self.trajectory.eta
        return {**self.values(used), "eta": eta, "t": np.arange(len(eta), dtype=float)}

    def measurement(self, used: Collection[str] = ()) -> Measurement[Numbers]:
        """The run as claims see it: fields are (R, m), or (m,) where they do not vary between repetitions."""
        return Measurement(self.values(used), self._times, self._field, self.quantities.fields)

    def _times(self, scope: Scope) -> NDArray[np.int64]:
        times = self.trajectory.times
        if scope == "constant":
            return np.zeros(1, dtype=int)
        if scope == "horizon":
            return times
        steps = times[times < len(self.trajectory.eta)]
        return np.repeat(steps, self.problem.N) if scope == "point" else steps

    def _field(self, scope: Scope, name: str) -> Numbers:
        trajectory, times = self.trajectory, self._times(scope)
        if name in PROTOCOL_FIELDS:
            return times.astype(float) if name == "time" else trajectory.eta[times]
        if scope == "point":
            recorded: Array = getattr(trajectory, name)
            return recorded[:, : len(times) // self.problem.N].reshape(len(recorded), -1)
        path: Array = getattr(trajectory.paths[self.reading.virtual], name)
        return path[:, : len(times)]

    def varies(self, symbol: str, times: NDArray[np.int64]) -> NDArray[np.bool_]:
        """The times (m,) at which a symbol may differ between repetitions, not merely in those run.

        Never without randomness, nor where it is a constant or a step size. The state is w_0 at t = 0, and so is
        all that follows from it unless the first weights are random; the drift is 0 where models have just been
        aggregated, and where one client has all weight. Whatever is not known to be fixed is random.
        """
        random = self.trajectory.random
        never, always = np.zeros(len(times), dtype=bool), np.ones(len(times), dtype=bool)
        if random and symbol in self.quantities.fields:
            return ~self.quantities.fixed[symbol][times] if symbol in self.quantities.fixed else never
        field = measured_fields().get(symbol)
        if not random or (field is None and (symbol in self.constants or symbol in RECORDED)):
            return never
        if field in ("distance_sq", "gap") or (field == "next_mean" and not self._first_weights_vary()):
            return np.asarray(times != 0)
        return ~self._together(times) if field == "drift" else always

    def _first_weights_vary(self) -> bool:
        """Whether E||w_1 - w*||^2 given w_0 depends on the random weights of the first round."""
        experiment = self.trajectory.experiment
        if self.reading.virtual == "p" and experiment.tau > 1:
            return False  # inside the first round the p-weighted iterate does not see the weights
        return not experiment.everyone_present or experiment.rule.random

    def _together(self, times: NDArray[np.int64]) -> NDArray[np.bool_]:
        """The times at which the drift is 0 by definition."""
        trajectory = self.trajectory
        aggregated = np.isin(times, trajectory.round_times)
        rounds = np.searchsorted(trajectory.round_times, times, side="right") - 1
        if len(trajectory.round_times) <= rounds.max(initial=0) or trajectory.experiment.stride != 1:
            return aggregated
        alone = (trajectory.alpha.max(axis=-1) == 1).all(axis=0) & (self.reading.virtual == "alpha")
        return np.asarray(aggregated | alone[rounds])

    def once(self, key: Hashable, compute: Callable[[], V]) -> V:
        """What depends on the trajectory and reading alone: computed once for all claims."""
        if key not in self._results:
            self._results[key] = compute()
        result: V = self._results[key]
        return result

    @property
    def moments(self) -> PathMoments:
        """The moments of the virtual iterate's fields."""
        return self.once("moments", lambda: self.trajectory.moments(self.reading.virtual))

    # What `fedbounds.theory.assumption.RunLike` asks of a run.
    def constant(self, name: str) -> Constant:
        """A constant symbol with its provenance."""
        return self.constants[name] if name in self.constants else COSTLY[name](self)[name]

    @property
    def problem(self) -> Problem:
        """The losses."""
        return self.trajectory.experiment.problem

    @property
    def start(self) -> Array:
        """w_0 (d,)."""
        return self.trajectory.experiment.start

    @property
    def start_excess(self) -> float:
        """max_i e_i(w_0)."""
        return float(self.trajectory.excess[:, 0].max())

    @property
    def moments_given(self) -> bool:
        """Whether sigma_sq and G_sq were given rather than taken from the run."""
        return self.policy.given

    @property
    def weighting(self) -> str:
        """The text from which its weighting is built."""
        return self.trajectory.experiment.rule.to_text()

    @property
    def every_round_recorded(self) -> bool:
        """Whether the weights of each round are known."""
        return self.trajectory.experiment.stride <= self.trajectory.experiment.tau

    def reached(self, name: str) -> float:
        """The largest sigma_sq, G_sq or radius at the points visited."""
        extremes = self.trajectory.extremes
        return float({"sigma_sq": extremes.sigma_i_sq, "G_sq": extremes.G_sq, "radius": extremes.radius}[name].max())


def with_pairs(run: MeasuredRun) -> dict[str, Constant]:
    """The run's constants plus rho_pairs, which costs a product over all visited pairs."""
    value, complete = run.once("pairs", lambda: rho_pairs(run.trajectory))
    provenance = Provenance.EXACT if complete else Provenance.BOUND
    note = "smallest over all pairs of visited weights and points" if complete else "bounded below by pi"
    return {**run.constants, "rho_pairs": Constant(value, provenance, note)}


def with_growth(run: MeasuredRun) -> dict[str, Constant]:
    """The run's constants plus sigma_0^2 and c of E||g_i - grad F_i||^2 <= sigma_0^2 + c ||grad F_i||^2 on R^d.

    The standard deviation is Lipschitz in x with constant ell_i/sqrt(b) and ||x - w_i*|| <= ||grad F_i(x)||/mu, so
    sigma_0^2 = 2 max_i variance_i(w_i*) and c = 2 max_i ell_i^2/(b mu^2) will do.
    """
    experiment = run.trajectory.experiment
    problem, b = experiment.problem, experiment.batch_size
    at_minimum = problem.client_variance(problem.w_i_star, b, experiment.replacement)
    steepest = 0.0 if b is None else float(problem.noise_lipschitz.max())
    note = "certified on R^d: variance <= sigma_0^2 + c ||grad F_i||^2"
    return {
        "sigma_0_sq": Constant(2 * float(at_minimum.max()), Provenance.BOUND, note),
        "growth": Constant(2 * steepest**2 / ((b or 1) * problem.mu**2), Provenance.BOUND, note),
        **run.constants,
    }


# Constant symbols that cost something, computed where a claim or an assumption uses them.
COSTLY = {"rho_pairs": with_pairs, "sigma_0_sq": with_growth, "growth": with_growth}


# Pairs of (visited weights, visited point) compared at most; beyond that pi, a lower bound, stands in.
MAX_PAIRS = 4e8
# Bytes of one block of the pair table.
BLOCK_ROWS = 2048


def rho_bar(trajectory: Trajectory, reading: Reading) -> Array:
    """min_t rho(t, w_t) a replicate (R,), over every t or over t = 0 mod tau."""
    extremes = trajectory.extremes
    measured = extremes.rho_bar_sync if reading.skew == "sync" else extremes.rho_bar_all
    return np.where(_is_p(trajectory), 1.0, measured)


def rho_tilde(trajectory: Trajectory) -> Array:
    """max_t rho(t, w*) a replicate (R,); 1 at Gamma = 0, where only Gamma * rho_tilde = 0 enters a bound."""
    Gamma, products = trajectory.gamma_star, trajectory.extremes.rho_star_max
    return np.where(_is_p(trajectory) | (Gamma <= 0), 1.0, products / (Gamma if Gamma > 0 else 1.0))


def _is_p(trajectory: Trajectory) -> NDArray[np.bool_]:
    """Where alpha = p throughout (R,): rho is then 1 by definition, not merely up to rounding."""
    return np.asarray((trajectory.extremes.pi_min == 1) & (trajectory.extremes.pi_max == 1))


def rho_pairs(trajectory: Trajectory) -> tuple[float, bool]:
    """min over visited weights alpha_r and points w', those visited and w*, of sum alpha e(w') / sum p e(w') (Cho et
    al.).

    With it, whether it is exact over the recorded pairs; else it is pi = min alpha_i/p_i, which bounds it from below.
    """
    if trajectory.experiment.stride > 1:
        return float(trajectory.extremes.pi_min.min()), False
    N = trajectory.experiment.problem.N
    weights = np.unique(trajectory.alpha.reshape(-1, N), axis=0)
    points = np.concatenate([trajectory.excess.reshape(-1, N), trajectory.experiment.problem.star_excess[None]])
    if len(weights) * len(points) > MAX_PAIRS:
        return float(trajectory.extremes.pi_min.min()), False
    denominator = points @ trajectory.experiment.problem.p
    points, denominator = points[denominator > 0], denominator[denominator > 0]
    lowest = np.inf
    for start in range(0, len(points), BLOCK_ROWS):
        block = points[start : start + BLOCK_ROWS] @ weights.T
        lowest = min(lowest, float((block.min(axis=1) / denominator[start : start + BLOCK_ROWS]).min()))
    return (lowest if np.isfinite(lowest) else 1.0), True
