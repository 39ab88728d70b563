"""Hypothesis strategies of small federated runs: few clients, one dimension, round numbers."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from fedbounds import plugins
from fedbounds.engine.simulate import simulate
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.evidence.evaluate import evaluate
from fedbounds.evidence.measured_run import Policy
from fedbounds.evidence.run_constants import examine_run
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array, Problem
from fedbounds.model.schedule import ConstantStep, InverseTime, StepSize
from fedbounds.model.trajectory import Trajectory
from fedbounds.model.weighting import Weighting
from fedbounds.problems.quadratic import quadratic
from fedbounds.theory import symbols
from fedbounds.theory.claim import Claim, Role
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Verdict
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


@st.composite
def simplexes(draw: DrawFn, N: int, positive: bool = True) -> Array:
    """Weights on the simplex (N,), in ratios of whole numbers; every entry positive unless told otherwise."""
    parts = draw(st.lists(st.integers(1 if positive else 0, 20), min_size=N, max_size=N).filter(any))
    return np.array(parts, dtype=float) / sum(parts)


@st.composite
def problems(draw: DrawFn, noise: bool = True, homogeneous: bool = False) -> Problem:
    """Quadratic problems with known constants: N, d, curvatures, minima, p and noise all small and round.

    ``homogeneous`` gives every client the same minimiser, so that Gamma = 0.
    """
    N, d = draw(st.integers(1, 4)), draw(st.integers(1, 2))
    spectra = draw(
        st.lists(st.lists(st.sampled_from(CURVATURES), min_size=d, max_size=d).map(sorted), min_size=N, max_size=N)
    )
    rows = 1 if homogeneous else N
    minima = draw(st.lists(st.lists(st.integers(-4, 4), min_size=d, max_size=d), min_size=rows, max_size=rows))
    return quadratic(
        np.array(spectra),
        np.broadcast_to(np.array(minima, dtype=float), (N, d)),
        draw(simplexes(N)),
        noise_std=draw(st.sampled_from(NOISE)) if noise else 0.0,
    )


@st.composite
def weightings(draw: DrawFn, N: int) -> Weighting:
    """Any of the package's weightings for N clients."""
    schemes: list[SearchStrategy[Weighting]] = [
        st.just(FedAvg()),
        st.integers(1, N).map(FedMax),
        st.sampled_from(TEMPERATURES).map(FedSoftMax),
        simplexes(N, positive=False).map(lambda alpha: Fixed(tuple(alpha.tolist()))),
    ]
    return draw(st.one_of(schemes))


@st.composite
def schedules(draw: DrawFn, problem: Problem, theory: bool = False) -> StepSize:
    """Step sizes: the theory's 1/(mu (t + gamma)), or (unless ``theory``) constant ones up to 1/L."""
    gamma = plugins.with_role(Role.MAIN)[0].definitions[symbols.gamma]
    inverse_time = InverseTime(problem.mu, float(evaluate(gamma, {"L": problem.L, "mu": problem.mu})))
    if theory or draw(st.booleans()):
        return inverse_time
    return ConstantStep(draw(st.sampled_from((1.0, 0.5, 0.1, 0.01))) / problem.L)


@st.composite
def experiments(draw: DrawFn, noise: bool = True, theory: bool = False, homogeneous: bool = False) -> Experiment:
    """Small experiments: up to 4 clients in up to 2 dimensions, 4 local steps and 5 rounds."""
    problem = draw(problems(noise=noise, homogeneous=homogeneous))
    noisy = bool(np.any(problem.client_variance(problem.w_star[None, :], 1) > 0))
    start = draw(st.lists(st.integers(-5, 5), min_size=problem.d, max_size=problem.d))
    return Experiment(
        problem=problem,
        weighting=draw(weightings(problem.N)),
        eta=draw(schedules(problem, theory)),
        tau=draw(st.integers(1, 4)),
        rounds=draw(st.integers(1, 5)),
        replicates=NOISY_REPLICATES if noisy else 1,
        batch_size=1 if noisy else None,
        w0=np.array(start, dtype=float),
        seed=draw(st.integers(0, 1000)),
        engine="reference",
    )


def runs(noise: bool = True, theory: bool = False, homogeneous: bool = False) -> SearchStrategy[Trajectory]:
    """Trajectories of `experiments`."""
    return experiments(noise, theory, homogeneous).map(simulate)


def verdict_on(claim: Claim, trajectory: Trajectory, reading: str | None = None) -> Verdict:
    """The empirical verdict of a claim on a trajectory, in a named reading (its last one unless given)."""
    examined = examine_run(trajectory, READINGS[reading or claim.readings[-1]], Policy())
    return empirical.examine(claim, examined, NOISY_ERROR_RATE)
