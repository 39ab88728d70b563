"""The commands about whole classes of problems, and the studies behind docs/sdp.md."""

import json
import math
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from fedbounds.cli.app import main
from fedbounds.evidence.sdp.one_step.certificate import read, verified_certificates
from validate import sharper, tight_constants

ROOT = Path(__file__).resolve().parents[3]
CERTIFICATES = ROOT / "derivations" / "certificates"


def call(*arguments):
    return CliRunner().invoke(main, list(arguments))


def test_certify_prints_every_step_and_writes_certificates(tmp_path):
    result = call("certify", "lemma-2", "--clients", "2", "--tau", "2", "--kappa", "10", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert result.stdout.count("HOLDS") == 2
    (path,) = tmp_path.iterdir()
    assert path.name == "lemma-2.jsonl" and [wrong for _, wrong in verified_certificates([path])] == ["", ""]
    again = call("verify-certificate", str(path))
    assert again.exit_code == 0 and again.stdout.count(": verified: lemma-2 as stated; reading repaired; ") == 2
    assert "2 verified, 0 rejected; 2 different (claim, setting) pairs proved as stated" in again.stdout


@pytest.mark.parametrize("words", ["star-step --clients 50", "lemma-2 --tau 1000000"])
def test_a_model_too_large_at_its_last_step_is_refused_before_the_first(words, monkeypatch):
    monkeypatch.setattr("fedbounds.evidence.sdp.one_step.verdict.examination", None)
    said = call("certify", *words.split())
    assert said.exit_code == 2 and said.stderr.endswith("take fewer clients or local steps.\n")


def test_a_corrupted_certificate_is_rejected_by_the_command(tmp_path):
    data = json.loads((CERTIFICATES / "tight.jsonl").read_text().splitlines()[0])
    label = next(iter(data["multipliers"]))
    data["multipliers"][label] += "1"
    (tmp_path / "bad.json").write_text(json.dumps(data, indent=1))
    result = call("verify-certificate", str(tmp_path / "bad.json"))
    assert result.exit_code == 1 and "REJECTED" in result.stdout


def test_certify_takes_weights_and_one_time():
    flags = ("--weights", "0.9,0.1", "--p", "0.5,0.5", "--rho-bar", "1.5", "--rho-tilde", "1.6")
    result = call("certify", "theorem-1", "--reading", "repaired", *flags, "--tau", "6", "--kappa", "100", "--t", "7")
    assert result.exit_code == 0, result.output
    line, *rest = result.stdout.strip().splitlines()[1:]
    assert re.match(r"theorem-1\s+repaired\s+1\s+HOLDS", line)
    words = " ".join(" ".join([line, *rest]).split())
    # Its own step size is the largest that its assumptions allow, 1/L; another one only on request.
    assert "eta L at every step = 1, full or stochastic gradients, C = 1" in words.replace("  ", " ")
    other = call("certify", "theorem-1", *flags, "--tau", "2", "--kappa", "100", "--t", "0", "--eta", "1/3")
    assert "eta L at every step = 1/3" in " ".join(other.stdout.split())


def test_certify_all_runs_every_one_round_claim():
    result = call("certify", "--all", "--tau", "1")
    assert result.exit_code == 0, result.output
    for name in ("lemma-1", "lemma-2", "theorem-1", "sharper-step", "star-step", "fedavg-step"):
        assert name in result.stdout
    assert "REFUTED" not in result.stdout and "UNDECIDED" not in result.stdout


def test_tight_prints_a_curve():
    result = call("tight", "lemma-2", "--over", "tau", "--tau", "2")
    assert result.exit_code == 0, result.output
    rows = [line for line in result.stdout.splitlines() if line[:1].isdigit()]
    assert len(rows) == 6 and "not needed" in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("certify",),
        ("certify", "lemma-2", "--all"),
        ("certify", "lemma-two"),
        ("certify", "lemma-2", "--reading", "nonsense"),
        ("certify", "lemma-2", "--weights", "1/2,x"),
        ("certify", "lemma-2", "--tau", "0"),
        ("certify", "lemma-2", "--clients", "1000"),
        ("certify", "lemma-2", "--eta", "slow"),
        ("certify", "lemma-2", "--plugin", "no-such-file.py"),
        ("tight", "lemma-2", "--term", "nonsense"),
        ("verify-certificate", "no-such-file.json"),
    ],
)
def test_bad_input_is_one_sentence(arguments):
    result = call(*arguments)
    assert result.exit_code == 2 and result.stdout == ""
    assert len(result.stderr.strip().splitlines()) == 1


def test_the_studies_run_small():
    assert tight_constants.STUDY.main(["--small"])["numbers"]["tight-lemma-2-drift-k10-tau2"]["certificate"]
    result = sharper.main(["--small"])
    (run,) = result["runs"].values()
    assert 1 <= run["fedavg-step"] <= run["star-step"] <= run["sharper-step"] <= run["theorem-1"]
    assert result["worst"]["alpha = p"]["theorem-1"][0] > 1.1


def test_every_number_of_the_study_has_its_stored_certificate():
    numbers = json.loads((ROOT / "validate" / "results" / "tight_constants.json").read_text())["numbers"]
    assert len(numbers) > 100
    stored = {certificate.name for path in CERTIFICATES.glob("*.jsonl") for certificate in read(path)}
    assert {row["certificate"] for row in numbers.values()} <= stored


def test_the_documented_tables_are_the_certified_numbers():
    numbers = json.loads((ROOT / "validate" / "results" / "tight_constants.json").read_text())["numbers"]
    text = (ROOT / "docs" / "sdp.md").read_text()
    for kappa in (2, 10, 100):
        row = [numbers[f"tight-lemma-2-drift-k{kappa}-tau{tau}"]["certified"] for tau in (2, 3, 4, 6)]
        assert f"| {kappa} | " + " | ".join(f"{value:.3f}" for value in row) + " |" in text
    for weights in ("fedavg", "skewed", "one-client", "small-client"):
        ratio = math.ceil(numbers[f"ratio-theorem-1-{weights}-k10-tau3"]["certified"] * 1e4) / 1e4
        assert f"| {weights} | {ratio:.4f} |" in text
        cells = []
        for kind, down in (("contraction", True), ("heterogeneity", False)):
            for kappa in (2, 10, 100):
                value = numbers[f"no-gradient-{kind}-{weights}-k{kappa}-tau3"]["certified"] * 1000
                cells.append(f"{(math.floor(value) if down else math.ceil(value)) / 1000:.3f}")
        assert f"| {weights} | " + " | ".join(cells) + " |" in text, (weights, cells)
