"""Certificates as Rocq checks them: by `coqc` alone, from the certificate's own numbers, and no wrong one."""

import subprocess
from dataclasses import replace
from fractions import Fraction

import pytest
from click.testing import CliRunner

from fedbounds.cli.app import main
from fedbounds.evidence import kernel
from fedbounds.evidence.kernel import audit as checker
from fedbounds.evidence.kernel import axioms, gram, numbers, rounds
from fedbounds.evidence.sdp.written import read, save
from fedbounds.plugins import shipped

needs_rocq = pytest.mark.skipif(kernel.available() is None, reason="Rocq (Coq) is not installed: apt-get install coq")
SMALL = next(c for path in shipped("certificates/any-local-models.jsonl") for c in read(path))
STATED = next(c for path in shipped("certificates/stated.jsonl") for c in read(path) if c.claim == "lemma-2")
CURVED = next(c for path in shipped("certificates/no-gradient.jsonl") for c in read(path))


def refusal(folder, text):
    """What Rocq complains of in a file, empty where it accepts it."""
    (folder / "certificate.v").write_text(text)
    done = subprocess.run(["coqc", "-q", "certificate.v"], cwd=folder, capture_output=True, text=True, check=False)
    named = {line for line in done.stdout.splitlines() if "." in line and not line.startswith(" ")}
    assert done.returncode != 0 or set(axioms.AXIOMS) >= {name.rpartition(".")[2] for name in named}
    return done.stderr


@pytest.mark.parametrize("certificate", [SMALL, CURVED], ids=lambda one: one.name)
def test_weights_and_roots_make_up_the_remainder(certificate):
    text = gram.standalone([certificate])
    assert text.count("Theorem proof") == 1 and certificate.name in text
    assert "Require Import Space" not in text and all(label in text for label in certificate.multipliers)


@pytest.mark.parametrize("S", [[[4, 2], [2, 1]], [[2, -1], [-1, 2]], [[0, 0], [0, 3]], [[5]]])
def test_a_matrix_is_its_squares(S):
    S = [[Fraction(x) for x in row] for row in S]
    squares, n = list(numbers.squares(S)), len(S)
    assert all(weight >= 0 for weight, _ in squares)
    assert [[sum(w * l[i] * l[j] for w, l in squares) for j in range(n)] for i in range(n)] == S


@needs_rocq
def test_coqc_alone_accepts_certificates(tmp_path):
    saved, out = save(tmp_path / "two.jsonl", [SMALL, CURVED]), tmp_path / "two.v"
    done = CliRunner().invoke(main, ["verify-certificate", str(saved), "--rocq", str(out)])
    assert done.exit_code == 0 and refusal(tmp_path, out.read_text()) == ""


@needs_rocq
@pytest.mark.parametrize("planted", ["multiplier", "constant", "constraint", "index"])
def test_rocq_refuses_a_planted_error(tmp_path, planted):
    first, *others = SMALL.multipliers
    wrong = {
        "multiplier": replace(SMALL, multipliers={**SMALL.multipliers, first: "1/2"}),
        "constant": replace(SMALL, rhs={**SMALL.rhs, "Delta": "1/2"}),
        "constraint": replace(SMALL, multipliers={label: SMALL.multipliers[label] for label in others}),
    }.get(planted, SMALL)
    text = gram.standalone([wrong])
    if planted == "index":
        start = text.index("Definition claim")
        first_row = text.index("  [", text.index("Definition constraints")) + 3
        text = text[:first_row] + "1; " + text[first_row:start] + text[start:]
    assert refusal(tmp_path, text)


@needs_rocq
@pytest.mark.parametrize("family", ["no-gradient", "noise"])
def test_a_shipped_certificate_is_checked_afresh(monkeypatch, family):
    piece = gram.piece_of(next(c for path in shipped(f"certificates/{family}.jsonl") for c in read(path)))
    monkeypatch.setattr(checker, "certified", lambda: [piece])
    (found,) = kernel.check(afresh=True, certificates=True)
    names = {one.rpartition(".")[2] for one in found.axioms}
    assert not found.fault and names <= set(axioms.AXIOMS)
    assert ("smooth P" in piece.statement) is (family != "noise")


@needs_rocq
@pytest.mark.parametrize("planted", ["multiplier", "constant", "constraint"])
def test_a_planted_error_in_a_statement_about_functions_is_found(monkeypatch, planted):
    first = next(iter(STATED.multipliers))
    changed = {
        "multiplier": {"multipliers": {**STATED.multipliers, first: "1/2"}},
        "constant": {"rhs": {name: str(Fraction(value) / 2) for name, value in STATED.rhs.items()}},
        "constraint": {"multipliers": {k: v for k, v in STATED.multipliers.items() if k != first}},
    }[planted]
    piece = gram.piece_of(replace(STATED, **changed))
    monkeypatch.setattr(checker, "certified", lambda: [piece])
    (found,) = kernel.check(afresh=True, certificates=True)
    assert found.fault


@needs_rocq
@pytest.mark.parametrize("hypothesis", ["0 = 1", "G_sq = 0"])
def test_a_proof_under_an_extra_hypothesis_is_refused(monkeypatch, hypothesis):
    piece = gram.piece_of(STATED)
    text = piece.proof()
    stronger = text.replace(
        "Theorem proof : statement.", f"Theorem proof : (forall G_sq : R, {hypothesis}) -> statement."
    )
    stronger = stronger.replace("unfold statement. intros", "intros extra. unfold statement. intros")
    assert stronger.count("extra") == 1
    monkeypatch.setattr(checker, "certified", lambda: [replace(piece, proof=lambda: stronger)])
    (found,) = kernel.check(afresh=True, certificates=True)
    assert "has type" in found.fault or "audited" in found.fault


def test_what_is_remembered_of_certificates_is_of_todays_statements():
    known = {proof.module: proof for proof in checker.stored(checker.CERTIFIED)}
    pieces = {gram.module_of(c): c for path in shipped("certificates/*.jsonl") for c in read(path)}
    assert known and known.keys() <= pieces.keys()
    for module in list(known)[::20]:
        told = kernel.of_certificate(pieces[module])
        assert (known[module].statement[:12] in told and "functions" in told) or "inner products" in told
        changed = replace(pieces[module], rhs={**pieces[module].rhs, "Delta": "1/3"})
        assert kernel.of_certificate(changed) == ""


def test_a_certificate_is_never_a_claims_own_proof():
    assert not any(proof.module.startswith("certificate_") for proof in kernel.stored())


@pytest.mark.parametrize("certificate", [SMALL, CURVED], ids=lambda one: one.name)
def test_what_has_no_words_stays_about_inner_products(certificate):
    about_functions = rounds.expressible(certificate)
    assert about_functions is (certificate is CURVED)
    assert ("strongly_convex P" in gram.piece_of(certificate).statement) is about_functions


def test_without_a_certificate_one_sentence(tmp_path):
    (tmp_path / "none.jsonl").write_text("")
    done = CliRunner().invoke(
        main, ["verify-certificate", str(tmp_path / "none.jsonl"), "--rocq", str(tmp_path / "a.v")]
    )
    assert done.exit_code == 2 and "a file for Rocq needs a certificate" in done.output
