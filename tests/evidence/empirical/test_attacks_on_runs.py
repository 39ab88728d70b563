"""Attacks on verdicts of runs: forgotten randomness, thinning, rounding, rare events, nothing tested."""

from dataclasses import dataclass

import numpy as np
import pytest
import sympy as sp

from fedbounds.engine.simulate import simulate
from fedbounds.evidence import expectation
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.evidence.measured_run import examine_run
from fedbounds.model.experiment import Experiment
from fedbounds.model.schedule import ConstantStep, InverseTime
from fedbounds.model.weighting import Weighting
from fedbounds.plugins import claim_named
from fedbounds.problems.least_squares import LeastSquaresProblem
from fedbounds.problems.quadratic import QuadraticProblem, quadratic
from fedbounds.theory import symbols as s
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status
from fedbounds.weightings.fedavg import FedAvg
from fedbounds.weightings.power_of_choice import PowerOfChoice

READING = READINGS["all-steps"]


def made(scope, lhs, rhs, kind=Kind.INEQUALITY, assumptions=()):
    sides = {"lhs": sp.nsimplify(lhs, rational=True), "terms": {"rhs": sp.nsimplify(rhs, rational=True)}}
    return Claim("made", "", "", scope, **sides, kind=kind, assumptions=assumptions, readings=("all-steps",))


def noisy(weighting=None, **changes):
    problem = changes.pop("problem", quadratic(np.ones((3, 1)), np.array([[-1.0], [0.5], [2.0]]), noise_std=1.0))
    made_with = {"tau": 2, "rounds": 10, "replicates": 64, "batch_size": 1, "engine": "reference"} | changes
    step = made_with.pop("eta", ConstantStep(0.1))
    experiment = Experiment(problem, weighting or FedAvg(), step, **made_with)
    return simulate(experiment)


def verdict(claim, trajectory, rate=1e-3):
    return empirical.examine(claim, examine_run(trajectory, READING), rate)


# Randomness


@pytest.mark.parametrize(
    "protocol",
    [{"participation": 0.5}, {"weighting": PowerOfChoice(2, 1)}],
)
def test_gap_t_and_weights_are_random(protocol):
    """gap_t varies from t = 1 on; a claim true on average must not be refuted for its spread, nor crash."""
    trajectory = noisy(w0=np.array([3.0]), **protocol)
    run = examine_run(trajectory, READING)
    smooth = made("step", s.gap_t, s.L / 2 * s.Delta)
    known = empirical.known_columns(smooth, run, np.arange(5))
    assert known.tolist() == [True, False, False, False, False]
    assert verdict(smooth, trajectory).status is not Status.REFUTED
    contraction = made("step", s.Delta_next, s.Delta)
    first = empirical.known_columns(contraction, run, np.arange(2))
    assert first.tolist() == [False, False]  # the weights of the first round vary as well
    assert verdict(made("step", s.gap_t, sp.Integer(100)), trajectory, 1e-6).status is not Status.REFUTED


# Thinning


def test_a_thinned_run_refutes_and_never_holds():
    """drift <= 0 is true at every aggregation, and only there: with tau = stride = 5 nothing else is recorded."""
    claim = made("step", s.drift, sp.Integer(0))
    changes = {"tau": 5, "eta": InverseTime(1.0, 4.0), "batch_size": None, "replicates": 1}
    for stride, status in ((5, Status.VACUOUS), (1, Status.REFUTED), (2, Status.REFUTED)):
        assert verdict(claim, noisy(stride=stride, **changes)).status is status
    below = made("step", s.drift, s.eta)
    result = verdict(below, noisy(stride=5, w0=np.array([3.0]), **{**changes, "replicates": 4}))
    assert result.status is Status.UNDECIDED and "thinned run can refute, not hold" in result.detail
    exact = simulate(noisy(stride=5, **(changes | {"batch_size": 1, "replicates": 64})).experiment, exact=True)
    result = expectation.examine(below, expectation.exact_run(exact, READING))
    assert result.status is Status.UNDECIDED and "thinned" in result.detail
    assert expectation.examine(claim, expectation.exact_run(exact, READING)).status is not Status.HOLDS


# Rounding


@pytest.mark.parametrize("large", [1e10, 1e16])
@pytest.mark.parametrize("kind", [Kind.INEQUALITY, Kind.IDENTITY])
def test_a_false_claim_hidden_in_rounding_does_not_hold(large, kind):
    hidden = made("step", s.Delta_next, sp.Float(large) * (s.eta - s.eta_0) + s.Delta / 100, kind)
    trajectory = noisy(batch_size=None, w0=np.array([3.0]), eta=ConstantStep(0.1), replicates=1)
    assert verdict(hidden, trajectory).status in (Status.UNDECIDED, Status.REFUTED)
    if large >= 1e13:
        result = verdict(hidden, trajectory)
        assert result.status is Status.UNDECIDED and result.tightness is None


# Nothing tested


@pytest.mark.parametrize("scope, side", [("step", s.drift), ("constant", sp.Integer(0))])
def test_nothing_against_nothing_is_vacuous(scope, side):
    trajectory = noisy(tau=1, batch_size=None, replicates=1)
    result = verdict(made(scope, side, sp.Integer(0)), trajectory)
    assert result.status is Status.VACUOUS and "nothing was tested" in result.detail


# Rare events


def rare_problem(size=1.0, count=20_000):
    """Least squares in one dimension: targets of order 1 but one, whose gradient noise is nearly all there is."""
    features, targets = np.ones((count, 1)), np.random.default_rng(0).standard_normal(count)
    targets[0] = size * count
    return LeastSquaresProblem([features], [targets])


@pytest.mark.parametrize("seed", [0, 1])
def test_rare_events_unseen_or_barely_seen_decide_nothing(seed):
    trajectory = noisy(problem=rare_problem(), tau=1, rounds=20, seed=seed, w0=np.array([1.0]))
    exact = simulate(trajectory.experiment, exact=True).paths["alpha"].distance_sq[0, -1]
    false, equality = false_and_true(exact)
    assert verdict(false, trajectory).status is not Status.HOLDS
    assert verdict(equality, trajectory).status is not Status.REFUTED


def false_and_true(exact):
    """A claim that E Delta_20 is 130 times smaller than it is, and an equality at T = 20."""
    return (
        made("horizon", s.Delta_T, sp.Float(exact / 130) + 2 * s.Delta_0 / (1 + s.T)),
        made("horizon", sp.Float(exact), s.Delta_T + 10 * exact * (20 - s.T)),
    )


@dataclass(frozen=True)
class Rarely(Weighting):
    """All weight on the last client with probability 1/4,000, p otherwise."""

    name: str = "rarely"
    random = True

    def __call__(self, p, excess, round, stream):
        rare = stream.uniform(1) < 1 / RARE
        return np.where(rare, np.eye(excess.shape[-1])[-1], np.broadcast_to(p, excess.shape))


RARE = 4_000


def rare_weights(which):
    """(run, E Delta_20) where one client in 4,000, or weights of that probability, move the model far.

    All curvatures are 1, so that with tau = 1 a round is w - eta (w - sum_i alpha_i m_i): E Delta follows from the
    mean and the variance of sum_i alpha_i m_i.
    """
    one = which == "client"
    p = np.full(RARE, 1 / RARE) if one else np.array([1 - 1e-9, 1e-9])
    weighting, share = (FedAvg(), 1 / RARE) if one else (Rarely(), 1.0)
    minima = np.zeros(len(p))
    minima[-1] = far = 20_000.0
    problem = quadratic(np.ones((len(p), 1)), minima[:, None], p=p, noise_std=1.0)
    w_star, q, eta_ = p @ minima, 1 / RARE, 0.1
    mean, variance = q * far - w_star, q * (1 - q) * far**2
    away, spread = 1.0 - w_star, 0.0
    for _ in range(20):
        away, spread = (1 - eta_) * away + eta_ * mean, (1 - eta_) ** 2 * spread + eta_**2 * (variance + 1)
    protocol = {"tau": 1, "rounds": 20, "w0": np.array([1.0]), "participation": share}
    return noisy(weighting, problem=problem, **protocol), away**2 + spread


@pytest.mark.parametrize("which", ["client", "weights"])
def test_rare_clients_and_rare_weights_decide_nothing(which, monkeypatch):
    trajectory, exact = rare_weights(which)
    false, equality = false_and_true(exact)
    for claim in false, equality:
        result = verdict(claim, trajectory)
        assert result.status is Status.UNDECIDED and "may not have been seen" in result.detail
    monkeypatch.setattr(empirical, "distrust", lambda *_: None)
    assert [verdict(claim, trajectory).status for claim in (false, equality)] == [Status.HOLDS, Status.REFUTED]


@pytest.mark.parametrize("weighting, share", [(FedAvg(), 0.5), (PowerOfChoice(2, 1), 1.0)])
def test_random_weights_of_which_all_are_likely_or_harmless_still_decide(weighting, share):
    trajectory = noisy(weighting=weighting, participation=share, w0=np.array([3.0]), replicates=256)
    assert verdict(made("horizon", s.Delta_T, 2 * s.Delta_0), trajectory).status is Status.HOLDS
    assert verdict(made("horizon", s.gap, sp.Rational(1, 10**6)), trajectory).status is Status.REFUTED


# Bounds that are no numbers


def test_a_bound_of_minus_infinity_leaves_it_open():
    """100 - 1/(T - 4)^2 is -infinity at T = 4, a recorded time, and well above Delta_T at all others."""
    trajectory = noisy()
    result = verdict(made("horizon", s.Delta_T, 100 - (s.T - 4) ** -2), trajectory)
    assert result.status is Status.UNDECIDED and "-infinity at 1 times, first at t = 4" in result.detail
    assert verdict(made("horizon", s.Delta_T, 1e-6 - (s.T - 4) ** -2), trajectory).status is Status.REFUTED
    above = verdict(made("horizon", s.Delta_T, 100 + (s.T - 4) ** -2), trajectory)
    assert above.status is Status.HOLDS and "1 of 21 times left out" in above.detail


# Expectations of what is not linear


@pytest.mark.parametrize(
    "lhs, rhs",
    [
        (sp.sqrt(s.Delta_T), s.Delta_0 + 100),
        (s.Delta_T**2, sp.Rational(1, 10**6)),
        (s.Delta_T * s.gap, sp.Integer(1000)),
        (sp.Piecewise((s.Delta_T, s.T > 3), (sp.sqrt(s.Delta_T), True)), s.Delta_0 + 100),
        (s.Delta_T, 1 / (1 + s.Delta_T)),
    ],
)
def test_means_of_replicates_do_not_stand_for_what_is_not_linear(lhs, rhs):
    """E sqrt(X) < sqrt(E X) and E X^2 > (E X)^2: of the false the first may hold, of the true the second fail."""
    result = verdict(made("horizon", lhs, rhs), noisy())
    assert result.status is Status.UNDECIDED and "not linear in expectations" in result.detail


def test_replicates_that_all_agree_get_no_band_and_it_is_said():
    """Full gradients of FedAvg with a share of equal clients: random by rule, the same by chance or by symmetry."""
    problem = quadratic(np.ones((3, 1)), np.zeros((3, 1)))
    trajectory = noisy(problem=problem, participation=0.5, batch_size=None, w0=np.array([3.0]))
    result = verdict(made("horizon", s.Delta_T, s.Delta_T / 2), trajectory)
    assert result.status is not Status.HOLDS
    late = verdict(made("horizon", s.Delta_T, 2 * s.Delta_T), trajectory)
    assert late.status is Status.UNDECIDED and "20 of 21 times all replicates agree to rounding" in late.detail


@pytest.mark.parametrize("mu, z, eta, tau, rounds", [(1e-2, 1e4, 1e-3, 1, 20), (1e-4, 1e6, 2.38e-8, 2, 100)])
def test_a_bound_cancelled_away_in_floats_refutes_nothing(mu, z, eta, tau, rounds):
    own = np.array([[0.0, z], [0.0, -z]])
    problem = QuadraticProblem(np.stack([np.diag([mu, 1.0])] * 2), own, np.full(2, -(z**2) / 2), np.full(2, 0.5))
    protocol = {"tau": tau, "rounds": rounds, "replicates": 1, "batch_size": None, "w0": np.array([1.0, 0.0])}
    experiment = Experiment(problem, FedAvg(), ConstantStep(eta), **protocol)
    result = verdict(claim_named("fedavg-contraction"), simulate(experiment))
    assert result.status in (Status.HOLDS, Status.UNDECIDED), result.detail
