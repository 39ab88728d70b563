"""Who takes part in a round, and with which weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbounds.engine import rng
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array, Indices
from fedbounds.model.weighting import ABSENT_EXCESS, check_simplex


def chosen(experiment: Experiment, replicates: range, r: int) -> Indices:
    """The max(round(C N), 1) clients that take part in round r, in ascending order: (R, count)."""
    N = experiment.problem.N
    return rng.present_clients(experiment.seed, replicates, r, N, max(round(experiment.participation * N), 1))


def chosen_weights(experiment: Experiment, replicates: range, r: int) -> tuple[Indices, Array]:
    """The clients of round r and p_i over its sum over them, (R, count) each, at the cost of these alone."""
    who = chosen(experiment, replicates, r)
    shares = experiment.problem.p[who]
    return who, shares / shares.sum(-1, keepdims=True)


def round_weights(experiment: Experiment, replicates: range, r: int, excess: Array) -> tuple[Array, Array]:
    """p and alpha of round r, each (R, N).

    With participation C < 1 a uniform subset of max(round(C N), 1) clients is present. p is renormalised
    over them and 0 for the others; the weighting sees that p, and ABSENT_EXCESS for the others; what it
    still gives to absent clients is taken away and the row renormalised (p itself if nothing is left).
    """
    problem, weighting = experiment.problem, experiment.rule
    stream = rng.RoundStream(experiment.seed, replicates, r)
    p = np.broadcast_to(problem.p, excess.shape)
    if experiment.participation == 1:
        alpha = weighting(p, excess, r, stream)
        return p, check_simplex(alpha, excess.shape, weighting.name)
    who = chosen(experiment, replicates, r)
    present, count = np.zeros(excess.shape, dtype=bool), who.shape[-1]
    np.put_along_axis(present, who, True, axis=-1)
    p = _restrict(p, present, present / count)
    alpha = weighting(p, np.where(present, excess, ABSENT_EXCESS), r, stream)
    return p, _restrict(check_simplex(alpha, excess.shape, weighting.name), present, p)


def _restrict(weights: Array, present: NDArray[np.bool_], otherwise: Array) -> Array:
    """``weights`` set to 0 for the absent and renormalised; ``otherwise`` in rows where nothing is left."""
    kept = np.where(present, weights, 0.0)
    total = kept.sum(-1, keepdims=True)
    return np.where(total > 0, kept / np.where(total > 0, total, 1.0), otherwise)
