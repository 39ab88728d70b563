"""What a regime is, how to write one in a line, a suite of them run once each, and a claim examined in each."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

import numpy as np

from fedbounds.engine.simulate import simulate
from fedbounds.errors import DivergedError, InputError
from fedbounds.evidence.assumption_checks import with_quantities_if_needed
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.evidence.evaluate import Numbers, steps_asked
from fedbounds.evidence.measured_run import MeasuredRun, Policy
from fedbounds.evidence.run_constants import examine_run
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Problem
from fedbounds.model.schedule import ConstantStep, StepSize
from fedbounds.model.trajectory import Trajectory
from fedbounds.model.weighting import Weighting
from fedbounds.problems.quadratic import quadratic
from fedbounds.study.objects_from_settings import theory_step
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS, Reading
from fedbounds.theory.verdict import Verdict
from fedbounds.weightings.fedavg import FedAvg

# Enough for a band at the power table's error rate; the step claims compare conditional means, which vary little.
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


def line(
    curvatures: Sequence[float],
    minima: Sequence[float],
    p: Sequence[float] | None = None,
    noise: float | Sequence[float] = 0.0,
) -> Problem:
    """One-dimensional clients F_i(w) = curvature_i (w - minimum_i)^2 / 2."""
    return plane([[c] for c in curvatures], [[m] for m in minima], p, noise)


def plane(
    spectra: Sequence[Sequence[float]],
    minima: Sequence[Sequence[float]],
    p: Sequence[float] | None = None,
    noise: float | Sequence[float] = 0.0,
) -> Problem:
    """Clients with diagonal Hessians and prescribed minimisers, any dimension."""
    weights = None if p is None else np.array(p, dtype=float)
    return quadratic(
        np.array(spectra, dtype=float), np.array(minima, dtype=float), weights, noise_std=np.array(noise)
    )


def experiment(
    problem: Problem,
    w0: Sequence[float],
    weighting: Weighting | None = None,
    eta: StepSize | float | None = None,
    tau: int = 1,
    rounds: int = 8,
    **others: object,
) -> Experiment:
    """An experiment of the suite: FedAvg, the corollary's step size and the reference engine unless said.

    Noise is met with batch size 1 and ``REPLICATES`` replicates; a deterministic run has one replicate.
    """
    noisy = bool(np.any(problem.client_variance(problem.w_star[None, :], 1) > 0))
    theory = theory_step(problem)
    chosen: dict[str, object] = {
        "replicates": REPLICATES if noisy else 1,
        "batch_size": 1 if noisy else None,
        "engine": "reference",
    }
    return Experiment(
        problem=problem,
        weighting=weighting or FedAvg(),
        eta=theory if eta is None else ConstantStep(eta) if isinstance(eta, float) else eta,
        tau=tau,
        rounds=rounds,
        w0=np.array(w0, dtype=float),
        **(chosen | others),  # type: ignore[arg-type]
    )


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


def with_definitions(claim: Claim, reading: Reading) -> Claim:
    """The claim with its repair and definitions already substituted: the same statement, quicker to evaluate.

    The repair's and the step size's assumptions become its own.
    """
    left, _, terms = claim.sides(reading)
    stated = claim.assumptions_in(reading)
    return replace(claim, lhs=left, terms=terms, assumptions=stated, definitions={}, eta=None, repair=None)


def verdicts_in(claim: Claim, reading: Reading, suite: Suite) -> Iterator[tuple[Regime, Verdict]]:
    """The claim examined, assumptions included, in every regime that did not diverge and where it is defined."""
    read = with_definitions(claim, reading)
    for regime in suite.regimes:
        run = suite.run(regime, reading, claim)
        verdict = None
        if run is not None:
            with contextlib.suppress(InputError), np.errstate(all="ignore"):
                verdict = empirical.examine(read, run, ERROR_RATE)
        if verdict is not None:
            yield regime, verdict


def after_the_start(claim: Claim, reading: Reading, suite: Suite, names: Set[str]) -> dict[str, float]:
    """The smallest bound over measured at T > 0 in each named regime: at T = 0 every such bound is met."""
    read, result = with_definitions(claim, reading), {}
    for regime in suite.regimes:
        run = suite.run(regime, reading, claim) if regime.name in names else None
        if run is not None:
            sides = empirical.compare(read, run)
            lhs, rhs = (side.mean(axis=0) for side in (sides.lhs, sides.rhs))
            chosen = (sides.times > 0) & (lhs > 0)
            if chosen.any():
                result[regime.name] = float(min(rhs[chosen] / lhs[chosen]))
    return result
