"""A trajectory in one reading: the constants of the run with their provenance, and the fields that claims look up."""

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fedbounds.engine.expectations import ENGINE as EXPECTATIONS
from fedbounds.errors import reject
from fedbounds.evidence.evaluate import Measurement, Numbers
from fedbounds.evidence.quantity_values import Values
from fedbounds.model.problem import Array, Problem
from fedbounds.model.trajectory import PathMoments, Trajectory
from fedbounds.theory.constant import Constant, Provenance
from fedbounds.theory.quantity import Quantity
from fedbounds.theory.reading import Reading
from fedbounds.theory.symbols import PROTOCOL_FIELDS, Scope
from fedbounds.weightings.multinomial import Multinomial

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
        costly = {name: compute(self).value for name, compute in COSTLY.items() if name in used}
        return {**costly, **self._constant_values}

    @cached_property
    def _constant_values(self) -> dict[str, Numbers]:
        experiment = self.trajectory.experiment
        share = 1.0 if experiment.everyone_present else experiment.participation
        steps = self.trajectory.quotients_of_steps
        return {"C": share, **steps, **{name: constant.value for name, constant in self.constants.items()}}

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
        return self.constants[name] if name in self.constants else COSTLY[name](self)

    @property
    def problem(self) -> Problem:
        """The losses."""
        return self.trajectory.experiment.problem

    @property
    def start(self) -> Array:
        """w_0 (d,)."""
        return self.trajectory.experiment.start

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


def _skew_of_pairs(run: MeasuredRun) -> Constant:
    """rho_pairs, which costs a product over all visited pairs."""
    value, complete = run.once("pairs", lambda: rho_pairs(run.trajectory))
    if complete:
        return Constant(value, Provenance.EXACT, "smallest over all pairs of visited weights and points")
    return Constant(value, Provenance.BOUND, "bounded below by pi")


# The standard deviation of g_i is Lipschitz in x with constant ell_i/sqrt(b) and ||x - w_i*|| <= ||grad F_i(x)||/mu,
# so that sigma_0^2 = 2 max_i variance_i(w_i*) and c = 2 max_i ell_i^2/(b mu^2) will do.
NOISE_BOUND = "certified on R^d: variance <= sigma_0^2 + c ||grad F_i||^2"


def _noise_at_minima(run: MeasuredRun) -> Constant:
    experiment, problem = run.trajectory.experiment, run.problem
    variance = problem.client_variance(problem.w_i_star, experiment.batch_size, experiment.replacement)
    return Constant(2 * float(variance.max()), Provenance.BOUND, NOISE_BOUND)


def _growth_of_noise(run: MeasuredRun) -> Constant:
    problem, b = run.problem, run.trajectory.experiment.batch_size
    steepest = 0.0 if b is None else float(problem.noise_lipschitz.max())
    return Constant(2 * steepest**2 / ((b or 1) * problem.mu**2), Provenance.BOUND, NOISE_BOUND)


# Constant symbols that cost something, computed where a claim or an assumption uses them.
COSTLY = {"rho_pairs": _skew_of_pairs, "sigma_0_sq": _noise_at_minima, "growth": _growth_of_noise}
# Pairs of (visited weights, visited point) compared at most; beyond that pi, a lower bound, stands in.
MAX_PAIRS = 4e8
# Bytes of one block of the pair table.
BLOCK_ROWS = 2048


def rho_bar(trajectory: Trajectory, reading: Reading) -> Array:
    """min_t rho(t, w_t) a replicate (R,), over every t or over t = 0 mod tau."""
    extremes = trajectory.extremes
    measured = extremes.rho_bar_sync if reading.skew == "sync" else extremes.rho_bar_all
    return np.where(trajectory.is_p, 1.0, measured)


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


# How the second moments were found.
GIVEN, TOTAL = "given by the user", "largest total expectation over t and i"
VISITED = "worst conditional expectation at the points visited, every step and replicate"


def second_moments(trajectory: Trajectory, policy: Policy) -> dict[str, Constant]:
    """sigma_sq, G_sq and sum_i p_i^2 sigma_i^2 as the policy takes them; Assumptions 3 and 4."""
    extremes, p = trajectory.extremes, trajectory.experiment.problem.p
    if policy.given:
        per_client, most = np.full(len(p), policy.sigma_sq), policy.G_sq or 0
        provenance, note = Provenance.GIVEN, GIVEN
    else:
        per_client, most, provenance = extremes.sigma_i_sq.max(axis=0), extremes.G_sq.max(), Provenance.EXACT
        note = TOTAL if trajectory.engine == EXPECTATIONS else VISITED
    values = {"sigma_sq": per_client.max(), "G_sq": most, "sigma_p_sq": p**2 @ per_client}
    return {name: Constant(float(value), provenance, note) for name, value in values.items()}


def examine_run(trajectory: Trajectory, reading: Reading, policy: Policy | None = None) -> MeasuredRun:
    """Collect every constant symbol's value on a trajectory, in one reading."""
    policy, experiment, extremes = policy or Policy(), trajectory.experiment, trajectory.extremes
    problem = experiment.problem
    skew_bar, skew_tilde = rho_bar(trajectory, reading), trajectory.rho_tilde
    start = problem.w_star - experiment.start
    exact = Provenance.EXACT
    over = "every step" if reading.skew == "all-steps" else "t = 0 mod tau"
    constants = {
        "L": problem.constants()["L"],
        "mu": problem.constants()["mu"],
        "Gamma": problem.Gamma,
        "tau": Constant(experiment.tau, exact),
        "N": Constant(problem.N, exact),
        "T_run": Constant(experiment.total_steps, exact),
        "Delta_0": Constant(float(start @ start), exact, "squared distance of w_0 to w*"),
        **second_moments(trajectory, policy),
        **at_optimum(trajectory),
        "eta_0": Constant(float(trajectory.eta[0]), exact, "step size at t = 0"),
        "eta_s": Constant(1.0, exact, "server step size"),
        "rho_bar": Constant(float(skew_bar.min()), exact, f"smallest over replicates and {over}"),
        "rho_tilde": Constant(float(skew_tilde.max()), exact, "largest over replicates and steps"),
        "pi_min": Constant(float(extremes.pi_min.min()), exact, "smallest alpha_i/p_i of the run"),
        "pi_max": Constant(float(extremes.pi_max.max()), exact, "largest alpha_i/p_i of the run"),
        "p_min": Constant(float(problem.p.min()), exact),
        "m": Constant(number_selected(trajectory), exact, "clients sharing the weight equally; 0 if not equal"),
    }
    if experiment.everyone_present:
        constants["q"] = Constant(1.0, exact, "every client takes part")
    return MeasuredRun(trajectory, reading, policy, constants)


def at_optimum(trajectory: Trajectory) -> dict[str, Constant]:
    """Moments of the stochastic gradients at w*, and the smoothness of what they are gradients of.

    sigma_opt_sq = sum_i p_i^2 Var g_i(w*), sigma_dif_sq = sum_i p_i (Var g_i(w*) + ||grad F_i(w*)||^2), L_sample.
    """
    experiment = trajectory.experiment
    problem, b = experiment.problem, experiment.batch_size
    p, w_star = problem.p, problem.w_star
    variance = problem.client_variance(w_star[None, :], b, experiment.replacement)
    slopes = (problem.grads(w_star) ** 2).sum(axis=-1)
    smoothness = problem.L if b is None else problem.sample_smoothness
    return {
        "sigma_opt_sq": Constant(float(p**2 @ variance), Provenance.EXACT, "at w*"),
        "sigma_dif_sq": Constant(float(p @ (variance + slopes)), Provenance.EXACT, "at w*"),
        "L_sample": Constant(float(smoothness), Provenance.BOUND, "of the loss of one sample, on R^d"),
    }


def number_selected(trajectory: Trajectory) -> int:
    """m of `Trajectory.equally_many`, 0 if rounds are missing; of draws with replacement their number."""
    rule = trajectory.experiment.rule
    if isinstance(rule, Multinomial):
        return rule.m
    return 0 if trajectory.experiment.stride > trajectory.experiment.tau else trajectory.equally_many
