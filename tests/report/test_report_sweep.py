"""The page of a sweep: counts, failures and the study, from any table that a file may hold."""

import re
import sqlite3
from collections import Counter
from dataclasses import replace

import pytest
import sweep_cells
from click.testing import CliRunner

from fedbounds.cli.app import main
from fedbounds.errors import InputError
from fedbounds.report.html.report_page import sweep_page
from fedbounds.study import study_file, sweep
from fedbounds.study.sweep_table import TABLE, CellResult, read_table
from fedbounds.theory.verdict import Evidence, Status

HOSTILE = "<script>alert(1)</script>"
STUDY = f"""
[base]
rounds = 7
[grid]
data = ["quadratics:0", "{HOSTILE}"]
condition = [2, 10, 100]
seed = [0, 1]
[[exclude]]
condition = 2
seed = 1
"""


def computed(cell):
    """Two kinds of evidence, statuses and tightness by the settings; one condition fails."""
    seed, condition = cell.settings["seed"], cell.settings["condition"]
    if (condition, seed) == (100, 1):
        return CellResult(cell.settings, message=f"it diverged {HOSTILE}")
    status = Status.REFUTED if condition == 10 else Status.HOLDS
    rows = [
        replace(row, evidence=kind, status=status, tightness=0.1 * condition + seed)
        for row, kind in zip(sweep_cells.rows(cell), (Evidence.EMPIRICAL, Evidence.EXPECTATION), strict=True)
    ]
    return CellResult(cell.settings, tuple(rows))


def filled(text, out):
    sweep.run(study_file.parse_grid(text), out, jobs=1, compute=computed)
    return out


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return filled(STUDY, tmp_path_factory.mktemp("sweep"))


@pytest.fixture(scope="module")
def html(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("page") / "report.html"
    done = CliRunner().invoke(main, ["report", str(folder), "--out", str(out)], catch_exceptions=False)
    assert done.exit_code == 0 and done.stdout == "" and done.stderr.startswith(f"Wrote {out}")
    return out.read_text(encoding="utf-8")


def test_the_page_shows_counts_and_failures_and_escapes_text(html, folder):
    counts = read_table(folder).counts
    assert counts == Counter(
        {
            ("corollary", "repaired", kind, status): 4
            for kind in Evidence
            if kind in ("empirical", "expectation")
            for status in ("HOLDS", "REFUTED")
        }
    )
    shown = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html))
    assert (
        "corollary repaired empirical" in shown
        and "10 cells over data (2), condition (3), seed (2); 2 failed" in shown
    )
    assert HOSTILE not in html and "it diverged &lt;script&gt;" in html
    assert not re.search(r'(?:src|href)="http', html)
    assert html.count("[base]") == 1 and "condition = [2, 10, 100]" in html


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE cells SET result = '{}'",
        "UPDATE cells SET result = replace(result, '\"rounds\": 7', '\"rounds\": -7')",
        "UPDATE cells SET result = replace(result, 'corollary', 'a\\u001b[2J')",
        "UPDATE cells SET result = replace(result, 'REFUTED', 'PROVED')",
        "UPDATE cells SET result = NULL",
        "DROP TABLE cells",
        "PRAGMA user_version = 1",
        "DELETE FROM cells",
    ],
)
def test_a_table_that_no_sweep_wrote_is_refused_in_one_sentence(tmp_path, change):
    filled("[base]\nrounds = 7", tmp_path)
    with sqlite3.connect(tmp_path / TABLE) as connection:
        connection.execute(change)
    connection.close()
    with pytest.raises(InputError) as wrong:
        sweep_page(tmp_path)
    assert "\n" not in str(wrong.value)
