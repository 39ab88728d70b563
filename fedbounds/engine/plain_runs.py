"""Runs in plain numpy: the iterates of a recorded run once more, by the reference, and rounds of any algorithm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbounds.engine import rng
from fedbounds.engine.numpy_engine import NumpyEngine, draws_at, present, round_weights
from fedbounds.engine.reference import algorithm_1
from fedbounds.engine.rng import HashedStream
from fedbounds.engine.time_grid import check_distances, distance_sq, divergence_limit, make_time_grid
from fedbounds.errors import reject
from fedbounds.model.algorithm import Algorithm, Round, State
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array
from fedbounds.model.schedule import steps
from fedbounds.model.trajectory import Distances


class Iterates(NamedTuple):
    """By repetition: ``w`` (R, T + 1, d) by name of the virtual iterate, and before each step the local models ``X``
    (R, T, N, d) and the weights ``alpha`` (R, T, N); ``X_next`` are the models after it, before they are averaged."""

    w: dict[str, Array]
    X: Array
    alpha: Array
    X_next: Array


@dataclass(frozen=True)
class _Sampled:
    """The losses of an experiment, with the gradients that its seed draws."""

    experiment: Experiment

    @property
    def p(self) -> Array:
        return self.experiment.problem.p

    def excess(self, w: Array) -> Array:
        return self.experiment.problem.excess(w)

    def gradient(self, x: Array, t: int) -> Array:
        draws = None if self.experiment.batch_size is None else draws_at(self.experiment, t, range(len(x)))
        return self.experiment.problem.client_grads(x, draws)


def replay(experiment: Experiment) -> Iterates:
    """The iterates of the recorded run of algorithm 1, up to rounding."""
    R, replicates = experiment.replicates, range(experiment.replicates)
    run = algorithm_1(
        _Sampled(experiment),
        np.tile(experiment.start, (R, 1)),
        steps(experiment.eta, experiment.total_steps),
        experiment.tau,
        experiment.rule,
        None if experiment.participation == 1 else lambda r, gaps: present(experiment, replicates, r),
        lambda r: HashedStream(experiment.seed, replicates, r),
    )
    with NumpyEngine(experiment).session():
        taken = list(run)
    w = {
        "alpha": np.stack([step.virtual(step.alpha) for step in taken], axis=1),
        "p": np.stack([step.virtual(step.p) for step in taken], axis=1),
    }
    before = taken[:-1]
    models, alpha, ends = (
        np.stack(rows, axis=1)
        for rows in ([s.x for s in before], [s.alpha for s in before], [s.ends for s in taken[1:]])
    )
    return Iterates(w, models, alpha, ends)


def run_algorithm(
    algorithm: Algorithm, experiment: Experiment, watch: Callable[[Array], None] | None = None
) -> Distances:
    """||w - w*||^2 and F(w) - F* at the end of every round, which an algorithm takes in place of FedAvg.

    Weighting, participation, step sizes and streams are those of `simulate`, which FedAvg here equals up to rounding.
    ``watch`` is shown the points (R, N or 1, d) of every gradient of a local step. Raises DivergedError, and
    InputError where the algorithm cannot run the experiment.
    """
    check(algorithm, experiment)
    grid, replicates = make_time_grid(experiment), range(experiment.replicates)
    limit, problem = divergence_limit(experiment, grid), experiment.problem
    state = algorithm.start(np.tile(experiment.start, (experiment.replicates, 1)), problem.N)
    models = [state["w"]]
    with np.errstate(over="ignore", invalid="ignore"):
        for r, (begin, end) in enumerate(grid.rounds):
            now = _drawn(algorithm, experiment, state, r, grid.eta[begin:end])
            state = algorithm.round(state, replace(now, watch=watch))
            models.append(state["w"])
            distance = distance_sq(state["w"], experiment)[None]
            check_distances(experiment, grid.eta, [end - 1], replicates, distance, limit)
    W = np.stack(models, axis=1)
    times = np.arange(experiment.rounds + 1, dtype=np.int64) * experiment.tau
    return Distances(experiment, times, distance_sq(W, experiment), problem.gap(W), "reference")


def check(algorithm: Algorithm, experiment: Experiment) -> None:
    """InputError where an algorithm cannot run an experiment."""
    if experiment.aggregation != "algorithm-1":
        raise reject("an algorithm's rounds have tau steps", experiment.aggregation, "use algorithm-1")
    if algorithm.everyone and not experiment.everyone_present:
        raise reject(f"{algorithm.key} needs every client", f"C = {experiment.participation:g}", "use C = 1")
    if algorithm.reshuffles and experiment.batch_size is not None:
        problem, needed = experiment.problem, experiment.tau * experiment.batch_size
        if problem.sampling != "indices" or needed > problem.sizes.min():
            held = f"{problem.sizes.min()} at the smallest client"
            raise reject(f"{algorithm.key} draws tau b = {needed} samples, none twice", held, "take fewer a round")


def _drawn(algorithm: Algorithm, experiment: Experiment, state: State, r: int, eta: Array) -> Round:
    """Round r with all its randomness, from the streams of the experiment's seed."""
    problem, tau, replicates = experiment.problem, len(eta), range(experiment.replicates)
    # Losses of clients cost a pass over all data, so only a weighting that looks at them has them computed.
    looks = experiment.rule.depends_on_w
    excess = problem.excess(state["w"]) if looks else np.zeros((experiment.replicates, problem.N))
    p, alpha = round_weights(experiment, replicates, r, excess)
    draws: NDArray[Any] | None = None
    if experiment.batch_size is not None:
        if algorithm.reshuffles:
            keys = rng.absorb(rng.client_keys(experiment.seed, replicates, problem.N), r)
            draws = reshuffled(rng.uniforms(keys, int(problem.sizes.max())), problem.sizes, tau)
            draws = draws[..., : experiment.batch_size]
        else:
            draws = np.stack([draws_at(experiment, r * tau + k, replicates) for k in range(tau)])
    coins = rng.uniforms(rng.absorb(rng.replicate_keys(experiment.seed, replicates, rng.COINS), r), tau)
    return Round(problem, alpha, p > 0, eta, draws, coins.T)


def reshuffled(u: Array, sizes: NDArray[np.int64], tau: int) -> NDArray[np.int64]:
    """The samples of tau batches, none twice, in the order of u (R, N, max n_i): (tau, R, N, min n_i // tau)."""
    order = np.argsort(np.where(np.arange(u.shape[-1]) < sizes[:, None], u, np.inf), axis=-1)
    width = int(sizes.min()) // tau
    return order[..., : tau * width].reshape(*u.shape[:2], tau, width).transpose(2, 0, 1, 3)
