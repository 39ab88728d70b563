"""The loop against closed forms: the algorithm, its exact expectations, extremes, recording and errors."""

import numpy as np
import pytest
from problem_zoo import ZOO

from fedbounds.engine import rng
from fedbounds.engine.simulate import run_in_full, simulate
from fedbounds.errors import DivergedError, InputError
from fedbounds.model.experiment import Experiment
from fedbounds.model.schedule import ConstantStep, InverseTime
from fedbounds.weightings.fedavg import FedAvg
from fedbounds.weightings.fedmax import FedMax
from fedbounds.weightings.fedsoftmax import FedSoftMax
from fedbounds.weightings.fixed import Fixed

# Identities of exact arithmetic over a few hundred operations.
ROUNDING = 1e-12
# Standard errors allowed in a Monte-Carlo mean: with some hundred means compared, missed by chance once in 10^4.
SIGMAS = 5.0
ENGINES = ("kernels", "reference")


def experiment_on(kind="quadratic", **changes):
    problem = ZOO[kind](1)
    eta = InverseTime(problem.mu, 4 * problem.L / problem.mu)
    start = np.full(problem.d, 0.5)
    base = Experiment(problem, FedSoftMax(0.5), eta, 3, 5, 8, 2, w0=start, seed=1, engine="reference")
    return base.with_(**changes)


def last_to_first(p, excess, round, stream):
    """A weighting that moves all weight to the last client in even rounds, the first in odd ones."""
    alpha = np.zeros(excess.shape)
    alpha[:, 0 if round % 2 else -1] = 1.0
    return alpha


@pytest.mark.parametrize(("engine", "stride"), [("kernels", 1), ("reference", 4)])
def test_the_iterates_are_those_that_the_record_measures(engine, stride):
    experiment = experiment_on(engine=engine, stride=stride)
    result, plain = simulate(experiment, record="iterates"), simulate(experiment)
    assert result.w.shape == (experiment.replicates, len(result.times), experiment.problem.d)
    assert np.array_equal(result.paths["alpha"].gap, plain.paths["alpha"].gap)
    with pytest.raises(InputError, match="without iterates"):
        assert plain.w is not None
    assert np.array_equal(result.w[:, 0], np.tile(experiment.start, (experiment.replicates, 1)))
    distance = ((result.w - experiment.problem.w_star) ** 2).sum(axis=-1)
    assert np.allclose(distance, result.paths["alpha"].distance_sq, rtol=ROUNDING, atol=0)
    with pytest.raises(InputError, match="leave out"):
        simulate(experiment, exact=True, record="iterates")


@pytest.mark.parametrize("tau", [1, 3])
@pytest.mark.parametrize("engine", ENGINES)
def test_virtual_iterates_agree_where_a_round_begins_and_are_measured_apart_inside_it(engine, tau):
    paths = simulate(experiment_on(engine=engine, tau=tau)).paths
    begins = np.arange(paths["p"].gap.shape[1]) % tau == 0
    same = paths["p"].gap == paths["alpha"].gap
    assert same[:, begins].all() and not same[:, ~begins].any()
    # kappa bounds how far a gap is from its distance: mu/2 <= gap/distance <= L/2
    problem = experiment_on().problem
    ratio = paths["p"].gap / paths["p"].distance_sq
    assert (ratio >= problem.mu / 2 * (1 - ROUNDING)).all() and (ratio <= problem.L / 2 * (1 + ROUNDING)).all()


@pytest.mark.parametrize("virtual", ["alpha", "p"])
@pytest.mark.parametrize("kind", sorted(ZOO))
def test_next_mean_is_the_mean_of_the_next_distance(kind, virtual):
    changes = {"weighting": FedSoftMax(0.5), "replicates": 1500, "rounds": 3, "engine": "auto"}
    path = run_in_full(experiment_on(kind, **changes)).paths[virtual]
    surprise = (path.next_distance_sq - path.next_mean)[:, :-1]
    error = surprise.std(0, ddof=1) / np.sqrt(len(surprise))
    assert (error > 0).all()
    assert (np.abs(surprise.mean(0)) < SIGMAS * error).all()
    # The prediction is conditional: it explains most of the spread between replicates once they have parted.
    assert (surprise[:, -1].std() < path.next_distance_sq[:, -2].std()).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_extremes_and_skew_do_not_depend_on_the_stride(engine):
    experiment = experiment_on(rounds=7, engine=engine, participation=0.75)
    full, thin = run_in_full(experiment), run_in_full(experiment.with_(stride=4))
    for name, values in vars(full.extremes).items():
        assert np.array_equal(values, getattr(thin.extremes, name)), name
    assert thin.times.tolist() == [0, 4, 8, 12, 16, 20, 21]
    assert np.array_equal(thin.excess, full.excess[:, thin.times])
    assert np.array_equal(thin.skew_sums, full.skew_sums[:, thin.times])
    for name in ("alpha", "p"):
        for field, values in vars(full.paths[name]).items():
            assert np.array_equal(getattr(thin.paths[name], field), values[:, thin.times], equal_nan=True)
    assert thin.round_times.tolist() == [0, 6, 12, 18]
    assert np.array_equal(thin.alpha, full.alpha[:, ::2])


@pytest.mark.parametrize("engine", ENGINES)
def test_absent_clients_have_no_weight(engine):
    for weighting in (FedAvg(), FedMax(), FedMax(3), FedSoftMax(0.1), Fixed((0.1, 0.2, 0.3, 0.4)), last_to_first):
        experiment = experiment_on(weighting=weighting, participation=0.5, engine=engine)
        alpha = run_in_full(experiment).alpha
        present = np.stack([rng.present_clients(1, range(8), r, 4, 2) for r in range(5)], axis=1)
        absent = (np.arange(4) != present[..., None]).all(axis=-2)
        assert (alpha[absent] == 0).all()
        np.testing.assert_allclose(alpha.sum(-1), 1, rtol=ROUNDING)


@pytest.mark.parametrize("engine", ENGINES)
def test_divergence_names_the_step_and_the_cause(engine):
    experiment = experiment_on(eta=ConstantStep(50.0), rounds=40, engine=engine)
    stable = 2 / experiment.problem.L
    message = rf"diverged at step \d+ \(replicate 0\).*eta_t = 50 exceeds 2/L = {stable:.4g}"
    with pytest.raises(DivergedError, match=message):
        run_in_full(experiment)
    with pytest.raises(DivergedError, match="diverged at step 0"):
        run_in_full(experiment.with_(eta=ConstantStep(1e200)))


@pytest.mark.parametrize("threads", [1, 2])
def test_progress_counts_every_step_and_errors_come_in_order(threads):
    heard = []
    run_in_full(experiment_on(replicates=40), lambda done, total: heard.append((done, total)), threads)
    total = 3 * 15  # three blocks of 16 replicates, 15 steps each
    assert heard == [(k, total) for k in range(3, total + 1, 3)]

    def refuse(p, excess, round, stream):
        raise ZeroDivisionError(f"round {round}")

    with pytest.raises(ZeroDivisionError, match="round 0"):
        run_in_full(experiment_on(weighting=refuse, replicates=40), threads=threads)
