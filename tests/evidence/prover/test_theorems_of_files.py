"""True theorems of strangers and of textbooks stay proved; slips in them, and what lacks an assumption, are not."""

from dataclasses import replace
from pathlib import Path

import pytest
import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence.prover import automatic
from fedbounds.evidence.prover.special_cases import in_first_round, restated
from fedbounds.evidence.symbolic.permitted_assumptions import granted
from fedbounds.latex import reader
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.reading import READINGS

HERE = Path(__file__).parent
NAMES = ("one_step", "textbook_runs", "drawn_runs", "summed_runs", "whole_rounds", "../../latex/later_stranger")
EVERY = [item for name in NAMES for item in reader.claims_in_order(HERE / f"{name}.tex")]
THEOREMS = {item.key: item for item in EVERY if not isinstance(item, InputError)}
PLAIN = READINGS["plain"]
# Of two files those that are proved in seconds; pl, contraction and one-step-fedavg are too, in more.
QUICK = {
    "true": "nesterov descent variance averaged-gradients gamma-dissimilarity expected-smoothness cocoercive "
    "drift-bounded-gradients descent-noise perturbed-convexity one-step-local-sgd",
    "thm": "replaced-mean replaced-dissimilar drawn-mean replaced-last replaced-noise replaced-step drawn-decreasing "
    "round-interp round-loss sampling-floor iid-drift last",
}
PARTS = {key: key.split(":") for key in THEOREMS}
PROVED = [key for key, (kind, name) in PARTS.items() if kind not in QUICK or name in QUICK[kind].split()]
tau, eta, eta_0, mu, L, T, R, N = sy.tau, sy.eta, sy.eta_0, sy.mu, sy.L, sy.T, sy.R, sy.N
LESS = sp.Rational(9, 10)
squares, cubes = sy.sum_over_steps(eta**2), sy.sum_over_steps(eta**3)


def proved(claim):
    return automatic.examine(claim, PLAIN) is not None


def changed(name, old, new):
    """The theorem with a part of its bound replaced."""
    claim = THEOREMS[name]
    terms = {key: sp.sympify(term).subs(old, new) for key, term in claim.terms.items()}
    assert terms != claim.terms
    return replace(claim, terms=terms)


def without(name, key, *others):
    """The theorem with an assumption left out, or replaced by others."""
    claim = THEOREMS[name]
    kept = tuple(item for item in claim.assumptions if item.key != key)
    assert kept != claim.assumptions
    return replace(claim, assumptions=(*kept, *others))


def test_all_are_read():
    assert len(PROVED) == 59 and len([key for key in THEOREMS if key.startswith("true:")]) == 20


@pytest.mark.parametrize("name", PROVED)
def test_it_is_proved(name):
    assert proved(THEOREMS[name])


@pytest.mark.parametrize(
    ("name", "term"),
    [
        *(("round:minimisers", k) for k in (1, 3)),
        ("drift:convex", 1),
        ("round:gap", 2),
        *(("run:sharp-average", k) for k in (1, 2, 3)),
        ("run:unlike", 2),
        ("run:identical", 3),
        ("run:gap", 1),
        ("round:gradients", 2),
        *((f"thm:{name}", -1) for name in ("replaced-mean", "replaced-last", "drawn-mean", "drawn-decreasing")),
    ],
)
def test_less_of_a_term_is_not(name, term):
    key = list(THEOREMS[name].terms)[term - (term > 0)]
    share = sp.Rational(2, 5) if name.startswith("thm:") else LESS  # constants of draws are not the smallest
    terms = {**THEOREMS[name].terms, key: THEOREMS[name].terms[key] * share}
    assert not proved(replace(THEOREMS[name], terms=terms))


SLIPS = [
    ("round:minimisers", tau, tau - 1),
    ("drift:convex", (tau - 1) ** 2, tau - 1),
    ("run:average", L, mu),
    ("run:identical", N - 1, N - 2),
    ("run:gap", T, T + 1),
    ("run:full-gradients", tau, tau / 4),
    ("round:drawn", N - 1, N),
    ("run:slopes", sy.gap_0, LESS * sy.gap_0),
    ("run:slopes", sy.sigma_p_sq, LESS * sy.sigma_p_sq),
    ("run:weighted", cubes, LESS * cubes),
    ("run:weighted", squares, LESS * squares),
    ("run:dominated", sy.sigma_p_sq, LESS * sy.sigma_p_sq),
    ("run:growing", sy.sigma_0_sq, LESS * sy.sigma_0_sq),
    ("run:weighted-slopes", sy.gap_0, LESS * sy.gap_0),
    ("run:weighted-gaps", squares, LESS * squares),
    ("thm:round-interp", tau, tau + 1),
    ("thm:round-interp", sy.sigma_sq, LESS * sy.sigma_sq),
    ("thm:round-loss", sy.QUANTITIES["gap_round"], sy.QUANTITIES["gap_round"] * (1 - eta * mu) ** tau),
    ("thm:round-loss", L, L / 2),
    ("thm:sampling-floor", sy.zeta_star_sq, sy.zeta_star_sq * (1 - eta_0 * mu)),
    ("thm:sampling-floor", R, R + 1),
    ("thm:iid-drift", tau, tau - 1),
    ("thm:iid-drift", sy.p_sq, 2 * sy.p_sq),
    *((f"more:{name}", sy.sigma_sq, LESS * sy.sigma_sq) for name in ("sampled-convex", "identical-gap-convex")),
]


@pytest.mark.parametrize(("name", "old", "new"), SLIPS)
def test_a_slip_is_not(name, old, new):
    assert not proved(changed(name, old, new))


def weaker(relation):
    return Assumption("weaker", "weaker", relation)


NEEDED = [
    ("round:minimisers", "strongly-convex"),
    ("round:minimisers", "unbiased"),
    ("drift:convex", "convex"),
    ("drift:convex", "full-participation"),
    ("round:gap", "full-gradients"),
    ("round:gap", "small-steps"),
    ("run:average", "bounded-gradient"),
    ("run:sharp-average", "small-steps"),
    ("run:identical", "identical"),
    ("run:gap", "bounded-variance"),
    ("run:full-gradients", "convex"),
    ("run:slopes", "full-participation"),
    ("run:weighted", "halving"),
    ("run:weighted-equal", "equal-steps"),
    ("run:dominated", "polyak-lojasiewicz"),
    ("run:growing", "equal-p"),
    ("run:li", "bounded-gradient"),
    ("run:weighted-gaps", "one-local-step"),
    ("thm:replaced-noise", "one-local-step"),
    ("thm:replaced-noise", "selection-with-replacement"),
    ("thm:replaced-noise", "smooth"),
    ("thm:round-interp", "homogeneous"),
    ("thm:round-loss", "identical", a.homogeneous),
    ("thm:round-loss", "strongly-convex", a.convex),
    ("thm:sampling-floor", "selection-with-replacement", a.equal_selection),
    ("thm:sampling-floor", "selection-with-replacement", a.without_replacement),
    ("thm:iid-drift", "identical", a.homogeneous),
    ("thm:last", "bounded-gradient"),
    ("more:monotone", "eta <= 2/L", weaker(sp.Le(eta * L, 3))),
    ("more:monotone", "one-local-step"),
    ("more:gap-monotone", "small-steps", weaker(sp.Le(eta * L, 3))),
    ("more:identical-gap-convex", "identical", weaker(sp.Eq(sy.Gamma, 0))),
    ("more:varying", "homogeneous"),
    ("more:drawn-round", "equal-p"),
    ("more:drawn-common", "selection-without-replacement"),
    ("more:avg-strong", "bounded-gradient"),
    ("more:step-drift", "strongly-convex"),
]


@pytest.mark.parametrize("needed", NEEDED, ids=lambda needed: "-".join(map(str, needed[:2])))
def test_without_an_assumption_it_is_not(needed):
    assert not proved(without(*needed))


def test_clients_drawn_by_p_are_followed_only_where_alpha_weighs_the_iterate():
    every = next(claim for claim, _ in restated(THEOREMS["thm:sampling-floor"]))
    uniform = replace(every, assumptions=(*every.assumptions[:3], a.without_replacement))
    for name, reading in READINGS.items():
        assert ("mean-drawn-model" in granted(reading, every)) == (reading.virtual == "alpha"), name
        assert "mean-drawn-model" not in granted(reading, uniform)
        alike = replace(uniform, assumptions=(*uniform.assumptions, a.equal_p))
        assert "mean-drawn-model" in granted(reading, alike)


def test_the_gap_of_models_is_followed_of_one_convex_function_only():
    round_loss = next(claim for claim, _ in restated(THEOREMS["thm:round-loss"]))
    assert {"next-gaps", "mean-gap"} <= granted(PLAIN, round_loss).keys()
    others = tuple(a.homogeneous if item == a.identical else item for item in round_loss.assumptions)
    assert not {"next-gaps", "mean-gap"} & granted(PLAIN, replace(round_loss, assumptions=others)).keys()


def test_a_round_is_a_run_of_its_own_only_where_nothing_else_depends_on_the_start():
    claim = THEOREMS["round:minimisers"]
    (first,) = in_first_round(claim)
    assert first.lhs == sy.Delta_T and "first-round" in granted(PLAIN, first)
    for other in (replace(first, assumptions=first.assumptions[:-1]), claim):  # that do not end with the round
        assert "first-round" not in granted(PLAIN, other)
    near = Assumption("near", "||w_0 - w*||^2 <= 1", sp.Le(sy.Delta_0, 1))
    square = replace(claim, terms={**claim.terms, "square": sy.Delta_round**2 * mu / L}, units="as written")
    started = replace(claim, terms={**claim.terms, "start": sy.Delta_0})
    decaying = replace(claim, eta=eta_0 / (sy.t + 1))
    for other in (replace(claim, assumptions=(*claim.assumptions, near)), square, started, decaying):
        assert not list(restated(other))


def test_a_theorem_about_a_round_is_proved_under_its_own_assumptions():
    claim = THEOREMS["round:minimisers"]
    verdict = automatic.examine(claim, PLAIN)
    assert set(verdict.data["assumptions"]) <= {item.key for item in claim.assumptions} | {"step-size"}
    assert "from the start of a round" in verdict.data["proof"][-1]
