"""True theorems of a blind set and of textbooks: noisy rounds, clients drawn by p, merely convex losses."""

from dataclasses import replace
from pathlib import Path

import pytest
import sympy as sp

from fedbounds.evidence.prover import automatic
from fedbounds.evidence.prover.rounds import restated
from fedbounds.evidence.symbolic.permitted_assumptions import granted
from fedbounds.latex import reader
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.reading import READINGS

FILE = Path(__file__).parents[2] / "latex" / "later_stranger.tex"
THEOREMS = {item.key.removeprefix("thm:"): item for item in reader.claims_in_order(FILE)}
PLAIN = READINGS["plain"]
TEXTBOOK = {item.key: item for item in reader.claims_in_order(Path(__file__).with_name("textbook_runs.tex"))}
TRUE = ("round-interp", "round-loss", "sampling-floor", "iid-drift", "last")
tau, eta, mu, R = sy.tau, sy.eta, sy.mu, sy.R


def proved(claim):
    return automatic.examine(claim, PLAIN) is not None


def instead(name, old, new):
    """The theorem with a part of its bound replaced."""
    claim = THEOREMS[name]
    terms = {key: sp.sympify(term).subs(old, new) for key, term in claim.terms.items()}
    assert terms != claim.terms
    return replace(claim, terms=terms)


def without(name, item, *others):
    """The theorem with an assumption left out, or replaced by others."""
    claim = THEOREMS[name]
    assert item in claim.assumptions
    return replace(claim, assumptions=(*(other for other in claim.assumptions if other != item), *others))


@pytest.mark.parametrize("name", TRUE)
def test_it_is_proved(name):
    assert proved(THEOREMS[name])


@pytest.mark.parametrize("name", [name for name in TRUE if name != "last"])
def test_nine_tenths_of_the_noise_is_not(name):
    assert not proved(instead(name, sy.sigma_sq, sy.sigma_sq * sp.Rational(9, 10)))


SLIPS = {
    "a round with one step more": instead("round-interp", tau, tau + 1),
    "noise contracted twice": instead("round-interp", 1 - (1 - eta * mu) ** tau, (1 - (1 - eta * mu) ** tau) ** 2),
    "the gap contracts as the distance": instead(
        "round-loss", sy.QUANTITIES["gap_round"], sy.QUANTITIES["gap_round"] * (1 - eta * mu) ** tau
    ),
    "no L in the gap": instead("round-loss", sy.L, sy.L / 2),
    "the heterogeneity of one step less": instead(
        "sampling-floor", sy.zeta_star_sq, sy.zeta_star_sq * (1 - sy.eta_0 * mu)
    ),
    "one round more": instead("sampling-floor", R, R + 1),
    "a drift of one step less": instead("iid-drift", tau, tau - 1),
    "twice the sum of p_i^2 off": instead("iid-drift", sy.p_sq, 2 * sy.p_sq),
    "the noise of half the steps": instead("last", sy.sigma_sq, sy.sigma_sq / 2),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_not(slip):
    assert not proved(SLIPS[slip])


@pytest.mark.parametrize(
    ("name", "item", "others"),
    [
        ("round-interp", a.homogeneous, ()),
        ("round-interp", a.full_participation, ()),
        ("round-interp", a.bounded_variance, ()),
        ("round-loss", a.identical, ()),
        ("round-loss", a.identical, (a.homogeneous,)),
        ("round-loss", a.strongly_convex, (a.convex,)),
        ("sampling-floor", a.with_replacement, ()),
        ("sampling-floor", a.with_replacement, (a.equal_selection,)),
        ("sampling-floor", a.with_replacement, (a.without_replacement,)),
        ("iid-drift", a.identical, ()),
        ("iid-drift", a.identical, (a.homogeneous,)),
        ("iid-drift", a.convex, ()),
        ("iid-drift", a.unbiased, ()),
        ("last", a.bounded_gradient, ()),
    ],
)
def test_a_theorem_without_an_assumption_is_not(name, item, others):
    assert not proved(without(name, item, *others))


def test_clients_drawn_by_p_are_followed_only_where_alpha_weighs_the_iterate():
    every = next(claim for claim, _ in restated(THEOREMS["sampling-floor"]))
    uniform = replace(every, assumptions=(*every.assumptions[:3], a.without_replacement))
    for name, reading in READINGS.items():
        assert ("mean-drawn-model" in granted(reading, every)) == (reading.virtual == "alpha"), name
        assert "mean-drawn-model" not in granted(reading, uniform)
        alike = replace(uniform, assumptions=(*uniform.assumptions, a.equal_p))
        assert "mean-drawn-model" in granted(reading, alike)


def test_the_gap_of_models_is_followed_of_one_convex_function_only():
    round_loss = next(claim for claim, _ in restated(THEOREMS["round-loss"]))
    assert {"next-gaps", "mean-gap"} <= granted(PLAIN, round_loss).keys()
    others = tuple(a.homogeneous if item == a.identical else item for item in round_loss.assumptions)
    assert not {"next-gaps", "mean-gap"} & granted(PLAIN, replace(round_loss, assumptions=others)).keys()


@pytest.mark.parametrize("name", TEXTBOOK)
def test_a_result_of_a_textbook_is_proved(name):
    assert proved(TEXTBOOK[name])


@pytest.mark.parametrize(
    ("name", "item", "other"),
    [
        ("more:monotone", "convex", None),
        ("more:monotone", "eta <= 2/L", sp.Le(eta * sy.L, 3)),
        ("more:monotone", "one-local-step", None),
        ("more:identical-round-convex", "identical", None),
        ("more:gap-monotone", "small-steps", sp.Le(eta * sy.L, 3)),
        ("more:identical-gap-convex", "identical", sp.Eq(sy.Gamma, 0)),
        ("more:sampled-convex", "homogeneous", None),
        ("more:varying", "homogeneous", None),
        ("more:drawn-round", "equal-p", None),
        ("more:drawn-common", "selection-without-replacement", None),
        ("more:avg-strong", "bounded-gradient", None),
        ("more:step-drift", "strongly-convex", None),
    ],
)
def test_a_result_of_a_textbook_without_what_it_assumes_is_not(name, item, other):
    claim = TEXTBOOK[name]
    kept = tuple(one for one in claim.assumptions if one.key != item)
    assert kept != claim.assumptions
    added = () if other is None else (Assumption("weaker", "weaker", other),)
    assert not proved(replace(claim, assumptions=(*kept, *added)))


@pytest.mark.parametrize("name", ["more:sampled-convex", "more:identical-gap-convex", "more:one-step-noise-convex"])
def test_less_noise_in_a_result_of_a_textbook_is_not(name):
    claim = TEXTBOOK[name]
    less = {
        key: sp.sympify(term).subs(sy.sigma_sq, sy.sigma_sq * sp.Rational(9, 10)) for key, term in claim.terms.items()
    }
    assert not proved(replace(claim, terms=less))
