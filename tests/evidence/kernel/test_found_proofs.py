"""What the prover finds of a point and of one step, as scripts that Rocq accepts, and no wrong one."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence import kernel
from fedbounds.evidence.kernel import found_proof
from fedbounds.evidence.prover import automatic
from fedbounds.latex.reader import read_text
from fedbounds.referee import theorems
from fedbounds.referee.stage_context import Stage
from fedbounds.referee.trial import Trial
from fedbounds.report import trial_text
from fedbounds.theory import assumptions as a
from fedbounds.theory import path_quantities as pq
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import (
    Delta,
    Delta_next,
    Delta_T,
    G_sq,
    Gamma,
    L,
    eta,
    excess,
    gap_t,
    grad_sq,
    mu,
    sigma_p_sq,
    sigma_sq,
    tau,
)

PLAIN = READINGS["plain"]
CLASS = (a.smooth, a.strongly_convex)
SGD = (*CLASS, a.bounded_variance, a.full_participation, a.unbiased, Assumption("one", "tau = 1", sp.Eq(tau, 1)))
needs_rocq = pytest.mark.skipif(kernel.available() is None, reason="Rocq (Coq) is not installed: apt-get install coq")


def claim(key, scope, left, right, assumed):
    return Claim(key, "Mine", "a stranger", scope, left, {"all": right}, assumptions=assumed)


POINT = claim("above", "point", excess, grad_sq / (2 * mu), CLASS)
STEP = claim("growth", "step", mu / 2 * Delta, gap_t, SGD)
# Statements about any points, with means of means and weights of the server's own.
SLOPES = claim("slopes", "step", pq.slope_sq, 2 * L * (gap_t + Gamma), CLASS)
SPREAD = claim("spread", "constant", Gamma, L / 2 * pq.spread_of_optima, CLASS)
# Independent noises; gradients that are bounded, and nothing said of smoothness.
NOISE = (1 - eta * mu) * Delta - 2 * eta * (1 - eta * L) * gap_t + eta**2 * sigma_p_sq
MEANS = claim("means", "step", Delta_next, NOISE, SGD)
BOUNDED = (a.strongly_convex, a.bounded_gradient, *SGD[3:])
ROUGH = claim("rough", "step", Delta_next, (1 - 2 * eta * mu) * Delta + eta**2 * G_sq, BOUNDED)
# What its author assumes of the mean loss.
(PL_DESCENT,) = read_text(r"""
% fedbounds: assume smooth, polyak-lojasiewicz, full-gradients, full-participation, unbiased, one-local-step
% fedbounds: assume \eta < \frac{2}{L}
\[ F(w_{t+1})-F^\star \le (1-\eta\mu(2-L\eta))(F(w_t)-F^\star) \]
""").values()
# A statement that does not follow of one about points, and of one about a step.
CHANGED = {
    "spread": ("(1 / 2) * L", "(1 / 3) * L"),
    "means": ("^ 2 * sigma_p_sq", "^ 2 * (1 / 2) * sigma_p_sq"),
}


@needs_rocq
def test_rocq_accepts_what_the_prover_finds_and_neither_wrong_multipliers_nor_changed_statements(accepts):
    every = (POINT, STEP, SLOPES, SPREAD, MEANS, ROUGH, PL_DESCENT)
    files = {one.key: (found_proof.statement(one, PLAIN), found_proof.script(one, PLAIN)) for one in every}
    assert accepts(*files.values())
    assert "variance_of_mean M sigma_p_sq" in files["means"][0]
    assert "norm_sq (centre (N P) (p P) (fun i => grad P i v))" in files[PL_DESCENT.key][0]
    stated, script = files["growth"]
    assert "(plus _ (1) " in script and not accepts((stated, script.replace("(plus _ (1) ", "(plus _ (2) ")))
    for key, (right, wrong) in CHANGED.items():
        stated, script = files[key]
        assert right in stated and not accepts((stated.replace(right, wrong), script))


def test_a_statement_of_another_kind_or_without_a_proof_has_no_script():
    local = tuple(item for item in SGD if item.key != "one")
    for item in (
        claim("false", "point", excess, grad_sq / (3 * mu), CLASS),
        claim("local", "step", mu / 3 * Delta, gap_t + sigma_sq, local),
        claim("run", "horizon", mu * Delta_T, sigma_sq, SGD),
    ):
        with pytest.raises(InputError):
            found_proof.script(item, PLAIN)


def test_a_script_that_rocq_refuses_is_said_beside_the_proof(monkeypatch):
    stated = claim("true", "point", excess, grad_sq / (2 * mu), CLASS)
    verdict, proof = automatic.proved(stated, PLAIN)
    refused = SimpleNamespace(fault="no such tactic", statement="")
    monkeypatch.setattr(found_proof, "check_within", lambda *_: refused)
    written = found_proof.with_script(verdict, proof, stated, PLAIN)
    shown = found_proof.asked(written, stated, PLAIN, 60)
    assert shown.status is verdict.status and "rocq" not in shown.data
    assert trial_text.rocq_answer(shown) == ["Rocq: not checked, its script fails: no such tactic."]


def test_rocq_is_ended_when_its_seconds_are_spent():
    stated = claim("true", "point", excess, grad_sq / (2 * mu), CLASS)
    written = found_proof.with_script(*automatic.proved(stated, PLAIN), stated, PLAIN)
    shown = found_proof.asked(written, stated, PLAIN, 0.01)
    assert shown.status is written.status and "rocq" not in shown.data
    assert trial_text.rocq_answer(shown) == ["Rocq: not checked within 0 s (--rocq gives it longer)."]


def test_the_answer_to_a_proof_stands_with_the_trial(monkeypatch):
    verdict = found_proof.with_script(*automatic.proved(POINT, PLAIN), POINT, PLAIN)
    trial = Trial(POINT, "plain", "small", 0, (Stage("proof", 0.0, (), (verdict,)),), finished=True)
    accepted = replace(verdict, data={**verdict.data, "rocq": "abc"})
    monkeypatch.setattr(found_proof, "asked", lambda *_: accepted)
    after = theorems._by_rocq(trial, 1.0)
    assert after.whole_proof is accepted and after.finished
    assert "Rocq accepts it (statement abc)." in trial_text.verdict(after)


def test_any_label_names_a_file_of_rocq_and_none_ends_its_comment():
    stated = claim("thm:1 *) Admitted", "point", excess, grad_sq / (2 * mu), CLASS)
    obligation, text = found_proof._obligation(stated, PLAIN), found_proof.script(stated, PLAIN)
    assert obligation.module == "proof_thm_1____Admitted"
    assert "statement_thm_1____Admitted.statement" in text and "*) Admitted" not in text


GAP = r"""
% fedbounds: assume smooth, strongly-convex, bounded-variance, full-participation, unbiased, one-local-step
% fedbounds: assume \eta_t \le \frac{2}{L+\mu}
\[ \mathbb{E}F(w_{t+1})-F^\star
  \le (1-\eta_t\mu)^2(\mathbb{E}F(w_t)-F^\star)+\frac{L}{2}\eta_t^2\sum_ip_i^2\sigma_i^2 \]
"""


def test_a_proof_by_cases_without_a_script_is_said_to_have_none():
    (one,) = read_text(GAP).values()
    with pytest.raises(InputError, match="by other cases"):
        found_proof.script(one, PLAIN, (automatic.proved(one, PLAIN)[1],))
