"""Runs that keep what a record does not: the iterates of a recorded run once more, and rounds of any algorithm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbounds.engine import rng
from fedbounds.engine.loop import Span, choose_engine, run_blocks
from fedbounds.engine.numpy_engine import NumpyEngine, draws_at, round_weights
from fedbounds.engine.record import check_distances, distance_sq, divergence_limit, make_time_grid
from fedbounds.errors import reject
from fedbounds.model.algorithm import Algorithm, Round, State
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array
from fedbounds.model.trajectory import Distances


class Iterates(NamedTuple):
    """By repetition: ``w`` (R, T + 1, d) by name of the virtual iterate, and before each step the local models ``X``
    (R, T, N, d) and the weights ``alpha`` (R, T, N); ``X_next`` are the models after it, before they are averaged."""

    w: dict[str, Array]
    X: Array
    alpha: Array
    X_next: Array


@dataclass
class _Kept:
    """Copies what a block of replicates passes into arrays of all replicates."""

    iterates: Iterates
    experiment: Experiment
    engine: NumpyEngine
    replicates: range
    virtuals: tuple[str, ...]
    every_step = False

    def weights(self, r: int, p: Array, alpha: Array) -> None:
        """Those of the steps are kept."""

    def steps(self, span: Span) -> None:
        w, X, alpha, X_next = self.iterates
        n, begin, first = span.count, span.begin, self.replicates.start
        block = slice(first, min(self.replicates.stop, len(X)))
        taken, wanted = slice(begin, begin + n), block.stop - first

        def rows(values: Array) -> Array:
            return values[:, :wanted].swapaxes(0, 1)

        for name, path in span.paths.items():
            w[name][block, begin : begin + n + 1] = rows(path[: n + 1])
        X[block, taken], alpha[block, taken] = rows(span.models[:n]), rows(span.alpha[:n])
        X_next[block, taken] = rows(span.models[1 : n + 1])
        for k in span.aggregates:  # where the average has taken the place of the models
            ends, t = np.stack([span.models[k], span.models[k]]), begin + k
            self.engine.walk(ends, np.array([self.experiment.eta(t)]), t, self.replicates)
            X_next[block, t] = ends[1, :wanted]

    def finish(self, span: Span, p: Array, alpha: Array) -> None:
        """The last aggregate stands after the last step."""


def replay(experiment: Experiment) -> Iterates:
    """The iterates of the recorded run of algorithm 1."""
    engine, problem = choose_engine(experiment), experiment.problem
    R, T, N, d = experiment.replicates, experiment.total_steps, problem.N, problem.d
    virtuals = ("alpha",) if experiment.rule.returns_p else ("alpha", "p")
    w = {name: np.empty((R, T + 1, d)) for name in virtuals}
    iterates = Iterates(w, np.empty((R, T, N, d)), np.empty((R, T, N)), np.empty((R, T, N, d)))
    for _ in run_blocks(experiment, engine, lambda block: _Kept(iterates, experiment, engine, block, virtuals)):
        pass
    return iterates._replace(w={"alpha": w["alpha"], "p": w[virtuals[-1]]})


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
