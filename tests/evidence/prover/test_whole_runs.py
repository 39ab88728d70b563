"""Textbook statements about whole runs are proved by induction, and false neighbours of them are not."""

import pytest
import sympy as sp
from whole_run_claims import ALL, GD, KEPT, ONE, SMOOTH, STATEMENTS, claim

from fedbounds.evidence.prover import automatic
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import NOISE, W_STAR, W, grad
from fedbounds.evidence.symbolic.permitted_assumptions import given, granted
from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.path_quantities import client_error, mean_slope_sq, p_sq
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import (
    Delta,
    Delta_0,
    Delta_round,
    Delta_T,
    Gamma,
    L,
    R,
    T,
    eta_0,
    gamma,
    gap,
    gap_0,
    mu,
    sigma_p_sq,
    sigma_sq,
    t,
    tau,
)
from fedbounds.theory.vector_normal_form import normal
from fedbounds.theory.vectors import Inner

# A share of the bound with which it is false, for those that the fast tests prove; the others' tests are slower.
QUICK = {"last-iterate": 0.25, "common-minimiser": 0.99, "any-weights": 0.99}


def proved(one):
    return automatic.examine(one, READINGS[one.readings[0]]) is not None


@pytest.mark.parametrize(("name", "share"), QUICK.items())
def test_a_statement_about_a_whole_run_is_proved_and_a_smaller_bound_is_not(name, share):
    assert proved(claim(name))
    assert not proved(claim(name, sp.Rational(share)))


@pytest.mark.parametrize(
    ("name", "without"),
    [
        ("contraction", "one-step"),
        ("last-iterate", "full-gradients"),
        ("common-minimiser", "homogeneous"),
        ("common-minimiser", "full-participation"),
        ("any-weights", "one-step"),
        ("any-weights", "full-gradients"),
        ("sum", "unbiased"),
        ("product", "gamma"),
    ],
)
def test_an_assumption_that_a_whole_run_needs_is_missed(name, without):
    assert not proved(claim(name, without={without}))


@pytest.mark.parametrize(
    ("name", "bound", "more"),
    [
        ("contraction", KEPT ** (3 * T) * Delta_0, None),
        ("contraction", None, {"eta": sp.Min(eta_0, 2 / L)}),
        ("last-iterate", Delta_0 / (2 * eta_0 * T**2), None),
        ("last-iterate", None, {"eta": sp.Min(eta_0, 2 / L)}),
        ("common-minimiser", None, {"eta": sp.Min(eta_0, 2 / L)}),
        ("product", (gamma * Delta_0 + T * sigma_p_sq / mu**2) / (T + gamma), None),
    ],
)
def test_a_rate_that_is_too_good_or_a_step_that_is_too_long_is_not_proved(name, bound, more):
    left, right, assumed, steps = STATEMENTS[name]
    assert not proved(claim_of(left, right if bound is None else bound, assumed, more or steps))


def claim_of(left, right, assumed, more):
    return Claim("mine", "Mine", "a textbook", "horizon", left, {"all": right}, assumptions=assumed, **more)


def test_a_statement_says_nothing_where_it_divides_by_zero():
    """At T = 0 and gamma = 1 the bound is 0/0; a proof may use that it is not, and only of the claim's divisors."""
    left, _, assumed, _ = STATEMENTS["product"]
    kappa = Assumption("gamma", "gamma >= kappa", sp.Le(eta_0 * L, 1))
    more = {"eta": 1 / (mu * (t + gamma)), "definitions": {gamma: 1 / (mu * eta_0)}}
    late = T + gamma - 1
    bound = ((gamma - 1) ** 2 * Delta_0 + T * sigma_p_sq / mu**2) / late**2
    one = claim_of(left, bound, (*[x for x in assumed if x.key != "gamma"], kappa), more)
    assert proved(one)
    sign = d.step("sign", 0, "<=", T).by((T, d.ONE))
    derivation = d.Derivation(
        "mine",
        "Mine",
        (sign, d.step("last", T, ">", 0).by(d.Divisor("sign"))),
        claim="mine",
        readings=("plain",),
    )
    checked = automatic.check(derivation, one, READINGS["plain"])
    assert checked.outcomes["sign"].ok and not checked.outcomes["last"].ok


@pytest.mark.parametrize("left", [client_error, Delta])
def test_a_bound_at_every_step_is_shown_by_the_same_induction(left):
    """Of local models with a common minimiser, and with one local step a round of the iterate."""
    assumed = (*SMOOTH, *ALL, a.bounded_variance, a.homogeneous if left == client_error else ONE)
    steps = STATEMENTS["contraction"][3]

    def at(factor):
        right = KEPT ** (2 * t) * Delta_0 + factor * eta_0 * sigma_sq / mu
        return Claim("at", "At", "a textbook", "step", left, {"all": right}, assumptions=assumed, **steps)

    assert proved(at(1)) and not proved(at(sp.Rational(1, 4)))


def test_one_function_for_all_clients_has_one_minimiser():
    assumed = (*SMOOTH, *ALL, a.bounded_variance, a.identical)
    bound = KEPT ** (2 * T) * Delta_0 + eta_0 * sigma_sq / mu
    assert proved(claim_of(Delta_T, bound, assumed, STATEMENTS["contraction"][3]))
    assert not proved(claim_of(Delta_T, bound, assumed[:-1], STATEMENTS["contraction"][3]))


def test_what_is_of_a_common_minimiser_needs_one():
    left, right, assumed, more = STATEMENTS["common-minimiser"]
    almost = Assumption("almost", "Gamma <= 1", sp.Le(Gamma, 1))
    assert not proved(claim_of(left, right, (*[x for x in assumed if x != a.homogeneous], almost), more))


def test_what_holds_at_every_step_holds_after_whole_rounds():
    """With one minimiser; a better rate is not proved, nor what speaks of T and of R at once."""
    left, right, assumed, steps = STATEMENTS["common-minimiser"]
    kept = (1 - eta_0 * mu) ** tau
    rounds = {T: R * tau, KEPT ** (2 * T): kept ** (2 * R), KEPT**T: kept**R}
    bound = sp.sympify(right).xreplace(rounds)
    assert left == Delta_T and not bound.has(T)
    assert proved(claim_of(Delta_round, bound, assumed, steps))
    assert not proved(claim_of(Delta_round, right, assumed, steps))


def test_equal_curvatures_make_local_steps_one_step_of_the_mean():
    flat = Assumption("flat", "L = mu", sp.Eq(L, mu))
    assumed, steps = (*SMOOTH, *ALL, a.bounded_variance, flat), {"eta": 1 / (mu * (t + 1))}
    bound = sigma_p_sq / (mu**2 * tau * R)
    assert proved(claim_of(Delta_round, bound, assumed, steps))
    assert not proved(claim_of(Delta_round, bound * sp.Rational(9, 10), assumed, steps))
    assert not proved(claim_of(Delta_round, bound, assumed[:-1], steps))


def test_the_gap_decreases_from_step_to_step_by_what_a_gradient_is_worth():
    assumed, steps = (*SMOOTH, *ALL, a.bounded_variance, ONE), {"eta": sp.Min(eta_0, 1 / L)}
    noise = eta_0 * L * sigma_p_sq / (2 * mu)
    assert proved(claim_of(gap, KEPT**T * gap_0 + noise, assumed, steps))
    assert proved(claim_of(gap, KEPT ** (2 * T) * gap_0 + noise, assumed, steps))
    for bound in (KEPT**T * gap_0 + noise / 2, KEPT ** (3 * T) * gap_0 + noise):
        assert not proved(claim_of(gap, bound, assumed, steps))
    assert not proved(claim_of(gap, KEPT**T * gap_0 + noise, assumed, {"eta": sp.Min(eta_0, 2 / L)}))


def test_independent_noises_of_one_variance_add_up_by_the_squares_of_the_weights():
    assumed, steps = (*SMOOTH, *ALL, a.bounded_variance, ONE), STATEMENTS["contraction"][3]
    noise = eta_0 * sigma_sq * p_sq / (mu * (2 - eta_0 * mu))
    assert proved(claim_of(Delta_T, KEPT ** (2 * T) * Delta_0 + noise, assumed, steps))
    for wrong in (noise / 2, noise * p_sq):
        assert not proved(claim_of(Delta_T, KEPT ** (2 * T) * Delta_0 + wrong, assumed, steps))


# The last iterate of gradient descent.

CONVEX = (a.smooth, a.convex, *ALL, a.full_gradients, ONE)
LAST = {
    "gap": (gap, L * Delta_0 / (4 * T + 2), 1 / L),
    "gap-any": (gap, L * Delta_0 / (4 * T * eta_0 * L + 2), sp.Min(eta_0, 1 / L)),
    "slope": (mean_slope_sq, L**2 * Delta_0 / (T + 1) ** 2, 1 / L),
    "slope-gap": (mean_slope_sq, 2 * L * gap_0 / (2 * T + 1), 1 / L),
    "slope-later": (mean_slope_sq, 4 * L**2 * Delta_0 / (T * (T + 2)), 1 / L),
}


def rate(name, bound=None, assumed=CONVEX, steps=None):
    left, right, size = LAST[name]
    return proved(claim_of(left, bound or right, assumed, {"eta": steps or size}))


@pytest.mark.parametrize("name", LAST)
def test_an_exact_rate_is_proved(name):
    assert rate(name)


@pytest.mark.parametrize(
    ("name", "bound"),
    [
        ("gap", L * Delta_0 / (4 * T + 3)),
        ("gap-any", L * Delta_0 / (4 * T * eta_0 * L + 3)),
        ("slope", L**2 * Delta_0 / (T + 2) ** 2),
        ("slope-gap", 2 * L * gap_0 / (2 * T + 2)),
    ],
)
def test_a_smaller_bound_is_not(name, bound):
    assert not rate(name, bound)


@pytest.mark.parametrize("without", ["convex", "full-gradients", "one-step", "unbiased"])
def test_without_what_it_needs_it_is_not(without):
    assert not rate("gap", assumed=tuple(item for item in CONVEX if item.key != without))


def test_strongly_convex_losses_are_convex_and_a_step_at_which_it_is_false_is_not_covered():
    """One step of 7/4 1/L takes a quadratic from 1 to -3/4, and (3/4)^2 is above 2/9."""
    assert rate("gap", assumed=GD)
    assert rate("gap-any", steps=sp.Min(eta_0, sp.Rational(5, 4) / L))
    assert not rate("gap-any", steps=sp.Min(eta_0, sp.Rational(7, 4) / L))


def test_that_there_is_no_noise_is_granted_along_every_vector_only_where_it_is_assumed():
    def definitions(assumed):
        one = Claim("x", "x", "", "horizon", gap, {"all": L * Delta_0}, assumptions=assumed, eta=1 / L)
        return granted(READINGS["plain"], one)

    assert "no-noise" not in definitions((a.smooth, a.convex, *ALL, a.bounded_variance, ONE))
    part = given(definitions(CONVEX)["no-noise"], (grad(W) - W_STAR,))
    assert part.sign == "=" and normal(part.right - Inner(NOISE, grad(W) - W_STAR)) == 0
