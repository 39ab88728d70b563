"""Streamed runs: the same statistics, extremes and verdicts as stored ones, in memory that does not grow."""

import numpy as np
import pytest
from problem_zoo import ZOO

from fedbounds import plugins
from fedbounds.engine import memory
from fedbounds.engine.record import SAMPLE
from fedbounds.engine.simulate import run, simulate
from fedbounds.errors import InputError
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.evidence.run_constants import examine_run
from fedbounds.model.experiment import Experiment
from fedbounds.model.schedule import InverseTime
from fedbounds.model.trajectory import PATH_FIELDS
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status
from fedbounds.weightings.fedavg import FedAvg
from fedbounds.weightings.fedmax import FedMax
from fedbounds.weightings.fedsoftmax import FedSoftMax

# Sums of some hundred values in two orders; a difference of both sides cancels some digits more.
SUMS, DECISIONS = 1e-12, 1e-10
CLAIMS = plugins.claims(())
# What a claim measures on paths needs them.
ON_PATHS = {
    key for key, claim in CLAIMS.items() if any(item.statistic in ("largest", "measured") for item in claim.computed)
}


def experiment_on(kind="binary", **changes):
    problem = ZOO[kind](1)
    eta = InverseTime(problem.mu, 4 * problem.L / problem.mu)
    base = Experiment(problem, FedSoftMax(0.5), eta, 3, 5, 150, 2, w0=np.full(problem.d, 0.5), seed=1)
    return base.with_(**{"engine": "reference"} | changes)


def both(**changes):
    experiment = experiment_on(**changes)
    return simulate(experiment, statistics="stored"), simulate(experiment, statistics="streamed")


CASES = {
    "softmax weights": {},
    "fedavg": {"weighting": FedAvg()},
    "fedmax, thinned": {"weighting": FedMax(2), "stride": 4, "rounds": 6},
    "partial": {"participation": 0.5, "kind": "least-squares"},
    "equation 2": {"aggregation": "equation-2", "kind": "quadratic"},
    "no noise": {"batch_size": None, "replicates": 20},
    "alone": {"weighting": FedMax(1)},
}
RUNS = {name: both(**changes) for name, changes in CASES.items()}


@pytest.mark.parametrize("case", CASES)
class TestEqualToStored:
    def test_means_and_covariances(self, case):
        stored, streamed = RUNS[case]
        for name, path in stored.paths.items():
            moments = streamed.streamed.paths[name]
            values = np.stack([getattr(path, field) for field in PATH_FIELDS])
            np.testing.assert_allclose(moments.mean.T, values.mean(axis=1), rtol=SUMS)
            np.testing.assert_array_equal(moments.high.T, values.max(axis=1))
            away = values - values.mean(axis=1, keepdims=True)
            covariance = np.einsum("ark,brk->kab", away, away) / (values.shape[1] - 1)
            spread = np.sqrt(np.einsum("kaa->ka", covariance))
            # A mean of 150 values is known to some units in its last place, which each block's deviations inherit.
            error = 16 * np.finfo(float).eps * np.abs(values).max(axis=1).T
            outer = np.einsum("ka,kb->kab", spread + error, spread + error)
            allowed = outer - (1 - SUMS) * np.einsum("ka,kb->kab", spread, spread)
            assert not (np.abs(moments.covariance - covariance) > allowed).any()
            assert np.array_equal(np.isnan(moments.covariance), np.isnan(covariance))

    def test_the_first_replicates_are_kept(self, case):
        stored, streamed = RUNS[case]
        for name, path in streamed.paths.items():
            rows = len(path.gap)
            assert rows == min(SAMPLE, streamed.experiment.replicates)
            for field in PATH_FIELDS:
                np.testing.assert_array_equal(getattr(path, field), getattr(stored.paths[name], field)[:rows])
        np.testing.assert_array_equal(streamed.rho(), stored.rho()[: len(streamed.skew_sums)])

    def test_extremes_are_those_of_every_replicate(self, case):
        stored, streamed = RUNS[case]
        for name, value in vars(stored.extremes).items():
            np.testing.assert_array_equal(getattr(streamed.extremes, name), value, err_msg=name)

    def test_client_statistics(self, case):
        stored, streamed = RUNS[case]
        np.testing.assert_allclose(streamed.alpha[0], stored.alpha.mean(axis=0), rtol=SUMS, atol=SUMS)
        np.testing.assert_allclose(streamed.excess[0], stored.excess.mean(axis=0), rtol=SUMS)
        L = stored.experiment.problem.L
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(stored.grad_sq > 0, stored.grad_sq / stored.local_excess, 0.0).max(axis=0)
            mine = np.where(streamed.grad_sq[0] > 0, streamed.grad_sq[0] / streamed.local_excess[0], 0.0)
        np.testing.assert_array_equal(mine, ratio)
        slack = (stored.grad_sq - 2 * L * stored.local_excess).max(axis=0)
        np.testing.assert_array_equal(streamed.grad_sq[1] - 2 * L * streamed.local_excess[1], slack)

    def test_every_claim_is_decided_alike(self, case):
        stored, streamed = RUNS[case]
        applied = 0
        for claim in CLAIMS.values():
            for name in claim.readings:
                wanted, result = (
                    empirical.examine(claim, examine_run(t, READINGS[name])) for t in (stored, streamed)
                )
                if claim.key in ON_PATHS:
                    assert result.status is Status.UNDECIDED or result.status is wanted.status
                    continue
                same_rate = claim.key == "rate" and stored.experiment.stochastic
                if "rho_pairs" in {s.name for s in (claim.lhs - claim.rhs).free_symbols} or same_rate:
                    continue  # pairs are bounded below, and rates fitted to the first replicates
                assert result.status == wanted.status, (claim.key, name)
                if result.worst_t != wanted.worst_t:  # two times at which the sides are equal, up to rounding
                    assert result.margin == pytest.approx(wanted.margin, abs=DECISIONS), (claim.key, name)
                applied += wanted.margin is not None
                for field in ("margin", "tightness"):
                    a, b = getattr(result, field), getattr(wanted, field)
                    assert (a is None) == (b is None)
                    if b is not None and np.isfinite(b):
                        assert a == pytest.approx(b, rel=DECISIONS, abs=DECISIONS), (claim.key, name, field)
        assert applied >= (2 if stored.experiment.participation < 1 else 10)


def test_the_bits_do_not_depend_on_threads():
    experiment = experiment_on(engine="auto", replicates=200)
    one, two = (run(experiment, threads=threads, statistics="streamed") for threads in (1, 3))
    for name in ("mean", "covariance", "high"):
        for virtual in ("alpha", "p"):
            a, b = (getattr(t.streamed.paths[virtual], name) for t in (one, two))
            np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(one.excess, two.excess)


def test_large_records_are_streamed_of_their_own_accord(monkeypatch):
    experiment = experiment_on(replicates=32)
    stored = simulate(experiment)
    assert stored.streamed is None
    monkeypatch.setattr(memory, "MOST", memory.check_peak(experiment, streamed=False) - 1)
    assert simulate(experiment).streamed is not None


def test_what_needs_every_replicate_is_refused():
    streamed = RUNS["softmax weights"][1]
    with pytest.raises(InputError, match="statistics"):
        simulate(streamed.experiment, statistics="some")


def test_a_nonlinear_claim_is_refused():
    from dataclasses import replace

    claim = replace(CLAIMS["corollary"], lhs=CLAIMS["corollary"].lhs ** 2)
    with pytest.raises(InputError, match="linear"):
        empirical.compare(claim, examine_run(RUNS["fedavg"][1], READINGS["sync"]))
