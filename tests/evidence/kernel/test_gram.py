"""Certificates as Rocq checks them: by `coqc` alone, from the certificate's own numbers, and no wrong one."""

import re
import subprocess
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

from fedbounds.cli.app import main
from fedbounds.errors import InputError
from fedbounds.evidence import kernel
from fedbounds.evidence.kernel import (
    coqc,
    gram_certificates,
    release_record,
)
from fedbounds.evidence.kernel import rocq_runs as checker
from fedbounds.evidence.sdp.functions_on_interval import Interval
from fedbounds.evidence.sdp.one_step.certificate import check, read, save
from fedbounds.plugins import shipped
from fedbounds.theory.verdict import Status
from fedbounds_derivations._gram_proofs import squares as squares_of

needs_rocq = pytest.mark.skipif(kernel.available() is None, reason="Rocq (Coq) is not installed: apt-get install coq")
SMALL = next(c for path in shipped("certificates/any-local-models.jsonl") for c in read(path))
STATED = next(c for path in shipped("certificates/stated.jsonl") for c in read(path) if c.claim == "lemma-2")
CURVED = next(c for path in shipped("certificates/no-gradient.jsonl") for c in read(path))


def refusal(folder, text):
    """What Rocq complains of in a file, empty where it accepts it."""
    (folder / "certificate.v").write_text(text)
    done = subprocess.run(["coqc", "-q", "certificate.v"], cwd=folder, capture_output=True, text=True, check=False)
    named = {line for line in done.stdout.splitlines() if "." in line and not line.startswith(" ")}
    assert done.returncode != 0 or set(coqc.AXIOMS) >= {name.rpartition(".")[2] for name in named}
    return done.stderr


@pytest.mark.parametrize("S", [[[4, 2], [2, 1]], [[0, 0], [0, 3]]])
def test_a_matrix_is_its_squares(S):
    S = [[Fraction(x) for x in row] for row in S]
    squares, n = list(squares_of(S)), len(S)
    assert all(weight >= 0 for weight, _ in squares)
    assert [[sum(w * l[i] * l[j] for w, l in squares) for j in range(n)] for i in range(n)] == S


@needs_rocq
def test_coqc_alone_accepts_certificates(tmp_path):
    saved, out = save(tmp_path / "two.jsonl", [SMALL, CURVED]), tmp_path / "two.v"
    done = CliRunner().invoke(main, ["verify-certificate", str(saved), "--rocq", str(out)])
    assert done.exit_code == 0 and refusal(tmp_path, out.read_text()) == ""


def named(name):
    return next(c for path in shipped("certificates/*.jsonl") for c in read(path) if c.name == name)


@needs_rocq
def test_certificates_of_each_kind_are_checked_in_one_file(folder):
    names = ["appendix-A_1-fedavg-k10-tau3", "fedavg-step-any-k10", "noise-fedavg-step-fedavg-k10-tau3"]
    kinds = [gram_certificates.obligation_of(named(name)) for name in names]
    assert all("strongly_convex P" in obligation.statement for obligation in kinds)
    assert ["expected_distance" in obligation.statement for obligation in kinds] == [False, False, True]
    said = coqc.audited(folder, kinds)
    assert len(said) == 3 and all(not fault and axioms for fault, axioms in said)


@needs_rocq
def test_a_proof_under_an_extra_hypothesis_or_of_a_swapped_index_is_refused(folder):
    obligation, stated = gram_certificates.obligation_of(STATED), "Theorem proof : statement."
    proof = obligation.proof()
    stronger = proof.replace(stated, "Theorem proof : (forall G_sq : R, G_sq = 0) -> statement.")
    stronger = stronger.replace("unfold statement. intros", "intros extra. unfold statement. intros")
    swapped = re.sub(r" (a0_\w+) (a0_\w+);", r" \2 \1;", proof, count=1)
    assert stronger.count("extra") == 1 and swapped != proof
    for wrong in (stronger, swapped):
        ((fault, _),) = coqc.audited(folder, [replace(obligation, proof=lambda wrong=wrong: wrong)])
        assert fault


def test_what_is_remembered_of_certificates_is_of_todays(certified):
    every = {obligation.module: obligation for obligation in certified}
    texts = checker.source_texts(list(every.values()))
    known = kernel.stored(kernel.CERTIFIED)
    assert len({proof.module for proof in known}) == len(known) > 100
    assert all(checker.matches(item, checker.expected_result(every[item.module], texts, item.rocq)) for item in known)


@pytest.mark.parametrize("field", ["status", "statement", "sources", "axioms", "fault"])
def test_a_tampered_record_says_nothing(monkeypatch, field):
    told = kernel.of_certificate(STATED)
    (proof,) = [
        proof for proof in kernel.stored(kernel.CERTIFIED) if proof.module == gram_certificates.module_of(STATED)
    ]
    assert proof.statement[:12] in told and "the functions of every problem" in told
    wrong = replace(proof, **{field: {"status": Status.REFUTED, "axioms": ("Top.cheat",)}.get(field, "0" * 64)})
    monkeypatch.setattr(release_record, "stored", lambda file: (wrong,))
    assert kernel.of_certificate(STATED) == ""


@pytest.mark.parametrize("part", ["rhs", "multipliers", "setting"])
def test_a_changed_certificate_was_not_checked(part):
    name = "mu" if part == "setting" else next(iter(getattr(STATED, part)))
    assert kernel.of_certificate(replace(STATED, **{part: {**getattr(STATED, part), name: "1/20"}})) == ""


def test_no_words_of_a_certificate_enter_rocq():
    words = "naïve x *) Axiom cheat : False. (*"
    evil = replace(SMALL, name=words, setting={**SMALL.setting, "note": words})
    text = gram_certificates.standalone([evil])
    assert words not in text and "Axiom cheat" not in text and gram_certificates.module_of(evil).isidentifier()


def test_a_certificate_is_never_a_claims_own_proof():
    assert not any(proof.module.startswith("certificate_") for proof in kernel.stored())


def test_only_a_single_client_stays_about_inner_products(certified):
    about = {obligation.module: "strongly_convex P" in obligation.statement for obligation in certified}
    products = {module.removeprefix("certificate_") for module, functions in about.items() if not functions}
    intervals = {name for name in products if name.startswith("parametric_")}
    single = {name for name in products - intervals if not name.startswith("gradient_descent_")}
    assert single == {"tight_lemma_1_gap_k10"} and len(products - intervals) == 49
    assert len(intervals) == sum(1 for path in shipped("certificates/parametric.jsonl") for _ in read(path))


def test_all_certificates_over_an_interval_were_checked_by_rocq(certified):
    over = {obligation.module for obligation in certified if "holds_at" in obligation.statement}
    assert over <= {proof.module for proof in kernel.stored(kernel.CERTIFIED)}
    assert "as a statement about inner products" in kernel.of_certificate(named(OF_STEPS))
    page = (Path(__file__).parents[3] / "docs/sdp.md").read_text()
    assert f"holds {len(over)} such certificates. Rocq checks all of them." in page


OF_KAPPA, OF_STEPS = "parametric-star-step-skewed-tau3", "parametric-fedavg-step-eta-k10"


def planted_in_interval(error):
    """A shipped certificate over an interval with one error: of a multiplier, or of the interval's end."""
    kappa = named(OF_KAPPA)
    label = next(label for label in kappa.multipliers if label.startswith("interpolation"))
    return {
        "multiplier": replace(kappa, multipliers={**kappa.multipliers, label: "1/2"}),
        "end": replace(named(OF_STEPS), interval=Interval("eta_L", Fraction(0), Fraction(2))),
    }[error]


@needs_rocq
def test_rocq_accepts_certificates_over_an_interval(folder):
    every = [gram_certificates.obligation_of(named(name)) for name in (OF_KAPPA, OF_STEPS)]
    assert all("holds_at" in obligation.statement for obligation in every)
    assert all(not fault and axioms for fault, axioms in coqc.audited(folder, every))


@needs_rocq
@pytest.mark.parametrize("error", ["multiplier", "end"])
def test_an_error_over_an_interval_is_refused_by_both_checkers(folder, error):
    wrong = planted_in_interval(error)
    assert not check(wrong)[0]
    try:
        ((fault, _),) = coqc.audited(folder, [gram_certificates.obligation_of(wrong)])
    except InputError:  # no proof can be written of it
        fault = "refused"
    assert fault


@needs_rocq
def test_a_proof_of_one_statement_proves_no_other_and_the_false_one_is_found_among_others(folder):
    obligation = gram_certificates.obligation_of(named(OF_STEPS))
    right, wrong = "eta_L <= (20 / 11)", "eta_L <= (2)"
    assert right in obligation.statement
    other = replace(obligation, module="other", statement=obligation.statement.replace(right, wrong, 1))
    (good, axioms), (bad, _) = coqc.audited(folder, [obligation, other])
    assert good == "" and bad and {name.rpartition(".")[2] for name in axioms} <= set(coqc.AXIOMS)


def test_without_a_certificate_one_sentence(tmp_path):
    (tmp_path / "none.jsonl").write_text("")
    done = CliRunner().invoke(
        main, ["verify-certificate", str(tmp_path / "none.jsonl"), "--rocq", str(tmp_path / "a.v")]
    )
    assert done.exit_code == 2 and "a file for Rocq needs a certificate" in done.output
