"""The light runs: the same distances and gaps as full runs, from vector code written by hand."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from problem_zoo import SAMPLED, ZOO

from fedbounds.engine import rng as streams
from fedbounds.engine.numpy_engine import chosen_weights, round_weights
from fedbounds.engine.simulate import ROUNDS, run_endpoints, run_in_full, simulate
from fedbounds.errors import DivergedError, InputError
from fedbounds.model.experiment import Experiment
from fedbounds.model.schedule import ConstantStep, InverseTime
from fedbounds.model.weighting import Weighting
from fedbounds.problems.least_squares import LeastSquaresProblem
from fedbounds.weightings.fedavg import FedAvg
from fedbounds.weightings.fedsoftmax import FedSoftMax

# Two orders of additions of some hundred steps, relative to the values.
AGREEMENT = 1e-12


def experiment_on(kind="binary", **changes):
    problem = ZOO[kind](4)
    eta = InverseTime(problem.mu, 4 * problem.L / problem.mu)
    base = Experiment(problem, FedSoftMax(0.5), eta, 3, 5, 7, 2, w0=np.full(problem.d, 0.5), seed=2)
    return base.with_(**changes)


@pytest.mark.parametrize("weighting", [FedAvg(), FedSoftMax(0.5)], ids=["fedavg", "fedsoftmax"])
@pytest.mark.parametrize(
    "changes",
    [{"batch_size": 11, "stride": 7}, {"participation": 0.5, "tau": 1}, {"batch_size": None}],
    ids=str,
)
@pytest.mark.parametrize("kind", list(ZOO))
def test_light_runs_equal_full_runs(kind, changes, weighting):
    experiment = experiment_on(kind, weighting=weighting, **changes)
    light, path = simulate(experiment, record="distance"), run_in_full(experiment.with_(stride=1)).paths["alpha"]
    assert light.times[0] == 0
    assert light.times[-1] == experiment.total_steps
    np.testing.assert_allclose(light.distance_sq, path.distance_sq[:, light.times], rtol=AGREEMENT)
    np.testing.assert_allclose(light.gap, path.gap[:, light.times], rtol=AGREEMENT)


@pytest.mark.parametrize("kind", SAMPLED)
def test_light_bits_depend_on_neither_threads_nor_replicates(kind):
    for weighting in (FedAvg(), FedSoftMax(0.5)):
        wide = run_endpoints(experiment_on(kind, replicates=37, weighting=weighting), threads=2)
        again = run_endpoints(experiment_on(kind, replicates=37, weighting=weighting), threads=1)
        narrow = run_endpoints(experiment_on(kind, replicates=5, weighting=weighting), threads=1)
        for name in ("distance_sq", "gap"):
            assert np.array_equal(getattr(wide, name), getattr(again, name))
            assert np.array_equal(getattr(wide, name)[:5], getattr(narrow, name))


def test_long_light_runs_join_their_pieces():
    experiment = experiment_on("least-squares", weighting=FedAvg(), rounds=ROUNDS + 3, tau=1, stride=5)
    light, path = run_endpoints(experiment), run_in_full(experiment).paths["alpha"]
    assert light.times.tolist() == [*range(0, ROUNDS + 3, 5), ROUNDS + 3]
    np.testing.assert_allclose(light.gap, path.gap, rtol=AGREEMENT)


@pytest.mark.parametrize("kind", ["binary", "multinomial"])
def test_a_diverging_light_run_names_step_and_cause(kind):
    for weighting in (FedAvg(), FedSoftMax(0.5)):
        with pytest.raises(
            DivergedError, match=r"diverged at step [012] \(replicate 0\).*eta_t = 1e\+100 exceeds 2/L"
        ):
            run_endpoints(experiment_on(kind, eta=ConstantStep(1e100), weighting=weighting))


def test_a_record_is_full_or_distance():
    with pytest.raises(InputError, match="full, distance or iterates"):
        simulate(experiment_on(), record="gap")
    with pytest.raises(InputError, match="leave out"):
        simulate(experiment_on("quadratic", weighting=FedAvg()), exact=True, record="distance")


def test_few_of_many_clients_equal_the_full_record_too():
    rng = np.random.default_rng(0)
    N = streams.MANY
    problem = LeastSquaresProblem(
        [rng.standard_normal((3, 2)) for _ in range(N)], [rng.standard_normal(3) for _ in range(N)], 0.1
    )
    eta = ConstantStep(0.3 / problem.L)
    experiment = Experiment(problem, FedAvg(), eta, 2, 5, 3, 2, participation=4 / N, seed=1)
    light, path = simulate(experiment, record="distance"), run_in_full(experiment).paths["alpha"]
    np.testing.assert_allclose(light.distance_sq, path.distance_sq[:, light.times], rtol=AGREEMENT)
    for r, (who, shares) in ((r, chosen_weights(experiment, range(3), r)) for r in range(5)):
        _, alpha = round_weights(experiment, range(3), r, np.zeros((3, N)))
        assert who.shape == (3, 4)
        np.testing.assert_allclose(np.take_along_axis(alpha, who, -1), shares, rtol=1e-14)


@dataclass(frozen=True)
class Turning(Weighting):
    """Weights that know the round and not the losses: p before round ``since``, then in turn away from it."""

    since: int
    name: ClassVar[str] = "turning"
    depends_on_w: ClassVar[bool] = False

    def __call__(self, p, excess, round, stream):
        turn = (np.arange(excess.shape[-1]) + round) % 2 if round >= self.since else 0
        weights = np.broadcast_to(p, excess.shape) * (1 + turn)
        return weights / weights.sum(-1, keepdims=True) if round >= self.since else weights


@dataclass(frozen=True)
class PartlyEven(FedAvg):
    """p where everyone takes part, equal weights where not; what FedAvg says of itself is not inherited."""

    name: ClassVar[str] = "partly-even"

    def __call__(self, p, excess, round, stream):
        here = np.broadcast_to(p, excess.shape) > 0
        return np.where(here.all(-1, keepdims=True), p, here / here.sum(-1, keepdims=True))


@pytest.mark.parametrize("engine", ["kernels", "reference"])
def test_weights_that_are_p_only_where_everyone_takes_part_are_asked_for(engine):
    experiment = experiment_on("least-squares", weighting=PartlyEven(), engine=engine, rounds=7)
    experiment = experiment.with_(participation=0.5)
    full, light = simulate(experiment), simulate(experiment, record="distance")
    assert sorted(np.unique(full.alpha)) == [0.0, 0.5]
    np.testing.assert_allclose(light.gap, full.paths["alpha"].gap[:, light.times], rtol=AGREEMENT)
    assert not np.array_equal(full.paths["p"].gap, full.paths["alpha"].gap)


@pytest.mark.parametrize("rule", [Turning(1)])
def test_weights_that_know_the_round_are_asked_for_in_every_round(rule):
    experiment = experiment_on("least-squares", weighting=rule, rounds=7)
    for engine in ("kernels", "reference"):
        full = simulate(experiment.with_(engine=engine))
        p = experiment.problem.p
        for r in range(7):
            np.testing.assert_array_equal(full.alpha[0, r], Turning(rule.since)(p, p[None], r, None)[0])
        light = simulate(experiment, record="distance")
        np.testing.assert_allclose(light.gap, full.paths["alpha"].gap[:, light.times], rtol=AGREEMENT)
        assert full.paths["p"] is not full.paths["alpha"]
