"""Extreme experiments thrown at every claim: each makes one term of a bound matter, or one condition fail.

All are small quadratics with constants known exactly, mu = 1 unless said, each run once. Most are equality cases or
near ones, since a loose run tells nothing.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fedbounds.engine.simulate import simulate
from fedbounds.errors import DivergedError, InputError
from fedbounds.evidence.assumption_checks import with_quantities_if_needed
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.evidence.evaluate import Numbers, steps_asked
from fedbounds.evidence.measured_run import MeasuredRun, Policy, examine_run
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Problem
from fedbounds.model.schedule import ConstantStep, Geometric, StepSize
from fedbounds.model.trajectory import Trajectory
from fedbounds.model.weighting import Weighting
from fedbounds.problems.quadratic import quadratic
from fedbounds.study.objects_from_settings import theory_step
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS, Reading
from fedbounds.theory.verdict import Verdict
from fedbounds.weightings.fedavg import FedAvg
from fedbounds.weightings.fedmax import FedMax
from fedbounds.weightings.fedsoftmax import FedSoftMax
from fedbounds.weightings.fixed import Fixed
from fedbounds.weightings.power_of_choice import PowerOfChoice

# Enough for a band: the step claims compare conditional means, which vary little.
REPLICATES = 64
# Where noise is all there is, the gap itself is skewed and its band must be narrower than its mean.
MANY = 512


@dataclass(frozen=True)
class Regime:
    """One extreme experiment: its name, how to build it, and how its constants are taken."""

    name: str
    build: Callable[[], Experiment]
    policy: Policy = field(default_factory=Policy)


@dataclass(frozen=True)
class Table:
    """eta_t as listed, over and over: of a whole run, or the same in every round."""

    values: tuple[float, ...]

    def __call__(self, t: int) -> float:
        return self.values[t % len(self.values)]


def quadratics(
    curvatures: Sequence[Any], minima: Sequence[Any], p: Sequence[Any] | None = None, noise: Any = 0.0
) -> Problem:
    """F_i(w) = sum_k c_ik (w_k - m_ik)^2/2, a row of numbers a client, or one number where w is one."""
    spectrum, points = (np.array(rows, dtype=float).reshape(len(rows), -1) for rows in (curvatures, minima))
    return quadratic(spectrum, points, None if p is None else np.array(p, dtype=float), noise_std=np.array(noise))


def experiment(
    problem: Problem,
    w0: Sequence[Any],
    weighting: Weighting | None = None,
    eta: StepSize | float | None = None,
    tau: int = 1,
    rounds: int = 8,
    **others: Any,
) -> Experiment:
    """An experiment of the suite: FedAvg, the corollary's step size and the reference engine unless said.

    Noise is met with batch size 1 and ``REPLICATES`` replicates; a deterministic run has one replicate.
    """
    noisy = bool(np.any(problem.client_variance(problem.w_star[None, :], 1) > 0))
    chosen = {"replicates": REPLICATES if noisy else 1, "batch_size": 1 if noisy else None, "engine": "reference"}
    steps = theory_step(problem) if eta is None else ConstantStep(eta) if isinstance(eta, float) else eta
    start = np.array(w0, dtype=float)
    return Experiment(problem, weighting or FedAvg(), steps, tau, rounds, w0=start, **(chosen | others))


def regime(
    name: str,
    curvatures: Sequence[Any],
    minima: Sequence[Any],
    w0: Sequence[float],
    p: Sequence[float] | None = None,
    noise: float = 0.0,
    policy: Policy = Policy(),  # noqa: B008
    **settings: Any,
) -> Regime:
    """Of `quadratics`, with the settings of an `experiment`."""
    return Regime(name, lambda: experiment(quadratics(curvatures, minima, p, noise), w0, **settings), policy)


@dataclass(frozen=True)
class Suite:
    """Regimes with the runs made of them so far; a run is simulated once, when first asked for."""

    regimes: tuple[Regime, ...]
    trajectories: dict[tuple[str, str], Trajectory | None] = field(default_factory=dict)
    runs: dict[tuple[str, str, str], MeasuredRun] = field(default_factory=dict)

    def run(self, regime: Regime, reading: Reading, claim: Claim) -> MeasuredRun | None:
        """The regime seen in a reading, with the claim's own step size if it asks for one; None if there is no
        such run or it diverged."""
        eta = str(claim.steps or "")
        key = (regime.name, eta, reading.name)
        if key not in self.runs:
            trajectory = self._trajectory(regime, eta, claim)
            if trajectory is None:
                return None
            self.runs[key] = examine_run(trajectory, reading, regime.policy)
        self.runs[key] = with_quantities_if_needed(claim, self.runs[key])
        return self.runs[key]

    def _trajectory(self, regime: Regime, eta: str, claim: Claim) -> Trajectory | None:
        key = (regime.name, eta)
        if key not in self.trajectories:
            planned = regime.build()
            try:
                tuned_to = _possible_tunings(planned, claim) if claim.tuned else {}
                planned = planned.with_(eta=prescribed_steps(planned, claim, tuned_to)) if eta else planned
                # A step size that is not positive here, as one that falls to 0 is not, states no run.
                steps = [planned.eta(t) for t in range(planned.total_steps)] if eta else []
                self.trajectories[key] = simulate(planned) if all(step > 0 for step in steps) else None
            except DivergedError:
                self.trajectories[key] = None
        return self.trajectories[key]


def prescribed_steps(
    planned: Experiment, claim: Claim, constants_of_run: Mapping[str, Numbers] | None = None
) -> StepSize:
    """The step size a claim is stated for, on an experiment's problem; tuned to a run where it is."""
    problem = planned.problem
    values: dict[str, Numbers] = {"L": problem.L, "mu": problem.mu, "tau": planned.tau, "N": problem.N, "eta_s": 1}
    values |= {"eta_0": float(planned.eta(0)), "L_sample": problem.sample_smoothness}
    values |= {name: number for name, number in (constants_of_run or {}).items() if name not in values}
    return Table(tuple(steps_asked(claim.steps, values, planned.total_steps).tolist()))


def _possible_tunings(planned: Experiment, claim: Claim) -> dict[str, Numbers]:
    """What a step size may be tuned to, as a run of one round finds it; a run where it is another meets no claim."""
    short = examine_run(simulate(planned.with_(rounds=1)), READINGS["plain"]).values()
    return {**short, "T_run": planned.total_steps, "gap_0": float(planned.problem.gap(planned.start[None])[0])}


# Many examinations share one trial, so each is decided far from a false alarm.
ERROR_RATE = 1e-6


def verdicts_in(claim: Claim, reading: Reading, suite: Suite) -> Iterator[tuple[Regime, Verdict]]:
    """The claim examined, assumptions included, in every regime that did not diverge and where it is defined."""
    for regime in suite.regimes:
        verdict, run = None, suite.run(regime, reading, claim)
        with contextlib.suppress(InputError), np.errstate(all="ignore"):
            verdict = None if run is None else empirical.examine(claim, run, ERROR_RATE)
        if verdict is not None:
            yield regime, verdict


def after_the_start(claim: Claim, reading: Reading, suite: Suite, names: Set[str]) -> dict[str, float]:
    """The smallest bound over measured at T > 0 in each named regime: at T = 0 every such bound is met."""
    result: dict[str, float] = {}
    for regime in (regime for regime in suite.regimes if regime.name in names):
        if (run := suite.run(regime, reading, claim)) is not None:
            sides = empirical.compare(claim, run)
            lhs, rhs = (side.mean(axis=0) for side in (sides.lhs, sides.rhs))
            chosen = (sides.times > 0) & (lhs > 0)
            result |= {regime.name: float(min(rhs[chosen] / lhs[chosen]))} if chosen.any() else {}
    return result


NINE_TO_ONE = Fixed((0.9, 0.1))
HALF: dict[str, Any] = {"participation": 0.5, "replicates": REPLICATES}
REGIMES: tuple[Regime, ...] = (
    # N = 1, kappa = 1: the one-step inequality is an equality at t = 0
    regime("one client", [1], [0], [3], eta=0.5),
    # N = 1 started at w*: Delta_1 = eta^2 sigma^2 exactly
    regime("one client, noisy", [1], [0], [0], noise=1.0, eta=0.5, replicates=MANY),
    # N = 1, kappa = 1, eta = 1/L: w* is reached at once, the largest step the paper allows
    regime("one client, one step", [1], [0], [3], eta=1.0, rounds=2),
    # N = 1, curvatures 1 and 10, started along the soft one: the start outweighs every gradient
    regime("one soft client", [[1, 10]], [[0, 0]], [1, 0], rounds=40),
    # four heterogeneous clients, FedMax(2), full gradients
    regime("noiseless", [[1, 2], [2, 4], [1, 8], [4, 4]], [[1, 0], [0, 2], [-1, 1], [2, -2]], [5, -5],
           weighting=FedMax(2), tau=3),
    # every client the same function: Gamma = 0, no drift
    regime("homogeneous", [2, 2, 2], [1, 1, 1], [4], weighting=FedSoftMax(1.0), eta=0.25, tau=3),
    # coinciding minima, tau = 1, noiseless: only the start is left
    regime("homogeneous, one step at a time", [1, 4], [0, 0], [2], rounds=40),
    # kappa = 10^4, started along the soft direction
    regime("extreme kappa", [[1, 1e4], [1, 1e4]], [[0, 1], [0, -1]], [1, 0], eta=1e-4, tau=2, rounds=20),
    # one skewed step while rho_bar exceeds gamma
    regime("extreme skew, from afar", [1, 1], [0, 1], [0], (0.999, 0.001), weighting=FedMax(1), eta=0.5, rounds=1),
    # 300 local steps a round, curvatures 1 and 4: clients nearly reach their own minima
    regime("large tau", [1, 4], [-1, 1], [0.6], tau=300, rounds=2, stride=10),
    # fixed weights (0.9, 0.1): the gap stays at its floor while the O(1/T) terms fade
    regime("biased weights, long run", [1, 1], [1, -1], [0.8], weighting=NINE_TO_ONE, rounds=3000, stride=200),
    # a client of share 10^-4 alone loses at t = 0, so rho_bar at synchronisation times is 10^4, then it arrives
    regime("skew lost inside a round", [1, 1], [0, 1], [0], (0.9999, 0.0001),
           weighting=FedMax(1), eta=0.25, tau=2, rounds=1),
    # the p-weighted iterate goes one way for 20 steps, the aggregate the other
    regime("biased weights, small local steps", [1, 1], [1, -1], [0.4],
           weighting=NINE_TO_ONE, eta=1e-5, tau=20, rounds=2),
    # pi and Pi are met by rho_bar and rho_tilde: each client alone loses at one of the two points
    regime("extreme ratios", [1, 1e6], [1, 0], [1], weighting=NINE_TO_ONE, eta=1e-9, rounds=1),
    # opposite pulls, each round's last step a quarter of the others: Lemma 2 near equality
    regime("fast decay", [1, 1], [1e3, -1e3], [0], eta=Table((*[4e-6] * 99, 1e-6)), tau=100, rounds=1, stride=3),
    # the last step of a round a 25th of the first: Lemma 2 as written fails
    regime("faster decay", [1, 1], [1, -1], [0], eta=Table((0.25, 0.01)), tau=2, rounds=4),
    # eta = 1.9/L: still stable, outside the paper's condition
    regime("steps beyond 1/L", [[1, 1], [1, 40]], [[1, 0], [-1, 0]], [3, 1], eta=1.9 / 40, tau=3),
    # eta_r = 0.1 * 0.5^r has a finite sum: the run stops on the way
    regime("summable steps", [1, 1], [0, 0], [5], eta=Geometric(0.1, 0.5, 1), rounds=500, stride=50),
    # participation C = 1/2 on heterogeneous clients
    regime("half the clients", [1, 1, 2, 2], [3, -3, 1, -1], [0], **HALF, tau=2, rounds=20),
    # participation C = 1/2 of two clients of shares 0.9 and 0.1: on average both count the same
    regime("half the clients, unequal", [1, 1], [1, -1], [0.8], (0.9, 0.1), **HALF, rounds=300, stride=20),
    # FedAvg at w*, L Gamma a hundred times G^2: nothing moves, so a negative right-hand side shows
    regime("started at w*, flat directions", [[1, 100], [1, 100]], [[1, 0], [-1, 0]], [0, 0], eta=0.01),
    # FedAvg at w* with curvatures 1 and 4 and eight local steps: drift alone moves it
    regime("started at w*, drifting", [1, 4], [-1, 1], [0.6], tau=8, rounds=4),
    # all weight on a client whose minimum is w*: rho_tilde = 0 < rho_bar
    regime("no skew at w*", [1, 1, 1], [-1, 0, 1], [1], weighting=Fixed((0.0, 1.0, 0.0)), eta=1e-3, rounds=1),
    # kappa = 200 and a client of share 10^-7 far away: eta mu (1 + 3 rho_bar/8) exceeds 1
    regime("contraction beyond 0", [[1, 200], [1, 200]], [[0, 0], [50, 0]], [1, 0], (1 - 1e-7, 1e-7),
           weighting=FedMax(1), eta=1 / 200, rounds=1),
    # participation C = 1/2 at w*: the choice of clients alone moves the model
    regime("half the clients, started at w*", [1, 4, 1, 4], [-1, 1, -1, 1], [0.6], **HALF, tau=2, rounds=10),
    # eta = 1.99/L on one steep direction: the iterate swings, and Delta falls by a hundredth
    regime("steps of almost 2/L", [[1, 40]], [[0, 0]], [0, 1], eta=1.99 / 40, rounds=10),
    # Power-of-Choice: two candidates, one selected, weights that are random
    regime("random selection", [1, 2, 1], [2, 0, -2], [1], noise=0.5,
           weighting=PowerOfChoice(2, 1), tau=2, rounds=10),
    # sigma^2 given a millionth of what the run needs, G^2 enough: Assumption 3 fails
    regime("understated variance", [1, 1], [0, 0], [0], noise=1.0, eta=0.5, replicates=MANY,
           policy=Policy(sigma_sq=1e-6, G_sq=1e3)),
    # 40 local steps from w* with G^2 given a millionth: drift is all there is
    regime("understated gradients, drifting", [1, 4], [-1, 1], [0.6], tau=40, rounds=1,
           policy=Policy(sigma_sq=0.0, G_sq=1e-6)),
)  # fmt: skip
