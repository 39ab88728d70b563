import re
from html.parser import HTMLParser

import pytest
from made_study import VERDICTS, run, study, verdict

from fedbounds.show import ledger
from fedbounds.show.terminal import broken
from fedbounds.theory.verdict import Evidence, Status, Verdict

FIVE = ("fedavg", "fedmax", "fedmax:2", "fedsoftmax:0.5", "power-of-choice:4,2")


def test_rows_have_one_cell_a_run_in_order():
    result, _ = study(("a", "b"))
    result["runs"][1] = run("b", [verdict("theorem-1", "HOLDS", "repaired")])
    table = {(row["claim"], row["reading"]): row["cells"] for row in ledger.rows(result)}
    assert [c and c["status"] for c in table["theorem-1", "repaired"]] == ["HOLDS", "HOLDS"]
    assert [c and c["status"] for c in table["theorem-1", "literal"]] == ["REFUTED", None]


def test_rows_never_mix_kinds_of_evidence():
    result, _ = study(("a",))
    result["runs"][0]["verdicts"] = [verdict("lemma-1", "HOLDS"), verdict("lemma-1", "REFUTED", evidence="exact")]
    (row,) = ledger.rows(result)
    assert row["cells"][0]["status"] == "HOLDS"
    (row,) = ledger.evidence_table(result["runs"][0]["verdicts"])
    assert (row["empirical"], row["exact"], row["sdp"]) == ("HOLDS", "REFUTED", ledger.MISSING)
    assert "exact" in ledger.to_text(result)


def test_evidence_table_has_every_kind_and_counts_rather_than_merges():
    verdicts = [Verdict("c", "r", Evidence.SDP, s) for s in (Status.HOLDS, Status.REFUTED, Status.HOLDS)]
    (row,) = ledger.evidence_table(verdicts)
    assert set(row) == {"claim", "reading", *map(str, Evidence)}
    assert row["sdp"] == "REFUTED 1, HOLDS 2"
    assert row["empirical"] == "–"


@pytest.mark.parametrize(("count", "width"), [(1, 60), (2, 60), (5, 100), (5, 70), (9, 100)])
def test_text_fits_its_width_and_shows_every_weighting(count, width):
    names = (FIVE * 2)[:count]
    text = ledger.to_text(study(names)[0], width)
    assert max(map(len, text.splitlines())) <= width
    assert text.count("REFUTED") >= count


def test_five_weightings_share_one_table_at_100_columns():
    text = ledger.to_text(study(FIVE)[0], 100)
    (line,) = [line for line in text.splitlines() if line.startswith("theorem-1") and "literal" in line]
    assert line.count("REFUTED 0.98") == 5


def test_status_words_differ_without_colour_and_colour_adds_nothing():
    result, _ = study()
    assert len(set(ledger.WORDS.values())) == len(Status) == len(ledger.WORDS)
    plain, coloured = ledger.to_text(result), ledger.to_text(result, colour=True)
    assert "\x1b" not in plain
    assert "\x1b[" in coloured
    assert [s.rstrip() for s in re.sub(r"\x1b\[[0-9;]*m", "", coloured).splitlines()] == plain.splitlines()


def test_markup_in_names_is_printed_as_it_stands():
    text = ledger.to_text(study(("[red]x[/red]",))[0])
    assert "[red]x[/red]" in text


def test_refutations_say_both_sides_where_and_under_what():
    result, _ = study(("a", "b"))
    assert ledger.findings(result) == ["theorem-1 [literal] under every weighting at t = 7: lhs 2 > rhs 1"]
    result["runs"][1]["verdicts"] = VERDICTS[1:]
    assert ledger.findings(result)[0].startswith("theorem-1 [literal] under a at t = 7")


def test_undecided_verdicts_say_why():
    assert ledger.findings(study(("a",))[0], Status.UNDECIDED) == ["corollary [literal] under a: lhs 1 against rhs 1"]
    assert "Undecided:" in ledger.to_text(study()[0])


def test_not_applicable_names_the_assumption_and_leaves_the_table():
    result, _ = study(("a", "b"))
    assert ledger.inapplicable(result) == ["li-2020: needs alpha_t^i = p_i (FedAvg)"]
    assert "li-2020" not in [row["claim"] for row in ledger.shown_rows(result)]
    assert "needs alpha_t^i = p_i" in ledger.to_text(result)


@pytest.mark.parametrize(
    ("value", "width", "text"),
    [
        (None, 7, ""),
        (float("inf"), 7, ""),
        (-2.0, 7, "<0"),
        (21234.5, 7, "2.12e4"),
        (21234.5, 3, "2e4"),
        (0.98, 5, "0.98"),
        (0.99996, 5, "<1"),
        (1.0004, 5, ">1"),
        (1 - 1e-13, 5, "1"),
        (1.07, 4, "1.07"),
        (0.0087, 5, "0.009"),
    ],
)
def test_compact_numbers_never_round_across_one(value, width, text):
    assert ledger.compact(value, width) == text


def test_html_escapes_everything_a_user_may_write():
    evil = "<script>alert('x')</script>&\""
    result, _ = study((evil,))
    result["runs"][0]["verdicts"] = [verdict(evil, "REFUTED", evil, 0.5, 3, detail=evil)]
    result["problem"]["kind"] = evil
    result["settings"]["data"] = evil
    found = ledger.to_html(result)
    tags = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag, attributes):
            tags.append((tag, dict(attributes)))

    Tags().feed(found)
    assert "script" not in {tag for tag, _ in tags}
    assert {key for _, attributes in tags for key in attributes} <= {"style", "title"}
    assert evil in [attributes.get("title") for _, attributes in tags]
    assert "<script" not in found


def test_html_shows_every_status_and_refutation():
    found = ledger.to_html(study()[0])
    assert found.count("REFUTED 0.98") == 2
    assert "holds 2.12e4" in found
    assert "lhs 2 &gt; rhs 1" in found


def test_markdown_is_one_table_with_escaped_pipes():
    result, _ = study(("a|b", "fedmax"))
    lines = ledger.to_markdown(result).splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in table} == {5}
    assert r"a\|b" in table[0]
    assert "**REFUTED 0.98**" in lines[6]


@pytest.mark.parametrize("name", ["fedavg", "power-of-choice:4,2", "x" * 40, "fixed:0.1,0.2,0.3,0.4"])
def test_broken_names_fit_and_lose_nothing(name):
    lines = broken(name, 13).split("\n")
    assert max(map(len, lines)) <= 13
    assert "".join(lines) == name
