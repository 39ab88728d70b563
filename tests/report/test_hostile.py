"""Names of a stranger's claims, data and constants in pages and terminals."""

import json
import re

import made_study
import pytest

from fedbounds.errors import InputError
from fedbounds.io import parse_json
from fedbounds.report.html import templates
from fedbounds.report.html.study_sections import page
from fedbounds.study.ledger import ledger_lines

SCRIPT = '"><script>alert(1)</script><img src=x onerror=alert(1)>'
LINK = r"\href{javascript:alert(1)}{x}"


@pytest.mark.parametrize(
    "text", [LINK, rf"\text{{{SCRIPT}}}", r"\text{<mi onclick=alert(1)>}", SCRIPT, r"\style{x}{y}"]
)
def test_latex_brings_neither_scripts_nor_links(text):
    tags = re.findall(r"<[^/][^>]*>", re.sub(r'alttext="[^"]*"', "", templates.formula(text)))
    assert not [tag for tag in tags if re.search(r"script|img|href|\bon\w+|style=", tag)]


def test_a_page_escapes_every_name_of_a_file():
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
    html = page(results, ledger_lines(results.claims, results.verdicts), drawn, SCRIPT)
    assert html.count("<script>") == 1 and "<img src=x" not in html and 'href="javascript' not in html
    assert "script-src 'sha256-" in html


@pytest.mark.parametrize("mark", ["\x1b[2K\rverified", "\x9b2K", "\r", "\u202e"])
def test_no_file_moves_the_cursor(mark):
    for text in (json.dumps({mark: 1}), json.dumps({"a": mark}, ensure_ascii=False)):
        with pytest.raises(InputError) as wrong:
            parse_json(text, "it")
        assert str(wrong.value).isprintable()
