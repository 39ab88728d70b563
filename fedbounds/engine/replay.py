"""The iterates of a run, which its record leaves out: the same repetitions once more, by the reference."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fedbounds.engine.numpy_engine import NumpyEngine, draws_at, present
from fedbounds.engine.reference import algorithm_1
from fedbounds.engine.rng import HashedStream
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array
from fedbounds.model.schedule import steps


class Iterates(NamedTuple):
    """By repetition: ``w`` (R, T + 1, d) by name of the virtual iterate, and before each step the local models ``X``
    (R, T, N, d) and the weights ``alpha`` (R, T, N); ``X_next`` are the models after it, before they are averaged."""

    w: dict[str, Array]
    X: Array
    alpha: Array
    X_next: Array


@dataclass(frozen=True)
class _Sampled:
    """The losses of an experiment, with the gradients that its seed draws."""

    experiment: Experiment

    @property
    def p(self) -> Array:
        return self.experiment.problem.p

    def excess(self, w: Array) -> Array:
        return self.experiment.problem.excess(w)

    def gradient(self, x: Array, t: int) -> Array:
        draws = None if self.experiment.batch_size is None else draws_at(self.experiment, t, range(len(x)))
        return self.experiment.problem.client_grads(x, draws)


def replay(experiment: Experiment) -> Iterates:
    """The iterates of the recorded run of algorithm 1, up to rounding."""
    R, replicates = experiment.replicates, range(experiment.replicates)
    run = algorithm_1(
        _Sampled(experiment),
        np.tile(experiment.start, (R, 1)),
        steps(experiment.eta, experiment.total_steps),
        experiment.tau,
        experiment.rule,
        None if experiment.participation == 1 else lambda r, gaps: present(experiment, replicates, r),
        lambda r: HashedStream(experiment.seed, replicates, r),
    )
    with NumpyEngine(experiment).session():
        taken = list(run)
    w = {
        "alpha": np.stack([step.virtual(step.alpha) for step in taken], axis=1),
        "p": np.stack([step.virtual(step.p) for step in taken], axis=1),
    }
    before = taken[:-1]
    models, alpha, ends = (
        np.stack(rows, axis=1)
        for rows in ([s.x for s in before], [s.alpha for s in before], [s.ends for s in taken[1:]])
    )
    return Iterates(w, models, alpha, ends)
