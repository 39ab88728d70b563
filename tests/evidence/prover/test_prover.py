"""Statements of strangers are proved by the machine, and false neighbours of them are not."""

import pytest
import sympy as sp

from fedbounds.evidence.prover import automatic
from fedbounds.evidence.symbolic import verified_proofs
from fedbounds.evidence.symbolic.definitions import GAP_NEXT
from fedbounds.evidence.symbolic.derivation import Derivation, premise, step
from fedbounds.theory import assumptions as a
from fedbounds.theory import quantity
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import (
    C,
    Delta,
    Delta_0,
    Delta_next,
    Delta_T,
    G_sq,
    Gamma,
    L,
    N,
    T,
    average_gap,
    drift,
    eta,
    eta_0,
    eta_ratio,
    excess,
    gamma,
    gap,
    gap_t,
    grad_sq,
    mu,
    sigma_sq,
    t,
    tau,
    zeta_star_sq,
)
from fedbounds.theory.verdict import Status

CLASS = (a.smooth, a.strongly_convex)
ROUND = quantity.measured("my_round", lambda path: 0 * path.eta, nonnegative=True)
SGD = (*CLASS, a.bounded_variance, a.full_participation, a.unbiased, Assumption("one", "tau = 1", sp.Eq(tau, 1)))
SLOW = (*SGD, a.small_steps)
NOISE = eta**2 * sigma_sq


def proved(scope, lhs, rhs, *assumptions, **more):
    claim = Claim(
        "mine",
        "Mine",
        "a stranger",
        scope,
        sp.sympify(lhs),
        {"all": sp.sympify(rhs)},
        assumptions=assumptions,
        **more,
    )
    return automatic.examine(claim, READINGS["plain"]) is not None


@pytest.mark.parametrize(
    ("scope", "lhs", "rhs", "assumptions"),
    [
        ("point", excess, grad_sq / (2 * mu), CLASS),
        ("constant", zeta_star_sq, 2 * L * Gamma, CLASS),
        ("step", mu / 2 * Delta, gap_t, CLASS),
        ("step", Delta_next, (1 - eta * mu) * Delta + NOISE, SLOW),
    ],
)
def test_a_true_statement_is_proved_and_with_a_smaller_bound_it_is_not(scope, lhs, rhs, assumptions):
    assert proved(scope, lhs, rhs, *assumptions)
    assert not proved(scope, lhs, sp.Rational(99, 100) * rhs, *assumptions)


def test_an_assumption_that_is_dropped_is_missed():
    assert not proved("point", excess, grad_sq / (2 * mu), a.smooth)
    assert not proved("step", Delta_next, (1 - eta * mu) * Delta + NOISE, *SGD)


RATE = {"eta": 2 / (mu * (gamma + t)), "definitions": {gamma: sp.Max(8 * L / mu, tau)}}


def test_a_whole_run_is_proved_by_induction_and_a_rate_that_is_too_good_is_not():
    for times in (1, 3):
        bound = (1 - mu / L) ** (times * T) * Delta_0 + sigma_sq / (L * mu)
        assert proved("horizon", Delta_T, bound, *SGD, eta=1 / L) is (times == 1)


UP_TO = {"eta": sp.Min(eta_0, 1 / L)}
WIDE = Assumption("wide", "gamma >= 2 kappa", sp.Ge(gamma, 2 * L / mu, evaluate=False))
TWICE = {"eta": 2 / (mu * (t + gamma)), "definitions": {gamma: 2 / (mu * eta_0)}}
LARGER = sp.Max(gamma * Delta_0, 4 * sigma_sq / mu**2) / (T + gamma)


@pytest.mark.parametrize(
    ("scope", "lhs", "rhs", "assumptions", "more"),
    [
        ("step", Delta_next, (1 - eta_0 * mu) * Delta + NOISE, SGD, UP_TO),
        ("horizon", Delta_T, (1 - eta_0 * mu) ** T * Delta_0 + eta_0 * sigma_sq / mu, SGD, UP_TO),
        ("horizon", Delta_T, LARGER, (*SGD, WIDE), TWICE),
    ],
)
def test_steps_up_to_a_bound_a_free_offset_and_a_maximum_are_proved(scope, lhs, rhs, assumptions, more):
    assert proved(scope, lhs, rhs, *assumptions, **more)
    assert not proved(scope, lhs, sp.Rational(99, 100) * rhs, *assumptions, **more)
    assert WIDE not in assumptions or not proved(scope, lhs, rhs, *SGD, **more)  # nothing bounds the offset


@pytest.mark.parametrize(
    ("relation", "bound", "accepted"),
    [
        (sp.Le(eta * L, 1), eta_0 * L, True),
        (sp.Le(eta * (t + 1) * L, 1), eta_0 * (t + 1) * L, False),
        (sp.Le(eta_ratio * eta * L, 1), eta_ratio * eta_0 * L, False),
    ],
)
def test_what_holds_at_every_step_is_read_at_the_first_where_only_the_step_size_varies(relation, bound, accepted):
    claim = Claim("c", "C", "", "step", bound, {"all": 1}, assumptions=(Assumption("limit", "a limit", relation),))
    last = step("conclude", bound, "<=", 1).by(premise("limit", eta_0))
    checked = automatic.check(Derivation("c", "C", (last,), claim="c", readings=("plain",)), claim, READINGS["plain"])
    assert (not checked.fault) == accepted


def test_one_client_takes_part_with_all_of_the_weight_and_nothing_is_said_of_c():
    alone = (*CLASS, a.full_gradients, Assumption("alone", "N = 1", sp.Eq(N, 1)))
    assert proved("horizon", Delta_T, (1 - mu / L) ** T * Delta_0, *alone, eta=1 / L)
    claim = Claim("c", "C", "a stranger", "constant", mu, {"all": C * mu}, assumptions=alone)
    last = step("conclude", mu, "<=", C * mu).by((-mu, premise("full-participation")))
    derivation = Derivation("c", "C", (last,), claim="c", readings=("plain",))
    assert automatic.check(derivation, claim, READINGS["plain"]).fault


def test_the_mean_of_the_iterates_is_proved_by_a_sum_over_the_run():
    bound = 2 * L * Delta_0 / T + sigma_sq / (2 * L)
    assert proved("horizon", average_gap, bound, *SGD, eta=1 / (2 * L))
    assert not proved("horizon", average_gap, bound / 4, *SGD, eta=1 / (2 * L))


def test_what_follows_term_by_term_from_a_result_under_an_assumption_of_ones_own_is_proved():
    equal = Assumption("no-decay", "inside a round no step size is larger than a later one", sp.Eq(eta_ratio, 1))
    way = (tau - 1) ** 2 * eta**2 * G_sq
    for item in (equal, a.equal_steps):
        assert proved("step", drift, way, a.bounded_gradient, a.full_participation, item)
    assert not proved("step", drift, way / 2, a.bounded_gradient, a.full_participation, equal)
    assert not proved("step", drift, way, a.bounded_gradient, a.full_participation)


@pytest.mark.parametrize(
    ("scope", "lhs", "rhs", "more"),
    [
        ("horizon", Delta_T, sp.Max(gamma * Delta_0, sigma_sq / mu**2) / (T + gamma), RATE),
        ("constant", quantity.constant("mine", lambda losses: losses.L), L, {}),
        ("horizon", Delta_T, (1 - eta_0 * mu) ** ROUND * Delta_0, {"eta": eta_0}),
        ("horizon", gap, L * Delta_0 * sp.Min(1 / T, (1 - mu / L) ** T), {"eta": 1 / L}),
    ],
)
def test_forms_that_the_prover_does_not_know_are_not_proved_and_stop_nothing(scope, lhs, rhs, more):
    assert not proved(scope, lhs, rhs, *SGD, **more)


@pytest.mark.parametrize(
    "scope, lhs, rhs, relation, axis",
    [
        ("step", drift, 0, sp.Eq(N, 1), "N"),
        ("step", Delta_next, (1 - eta * mu) ** 2 * Delta, sp.Eq(tau, 1), "tau"),
        ("step", Delta_next, (1 - eta * mu) ** 2 * Delta, sp.Eq(sigma_sq, 0), "gradients"),
    ],
)
def test_a_proof_rests_on_the_assumption_that_grants_a_definition(scope, lhs, rhs, relation, axis):
    relations = {relation} if lhs == drift else {sp.Eq(tau, 1), sp.Eq(sigma_sq, 0)}
    special = {item: Assumption(str(item), str(item), item) for item in relations}
    shared = () if lhs == drift else (*CLASS, a.full_participation, a.unbiased, a.quarter_steps)
    about = {"title": "", "source": "", "scope": scope, "lhs": lhs, "terms": {"all": sp.sympify(rhs)}}
    claim = Claim("mine", **about, assumptions=(*shared, *special.values()))
    wider = Claim("mine", **about, assumptions=(*shared, *(x for y, x in special.items() if y != relation)))
    verdict = automatic.examine(claim, READINGS["plain"])
    assert special[relation].key in verdict.data["assumptions"] and axis in verdict.coverage.axes
    (proposed, *_) = automatic.proposals(claim, READINGS["plain"])
    checked = automatic.check(proposed, claim, READINGS["plain"])
    assert verified_proofs.judge(checked, wider, READINGS["plain"]).status is Status.UNDECIDED


def test_a_polynomial_of_a_high_degree_is_left_alone(monkeypatch):
    """What is expanded in a proposal grows with the degree: 1000 would take hours."""
    tried = []
    monkeypatch.setattr(automatic.inequality, "prove", tried.append)
    for degree, asked in ((automatic.HIGHEST, 1), (automatic.HIGHEST + 1, 1), (1000, 1)):
        one = Claim("high", "High", "", "constant", mu, {"all": mu + (L + mu) ** degree}, assumptions=CLASS)
        assert not list(automatic.proposals(one, READINGS["plain"])) and len(tried) == asked


def test_noise_is_not_orthogonal_to_gradients_where_its_step_ends(monkeypatch):
    """Were it, half of the noise would do in numbers, and minutes go by until the exact check refuses that."""
    monkeypatch.setattr(automatic.inequality.certificate_search, "prove", lambda *_: pytest.fail("numbers prove it"))
    after = quantity.measured("after", GAP_NEXT)
    assert not proved("step", after, (1 - eta * mu) * gap_t + L / 4 * NOISE, *SLOW)


@pytest.mark.parametrize("divisor", [1 - (1 - mu / L) ** T, T + sp.Max(T, 1), 1 - 2**T + T])
def test_a_divisor_that_is_no_polynomial_in_time_grants_nothing(divisor):
    """Whether it vanishes is not seen, and no error ends the trial of the claim."""
    one = Claim(
        "divided", "Divided", "", "horizon", Delta_T, {"all": Delta_0 / divisor}, assumptions=CLASS, eta=1 / L
    )
    assert automatic.examine(one, READINGS["plain"]) is None
