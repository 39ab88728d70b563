"""A counterexample is a script that needs Python alone and finds the very sides of the verdict."""

import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import pytest
from click.testing import CliRunner

import fedbounds
from fedbounds.cli.app import main
from fedbounds.cli.commands.referee import _say
from fedbounds.errors import InputError
from fedbounds.evidence.exact.compare import examine
from fedbounds.evidence.exact.counterexamples import all_files, read, shipped_counterexamples
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.plugins import claim_named
from fedbounds.referee.stage_context import Stage
from fedbounds.referee.stages import STAGES
from fedbounds.report import claim_text
from fedbounds.report.counterexample_text import script, stored_script
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Evidence, Status, Verdict

EXAMPLES = {path.stem: read(path).document for path in all_files()}
NOISY = {"curvatures": ["2", "1"], "minima": ["0", "1"], "p": ["1/2", "1/2"], "w0": ["0"], "eta": ["1/4", "1/100"]}
NOISY |= {"tau": 2, "weighting": "fedavg", "noise": ["1", "1/2"]}


def ran(text):
    """The sides that the script prints, run by Python alone."""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", text], capture_output=True, text=True, check=True)
    violated, _, left, _, right = done.stdout.split()
    assert violated == "violated:"
    return Fraction(left), Fraction(right)


@pytest.mark.parametrize("name", [name for name, item in EXAMPLES.items() if "claim" in item and name != "rate"])
def test_the_script_of_a_shipped_counterexample_computes_its_constants_and_finds_its_sides(name):
    (example,) = shipped_counterexamples(name)
    text = stored_script(example)
    assert "fedbounds" not in text
    assert ran(text) == (Fraction(example.document["lhs"]), Fraction(example.document["rhs"]))
    assert len(text.splitlines()) <= {"lemma-2": 15, "corollary-D": 27}.get(name, 21)
    assert re.search(" says: left <?= right, here at [tT] = ", text)
    assert not re.search(r"\b(L|mu|Gamma|G_sq|sigma_sq|rho_bar|rho_tilde) = Q", text)


@pytest.mark.parametrize("minima", [["0", "1"], ["0", "0"]])
def test_skews_and_gradients_are_computed_over_every_sign_of_the_noise_and_where_all_clients_agree(minima):
    theorem = claim_named("theorem-1")
    claim = replace(theorem, terms={name: term / 100 for name, term in theorem.terms.items()})
    verdict = examine(from_json({**NOISY, "minima": minima, "p": ["1/4", "3/4"]}), claim, READINGS["literal"])
    text = script(claim, verdict)
    assert re.search(r"G_sq = .*max\(grad", text, re.DOTALL)
    assert "min(rho(s, w[s]) for w, X in paths for s in range" in text
    assert ran(text) == (Fraction(verdict.data["lhs"]), Fraction(verdict.data["rhs"]))


def test_the_referee_prints_the_script():
    done = CliRunner().invoke(main, ["referee", "lemma-2", "--reading", "literal", "--script", "--quiet"])
    left, right = ran(done.stdout)
    assert left > right


def test_a_shipped_counterexample_is_printed_as_a_script_by_its_name():
    done = CliRunner().invoke(main, ["refute", "theorem-1-sync", "--verify", "--script"])
    assert ran(done.stdout) == (Fraction("638401/4000000"), Fraction("-16191589/4000000"))


@pytest.mark.parametrize("words", [["rate", "--script"], ["no-such-claim"], ["theorem-1", "--reading", "repaired"]])
def test_what_no_shipped_counterexample_answers_is_refused(words):
    done = CliRunner().invoke(main, ["refute", *words, "--verify"])
    assert done.exit_code == 2
    assert done.output.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "needed"), [("theorem-1-sync", True), ("theorem-1-literal", False), ("lemma-2", False)]
)
def test_a_counterexample_that_needs_the_run_to_end_says_so(name, needed):
    shown = CliRunner().invoke(main, ["refute", name, "--verify"]).stdout
    assert ("It needs T = tau = 2" in shown) is needed


@pytest.mark.parametrize(("alpha", "outside"), [(["0", "1"], True), (["1/2", "1/2"], False)])
def test_a_hypothesis_that_would_exclude_the_instance_is_named(alpha, outside):
    instance = {**NOISY, "noise": ["0", "0"], "eta": ["1/4", "1/4"], "weighting": "fixed", "weights": [alpha]}
    note = claim_text.unassumed_note(claim_named("lemma-2"), "literal", from_json(instance))
    assert note.startswith("This instance does not meet unbiased" if outside else "")
    assert bool(note) is outside


def test_once_a_claim_is_proved_an_interruption_is_said_to_keep_the_answer(capsys):
    proof = Verdict("mine", "plain", Evidence.SYMBOLIC, Status.HOLDS)
    for found, said in (((proof,), 1), ((replace(proof, evidence=Evidence.SDP),), 0)):
        _say(4, STAGES[3], Stage("proof", 0.1, ("found by the prover:",), found))
        assert capsys.readouterr().err.count("Ctrl-C keeps the proof") == said


def test_explain_leads_with_what_holds_and_where_it_fails():
    lines = CliRunner().invoke(main, ["explain", "theorem-1"]).stdout.splitlines()
    assert lines[0] == "False as written; true if repaired."
    assert lines[2].startswith("Holds [repaired], proved step by step and by Rocq: fedbounds derive theorem-1.")
    assert lines[3].startswith("Fails [literal]: left side 0.5625 > right side 0.5601, with 2 clients, 1 coordinate")
    assert "It needs T = tau = 2" in lines[4]


def test_what_has_no_short_script_is_said():
    with pytest.raises(InputError, match="a script has full gradients"):
        script(claim_named("rate"), fedbounds.refute("rate")[0])
