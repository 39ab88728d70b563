"""Theorems that nobody here had seen: the pages show the record, and the record is of these theorems."""

from pathlib import Path

import pytest

from validate.fresh_theorems import __main__ as study

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", study.SETS)
def test_every_theorem_has_its_truth_and_its_first_answer(name):
    files = {path.stem for path in (study.HERE / name).glob("*.tex")}
    assert files == study.truth(name).keys() == study.recorded()[name].keys()


def test_the_page_shows_the_record():
    assert study.summary(study.recorded()) in (ROOT / "docs/referee.md").read_text(encoding="utf-8")


def test_the_readme_adds_up_the_first_answers():
    counts = [study.counts(name, rows) for name, rows in study.recorded().items()]
    total = {key: sum(count[key] for count in counts) for key in counts[0]}
    assert study.in_words(total) in " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


def test_an_answer_is_the_word_of_the_command(tmp_path):
    """One false theorem, one that is no theorem at all."""
    (tmp_path / "nothing.tex").write_text("\\begin{lemma} Nothing. \\end{lemma}", encoding="utf-8")
    assert study.answer(tmp_path / "nothing.tex")["word"] == study.NOT_READ
    rows = study.recorded()["forty"]
    false = min(
        (n for n, stated in study.truth("forty").items() if not stated["true"]), key=lambda n: rows[n]["seconds"]
    )
    assert study.answer(study.HERE / "forty" / f"{false}.tex")["word"] == "FALSE"
