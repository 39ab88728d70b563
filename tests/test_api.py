"""The functions of the top level: typed results, and what every one of them can do."""

import csv
import doctest
import importlib
import json
import sys
from dataclasses import replace

import pytest
from click.testing import CliRunner

import fedbounds
from fedbounds.cli.app import main
from fedbounds.errors import InputError
from fedbounds.plugins import claim_named
from fedbounds.referee.search.populations import BUDGETS, Budget
from fedbounds.study.proofs_and_certificates import tight as tight_constants
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import rho_bar, rho_tilde
from fedbounds.theory.verdict import Status

SMALL = {"clients": 2, "dimension": 2, "rounds": 4, "tau": 2, "replicates": 8}
FALSE = Claim("skewed", "False", "a draft", "constant", rho_tilde, {"skew": rho_bar})
FALSE_TOO = replace(FALSE, key="skewed-too")


@pytest.fixture(scope="module")
def study():
    return fedbounds.check(
        "quadratic", claims=["lemma-1", "theorem-1"], weightings=["fedavg", "fedmax"], readings=("repaired",), **SMALL
    )


def test_the_package_lists_exactly_what_it_exports():
    types = "Algorithm Assumption Claim DivergedError Evidence Experiment InputError Problem Quantity Result Status"
    types += " Trajectory Trial Verdict Weighting"
    verbs = "bounds certify check compare derive ledger referee refute simulate sweep worst"
    assert dir(fedbounds) == types.split() + verbs.split() == fedbounds.__all__
    for name in dir(fedbounds):
        assert isinstance(getattr(fedbounds, name), type) == name[0].isupper()


def test_a_claim_shows_its_statement():
    claim = claim_named("lemma-1")
    assert repr(claim).startswith(f"Claim lemma-1: {claim.lhs} <= ") and claim._repr_latex_().startswith("$")
    assert repr(claim_named("rate")).endswith("= O(1/T)")


def test_a_study_is_rows_a_frame_and_parts(study):
    pandas = pytest.importorskip("pandas")
    frame = study.to_frame()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == len(study.verdicts)
    assert {"weighting", "claim", "reading", "evidence", "status", "tightness"} <= set(frame.columns)
    part = study["lemma-1", "fedmax"]
    assert {(row["claim"], row["weighting"]) for row in part.rows()} == {("lemma-1", "fedmax")}
    assert [run.weighting for run in study["lemma-1"].runs] == ["fedavg", "fedmax"]
    assert part.verdicts == [pair for pair in study.verdicts if pair[0] == "fedmax" and pair[1].claim == "lemma-1"]
    for key, word in (("lemma-3", "lemma-1"), (("lemma-1", "fedmx"), "fedmax")):
        with pytest.raises(InputError, match=f"did you mean '{word}'"):
            study[key]


def test_without_pandas_a_frame_is_a_list(study, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert study.to_frame() == study.rows() and isinstance(study.rows()[0]["claim"], str)


def test_a_study_shows_itself_in_few_lines_in_html_in_latex_and_in_pictures(study, tmp_path):
    assert repr(study).startswith(f"Result: {len(study.rows())} rows: ") and len(repr(study).splitlines()) <= 4
    assert "Lemma 1" in study._repr_html_() and "<script" not in study._repr_html_()
    latex = study.to_latex()
    assert r"\toprule" in latex and latex.count(r"\\") == len(study.rows()) + 1 and r"lemma-1" in latex
    assert study.plot()._repr_svg_() != study.plot("skew")._repr_svg_()
    assert sorted(path.suffix for path in study.plot("one-step").save(tmp_path / "steps.png")) == [".png", ".svg"]
    with pytest.raises(InputError, match="did you mean 'bounds'"):
        study.plot("bound")


def test_every_format_that_a_result_is_saved_in_reads_back(study, tmp_path):
    assert json.loads(study.save(tmp_path / "rows.json").read_text()) == study.rows()
    with open(study.save(tmp_path / "rows.csv"), newline="") as file:
        assert [row["status"] for row in csv.DictReader(file)] == [row["status"] for row in study.rows()]
    assert study.save(tmp_path / "page.html").read_text() == study._repr_html_()
    assert study.save(tmp_path / "table.tex").read_text() == study.to_latex()
    assert (study.save(tmp_path / "folder") / "result.json").is_file()
    with pytest.raises(InputError, match="saved as"):
        fedbounds.derive("lemma-1").save(tmp_path / "rows.xlsx")


def test_the_referee_takes_an_object_a_file_and_a_key(tmp_path):
    kept = []
    trials = fedbounds.referee(FALSE, each=kept.append)
    assert trials[0].outcome == "FALSE" and kept == list(trials)
    assert trials["skewed", "plain"].rows()[0]["outcome"] == "FALSE" and "refuted: skewed" in repr(trials)
    assert "skewed & plain" in trials.to_latex() and "FALSE" in trials._repr_html_()
    with pytest.raises(InputError, match="must be a study"):
        trials.plot()
    (one,) = trials
    assert one.rows() == trials.rows() and one.to_latex() == trials.to_latex() and "FALSE" in one._repr_html_()
    assert one["sanity"] is one.stages[-1] and "refuted: skewed" in repr(one)
    with pytest.raises(InputError, match="did you mean 'sanity'"):
        one["sanitty"]
    with pytest.raises(InputError, match="CLAIMS"):
        (tmp_path / "empty.py").write_text("WEIGHTING = None\n")
        fedbounds.referee(tmp_path / "empty.py")
    with pytest.raises(InputError, match="did you mean 'lemma-1'"):
        fedbounds.referee("lemma1")


def test_a_search_returns_verdicts_on_an_object_as_on_a_key(monkeypatch):
    monkeypatch.setitem(BUDGETS, "small", Budget("small", 8, 4, 1, (2,), (1,), 20, 500, 30, seconds=1.0))
    by_key, by_object = (
        fedbounds.refute("error-by-pi", "literal"),
        fedbounds.refute(claim_named("error-by-pi"), "literal"),
    )
    assert by_key.items == by_object.items and by_key[0].status is Status.REFUTED
    assert by_key.rows()[0]["claim"] == "error-by-pi" and len(by_key) == 1
    assert [verdict.claim for verdict in fedbounds.refute([FALSE, FALSE_TOO])] == ["skewed", "skewed-too"]


def test_certificates_and_tight_constants_are_as_the_command_s(tmp_path):
    flags = {"tau": 2, "kappa": "7/2", "p": ("1/4", "3/4"), "alpha": "1/4,3/4"}
    result = fedbounds.certify("lemma-2", out=tmp_path, **flags)
    typed = ("certify", "lemma-2", "--tau", "2", "--kappa", "7/2", "--p", "1/4,3/4", "--weights", "1/4,3/4")
    printed = CliRunner().invoke(main, [*typed, "--out", str(tmp_path / "cli")])
    assert [str(item.verdict.status) for item in result] == ["HOLDS", "HOLDS"] and "HOLDS" in printed.output
    assert (tmp_path / "lemma-2.jsonl").read_bytes() == (tmp_path / "cli" / "lemma-2.jsonl").read_bytes()
    assert [row["step"] for row in result.rows()] == [0, 1] and result.rows()[0]["kappa"] == 3.5
    drift = tight_constants("lemma-2", "drift", tau=2, kappa=4) if "drift" in claim_named("lemma-2").terms else None
    tight = drift or tight_constants("lemma-2", tau=2, kappa=4)
    assert all(row["certified"] <= row["stated"] for row in tight.rows() if row["certified"])
    with pytest.raises(InputError, match="rational"):
        fedbounds.certify("lemma-2", kappa="ten")
    with pytest.raises(InputError, match="did you mean 'kappa'"):
        tight_constants("lemma-2", over="kapa")


def test_proofs_are_checked_and_a_plug_in_s_derivations_count(tmp_path):
    result = fedbounds.derive("lemma-1")
    assert result[0].verdict.status is Status.HOLDS and str(result[0]).startswith("lemma-1")
    assert result.rows()[0]["steps"] == result.rows()[0]["checked"] and "lemma-1" in result.to_latex()
    file = tmp_path / "mine.py"
    file.write_text(
        "from dataclasses import replace\nfrom fedbounds.evidence.symbolic.verified_proofs import installed\n"
        "from fedbounds.plugins import claim_named\n"
        "CLAIMS = (replace(claim_named('lemma-1'), key='my-lemma'),)\n"
        "DERIVATIONS = (replace(installed()['lemma-1'], key='my-proof', claim='my-lemma'),)\n"
    )
    own = fedbounds.derive("my-lemma", plugins=[file])
    assert own[0].verdict.claim == "my-lemma" and own[0].verdict.status is Status.HOLDS
    told = CliRunner().invoke(main, ["derive", "my-proof", "--plugin", str(file)])
    assert told.exit_code == 0 and "HOLDS" in told.output
    assert CliRunner().invoke(main, ["derive", "my-proof"]).exit_code == 2


def test_the_ledger_has_a_study_beside_what_is_known(study):
    lines = fedbounds.ledger(study, afresh=False)
    where = {row["weighting"] for row in lines["lemma-1", "literal"].rows()}
    assert {"", "fedavg", "fedmax"} <= where
    with pytest.raises(InputError, match="did you mean 'fedmax'"):
        lines["lemma-1", "fedmx"]
    assert "theorem-1" in lines.to_latex() and "<table" in lines._repr_html_()


def test_a_report_of_a_study_is_its_page(study, tmp_path):
    assert 'id="claim-lemma-1"' in study.report(tmp_path / "page.html").read_text()


def test_a_sweep_is_the_tidy_table_of_its_cells(tmp_path):
    file = tmp_path / "study.toml"
    fixed = "\n".join(f"{name} = {value}" for name, value in SMALL.items())
    file.write_text(
        f'[base]\nproblem = "quadratic"\nclaims = "theorem-1"\nweightings = "fedavg"\n{fixed}\n'
        "[grid]\ncondition = [4.0, 9.0]\n"
    )
    result = fedbounds.sweep(file, tmp_path / "out", jobs=1)
    assert result.summary.total == result.summary.computed == 2 and not result.failures
    assert {row["condition"] for row in result.rows()} == {4.0, 9.0}
    assert sum(result.counts.values()) == len(result.rows())
    assert (tmp_path / "out" / "sweep.csv").is_file() and "Sweep" in repr(result)


@pytest.mark.parametrize("name", ["fedbounds.study.proofs_and_certificates", "fedbounds.study.run_study"])
def test_the_examples_of_docstrings_run(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted and not result.failed
