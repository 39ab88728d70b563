"""A certificate is found at L = 1: it speaks of every L only of a claim that says the same in every unit."""

from fractions import Fraction

import pytest
import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence.exact.compare import examine as exactly
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.sdp.multi_round import verdict as of_runs
from fedbounds.evidence.sdp.one_step.coverage import coverage, homogeneous
from fedbounds.evidence.sdp.one_step.parameters import round_setting
from fedbounds.evidence.sdp.one_step.verdict import examine
from fedbounds.referee.certificate_settings import GRIDS, runs
from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.points import F, F_star, grad, mean, norm_sq, w
from fedbounds.theory.quantity import measured
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import Delta, Delta_0, Delta_T, L, eta, gap, sigma_sq, tau, zeta_star_sq
from fedbounds.theory.verdict import Status

CONVEX = (a.smooth, a.strongly_convex, a.full_participation)
PLAIN = READINGS["plain"]
SETTING = round_setting(clients=2, tau=1, kappa=Fraction(2), eta=Fraction(1, 4))
GSQ = measured("gsq", norm_sq(mean(grad(w))))
GAP = measured("own_gap", F(w) - F_star)
LARGE = Instance(
    curvatures=((Fraction(2000),),) * 2, minima=((Fraction(0),),) * 2, p=(Fraction(1, 2),) * 2, w0=(Fraction(1),),
    eta=(Fraction(1, 8000),), L=Fraction(2000), mu=Fraction(1000), weighting="fedavg",
)  # fmt: skip


def step(key, lhs, rhs):
    return Claim(key, "", "", "step", lhs, {"bound": rhs}, assumptions=CONVEX, eta=1 / (4 * L))


STEPS = [
    step("gradient", GSQ, Delta),
    step("gap", GAP, Delta / 2),
    step("switch", Delta, Delta * sp.Min(1, 1000 / L)),
    step("crafted", Delta, Delta * (1 + (L - 1) ** 2 * (L - 3) ** 2)),
    step("root", Delta, Delta * sp.log(L + 1)),
]


def test_units_that_an_expression_has_not_are_refused():
    with pytest.raises(InputError, match="leave units out"):
        measured("squared_gradient", norm_sq(mean(grad(w))), units=(2, 0))


@pytest.mark.parametrize("claim", STEPS, ids=lambda claim: claim.key)
def test_a_claim_that_depends_on_the_unit_names_its_L(claim):
    assert not homogeneous(claim, PLAIN)
    assert "L" in coverage(claim, SETTING).axes


@pytest.mark.parametrize("claim", STEPS[:3], ids=lambda claim: claim.key)
def test_it_is_false_at_another_L(claim):
    assert exactly(LARGE, claim, PLAIN).status is Status.REFUTED


def test_a_claim_that_does_not_names_none():
    claim = step("decrease", Delta, Delta * (1 + eta * L) * sp.Max(1, L * eta))
    assert homogeneous(claim, PLAIN) and "L" not in coverage(claim, SETTING).axes


QUIET = Assumption("quiet", "sigma^2 = 0", sp.Eq(sigma_sq, 0, evaluate=False))
ONE = Assumption("one", "tau = 1", sp.Eq(tau, 1, evaluate=False))


@pytest.mark.parametrize(
    ("lhs", "rhs", "named"),
    [
        (gap, Delta_0 / 2, True),
        (Delta_T, sp.Min(1, 1000 / L) * Delta_0, True),
        (gap, L * Delta_0 / 2, False),
        (Delta_T, Delta_0 + 100 * zeta_star_sq / L**2, False),
    ],
)
def test_a_certificate_of_a_whole_run_names_its_L_too(lhs, rhs, named):
    assumed = (*CONVEX, a.unbiased, QUIET, ONE)
    claim = Claim("whole", "", "", "horizon", lhs, {"bound": rhs}, assumptions=assumed, eta=1 / (2 * L))
    run, first = next(iter(runs(claim, PLAIN, GRIDS["small"])))
    verdict = of_runs.examine(claim, PLAIN, run, first)
    assert verdict.status is Status.HOLDS
    assert ("L" in verdict.coverage.axes) is named


def test_a_gradient_at_a_point_with_a_gradient_inside_is_read():
    ahead = measured("ahead", norm_sq(mean(grad(w - eta * mean(grad(w))))))
    claim = Claim("ahead", "", "", "step", ahead, {"now": GSQ}, assumptions=CONVEX, eta=1 / (4 * L))
    assert examine(claim, SETTING).status is Status.HOLDS
