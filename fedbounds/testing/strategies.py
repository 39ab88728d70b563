"""Hypothesis strategies for property-testing a lemma of one's own: few clients, one dimension, round numbers."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, given, settings, target
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable, UnsatisfiedAssumption
from hypothesis.strategies import DrawFn, SearchStrategy

from fedbounds import plugins
from fedbounds.engine.simulate import simulate
from fedbounds.errors import InputError, of_kind, reject
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.evidence.evaluate import evaluate
from fedbounds.evidence.measured_run import Policy, examine_run
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array, Problem
from fedbounds.model.schedule import ConstantStep, InverseTime, StepSize
from fedbounds.model.trajectory import Trajectory
from fedbounds.model.weighting import Weighting
from fedbounds.problems.quadratic import quadratic
from fedbounds.theory import symbols
from fedbounds.theory.claim import Claim, Role
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status, Verdict
from fedbounds.weightings.fedavg import FedAvg
from fedbounds.weightings.fedmax import FedMax
from fedbounds.weightings.fedsoftmax import FedSoftMax
from fedbounds.weightings.fixed import Fixed

# Grids that curvatures, minima and weights are drawn from: coarse enough to shrink to round numbers.
CURVATURES = (1.0, 2.0, 4.0, 10.0, 100.0)
TEMPERATURES = (1e-3, 0.1, 1.0, 10.0, 1e3)
NOISE = (0.0, 1.0, 0.1)
# A noisy example is decided at this rate, so that a whole suite of examples stays far from a false alarm.
NOISY_ERROR_RATE = 1e-6
NOISY_REPLICATES = 16

settings.register_profile("fedbounds", deadline=None, derandomize=True, max_examples=100)
# The first example compiles every formula: whatever profile is in use, no time limit an example goes with it.
settings.register_profile("fedbounds-untimed", parent=settings.default, deadline=None)
settings.load_profile("fedbounds-untimed")


@st.composite
def problems(
    draw: DrawFn, noise: bool = True, homogeneous: bool = False, clients: int | None = None, d: int | None = None
) -> Problem:
    """Quadratic problems with known constants: N, d, curvatures, minima, p and noise all small and round.

    ``homogeneous`` gives every client the same minimiser, so that Gamma = 0. ``clients`` fixes N, which is up to 4
    otherwise, and ``d`` the dimension, which is up to 2.

    >>> find(problems(d=1), lambda problem: problem.N == 2).w_i_star.shape
    (2, 1)
    """
    N = draw(st.integers(1, 4)) if clients is None else clients
    d = draw(st.integers(1, 2)) if d is None else d
    spectra = draw(
        st.lists(st.lists(st.sampled_from(CURVATURES), min_size=d, max_size=d).map(sorted), min_size=N, max_size=N)
    )
    rows = 1 if homogeneous else N
    minima = draw(st.lists(st.lists(st.integers(-4, 4), min_size=d, max_size=d), min_size=rows, max_size=rows))
    return quadratic(
        np.array(spectra),
        np.broadcast_to(np.array(minima, dtype=float), (N, d)),
        draw(_simplexes(N, 1)),
        noise_std=draw(st.sampled_from(NOISE)) if noise else 0.0,
    )


def _simplexes(N: int, least: int) -> SearchStrategy[Array]:
    """Weights on the simplex (N,), in ratios of whole numbers of at least ``least``."""
    parts = st.lists(st.integers(least, 20), min_size=N, max_size=N).filter(any)
    return parts.map(lambda row: np.array(row, dtype=float) / sum(row))


def _weightings(N: int) -> SearchStrategy[Weighting]:
    """Any of the package's weightings for N clients."""
    fixed = _simplexes(N, 0).map(lambda alpha: Fixed(tuple(alpha.tolist())))
    soft, largest = st.sampled_from(TEMPERATURES).map(FedSoftMax), st.integers(1, N).map(FedMax)
    return st.one_of(st.just(FedAvg()), largest, soft, fixed)


def _schedules(problem: Problem, theory: bool) -> SearchStrategy[StepSize]:
    """Step sizes: the theory's 1/(mu (t + gamma)), or (unless ``theory``) constant ones up to 1/L."""
    gamma = plugins.with_role(Role.MAIN)[0].definitions[symbols.gamma]
    inverse_time = InverseTime(problem.mu, float(evaluate(gamma, {"L": problem.L, "mu": problem.mu})))
    constant = st.sampled_from((1.0, 0.5, 0.1, 0.01)).map(lambda share: ConstantStep(share / problem.L))
    return st.just(inverse_time) if theory else st.one_of(st.just(inverse_time), constant)


@st.composite
def _experiments(draw: DrawFn, theory: bool, drawn: dict[str, Any]) -> Experiment:
    """Small experiments: up to 4 local steps and 5 rounds."""
    problem = draw(problems(**drawn))
    noisy = bool(np.any(problem.client_variance(problem.w_star[None, :], 1) > 0))
    start = draw(st.lists(st.integers(-5, 5), min_size=problem.d, max_size=problem.d))
    return Experiment(
        problem=problem,
        weighting=draw(_weightings(problem.N)),
        eta=draw(_schedules(problem, theory)),
        tau=draw(st.integers(1, 4)),
        rounds=draw(st.integers(1, 5)),
        replicates=NOISY_REPLICATES if noisy else 1,
        batch_size=1 if noisy else None,
        w0=np.array(start, dtype=float),
        seed=draw(st.integers(0, 1000)),
        engine="reference",
    )


def runs(theory: bool = False, **drawn: Any) -> SearchStrategy[Trajectory]:
    """Small runs of any weighting on `problems`, whose arguments ``drawn`` are; ``theory`` takes the paper's steps.

    >>> find(runs(), lambda run: run.experiment.tau == 2).times.tolist()[:3]
    [0, 1, 2]
    """
    return _experiments(theory, drawn).map(simulate)


def property_test(claim: Claim, reading: str | None = None, **drawn: Any) -> Callable[[], None]:
    """A test for pytest that examines the claim on `runs`; ``drawn`` are the arguments of `runs`.

    Examples to which the claim does not apply count as none; where all are, the test says which assumption fails.

    >>> test_lemma = property_test(claim_named("lemma-1"))
    >>> test_lemma()
    """
    reasons: Counter[str] = Counter()

    @settings(deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
    @given(runs(**drawn))
    def examples(trajectory: Trajectory) -> None:
        try:
            verdict = assert_claim(claim, trajectory, reading)
        except UnsatisfiedAssumption:
            verdict = verdict_on(claim, trajectory, reading)
            reasons[", ".join(item.key for item in verdict.failed) or verdict.detail] += 1
            raise
        if verdict.margin is not None and np.isfinite(verdict.margin):
            target(-float(verdict.margin))

    def test() -> None:
        reasons.clear()
        try:
            examples()
        except Unsatisfiable:
            why = "; ".join(f"{reason} ({count})" for reason, count in reasons.most_common(3))
            remedy = "draw others with clients=, d=, noise=, theory= or homogeneous="
            result = f"none in {reasons.total()}: {why}"
            raise reject(f"{claim.key} needs examples that it applies to", result, remedy) from None

    return test


def verdict_on(claim: Claim, trajectory: Trajectory, reading: str | None = None) -> Verdict:
    """The empirical verdict of a claim on a trajectory, in a named reading (its last one unless given).

    >>> verdict_on(claim_named("lemma-1"), simulate(experiment)).status
    <Status.HOLDS: 'HOLDS'>
    """
    of_kind("a claim", claim, Claim, "a Claim")
    reading = claim.readings[-1] if reading is None else reading
    if reading not in READINGS:
        raise InputError(f"reading must be one of {', '.join(READINGS)}, but received {reading!r}: choose one.")
    return empirical.examine(claim, examine_run(trajectory, READINGS[reading], Policy()), NOISY_ERROR_RATE)


def assert_claim(claim: Claim, trajectory: Trajectory, reading: str | None = None) -> Verdict:
    """Fail with both sides and the instance if the claim is refuted on a trajectory; otherwise the verdict.

    A trajectory on which nothing is compared (an assumption fails, or both sides are 0) is no example: as with
    `hypothesis.assume`, another one is drawn, and the test fails (`Unsatisfiable`) where none of them counts.

    >>> find(runs(), lambda run: assert_claim(claim_named("lemma-1"), run).status == "HOLDS").experiment.tau > 0
    True
    """
    verdict = verdict_on(claim, trajectory, reading)
    if verdict.status is Status.REFUTED:
        experiment = trajectory.experiment
        raise AssertionError(
            f"{claim.key} [{verdict.reading}] is refuted at t = {verdict.worst_t}: {verdict.detail}\n"
            f"p = {experiment.problem.p}, w_i* = {experiment.problem.w_i_star.tolist()}, "
            f"w_0 = {experiment.start}, weighting = {experiment.weighting}, eta = {experiment.eta}, "
            f"tau = {experiment.tau}, rounds = {experiment.rounds}"
        )
    assume(verdict.status is not Status.VACUOUS and verdict.margin is not None)
    return verdict
