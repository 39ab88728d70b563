"""The report as a document: self-contained, escaped, well-formed, and saying what the study and the evidence say."""

import itertools
import json
import re
import tomllib
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import made_study
import pytest

from fedbounds import plugins
from fedbounds.errors import InputError
from fedbounds.io import parse_json
from fedbounds.report import html_pages as templates
from fedbounds.report.html_pages import page, write_page
from fedbounds.study.ledger import ledger_lines
from fedbounds.study.settings import Settings
from fedbounds.study.sweep import settings_from
from fedbounds.theory.claim import statement
from fedbounds.theory.verdict import Evidence

VOID = {"meta", "link", "input", "br", "img", "hr"}
HOSTILE = "<script>alert(1)</script>"


class Document(HTMLParser):
    """Tags in order with their attributes, the text of headings and cells, and faults of nesting."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.faults = [], [], []
        self.feed(text)
        self.close()
        self.faults += [f"{tag} is never closed" for tag in self.open]

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes nothing at line {self.getpos()[0]}")

    def all(self, *names):
        return [(tag, attributes) for tag, attributes in self.tags if tag in names]


@pytest.fixture(scope="module")
def study():
    result, arrays = made_study.study(names=("fedavg", "fedmax:2"))
    result["runs"][0]["verdicts"] = [
        *result["runs"][0]["verdicts"],
        made_study.verdict("lemma-2", "REFUTED", tightness=0.5, detail=f"lhs 2 > rhs 1 {HOSTILE}"),
        made_study.verdict("theorem-1", "HOLDS", tightness=3.0, evidence="expectation", detail="no sampling error"),
    ]
    result["settings"] |= {"data": HOSTILE, "problem": "quadratic"}
    return result, arrays


@pytest.fixture(scope="module")
def written(study, tmp_path_factory):
    """The page of a study, in a folder that did not exist."""
    out = tmp_path_factory.mktemp("report") / "pages" / "report.html"
    result, drawn = made_study.objects(*study)
    return write_page(result, ledger_lines(result.claims, result.verdicts), drawn, out)


@pytest.fixture(scope="module")
def html(written):
    return written.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def document(html):
    return Document(html)


def test_the_page_is_well_formed_and_names_its_language(html, document):
    assert html.startswith("<!DOCTYPE html>")
    assert document.faults == []
    assert ("html", {"lang": "en"}) in document.tags
    assert len(html.encode()) < 3e6


def test_nothing_is_fetched(html, document):
    policy = dict(document.all("meta")[3][1])["content"]
    assert policy.startswith("default-src 'none'")
    for tag, attributes in document.tags:
        for name in ("src", "href", "xlink:href", "action", "data", "srcset"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:")), (tag, name, value[:60])
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)[1]
    assert "url(" not in style and "@import" not in style


def test_headings_are_in_order_and_ids_unique(document):
    levels = [int(tag[1]) for tag, _ in document.all("h1", "h2", "h3", "h4", "h5", "h6")]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    ids = [attributes["id"] for _, attributes in document.tags if attributes.get("id")]
    assert [name for name, count in Counter(ids).items() if count > 1] == []
    targets = [attributes["href"][1:] for _, attributes in document.all("a", "use")]
    assert set(targets) <= set(ids) and len(targets) == 8


def test_tables_have_captions_and_scopes(document):
    tables = document.all("table")
    assert len(tables) == len(document.all("caption")) > 5
    assert all("scope" in attributes for _, attributes in document.all("th"))
    assert len(document.all("img")) == 3 and all(attributes["alt"] for _, attributes in document.all("img"))


def test_the_ledger_has_a_row_a_reading_and_a_column_a_kind(html):
    part = html[html.index('id="ledger"') : html.index('id="claims"')]
    rows = {}
    for row in re.findall(r'<tr role="row"><th scope="row".*?</tr>', part, re.DOTALL):
        cells = [re.sub("<[^>]*>", "", cell).strip() for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
        if len(cells) == 2 + len(Evidence):
            rows[*cells[:2]] = dict(zip(Evidence, cells[2:], strict=True))
    # The claims of the study, also in readings that only a counterexample is about.
    assert {claim for claim, _ in rows} == {"theorem-1", "corollary", "li-2020", "lemma-2"}
    sync, literal = rows["theorem-1", "sync"], rows["theorem-1", "literal"]
    assert "REFUTED" in sync[Evidence.EXACT] and sync[Evidence.SYMBOLIC] == sync[Evidence.EMPIRICAL] == "–"
    assert "REFUTED" in literal[Evidence.EMPIRICAL] and "holds" in literal[Evidence.EXPECTATION]


def test_every_claim_has_its_section_with_its_statement(html):
    for key in ("theorem-1", "corollary", "li-2020", "lemma-2"):
        section = html[html.index(f'id="claim-{key}"') :]
        (shown,) = re.findall(r'data-label="Formula">(<math.*?</math>)', section, re.DOTALL)[:1]
        assert shown == str(templates.formula(statement(plugins.claim_named(key)))), key


def test_the_run_is_repeatable_from_the_page(html, written):
    part = html[html.index('id="run"') :]
    shown = unescape(re.search(r"<pre><code>(.*?)</code></pre>", part, re.DOTALL)[1])
    assert tomllib.loads(shown)["data"] == HOSTILE and "Do it again: " in part
    assert "<li>seed: " in part and "<li>fedbounds: " in part


# ---- pieces ----


def test_every_statement_of_the_package_becomes_mathml():
    for claim in plugins.claims().values():
        tree = ET.fromstring(templates.formula(statement(claim)))
        assert tree.tag == "math" and tree.find(".//merror") is None
        assert "\\" not in "".join(tree.itertext())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("||w_t - w*||^2 <= rho_bar", "‖w<sub>t</sub> - w<sup>⋆</sup>‖<sup>2</sup> ≤ ρ\N{COMBINING MACRON}"),
        ("mu-strongly convex", "μ-strongly convex"),
        ("see pi-ratio", "see pi-ratio"),
        ("2*L*(x - 1)", "2·L·(x - 1)"),
        ("<b>", "&lt;b&gt;"),
    ],
)
def test_prose_reads_as_the_paper_writes(text, shown):
    assert str(templates.prose(text)) == shown


# ---- the file that repeats a study ----


def test_the_file_repeats_the_settings(tmp_path):
    settings = Settings("logistic", "a file; rm", standardise=False, weightings=("fedmax:2", "fixed:0.5,0.5"))
    (tmp_path / "study.toml").write_text(f"# a study\n{settings.to_toml()}")
    assert Settings.of(settings_from(tmp_path / "study.toml")) == settings


SCRIPT = '"><script>alert(1)</script><img src=x onerror=alert(1)>'
LINK = r"\href{javascript:alert(1)}{x}"


@pytest.mark.parametrize(
    "text", [LINK, rf"\text{{{SCRIPT}}}", r"\text{<mi onclick=alert(1)>}", SCRIPT, r"\style{x}{y}"]
)
def test_latex_brings_neither_scripts_nor_links(text):
    tags = re.findall(r"<[^/][^>]*>", re.sub(r'alttext="[^"]*"', "", templates.formula(text)))
    assert not [tag for tag in tags if re.search(r"script|img|href|\bon\w+|style=", tag)]


def test_a_page_escapes_every_name_of_a_file_and_one_made_in_python_has_no_command():
    result, arrays = made_study.study()
    for run in result["runs"]:
        run["weighting"] += SCRIPT
        run["constants"] = {SCRIPT + name: {**item, "note": SCRIPT} for name, item in run["constants"].items()}
        run["constants"] |= {LINK: made_study.constant(1.0)}
        for verdict in run["verdicts"]:
            verdict["detail"] = SCRIPT
    result["problem"]["kind"] = SCRIPT
    result["settings"]["data"] = SCRIPT
    results, drawn = made_study.objects(result, arrays)
    html = page(replace(results, objects=("problem",)), ledger_lines(results.claims, results.verdicts), drawn)
    assert "no command repeats it" in html and "Do it again: " not in html
    assert html.count("<script>") == 1 and "<img src=x" not in html and 'href="javascript' not in html
    assert "script-src 'sha256-" in html


@pytest.mark.parametrize("mark", ["\x1b[2K\rverified", "\x9b2K", "\r", "\u202e"])
def test_no_file_moves_the_cursor(mark):
    for text in (json.dumps({mark: 1}), json.dumps({"a": mark}, ensure_ascii=False)):
        with pytest.raises(InputError) as wrong:
            parse_json(text, "it")
        assert str(wrong.value).isprintable()
