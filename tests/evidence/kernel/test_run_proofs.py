"""What the prover finds of whole runs and rounds, as scripts that Rocq accepts, and no wrong one."""

from dataclasses import replace
from pathlib import Path

import pytest

from fedbounds.errors import InputError
from fedbounds.evidence import kernel
from fedbounds.evidence.kernel import claim_statement, found_proof, rocq_terms
from fedbounds.latex import reader
from fedbounds.theory import symbols as sy
from fedbounds.theory.reading import READINGS

HERE = Path(__file__).parent
FILES = [HERE.parent / "prover" / f"{name}.tex" for name in ("whole_rounds", "textbook_runs", "drawn_runs")]
FILES.append(HERE / "further_runs.tex")
THEOREMS = {one.key: one for path in FILES for one in reader.claims_in_order(path)}
PLAIN = READINGS["plain"]
needs_rocq = pytest.mark.skipif(kernel.available() is None, reason="Rocq (Coq) is not installed: apt-get install coq")
# A run by induction, a round that follows the local models, clients drawn with replacement, a mean of iterates, what
# is measured at the last point, the least value, a weighted mean, losses that are only dominated by their slopes,
# noise that grows, and an identity; of some a statement that does not follow, by a constant: no hypotheses that
# contradict each other let it.
KINDS = {
    "more:monotone": None,
    "round:minimisers": ("(/ (mu ^ 2))", "((9 / 10) * / (mu ^ 2))"),
    "thm:replaced-step": None,
    "run:average": None,
    "last-slope": None,
    "best": None,
    "weighted": None,
    "dominated": None,
    "growing": ("* growth + sigma_0_sq)", "* growth + sigma_0_sq * (9 / 10))"),
    "drawn": ("(/ ((INR m)))", "((11 / 10) * / ((INR m)))"),
}


@needs_rocq
def test_rocq_accepts_runs_of_each_kind_and_no_changed_statement(accepts):
    every = {key: THEOREMS[key] for key in KINDS}
    files = {key: (found_proof.statement(one, PLAIN), found_proof.script(one, PLAIN)) for key, one in every.items()}
    assert accepts(*files.values())
    for key, changed in KINDS.items():
        stated, script = files[key]
        if changed is not None:
            assert changed[0] in stated and not accepts((stated.replace(*changed), script.replace(*changed))), key


def test_smoothness_of_losses_that_are_not_convex_is_of_both_sides_and_a_user_s_growth_is_no_word():
    assert "smooth_below P L" in found_proof.statement(THEOREMS["dominated"], PLAIN)
    assert "smooth_below" not in found_proof.statement(THEOREMS["weighted"], PLAIN)
    growing = THEOREMS["growing"]
    named = tuple(one for one in growing.assumptions if one.key != "growing-variance")
    with pytest.raises(InputError, match="grows with the gradient"):
        claim_statement.statement(replace(growing, assumptions=named), PLAIN)


def test_a_round_is_stated_from_its_start_to_its_end():
    stated = found_proof.statement(THEOREMS["round:gradients"], PLAIN)
    assert "run M ((r + 1) * tau) tau" in stated
    assert "rounds M ((r + 1) * tau) tau" in stated
    assert "Delta (M ((r + 1) * tau)%nat) <=" in stated
    assert "(Delta (M (r * tau)%nat)) * ((- 1) * eta_0 * mu + 1) ^ (tau)%nat" in stated
    assert rocq_terms.subject_of(THEOREMS["more:step-drift"]) is None


def test_merely_convex_clients_need_no_minimisers_and_none_may_be_spoken_of():
    claim = THEOREMS["run:average"]
    stated = found_proof.statement(claim, PLAIN)
    assert "convex_run M T tau" in stated and "strongly_convex P 0" in stated
    with pytest.raises(InputError, match="need not have"):
        claim_statement.statement(replace(claim, terms={**claim.terms, "more": sy.Gamma}), PLAIN)


def test_powers_of_a_whole_time_are_powers_and_others_are_refused():
    words = {"T": "INR T", "mu": "mu"}
    assert rocq_terms.rocq(sy.mu ** (2 * sy.T + 1), words) == "mu ^ (1 + 2 * T)%nat"
    for exponent in (sy.T - 1, sy.mu, sy.T / 2):
        with pytest.raises(InputError, match="whole powers"):
            rocq_terms.rocq(sy.mu**exponent, words)
