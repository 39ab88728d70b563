"""A run of any algorithm as the record that claims are examined on."""

from dataclasses import replace

import numpy as np

from fedbounds.engine.algorithms import run_algorithm
from fedbounds.engine.time_grid import make_time_grid
from fedbounds.model.algorithm import Algorithm
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array
from fedbounds.model.trajectory import Trajectory, VirtualPath


def record_of(algorithm: Algorithm, experiment: Experiment, like: Trajectory, squares: bool) -> Trajectory:
    """A run of any algorithm as the record that claims are examined on, ``like`` that of FedAvg with other steps.

    ``squares``: the second moments of gradients are looked at too, which takes as long as the run; else they are inf.
    """
    problem, batch, clock = experiment.problem, experiment.batch_size, make_time_grid(experiment)
    variance, radius = np.zeros(problem.N), np.zeros(1)
    second = np.full(problem.N, 0.0 if squares else np.inf)

    def watch(x: Array) -> None:
        noise = np.zeros(1) if batch is None else problem.client_variance(x, batch, experiment.replacement)
        np.maximum(variance, noise.max(axis=0), out=variance)
        if squares:
            np.maximum(second, (noise + (problem.client_grads(x) ** 2).sum(-1)).max(axis=0), out=second)
        np.maximum(radius, np.sqrt(((x - problem.w_star) ** 2).sum(-1)).max(), out=radius)

    found = run_algorithm(algorithm, experiment, watch)
    path = VirtualPath(found.distance_sq, found.gap, *np.full((3, *found.gap.shape), np.nan))
    extremes = replace(
        like.extremes,
        sigma_i_sq=variance[None],
        G_sq=second.max(keepdims=True),
        radius=radius,
        eta_ratio=clock.eta_ratio,
    )
    return replace(
        like,
        experiment=experiment,
        eta=clock.eta,
        paths={"alpha": path, "p": path},
        extremes=extremes,
        engine=found.engine,
        tosses=algorithm.tosses,
    )
