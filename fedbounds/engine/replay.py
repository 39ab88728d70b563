"""The iterates of a run, which its record leaves out: the same repetitions once more."""

from typing import NamedTuple

import numpy as np

from fedbounds.engine.loop import choose_engine
from fedbounds.engine.participation import round_weights
from fedbounds.engine.time_grid import make_time_grid
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array


class Iterates(NamedTuple):
    """By repetition: ``w`` (R, T + 1, d) by name of the virtual iterate, and before each step the local models ``X``
    (R, T, N, d) and the weights ``alpha`` (R, T, N)."""

    w: dict[str, Array]
    X: Array
    alpha: Array


def replay(experiment: Experiment) -> Iterates:
    """The iterates of the recorded run of algorithm 1."""
    grid, engine, problem = make_time_grid(experiment), choose_engine(experiment), experiment.problem
    R, T, N, d = experiment.replicates, grid.total, problem.N, problem.d
    w = {name: np.empty((R, T + 1, d)) for name in ("alpha", "p")}
    X, alphas = np.empty((R, T, N, d)), np.empty((R, T, N))
    with engine.session():
        for block in engine.blocks(R):
            rows = slice(block.start, min(block.stop, R))
            size, W = rows.stop - rows.start, np.tile(experiment.start, (len(block), 1))
            for r, (begin, end) in enumerate(grid.rounds):
                p, alpha = round_weights(experiment, block, r, engine.excess(W))
                models = np.empty((end - begin + 1, len(block), N, d))
                models[0] = W[:, None]
                engine.walk(models, grid.eta[begin:end], begin, block)
                X[rows, begin:end] = models[:-1, :size].swapaxes(0, 1)
                alphas[rows, begin:end] = alpha[:size, None]
                after = models[1:].reshape(-1, N, d)
                for name, weights in (("p", p), ("alpha", alpha)):
                    inside = engine.combine(after, np.tile(weights, (end - begin, 1))).reshape(end - begin, -1, d)
                    w[name][rows, begin] = W[:size]
                    w[name][rows, begin + 1 : end + 1] = inside[:, :size].swapaxes(0, 1)
                W = inside[-1]
                w["p"][rows, end] = W[:size]  # an aggregation makes everything the alpha-weighted aggregate
    return Iterates(w, X, alphas)
