"""Runs that record only ||w - w*||^2 and F(w) - F* at the ends of rounds: the engine at full speed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from fedbounds.engine import rng
from fedbounds.engine.divergence import check_distances, distance_sq, divergence_limit
from fedbounds.engine.loop import choose_engine, run
from fedbounds.engine.memory import require_run
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


def run_light(experiment: Experiment, progress: Progress | None = None, threads: int | None = None) -> Distances:
    """Run an experiment and keep distance and gap at every ceil(stride / tau)-th aggregation and at T.

    The streams are those of ``run``, whose record it equals up to rounding, and the bits depend on neither
    threads nor replicates. Minibatches of least squares and of logistic regression are stepped through with nothing
    measured on the way; everything else goes through ``run``. Raises DivergedError with the last step of the round
    that diverged.
    """
    from fedbounds.engine.kernels.backends import Sampled

    grid, engine = make_time_grid(experiment), choose_engine(experiment)
    every = -(-experiment.stride // experiment.tau)
    ends = np.array([0, *(end for _, end in grid.rounds)], dtype=np.int64)
    kept = np.unique(np.append(np.arange(0, len(ends), every), len(ends) - 1))
    if not isinstance(engine, Sampled) or experiment.batch_size is None or experiment.aggregation != "algorithm-1":
        recorded = experiment.with_(stride=experiment.tau * every)
        require_run(recorded, "stored")
        full = run(recorded, progress, threads)
        path = full.paths["alpha"]
        return Distances(experiment, full.times, path.distance_sq, path.gap, full.engine)
    runner = _Rounds(experiment, engine, grid, kept)
    workers = default_threads() if threads is None else threads
    blocks = blocks_of(experiment.replicates, min(TOGETHER, -(-experiment.replicates // max(workers, 1))))
    try:
        parts = list(in_threads(runner, blocks, len(blocks) * grid.total, progress, threads))
    except DivergedError:
        for block in blocks_of(experiment.replicates, TOGETHER):  # what is said depends on the blocks, not on threads
            runner(block, lambda steps: None)
        raise
    distances, gaps = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Distances(experiment, ends[kept], distances, gaps, engine.name)


class _Rounds:
    """Runs all rounds of a block of replicates on the compiled fast path."""

    def __init__(self, experiment: Experiment, engine: Sampled, grid: TimeGrid, kept: Indices) -> None:
        self.experiment, self.engine, self.grid, self.kept = experiment, engine, grid, kept
        self.limit = divergence_limit(experiment, grid)
        # Weights that are known before the models: then many rounds run in one call.
        self.known = experiment.rule.returns_p
        self.width = engine.width if engine.walks else experiment.problem.d
        self.together = ROUNDS if self.known else 1

    def __call__(self, replicates: range, tick: Callable[[int], None]) -> tuple[Array, Array]:
        """(distance_sq, gap) of the replicates at the kept rounds, each (R, K)."""
        d, rounds = self.experiment.problem.d, len(self.grid.rounds)
        W = np.zeros((len(replicates), self.width))
        W[:, :d] = self.experiment.start
        seed, everyone = self.experiment.seed, self.experiment.everyone_present
        keys = rng.replicate_keys(seed, replicates, rng.LOCAL_STEP)
        keys = rng.client_keys(seed, replicates, self.experiment.problem.N) if everyone else keys
        records = [self._measure(W[None, :, :d])]
        for first in range(0, rounds, self.together):
            last = min(first + self.together, rounds)
            ends = self._advance(first, last, W, keys, replicates)[:, :, :d]
            with np.errstate(over="ignore", invalid="ignore"):
                distance = distance_sq(ends, self.experiment)
            steps = [end - 1 for _, end in self.grid.rounds[first:last]]
            check_distances(self.experiment, self.grid.eta, steps, replicates, distance, self.limit)
            wanted = self.kept[(self.kept > first) & (self.kept <= last)] - first - 1
            if len(wanted):
                records.append(self._measure(ends[wanted]))
            tick((last - first) * self.experiment.tau)
        distances, gaps = (np.concatenate(part, axis=1) for part in zip(*records, strict=True))
        return distances, gaps

    def _advance(self, first: int, last: int, W: Array, keys: rng.Words, replicates: range) -> Array:
        """Rounds first ... last - 1 from W, in place; the models at their ends (rounds, R, width)."""
        from fedbounds.engine.kernels.backends import own
        from fedbounds.engine.kernels.minibatch_steps import present_rounds, rounds

        experiment, tau = self.experiment, self.experiment.tau
        etas = self.grid.eta[first * tau : last * tau].reshape(-1, tau)
        if not self.engine.walks:
            return np.stack([self._round(r, etas[r - first], W, replicates) for r in range(first, last)])
        known = *self.engine.step_arrays, etas, first * tau, keys, experiment.batch_size
        if experiment.everyone_present:
            return rounds(*known, own(self._weights(first, W, replicates)), W)
        if self.known:
            drawn = [chosen_weights(experiment, replicates, r) for r in range(first, last)]
            who, alpha = map(np.stack, zip(*drawn, strict=True))
        else:
            who = chosen(experiment, replicates, first)[None]
            alpha = np.take_along_axis(self._weights(first, W, replicates)[None], who, axis=-1)
        return present_rounds(*known, who, alpha, W)

    def _round(self, r: int, etas: Array, W: Array, replicates: range) -> Array:
        """Round r of every client from W, in place; a copy of the models at its end."""
        weights = self._weights(r, W, replicates)
        models = np.empty((2, len(W), self.experiment.problem.N, W.shape[1]))
        models[0] = W[:, None]
        for t, eta in enumerate(etas, r * self.experiment.tau):
            self.engine.walk(models, eta[None], t, replicates)
            models[0] = models[1]
        W[:] = self.engine.combine(models[1], weights)
        return W.copy()

    def _weights(self, r: int, W: Array, replicates: range) -> Array:
        """alpha of round r (R, N)."""
        experiment, problem = self.experiment, self.experiment.problem
        if self.known and experiment.everyone_present:
            return np.tile(problem.p, (len(W), 1))
        # Losses of clients cost a pass over all data, so only a weighting that looks at them has them computed.
        excess = np.zeros((len(W), problem.N))
        if experiment.rule.depends_on_w:
            excess = self.engine.excess(np.ascontiguousarray(W[:, : problem.d]))
        return round_weights(experiment, replicates, r, excess)[1]

    def _measure(self, models: Array) -> tuple[Array, Array]:
        """(distance_sq, gap) of models (K, R, d), each (R, K)."""
        K, R, d = models.shape
        gap = self.engine.gap(np.ascontiguousarray(models).reshape(K * R, d))
        return distance_sq(models, self.experiment).T, gap.reshape(K, R).T
