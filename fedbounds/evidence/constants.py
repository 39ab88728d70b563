"""The constants of a run, with provenance, and the evaluation of sympy expressions on it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from fedbounds.errors import reject
from fedbounds.evidence.evaluate import Value, evaluate
from fedbounds.evidence.skews import rho_bar, rho_pairs, rho_tilde
from fedbounds.model.problem import Array, Problem
from fedbounds.model.trajectory import Trajectory
from fedbounds.theory.quantity import Constant, Provenance
from fedbounds.theory.reading import Across, Moments, Reading, Source

__all__ = ["Policy", "Run", "Value", "evaluate", "examine_run", "with_growth", "with_pairs"]


@dataclass(frozen=True)
class Policy:
    """How sigma_sq, G_sq, rho_bar and rho_tilde are taken from a run.

    ``source``: ``run`` (smallest constants for which Assumptions 3 and 4 hold at the points visited),
    ``ball`` (certified over ||w - w*|| <= radius) or ``given``. ``moments``: worst ``conditional``
    expectation at a visited point, or the ``total`` expectation (an average over replicates). ``across``:
    skews as the ``worst`` over replicates (one deterministic bound) or per ``path``.
    """

    source: Source = "run"
    moments: Moments = "conditional"
    across: Across = "worst"
    radius: float | None = None
    sigma_sq: float | None = None
    G_sq: float | None = None

    def __post_init__(self) -> None:
        if self.source == "given" and (self.sigma_sq is None or self.G_sq is None):
            raise reject(
                "given constants need both sigma_sq and G_sq",
                f"sigma_sq = {self.sigma_sq}, G_sq = {self.G_sq}",
                "give both, or take them from the run",
            )
        for name in ("sigma_sq", "G_sq"):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and value >= 0):
                raise reject(f"{name} must be finite and non-negative", value, "give another bound")
        if self.source == "ball" and not (self.radius and 0 < self.radius < np.inf):
            raise reject("a ball needs a positive radius", self.radius, "give the radius around w*")


@dataclass(frozen=True)
class Run:
    """A trajectory seen in one reading: what claims and assumptions are evaluated on.

    ``constants`` are scalars with provenance; ``overrides`` replaces values per path, shape (R, 1).
    """

    trajectory: Trajectory
    reading: Reading
    policy: Policy
    constants: Mapping[str, Constant]
    overrides: Mapping[str, Array] = field(default_factory=dict)

    def values(self, used: Collection[str] = ()) -> dict[str, Value]:
        """Symbol name -> value for every constant symbol; a costly one only where ``used`` names it."""
        costly = {name: found(self) for name, found in COSTLY.items() if name in used}
        known = {**{name: constants[name] for name, constants in costly.items()}, **self.constants}
        protocol = {"C": self._share, "eta_ratio": self.trajectory.extremes.eta_ratio}
        return {**protocol, **{name: constant.value for name, constant in known.items()}, **self.overrides}

    def at_every_step(self, used: Collection[str] = ()) -> dict[str, Value]:
        """The constants with t and eta_t of every step (T,), recorded or not."""
        eta = self.trajectory.eta
        return {**self.values(used), "eta": eta, "t": np.arange(len(eta), dtype=float)}

    @property
    def _share(self) -> float:
        experiment = self.trajectory.experiment
        return 1.0 if experiment.everyone_present else experiment.participation

    # What `fedbounds.theory.assumption.RunLike` asks of a run.
    def known(self, name: str) -> Constant:
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
    def ball(self) -> float | None:
        """The radius around w* on which the moments are certified, if they are."""
        return float(self.policy.radius or 0) if self.policy.source == "ball" else None

    @property
    def moments_given(self) -> bool:
        """Whether sigma_sq and G_sq were given rather than taken from the run."""
        return self.policy.source == "given"

    @property
    def every_round_recorded(self) -> bool:
        """Whether the weights of each round are known."""
        return every_round_recorded(self.trajectory)

    def reached(self, name: str) -> float:
        """The largest sigma_sq, G_sq or radius at the points visited."""
        extremes = self.trajectory.extremes
        return float({"sigma_sq": extremes.sigma_i_sq, "G_sq": extremes.G_sq, "radius": extremes.radius}[name].max())


def second_moments(trajectory: Trajectory, policy: Policy) -> tuple[Constant, Constant, Constant]:
    """(sigma_sq, G_sq, sum_i p_i^2 sigma_i^2) as the policy takes them; Assumptions 3 and 4."""
    extremes, problem = trajectory.extremes, trajectory.experiment.problem
    p = problem.p
    if policy.source == "given":
        sigma_sq, G_sq = float(policy.sigma_sq or 0), float(policy.G_sq or 0)
        note = "given by the user"
        return (
            Constant(sigma_sq, Provenance.GIVEN, note),
            Constant(G_sq, Provenance.GIVEN, note),
            Constant(float((p**2).sum()) * sigma_sq, Provenance.GIVEN, note),
        )
    if policy.source == "ball":
        return _over_ball(trajectory, float(policy.radius or 0))
    per_client = extremes.sigma_i_sq.max(axis=0)
    if policy.moments == "total":
        note = "largest average over replicates at a visited (t, i); the total expectation is estimated"
        return (
            Constant(extremes.sigma_sq_mean, Provenance.ESTIMATED, note),
            Constant(extremes.G_sq_mean, Provenance.ESTIMATED, note),
            Constant(float(p**2 @ per_client), Provenance.EXACT, "worst conditional variances visited"),
        )
    note = "worst conditional expectation at the points visited, every step and replicate"
    return (
        Constant(float(per_client.max()), Provenance.EXACT, note),
        Constant(float(extremes.G_sq.max()), Provenance.EXACT, note),
        Constant(float(p**2 @ per_client), Provenance.EXACT, note),
    )


def _over_ball(trajectory: Trajectory, radius: float) -> tuple[Constant, Constant, Constant]:
    """Certified moments for ||x - w*|| <= radius.

    ||grad F_i(x)|| <= L (radius + ||w* - w_i*||), and sqrt(variance) is Lipschitz in x with the
    problem's ``noise_lipschitz``.
    """
    experiment = trajectory.experiment
    problem, b = experiment.problem, experiment.batch_size
    reach = radius + np.linalg.norm(problem.w_star - problem.w_i_star, axis=1)
    std = np.sqrt(problem.client_variance(problem.w_i_star, b, experiment.replacement))
    if b is not None:
        std = std + problem.noise_lipschitz * reach / np.sqrt(b)
    sigma_i_sq = std**2
    G_sq = float((sigma_i_sq + (problem.L * reach) ** 2).max())
    note = f"certified over the ball of radius {radius:g} around w*"
    return (
        Constant(float(sigma_i_sq.max()), Provenance.BOUND, note),
        Constant(G_sq, Provenance.BOUND, note),
        Constant(float(problem.p**2 @ sigma_i_sq), Provenance.BOUND, note),
    )


def examine_run(trajectory: Trajectory, reading: Reading, policy: Policy | None = None) -> Run:
    """Collect every constant symbol's value on a trajectory, in one reading."""
    policy = policy or Policy()
    if trajectory.streamed and policy.across == "path":
        raise reject(
            "skews per path need every replicate's record",
            "a streamed run",
            'use across="worst", or fewer replicates',
        )
    experiment, extremes = trajectory.experiment, trajectory.extremes
    problem = experiment.problem
    sigma_sq, G_sq, sigma_p_sq = second_moments(trajectory, policy)
    skew_bar, skew_tilde = rho_bar(trajectory, reading), rho_tilde(trajectory)
    start = problem.w_star - experiment.start
    exact = Provenance.EXACT
    over = "every step" if reading.skew == "all-steps" else "t = 0 mod tau"
    constants = {
        "L": problem.constants()["L"],
        "mu": problem.constants()["mu"],
        "Gamma": problem.Gamma,
        "tau": Constant(experiment.tau, exact),
        "N": Constant(problem.N, exact),
        "Delta_0": Constant(float(start @ start), exact, "squared distance of w_0 to w*"),
        "sigma_sq": sigma_sq,
        "G_sq": G_sq,
        "sigma_p_sq": sigma_p_sq,
        **at_optimum(trajectory),
        "eta_0": Constant(float(trajectory.eta[0]), exact, "step size at t = 0"),
        "rho_bar": Constant(float(skew_bar.min()), exact, f"smallest over replicates and {over}"),
        "rho_tilde": Constant(float(skew_tilde.max()), exact, "largest over replicates and steps"),
        "pi_min": Constant(float(extremes.pi_min.min()), exact, "smallest alpha_i/p_i of the run"),
        "pi_max": Constant(float(extremes.pi_max.max()), exact, "largest alpha_i/p_i of the run"),
        "p_min": Constant(float(problem.p.min()), exact),
        "m": Constant(selected(trajectory), exact, "clients sharing the weight equally; 0 if not equal"),
    }
    paths = {"rho_bar": skew_bar[:, None], "rho_tilde": skew_tilde[:, None]} if policy.across == "path" else {}
    overrides = {name: values for name, values in paths.items() if np.ptp(values) > 0}
    return Run(trajectory, reading, policy, constants, overrides)


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


def with_pairs(run: Run) -> dict[str, Constant]:
    """The run's constants plus rho_pairs, which costs a product over all visited pairs."""
    value, complete = rho_pairs(run.trajectory)
    provenance = Provenance.EXACT if complete else Provenance.BOUND
    note = "smallest over all pairs of visited weights and points" if complete else "bounded below by pi"
    return {**run.constants, "rho_pairs": Constant(value, provenance, note)}


def with_growth(run: Run) -> dict[str, Constant]:
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


def selected(trajectory: Trajectory) -> int:
    """m if every row of alpha gives 1/m to exactly m clients (the same m always), else 0; 0 if rounds are missing."""
    if not every_round_recorded(trajectory):
        return 0
    if trajectory.streamed:
        fewest, most = trajectory.streamed.positive
        top = trajectory.streamed.top
    else:
        count, top = (trajectory.alpha > 0).sum(axis=-1), trajectory.alpha.max(axis=-1)
        fewest, most = int(count.min()), int(count.max())
    return most if fewest == most and np.allclose(top * most, 1.0, rtol=0, atol=1e-12) else 0


def every_round_recorded(trajectory: Trajectory) -> bool:
    """Whether the weights of each round are known: streamed over all, or recorded with a stride within a round."""
    return trajectory.streamed is not None or trajectory.experiment.stride <= trajectory.experiment.tau


# Constant symbols that cost something, computed where a claim or an assumption uses them.
COSTLY = {"rho_pairs": with_pairs, "sigma_0_sq": with_growth, "growth": with_growth}
