"""Exact expectations of a run: no replicates, but recursions for the mean and covariance of every model.

They close for clients with constant Hessians H_i (quadratic and least-squares problems) and weights that do not
depend on w. Inside a round the local model of client i is x_i = P_i w + (terms without w), w the start of the
round and P_i the product of (I - eta H_i), so with S = Cov(w) and V_i the expected covariance of x_i given w

    Cov(x_i) = P_i S P_i^T + V_i,   Cov(x_i, x_j) = P_i S P_j^T,   S <- P S P^T + sum_i alpha_i^2 V_i

at the next aggregation, P = sum_i alpha_i P_i; V_i <- (I - eta H_i) V_i (I - eta H_i) + eta^2 E Cov(g_i | x_i), where
a minibatch's noise is quadratic in x_i and its expectation therefore linear in Cov(x_i) and the mean's square.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbounds.engine.loop import kernel_arrays
from fedbounds.engine.numpy_engine import Moments, round_weights
from fedbounds.engine.quadratic_clients import Clients, prepare
from fedbounds.engine.record import Record, Recorder, TimeGrid, check_distances, divergence_limit, make_time_grid
from fedbounds.errors import reject
from fedbounds.model import Progress
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array, LeastSquaresArrays, QuadraticArrays
from fedbounds.model.trajectory import Trajectory

ENGINE = "moments"


def not_applicable(experiment: Experiment) -> str | None:
    """None where the expectations of an experiment can be computed exactly, else the reason why not."""
    data = kernel_arrays(experiment.problem)
    if not isinstance(data, QuadraticArrays | LeastSquaresArrays):
        return f"the moments of {experiment.problem.kind} clients do not close: their Hessians must be constant"
    if experiment.rule.depends_on_w:
        return f"the weights of {experiment.rule.name} depend on w"
    if experiment.rule.random:
        return f"the weights of {experiment.rule.name} are random"
    if not experiment.everyone_present:
        return f"clients take part at random (C = {experiment.participation:g})"
    return None


def work(experiment: Experiment) -> float:
    """Rough number of multiplications that `expectations` needs; some 10^10 a second."""
    problem, d = experiment.problem, experiment.problem.d
    noise = np.minimum(d**4 / 4, 2.0 * problem.sizes * d**2) if experiment.batch_size else np.zeros(problem.N)
    return float(experiment.total_steps * (noise + 2.0 * d**3 + 40 * d**2).sum())


def expectations(experiment: Experiment, progress: Progress | None = None) -> Trajectory:
    """The record of a run with expectations in place of replicates: every array has one row (R = 1).

    Among the extremes, ``sigma_i_sq`` and ``G_sq`` are the largest total expectations over t (and i), ``rho_bar_all``
    and ``rho_bar_sync`` the smallest ratios of expected sums, which bound the smallest skew of any path from above.
    Raises InputError where `not_applicable` gives a reason, DivergedError for unstable steps.
    """
    from threadpoolctl import threadpool_limits

    reason = not_applicable(experiment)
    if reason:
        raise reject("exact expectations need constant Hessians, fixed weights and C = 1", reason, "simulate instead")
    experiment = experiment.with_(replicates=1)
    grid = make_time_grid(experiment)
    virtuals = ("alpha",) if experiment.rule.returns_p else ("alpha", "p")
    record = Record(experiment, grid, virtuals)
    # Matrices here are too small for threads; an expectation that overflows is reported as diverged.
    with threadpool_limits(limits=1, user_api="blas"), np.errstate(over="ignore", invalid="ignore"):
        _run(experiment, grid, virtuals, Recorder(record, range(1)), progress)
    return record.finish(ENGINE)


def _run(
    experiment: Experiment, grid: TimeGrid, virtuals: tuple[str, ...], recorder: Recorder, progress: Progress | None
) -> None:
    """All rounds, written to the recorder; time T starts one that is not run."""
    clients, limit = prepare(experiment), divergence_limit(experiment, grid)
    state = State(experiment.start - experiment.problem.w_star, np.zeros((clients.d, clients.d)))
    excess = clients.excess(state.mean[None], state.covariance[None])
    for r, (begin, end) in enumerate(grid.rounds):
        p, alpha = round_weights(experiment, range(1), r, excess[-1:])
        recorder.weights(r, p, alpha)
        result = run_round(clients, state, grid.eta[begin:end], alpha[0], virtuals)
        excess, state = result.excess, result.end
        distance = result.paths["distance_sq"]["alpha"][1:, None]
        check_distances(experiment, grid.eta, range(begin, end), ["in expectation"], distance, limit)
        recorder.ratios_of_weights(begin, p, alpha, excess[: end - begin, None], [0])
        _record(recorder, begin, result)
        if progress:
            progress(end, grid.total)
    p, alpha = round_weights(experiment, range(1), len(grid.rounds), excess[-1:])
    result = run_round(clients, state, grid.eta[:0], alpha[0], virtuals)
    recorder.ratios_of_weights(grid.total, p, alpha, result.excess[:, None], [])
    _record(recorder, grid.total, result)


def _record(recorder: Recorder, begin: int, result: Round) -> None:
    """Local moments and path values of the steps of a round, or of time T alone.

    The aggregation that follows makes every virtual iterate the alpha-weighted one.
    """
    part = slice(max(len(result.excess) - 1, 1))
    grad_sq, excess, variance, radius_sq = result.local[:, part, None]
    recorder.moments(begin, Moments(np.empty(0), grad_sq, variance, excess, radius_sq))
    recorded, slots = recorder.recorded(begin, len(excess))
    for name, distance in result.paths["distance_sq"].items():
        values = {field: by_name[name][part] for field, by_name in result.paths.items()}
        if len(distance) > 1:
            following = distance[1:].copy()
            following[-1] = result.paths["distance_sq"]["alpha"][-1]
            values |= {"next_distance_sq": following, "next_mean": following}
        if slots.stop > slots.start:
            recorder.path(name, begin, {field: value[recorded, None] for field, value in values.items()})


@dataclass(frozen=True)
class State:
    """The model at the start of a round: its mean minus w* (d,) and its covariance (d, d)."""

    mean: Array
    covariance: Array


@dataclass(frozen=True)
class Round:
    """One round's expectations at its n + 1 steps.

    ``paths``: distance_sq, gap and drift of each virtual iterate (n + 1,); ``excess`` (n + 1, N) of the
    alpha-weighted one; ``local`` (4, n + 1, N) at the local models: grad_sq, excess, variance, radius_sq.
    """

    paths: dict[str, dict[str, Array]]
    excess: Array
    local: Array
    end: State


def run_round(clients: Clients, start: State, etas: Array, alpha: Array, virtuals: tuple[str, ...]) -> Round:
    """The expectations over one round of local steps ``etas`` (n,) under the weights ``alpha`` (N,)."""
    S, U, Ut = start.covariance, clients.U, clients.U.swapaxes(1, 2)
    shift, gone, V, local = clients.local_steps(Ut @ S @ U, Ut @ start.mean, etas)
    shift = (U @ shift[..., None])[..., 0]
    shape = len(shift), clients.d, -1
    lost = (U.swapaxes(0, 1) * gone[:, None]).reshape(shape)  # U_i (I - P_i), side by side
    spread = (U @ V).swapaxes(1, 2).reshape(shape)
    R_alpha = clients.combined(lost, alpha)
    paths: dict[str, dict[str, Array]] = {"distance_sq": {}, "gap": {}, "drift": {}}
    for name, weights in zip(virtuals, (alpha, clients.p), strict=False):
        mean = start.mean - np.einsum("n,knd->kd", weights, shift)
        R = R_alpha if name == "alpha" else clients.combined(lost, weights)
        P = np.eye(clients.d) - R
        covariance = P @ S @ P.swapaxes(1, 2) + clients.combined(spread, weights**2)
        if name == "alpha":
            excess = clients.excess(mean, covariance)
            end = State(mean[-1], (covariance[-1] + covariance[-1].T) / 2)
        square = mean[:, :, None] * mean[:, None, :] + covariance
        paths["distance_sq"][name] = np.trace(square, axis1=1, axis2=2)
        paths["gap"][name] = np.einsum("kab,ab->k", square, clients.mean_H) / 2
        common = np.einsum("kab,kab->k", R @ S, R - 2 * R_alpha)
        paths["drift"][name] = _drift(alpha, weights, shift, common, local)
    return Round(paths, excess, local[:4], end)


def _drift(alpha: Array, weights: Array, shift: Array, common: Array, local: Array) -> Array:
    """E sum_i alpha_i ||w - x_i||^2 for w = sum_j c_j x_j, c = ``weights``: (n + 1,).

    With R_i = I - P_i and R = sum_j c_j R_j it is sum_i alpha_i (||mean of w - x_i||^2 + tr((R_i - R) S (R_i - R)))
    plus sum_i (alpha_i (1 - c_i)^2 + (1 - alpha_i) c_i^2) tr V_i: what all models share has cancelled by hand.
    ``common`` (n + 1,) are the terms of the second trace that contain R.
    """
    means = np.einsum("n,knd->k", alpha, (shift - np.einsum("n,knd->kd", weights, shift)[:, None, :]) ** 2)
    variance_weights = alpha * (1 - weights) ** 2 + (1 - alpha) * weights**2
    return means + np.maximum(local[4] @ alpha + common, 0) + local[5] @ variance_weights
