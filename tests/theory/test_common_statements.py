"""What drafts commonly say, in Python: one example for each, and whether it is met on a run and in fractions."""

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from fedbounds.engine.simulate import simulate
from fedbounds.errors import InputError
from fedbounds.evidence.assumption_checks import judged_on
from fedbounds.evidence.empirical.comparison import examine
from fedbounds.evidence.exact.compare import examine as in_fractions
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.measured_run import Policy, examine_run
from fedbounds.model.experiment import Experiment
from fedbounds.model.schedule import ConstantStep, InverseTime
from fedbounds.problems.quadratic import quadratic
from fedbounds.theory import Claim
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as s
from fedbounds.theory.reading import READINGS
from fedbounds.theory.sample_path import Path
from fedbounds.theory.verdict import Status
from fedbounds.weightings.fedavg import FedAvg
from fedbounds.weightings.fedmax import FedMax
from fedbounds.weightings.multinomial import Multinomial

PLAIN = READINGS["plain"]
PROBLEM = quadratic(np.array([[1.0], [2.0]]), np.array([[0.0], [3.0]]), np.array([0.5, 0.5]))
SLOPES = s.QUANTITIES["mean_slope_sq"]
TWO = Instance(
    curvatures=((Fraction(1),), (Fraction(2),)),
    minima=((Fraction(0),), (Fraction(3),)),
    p=(Fraction(1, 2), Fraction(1, 2)),
    w0=(Fraction(5),),
    eta=(Fraction(1, 10),) * 4,
    tau=2,
    weighting="fedavg",
)


def run(weighting=None, eta=None, **more):
    weighting, eta = weighting or FedAvg(), eta or ConstantStep(0.1)
    settings = {"tau": 2, "rounds": 3, "replicates": 1, "batch_size": None, "w0": np.array([5.0])}
    made = simulate(Experiment(PROBLEM, weighting, eta, **(settings | more)))
    return examine_run(made, PLAIN, Policy())


def claim(*assumptions, scope="step", lhs=s.Delta_next, terms=None, **more):
    return Claim("mine", "", "", scope, lhs, terms or {"start": 100 * s.Delta}, assumptions=assumptions, **more)


def unmet(assumption, **made):
    result = judged_on(claim(assumption), run(**made))
    return tuple(item.key for item in result.failed) + result.unknown


@pytest.mark.parametrize(
    "assumption, met, not_met",
    [
        (a.constant_steps, {}, {"eta": InverseTime(1.0, 8.0)}),
        (a.weighting("fedmax"), {"weighting": FedMax()}, {}),
        (a.weighting("fedmax:2"), {"weighting": FedMax(2)}, {"weighting": FedMax()}),
        (a.without_replacement, {"participation": 0.5}, {"weighting": FedMax()}),
        (a.with_replacement, {"weighting": Multinomial(2)}, {"participation": 0.5}),
    ],
)
def test_an_assumption_on_the_protocol_is_checked_on_a_run(assumption, met, not_met):
    assert unmet(assumption, **met) == ()
    assert unmet(assumption, **not_met) == (assumption.key,)


@pytest.mark.parametrize("assumption", [a.convex, a.polyak_lojasiewicz, a.independent_selection])
def test_a_convex_run_of_everybody_meets_what_follows_from_it(assumption):
    assert unmet(assumption) == ()


# What docs/symbols.md marks for runs and fractions: the quantity and its scope.
MARKED = {
    s.Delta_round: "step",
    s.gap_round: "step",
    s.average_gap: "horizon",
    s.eta_average_gap: "horizon",
    s.least_over_steps(s.gap_t): "horizon",
    SLOPES: "step",
    s.sum_over_steps(s.eta * s.gap_t): "horizon",
    s.sum_over_steps(SLOPES): "horizon",
    s.sum_over_rounds(s.gap_round): "horizon",
}


@pytest.mark.parametrize("quantity", MARKED, ids=str)
def test_what_is_marked_for_runs_and_fractions_is_decided_there(quantity):
    for factor, status in ((10**6, Status.HOLDS), (sp.Rational(1, 10**6), Status.REFUTED)):
        mine = claim(scope=MARKED[quantity], lhs=quantity, terms={"start": factor * s.Delta_0})
        assert examine(mine, run()).status is status
        assert in_fractions(TWO, mine, PLAIN).status is status


def test_what_is_summed_over_steps_and_rounds():
    path = Path(tau=2, eta=np.array([1.0, 2.0, 3.0, 4.0]))
    assert s.sum_over_steps(s.eta**2).on_path(path).tolist() == [0, 1, 5, 14, 30]
    assert s.sum_over_rounds(s.eta).on_path(path).tolist() == [0, 0, 1, 1, 4]
    assert s.R.on_path(path).tolist() == [0, 0, 1, 1, 2]
    for term in (s.L * s.eta, s.Delta**2, s.Delta * s.gap_t, s.eta ** sp.Rational(1, 2)):
        with pytest.raises(InputError, match="a sum"):
            s.sum_over_steps(term)
