"""Algorithm 1 over replicates: rounds of local SGD, with everything the claims need measured on the way.

Per local step t: the local models x_i (R, N, d), their exact conditional moments, the virtual iterate
w_t = sum_i alpha_i x_i (and sum_i p_i x_i inside a round), its drift, its skew sums and the exact
expectation of its next squared distance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fedbounds.engine.backend import Backend, Moments
from fedbounds.engine.divergence import check_distances, distance_sq, divergence_limit
from fedbounds.engine.memory import SPAN
from fedbounds.engine.participation import round_weights
from fedbounds.engine.record import Recorder, allocate
from fedbounds.engine.streaming import wants_streaming
from fedbounds.engine.threads import default_threads, in_threads
from fedbounds.engine.time_grid import TimeGrid, make_time_grid
from fedbounds.errors import reject
from fedbounds.model.experiment import Experiment, Statistics
from fedbounds.model.problem import Array, kernel_arrays
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

    Blocks of replicates run side by side on ``threads`` threads (all of this process's processors unless
    given; the result is the same bit for bit), so a weighting is called from several threads.
    ``progress(done, total)`` is called after every round with local steps done and to do, summed over
    blocks. ``statistics`` as in `simulate`; ``iterates`` records w_t too. Raises DivergedError at the first step
    whose iterates leave the finite numbers.
    """
    grid, engine = make_time_grid(experiment), choose_engine(experiment)
    virtuals = ("alpha",) if experiment.rule.returns_p else ("alpha", "p")
    streamed = wants_streaming(experiment, grid, virtuals, statistics)
    record = allocate(experiment, grid, virtuals, streamed, iterates)
    limit = divergence_limit(experiment, grid)
    blocks = engine.blocks(experiment.replicates)
    workers = default_threads() if threads is None else threads
    if record.tally is not None:
        workers = min(workers, record.tally.most_threads(record.moment_sums.nbytes))

    def task(replicates: range, tick: Callable[[int], None]) -> Recorder:
        block = _Block(experiment, grid, engine, replicates, Recorder(record, replicates), limit)
        with np.errstate(over="ignore", invalid="ignore"):  # a run that overflows is reported as diverged
            _run_block(block, virtuals, tick)
        return block.recorder

    with engine.session():
        for recorder in in_threads(task, blocks, len(blocks) * grid.total, progress, workers):
            record.absorb(recorder)
            del recorder  # or it would live while the next one is awaited
    return record.finish(engine.name)


def choose_engine(experiment: Experiment) -> Backend:
    """The compiled engine where the problem has kernels and it is not refused, else the reference."""
    from fedbounds.engine.numpy_engine import NumpyEngine

    if experiment.engine not in ("auto", "kernels", "reference"):
        raise reject("engine must be auto, kernels or reference", experiment.engine, "use auto")
    has_kernel = kernel_arrays(experiment.problem) is not None
    if experiment.engine == "kernels" and not has_kernel:
        kind = type(experiment.problem).__name__
        raise reject("engine kernels needs a problem whose own class gives kernel_data()", kind, "use engine auto")
    if experiment.engine == "reference" or not has_kernel:
        return NumpyEngine(experiment)
    from fedbounds.engine.kernels.select import compiled_engine

    return compiled_engine(experiment)


@dataclass(frozen=True)
class _Block:
    """Replicates that run together, and what they need."""

    experiment: Experiment
    grid: TimeGrid
    engine: Backend
    replicates: range
    recorder: Recorder
    limit: float

    @property
    def kept(self) -> int:
        """How many of its replicates are wanted."""
        return self.experiment.replicates - self.replicates.start

    def levels(self, W: Array) -> tuple[Array, Array]:
        """e_i(w) (n, R, N) and F(w) - F* (n, R) of models (n, R, d)."""
        excess, gap = self.engine.levels(W.reshape(-1, W.shape[-1]))
        return excess.reshape(*W.shape[:2], -1), gap.reshape(W.shape[:2])

    def moments(self, X: Array) -> Moments:
        """Exact local quantities at local models (n, R, N, d)."""
        rows = self.engine.moments(X.reshape(-1, *X.shape[2:]))
        return Moments(*(values.reshape(*X.shape[:2], *values.shape[1:]) for values in rows))

    def combine(self, X: Array, weights: Array) -> Array:
        """sum_i weights_i x_i: (n, R, N, d), (R, N) -> (n, R, d)."""
        rows = self.engine.combine(X.reshape(-1, *X.shape[2:]), np.tile(weights, (len(X), 1)))
        return rows.reshape(*X.shape[:2], -1)


@dataclass(frozen=True)
class _State:
    """Where a block is: virtual iterates w (R, d) by name, and for the alpha-weighted one e_i(w) (R, N) and F(w) - F*
    (R,)."""

    paths: dict[str, Array]
    excess: Array
    gap: Array


@dataclass(frozen=True)
class _Piece:
    """Local steps ``times`` of one round with weights p and alpha (R, N), taken and not yet measured.

    ``after`` (n, R, d) by name are the virtual iterates after each step; ``opens`` and ``closes`` tell whether the
    first step opens the round and whether an aggregation follows the last; ``moments`` and ``levels`` of ``after``
    where the steps, or the next weights, needed them.
    """

    times: range
    p: Array
    alpha: Array
    after: dict[str, Array]
    opens: bool
    closes: bool
    moments: Moments | None
    levels: tuple[Array, Array] | None


def _run_block(block: _Block, virtuals: tuple[str, ...], tick: Callable[[int], None]) -> None:
    """All rounds of one block; calls tick(steps) after each round.

    Steps of several rounds are taken, then measured together: a call of numpy costs as much as a small step.
    """
    experiment, grid = block.experiment, block.grid
    R, N, d = len(block.replicates), experiment.problem.N, experiment.problem.d
    W = np.tile(experiment.start, (R, 1))
    state = _State(dict.fromkeys(virtuals, W), *(values[0] for values in block.levels(W[None])))
    excess, pieces, room = state.excess, list[_Piece](), min(max(SPAN // (R * N * d), 1), grid.total)
    models = np.empty((room + 1, R, N, d))
    fixed = experiment.everyone_present and experiment.rule.returns_p
    for r, (begin, end) in enumerate(grid.rounds):
        if r == 0 or not fixed:
            p, alpha = round_weights(experiment, block.replicates, r, excess)
        block.recorder.weights(r, p, alpha)
        aggregates = end < grid.total or grid.aggregated
        for t in range(begin, end, room):
            times = range(t, min(t + room, end))
            taken = sum(len(piece.times) for piece in pieces)
            if taken + len(times) > room:
                state = _measure(block, state, pieces, models)
                models[0], taken, pieces = models[taken], 0, []
            if t == begin:
                models[taken] = W[:, None]
            ends = t == begin, aggregates and times.stop == end
            pieces.append(_take(block, models[taken:], times, virtuals, p, alpha, ends))
            W, levels = pieces[-1].after["alpha"][-1], pieces[-1].levels
            excess = state.excess if levels is None else levels[0][-1]
            if not (distance_sq(W[: block.kept], experiment) <= block.limit).all():
                _measure(block, state, pieces, models)  # which says where it diverged
        tick(end - begin)
    state = _measure(block, state, pieces, models)
    X = models[sum(len(piece.times) for piece in pieces)]
    if grid.aggregated:
        X[:] = W[:, None]
        p, alpha = round_weights(experiment, block.replicates, len(grid.rounds), state.excess)
    _finish(block, X, state, p, alpha)


def _take(
    block: _Block,
    models: Array,
    times: range,
    virtuals: tuple[str, ...],
    p: Array,
    alpha: Array,
    ends: tuple[bool, bool],
) -> _Piece:
    """Local steps of one round from models[0], one after another into ``models``; ``ends``: it opens, it closes.

    The p-weighted virtual iterate is sum_i p_i x_i inside a round; an aggregation makes it, like
    everything else, the alpha-weighted aggregate.
    """
    n, etas = len(times), block.grid.eta[times.start : times.stop]
    moments = block.engine.walk(models[: n + 1], etas, times.start, block.replicates)
    after = {name: block.combine(models[1 : n + 1], p if name == "p" else alpha) for name in virtuals}
    if ends[1] and "p" in after:
        after["p"][-1] = after["alpha"][-1]
    levels = block.levels(after["alpha"]) if block.experiment.rule.depends_on_w else None
    return _Piece(times, p, alpha, after, *ends, moments, levels)


def _measure(block: _Block, state: _State, pieces: Sequence[_Piece], models: Array) -> _State:
    """Record everything at the times before the steps of ``pieces``; where they lead from ``state``."""
    begin, end, sizes = pieces[0].times.start, pieces[-1].times.stop, [len(piece.times) for piece in pieces]
    X, recorder, first = models[: end - begin], block.recorder, np.cumsum([0, *sizes[:-1]])
    p, alpha = (np.repeat(np.stack([getattr(piece, n) for piece in pieces]), sizes, axis=0) for n in ("p", "alpha"))
    after = {name: np.concatenate([piece.after[name] for piece in pieces]) for name in state.paths}
    weights = {"alpha": alpha}
    if "p" in after:
        closed = [at + size - 1 for at, size, piece in zip(first, sizes, pieces, strict=True) if piece.closes]
        weights["p"] = p.copy()
        weights["p"][closed] = alpha[closed]
    distances = {name: distance_sq(w, block.experiment) for name, w in after.items()}
    wanted = distances["alpha"][:, : block.kept]
    check_distances(block.experiment, block.grid.eta, range(begin, end), block.replicates, wanted, block.limit)
    known = [piece.levels for piece in pieces if piece.levels is not None]
    excess, gap = map(np.concatenate, zip(*known, strict=True)) if known else block.levels(after["alpha"])
    excess, gap = np.concatenate([state.excess[None], excess]), np.concatenate([state.gap[None], gap])
    recorder.skew(begin, p, alpha, excess[:-1], [at for at, piece in zip(first, pieces, strict=True) if piece.opens])
    own = [piece.moments for piece in pieces if piece.moments is not None]
    moments = Moments(*map(np.concatenate, zip(*own, strict=True))) if own else block.moments(X)
    recorder.moments(begin, moments)
    kept, slots = recorder.kept(begin, end - begin)
    if slots.stop > slots.start:
        _record_paths(block, begin, kept, X, moments, state, after, weights, gap, distances)
    return _State({name: w[-1] for name, w in after.items()}, excess[-1], gap[-1])


def _record_paths(
    block: _Block,
    begin: int,
    kept: slice,
    X: Array,
    moments: Moments,
    state: _State,
    after: dict[str, Array],
    weights: dict[str, Array],
    gap: Array,
    distances: dict[str, Array],
) -> None:
    """The fields of every virtual iterate at those of the steps begin, begin + 1, ... that are kept."""
    R, etas = len(block.replicates), block.grid.eta[begin : begin + len(X)][kept]
    size = len(etas)

    def rows(values: Array) -> Array:
        return values[kept].reshape(size * R, *values.shape[2:])

    eta, X, local = np.repeat(etas, R), rows(X), Moments(*map(rows, moments))
    for name, w in state.paths.items():
        before = rows(np.concatenate([w[None], after[name][:-1]]))
        if name == "alpha":
            block.recorder.iterates(begin, before.reshape(size, R, -1))
        drift, next_mean = block.engine.virtual(X, before, rows(weights["alpha"]), local, rows(weights[name]), eta)
        values = {
            "distance_sq": distance_sq(before, block.experiment),
            "gap": rows(gap[:-1]) if name == "alpha" else block.engine.gap(before),
            "drift": drift,
            "next_distance_sq": rows(distances[name]),
            "next_mean": next_mean,
        }
        block.recorder.path(name, begin, {field: value.reshape(size, R) for field, value in values.items()})


def _finish(block: _Block, X: Array, state: _State, p: Array, alpha: Array) -> None:
    """What is recorded at time T, from where no step is taken."""
    engine, recorder, total = block.engine, block.recorder, block.grid.total
    moments = engine.moments(X)
    recorder.moments(total, Moments(*(values[None] for values in moments)))
    recorder.skew(total, p, alpha, state.excess[None], [])
    recorder.iterates(total, state.paths["alpha"][None])
    for name, w in state.paths.items():
        drift, _ = engine.virtual(X, w, alpha, moments, alpha, 0.0)
        gap = state.gap if name == "alpha" else engine.gap(w)
        values = {"distance_sq": distance_sq(w, block.experiment), "gap": gap, "drift": drift}
        recorder.path(name, total, {field: value[None] for field, value in values.items()})
