"""What a regime is, how to write one in a line, and a suite of them run once each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from fedbounds.engine.simulate import simulate
from fedbounds.errors import DivergedError
from fedbounds.evidence.evaluate import Numbers, steps_asked
from fedbounds.evidence.exact.counterexamples import all_files, read
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.evidence.measured_run import MeasuredRun, Policy
from fedbounds.evidence.run_constants import examine_run, with_quantities
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Problem
from fedbounds.model.schedule import ConstantStep, StepSize
from fedbounds.model.trajectory import Trajectory
from fedbounds.model.weighting import Weighting
from fedbounds.problems.quadratic import quadratic
from fedbounds.study.resolve import theory_step
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading
from fedbounds.weightings.fedavg import FedAvg
from fedbounds.weightings.fedmax import FedMax
from fedbounds.weightings.fixed import Fixed

# Enough for a band at the power table's error rate; the step claims compare conditional means, which vary little.
REPLICATES = 64
# Where noise is all there is, the gap itself is skewed and its band must be narrower than its mean.
MANY = 512


@dataclass(frozen=True)
class Regime:
    """One extreme experiment: its name, what it makes matter, how to build it, and how its constants are taken."""

    name: str
    summary: str
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
    own = theory_step(problem)
    chosen: dict[str, object] = {
        "replicates": REPLICATES if noisy else 1,
        "batch_size": 1 if noisy else None,
        "engine": "reference",
    }
    return Experiment(
        problem=problem,
        weighting=weighting or FedAvg(),
        eta=own if eta is None else ConstantStep(eta) if isinstance(eta, float) else eta,
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
        self.runs[key] = with_quantities(claim, self.runs[key])
        return self.runs[key]

    def _trajectory(self, regime: Regime, eta: str, claim: Claim) -> Trajectory | None:
        key = (regime.name, eta)
        if key not in self.trajectories:
            planned = regime.build()
            if eta:
                planned = planned.with_(eta=own_steps(planned, claim))
            try:
                # A step size that is not positive here, as one that falls to 0 is not, states no run.
                steps = [planned.eta(t) for t in range(planned.total_steps)] if eta else []
                self.trajectories[key] = simulate(planned) if all(step > 0 for step in steps) else None
            except DivergedError:
                self.trajectories[key] = None
        return self.trajectories[key]


def own_steps(planned: Experiment, claim: Claim) -> StepSize:
    """The step size a claim is stated for, on an experiment's problem."""
    problem = planned.problem
    values: dict[str, Numbers] = {"L": problem.L, "mu": problem.mu, "tau": planned.tau, "N": problem.N}
    values |= {"eta_0": float(planned.eta(0)), "L_sample": problem.sample_smoothness}
    return Table(tuple(steps_asked(claim.steps, values, planned.total_steps).tolist()))


# A shipped run of more rounds than this is recorded about this many times.
LONG = 10


def of_instance(name: str, title: str, instance: Instance) -> Regime | None:
    """A shipped exact instance as a regime; None where an experiment has no such noise, weights, floor or C."""
    constant = len(set(instance.weights)) <= 1
    if not instance.plain or any(instance.noise) or any(instance.floor) or instance.selections > 1 or not constant:
        return None
    weighting: Weighting = FedAvg()
    if instance.weighting == "fixed":
        weighting = Fixed(tuple(float(a) for a in instance.weights[0]))
    elif instance.weighting != "fedavg":
        weighting = FedMax(int(instance.weighting.partition(":")[2] or 1))

    def build() -> Experiment:
        rows = [[float(x) for x in row] for row in instance.curvatures]
        problem = plane(rows, [[float(x) for x in row] for row in instance.minima], [float(x) for x in instance.p])
        return experiment(
            problem,
            [float(x) for x in instance.w0],
            weighting,
            Table(tuple(float(x) for x in instance.eta)),
            instance.tau,
            instance.rounds,
            stride=_stride(instance.rounds),
        )

    return Regime(f"shipped {name}", title, build)


def _stride(rounds: int) -> int:
    """Rounds between records: few records of a long run, the last round among them."""
    return next(step for step in range(max(1, rounds // LONG), rounds + 1) if rounds % step == 0)


def shipped_regimes() -> tuple[Regime, ...]:
    """The counterexamples shipped, each as a regime where an experiment can be one."""
    result = []
    for path in all_files():
        example = read(path)
        if "instance" in example.document:
            instance = from_json(example.document["instance"])
            result.append(of_instance(example.name, str(example.document["title"]), instance))
    return tuple(regime for regime in result if regime is not None)
