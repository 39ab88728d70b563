"""The ledger: what is shipped is verified again, kinds of evidence stay apart, and a missing one is a dash."""

import pytest

import fedbounds
from fedbounds.study import survey
from fedbounds.theory.verdict import Evidence


@pytest.fixture(scope="module")
def lines():
    small = {"rounds": 4, "replicates": 8, "clients": 4, "samples": 12, "dimension": 2, "engine": "reference"}
    result = fedbounds.check("least-squares", weightings=["fedavg"], **small)
    return {(line.claim, line.reading): line.cells for line in survey.survey(result.to_json())}


def test_every_line_has_every_kind(lines):
    assert all(set(cells) == {str(kind) for kind in Evidence} for cells in lines.values())


def test_the_paper_as_written_and_as_repaired(lines):
    """Known results: Theorem 1 and the corollary are false as written, and proved once repaired."""
    for claim in ("theorem-1", "corollary"):
        assert lines[claim, "literal"]["exact"].startswith("REFUTED")
        assert lines[claim, "repaired"]["symbolic"] == "HOLDS proved"
        assert lines[claim, "repaired"]["exact"] == survey.DASH
    assert lines["lemma-2", "literal"]["exact"] == "REFUTED 1/16 against 4/625"


def test_only_the_symbolic_column_says_proved(lines):
    for cells in lines.values():
        assert not any("proved" in text for kind, text in cells.items() if kind != "symbolic")


def test_no_claim_is_both_proved_and_refuted(lines):
    for key, cells in lines.items():
        if "proved" in cells["symbolic"]:
            assert not any("REFUTED" in text for text in cells.values()), key


def test_without_a_study_the_empirical_columns_are_dashes():
    assert {line.cells["empirical"] for line in survey.survey()} == {survey.DASH}


def test_the_markdown_is_a_table():
    made = survey.to_markdown([survey.Line("a", "literal", "t", dict.fromkeys(map(str, Evidence), "-"))])
    assert made.splitlines()[-1] == "| a | literal | - | - | - | - | - |"
