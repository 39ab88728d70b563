"""Evidence by expectation: what it decides, for which rho_bar, and that false claims do not pass."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from problem_zoo import ridge_problem

import fedbounds
from fedbounds import plugins
from fedbounds.engine.simulate import simulate
from fedbounds.errors import InputError
from fedbounds.evidence import expectation
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.evidence.measured_run import Policy, examine_run
from fedbounds.model.experiment import Experiment
from fedbounds.model.schedule import ConstantStep, InverseTime
from fedbounds.problems.quadratic import quadratic
from fedbounds.referee.changed_terms import Part, scaled
from fedbounds.theory import symbols
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.constant import Provenance
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Evidence, Status
from fedbounds.weightings.fedavg import FedAvg
from fedbounds.weightings.fixed import Fixed

CLAIMS = plugins.claims()
SKEWED = Fixed((0.4, 0.1, 0.3, 0.2))
MISPRINTS = {"speed-floor", "fedavg-speed"}
ABOUT_SKEWS = {"error-minimiser", "error-by-pi"}


def make(problem, weighting, **changes):
    step = InverseTime(problem.mu, 4 * problem.L / problem.mu)
    made = {"tau": 3, "rounds": 20, "replicates": 256, "batch_size": 1, "w0": np.ones(problem.d)} | changes
    return Experiment(problem, weighting, made.pop("eta", step), **made)


def seen(experiment, reading="repaired", policy=None):
    return expectation.exact_run(simulate(experiment, exact=True), READINGS[reading], policy)


def everything(experiment):
    """(claim, verdict) in each of the claim's readings."""
    trajectory = simulate(experiment, exact=True)
    for claim in CLAIMS.values():
        for name in claim.readings:
            yield claim, expectation.examine(claim, expectation.exact_run(trajectory, READINGS[name]))


def test_under_fedavg_every_claim_is_decided():
    result = list(everything(make(ridge_problem(1), FedAvg())))
    assert {verdict.evidence for _, verdict in result} == {Evidence.EXPECTATION}
    applied = [(c, v) for c, v in result if v.status is not Status.NOT_APPLICABLE and c.kind is not Kind.RATE]
    # What is measured on paths has no exact expectation.
    on_paths = [v for c, v in applied if any(symbol.statistic in ("largest", "measured") for symbol in c.computed)]
    assert {verdict.status for verdict in on_paths} == {Status.UNDECIDED}
    applied = [(c, v) for c, v in applied if v not in on_paths]
    assert len(applied) > 20
    for claim, verdict in applied:
        wanted = Status.REFUTED if claim.key in MISPRINTS else Status.HOLDS
        # What is about the weights alone says 0 <= 0 under FedAvg.
        also = Status.VACUOUS if claim.key in ABOUT_SKEWS else wanted
        assert verdict.status in (wanted, also), (claim.key, verdict)
        assert verdict.error_rate == 0 and "no sampling error" in verdict.detail


def test_no_true_claim_is_refuted_under_fixed_weights():
    statuses = {}
    for claim, verdict in everything(make(ridge_problem(2), SKEWED)):
        if claim.kind is not Kind.RATE and claim.key not in MISPRINTS | {"error-by-pi"}:
            assert verdict.status is not Status.REFUTED, verdict
            statuses[claim.key, verdict.reading] = verdict
    assert statuses["theorem-1", "repaired"].status is Status.HOLDS
    assert statuses["final-bound", "literal"].status is Status.HOLDS
    assert "for every rho_bar in [" in statuses["theorem-1", "repaired"].detail
    assert "rho_bar" not in statuses["final-bound", "literal"].detail


@pytest.mark.parametrize("weighting", [FedAvg(), SKEWED])
def test_a_false_mutant_is_refuted(weighting):
    claim, run = CLAIMS["star-step"], seen(make(ridge_problem(1), weighting))
    assert expectation.examine(claim, run).status is Status.HOLDS
    part = Part("variance", (), claim.terms["variance"], claim.terms["variance"])
    verdict = expectation.examine(scaled(claim, part, -1), run)
    assert verdict.status is Status.REFUTED and verdict.evidence is Evidence.EXPECTATION and verdict.margin < 0


# One client with H = h I: Delta_{t+1} = (1 - eta h)^2 Delta_t + eta^2 sigma^2, an equality at every t.
KEPT, NOISE = (1 - symbols.eta * symbols.mu) ** 2 * symbols.Delta, symbols.eta**2 * symbols.sigma_sq
EQUALITY = Claim("equality", "", "", "step", symbols.Delta_next, {"kept": KEPT, "noise": NOISE}, Kind.IDENTITY)


def test_an_equality_is_decided_where_samples_leave_it_open():
    problem = quadratic(np.array([[2.0, 2.0]]), np.zeros((1, 2)), noise_std=0.5)
    experiment = make(problem, FedAvg(), eta=ConstantStep(0.1), tau=1, w0=np.zeros(2))
    slightly_false = replace(EQUALITY, terms={"kept": KEPT, "noise": NOISE * sp.Rational(999999, 1000000)})
    for claim, status in ((EQUALITY, Status.HOLDS), (slightly_false, Status.REFUTED)):
        for kind in (Kind.IDENTITY, Kind.INEQUALITY):
            assert expectation.examine(replace(claim, kind=kind), seen(experiment)).status is status
    largest = simulate(experiment, exact=True).paths["alpha"].gap.max()
    sampled = examine_run(simulate(experiment), READINGS["repaired"])
    for factor, status in ((1 + 1e-4, Status.HOLDS), (1 - 1e-4, Status.REFUTED)):
        terms = {"limit": sp.Rational(largest * factor)}
        below = replace(EQUALITY, kind=Kind.INEQUALITY, scope="horizon", lhs=symbols.gap, terms=terms)
        assert expectation.examine(below, seen(experiment)).status is status
        assert empirical.examine(below, sampled).status is Status.UNDECIDED


def test_the_interval_of_rho_bar_contains_every_sampled_skew():
    experiment = make(ridge_problem(0), SKEWED, replicates=64)
    for reading in ("sync", "repaired"):
        run = seen(experiment, reading)
        low, high = expectation.skew_range(run)
        # rho_bar is the infimum over all paths, so no path lies below `low`, and some lie below `high`.
        extremes = simulate(experiment).extremes
        sampled = extremes.rho_bar_sync if reading == "sync" else extremes.rho_bar_all
        assert low <= sampled.min() <= high


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(sorted(CLAIMS)), st.integers(0, 10**6))
def test_bounds_contain_the_value_at_every_point(key, seed):
    claim, rng = CLAIMS[key], np.random.default_rng(seed)
    reading = READINGS["repaired" if claim.repair else "literal"]
    expression = sp.sympify(claim.lhs - sp.Add(*claim.sides(reading).terms.values())).subs(dict(claim.definitions))
    ranges, point = {}, {}
    for symbol in expression.free_symbols:
        low, high = np.sort(rng.uniform(0.1, 5, 2)) if rng.random() < 0.7 else (2.0, 2.0)
        ranges[symbol.name] = (np.asarray(low), np.asarray(high))
        point[symbol.name] = rng.uniform(low, high)
    with np.errstate(divide="ignore", invalid="ignore"):
        below, above = expectation.bounds(expression, ranges)
    try:
        value = sp.lambdify(list(expression.free_symbols), expression, "math")(
            *(point[s.name] for s in expression.free_symbols)
        )
    except (TypeError, ValueError):  # the same of a power of a function, or of the larger of two such powers
        assume(False)
    assume(not isinstance(value, complex))  # a real power of a negative number has no place on the line
    slack = 1e-9 * (1 + abs(value))
    assert below - slack <= value <= above + slack


def test_moments_are_total_and_exact_unless_given():
    experiment = make(ridge_problem(1), SKEWED)
    extremes = simulate(experiment, exact=True).extremes
    constants = seen(experiment).constants
    assert constants["G_sq"].value == extremes.G_sq.max() and constants["sigma_sq"].value == extremes.sigma_i_sq.max()
    assert constants["G_sq"].provenance is Provenance.EXACT
    assert constants["rho_bar"].provenance is Provenance.BOUND
    given_run = seen(experiment, policy=Policy(sigma_sq=1e-9, G_sq=100.0))
    assert given_run.constants["G_sq"].value == 100 and given_run.constants["G_sq"].provenance is Provenance.GIVEN
    verdict = expectation.examine(CLAIMS["theorem-1"], given_run)
    assert verdict.status is Status.NOT_APPLICABLE and "Assumption 3" in verdict.detail


def test_points_and_sampled_runs_are_refused():
    experiment = make(ridge_problem(1), FedAvg())
    verdict = expectation.examine(CLAIMS["lemma-1"], seen(experiment, "literal"))
    assert verdict.status is Status.NOT_APPLICABLE and "every point" in verdict.detail
    with pytest.raises(InputError, match="exact=True"):
        expectation.exact_run(simulate(experiment), READINGS["repaired"])


def test_a_floor_is_a_floor_without_sampling_error():
    problem = quadratic(np.array([[1.0], [1.0]]), np.array([[-1.0], [1.0]]), np.array([0.5, 0.5]), noise_std=0.3)
    experiment = make(problem, Fixed((0.8, 0.2)), rounds=300)
    verdict = expectation.examine(CLAIMS["rate"], seen(experiment, "literal"))
    assert verdict.status is Status.REFUTED and verdict.evidence is Evidence.EXPECTATION
    low, high = verdict.data["floor"]
    assert low <= 0.6**2 / 2 <= high  # the minimiser of the weighted sum is at -0.6
    fair = expectation.examine(CLAIMS["rate"], seen(make(problem, FedAvg(), rounds=300), "literal"))
    assert fair.status is Status.UNDECIDED


def test_a_study_adds_this_evidence_where_it_applies():
    small = {"rounds": 4, "replicates": 16, "clients": 4, "samples": 20, "dimension": 3, "engine": "reference"}
    result = fedbounds.check("least-squares", weightings=["fedavg", "fedmax"], claims="all", **small)
    kinds = {(w, v.evidence) for w, v in result.verdicts}
    assert ("fedavg", Evidence.EXPECTATION) in kinds and ("fedmax", Evidence.EXPECTATION) not in kinds
    exact = {v.claim: v for w, v in result.verdicts if v.evidence is Evidence.EXPECTATION}
    assert exact["theorem-1"].status is Status.HOLDS
    assert "own step size" in exact["li-2020"].detail and exact["li-2020"].status is Status.HOLDS
    assert all(v.status is not Status.NOT_APPLICABLE for v in exact.values())
