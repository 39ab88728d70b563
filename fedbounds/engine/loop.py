"""Algorithm 1 over replicates: rounds of local SGD, with everything the claims need measured on the way.

Per local step t: the local models x_i (R, N, d), their exact conditional moments, the virtual iterate
w_t = sum_i alpha_i x_i (and sum_i p_i x_i inside a round), its drift, its skew sums and the exact
expectation of its next squared distance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbounds.engine import streams
from fedbounds.engine.plan import Plan, make_plan
from fedbounds.engine.primitives import Primitives
from fedbounds.engine.record import BlockRecorder, allocate
from fedbounds.engine.streamed import StreamedRecord, allocate_streamed, wants_streaming
from fedbounds.engine.threads import Progress, default_threads, in_threads
from fedbounds.errors import DivergedError, reject
from fedbounds.model.experiment import Experiment, Statistics
from fedbounds.model.problem import Array
from fedbounds.model.trajectory import Trajectory
from fedbounds.model.weighting import check_simplex

# A squared distance this many times the run's natural scale comes from an unstable step, never from noise.
DIVERGENCE_FACTOR = 1e12
# What a weighting sees as the excess of an absent client: below every true excess (which is >= 0), yet
# finite, so that no maximum picks it and no arithmetic on it yields nan.
ABSENT_EXCESS = -1.0


def run(
    experiment: Experiment,
    progress: Progress | None = None,
    threads: int | None = None,
    statistics: Statistics = "stored",
) -> Trajectory:
    """Run an experiment and return its record.

    Blocks of replicates run side by side on ``threads`` threads (all of this process's processors unless
    given; the result is the same bit for bit), so a weighting is called from several threads.
    ``progress(done, total)`` is called after every round with local steps done and to do, summed over
    blocks. ``statistics`` as in `simulate`. Raises DivergedError at the first step whose iterates leave the
    finite numbers.
    """
    plan, engine = make_plan(experiment), choose_engine(experiment)
    virtuals = ("alpha",) if weights_are_p(experiment) else ("alpha", "p")
    streamed = wants_streaming(experiment, plan, virtuals, statistics)
    record = allocate_streamed(experiment, plan, virtuals) if streamed else allocate(experiment, plan, virtuals)
    limit = divergence_limit(experiment, plan)
    blocks = engine.blocks(experiment.replicates)
    workers = default_threads() if threads is None else threads
    if isinstance(record, StreamedRecord):
        workers = min(workers, record.most_threads)

    def task(replicates: range, tick: Callable[[int], None]) -> BlockRecorder:
        block = _Block(experiment, plan, engine, replicates, record.recorder(replicates), limit)
        with np.errstate(over="ignore", invalid="ignore"):  # a run that overflows is reported as diverged
            _run_block(block, virtuals, tick)
        return block.recorder

    with engine.session():
        for recorder in in_threads(task, blocks, len(blocks) * plan.total, progress, workers):
            record.absorb(recorder)
            del recorder  # or it would live while the next one is awaited
    return record.finish(engine.name)


def choose_engine(experiment: Experiment) -> Primitives:
    """The compiled engine where the problem has kernels and it is not refused, else the reference."""
    from fedbounds.engine.reference import Reference

    if experiment.engine not in ("auto", "kernels", "reference"):
        raise reject("engine must be auto, kernels or reference", experiment.engine, "use auto")
    has_kernel = experiment.problem.kernel_data() is not None
    if experiment.engine == "kernels" and not has_kernel:
        kind = type(experiment.problem).__name__
        raise reject("engine kernels needs a problem with kernel_data()", kind, "use engine auto or reference")
    if experiment.engine == "reference" or not has_kernel:
        return Reference(experiment)
    from fedbounds.engine.kernels.session import compiled_engine

    return compiled_engine(experiment)


@dataclass(frozen=True)
class _Block:
    """Replicates that run together, and what they need."""

    experiment: Experiment
    plan: Plan
    engine: Primitives
    replicates: range
    recorder: BlockRecorder
    limit: float


def _run_block(block: _Block, virtuals: tuple[str, ...], tick: Callable[[int], None]) -> None:
    """All rounds of one block; calls tick(steps) after each round."""
    experiment, plan, engine = block.experiment, block.plan, block.engine
    W = np.tile(experiment.start, (len(block.replicates), 1))
    paths = dict.fromkeys(virtuals, W)
    excess = engine.excess(W)
    for r, (begin, end) in enumerate(plan.rounds):
        p, alpha = round_weights(experiment, block.replicates, r, excess)
        block.recorder.weights(r, p, alpha)
        X = np.repeat(paths["alpha"][:, None, :], experiment.problem.N, axis=1)
        aggregated = end < plan.total or plan.aggregated
        for t in range(begin, end):
            aggregating = aggregated and t + 1 == end
            block.recorder.skew(t, p, alpha, excess, synchronised=t == begin)
            X, paths = _step(block, t, X, paths, p, alpha, aggregating)
            excess = engine.excess(paths["alpha"])
        tick(end - begin)
    if plan.aggregated:
        X = np.repeat(paths["alpha"][:, None, :], experiment.problem.N, axis=1)
        p, alpha = round_weights(experiment, block.replicates, len(plan.rounds), excess)
    moments = engine.moments(X)
    block.recorder.moments(plan.total, moments)
    block.recorder.skew(plan.total, p, alpha, excess, synchronised=plan.aggregated)
    for name, w in paths.items():
        distance = _distance_sq(w, experiment)
        drift, _ = engine.virtual(X, w, alpha, moments, alpha, 0.0)
        block.recorder.path(name, plan.total, distance_sq=distance, gap=engine.gap(w), drift=drift)


def _step(
    block: _Block, t: int, X: Array, paths: dict[str, Array], p: Array, alpha: Array, aggregating: bool
) -> tuple[Array, dict[str, Array]]:
    """One local step: measures at time t, then the local models and virtual iterates at t + 1.

    The p-weighted virtual iterate is sum_i p_i x_i inside a round; an aggregation makes it, like
    everything else, the alpha-weighted aggregate.
    """
    engine, eta = block.engine, float(block.plan.eta[t])
    moments = engine.moments(X)
    block.recorder.moments(t, moments)
    following = engine.step(X, eta, t, block.replicates, moments.grads)
    weights = {name: p if name == "p" and not aggregating else alpha for name in paths}
    after = {"alpha": engine.combine(following, alpha)}
    if "p" in paths:
        after["p"] = after["alpha"] if aggregating else engine.combine(following, p)
    _check_finite(block, t, after["alpha"])
    if block.plan.slot[t] >= 0:
        for name, w in paths.items():
            drift, next_mean = engine.virtual(X, w, alpha, moments, weights[name], eta)
            block.recorder.path(
                name,
                t,
                distance_sq=_distance_sq(w, block.experiment),
                gap=engine.gap(w),
                drift=drift,
                next_distance_sq=_distance_sq(after[name], block.experiment),
                next_mean=next_mean,
            )
    return following, after


def round_weights(experiment: Experiment, replicates: range, r: int, excess: Array) -> tuple[Array, Array]:
    """p and alpha of round r, each (R, N).

    With participation C < 1 a uniform subset of max(round(C N), 1) clients is present. p is renormalised
    over them and 0 for the others; the weighting sees that p, and ABSENT_EXCESS for the others; what it
    still gives to absent clients is taken away and the row renormalised (p itself if nothing is left).
    """
    problem, weighting = experiment.problem, experiment.rule
    stream = streams.HashedRound(experiment.seed, replicates, r)
    p = np.broadcast_to(problem.p, excess.shape)
    if experiment.participation == 1:
        alpha = weighting(p, excess, r, stream)
        return p, check_simplex(alpha, excess.shape, weighting.name)
    count = max(round(experiment.participation * problem.N), 1)
    present = streams.present_clients(experiment.seed, replicates, r, problem.N, count)
    p = _restrict(p, present, present / count)
    alpha = weighting(p, np.where(present, excess, ABSENT_EXCESS), r, stream)
    return p, _restrict(check_simplex(alpha, excess.shape, weighting.name), present, p)


def _restrict(weights: Array, present: NDArray[np.bool_], otherwise: Array) -> Array:
    """``weights`` set to 0 for the absent and renormalised; ``otherwise`` in rows where nothing is left."""
    kept = np.where(present, weights, 0.0)
    total = kept.sum(-1, keepdims=True)
    return np.where(total > 0, kept / np.where(total > 0, total, 1.0), otherwise)


def weights_are_p(experiment: Experiment) -> bool:
    """Whether alpha is p in every round, so that both virtual iterates are one."""
    if experiment.rule.depends_on_w:
        return False
    p = experiment.problem.p[None, :]
    stream = streams.HashedRound(experiment.seed, range(1), 0)
    return np.array_equal(experiment.rule(p, np.zeros(p.shape), 0, stream), p)


def _distance_sq(W: Array, experiment: Experiment) -> Array:
    """||w - w*||^2: (R, d) -> (R,)."""
    difference = W - experiment.problem.w_star
    return (difference * difference).sum(-1)


def divergence_limit(experiment: Experiment, plan: Plan) -> float:
    """The squared distance from w* that no stable run reaches: DIVERGENCE_FACTOR times its natural scale.

    The scale counts the start, the clients' minimisers and one stable step's noise, so that a run that starts
    at w* has one too.
    """
    problem = experiment.problem
    noise = problem.client_variance(problem.w_star[None, :], experiment.batch_size, experiment.replacement)
    scale = (
        float(_distance_sq(experiment.start[None, :], experiment)[0])
        + float(_distance_sq(problem.w_i_star, experiment).max())
        + min(float(plan.eta.max()), 2 / problem.L) ** 2 * float(np.max(noise))
    )
    return DIVERGENCE_FACTOR * scale if scale > 0 else float("inf")


def _check_finite(block: _Block, t: int, W: Array) -> None:
    """Raise DivergedError if a wanted replicate's next iterate is not finite or beyond the limit."""
    distance = _distance_sq(W, block.experiment)[: block.experiment.replicates - block.replicates.start]
    bad = np.flatnonzero(~(distance <= block.limit))
    if not bad.size:
        return
    who = f"replicate {block.replicates[int(bad[0])]}"
    raise divergence_error(block.experiment, float(block.plan.eta[t]), t, who, float(distance[bad[0]]))


def divergence_error(experiment: Experiment, eta: float, t: int, who: str, distance: float) -> DivergedError:
    """The error of a run whose squared distance left the limit in step t of size ``eta``, with its likely cause."""
    stable = 2 / experiment.problem.L
    if eta > stable:
        cause = f"eta_t = {eta:.4g} exceeds 2/L = {stable:.4g}, beyond which gradient steps grow: use a smaller step"
    else:
        cause = f"eta_t = {eta:.4g} is within 2/L = {stable:.4g}, so check the constant L and the data's scale"
    return DivergedError(f"The run diverged at step {t} ({who}): ||w - w*||^2 = {distance:.3g}; {cause}.")
