"""What `check` prints first, its tables, and that what is offered as LaTeX compiles."""

import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from made_study import objects, run, study, verdict

from fedbounds import plugins
from fedbounds.evidence.empirical.decay import Decay
from fedbounds.referee.trial import try_claim
from fedbounds.report import number_format
from fedbounds.report.check_text import answer_table, check_blocks, decay_words, evidence_sentences
from fedbounds.report.claim_text import claim_answer
from fedbounds.report.html_pages import notebook, template
from fedbounds.report.table import Cell, Phrase, Table
from fedbounds.report.terminal import plain_table, to_text
from fedbounds.report.verdict_tables import (
    evidence_cell,
    ledger_table,
)
from fedbounds.study.ledger import ANYWHERE, Line
from fedbounds.theory.claim import statement
from fedbounds.theory.coverage import Coverage, only
from fedbounds.theory.verdict import Evidence, Status, Verdict
from validate import markdown

FIVE = ("fedavg", "fedmax", "fedmax:2", "fedsoftmax:0.5", "power-of-choice:4,2")
KNOWN = [
    Verdict("theorem-1", "repaired", Evidence.SYMBOLIC, Status.HOLDS, detail="proved"),
    Verdict("theorem-1", "repaired", Evidence.SDP, Status.HOLDS, coverage=Coverage({"tau": only(3)})),
    Verdict("theorem-1", "literal", Evidence.EXACT, Status.REFUTED, detail="9/16 > 1/2"),
    Verdict("corollary", "sync", Evidence.EXACT, Status.REFUTED, detail="2 > 1"),
]


def made(names=("fedavg", "fedmax"), verdicts=None, known=KNOWN):
    """(Result, lines) of the made-up study, with or without other verdicts and what is known elsewhere."""
    result, arrays = study(names)
    if verdicts is not None:
        result["runs"] = [run(name, own) for name, own in zip(names, verdicts, strict=True)]
    results = objects(result, arrays)[0]
    return results, lines_of(results, known)


def lines_of(result, known=()):
    every = [*((ANYWHERE, v) for v in known), *result.verdicts]
    keys = dict.fromkeys((v.claim, v.reading) for _, v in every)
    return [
        Line(
            plugins.claim_named(claim),
            reading,
            tuple(p for p in every if (p[1].claim, p[1].reading) == (claim, reading)),
        )
        for claim, reading in keys
    ]


def text(result, lines, width=100, **more):
    return to_text(check_blocks(result, lines, **more), width)


# ---- the first screen ----


def test_the_first_screen_answers_in_thirty_lines_of_eighty_columns():
    told = text(*made(FIVE), 80).splitlines()
    assert len(told) <= 30 and max(map(len, told)) <= 80
    assert told[0].startswith("Quadratic, 3 clients") and "readings, 5 weightings:" in " ".join(told[-4:])


def test_a_row_a_weighting_has_the_last_reading_and_its_looseness():
    result, lines = made(FIVE)
    table = answer_table(result, lines)
    assert [str(row[0]) for row in table.rows] == list(FIVE)
    assert [str(name) for name in table.head[2:4]] == ["Theorem 1*", "Corollary 1"]
    assert {str(row[2]) for row in table.rows} == {"not refuted"}


def test_readings_that_were_asked_for_have_rows_of_their_own():
    result, lines = made(FIVE)
    asked = replace(result, settings=replace(result.settings, readings=("literal", "sync")))
    table = answer_table(asked, lines)
    assert [str(row[0]) for row in table.rows] == [word for name in FIVE for word in (name, "–")]
    assert [str(row[1]) for row in table.rows] == ["literal", "sync"] * len(FIVE)
    assert not any("*" in str(name) for name in table.head)


@pytest.mark.parametrize(("sides", "shown"), [((1e-20, 3e-20), "both < 1e-12"), ((0.1, 0.3), "3"), ((0.0, 0.3), "3")])
def test_the_ratio_of_two_sides_that_are_rounding_is_not_shown(sides, shown):
    result, lines = made(("fedavg",))
    seen = Verdict("corollary", "repaired", Evidence.EMPIRICAL, Status.HOLDS, tightness=3.0)
    seen = replace(seen, data=dict(zip(("lhs", "rhs"), sides, strict=True)))
    runs = tuple(replace(item, verdicts=(seen,)) for item in result.runs)
    table = answer_table(replace(result, runs=runs), lines)
    assert str(table.rows[0][-1]) == shown


def test_a_refuted_reading_is_a_footnote():
    assert "Theorem 1 [literal] is REFUTED on the run of fedavg, fedmax." in text(*made())


def test_what_is_known_of_the_paper_is_said_as_printed_and_repaired():
    (said,) = evidence_sentences(made()[1])
    assert said == "As printed in the paper, Theorem 1 is false (a counterexample is known); repaired, it is proved."
    lines = [line for line in made()[1] if line.claim.key == "theorem-1"]
    assert claim_answer(lines) == "False as written; true if repaired."
    repaired = [line for line in lines if line.reading == "repaired"]
    assert claim_answer(repaired) == "Proved as repaired; open as written."


@pytest.mark.parametrize(
    ("decay", "words"),
    [
        (
            Decay(-1.04, -1.3, -0.96, -1.0, 0.2, 0.001, "no-floor-seen", 1e-3),
            "yes: -1.0 [-1.3, -1.0], no floor above",
        ),
        (Decay(-0.04, -0.1, 0.02, 0.019, 0.2, 0.2, "floor", 1e-3), "no: 0.0 [-0.1, 0.0], stays above 0.019"),
        (Decay(-0.1, -0.2, 0.1, None, None, None, "undecided", 1e-3), "stalled: -0.1 [-0.2, 0.1], floor undecided"),
        (Decay(-0.2, -0.3, 0.0, None, None, None, "undecided", 1e-3), "slower: -0.2 [-0.3, 0.0], floor undecided"),
        (Decay(-2.0, None, None, None, None, None, "undecided", 1e-3), "open: -2.0, floor undecided"),
    ],
)
def test_the_decay_is_answered_with_its_slope_and_floor(decay, words):
    assert decay_words(decay).startswith(words)


def test_a_row_of_the_first_screen_has_two_lines_at_80_columns():
    slow = "slower: -0.2 [-0.3, 0.0],\nfloor undecided"
    rows = [[name, slow, *["not refuted"] * 3, "25,500"] for name in ("fedavg", "fedsoftmax:0.5")]
    table = plain_table(["", "O(1/T)?", "Theorem 1*", "Lemma 2*", "Corollary 1*", "bound / measured"], rows, 80)
    assert len(table.splitlines()) == 2 + 2 * len(rows)
    assert "slower: -0.2 [-0.3, 0.0]," in table


def test_an_alarm_comes_first():
    proof = Verdict("theorem-1", "literal", Evidence.SYMBOLIC, Status.HOLDS, coverage=Coverage())
    told = text(*made(known=[*KNOWN, proof]))
    assert told.startswith("ALARM: two kinds of evidence contradict each other:") and "one of them is wrong" in told
    assert "ALARM" not in text(*made())


def test_colour_adds_nothing():
    result, lines = made()
    blocks = check_blocks(result, lines)
    plain, coloured = to_text(blocks, 100), to_text(blocks, 100, colour=True)
    assert "\x1b" not in plain and "\x1b[" in coloured
    assert [s.rstrip() for s in re.sub(r"\x1b\[[0-9;]*m", "", coloured).splitlines()] == plain.splitlines()


# ---- tables ----


def test_a_cell_counts_statuses_and_never_merges_them():
    one = Verdict("c", "r", Evidence.EMPIRICAL, Status.HOLDS, 0.99999, 2.0)
    two = Verdict("c", "r", Evidence.EMPIRICAL, Status.REFUTED, -0.5, 0.5)
    claim = plugins.claim_named("lemma-2")
    cell = evidence_cell(Line(claim, "literal", (("a", one), ("b", two))), Evidence.EMPIRICAL)
    assert str(cell) == "REFUTED 1 margin −0.5, 0.5×, not refuted 1 margin >0.999, 2×"
    assert str(evidence_cell(Line(claim, "literal"), Evidence.SDP)) == number_format.MISSING


def test_the_ledger_has_a_column_a_kind_and_none_is_merged():
    table = ledger_table(made()[1])
    assert len(table.head) == 2 + len(Evidence)
    (literal,) = [row for row in table.rows if [str(c) for c in row[:2]] == ["theorem-1", "literal"]]
    by_kind = dict(zip(Evidence, map(str, literal[2:]), strict=True))
    assert by_kind[Evidence.EXACT] == "REFUTED 9/16 > 1/2" and by_kind[Evidence.EMPIRICAL].startswith("REFUTED 2")
    assert by_kind[Evidence.SYMBOLIC] == by_kind[Evidence.SDP] == number_format.MISSING


def test_the_outputs_of_a_table_say_the_same():
    table = Table.of(("a", "b|c"), [["x<y", Cell((Phrase("REFUTED", Status.REFUTED, "1 > 0"),))], ["z", None]])
    lines = markdown.of_table(table).splitlines()
    assert lines[0] == r"| a | b\|c |" and lines[2] == r"| x\<y | **REFUTED** 1 \> 0 |"
    page = template("blocks.html.jinja").module.table(table)
    assert '<span class="chip refuted">' in page and "x&lt;y" in page
    assert plain_table(table.head, table.rows, 40).splitlines()[1].split() == ["x<y", "REFUTED", "1", ">", "0"]


def test_html_escapes_everything_a_user_may_write():
    evil = "<script>alert('x')</script>&\""
    result, lines = made((evil,), [[verdict("corollary", "REFUTED", "sync", 0.5, 3, detail=evil)]])
    results = notebook([*check_blocks(result, lines), ledger_table(lines)])
    tags = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag, attributes):
            tags.append((tag, dict(attributes)))

    Tags().feed(results)
    assert "script" not in {tag for tag, _ in tags} and "<script" not in results
    assert {key for _, attributes in tags for key in attributes} <= {
        "class",
        "title",
        "role",
        "data-head",
        "scope",
        "open",
        "aria-hidden",
        "data-label",
    }
    assert any(evil in attributes.get("title", "") for _, attributes in tags)


@pytest.mark.parametrize(
    ("value", "width", "text"),
    [
        (None, 7, ""),
        (-2.0, 7, "<0"),
        (21234.5, 7, "2.12e4"),
        (0.99996, 5, "<1"),
        (1.0004, 5, ">1"),
        (1 - 1e-13, 5, "1"),
        (0.0087, 5, "0.009"),
    ],
)
def test_compact_numbers_never_round_across_one(value, width, text):
    assert number_format.compact(value, width) == text


PREAMBLE = r"""\documentclass{article}
\usepackage{amsmath,amssymb}
\IfFileExists{booktabs.sty}{\usepackage{booktabs}}{\let\toprule\hline\let\midrule\hline\let\bottomrule\hline}
\begin{document}
"""
END = r"\end{document}"


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="pdflatex is not installed")
def test_everything_in_latex_compiles(tmp_path):
    claims = plugins.claims()
    trial = try_claim("lemma-2", "literal")
    lines = [Line(claims["lemma-2"], "literal", tuple((ANYWHERE, v) for v in trial.verdicts))]
    parts = [*(rf"\[ {statement(claim)} \]" for claim in claims.values())]
    parts.append(ledger_table(lines).to_latex())
    (tmp_path / "all.tex").write_text("\n\n".join([PREAMBLE, *parts, END]))
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-draftmode", "all.tex"]
    done = subprocess.run(words, cwd=tmp_path, check=False, capture_output=True, text=True, errors="replace")
    faults = re.findall(r"^!.*(?:\n.*){4}", done.stdout, re.MULTILINE)
    assert (faults, done.returncode) == ([], 0)
