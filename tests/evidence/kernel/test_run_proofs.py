"""What the prover finds of whole runs and rounds, as scripts that Rocq accepts, and no wrong one."""

from dataclasses import replace
from pathlib import Path

import pytest
import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence import kernel
from fedbounds.evidence.kernel import claim_statement, found_proof, rocq_terms
from fedbounds.latex import reader
from fedbounds.theory import symbols as sy
from fedbounds.theory.reading import READINGS

PROVER = Path(__file__).parents[1] / "prover"
FILES = ("whole_rounds", "textbook_runs", "drawn_runs")
THEOREMS = {one.key: one for name in FILES for one in reader.claims_in_order(PROVER / f"{name}.tex")}
PLAIN = READINGS["plain"]
needs_rocq = pytest.mark.skipif(kernel.available() is None, reason="Rocq (Coq) is not installed: apt-get install coq")
LIMIT = "  (forall t, (t < T \\/ t = 0)%nat -> L * (eta (M t)) <= {}) ->\n"
# Statements that do not follow: another constant, a step that is larger, a hypothesis that is left out.
WRONG = {
    "more:monotone": [(LIMIT.format("2"), LIMIT.format("3")), ("  strongly_convex P 0 ->\n", "")],
    "thm:replaced-step": [("drawn_by_p M m", "drawn_apart M m")],
    "round:minimisers": [("(/ (mu ^ 2))", "((9 / 10) * / (mu ^ 2))")],
    "run:average": [("(eta_0 * sigma_p_sq)", "((9 / 10) * eta_0 * sigma_p_sq)")],
}
PLANTED = "apply (plus _ ("
# What is measured at the last point, the least value, means of the iterates, losses that are only dominated by their
# slopes, noise that grows, and an identity; and statements that do not follow.
FURTHER = {one.key: one for one in reader.claims_in_order(Path(__file__).parent / "further_runs.tex")}
FALSE = {
    "last-slope": ("(INR T + 1)", "(INR T + 2)"),
    "best": ("(2 * L *", "((3 / 2) * L *"),
    "weighted": ("L * (eta (M t)) <= (1 / 2)", "L * (eta (M t)) <= (3 / 2)"),
    "dominated": ("dominated P mu", "dominated P (mu * (9 / 10))"),
    "growing": ("* growth + sigma_0_sq)", "* growth + sigma_0_sq * (9 / 10))"),
    "drawn": ("(/ ((INR m)))", "((11 / 10) * / ((INR m)))"),
}


@needs_rocq
@pytest.mark.parametrize("key", WRONG)
def test_rocq_accepts_a_run_and_no_changed_statement(key, accepts):
    claim = THEOREMS[key]
    stated, script = found_proof.statement(claim, PLAIN), found_proof.script(claim, PLAIN)
    assert accepts((stated, script))
    for k, (right, wrong) in enumerate(WRONG[key]):
        assert right in stated
        changed = script if k == 0 and key == "more:monotone" else script.replace(right, wrong)
        assert not accepts((stated.replace(right, wrong), changed))
    if key == "more:monotone":
        assert not accepts((stated, script.replace(PLANTED, f"{PLANTED}2 * ", 1)))


@needs_rocq
def test_rocq_accepts_further_runs_and_steps_and_no_changed_statement(accepts):
    files = {key: (found_proof.statement(one, PLAIN), found_proof.script(one, PLAIN)) for key, one in FURTHER.items()}
    assert accepts(*files.values())
    for key, (right, wrong) in FALSE.items():
        stated, script = files[key]
        assert right in stated and not accepts((stated.replace(right, wrong), script))


def test_smoothness_of_losses_that_are_not_convex_is_of_both_sides_and_a_user_s_growth_is_no_word():
    assert "smooth_below P L" in found_proof.statement(FURTHER["dominated"], PLAIN)
    assert "smooth_below" not in found_proof.statement(FURTHER["weighted"], PLAIN)
    growing = FURTHER["growing"]
    named = tuple(one for one in growing.assumptions if one.key != "growing-variance")
    with pytest.raises(InputError, match="grows with the gradient"):
        claim_statement.statement(replace(growing, assumptions=named), PLAIN)


def test_a_round_is_stated_from_its_start_to_its_end():
    stated = found_proof.statement(THEOREMS["round:gradients"], PLAIN)
    assert "run M ((r + 1) * tau) tau" in stated
    assert "rounds M ((r + 1) * tau) tau" in stated
    assert "Delta (M ((r + 1) * tau)%nat) <=" in stated
    assert "(Delta (M (r * tau)%nat)) * ((- 1) * eta_0 * mu + 1) ^ (tau)%nat" in stated


def test_merely_convex_clients_need_no_minimisers_and_none_may_be_spoken_of():
    claim = THEOREMS["run:average"]
    stated = found_proof.statement(claim, PLAIN)
    assert "convex_run M T tau" in stated
    assert "strongly_convex P 0" in stated
    with pytest.raises(InputError, match="need not have"):
        claim_statement.statement(replace(claim, terms={**claim.terms, "more": sy.Gamma}), PLAIN)


def test_powers_of_a_whole_time_are_powers_and_others_are_refused():
    words = {"T": "INR T", "mu": "mu"}
    assert rocq_terms.rocq(sy.mu ** (2 * sy.T + 1), words) == "mu ^ (1 + 2 * T)%nat"
    for exponent in (sy.T - 1, sy.mu, sy.T / 2):
        with pytest.raises(InputError, match="whole powers"):
            rocq_terms.rocq(sy.mu**exponent, words)


def test_what_is_of_one_step_has_no_run():
    assert rocq_terms.subject_of(THEOREMS["more:step-drift"]) is None
    assert sp.sympify(THEOREMS["more:step-drift"].lhs) == sy.Delta_next
