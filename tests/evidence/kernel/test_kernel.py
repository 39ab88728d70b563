"""Statements of Rocq follow from the claims; what is proved is that statement and no other, from no other axioms."""

import dataclasses
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import sympy as sp
from click.testing import CliRunner

from fedbounds import plugins
from fedbounds.cli.app import main
from fedbounds.errors import InputError
from fedbounds.evidence import kernel
from fedbounds.evidence.exact.counterexamples import Counterexample, all_files, read
from fedbounds.evidence.kernel import coqc, proof_obligations, release_record
from fedbounds.evidence.kernel import rocq_runs as checker
from fedbounds.io import read_json, shaped, write_json
from fedbounds.plugins import claim_named, claims
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import L, excess, mu, tau
from fedbounds.theory.verdict import Status

needs_rocq = pytest.mark.skipif(kernel.available() is None, reason="Rocq (Coq) is not installed: apt-get install coq")
STORED = kernel.stored()
ROOT = Path(__file__).resolve().parents[3]
PROVED = sorted(proof.subject for proof in STORED if proof.status is Status.HOLDS)


def stated(key, **changes):
    claim = dataclasses.replace(claim_named(key), **changes)
    return kernel.statement(claim, kernel.reading_of(claim))


@pytest.mark.parametrize("key", PROVED)
def test_what_the_release_remembers_is_this_statement_and_no_changed_one(key):
    claim = claim_named(key)
    reading, (name, term) = kernel.reading_of(claim), next(iter(claim.terms.items()))
    verdict = kernel.examine(claim, reading)
    assert verdict.status is Status.HOLDS and "checked at release by Rocq" in verdict.detail
    for changes in (
        {"terms": {**claim.terms, name: term * sp.Rational(99, 100)}},
        {"terms": {**claim.terms, "more": mu}},
        {"lhs": claim.lhs + 1},
        {"terms": {**claim.terms, "time": tau}},
        {"assumptions": (), "repair": None},
    ):
        changed = dataclasses.replace(claim, **changes)
        assert kernel.examine(changed, reading).status is Status.UNDECIDED, changes


@pytest.mark.parametrize("key", ["fedavg-step", "star-corollary"])
def test_what_the_model_ties_must_be_assumed(key):
    claim = claim_named(key)
    for dropped in {"full-participation", "bounded-variance", "bounded-gradient"} & {
        a.key for a in claim.assumptions
    }:
        weaker = dataclasses.replace(claim, assumptions=tuple(a for a in claim.assumptions if a.key != dropped))
        assert kernel.examine(weaker, kernel.reading_of(claim)).status is Status.UNDECIDED, dropped


def test_an_assumption_under_a_shipped_key_is_the_shipped_one():
    claim = claim_named("fedavg-step")
    others = [dataclasses.replace(a, statement="narrower") if a.key == "smooth" else a for a in claim.assumptions]
    with pytest.raises(InputError, match="an assumption smooth of claim fedavg-step must be the shipped one"):
        dataclasses.replace(claim, assumptions=tuple(others))


def test_an_axiom_is_allowed_by_what_it_says():
    assert coqc.allowed("ClassicalDedekindReals.sig_not_dec : forall P : Prop, {~ ~ P} + {~ P}")
    assert not coqc.allowed("ClassicalDedekindReals.sig_not_dec : False")
    assert not coqc.allowed("ClassicalDedekindReals.sig_not_dec is assumed to be guarded.")


def test_what_is_stored_of_a_proof_is_not_believed():
    (proof,) = [proof for proof in STORED if proof.module == "proof_lemma_2"]
    lemma, literal = claim_named("lemma-2"), READINGS["literal"]
    assert not release_record._speaks_of(dataclasses.replace(proof, readings=("repaired", "literal")), lemma, literal)
    assert not release_record._speaks_of(
        dataclasses.replace(proof, status=Status.REFUTED), lemma, READINGS["repaired"]
    )


def test_other_readings_are_not_proved():
    assert kernel.examine(claim_named("theorem-1"), READINGS["plain"]) is None


def test_what_the_release_remembers_is_every_piece_and_rests_on_the_files_of_today():
    assert {proof.module for proof in STORED} == {obligation.module for obligation in proof_obligations.obligations()}
    for proof in STORED:
        assert release_record._unchanged(proof, None), proof.module
        assert {axiom.rpartition(".")[2] for axiom in proof.axioms} <= set(coqc.AXIOMS) and not proof.fault


@pytest.mark.parametrize(
    ("key", "reading"),
    [("theorem-1", "sync"), ("theorem-1", "literal"), ("lemma-2", "literal"), ("corollary", "sync")],
)
def test_false_claims_are_refuted_by_the_kernel(key, reading):
    verdict = kernel.examine(claim_named(key), READINGS[reading])
    assert verdict.status is Status.REFUTED
    # Nothing is said of a claim that only bears the name.
    other = dataclasses.replace(claim_named(key), lhs=claim_named(key).lhs / 2)
    assert kernel.examine(other, READINGS[reading]).status is Status.UNDECIDED


def test_a_changed_model_makes_what_was_checked_stale(monkeypatch, tmp_path):
    planted(monkeypatch, tmp_path, "Model.v", "0 < eta M.", "0 <= eta M.")
    assert kernel.examine(claim_named("lemma-1"), READINGS["all-steps"]).status is Status.UNDECIDED


def test_only_exp_keeps_a_counterexample_from_rocq():
    written = {obligation.module for obligation in proof_obligations.obligations()}
    left = {path.stem for path in all_files() if f"instance_{path.stem.replace('-', '_')}" not in written}
    assert left == {"alpha-limit", "temperature-higher", "temperature-lower"} | {
        f"softmax-{name}" for name in ("bias", "bound", "rate")
    }


def test_every_constant_is_tied_to_the_model():
    text = stated("star-step")
    for tie in ("smooth P L", "strongly_convex P mu", "skew_at_least M rho_bar", "ratio_at_least M pi_min"):
        assert tie in text


def test_what_the_model_has_no_word_for_is_refused():
    refused = 0
    for claim in claims().values():
        for name in claim.readings:
            if claim.scope == "constant":
                refused += 1
                with pytest.raises(InputError, match="must express all"):
                    kernel.statement(claim, READINGS[name])
    assert refused > 10
    with pytest.raises(InputError, match="the symbol gone_sq"):
        stated("drift-full")


def test_other_functions_are_refused():
    for term in (sp.sqrt(excess), excess**L):
        with pytest.raises(InputError, match="sums, products, whole powers"):
            stated("lemma-1", terms={"a": term})


def planted(monkeypatch, tmp_path, file, old, new):
    """The shipped sources with one text replaced in one file."""
    for path in proof_obligations.shipped("rocq/*.v"):
        text = path.read_text()
        if path.name == file:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / path.name).write_text(text)
    monkeypatch.setattr(
        proof_obligations, "shipped", lambda pattern: sorted(tmp_path.glob(pattern.removeprefix("rocq/")))
    )


@needs_rocq
def test_lemma_1_is_proved_here_and_then_remembered(resting, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (proof,) = kernel.check(["lemma-1"])
    assert not proof.fault and proof == next(known for known in STORED if known.module == "proof_lemma_1")
    for module in (checker, coqc):
        monkeypatch.setattr(module, "compiled", lambda *call: ("called again", ""))
    assert kernel.check(["lemma-1"]) == [proof]
    assert kernel.check(["lemma-1"], afresh=True)[0].fault
    # What was kept of other texts is not what was found of these.
    planted(monkeypatch, tmp_path, "Space.v", "Open Scope R_scope.", "Open Scope R_scope. ")
    assert kernel.check(["lemma-1"])[0].fault


def test_what_was_kept_on_this_machine_is_compared_with_what_is_expected(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    obligation = proof_obligations.proved("proof_lemma_1")
    expected = checker.expected_result(obligation, checker.source_texts([obligation]), "8.16.1")
    path, zeros = checker._cache_path(expected), "0" * 64
    write_json(path, dataclasses.asdict(expected))
    assert checker._cached(expected) == expected
    for changed in (
        {"status": Status.REFUTED},
        {"readings": ("literal",)},
        {"subject": "theorem-1"},
        {"statement": zeros},
        {"sources": zeros},
        {"axioms": ("Top.cheat",)},
        {"fault": "it rests on cheat"},
    ):
        write_json(path, dataclasses.asdict(dataclasses.replace(expected, **changed)))
        assert checker._cached(expected) is None, changed


def test_a_change_of_what_asks_rocq_makes_all_stale(monkeypatch, tmp_path):
    changed = tmp_path / "rocq.py"
    changed.write_text(coqc.THIS.read_text().replace("sig_not_dec", "cheat"))
    monkeypatch.setattr(checker, "THIS", changed)
    assert kernel.examine(claim_named("lemma-1"), READINGS["all-steps"]).status is Status.UNDECIDED
    assert not any(release_record._unchanged(proof, None) for proof in STORED[::9])


def test_a_file_of_another_package_may_not_take_a_name(monkeypatch, tmp_path):
    foreign = tmp_path / "Model.v"
    foreign.write_text("Definition smooth := True.")
    result = [*proof_obligations.shipped("rocq/*.v"), foreign]
    monkeypatch.setattr(proof_obligations, "shipped", lambda pattern: result)
    with pytest.raises(InputError, match=r"Model\.v needs a name of its own.*rename it") as told:
        proof_obligations.sources()
    assert "\n" not in str(told.value)


def test_the_record_of_another_package_is_not_believed(monkeypatch, tmp_path):
    (tmp_path / "rocq").mkdir()
    (tmp_path / "__init__.py").touch()
    record = [dataclasses.asdict(STORED[0]) | {"subject": "a-claim-of-theirs"}]
    (tmp_path / release_record.STORED).write_text(json.dumps(record))
    theirs = SimpleNamespace(module="theirs", load=lambda: "theirs")
    ours = SimpleNamespace(module=plugins.OWN, load=lambda: plugins.OWN)
    monkeypatch.setattr(plugins, "registered", lambda group: [ours, theirs])
    folder = plugins.importlib.resources.files
    monkeypatch.setattr(
        plugins.importlib.resources, "files", lambda name: tmp_path if name == "theirs" else folder(name)
    )
    release_record.stored.cache_clear()
    try:
        assert tmp_path / release_record.STORED in plugins.shipped(release_record.STORED)
        assert release_record.stored() == STORED
    finally:
        release_record.stored.cache_clear()


def test_two_pieces_may_not_share_a_name():
    one = proof_obligations.proved("proof_lemma_1")
    with pytest.raises(InputError, match="names of their own"):
        checker.source_texts([one, dataclasses.replace(one, statement="Definition statement := True.")])


def test_without_rocq_the_command_says_at_release_and_never_here(monkeypatch, tmp_path):
    monkeypatch.setattr(coqc.shutil, "which", lambda name: None)
    done = CliRunner().invoke(main, ["kernel", "theorem-1", "corollary"])
    lines = done.output.splitlines()
    assert done.exit_code == 0 and "proof_corollary ['repaired']: PROVED" in done.output
    told = [line for line in lines if "statement" in line]
    assert len(told) == 8 and all(line.endswith("checked at release") for line in told)
    assert (
        "8 of 8 checked at release; Rocq is not installed here" in done.output and "checked here" not in done.output
    )
    done = CliRunner().invoke(main, ["kernel", "--out", str(tmp_path / "checked.json")])
    assert done.exit_code == 2 and "--out needs Rocq" in done.output and not (tmp_path / "checked.json").exists()
    done = CliRunner().invoke(main, ["kernel", "nothing"])
    assert done.exit_code == 2 and "must have something to check" in done.output


@needs_rocq
@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            "field; lra.\nQed.",
            "exfalso; exact (cheat 0%nat).\nQed.",
            "cheat is assumed to be guarded",
        ),
        (
            "statement_lemma_1.statement.\nProof.\n  intros P",
            "0 = 1 -> statement_lemma_1.statement.\nProof.\n  intros extra P",
            'while it is expected to have type "statement_lemma_1.statement"',
        ),
    ],
)
def test_a_planted_error_is_found(resting, monkeypatch, tmp_path, old, new, complaint):
    planted(monkeypatch, tmp_path, "proof_lemma_1.v", old, new)
    if "assumed" in complaint:
        path = tmp_path / "proof_lemma_1.v"
        loop = "Unset Guard Checking.\nFixpoint cheat (n : nat) : False := cheat n.\n"
        path.write_text(path.read_text().replace("Theorem proof", f"{loop}Theorem proof"))
    (proof,) = kernel.check(["lemma-1"])
    assert complaint in proof.fault and proof.fault


SPOOFED = """Definition mine (P : Prop) : Prop := False.
Notation "~ P" := (mine P) : type_scope.
#[global] Set Printing Notations.
Module ClassicalDedekindReals.
Axiom sig_not_dec : forall P : Prop, {~ ~ P} + {~ P}.
End ClassicalDedekindReals.
"""


@needs_rocq
def test_an_axiom_that_reads_like_an_allowed_one_is_refused(resting, monkeypatch, tmp_path):
    cheat = "destruct (ClassicalDedekindReals.sig_not_dec True) as [[]|[]].\nQed."
    planted(monkeypatch, tmp_path, "proof_lemma_1.v", "field; lra.\nQed.", cheat)
    path = tmp_path / "proof_lemma_1.v"
    path.write_text(path.read_text().replace("Theorem proof", f"{SPOOFED}Theorem proof"))
    (proof,) = kernel.check(["lemma-1"])
    assert "sig_not_dec : forall P : Prop, {proof_lemma_1.mine" in proof.fault


@needs_rocq
def test_planted_errors_in_counterexamples_are_found(monkeypatch):
    """A stored side, a swapped index and a step size; beside them the counterexamples as they are."""
    errors = [
        ("equation-2", {"rhs": "19/13"}),
        ("fedmax-k-poc", {"client": 1}),
        ("equation-2", {"eta": ["1/8", "1/7"]}),
    ]
    every = []
    for k, (name, planted) in enumerate([("equation-2", {}), ("fedmax-k-poc", {}), *errors]):
        document = json.loads(json.dumps(read(next(path for path in all_files() if path.stem == name)).document))
        data = document["data"]
        next(part for part in (document, data, data["instance"]) if part.keys() >= planted.keys()).update(planted)
        every.append(proof_obligations.computed(Counterexample(f"planted-{k}", document)))
    monkeypatch.setattr(checker, "obligations", lambda: every)
    assert [bool(result.fault) for result in kernel.check(afresh=True)] == [False, False, True, True, True]


def test_a_shipped_statement_is_refused(monkeypatch, tmp_path):
    planted(monkeypatch, tmp_path, "Space.v", "Open Scope R_scope.", "Open Scope R_scope.")
    (tmp_path / "statement_lemma_1.v").write_text("Definition statement := True.")
    monkeypatch.setattr(checker, "available", lambda: "8.16.1")
    with pytest.raises(InputError, match="no statement may be shipped"):
        kernel.check(["lemma-1"])


def test_only_sound_proofs_are_remembered(tmp_path):
    good = checker.Audited("proof_lemma_1", "lemma-1", ("all-steps",), Status.HOLDS, "a", "b", "8.16.1", ())
    release_record.store([good, dataclasses.replace(good, fault="it rests on cheat")], tmp_path / "checked.json")
    # What is written is what is read: as the release's own file is.
    assert shaped(read_json(tmp_path / "checked.json"), list[checker.Audited], "it") == [good]
    release_record.store(STORED, tmp_path / "checked.json")
    assert (tmp_path / "checked.json").read_text() == (ROOT / "derivations/rocq/checked.json").read_text()


def test_without_rocq_one_sentence(monkeypatch):
    monkeypatch.setattr(coqc.shutil, "which", lambda name: None)
    with pytest.raises(InputError, match="needs Rocq"):
        kernel.check()


def test_the_lines_to_be_read_are_those_of_the_model():
    model, horizon = (
        " ".join(proof_obligations.sources()[name].read_text().split()) for name in ("Model", "Horizon")
    )
    blocks = (ROOT / "docs/kernel.md").read_text().split("```")[1::2]
    read, along = (block.strip() for block in blocks if block.startswith("\nDefinition"))
    assert len(read.splitlines()) == 10
    for item in ["Definition " + rest for rest in read.split("Definition ")[1:]]:
        assert " ".join(item.split()) in model
    assert " ".join(along.split()) in horizon


def test_the_page_counts_what_there_is(certified):
    page = (ROOT / "docs/kernel.md").read_text()
    table = {key: int(number) for key, number in re.findall(r"^\| ([a-zA-Z ,]+?) \| (\d+) \|$", page, re.MULTILINE)}
    every, certificates = list(proof_obligations.obligations()), certified
    kinds = [obligation.module.partition("_")[0] for obligation in every]
    about = sum("strongly_convex P" in obligation.statement for obligation in certificates)
    assert table == {
        "theorems proved": kinds.count("proof"),
        "statements proved false": kinds.count("not"),
        "counterexamples computed again": kinds.count("instance"),
        "certificates checked": len(kernel.stored(kernel.CERTIFIED)),
        "certificates stated about functions": about,
        "axioms used": len({name for proof in STORED for name in proof.axioms}),
    }
    assert table["certificates checked"] == len(certificates)
