"""Run an experiment, and what is kept of it: the full record, or the distances at the ends of rounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from fedbounds.engine import rng
from fedbounds.engine.contracts.problem import admitted
from fedbounds.engine.loop import Span, choose_engine, run_blocks
from fedbounds.engine.memory import require_run
from fedbounds.engine.numpy_engine import Moments, NumpyEngine, chosen_weights, participating_clients, round_weights
from fedbounds.engine.parallel import blocks_of, default_threads, in_threads
from fedbounds.engine.record import (
    Record,
    Recorder,
    TimeGrid,
    check_distances,
    distance_sq,
    divergence_limit,
    make_time_grid,
)
from fedbounds.engine.replay import replay
from fedbounds.errors import DivergedError, of_kind, reject
from fedbounds.model import Progress
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array, Indices
from fedbounds.model.trajectory import Distances, Trajectory

if TYPE_CHECKING:
    from fedbounds.engine.kernels.compiled_engines import Sampled

# Replicates that run together: their models and batches lie in the first cache at ordinary dimensions.
TOGETHER = 32
# Rounds that run before the gaps at their ends are evaluated together, one pass over the data for all.
ROUNDS = 64


def run_endpoints(experiment: Experiment, progress: Progress | None = None, threads: int | None = None) -> Distances:
    """Run an experiment and keep distance and gap at every ceil(stride / tau)-th aggregation and at T.

    The random numbers are those of the full record, which it equals up to rounding. Minibatches of samples are
    stepped through with nothing measured on the way. Raises DivergedError.
    """
    from fedbounds.engine.kernels.compiled_engines import Sampled

    grid, engine = make_time_grid(experiment), choose_engine(experiment)
    every = experiment.tau * -(-experiment.stride // experiment.tau)
    times = np.unique(np.append(np.arange(0, grid.total, every), grid.total))
    sampled = experiment.batch_size is not None
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
            self._parts.append(distances_and_gaps(span.paths["alpha"][wanted], self._experiment, self._engine))

    def finish(self, span: Span, p: Array, alpha: Array) -> None:
        """Time T has been kept."""

    def result(self) -> tuple[Array, Array]:
        """(distance_sq, gap) at the times, each (R, K)."""
        distances, gaps = (np.concatenate(part, axis=1) for part in zip(*self._parts, strict=True))
        return distances, gaps


def distances_and_gaps(models: Array, experiment: Experiment, engine: NumpyEngine) -> tuple[Array, Array]:
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
        parts = [distances_and_gaps(W[None], experiment, self.engine)]
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
                parts.append(distances_and_gaps(ends[wanted], experiment, self.engine))
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
        who = participating_clients(experiment, replicates, r)
        return who, np.take_along_axis(round_weights(experiment, replicates, r, excess)[1], who, axis=-1)


def run_in_full(
    experiment: Experiment,
    progress: Progress | None = None,
    threads: int | None = None,
) -> Trajectory:
    """Run an experiment and return its record; ``progress`` and ``threads`` as in `loop.run_blocks`."""
    grid, engine = make_time_grid(experiment), choose_engine(experiment)
    virtuals = ("alpha",) if experiment.rule.returns_p else ("alpha", "p")
    record = Record(experiment, grid, virtuals)
    for _ in run_blocks(experiment, engine, lambda block: FullRecord(record, engine, block), progress, threads):
        pass
    return record.finish(engine.name)


class FullRecord(Recorder):
    """Measures every step of one block and writes it to the record."""

    every_step = True

    def __init__(self, record: Record, engine: NumpyEngine, replicates: range) -> None:
        super().__init__(record, replicates)
        self.virtuals, self._engine, self._experiment = tuple(record.paths), engine, record.experiment

    def steps(self, span: Span) -> None:
        begin, n = span.begin, span.count
        self.ratios_of_weights(begin, span.p[:n], span.alpha[:n], span.excess[:n], span.opens)
        moments = Moments(*map(np.concatenate, zip(*span.moments, strict=True))) if span.moments else None
        if moments is None:
            rows = self._engine.moments(span.models[:n].reshape(-1, *span.models.shape[2:]))
            moments = Moments(*(values.reshape(n, -1, *values.shape[1:]) for values in rows))
        self.moments(begin, moments)
        recorded, slots = self.recorded(begin, n)
        if slots.stop > slots.start:
            self._paths(span, recorded, moments)

    def _paths(self, span: Span, recorded: slice, moments: Moments) -> None:
        """The fields of every virtual iterate at those steps that are recorded."""
        n, R = span.count, span.models.shape[1]
        eta = self._record.grid.eta[span.begin : span.begin + n][recorded]

        def rows(values: Array) -> Array:
            return values[recorded].reshape(len(eta) * R, *values.shape[2:])

        X, local, alpha = rows(span.models[:n]), Moments(*map(rows, moments)), rows(span.alpha[:n])
        for name, path in span.paths.items():
            weights = span.alpha[:n]
            if name == "p":  # an aggregation weights everything by alpha
                weights = span.p[:n].copy()
                weights[span.aggregates] = span.alpha[span.aggregates]
            before = rows(path[:n])
            drift, next_mean = self._engine.virtual(X, before, alpha, local, rows(weights), np.repeat(eta, R))
            values = {
                "distance_sq": distance_sq(before, self._experiment),
                "gap": rows(self._gaps(span, name, recorded)),
                "drift": drift,
                "next_distance_sq": rows(distance_sq(path[1 : n + 1], self._experiment)),
                "next_mean": next_mean,
            }
            self.path(name, span.begin, {field: value.reshape(len(eta), R) for field, value in values.items()})

    def finish(self, span: Span, p: Array, alpha: Array) -> None:
        """Time T, from where no step is taken."""
        X, total = span.models[0], span.begin
        moments = self._engine.moments(X)
        self.moments(total, Moments(*(values[None] for values in moments)))
        self.ratios_of_weights(total, p, alpha, span.excess[:1], [])
        for name, path in span.paths.items():
            w = path[0]
            drift, _ = self._engine.virtual(X, w, alpha, moments, alpha, 0.0)
            values = {"distance_sq": distance_sq(w, self._experiment), "gap": span.gap[0], "drift": drift}
            self.path(name, total, {field: value[None] for field, value in values.items()})

    def _gaps(self, span: Span, name: str, recorded: slice) -> Array:
        """F(w) - F* of a virtual iterate before each recorded step; all of them agree where a round begins."""
        gaps = span.gap[: span.count]
        if name != "alpha":
            gaps = gaps.copy()
            apart = np.setdiff1d(np.arange(span.count)[recorded], span.opens)
            if len(apart):  # none where every step begins a round
                W = span.paths[name][apart]
                gaps[apart] = self._engine.gap(W.reshape(-1, W.shape[-1])).reshape(W.shape[:2])
        return gaps


@overload
def simulate(
    experiment: Experiment,
    progress: Progress | None = None,
    exact: bool = False,
    record: Literal["full", "iterates"] = "full",
) -> Trajectory: ...


@overload
def simulate(
    experiment: Experiment, progress: Progress | None = None, *, record: Literal["distance"]
) -> Distances: ...


def simulate(
    experiment: Experiment,
    progress: Progress | None = None,
    exact: bool = False,
    record: Literal["full", "distance", "iterates"] = "full",
) -> Trajectory | Distances:
    """Run the experiment; the same seed gives the same bits for any number of threads or replicates.

    ``progress(done, total)`` is called as local steps are taken. ``exact`` gives expectations in place of replicates,
    for constant Hessians and weights that do not depend on w. ``record``: ``full``; ``distance``, which keeps
    ||w - w*||^2 and F(w) - F* at the ends of rounds; ``iterates``, full with w_t, by a second run.

    >>> found = simulate(experiment, record="distance")
    >>> found.times.tolist(), found.gap.mean(axis=0).shape
    ([0, 2, 4, 6], (4,))

    A user's problem or weighting is tried first, once: InputError where it breaks its contract, and where the record
    cannot fit in memory.
    """
    of_kind("what is simulated", experiment, Experiment, "an Experiment")
    require_run(experiment.with_(replicates=1) if exact else experiment, record)
    admitted(experiment.problem, experiment.weighting)
    if record not in ("full", "distance", "iterates"):
        remedy = "use full, which every claim can be examined on"
        raise reject("record must be full, distance or iterates", repr(record), remedy)
    if exact and record != "full":
        raise reject("exact expectations have the full record", "exact=True", f'leave out record="{record}"')
    if record == "distance":
        return run_endpoints(experiment, progress)
    if exact:
        from fedbounds.engine.expectations import expectations

        return expectations(experiment, progress)
    trajectory = run_in_full(experiment, progress)
    if record == "iterates":
        trajectory = replace(trajectory, iterates=replay(experiment).w["alpha"][:, trajectory.times])
    return trajectory
