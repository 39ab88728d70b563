"""Algorithm 1 in one file: floats and fractions, any leading axes, and every engine against it."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from fedbounds.engine.numpy_engine import draws_at, present
from fedbounds.engine.reference import algorithm_1, round_weights
from fedbounds.engine.replay import replay
from fedbounds.engine.rng import HashedStream
from fedbounds.engine.simulate import simulate
from fedbounds.errors import InputError
from fedbounds.model.experiment import Experiment
from fedbounds.plugins import weighting_named
from fedbounds.problems.least_squares import LeastSquaresProblem


@dataclass(frozen=True)
class Sampled:
    """The losses of an experiment, with the gradients that its seed draws."""

    experiment: Experiment

    @property
    def p(self):
        return self.experiment.problem.p

    def excess(self, w):
        return self.experiment.problem.excess(w)

    def gradient(self, x, t):
        draws = None if self.experiment.batch_size is None else draws_at(self.experiment, t, range(len(x)))
        return self.experiment.problem.client_grads(x, draws)


def plain(experiment):
    """As `reference` says: before each step w, the local models and the weights, and the models after it."""
    R, replicates = experiment.replicates, range(experiment.replicates)
    run = algorithm_1(
        Sampled(experiment),
        np.tile(experiment.start, (R, 1)),
        np.array([experiment.eta(t) for t in range(experiment.total_steps)]),
        experiment.tau,
        experiment.rule,
        None if experiment.participation == 1 else lambda r, gaps: present(experiment, replicates, r),
        lambda r: HashedStream(experiment.seed, replicates, r),
    )
    *before, end = run
    w = {
        "alpha": [step.virtual(step.alpha) for step in (*before, end)],
        "p": [step.virtual(step.p) for step in (*before, end)],
    }
    after = [step.ends for step in (*before[1:], end)]
    return w, [step.x for step in before], [step.alpha for step in before], after


@pytest.mark.parametrize("batch_size", [2])
@pytest.mark.parametrize("participation", [1, 0.5])
@pytest.mark.parametrize("engine", ["kernels", "reference"])
@pytest.mark.parametrize("text", ["fedavg", "fedmax", "fedmax:2,p", "fedsoftmax:0.5", "fixed:0.4,0.3,0.2,0.1"])
def test_every_engine_runs_algorithm_1(text, engine, participation, batch_size):
    draw = np.random.default_rng(0).normal
    problem = LeastSquaresProblem([draw(size=(5, 3)) for _ in range(4)], [draw(size=5) for _ in range(4)])
    eta = 0.1 / (np.arange(12) + 2) / problem.L
    experiment = Experiment(
        problem, weighting_named(text), lambda t: eta[t], tau=3, rounds=4, replicates=3, batch_size=batch_size,
        participation=participation, engine=engine, w0=np.ones(3),
    )  # fmt: skip
    (w, *others), again, recorded = plain(experiment), replay(experiment), simulate(experiment)
    for name, path in recorded.paths.items():
        distance_sq = ((np.stack(w[name], axis=1) - problem.w_star) ** 2).sum(-1)
        assert distance_sq == pytest.approx(path.distance_sq, rel=1e-9)
    for name, iterates in again.w.items():
        assert iterates == pytest.approx(np.stack(w[name], axis=1), rel=1e-9, abs=1e-12)
    for mine, kept in zip(others, (again.X, again.alpha, again.X_next), strict=True):
        assert kept == pytest.approx(np.stack(mine, axis=1), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("text", ["fedavg", "fedmax", "fedmax:2", "fedmax:2,p"])
def test_weights_in_fractions_are_those_in_floats(text):
    p, gaps = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)], [Fraction(1, 3), Fraction(1, 3), Fraction(1, 7)]
    for who in (None, [True, False, True]):
        exact, floats = (
            round_weights(weighting_named(text), *(np.array(x, kind) for x in (p, gaps)), 0, who and np.array(who))
            for kind in (object, float)
        )
        assert all(isinstance(a, Fraction | int) for row in exact for a in row)
        assert np.array(exact, dtype=float) == pytest.approx(np.array(floats))


def test_a_weighting_without_fractions_says_so():
    half = np.array([Fraction(1, 2)] * 2)
    with pytest.raises(InputError, match="weighting fedsoftmax:1 has no weights in fractions, but received exp"):
        round_weights(weighting_named("fedsoftmax:1"), half, half, 0)
