"""The observer that keeps ||w - w*||^2 and F(w) - F* at the ends of rounds, and its fast path through minibatches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from fedbounds.engine import rng
from fedbounds.engine.divergence import check_distances, distance_sq, divergence_limit
from fedbounds.engine.loop import Span, choose_engine, run_blocks
from fedbounds.engine.numpy_engine import NumpyEngine
from fedbounds.engine.participation import chosen, chosen_weights, round_weights
from fedbounds.engine.threads import blocks_of, default_threads, in_threads
from fedbounds.engine.time_grid import TimeGrid, make_time_grid
from fedbounds.errors import DivergedError
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array, Indices
from fedbounds.model.protocol import Progress
from fedbounds.model.trajectory import Distances

if TYPE_CHECKING:
    from fedbounds.engine.kernels.backends import Sampled

# Replicates that run together: their models and batches lie in the first cache at ordinary dimensions.
TOGETHER = 32
# Rounds that run before the gaps at their ends are evaluated together, one pass over the data for all.
ROUNDS = 64


def run_endpoints(experiment: Experiment, progress: Progress | None = None, threads: int | None = None) -> Distances:
    """Run an experiment and keep distance and gap at every ceil(stride / tau)-th aggregation and at T.

    The random numbers are those of the full record, which it equals up to rounding. Minibatches of samples are
    stepped through with nothing measured on the way. Raises DivergedError.
    """
    from fedbounds.engine.kernels.backends import Sampled

    grid, engine = make_time_grid(experiment), choose_engine(experiment)
    every = experiment.tau * -(-experiment.stride // experiment.tau)
    times = np.unique(np.append(np.arange(0, grid.total, every), grid.total))
    sampled = experiment.batch_size is not None and experiment.aggregation == "algorithm-1"
    if sampled and isinstance(engine, Sampled):
        parts = _run_fast(experiment, engine, grid, times, progress, threads)
    else:
        observers = run_blocks(experiment, engine, lambda _: Endpoints(experiment, engine, times), progress, threads)
        parts = [observer.result() for observer in observers]
    distances, gaps = (np.concatenate(part)[: experiment.replicates] for part in zip(*parts, strict=True))
    return Distances(experiment, times, distances, gaps, engine.name)


class Endpoints:
    """Keeps distance and gap of a block at the steps ``times``."""

    virtuals: tuple[str, ...] = ("alpha",)
    every_step = False

    def __init__(self, experiment: Experiment, engine: NumpyEngine, times: Indices) -> None:
        self._experiment, self._engine, self._times = experiment, engine, times
        self._parts: list[tuple[Array, Array]] = []

    def weights(self, r: int, p: Array, alpha: Array) -> None:
        """Weights are not kept."""

    def steps(self, span: Span) -> None:
        after = (self._times > span.begin) & (self._times <= span.begin + span.count)
        wanted = self._times[after | (self._times == span.begin) & (span.begin == 0)] - span.begin
        if len(wanted):
            self._parts.append(measured(span.paths["alpha"][wanted], self._experiment, self._engine))

    def finish(self, span: Span, p: Array, alpha: Array) -> None:
        """Time T has been kept."""

    def result(self) -> tuple[Array, Array]:
        """(distance_sq, gap) at the times, each (R, K)."""
        distances, gaps = (np.concatenate(part, axis=1) for part in zip(*self._parts, strict=True))
        return distances, gaps


def measured(models: Array, experiment: Experiment, engine: NumpyEngine) -> tuple[Array, Array]:
    """(distance_sq, gap) of models (K, R, d), each (R, K)."""
    K, R, d = models.shape
    gap = engine.gap(np.ascontiguousarray(models).reshape(K * R, d))
    return distance_sq(models, experiment).T, gap.reshape(K, R).T


def _run_fast(
    experiment: Experiment,
    engine: Sampled,
    grid: TimeGrid,
    times: Indices,
    progress: Progress | None,
    threads: int | None,
) -> list[tuple[Array, Array]]:
    """(distance_sq, gap) of every block of replicates."""
    runner = _CompiledRounds(experiment, engine, grid, times // experiment.tau)
    workers = default_threads() if threads is None else threads
    blocks = blocks_of(experiment.replicates, min(TOGETHER, -(-experiment.replicates // max(workers, 1))))
    try:
        return list(in_threads(runner, blocks, len(blocks) * grid.total, progress, threads))
    except DivergedError:
        for block in blocks_of(experiment.replicates, TOGETHER):  # what is said depends on the blocks, not on threads
            runner(block, lambda steps: None)
        raise


class _CompiledRounds:
    """Runs all rounds of a block of replicates, many in one compiled call where the weights are known beforehand."""

    def __init__(self, experiment: Experiment, engine: Sampled, grid: TimeGrid, recorded: Indices) -> None:
        self.experiment, self.engine, self.grid, self.recorded = experiment, engine, grid, recorded
        self.limit = divergence_limit(experiment, grid)
        self.together = ROUNDS if experiment.rule.returns_p else 1

    def __call__(self, replicates: range, tick: Callable[[int], None]) -> tuple[Array, Array]:
        """(distance_sq, gap) of the replicates at the recorded rounds, each (R, K)."""
        from fedbounds.engine.kernels.minibatch_steps import rounds, rounds_of_all

        experiment, tau = self.experiment, self.experiment.tau
        if experiment.everyone_present:
            keys = rng.client_keys(experiment.seed, replicates, experiment.problem.N)
        else:
            keys = rng.replicate_keys(experiment.seed, replicates, rng.LOCAL_STEP)
        W = np.tile(experiment.start, (len(replicates), 1))
        parts = [measured(W[None], experiment, self.engine)]
        for first in range(0, len(self.grid.rounds), self.together):
            times = range(first, min(first + self.together, len(self.grid.rounds)))
            who, alpha = map(np.stack, zip(*(self._weights(r, W, replicates) for r in times), strict=True))
            etas = self.grid.eta[first * tau : times.stop * tau].reshape(-1, tau)
            arguments = *self.engine.step_arrays, etas, first * tau, keys, experiment.batch_size, self.engine.width
            if experiment.everyone_present:
                ends = rounds_of_all(*arguments, alpha, W)
            else:
                ends = rounds(*arguments, who, alpha, W)
            with np.errstate(over="ignore", invalid="ignore"):
                distance = distance_sq(ends, experiment)
            steps = [self.grid.rounds[r][1] - 1 for r in times]
            check_distances(experiment, self.grid.eta, steps, replicates, distance, self.limit)
            wanted = self.recorded[(self.recorded > first) & (self.recorded <= times.stop)] - first - 1
            if len(wanted):
                parts.append(measured(ends[wanted], experiment, self.engine))
            tick(len(times) * tau)
        distances, gaps = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
        return distances, gaps

    def _weights(self, r: int, W: Array, replicates: range) -> tuple[Indices, Array]:
        """Who takes part in round r, and their alpha, each (R, count)."""
        experiment, problem = self.experiment, self.experiment.problem
        if experiment.rule.returns_p:
            return chosen_weights(experiment, replicates, r)
        # Losses of clients cost a pass over all data, so only a weighting that looks at them has them computed.
        excess = np.zeros((len(W), problem.N))
        if experiment.rule.depends_on_w:
            excess = self.engine.excess(W)
        who = chosen(experiment, replicates, r)
        return who, np.take_along_axis(round_weights(experiment, replicates, r, excess)[1], who, axis=-1)
