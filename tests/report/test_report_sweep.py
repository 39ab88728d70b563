"""The report of a sweep: self-contained, escaped, and with the numbers of the table."""

import re
import sqlite3
from collections import Counter
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest
import sweep_cells
from click.testing import CliRunner

from fedbounds.cli.app import main
from fedbounds.errors import InputError
from fedbounds.report.html.grid import axes_of, sweep_page
from fedbounds.study.settings import Settings
from fedbounds.study.sweep import run as sweep
from fedbounds.study.sweep.lines import series
from fedbounds.study.sweep.table import TABLE

HOSTILE = "<script>alert(1)</script>"
STUDY = f"""
[base]
rounds = 7
batch = "full"
[grid]
data = ["quadratics:0", "{HOSTILE}"]
condition = [2, 10, 100]
weightings = ["fedavg", ["fedmax", "fedsoftmax:1"]]
seed = [0, 1]
[[exclude]]
condition = 2
seed = 1
"""


def computed(cell):
    """Two weightings, two kinds of evidence, statuses and tightness by the settings; one condition fails."""
    if cell.settings["condition"] == 100 and cell.settings["seed"] == 1:
        return sweep.CellOutcome(cell.key, 0.0, message=f"it diverged {HOSTILE}")
    seed, condition = cell.settings["seed"], cell.settings["condition"]
    status = "REFUTED" if condition == 10 else "UNDECIDED" if seed else "HOLDS"
    rows = [
        row
        | {"evidence": kind, "status": status, "tightness": 0.1 * condition + seed + j, "weighting": name}
        | {"gap_last": 1 / condition, "floor_low": 0.0, "number": 2 * j + k}
        for j, (row, name) in enumerate(zip(sweep_cells.rows(cell), ("fedavg", "fedmax"), strict=True))
        for k, kind in enumerate(("empirical", "expectation"))
    ]
    rows.append(rows[0] | {"claim": "my-own", "status": "NOT_APPLICABLE", "tightness": None, "number": 4})
    return sweep.CellOutcome(cell.key, 0.0, rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("sweep")
    assert sweep.run(sweep.parse(STUDY), out, jobs=1, compute=computed) == sweep.Summary(20, 20, 4)
    return out


@pytest.fixture(scope="module")
def html(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("page") / "report.html"
    done = CliRunner().invoke(main, ["report", str(folder), "--out", str(out)], catch_exceptions=False)
    assert done.exit_code == 0 and done.stdout == "" and done.stderr.startswith(f"Wrote {out}")
    return out.read_text(encoding="utf-8")


def stored(folder, query):
    connection = sqlite3.connect(folder / TABLE)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


ORDER = ("REFUTED", "UNDECIDED", "HOLDS", "NOT_APPLICABLE")
WORDS = {"REFUTED": "REFUTED", "undecided": "UNDECIDED", "decided": "HOLDS", "not refuted": "HOLDS"}


def ledger(html):
    """(claim, reading, evidence) -> what the cell shows: its counts, and the text of what is tightest."""
    found = {}
    for row in re.findall(r'<tr role="row" data-text=.*?</tr>', html, re.DOTALL):
        claim, reading = re.findall(r'data-sort="([^"]*)"', row)[:2]
        for cell in re.findall(r"<td [^>]*data-evidence=.*?</td>", row, re.DOTALL):
            kind, statuses = re.search(r'data-evidence="(\w+)" data-status="([^"]*)"', cell).groups()
            said = [" ".join(re.sub("<[^>]*>", " ", part).split()) for part in cell.split('<div class="said">')[1:]]
            counts = dict.fromkeys(ORDER, 0)
            for part in said:
                known = re.fullmatch(r"\S (.*) (\d+)", part)
                if known and "×" not in part:
                    counts[WORDS.get(known[1], "NOT_APPLICABLE")] = int(known[2])
            assert [name for name in ORDER if counts[name]] == statuses.split() or statuses == "none"
            if said:
                found[claim, reading, kind] = list(counts.values()), said[-1] if "×" in said[-1] else ""
    return found


def test_nothing_is_fetched_and_tags_are_closed(html):
    assert html.startswith("<!DOCTYPE html>") and "default-src 'none'" in html
    opened, faults, targets = [], [], []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            targets.extend(value for name, value in attributes if name in ("src", "href", "xlink:href", "data"))
            if tag not in ("meta", "link", "input", "br"):
                opened.append(tag)

        def handle_endtag(self, tag):
            if not opened or opened.pop() != tag:
                faults.append(tag)

    Reader().feed(html)
    assert not opened and not faults
    assert targets and all(target.startswith(("#", "data:")) for target in targets)
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)[1]
    assert "url(" not in style and "@import" not in style
    ids = Counter(re.findall(r' id="([^"]*)"', html))
    assert max(ids.values()) == 1 and {target[1:] for target in targets if target[0] == "#"} <= set(ids)


def test_text_is_escaped(html):
    assert HOSTILE not in html and html.count("<script>") == 1
    assert "it diverged &lt;script&gt;" in html and "data &lt;script&gt;" in html


def test_counts_are_those_of_the_table(html, folder):
    order = ("REFUTED", "UNDECIDED", "HOLDS", "NOT_APPLICABLE")
    wanted = {}
    for claim, reading, kind, status in stored(
        folder, "SELECT claim, reading, evidence, status FROM results WHERE claim IS NOT NULL"
    ):
        wanted.setdefault((claim, reading, kind), [0] * 4)[order.index(status)] += 1
    shown = ledger(html)
    assert {key: counts for key, (counts, _) in shown.items()} == wanted
    # 16 cells with two weightings: 8 at condition 10, 4 at each of the others with seed 0.
    assert shown["corollary", "repaired", "expectation"][0] == [16, 0, 16, 0]
    assert shown["my-own", "repaired", "empirical"][0] == [0, 0, 0, 16]


def test_the_tightest_cell_is_named(html):
    shown = ledger(html)
    text = shown["corollary", "repaired", "empirical"][1]
    # The two values of data tie; the smaller key of a cell decides.
    assert text.startswith("0.2× fedavg; ") and "condition 2; " in text and text.endswith("seed 0")
    assert shown["my-own", "repaired", "empirical"][1] == ""


def test_heading_picture_and_failures(html):
    lead = re.search(r'class="lead">(.*?)</p>', html, re.DOTALL)[1]
    names, failed = lead.removeprefix("20 cells over ").split("; ")
    assert set(names.split(", ")) == {"data (2)", "condition (3)", "weightings (2)", "seed (2)"}
    assert failed == "4 failed"
    assert html.count("<svg") == 1 and "Against condition, a line a weighting: bound over measured" in html
    assert "the mean gap at the end with the interval of its floor" in html
    assert html.count("it diverged") == 4 and "4 of 20 cells failed" in html


def test_the_study_file_repeats_the_cells(html, folder):
    command, study = (unescape(text) for text in re.findall(r"<pre><code>(.*?)</code></pre>", html, re.DOTALL))
    assert command.startswith(f"fedbounds sweep study.toml --out {folder}\nfedbounds report {folder} --out ")
    assert study == STUDY


def test_every_study_that_filled_a_table_is_kept_once(tmp_path):
    first, second = "[grid]\nseed = [0, 1]", "# more\n[grid]\nseed = [1, 2]"
    for text in (first, second, first):
        sweep.run(sweep.parse(text), tmp_path, jobs=1, compute=computed)
    _, *studies = re.findall(r"<pre><code>(.*?)</code></pre>", sweep_page(tmp_path), re.DOTALL)
    assert studies == [first, second]


def test_the_axes_are_the_settings_that_vary():
    cells = [Settings(seed=j, tau=j + 1).to_json() for j in range(12)]
    assert axes_of(cells) == {"tau": list(range(1, 13)), "seed": list(range(12))}


def test_without_a_numeric_axis_there_is_no_picture(tmp_path):
    sweep.run(sweep.parse("[grid]\nseed = [0, 1]"), tmp_path, jobs=1, compute=computed)
    html = sweep_page(tmp_path)
    assert "<svg" not in html and 'id="picture"' not in html and 'id="failed"' not in html


def test_a_sweep_that_failed_altogether_still_has_a_page(tmp_path):
    def fails(cell):
        return replace(computed(cell), rows=(), message="no")

    sweep.run(sweep.parse("[grid]\ntau = [1, 2]"), tmp_path, jobs=1, compute=fails)
    html = sweep_page(tmp_path)
    assert "<svg" not in html and "2 of 2 cells failed" in html and ledger(html) == {}


@pytest.mark.parametrize("settings", ["0.5", "[]", "null"])
def test_settings_that_are_none_are_refused_in_one_sentence(tmp_path, settings):
    sweep.run(sweep.parse("[grid]\nseed = [0, 1]"), tmp_path, jobs=1, compute=computed)
    with sqlite3.connect(tmp_path / TABLE) as connection:
        connection.execute("UPDATE cells SET settings = ?", (settings,))
    connection.close()
    with pytest.raises(InputError, match="settings must be as fedbounds writes it"):
        sweep_page(tmp_path)


def test_a_layout_of_no_letters_is_refused_in_one_sentence(tmp_path):
    sweep.run(sweep.parse("[grid]\nseed = [0, 1]"), tmp_path, jobs=1, compute=computed)
    spoiled = (tmp_path / TABLE).read_bytes().replace(b"CREATE TABLE meta (", b"CREATE \xa0ABLE\xa0meta (")
    (tmp_path / TABLE).write_bytes(spoiled)
    with pytest.raises(InputError, match="must be a table"):
        sweep_page(tmp_path)


def test_numbers_that_no_picture_can_scale_are_not_drawn(tmp_path):
    sweep.run(sweep.parse("[grid]\ntau = [1, 2]"), tmp_path, jobs=1, compute=computed)
    with sqlite3.connect(tmp_path / TABLE) as connection:
        connection.execute("UPDATE verdicts SET tightness = 1e308, gap_last = -1e308")
    connection.close()
    assert "<svg" not in sweep_page(tmp_path)
    with pytest.raises(InputError, match="needs numbers up to"):
        series(tmp_path, "tau", "floor")


def test_a_folder_that_is_neither_is_refused_in_one_sentence(tmp_path):
    done = CliRunner().invoke(main, ["report", str(tmp_path), "--out", str(tmp_path / "r.html")])
    assert done.exit_code == 2 and "a study or a sweep must exist" in done.stderr
    sweep.run(sweep.parse("[grid]\nseed = [0, 1]"), tmp_path, jobs=1, compute=computed)
    stored_empty = tmp_path / "empty"
    stored_empty.mkdir()
    (stored_empty / TABLE).touch()
    with pytest.raises(InputError, match="must be a table"):
        sweep_page(stored_empty)
    done = CliRunner().invoke(main, ["report", str(tmp_path), "--seed", "1"])
    assert done.exit_code == 2 and "its own settings" in done.stderr
