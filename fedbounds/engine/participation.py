"""Who takes part in a round, and with which weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbounds.engine import reference, rng
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array, Indices


def chosen(experiment: Experiment, replicates: range, r: int) -> Indices:
    """The max(round(C N), 1) clients that take part in round r, in ascending order: (R, count)."""
    N = experiment.problem.N
    return rng.present_clients(experiment.seed, replicates, r, N, max(round(experiment.participation * N), 1))


def chosen_weights(experiment: Experiment, replicates: range, r: int) -> tuple[Indices, Array]:
    """The clients of round r and p_i over its sum over them, (R, count) each, at the cost of these alone."""
    who = chosen(experiment, replicates, r)
    shares = experiment.problem.p[who]
    return who, shares / shares.sum(-1, keepdims=True)


def present(experiment: Experiment, replicates: range, r: int) -> NDArray[np.bool_]:
    """Whether each client takes part in round r (R, N)."""
    mask = np.zeros((len(replicates), experiment.problem.N), dtype=bool)
    np.put_along_axis(mask, chosen(experiment, replicates, r), True, axis=-1)
    return mask


def round_weights(experiment: Experiment, replicates: range, r: int, excess: Array) -> tuple[Array, Array]:
    """p and alpha of round r, each (R, N), over the clients that take part."""
    rule, stream = experiment.rule, rng.HashedStream(experiment.seed, replicates, r)
    if experiment.participation == 1:
        return reference.round_weights(rule, experiment.problem.p, excess, r, None, stream)
    return reference.round_weights(rule, experiment.problem.p, excess, r, present(experiment, replicates, r), stream)
