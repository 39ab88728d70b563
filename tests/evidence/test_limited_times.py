"""T >= 1, R >= 1, T = tau and t >= 1 choose the times that a claim speaks of, in every kind of evidence."""

from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
import sympy as sp

from fedbounds.engine.simulate import simulate
from fedbounds.evidence.empirical import comparison
from fedbounds.evidence.exact.compare import examine, unexpressed
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.expectation import exact_run
from fedbounds.evidence.expectation import examine as in_expectation
from fedbounds.evidence.measured_run import examine_run
from fedbounds.evidence.prover import automatic
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.evidence.sdp.multi_round.verdict import meets
from fedbounds.model.experiment import Experiment
from fedbounds.model.schedule import ConstantStep
from fedbounds.problems.quadratic import quadratic
from fedbounds.referee.search.family import families
from fedbounds.referee.search.populations import BUDGETS
from fedbounds.referee.search.refute import refute
from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import Delta, Delta_0, Delta_next, Delta_T, L, R, T, eta, eta_0, mu, t, tau
from fedbounds.theory.verdict import Status
from fedbounds.weightings.fedavg import FedAvg

PLAIN = READINGS["plain"]
KEPT = 1 - eta_0 * mu
GD = (a.smooth, a.strongly_convex, a.full_participation, a.unbiased, a.full_gradients, a.homogeneous)


def times(relation):
    return Assumption(str(relation), str(relation), relation)


FROM_ONE, ROUNDS, ONE_ROUND = times(sp.Ge(T, 1)), times(sp.Ge(R, 1)), times(sp.Eq(T, tau))
LATE = times(sp.Ge(T, 5 * L / mu))


def contraction(power, *further):
    """||w_T - w*||^2 <= (1 - eta mu)^power ||w_0 - w*||^2 at a common minimiser."""
    limits = (a.small_steps, a.constant_steps)
    return Claim(
        "c", "c", "test", "horizon", Delta_T, {"left": KEPT**power * Delta_0}, assumptions=(*GD, *limits, *further)
    )


def instance(tau=1, total=2):
    return Instance(((F(1),),), ((F(0),),), p=(F(1),), w0=(F(3),), eta=(F(1, 2),) * total, tau=tau)


@pytest.mark.parametrize(
    ("power", "limit", "tau", "status"),
    [
        (T + 1, None, 1, Status.REFUTED),
        (T + 1, FROM_ONE, 1, Status.HOLDS),
        (T + tau, ROUNDS, 2, Status.HOLDS),
        (T + 2, FROM_ONE, 1, Status.REFUTED),
        (T + 2, ONE_ROUND, 2, Status.HOLDS),
        (T + 3, ONE_ROUND, 2, Status.REFUTED),
        (T, LATE, 1, Status.NOT_APPLICABLE),
        (T + 1, times(sp.Ge(t, 1)), 1, Status.UNDECIDED),
    ],
)
def test_fractions_judge_the_times_that_are_meant(power, limit, tau, status):
    claim = contraction(power, *([limit] if limit else []))
    verdict = examine(instance(tau), claim, PLAIN)
    assert verdict.status is status
    if status is Status.REFUTED and limit:
        assert verdict.data["t"] == tau  # the first time after the start that is meant


@pytest.mark.parametrize(("power", "status"), [(T + 1, Status.HOLDS), (T + 8, Status.REFUTED)])
def test_runs_and_expectations_judge_them_too(power, status):
    claim = contraction(power, FROM_ONE)
    problem = quadratic(np.array([[1.0, 2.0]]), np.zeros((1, 2)))
    experiment = Experiment(problem, FedAvg(), ConstantStep(0.25), tau=1, rounds=6, replicates=1, w0=np.ones(2))
    run = examine_run(simulate(experiment), PLAIN)
    expected = exact_run(simulate(experiment, exact=True), PLAIN)
    for verdict in (comparison.examine(claim, run), in_expectation(claim, expected)):
        assert verdict.status is status and verdict.worst_t >= 1
    assert comparison.compare(claim, run).times.tolist() == [1, 2, 3, 4, 5, 6]
    late = contraction(power, times(sp.Ge(T, 7)))
    assert comparison.examine(late, run).status is Status.NOT_APPLICABLE
    assert "at no time of the run" in comparison.examine(late, run).detail


def test_steps_of_a_claim_about_each_are_chosen_by_t():
    later = times(sp.Ge(t, 1))
    grows = Claim(
        "g", "g", "test", "step", Delta_next, {"b": (1 - eta * mu) ** 2 * t * Delta}, assumptions=(*GD, later)
    )
    assert examine(instance(), replace(grows, assumptions=GD), PLAIN).status is Status.REFUTED
    assert examine(instance(), grows, PLAIN).status is Status.HOLDS


def test_the_search_looks_for_violations_at_such_times_alone():
    budget = replace(BUDGETS["small"], name="tiny", generations=3, population=4, polish=10, shrink=1000)
    known = {"diagonal": replace(families()["diagonal"], noises=("",), absent=False)}
    assert unexpressed(contraction(T + 1, FROM_ONE), PLAIN) == ()
    assert refute(contraction(T + 1, FROM_ONE), PLAIN, budget, by_family=known).status is Status.UNDECIDED
    false = refute(contraction(2 * T + 1, FROM_ONE), PLAIN, budget, by_family=known)
    assert false.status is Status.REFUTED and false.data["t"] >= 1


def test_certificates_and_proofs_of_whole_runs_take_them_as_facts():
    one, two = (Run(rounds, 2, F(1, 2), F(1), (F(1, 2),) * 2 * rounds) for rounds in (1, 2))
    claim = contraction(T + tau, ONE_ROUND)
    assert meets(claim, PLAIN, one, F(1, 2)) and not meets(claim, PLAIN, two, F(1, 2))
    assert not meets(contraction(T, times(sp.Ge(R, 2))), PLAIN, one, F(1, 2))
    one_step = Assumption("one", "tau = 1", sp.Eq(tau, 1))
    assert automatic.proved(contraction(2 * T, ROUNDS, one_step), PLAIN) is not None
    assert "what R is" not in automatic.why_none(contraction(3 * T, ROUNDS), PLAIN)
