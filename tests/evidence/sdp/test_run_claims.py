"""Claims about whole runs are certified for every problem of the class, or an instance exceeds them."""

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy as sp
from whole_run_claims import GD, STATEMENTS, claim

from fedbounds.evidence.sdp.multi_round.claim_at_run import applies
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.evidence.sdp.multi_round.verdict import examine
from fedbounds.evidence.sdp.one_step.parameters import round_setting
from fedbounds.evidence.sdp.one_step.verdict import examination
from fedbounds.referee.certificate_settings import GRIDS, examined, runs, tightness
from fedbounds.referee.regimes import REGIMES, Suite, verdicts_in
from fedbounds.referee.stage_context import Case
from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.path_quantities import mean_slope_sq
from fedbounds.theory.points import mean, norm_sq, w_i_star, w_star
from fedbounds.theory.protocol_assumptions import without_replacement
from fedbounds.theory.quantity import constant
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import (
    Delta_0,
    Delta_T,
    G_sq,
    L,
    N,
    T,
    average_gap,
    drift,
    eta,
    eta_0,
    gap,
    gap_0,
    local_step,
    m,
    mu,
    q,
    sigma_p_sq,
    sigma_sq,
    tau,
    zeta_star_sq,
)
from fedbounds.theory.verdict import Status

PLAIN = READINGS["plain"]


def found(one):
    result = examined(Case(one, PLAIN, "small", 0, Suite(())), GRIDS["small"])
    return result.lines, result.verdicts


@pytest.mark.parametrize("name", ["floor", "common-minimiser"])
def test_a_true_statement_is_certified_at_every_run_of_the_grid(name):
    _, verdicts = found(claim(name))
    assert len(verdicts) >= 12 and {v.status for v in verdicts} == {Status.HOLDS}
    assert all(v.tightness >= 1 and v.coverage is not None for v in verdicts)


@pytest.mark.parametrize(("name", "share"), [("contraction", 0.99), ("floor", 0.99)])
def test_a_smaller_constant_is_refuted_by_an_instance(name, share):
    (line, *_), verdicts = found(claim(name, sp.Rational(share)))
    assert [v.status for v in verdicts] == [Status.REFUTED] and "left" in line


def test_the_rate_of_gradient_descent_is_tight_and_a_smaller_one_is_false():
    def rate(factor):
        bound = {"all": factor * L * Delta_0 / (4 * T + 2)}
        return Claim("rate", "Rate", "", "horizon", gap, bound, assumptions=GD, eta=1 / L)

    _, verdicts = found(rate(1))
    assert not any(v.status is Status.REFUTED for v in verdicts)
    assert tightness(verdicts).startswith("the bound is tight: an instance comes within") and "T = 4" in tightness(
        verdicts
    )
    assert [v.status for v in found(rate(sp.Rational(1, 4)))[1]] == [Status.REFUTED]


@pytest.mark.parametrize(
    ("left", "bound"),
    [
        (average_gap, L * Delta_0 / (2 * T)),
        (mean_slope_sq, 2 * L * gap_0 / (2 * T + 1)),
    ],
)
def test_of_merely_convex_losses_an_instance_attains_an_exact_rate_and_refutes_a_smaller_one(left, bound):
    convex = (a.smooth, a.convex, *(item for item in GD if item.key not in ("smooth", "strongly-convex")))

    def rate(share):
        return Claim("x", "x", "", "horizon", left, {"all": share * bound}, assumptions=convex, eta=1 / L)

    _, verdicts = found(rate(1))
    assert Status.REFUTED not in {v.status for v in verdicts}
    assert tightness(verdicts).startswith("the bound is tight: an instance") and "T = 4" in tightness(verdicts)
    assert found(rate(sp.Rational(99, 100)))[1][-1].status is Status.REFUTED
    assert {v.status for v in found(rate(2))[1]} <= {Status.HOLDS, Status.UNDECIDED}


def test_heterogeneity_is_compared_coefficient_by_coefficient():
    """Local steps push by zeta_*: no multiple of Delta_0 bounds that, and a generous one of zeta_*^2 does."""
    assumed = tuple(item for item in GD if item.key != "one-step")

    def bounded(push):
        terms = {"start": Delta_0, "push": push * zeta_star_sq / mu**2}
        return Claim("push", "Push", "", "horizon", Delta_T, terms, assumptions=assumed, eta=sp.Min(eta_0, 1 / L))

    run = Run(2, 2, Fraction(1, 2), Fraction(1), (Fraction(1, 2),) * 4)
    assert examine(bounded(10), PLAIN, run, Fraction(1, 2)).status is Status.HOLDS
    assert examine(bounded(0), PLAIN, run, Fraction(1, 2)).status is not Status.HOLDS


def test_a_narrower_class_is_certified_but_its_constants_are_not_called_tight():
    from fedbounds.theory import assumptions as a

    one = claim("contraction")
    narrow = replace(one, assumptions=(*one.assumptions, a.identical))
    _, verdicts = found(narrow)
    assert {v.status for v in verdicts} == {Status.HOLDS} and not tightness(verdicts)
    smaller = replace(narrow, terms={"all": sp.Rational(99, 100) * STATEMENTS["contraction"][1]})
    assert {v.status for v in found(smaller)[1]} == {Status.UNDECIDED}


def test_a_bound_that_falls_with_heterogeneity_or_noise_is_not_certified():
    """With one local step a round zeta_* moves nothing, and it may still be large in what the claim takes away."""
    one = claim("floor")
    for taken in (zeta_star_sq / mu**2, sigma_p_sq / mu**2, G_sq / mu**2):
        less = replace(one, terms={**one.terms, "less": -taken})
        assert not any(v.status is Status.HOLDS for v in found(less)[1])


@pytest.mark.parametrize("bound", [Delta_0 / sp.Max(1, N), 2 * Delta_0 - sp.Max(Delta_0, zeta_star_sq / mu**2)])
def test_a_maximum_under_which_a_bound_falls_is_no_mean_of_its_arguments(bound):
    one = replace(claim("contraction"), terms={"all": bound}, eta=1 / (2 * L))
    run = Run(1, 1, Fraction(1, 2), Fraction(1), Fraction(1, 2))
    assert examine(one, PLAIN, run, Fraction(1, 2)).status is not Status.HOLDS
    grown = replace(one, terms={"all": sp.Max(Delta_0, zeta_star_sq / mu**2)})
    assert examine(grown, PLAIN, run, Fraction(1, 2)).status is Status.HOLDS


def test_the_sign_of_a_quantity_is_no_author_s_word():
    run = Run(1, 1, Fraction(1, 2), Fraction(1), Fraction(1, 2))
    for sign, status in ((1, Status.HOLDS), (-1, Status.UNDECIDED)):
        dip = constant("dip", sign * mean(norm_sq(w_i_star - w_star)), nonnegative=True)
        one = replace(claim("contraction"), terms={"all": Delta_0 + dip}, eta=1 / (2 * L))
        assert examine(one, PLAIN, run, Fraction(1, 2)).status is status


def test_what_no_programme_bounds_is_left_out():
    assert applies(claim("contraction"), PLAIN) and not applies(
        replace(claim("contraction"), kind=Kind.IDENTITY), PLAIN
    )
    assert not applies(claim("sum"), PLAIN) and not applies(claim("any-weights"), PLAIN)
    assert found(claim("any-weights"))[1] == ()


@pytest.mark.parametrize("share", [1, Fraction(1, 100)])
def test_the_number_of_local_steps_has_a_value_where_a_worst_case_is_replayed(share):
    """Drift <= eta^2 k^2 G^2 holds, a hundredth of it not."""
    given = (a.smooth, a.strongly_convex, a.bounded_gradient, a.full_gradients, a.full_participation, a.unbiased)
    one = Claim("k", "", "", "step", drift, {"k": share * eta**2 * local_step**2 * G_sq}, assumptions=given)
    setting = round_setting(tau=3, step=2, start=0, eta=Fraction(1, 2), kappa=2, alpha=(Fraction(1, 2),) * 2)
    verdict, _ = examination(one, setting)
    assert verdict.status is (Status.HOLDS if share == 1 else Status.REFUTED)


def of_drawn_clients(sampling=2, noise=1):
    """m of N clients a round and one local step, as textbooks have it."""
    given = (a.smooth, a.strongly_convex, a.bounded_variance, a.equal_selection, a.unbiased, a.equal_p)
    short = (Assumption("one", "", sp.Eq(tau, 1)), Assumption("short", "", sp.Le(4 * eta_0 * L, 1)))
    terms = {
        "start": (1 - eta_0 * mu) ** T * Delta_0,
        "sampling": sampling * (N - m) / (m * (N - 1)) * eta_0 * zeta_star_sq / mu,
        "noise": noise * eta_0 * sigma_sq / (m * mu),
    }
    return Claim("drawn", "", "", "horizon", Delta_T, terms, assumptions=(*given, *short), eta=eta_0)


def test_a_true_statement_of_drawn_clients_is_certified_at_every_run():
    grid = replace(GRIDS["small"], kappas=(10,), rounds=(2,))
    verdicts = examined(Case(of_drawn_clients(), PLAIN, "small", 0, Suite(())), grid).verdicts
    assert {v.status for v in verdicts} == {Status.HOLDS} and all(v.tightness >= 1 for v in verdicts)
    places = {(*v.coverage.axes["participation"], *v.coverage.axes["N"]) for v in verdicts}
    assert places == {(Fraction(1, 2), 2), (Fraction(1, 5), 10)}


@pytest.mark.parametrize("less", [{"sampling": Fraction(1, 10)}, {"noise": Fraction(1, 3)}])
def test_a_false_one_is_refuted_by_an_instance_that_is_enclosed(less):
    (line, *_), verdicts = found(of_drawn_clients(**less))
    assert [v.status for v in verdicts] == [Status.REFUTED] and " of " in line


def test_constant_steps_may_be_assumed_in_place_of_a_step_size():
    claim = of_drawn_clients()
    assumed = replace(claim, eta=None, assumptions=(*claim.assumptions, a.constant_steps))
    assert applies(assumed, PLAIN) and not applies(replace(claim, eta=None), PLAIN)
    grid = replace(GRIDS["small"], kappas=(2,), taus=(1,), rounds=(1,))
    verdicts = examined(Case(assumed, PLAIN, "small", 0, Suite(())), grid).verdicts
    assert verdicts and {v.status for v in verdicts} == {Status.HOLDS}


def test_drawn_clients_that_need_not_weigh_the_same_are_left_out():
    one = of_drawn_clients()
    uneven = replace(one, assumptions=tuple(item for item in one.assumptions if item is not a.equal_p))
    assert applies(one, PLAIN) and not applies(uneven, PLAIN)


def of_coins(factor, tau=1, noise=0):
    """E||w_T - w*||^2 where each client comes with probability q."""
    words = (a.smooth, a.strongly_convex, a.unbiased, a.equal_p, a.independent_selection)
    words += (a.bounded_variance,) if noise else (a.full_gradients,)
    words += (Assumption("short", "", sp.Le(4 * eta_0 * L, 1)),)
    terms = {"start": (1 - factor * eta_0 * mu) ** (T / tau) * Delta_0, "push": 40 * tau * eta_0 * zeta_star_sq / mu}
    terms |= {"noise": noise * eta_0 * sigma_sq / (q * N * mu)} if noise else {}
    return Claim("coins", "Coins", "", "horizon", Delta_T, terms, assumptions=words, eta=eta_0)


def test_clients_who_come_with_a_probability_are_examined_over_whole_runs():
    """A round is one of nobody with probability (1 - q)^N, so that the (1 - 2 eta mu)^T of everybody is false."""
    present = (Fraction(1, 2), 2)
    run = Run(2, 1, Fraction(1, 10), Fraction(1), Fraction(1, 4), present=present)
    for one, status in (
        (of_coins(q), Status.HOLDS),
        (of_coins(2), Status.REFUTED),
        (of_coins(q, noise=9), Status.HOLDS),
    ):
        verdict = examine(one, PLAIN, run, Fraction(1, 4))
        assert applies(one, PLAIN) and verdict.status is status and "2 clients with probability 1/2" in verdict.detail
    tried = {at.present for at, _ in runs(of_coins(q), PLAIN, GRIDS["small"])}
    assert present in tried and all(isinstance(probability, Fraction) for probability, _ in tried)
    words = of_coins(q).assumptions
    for needed in (a.equal_p, a.unbiased):
        assert not applies(replace(of_coins(q), assumptions=tuple(one for one in words if one is not needed)), PLAIN)


def test_where_K_of_N_clients_take_part_q_has_no_value_and_nothing_is_compared():
    drawn = Suite(tuple(regime for regime in REGIMES if regime.name.startswith("half the clients")))
    statuses = {verdict.status for _, verdict in verdicts_in(of_coins(q), PLAIN, drawn)}
    assert len(drawn.regimes) > 2 and statuses <= {Status.NOT_APPLICABLE, Status.UNDECIDED, Status.VACUOUS}


@pytest.mark.parametrize(("pushed", "status"), [(20, Status.HOLDS), (0, Status.REFUTED)])
def test_clients_drawn_without_replacement_need_no_word_that_their_mean_is_unbiased(pushed, status):
    words = (a.smooth, a.strongly_convex, a.full_gradients, a.equal_p, without_replacement)
    terms = {"start": (1 - eta_0 * mu) ** T * Delta_0, "push": pushed * eta_0 * tau * zeta_star_sq / mu}
    one = Claim("drawn", "Drawn", "", "horizon", Delta_T, terms, assumptions=words, eta=eta_0)
    run = Run(2, 2, Fraction(1, 10), Fraction(1), Fraction(1, 4), present=(1, 2))
    assert applies(one, PLAIN) and examine(one, PLAIN, run, Fraction(1, 4)).status is status
    assert not applies(replace(one, assumptions=words[:-1]), PLAIN)
    assert not applies(replace(one, assumptions=(*words[:-2], without_replacement)), PLAIN)
