"""Algorithm 1 over replicates: one loop over rounds and local steps, and observers that measure what it passes.

Blocks of replicates run side by side on threads. Steps of several rounds are taken, then observed together, as a call
of numpy costs as much as a small step. `fedbounds.engine.reference` shows the same algorithm in plain form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np

from fedbounds.engine.memory import SPAN
from fedbounds.engine.numpy_engine import Moments, NumpyEngine, round_weights
from fedbounds.engine.parallel import default_threads, in_threads
from fedbounds.engine.record import TimeGrid, check_distances, distance_sq, divergence_limit, make_time_grid
from fedbounds.errors import reject
from fedbounds.model import Progress
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array, KernelArrays, Problem


@dataclass
class Span:
    """Local steps begin, begin + 1, ... of a block, taken and then observed together; arrays hold ``room`` of them.

    Of ``count`` steps: ``models`` (count + 1, R, N, d) before each step and after the last, the virtual iterates
    ``paths`` (count + 1, R, d) by name, ``excess`` (count + 1, R, N) and ``gap`` (count + 1, R) at the alpha-weighted
    one, ``p`` and ``alpha`` (count, R, N), and ``moments`` at the local models where the steps needed them. ``opens``
    are the steps that begin a round, and ``aggregates`` those that an aggregation follows.
    """

    models: Array
    paths: dict[str, Array]
    excess: Array
    gap: Array
    p: Array
    alpha: Array
    begin: int = 0
    count: int = 0
    opens: list[int] = field(default_factory=list)
    aggregates: list[int] = field(default_factory=list)
    moments: list[Moments] = field(default_factory=list)

    @classmethod
    def empty(cls, capacity: int, R: int, N: int, d: int, virtuals: tuple[str, ...]) -> Span:
        paths = {name: np.empty((capacity + 1, R, d)) for name in virtuals}
        levels = np.empty((capacity + 1, R, N)), np.empty((capacity + 1, R))
        return cls(
            np.empty((capacity + 1, R, N, d)), paths, *levels, np.empty((capacity, R, N)), np.empty((capacity, R, N))
        )

    def restart(self) -> None:
        """Begin again where the steps so far have led."""
        for array in (self.models, *self.paths.values(), self.excess, self.gap):
            array[0] = array[self.count]
        self.begin += self.count
        self.count, self.opens, self.aggregates, self.moments = 0, [], [], []


class Observer(Protocol):
    """What measures a block of replicates on the way; ``virtuals`` names the virtual iterates that it looks at.

    ``every_step``: whether it reads the excesses and gaps of every step, not only those of the steps it picks.
    """

    virtuals: tuple[str, ...]
    every_step: bool

    def weights(self, r: int, p: Array, alpha: Array) -> None:
        """The weights (R, N) of round r."""

    def steps(self, span: Span) -> None:
        """Steps that were taken."""

    def finish(self, span: Span, p: Array, alpha: Array) -> None:
        """Time T, at ``span.models[0]``, with the weights that the next round would have."""


O = TypeVar("O", bound=Observer)


def run_blocks(
    experiment: Experiment,
    engine: NumpyEngine,
    observer: Callable[[range], O],
    progress: Progress | None = None,
    threads: int | None = None,
) -> Iterator[O]:
    """Run an experiment and yield the observer of every block of replicates, in their order.

    Blocks run side by side on ``threads`` threads (all processors unless given; the bits are the same), so a
    weighting is called from several. ``progress(done, total)`` is called after every round. Raises DivergedError.
    """
    grid = make_time_grid(experiment)
    limit = divergence_limit(experiment, grid)
    blocks = engine.blocks(experiment.replicates)
    workers = default_threads() if threads is None else threads

    def task(replicates: range, tick: Callable[[int], None]) -> O:
        watching = observer(replicates)
        with np.errstate(over="ignore", invalid="ignore"):  # a run that overflows is reported as diverged
            _Block(experiment, grid, engine, replicates, watching, limit).run(tick)
        return watching

    with engine.session():
        yield from in_threads(task, blocks, len(blocks) * grid.total, progress, workers)


def kernel_arrays(problem: Problem) -> KernelArrays | None:
    """The arrays of compiled kernels, which serve exactly the class that declares them.

    A class that extends it may have changed any of the mathematics, so that it runs through its own methods. One from
    outside the package that gives arrays itself is refused by `fedbounds.engine.contracts.problem`.

    >>> type(kernel_arrays(problem)).__name__
    'QuadraticArrays'
    """
    return problem.kernel_data() if "kernel_data" in vars(type(problem)) else None


def choose_engine(experiment: Experiment) -> NumpyEngine:
    """The compiled engine where the problem has kernels and it is not refused, else the plain one."""
    data = kernel_arrays(experiment.problem)
    if experiment.engine == "kernels" and data is None:
        kind = type(experiment.problem).__name__
        raise reject("engine kernels needs a problem whose own class gives kernel_data()", kind, "use engine auto")
    if experiment.engine == "reference" or data is None:
        return NumpyEngine(experiment)
    from fedbounds.engine.kernels.select import compiled_engine

    return compiled_engine(experiment, data)


@dataclass(frozen=True)
class _Block:
    """Replicates that run together, and who observes them."""

    experiment: Experiment
    grid: TimeGrid
    engine: NumpyEngine
    replicates: range
    observer: Observer
    limit: float

    def run(self, tick: Callable[[int], None]) -> None:
        """All rounds; calls tick(steps) after each round."""
        experiment, grid, rule = self.experiment, self.grid, self.experiment.rule
        R, N, d = len(self.replicates), experiment.problem.N, experiment.problem.d
        capacity = min(max(SPAN // (R * N * d), 1), grid.total)
        span = Span.empty(capacity, R, N, d, self.observer.virtuals)
        for path in span.paths.values():
            path[0] = experiment.start
        self._measure_levels(span, 0, 1)
        fixed = experiment.everyone_present and rule.returns_p
        for r, (begin, end) in enumerate(grid.rounds):
            if r == 0 or not fixed:
                # Weights that do not depend on w take any excess: that of the steps so far is not measured yet.
                excess = span.excess[span.count if rule.depends_on_w else 0]
                p, alpha = round_weights(experiment, self.replicates, r, excess)
            self.observer.weights(r, p, alpha)
            for t in range(begin, end, capacity):
                times = range(t, min(t + capacity, end))
                if span.count + len(times) > capacity:
                    self._observe(span)
                self._take(span, times, p, alpha, (begin, end))
            tick(end - begin)
        self._observe(span)
        span.models[0] = span.paths["alpha"][0][:, None]
        p, alpha = round_weights(experiment, self.replicates, len(grid.rounds), span.excess[0])
        self.observer.finish(span, p, alpha)

    def _take(self, span: Span, times: range, p: Array, alpha: Array, round: tuple[int, int]) -> None:
        """Local steps ``times`` of the round of steps begin ... end - 1.

        The p-weighted virtual iterate is sum_i p_i x_i inside a round; an aggregation makes it, like everything else,
        the alpha-weighted aggregate.
        """
        k, n, (begin, end) = span.count, len(times), round
        last = k + n
        if times.start == begin:
            span.models[k] = span.paths["alpha"][k][:, None]
            span.opens.append(k)
        moments = self.engine.walk(
            span.models[k : last + 1], self.grid.eta[times.start : times.stop], times.start, self.replicates
        )
        if moments is not None:
            span.moments.append(moments)
        span.p[k:last], span.alpha[k:last] = p, alpha
        for name, path in span.paths.items():
            path[k + 1 : last + 1] = self._combine(span.models[k + 1 : last + 1], p if name == "p" else alpha)
        if times.stop == end:
            span.aggregates.append(last - 1)
            for path in span.paths.values():
                path[last] = span.paths["alpha"][last]
        if self.experiment.rule.depends_on_w:
            self._measure_levels(span, k + 1, last + 1)
        span.count = last
        wanted = self.experiment.replicates - self.replicates.start
        if not (distance_sq(span.paths["alpha"][last, :wanted], self.experiment) <= self.limit).all():
            self._observe(span)  # which says where it diverged

    def _observe(self, span: Span) -> None:
        """Show the steps to the observer, and begin a new span after them."""
        wanted = self.experiment.replicates - self.replicates.start
        distance = distance_sq(span.paths["alpha"][1 : span.count + 1, :wanted], self.experiment)
        steps = range(span.begin, span.begin + span.count)
        check_distances(self.experiment, self.grid.eta, steps, self.replicates, distance, self.limit)
        if self.observer.every_step and not self.experiment.rule.depends_on_w:
            self._measure_levels(span, 1, span.count + 1)
        self.observer.steps(span)
        span.restart()

    def _measure_levels(self, span: Span, start: int, stop: int) -> None:
        """e_i(w) and F(w) - F* of the alpha-weighted virtual iterate."""
        W = span.paths["alpha"][start:stop]
        excess, gap = self.engine.levels(W.reshape(-1, W.shape[-1]))
        span.excess[start:stop] = excess.reshape(*W.shape[:2], -1)
        span.gap[start:stop] = gap.reshape(W.shape[:2])

    def _combine(self, X: Array, weights: Array) -> Array:
        """sum_i weights_i x_i: (n, R, N, d), (R, N) -> (n, R, d)."""
        rows = self.engine.combine(X.reshape(-1, *X.shape[2:]), np.tile(weights, (len(X), 1)))
        return rows.reshape(*X.shape[:2], -1)
