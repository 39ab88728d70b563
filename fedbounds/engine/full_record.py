"""The observer that records everything a claim may need, at every step.

Per local step t: the local models' exact conditional moments, the virtual iterate w_t = sum_i alpha_i x_i (and
sum_i p_i x_i inside a round), its drift, its skew sums and the exact expectation of its next squared distance.
"""

from __future__ import annotations

import numpy as np

from fedbounds.engine.divergence import distance_sq
from fedbounds.engine.loop import Span, choose_engine, run_blocks
from fedbounds.engine.memory import wants_streaming
from fedbounds.engine.numpy_engine import Moments, NumpyEngine
from fedbounds.engine.record import Record, Recorder
from fedbounds.engine.threads import default_threads
from fedbounds.engine.time_grid import make_time_grid
from fedbounds.model.experiment import Experiment, Statistics
from fedbounds.model.problem import Array
from fedbounds.model.protocol import Progress
from fedbounds.model.trajectory import Trajectory


def run(
    experiment: Experiment,
    progress: Progress | None = None,
    threads: int | None = None,
    statistics: Statistics = "stored",
    iterates: bool = False,
) -> Trajectory:
    """Run an experiment and return its record.

    ``progress`` and ``threads`` as in `fedbounds.engine.loop.run_blocks`; ``statistics`` as in `simulate`;
    ``iterates`` records w_t too.
    """
    grid, engine = make_time_grid(experiment), choose_engine(experiment)
    virtuals = ("alpha",) if experiment.rule.returns_p else ("alpha", "p")
    streamed = wants_streaming(experiment, statistics)
    record = Record(experiment, grid, virtuals, streamed, iterates)
    workers = default_threads() if threads is None else threads
    if record.statistics is not None:
        workers = min(workers, record.statistics.most_threads(record.moment_sums.nbytes))
    for observer in run_blocks(
        experiment, engine, lambda block: FullRecord(record, engine, block), progress, workers
    ):
        record.absorb(observer)
        del observer  # or it would live while the next one is awaited
    return record.finish(engine.name)


class FullRecord(Recorder):
    """Measures every step of one block and writes it to the record."""

    every_step = True

    def __init__(self, record: Record, engine: NumpyEngine, replicates: range) -> None:
        super().__init__(record, replicates)
        self.virtuals, self._engine, self._experiment = tuple(record.paths), engine, record.experiment

    def steps(self, span: Span) -> None:
        begin, n = span.begin, span.count
        self.skew(begin, span.p[:n], span.alpha[:n], span.excess[:n], span.opens)
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
            if name == "alpha":
                self.iterates(span.begin, before.reshape(len(eta), R, -1))
            drift, next_mean = self._engine.virtual(X, before, alpha, local, rows(weights), np.repeat(eta, R))
            values = {
                "distance_sq": distance_sq(before, self._experiment),
                "gap": rows(span.gap[:n]) if name == "alpha" else self._engine.gap(before),
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
        self.skew(total, p, alpha, span.excess[:1], [])
        self.iterates(total, span.paths["alpha"][:1])
        for name, path in span.paths.items():
            w = path[0]
            drift, _ = self._engine.virtual(X, w, alpha, moments, alpha, 0.0)
            gap = span.gap[0] if name == "alpha" else self._engine.gap(w)
            values = {"distance_sq": distance_sq(w, self._experiment), "gap": gap, "drift": drift}
            self.path(name, total, {field: value[None] for field, value in values.items()})
