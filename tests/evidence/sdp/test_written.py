"""Certificates read quantities from the expressions of points that they are written as."""

import math
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence.judge import without_facets
from fedbounds.evidence.kernel import claim_statement, point_statement
from fedbounds.evidence.sdp.multi_round import verdict as of_runs
from fedbounds.evidence.sdp.multi_round.claim_at_run import ClaimAtRun
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.evidence.sdp.one_step.certificate import check
from fedbounds.evidence.sdp.one_step.coverage import coverage, homogeneous
from fedbounds.evidence.sdp.one_step.parameters import applies, round_setting
from fedbounds.evidence.sdp.one_step.point_expressions import number, written
from fedbounds.evidence.sdp.one_step.program import build
from fedbounds.evidence.sdp.one_step.right_hand_side import coefficients
from fedbounds.evidence.sdp.one_step.tight_constants import split, tight
from fedbounds.evidence.sdp.one_step.verdict import examination, examine
from fedbounds.evidence.sdp.program import exact
from fedbounds.referee.certificate_settings import GRIDS, runs
from fedbounds.theory import assumptions as a
from fedbounds.theory import path_quantities as pq
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.point_values import PointFormula
from fedbounds.theory.points import (
    F as objective,
)
from fedbounds.theory.points import (
    F_star,
    grad,
    inner,
    mean,
    mean_alpha,
    norm_sq,
    p_i,
    w,
    w_i,
    w_star,
    weight_ratio,
)
from fedbounds.theory.quantity import constant, measured
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import (
    Delta,
    Delta_0,
    Delta_next,
    Delta_T,
    G_sq,
    Gamma,
    L,
    N,
    drift,
    eta,
    gap,
    gap_t,
    mu,
    sigma_sq,
    tau,
    zeta_star_sq,
)
from fedbounds.theory.verdict import Status

P = (F(1, 3), F(2, 3))
SETTING = round_setting(kappa=10, eta=F(1, 4), reading="plain", p=P)
ANY = round_setting(tau=2, kappa=10, eta=F(1, 4), alpha=(F(1, 4), F(3, 4)), p=P, local="any")
ONE_STEP = a.Assumption("one-step", "tau = 1", sp.Eq(tau, 1))


def claim(lhs, rhs, scope="step", *more):
    return Claim("own", "", "", scope, lhs, {"all": rhs}, assumptions=(a.smooth, a.strongly_convex, *more))


@pytest.mark.parametrize(
    ("lhs", "rhs", "scope", "more", "setting"),
    [
        (pq.slope_sq, 2 * L * (gap_t + Gamma) + pq.chi_sq * zeta_star_sq, "step", (), SETTING),
        (pq.optimum_to_mean, (L - mu) ** 2 / (4 * L * mu) * pq.spread_of_optima, "constant", (), SETTING),
        (Delta_next, (1 - eta * mu) * Delta + 2 * eta**2 * zeta_star_sq, "step", (a.unbiased, ONE_STEP), SETTING),
        (pq.average_models_gap, gap_t + L * pq.dispersion + 4 * L * Delta, "step", (), ANY),
    ],
)
def test_a_true_statement_is_certified_and_its_certificate_checks(lhs, rhs, scope, more, setting):
    stated = claim(lhs, rhs, scope, *more)
    verdict, certificate = examination(stated, setting)
    assert verdict.status is Status.HOLDS and check(certificate, {"own": stated})[0]
    wrong = {name: str(-F(value)) for name, value in certificate.multipliers.items()}
    assert not check(replace(certificate, multipliers=wrong), {"own": stated})[0]
    assert "certificates cannot express" not in " ".join(without_facets(stated))


@pytest.mark.parametrize(
    ("lhs", "rhs", "scope"),
    [(pq.slope_sq, 2 * L * gap_t + zeta_star_sq, "step"), (Gamma, zeta_star_sq / (2 * L), "constant")],
)
def test_a_false_statement_is_refuted_by_functions_that_are_rebuilt(lhs, rhs, scope):
    verdict, _ = examination(claim(lhs, rhs, scope), SETTING)
    assert verdict.status is Status.REFUTED


def test_expressions_are_read_as_the_forms_that_one_writes_by_hand():
    given = {
        "by_points": mean(norm_sq(grad(w_star))),
        "pull_by_points": inner(w - w_star, mean_alpha(grad(w_i))),
        "slope": norm_sq(mean_alpha(grad(w_i))),
    }
    model = build(ANY, exact, written=given)
    pairs = (("by_points", "star_grad_sq"), ("slope", "mean_slope_sq"))
    hand = build(ANY, exact)
    for read, name in pairs:
        assert model[read].terms == hand[name].terms
    assert np.array_equal(model.form(model["pull_by_points"]).quad, hand.form(hand["pull"]).quad)


def test_what_a_model_has_no_form_for_is_not_put_to_it():
    assert not applies(claim(pq.displaced_sq, zeta_star_sq / mu**2))
    product = measured("product", norm_sq(w) * norm_sq(w - w_star))
    assert not applies(claim(product, Delta))


FAR = norm_sq(w - w_star)


@pytest.mark.parametrize(
    "expression",
    [
        mean(p_i) * FAR,
        norm_sq(mean((weight_ratio - 1) * grad(w))),
        FAR**2,
        FAR**2 / (FAR + norm_sq(w)),
    ],
)
def test_a_product_or_a_quotient_is_no_form_and_is_not_read_as_nothing(expression):
    own = measured("own_form", expression)
    assert not written({own})
    assert not applies(claim(own, Delta)) and not applies(claim(Delta, own))
    assert examine(claim(own, Delta), SETTING).status is Status.NOT_APPLICABLE


@pytest.mark.parametrize("one", [eta * mean(weight_ratio**2), mean(weight_ratio**2) / eta, L * mean(weight_ratio**2)])
def test_what_weights_are_times_a_number_of_the_run_is_no_number_of_the_weights(one):
    """At a step of size 1, where they are read alone, eta is 1; L is not known there."""
    own = measured("scaled_weights", one)
    assert not applies(claim(Delta, own * Delta))
    alone = measured("weights_alone", mean(weight_ratio**2))
    assert applies(claim(Delta, alone * Delta)) and number(alone, SETTING.alpha, SETTING.p) is not None
    assert number(own, SETTING.alpha, SETTING.p) is None


FIVE = {name: constant(name, lambda losses: 5, nonnegative=True) for name in ("_p", "_ratio", "parting", "five")}


@pytest.mark.parametrize("inside", FIVE.values(), ids=list(FIVE))
def test_a_quantity_is_made_of_shipped_numbers(inside):
    """One of another's name is read as the other, and one of one's own has the sign that its author says."""
    for expression in (inside * FAR, mean(inside * norm_sq(w - w_star) * p_i)):
        with pytest.raises(InputError, match="none of the shipped numbers"):
            measured("of_mine", expression)
    changed = measured("of_mine", FAR)
    changed.on_path = PointFormula(inside * FAR)
    assert not written({changed}) and not applies(claim(changed, Delta))


@pytest.mark.parametrize("name", ["Delta", "mu", "zeta_star_sq"])
def test_a_claim_changed_since_it_was_made_is_not_read_by_names(name):
    mine = claim(Delta_next, Delta)
    mine.terms["all"] = 0 * L + sp.Symbol(name, nonnegative=True)
    readers = (
        lambda: coefficients(mine, SETTING),
        lambda: list(ClaimAtRun(mine, READINGS["plain"], Run(1, 1, F(1, 2), F(1), F(1, 2)), F(1, 2)).claimed()),
        lambda: claim_statement.statement(mine, READINGS["plain"]),
        lambda: point_statement.statement(mine, READINGS["plain"]),
    )
    for read in readers:
        with pytest.raises(InputError, match="must be the claims' own"):
            read()


@pytest.mark.parametrize("root", [FAR / sp.sqrt(mu), sp.sqrt(N) * FAR, sp.sqrt(mean(weight_ratio**2))])
def test_a_quantity_written_in_points_has_whole_powers(root):
    with pytest.raises(InputError, match="is no word of fedbounds"):
        measured("rooted", root)


@pytest.mark.parametrize("slope", [grad(w), mean(grad(w))])
def test_what_needs_no_multipliers_is_proved_with_none(slope):
    """Where local models are w_t and weights are equal, no constraint is active."""
    left = measured("spelt", mean(N * p_i * norm_sq(slope / L)))
    right = measured("otherwise", mean_alpha(norm_sq(grad(mean(w_i)) / L)))
    setting = round_setting(2, 1, kappa=2, eta=F(1, 4))
    verdict, certificate = examination(claim(left, right), setting)
    assert verdict.status is Status.HOLDS and not certificate.multipliers
    assert examine(claim(left, right / 2), setting).status is not Status.HOLDS


V = measured("V", mean(norm_sq(grad(w) - grad(w_star))))
EQUAL = round_setting(2, 1)


@pytest.mark.parametrize(("less", "needed"), [(0, 2), (V / 2, 3)])
def test_a_quantity_on_either_side_has_its_part_in_the_constant(less, needed):
    """V <= 2 L gap is tight; with half of V taken off the right side, 3 is."""
    terms = {"gap": 4 * L * gap_t, **({"less": -less} if less else {})}
    claim = Claim("v", "", "", "step", V, terms, assumptions=(a.smooth, a.strongly_convex))
    constant = tight(claim, EQUAL, "gap")
    assert math.isclose(constant.solver, needed, rel_tol=1e-6)
    if less:
        assert split(claim, EQUAL, "gap").rhs(F(3))["V"] == F(-1, 2)


@pytest.mark.parametrize(
    ("left", "terms"),
    [
        (Delta_next, {"contraction": Gamma / L, "rest": Delta + 2 * eta**2 * sigma_sq}),
        (Delta_next, {"contraction": Delta + Gamma / L}),
        (drift, {"contraction": eta**2 * tau**2 * G_sq}),
    ],
)
def test_a_contraction_is_a_multiple_of_the_distance(left, terms):
    of_class = (a.smooth, a.strongly_convex, a.bounded_variance, a.bounded_gradient)
    claim = Claim("c", "", "", "step", left, terms, assumptions=of_class)
    with pytest.raises(InputError, match="must be a multiple of Delta"):
        tight(claim, EQUAL, "contraction")


CONVEX = (a.smooth, a.strongly_convex, a.full_participation)
PLAIN = READINGS["plain"]
SHORT = round_setting(clients=2, tau=1, kappa=F(2), eta=F(1, 4))
GSQ = measured("gsq", norm_sq(mean(grad(w))))
GAP = measured("own_gap", objective(w) - F_star)


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
    assert "L" in coverage(claim, SHORT).axes


def test_a_claim_that_does_not_names_none():
    claim = step("decrease", Delta, Delta * (1 + eta * L) * sp.Max(1, L * eta))
    assert homogeneous(claim, PLAIN) and "L" not in coverage(claim, SHORT).axes


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
    assert examine(claim, SHORT).status is Status.HOLDS
