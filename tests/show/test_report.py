"""The report as a document: self-contained, escaped, well-formed, and saying what the study and the evidence say."""

import itertools
import re
import shlex
import xml.etree.ElementTree as ET
from collections import Counter
from fractions import Fraction
from html import unescape
from html.parser import HTMLParser

import made_study
import pytest
import sympy as sp
from click.testing import CliRunner

from fedbounds import plugins
from fedbounds.cli.app import main
from fedbounds.cli.commands.report import command
from fedbounds.errors import InputError
from fedbounds.show.report import cells, claims, exact, figures, mathml, proofs, svg
from fedbounds.show.report.run import run_part
from fedbounds.study.settings import Settings
from fedbounds.study.survey import Line
from fedbounds.theory import symbols, verdict
from fedbounds.theory.claim import Kind

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
    """The page as the command writes it for a saved study, in a folder that did not exist."""
    folder = tmp_path_factory.mktemp("report")
    out = folder / "pages" / "report.html"
    saved = made_study.save(folder / "study", *study)
    done = CliRunner().invoke(main, ["report", str(saved), "--out", str(out)], catch_exceptions=False)
    assert done.exit_code == 0 and done.stdout == "" and done.stderr.startswith(f"Wrote {out}")
    return out


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


def test_text_of_a_study_is_escaped(html, document):
    assert HOSTILE not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert len(document.all("script")) == 1


def test_headings_are_in_order_and_ids_unique(document):
    levels = [int(tag[1]) for tag, _ in document.all("h1", "h2", "h3", "h4", "h5", "h6")]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    ids = [attributes["id"] for _, attributes in document.tags if attributes.get("id")]
    assert [name for name, count in Counter(ids).items() if count > 1] == []
    targets = [attributes["href"][1:] for _, attributes in document.all("a", "use")]
    assert set(targets) <= set(ids) and len(targets) > 100


def test_tables_have_captions_and_scopes(document):
    tables = document.all("table")
    assert len(tables) == len(document.all("caption")) > 10
    assert all("scope" in attributes for _, attributes in document.all("th"))
    assert all({"role", "aria-label"} <= set(attributes) for _, attributes in document.all("svg"))


def test_the_ledger_has_a_row_a_reading_and_five_columns(html, study):
    rows = re.findall(r'<tr role="row" data-text=.*?</tr>', html, re.DOTALL)
    keys = {re.search(r'data-sort="([^"]*)"', row)[1] for row in rows}
    assert keys == set(plugins.claims())
    assert all(row.count("data-evidence=") == 5 for row in rows)
    (sync,) = [row for row in rows if 'data-text="theorem-1 sync ' in row]
    by_kind = dict(re.findall(r'data-evidence="(\w+)" data-status="([^"]*)"', sync))
    assert by_kind["exact"] == "REFUTED" and by_kind["symbolic"] == by_kind["empirical"] == "none"
    (literal,) = [row for row in rows if 'data-text="theorem-1 literal ' in row]
    by_kind = dict(re.findall(r'data-evidence="(\w+)" data-status="([^"]*)"', literal))
    assert by_kind["empirical"] == "REFUTED" and by_kind["expectation"] == "HOLDS"


def test_every_claim_has_its_section_with_its_own_terms(html):
    for key, claim in plugins.claims().items():
        start = html.index(f'id="claim-{key}"')
        section = html[start : html.index("</section>", start)]
        names = re.findall(r"<small>([^<]*)</small></span>", section[: section.index("</div>")])
        wanted = list(claim.terms) if len(claim.terms) > 1 and claim.kind is not Kind.RATE else []
        assert names == wanted, key
        terms = re.findall(r'<span class="term">(<math.*?</math>)', section, re.DOTALL)
        signs = ["".join(ET.fromstring(term).itertext())[0] in "+−" for term in terms]
        assert len(terms) == max(len(wanted), 1) and all(signs[1:]), key
        assert "<math" in section


def test_proofs_counterexamples_and_tight_constants_are_shown(html):
    section = html[html.index('id="claim-lemma-2"') :]
    section = section[: section.index('<section class="claim"')]
    assert "example-lemma-2" in section and 'alttext="\\frac{4}{625}"' in section
    assert "steps check" in section
    assert "0.26265725" in section and "verified" in section
    assert "does not verify" not in html and "Undecided:" not in html


def test_the_run_is_repeatable_from_the_page(html, written):
    part = html[html.index('id="run"') :]
    shown = unescape(re.search(r"<pre><code>(.*?)</code></pre>", part, re.DOTALL)[1])
    words = words_of(shown)
    assert words[-2:] == ["--out", str(written)] and parse(words).data == HOSTILE
    assert "<dt>seed</dt>" in part and "<dt>fedbounds</dt>" in part


def test_a_study_made_in_python_has_no_command(study):
    result = study[0]
    made = {**result, "problem": {**result["problem"], "kind": "my-own"}}
    assert run_part(made, command(made)).command == ""


# ---- pieces ----


def test_every_formula_of_the_package_becomes_mathml():
    expressions = [
        expression
        for claim in plugins.claims().values()
        for expression in (claim.lhs, *claim.terms.values(), *claim.definitions.values())
    ]
    for expression in expressions:
        tree = ET.fromstring(mathml.math(expression))
        assert tree.tag == "math" and tree.find(".//merror") is None
        assert "\\" not in "".join(tree.itertext())


def test_terms_of_a_sum_keep_their_signs():
    shown = mathml.pieces(symbols.L - symbols.mu + 1)
    texts = ["".join(ET.fromstring(piece).itertext()) for piece in shown]
    assert sorted(text.lstrip("+") for text in texts) == ["1", "L", "−μ"]
    assert not texts[0].startswith("+") and all(text[0] in "+−" for text in texts[1:])
    assert (
        sp.simplify(sum(sp.sympify(t.replace("−", "-").replace("μ", "mu")) for t in texts) - sp.sympify("L-mu+1"))
        == 0
    )


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
    assert str(mathml.prose(text)) == shown


def test_fractions_stay_exact():
    assert "\\frac{4}{625}" in mathml.fraction("4/625")
    assert "-\\frac{1}{6}" in mathml.fraction(Fraction(-1, 6))
    long = Fraction(-19002056112815, 3759554300153169)
    assert "-19002056112815/3759554300153169" in mathml.fraction(long)
    assert mathml.rounded(Fraction(1050629, 4000000)) == "0.26265725"
    assert "\\frac{1}{3}" in mathml.rounded(Fraction(1, 3))


def test_readable_numbers():
    assert cells.readable("2.1e+04 and 3e-32") == "2.1·10⁴ and 3·10⁻³²"
    assert cells.readable("T^-0.16, x - 1, -3") == "T^−0.16, x - 1, −3"
    assert cells.times(0.98) == "0.98×" and cells.times(None) == "" and cells.times(-3.0) == "bound < 0"


def test_pictures_share_no_id_and_follow_the_theme():
    drawn = (
        '<?xml version="1.0"?><svg xmlns:xlink="x" viewBox="0 0 10 20"><metadata>d</metadata><style>*{}</style>'
        '<g id="a"><path id="b" d="M 1.23456 2&#10;z" style="fill: #ffffff; stroke: #000000"/></g>'
        '<use xlink:href="#b" clip-path="url(#a)" transform="scale(0.015625)"/></svg>'
    )
    one, two = svg.inline(drawn, "one", 'a "b" <c>'), svg.inline(drawn, "two", "")
    ids = [set(re.findall(r'id="([^"]*)"', text)) for text in (one, two)]
    assert not ids[0] & ids[1] and ids[0] == {"one-0", "one-1"}
    assert set(re.findall(r'#([\w-]+)["\)]', one)) == ids[0]
    assert "M 1.2 2" in one and "0.015625" in one and "<style" not in one and "metadata" not in one
    assert "fill: var(--paper); stroke: var(--ink)" in one
    assert ET.fromstring(one).get("aria-label") == 'a "b" <c>'


def test_assumptions_that_fail_are_told_from_those_that_hold():
    claim = plugins.claims()["li-2020"]
    first, second = claim.assumptions[0].statement, claim.assumptions[-1].statement
    detail = f"assumption fails: {first}: no; such; {second}: found 3"
    found = made_study.verdict("li-2020", "NOT_APPLICABLE", detail=detail)
    assert claims.failures(found, [second, first]) == {first: "no; such", second: "found 3"}
    rows = claims.assumption_rows(claim, {"runs": [made_study.run("w", [found])]})
    states = {row.key: row.met[0].state for row in rows if not row.repaired}
    assert [key for key, state in states.items() if state == "no"] == [
        claim.assumptions[0].key,
        claim.assumptions[-1].key,
    ]
    held = claims.assumption_rows(claim, {"runs": [made_study.run("w", [found | {"status": "HOLDS", "detail": ""}])]})
    assert {row.met[0].state for row in held if not row.repaired} == {"yes"}
    unseen = claims.assumption_rows(claim, {"runs": [made_study.run("w", [])]})
    assert {row.met[0].state for row in unseen} == {"unknown"}


def test_a_cell_counts_statuses_and_never_merges_them():
    line = Line(
        "theorem-1", "literal", "t", {str(kind): "-" for kind in verdict.Evidence} | {"exact": "REFUTED 1 against 0"}
    )
    one = made_study.verdict("theorem-1", "HOLDS", tightness=2.0) | {"margin": 0.99999}
    two = made_study.verdict("theorem-1", "REFUTED", tightness=0.5) | {"margin": -0.5}
    result = {"runs": [made_study.run("a", [one]), made_study.run("b", [two])]}
    (row,) = cells.ledger_rows([line], result)
    empirical, *_, last = row.cells
    assert [(chip.word, chip.note) for chip in empirical.chips] == [
        ("refuted 1/2", "margin −0.5, 0.5×"),
        ("holds 1/2", "margin >0.999, 2×"),
    ]
    assert (last.statuses, last.chips[0].note, last.rank) == ("REFUTED", "1 against 0", 0)
    assert row.cells[1].statuses == "none" and row.cells[1].rank > empirical.rank
    assert cells.tally([row])[0][2] == [1, 0, 1, 0]


def test_proofs_and_counterexamples_are_checked_as_they_are_shown():
    found = {proof.key: proof for proof in proofs.proofs()}
    assert found["theorem-1"].checked == len(found["theorem-1"].steps) > 0
    assert any(step.correction for proof in found.values() for step in proof.steps)
    example = next(item for item in exact.examples() if item.name == "lemma-2")
    assert (example.relation, example.left_number, example.right_number) == (">", "0.0625", "0.0064")
    assert 'alttext="\\frac{561}{10000}"' in example.gap


def test_a_note_that_lies_about_its_certificate_is_not_believed():
    from dataclasses import replace

    from fedbounds.evidence.sdp.family import read
    from fedbounds.plugins import shipped

    (path,) = shipped("certificates/tight.jsonl")
    honest = next(one for one in read(path) if one.name == "tight-lemma-2-drift-k10-tau2")
    shown = exact.tight_constant(honest)
    assert (shown.stated, shown.certified, shown.loose) == ("16", "0.26265725", "60.9×")
    louder = replace(honest, note={**honest.note, "solver": 1e-9})
    assert exact.tight_constant(louder) == shown
    for lie in ({"certified": "1/5"}, {"certified": "many"}, {"claim": "nothing"}, {"term": "gap"}):
        assert exact.tight_constant(replace(honest, note={**honest.note, **lie})) is None


def test_a_claim_without_saved_sides_has_no_picture(study):
    known = plugins.claims()
    assert figures.claim_picture("p", known["speed-floor"], *study) is None
    assert figures.claim_picture("p", known["star-step"], *study) is None
    assert list(figures.styles(known["theorem-1"], ["repaired", "literal"])) == [
        ("theorem-1", "literal"),
        ("theorem-1", "repaired"),
    ]


# ---- the command ----


def words_of(shown):
    """The words of a command as a shell reads it: a backslash at the end of a line joins it to the next."""
    program, name, *words = shlex.split(shown.replace("\\\n", " "))
    assert (program, name) == ("fedbounds", "report")
    return words


def parse(words):
    """The settings that a command line gives, without running it."""
    from fedbounds.cli.commands.report import report
    from fedbounds.cli.options import given

    with report.make_context("report", words) as context:
        return Settings(**given({k: v for k, v in context.params.items() if k not in ("results", "out", "quiet")}))


@pytest.mark.parametrize(
    "settings",
    [
        Settings(),
        Settings(problem="quadratic", batch=None, replacement=False, p=(0.5, 0.25, 0.25), clients=3, sigma_sq=0.1),
        Settings(problem="logistic", data="a file; rm", standardise=False, weightings=("fedmax:2", "fixed:0.5,0.5")),
        Settings(readings=("all-steps",), claims=("lemma-1",), seed=3, error_rate=1e-4, plugins=("my claims.py",)),
    ],
)
def test_the_command_repeats_the_settings(settings):
    shown = command({"settings": settings.to_json(), "problem": {"kind": settings.problem}})
    assert parse(words_of(shown)) == settings


def test_nothing_but_the_page_is_left_behind(written):
    assert [path.name for path in written.parent.iterdir()] == ["report.html"]


def test_bad_input_is_one_sentence(tmp_path):
    runner = CliRunner()
    for words, sentence in (
        ([str(tmp_path), "--seed", "1"], "has its own settings"),
        ([str(tmp_path)], "must exist"),
    ):
        done = runner.invoke(main, ["report", *words, "--out", str(tmp_path / "r.html")])
        assert done.exit_code == 2 and sentence in done.stderr
    with pytest.raises(InputError):
        runner.invoke(main, ["report", "--problem", "nothing"], standalone_mode=False, catch_exceptions=False)
