"""What multiplies a sequence in a line of an induction, or a start, is looked at: false theorems that got through."""

import pytest
import sympy as sp

from fedbounds.evidence.prover import automatic
from fedbounds.evidence.prover.special_cases import in_first_round
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic import verified_proofs
from fedbounds.evidence.symbolic.definitions import START, W_STAR, X_T, P, X
from fedbounds.theory import assumptions as a
from fedbounds.theory import points as at
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.quantity import measured
from fedbounds.theory.reading import READINGS
from fedbounds.theory.vectors import Mean, norm_sq

PLAIN = READINGS["plain"]
GIVEN = (*a.LOCAL_SGD, a.one_local_step, a.small_steps)
NOISE = sy.eta_0**2 * sy.sigma_sq
WITHIN = Assumption("within", "T <= tau", sp.Le(sy.T, sy.tau, evaluate=False))
t, T = sy.t, sy.T


def claim(key, scope, left, right, *assumptions, **more):
    return Claim(key, key, "here", scope, left, {"bound": right}, assumptions=assumptions, units="as written", **more)


def test_a_factor_that_varies_with_t_is_no_part_of_a_line_at_T():
    """t E||w_t - w*||^2 <= (t + 1) Delta_0 + (t^2 - t) eta^2 sigma^2 is false: at t = 1 from w* it is 1/4 <= 0."""
    known = Assumption("recursion", "one step adds the noise", sp.Le(sy.Delta_next, sy.Delta + NOISE))
    right = (t + 1) * sy.Delta_0 + (t**2 - t) * NOISE
    bad = claim("bad", "step", t * sy.Delta, right, *GIVEN, known, eta=sy.eta_0)
    share, after = t / (t + 1), sy.Delta_0 + NOISE * (t + 1 - 2 * (t + 1) / (t + 2))
    base = d.step("base", share * sy.Delta_0, "<=", sy.Delta_0).by((sy.Delta_0 / (t + 1), d.ONE))
    carry = d.step("carry", share * sy.Delta_next, "<=", after)
    carry = carry.by((share, d.premise("recursion")), d.Hypothesis("all"), (NOISE * share / (t + 2), d.ONE))
    every = d.step("all", share * sy.Delta_T, "<=", sy.Delta_0 + NOISE * (T - 2 * T / (T + 1)))
    last = d.step("conclude", bad.lhs, "<=", sp.Add(*bad.terms.values())).by((t + 1, d.Hypothesis("all")))
    lines = (base, carry, every.by(d.Induction("base", "carry")), last)
    mine = d.Derivation("mine", "mine", lines, claim="bad", readings=("plain",), eta=sy.eta_0)
    checked = automatic.check(mine, bad, PLAIN)
    assert "varies in time" in checked.fault
    assert verified_proofs.judge(checked, bad, PLAIN).status.name == "UNDECIDED"


def test_nor_of_a_line_in_the_models_at_T():
    goal = claim("far", "horizon", sy.Delta_T, sy.Delta_0, *a.LOCAL_SGD, WITHIN)
    line = d.step("all", t * Mean(P, norm_sq(X_T - START)), "<=", 0)
    every = (
        d.step("base", 0, "<=", 0),
        d.step("carry", t * Mean(P, norm_sq(X - START)), "<=", 0).by(d.Hypothesis("all")),
        line.by(d.Induction("base", "carry")),
    )
    mine = d.Derivation("mine", "mine", every, claim="far", readings=("plain",))
    assert "models at T" in automatic.check(mine, goal, PLAIN).fault


def test_the_start_of_a_round_is_no_point_of_a_statement_at_T():
    """At T = tau the round that begins is the next one."""
    begun = measured("begun_sq", norm_sq(at.w_round - at.w_star))
    goal = claim("begun", "horizon", begun, sy.Delta_0, *a.LOCAL_SGD, WITHIN)
    line = d.step("conclude", begun, "<=", sy.Delta_0).by(d.premise("first-round-start"))
    mine = d.Derivation("mine", "mine", (line,), claim="begun", readings=("plain",))
    assert "not written as an expression of points" in automatic.check(mine, goal, PLAIN).fault
    assert at.w_round == START and at.w_star == W_STAR


@pytest.mark.parametrize("start", [sy.Delta_0, sy.gap_0])
def test_a_bound_on_a_round_is_no_run_of_its_own_where_it_speaks_of_the_first_start(start):
    """What cancels between the share of the start and the rest is in both."""
    kept = (1 - sy.eta * sy.mu) ** sy.tau
    for left, begun in ((sy.Delta_round_next, sy.Delta_round), (sy.gap_round_next, sy.gap_round)):
        right = (kept + 1 + start) * begun + sy.tau * sy.eta**2 * sy.sigma_sq - start
        assert not [*in_first_round(claim("round", "step", left, right, *a.LOCAL_SGD, a.small_steps, eta=sy.eta_0))]
        plain = claim("plain", "step", left, kept * begun, *a.LOCAL_SGD, a.small_steps, eta=sy.eta_0)
        assert [*in_first_round(plain)]


def test_a_limit_looks_at_what_is_1_at_1():
    L = sy.L
    line = d.step("limit", (L - 1) * sy.eta / L**2, "->", 0).by(d.Limit(L, sp.oo))
    mine = d.Derivation("limit", "limit", (line,), eta=L)
    assert (
        "stays as it is"
        in verified_proofs.check("limit", verified_proofs.shelf({"limit": mine}, {}), READINGS["repaired"]).fault
    )
