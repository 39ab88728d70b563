"""Algorithm 1 in one file: floats and fractions, any leading axes, and every engine against it."""

from fractions import Fraction

import numpy as np
import pytest

from fedbounds.engine.plain_runs import replay
from fedbounds.engine.reference import round_weights
from fedbounds.engine.simulate import simulate
from fedbounds.errors import InputError
from fedbounds.model.experiment import Experiment
from fedbounds.plugins import weighting_named
from fedbounds.problems.least_squares import LeastSquaresProblem


@pytest.mark.parametrize("participation", [1, 0.5])
@pytest.mark.parametrize("engine", ["kernels", "reference"])
@pytest.mark.parametrize("text", ["fedavg", "fedmax", "fedmax:2,p", "fedsoftmax:0.5", "fixed:0.4,0.3,0.2,0.1"])
def test_every_engine_runs_algorithm_1(text, engine, participation):
    draw = np.random.default_rng(0).normal
    problem = LeastSquaresProblem([draw(size=(5, 3)) for _ in range(4)], [draw(size=5) for _ in range(4)])
    eta = 0.1 / (np.arange(12) + 2) / problem.L
    experiment = Experiment(
        problem, weighting_named(text), lambda t: eta[t], tau=3, rounds=4, replicates=3, batch_size=2,
        participation=participation, engine=engine, w0=np.ones(3),
    )  # fmt: skip
    w = replay(experiment).w["alpha"]
    measured = simulate(experiment).paths["alpha"].distance_sq
    assert ((w - problem.w_star) ** 2).sum(-1) == pytest.approx(measured, rel=1e-9)


@pytest.mark.parametrize("text", ["fedavg", "fedmax", "fedmax:2", "fedmax:2,p"])
def test_weights_in_fractions_are_those_in_floats(text):
    p, gaps = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)], [Fraction(1, 3), Fraction(1, 3), Fraction(1, 7)]
    for present in (None, [True, False, True]):
        exact, floats = (
            round_weights(
                weighting_named(text), *(np.array(x, kind) for x in (p, gaps)), 0, present and np.array(present)
            )
            for kind in (object, float)
        )
        assert all(isinstance(a, Fraction | int) for row in exact for a in row)
        assert np.array(exact, dtype=float) == pytest.approx(np.array(floats))


def test_a_weighting_without_fractions_says_so():
    half = np.array([Fraction(1, 2)] * 2)
    with pytest.raises(InputError, match="weighting fedsoftmax:1 has no weights in fractions, but received exp"):
        round_weights(weighting_named("fedsoftmax:1"), half, half, 0)
