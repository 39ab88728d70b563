"""Sums over a run and means weighted by its step sizes are proved, false neighbours and dishonest sums are not."""

from dataclasses import replace
from pathlib import Path

import pytest
import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence.prover import automatic
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import W_STAR, P, W, X, grad
from fedbounds.evidence.symbolic.proof_objects import averaging_weights, summand_of, sums_of
from fedbounds.latex import reader
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as sy
from fedbounds.theory.claim import Claim
from fedbounds.theory.path_quantities import mean_slope_sq
from fedbounds.theory.point_values import StepSum
from fedbounds.theory.quantity import Quantity
from fedbounds.theory.reading import READINGS
from fedbounds.theory.vectors import Inner, Mean, norm_sq

THEOREMS = {
    item.key.removeprefix("run:"): item
    for item in reader.claims_in_order(Path(__file__).with_name("summed_runs.tex"))
}
squares, cubes = sy.sum_over_steps(sy.eta**2), sy.sum_over_steps(sy.eta**3)


def proved(claim):
    return automatic.examine(claim, READINGS["plain"]) is not None


def test_the_plain_mean_is_not_that_with_weights():
    assert not proved(replace(THEOREMS["weighted"], lhs=sy.average_gap))
    tail = Quantity("tail_by_steps", sy.tail_gap.on_path, "measured", units=(0, 1), nonnegative=True)
    assert averaging_weights(sy.eta_average_gap) == sy.eta and averaging_weights(tail) is None


def claim(left, right, assumed=(a.smooth, a.full_participation, a.unbiased, a.one_local_step), **more):
    return Claim("mine", "Mine", "a test", "horizon", left, {"all": right}, assumptions=assumed, **more)


def fault(stated, *steps):
    proof = d.Derivation("mine", "Mine", steps, claim="mine", readings=("plain",))
    return automatic.check(proof, stated, READINGS["plain"]).fault


def twice(name, term, statistic="scheduled"):
    return Quantity(name, StepSum(term), statistic, units=(0, 0), nonnegative=True)


def by_induction(left, right, at_0, carried, *why):
    label = d.step("conclude", left, "<=", right)
    return (
        d.step("base", *at_0[:1], "<=", at_0[1]),
        d.step("carry", carried[0], "<=", carried[1]).by(*why),
        label.by(d.Induction("base", "carry")),
    )


def test_a_sum_grows_by_its_term():
    q = sy.sum_over_steps(sy.eta**2)
    (_, now, after) = sums_of(claim(q, sy.eta_0**2 * sy.T, eta=sy.eta_0))[q]
    for bound, said in ((sy.eta_0**2, True), (sy.eta_0**2 / 2, False)):
        stated = claim(q, bound * sy.T, eta=sy.eta_0)
        lines = by_induction(q, bound * sy.T, (0, 0), (after, bound * (sy.t + 1)), d.Hypothesis("conclude"))
        assert (not fault(stated, *lines)) is said
    assert summand_of(q) == sy.eta**2 and now.name == "eta_2_sum_so_far"


def test_two_sums_of_one_name_are_no_sequences():
    one, other = twice("mine_sum", sy.eta), twice("mine_sum", sy.eta**2)
    assert one != other
    with pytest.raises(InputError, match="names of their own"):
        sums_of(claim(one, other + sy.T))


def test_a_sum_says_by_its_statistic_what_its_term_is():
    assert summand_of(twice("mine_sum", sy.gap_t)) is None
    assert summand_of(twice("mine_sum", sy.gap_t, "constant")) is None
    assert summand_of(twice("mine_sum", sy.gap_t, "measured")) == sy.gap_t
    assert summand_of(sy.sum_over_rounds(sy.gap_t)) is None


def test_a_quantity_at_T_is_not_the_term_of_a_sum():
    total = sy.sum_over_steps(mean_slope_sq)
    assert total in sums_of(claim(total, sy.T * sy.L * sy.gap_0))
    assert not sums_of(claim(total, sy.T * mean_slope_sq))


def test_what_is_known_at_T_is_no_term_of_a_sum():
    """T <= sum_{t<T} T, which on a path is the sum of t, is false at T = 1; as a constant T would make it true."""
    q = twice("mine_sum", sy.T)
    one = claim(sp.Integer(1), q / sy.T)
    after = sp.Symbol("mine_sum_so_far", nonnegative=True) + sy.T
    lines = (
        d.step("some", 0, "<", sy.T).by(d.premise("some-time")),
        d.step("more", sy.T, ">=", 1).by((1 / sy.T, d.premise("whole-time", sy.T, sp.Integer(2)))),
        d.step("base", 0, "<=", 0),
        d.step("carry", sy.t + 1, "<=", after).by(d.Hypothesis("all"), d.Earlier("more")),
        d.step("all", sy.T, "<=", q).by(d.Induction("base", "carry")),
        d.step("conclude", 1, "<=", q / sy.T).by((1 / sy.T, d.Earlier("all"))),
    )
    assert fault(one, *lines)
    for term, statistic in ((sy.eta_sum, "scheduled"), (sy.Delta_T, "measured"), (sy.average_gap, "measured")):
        other = twice("mine_sum", term, statistic)
        assert summand_of(other) == term and not sums_of(claim(other, sy.T))
    for factor, said in ((sy.eta, True), (sy.eta_sum, False)):
        written = Quantity("mine", factor * norm_sq(W - W_STAR), "measured")
        assert bool(sums_of(claim(twice("mine_sum", written, "measured"), sy.T))) is said
    for term in (sy.T, sy.Delta_T):
        with pytest.raises(InputError, match="from step to step"):
            sy.sum_over_steps(term)


def test_a_sum_in_latex_leaves_T_and_whole_sums_outside():
    stated = r"\mathbb{E}\|w_T-w^\star\|^2 \le \sum_{t<T} T\eta_t^2\sum_{s<T}\eta_s"
    text = (
        "\\begin{theorem}\n% fedbounds: assume convex\n% fedbounds: units as written\n\\["
        + stated
        + "\\]\\end{theorem}"
    )
    (read,) = reader.read_text(text).values()
    assert sp.Add(*read.terms.values()) == sy.T * squares * sy.eta_sum


def test_a_sign_that_its_terms_do_not_have_is_refused():
    signed = Quantity("signed", Mean(P, Inner(grad(W), W - W_STAR)), "measured")
    total = Quantity("total", StepSum(signed), "measured", units=(0, 1), nonnegative=True)
    stated = claim(-total, sp.Integer(0), units="as written")
    assert "is declared" in fault(stated, d.step("conclude", -total, "<=", 0).by((total, d.ONE)))


def test_what_a_sum_is_so_far_is_no_symbol_of_ones_own():
    q = sy.sum_over_steps(sy.eta**2)
    so_far = sums_of(claim(q, sy.T))[q][1]
    own = Quantity(so_far.name, sy.eta_0.on_path, nonnegative=True)
    stated = claim(q, sy.T * own)
    assert "object of the proofs" in fault(stated, d.step("conclude", q, "<=", sy.T * own))
    own = d.Derivation(
        "mine",
        "Mine",
        (d.step("conclude", q, "<=", sy.T),),
        claim="mine",
        readings=("plain",),
        conditions=(d.Condition(so_far, d.premise("whole-steps")),),
    )
    assert "has a meaning" in automatic.check(own, claim(q, sy.T), READINGS["plain"]).fault


def test_an_induction_does_not_take_what_a_sum_is_so_far_for_a_constant():
    """eta_2_sum <= so_far: what it is at t is no bound of what it is at T."""
    q = sy.sum_over_steps(sy.eta**2)
    stated = claim(q, sy.T * sy.eta_0**2, eta=sy.eta_0)
    _, now, after = sums_of(stated)[q]
    lines = by_induction(q, now, (0, now), (now, now), d.Hypothesis("conclude"))
    base, carry, last = lines
    assert "varies in time" in fault(stated, base.by((now, d.ONE)), carry, last)
    assert after == now + sy.eta**2


def test_gradient_dominance_is_of_one_point_and_of_a_claim_that_says_so():
    without = replace(
        THEOREMS["dominated"],
        assumptions=tuple(x for x in THEOREMS["dominated"].assumptions if x != a.polyak_lojasiewicz),
    )
    line = d.step("conclude", without.lhs, "<=", sp.Add(*without.terms.values())).by(
        d.premise("gradient-dominance", W)
    )
    proof = d.Derivation("mine", "Mine", (line,), claim=without.key, readings=("plain",))
    assert "is no assumption" in automatic.check(proof, without, READINGS["plain"]).fault
    stated = THEOREMS["dominated"]
    of_each = replace(proof, steps=(line.by(d.premise("gradient-dominance", X)),), claim=stated.key)
    assert "gives nothing" in automatic.check(of_each, stated, READINGS["plain"]).fault
