"""A study that runs as it stands is stored, drawn and shown on its page; with other options only where asked."""

import json

import pytest

from validate import runner
from validate.runner import Study, cells, grid


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "RESULTS", tmp_path / "results")
    page = tmp_path / "page.md"
    page.write_text("<!-- sum: begin -->\nold\n<!-- sum: end -->\n")

    def compute(count: int = 3, small: bool = False) -> list[int]:
        return list(range(1 if small else count))

    def draw(record, path):
        path.write_text(f"drawn: {record}")

    return Study("A sum.", "numbers", compute, str, draw, page=page, blocks={"sum": lambda record: str(sum(record))})


def test_a_run_as_it_stands_writes_record_picture_and_page(study, tmp_path, capsys):
    assert study.main([]) == study.stored() == [0, 1, 2]
    assert (
        "\n3\n" in study.page.read_text() and (tmp_path / "results" / "numbers.png").read_text() == "drawn: [0, 1, 2]"
    )
    assert capsys.readouterr().out == "[0, 1, 2]\n"


@pytest.mark.parametrize("words", [["--count", "5"], ["--small"]])
def test_a_run_with_other_options_is_stored_where_it_is_told_and_nowhere_else(study, tmp_path, words):
    before = study.page.read_text()
    record = study.main(words)
    assert not (tmp_path / "results").exists()
    study.main([*words, "--out", str(tmp_path / "own")])
    assert json.loads((tmp_path / "own" / "numbers.json").read_text()) == record
    assert (tmp_path / "own" / "numbers.png").exists() and study.page.read_text() == before


def test_a_cell_that_is_stored_is_not_computed_again(tmp_path):
    asked = []

    def cell(x, y):
        asked.append((x, y))
        return {"x": float(x), "y": float(y), "product": x * y}

    some, every = grid(x=(1, 2), y=(3,)), grid(x=(1, 2), y=(3, 4))
    cells(tmp_path / "table.json", some, cell)
    rows = cells(tmp_path / "table.json", every, cell)
    assert [row["product"] for row in rows] == [3, 6, 4, 8] and asked == [(1, 3), (2, 3), (1, 4), (2, 4)]
