"""The page of the comparison says what was recorded, and the record is what a run finds."""

import re
from dataclasses import replace

import pytest

from fedbounds.report import comparison_report
from fedbounds.study.compare import compare_at
from validate import compare as study
from validate import markdown


@pytest.fixture(scope="module")
def kept():
    return study.STUDY.stored()


def test_the_page_shows_the_record(kept):
    page = study.STUDY.page.read_text(encoding="utf-8")
    assert study.STUDY.written(page, kept) == page and set(kept) == set(study.STUDIES)


def test_a_theorem_and_an_algorithm_are_found_again(kept):
    name = "diabetes"
    settings = replace(study.settings(name), claims=("fedavg-rounds",))
    result = compare_at(settings, study.STUDIES[name][1], ("fedavg",))
    row = markdown.of_table(comparison_report.theorem_table(result)).splitlines()[2]
    assert row in kept[name]["page"]
    told = comparison_report.algorithm_table(result).rows[0]
    line = next(
        line for line in kept[name]["page"].splitlines() if line.startswith("| fedavg | ") and "/L | " in line
    )
    assert all(str(cell) in line for cell in told[1:4])


def cells(kept, name, first):
    """The cells of the row of a theorem or algorithm, as the record has them."""
    line = next(line for line in kept[name]["page"].splitlines() if line.startswith(f"| {first} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_answer_of_the_page_is_that_of_the_record(kept):
    page = re.sub(r"\s+", " ", study.STUDY.page.read_text(encoding="utf-8"))
    assert all("fedavg-rounds is the tightest" in item["answer"][0] for item in kept.values())
    for name in ("digits", "diabetes"):
        asked, needed = cells(kept, name, "fedavg-rounds")[-1].split()[:2]
        assert f"{asked} " in page and f"needs {needed.lstrip('(').rstrip(')')} ({name}" in page
    for name in kept:
        for first in ("star-corollary", "sharper-corollary", "li-2020", "corollary", "ratio-bound", "final-bound"):
            assert float(cells(kept, name, first)[3]) > 1
    bound, measured = (cells(kept, "breast-cancer", "fedavg-rounds")[k] for k in (3, 4))
    assert f"by {bound} of the start, where {measured.split()[0]} is measured." in page
