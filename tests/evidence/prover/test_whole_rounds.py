"""True theorems of a stranger about whole rounds and whole runs with drift stay proved, and slips in them are not."""

from dataclasses import replace
from pathlib import Path

import pytest
import sympy as sp

from fedbounds.evidence.prover import automatic
from fedbounds.evidence.prover.rounds import in_first_round, restated
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic import verified_proofs
from fedbounds.evidence.symbolic.definitions import W_STAR, P, X, grad
from fedbounds.evidence.symbolic.permitted_assumptions import granted
from fedbounds.latex import reader
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.reading import READINGS
from fedbounds.theory.vectors import Inner, Mean, norm_sq

FILE = Path(__file__).with_name("whole_rounds.tex")
THEOREMS = {item.key: item for item in reader.claims_in_order(FILE)}
PLAIN = READINGS["plain"]
NINE_TENTHS = sp.Rational(9, 10)


def proved(claim):
    return automatic.examine(claim, PLAIN) is not None


def less(name, term):
    """The theorem with 9/10 of a term."""
    claim = THEOREMS[name]
    return replace(claim, terms={**claim.terms, term: claim.terms[term] * NINE_TENTHS})


def instead(name, term, old, new):
    """The theorem with a part of a term replaced."""
    claim = THEOREMS[name]
    changed = claim.terms[term].xreplace({old: new})
    assert changed != claim.terms[term]
    return replace(claim, terms={**claim.terms, term: changed})


def without(name, item):
    """The theorem without an assumption."""
    claim = THEOREMS[name]
    assert item in claim.assumptions
    return replace(claim, assumptions=tuple(other for other in claim.assumptions if other != item))


@pytest.mark.parametrize("name", THEOREMS)
def test_it_is_proved(name):
    assert proved(THEOREMS[name])


@pytest.mark.parametrize(
    ("name", "term"),
    [
        ("round:minimisers", "term 1"),
        ("round:minimisers", "term 3"),
        ("drift:convex", "term 1"),
        ("round:gap", "term 1"),
        ("round:gap", "term 2"),
        ("run:sharp-average", "term 1"),
        ("run:sharp-average", "term 2"),
        ("run:sharp-average", "term 3"),
        ("run:unlike", "term 2"),
        ("run:identical", "term 2"),
        ("run:identical", "term 3"),
        ("run:gap", "term 1"),
        ("run:gap", "term 3"),
        ("round:gradients", "term 2"),
    ],
)
def test_a_smaller_constant_is_not(name, term):
    assert not proved(less(name, term))


tau = sy.tau
SLIPS = {
    "one step less of noise": instead("round:minimisers", "term 3", tau, tau - 1),
    "one step more of contraction": instead("round:minimisers", "term 1", tau, tau + 1),
    "the drift one step earlier": instead("drift:convex", "term 1", tau, tau - 1),
    "the drift without its square": instead("drift:convex", "term 1", (tau - 1) ** 2, tau - 1),
    "zeta summed one step less": instead("round:gap", "term 2", tau, tau - 1),
    "mu in the place of L": instead("run:average", "term 3", sy.L, sy.mu),
    "noise of all clients": instead("run:identical", "term 3", sy.N - 1, sy.N - 2),
    "the first power of tau": instead("run:gap", "term 3", (tau - 1) ** 2, tau - 1),
    "clients drawn without their share of the variance": instead("round:drawn", "term 4", sy.N - 1, sy.N),
    "the drift of a mean without tau": instead("run:full-gradients", "term 2", tau, tau / 4),
    "a gap contracted once more": instead("run:gap", "term 1", sy.T, sy.T + 1),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_not(slip):
    assert not proved(SLIPS[slip])


@pytest.mark.parametrize(
    ("name", "item"),
    [
        ("round:minimisers", a.strongly_convex),
        ("round:minimisers", a.unbiased),
        ("drift:convex", a.convex),
        ("drift:convex", a.full_gradients),
        ("drift:convex", a.full_participation),
        ("round:gap", a.full_gradients),
        ("round:gap", a.small_steps),
        ("run:average", a.bounded_gradient),
        ("run:sharp-average", a.small_steps),
        ("run:identical", a.identical),
        ("run:unlike", a.full_participation),
        ("run:average", a.convex),
        ("run:gap", a.bounded_variance),
        ("run:full-gradients", a.full_gradients),
        ("run:full-gradients", a.convex),
    ],
)
def test_a_theorem_without_an_assumption_is_not(name, item):
    assert not proved(without(name, item))


def test_a_round_is_a_run_of_its_own_only_where_nothing_else_depends_on_the_start():
    claim = THEOREMS["round:minimisers"]
    assert [item.lhs for item in in_first_round(claim)] == [sy.Delta_T]
    near = Assumption("near", "||w_0 - w*||^2 <= 1", sp.Le(sy.Delta_0, 1))
    square = replace(claim, terms={**claim.terms, "square": sy.Delta_round**2 * sy.mu / sy.L}, units="as written")
    started = replace(claim, terms={**claim.terms, "start": sy.Delta_0})
    decaying = replace(claim, eta=sy.eta_0 / (sy.t + 1))
    for other in (replace(claim, assumptions=(*claim.assumptions, near)), square, started, decaying):
        assert not list(restated(other))


def test_a_theorem_about_a_round_is_proved_under_its_own_assumptions():
    claim = THEOREMS["round:minimisers"]
    verdict = automatic.examine(claim, PLAIN)
    assert set(verdict.data["assumptions"]) <= {item.key for item in claim.assumptions} | {"step-size"}
    assert "from the start of a round" in verdict.data["proof"][-1]


def test_the_steps_of_one_round_are_counted_by_t_only_where_the_claim_ends_with_it():
    (first,) = in_first_round(THEOREMS["round:minimisers"])
    assert "first-round" in granted(PLAIN, first)
    assert "first-round" not in granted(PLAIN, replace(first, assumptions=first.assumptions[:-1]))
    assert "first-round" not in granted(PLAIN, THEOREMS["round:minimisers"])


def _with_young(weight, whole):
    """A line from Young's inequality, where another line bounds ||x - w*||^2 by 4 times itself."""
    way, slope = X - W_STAR, grad(X)
    shown = d.step("shown", Mean(P, norm_sq(way)), "<=", 4 * Mean(P, norm_sq(way)))
    shown = shown.by((3, d.averaged(P, d.Square(way))))
    left = -2 * Mean(P, Inner(way, slope))
    line = d.step("line", left, "<=", weight * (whole + Mean(P, norm_sq(slope))))
    return d.Derivation("mine", "Mine", (shown, line.by(d.Young("shown", way, slope, weight, whole))))


@pytest.mark.parametrize(
    ("weight", "share", "holds"), [(2, 1, True), (1, 1, False), (-2, 1, False), (1, 4, True), (2, 2, False)]
)
def test_youngs_inequality_has_the_weight_that_its_step_shows(weight, share, holds):
    one = _with_young(sp.Integer(weight), share * Mean(P, norm_sq(X - W_STAR)))
    checked = verified_proofs.check("mine", verified_proofs.shelf({"mine": one}, {}), READINGS["repaired"])
    assert (not checked.fault) is holds
