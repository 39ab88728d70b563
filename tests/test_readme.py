"""What README.md shows is what happens, and the paper keeps to its form and its numbers."""

import doctest
import json
import re
from pathlib import Path

from click.testing import CliRunner

import fedbounds
from fedbounds import testing
from fedbounds.cli.app import main
from fedbounds.evidence.exact.compare import compare
from fedbounds.evidence.exact.counterexamples import all_files, read
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.evidence.exact.run import run
from fedbounds.study.ledger import remarked
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status
from validate import release, symbols_page
from validate.false_theorems import __main__ as false_theorems

ROOT = Path(__file__).parent.parent
PAPER = ROOT / "docs" / "paper"
# What the Journal of Open Source Software asks for.
SHORTEST, LONGEST = 750, 1750
SECTIONS = ["Summary", "Statement of need", "State of the field", "Software design", "Research impact statement"]
SECTIONS += ["AI usage disclosure"]


def text(name):
    return re.sub(r"\s+", " ", (ROOT / name).read_text(encoding="utf-8"))


def python_blocks(name):
    return re.findall(r"^```python\n(.*?)^```", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_false_theorem_of_the_readme_is_caught_as_shown(capsys):
    lines, shown, *_ = python_blocks("README.md")
    assert len([line for line in lines.splitlines() if line.strip()]) == 5
    names = {}
    exec(compile(lines, "README.md", "exec"), names)
    example = doctest.DocTestParser().get_doctest(shown, names, "README.md", "README.md", 0)
    assert doctest.DocTestRunner().run(example).failed == 0, capsys.readouterr().out
    assert example.examples and "**Theorem 1 is false**" in text("README.md")


def test_the_release_check_runs_the_same_lines():
    script, (lines, shown, *_) = release.readme(), python_blocks("README.md")
    compile(script, "readme.py", "exec")
    assert lines.strip() in script and repr(shown.strip()) in script


def test_the_first_own_verdict_is_as_the_quickstart_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["new", "claim", "my-step"]).exit_code == 0
    file = Path("my-step.py")
    file.write_text(file.read_text().replace("s.eta**2 * s.sigma_sq", "s.eta**2 * s.sigma_sq / s.N"))
    (trial,) = fedbounds.referee(file)
    assert trial.refutation.detail == "lhs 5/9 > rhs 1/2, exactly"
    assert "FALSE, 5/9 > 1/2, with two clients of weights 1/3 and 2/3" in text("docs/quickstart.md")


def test_the_symbols_page_is_that_of_the_package():
    study = symbols_page.STUDY
    page = study.page.read_text(encoding="utf-8")
    assert study.written(page, symbols_page.tables()) == page


def test_the_page_of_the_public_api_names_what_is_exported():
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    for home in (fedbounds, testing):
        (row,) = re.findall(rf"^\| `{home.__name__}` \| (.*) \|$", page, re.MULTILINE)
        assert re.findall(r"`(\w+)`", row) == home.__all__


def test_versions_agree():
    version = fedbounds.__version__
    assert f'version = "{version}"' in (ROOT / "pyproject.toml").read_text()
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text()


def body():
    return (PAPER / "paper.md").read_text(encoding="utf-8").split("\n---\n", 1)[1]


def test_the_paper_keeps_to_its_form():
    words = len(re.sub(r"^#.*", "", body(), flags=re.MULTILINE).split())
    assert SHORTEST <= words <= LONGEST
    heads = re.findall(r"^# (.*)$", body(), re.MULTILINE)
    assert heads[: len(SECTIONS)] == SECTIONS and heads[-1] == "References"
    cited = set(re.findall(r"@(\w+)", body()))
    assert cited == set(re.findall(r"^@\w+\{(\w+),", (PAPER / "paper.bib").read_text(), re.MULTILINE))


def test_the_numbers_of_the_paper_and_of_the_power_page():
    paper, power = re.sub(r"\s+", " ", body()), text("docs/power.md")
    counts = false_theorems.counted(false_theorems.read(false_theorems.RECORDS)[1])
    false, true, refuted = counts["false"], counts["true"], counts["refuted"]
    assert f"{false} false and {true} true ones" in paper and f"{refuted} were refuted" in paper
    assert f"Of {false} false theorems none was held, and {refuted} were refuted" in power
    assert f"Of {true} true ones none was refuted, and {counts['as wide']} were proved or certified" in power
    alarms = json.loads((ROOT / "validate/results/false_alarms.json").read_text())
    total, wrong = (sum(cell[name] for cell in alarms) for name in ("runs", "false_refuted"))
    assert f"{wrong} false refutations in {total:,} examinations" in power
    items = remarked()
    held = sum(item.verdicts[0].status is not Status.REFUTED for item in items)
    assert (len(items), held) == (20, 1) and "Of twenty remarks" in paper and "nineteen fail" in paper


def test_the_counterexample_of_the_paper():
    result = (read(path) for path in all_files() if path.stem.startswith("lemma-2"))
    sides = {
        (str(item.lhs), str(item.rhs))
        for example in result
        if "instance" in example.document
        for record in [run(from_json(example.document["instance"]))]
        for item in compare(example.claim(), record, READINGS["literal"])
    }
    assert ("1/16", "4/625") in sides and "$1/16 > 4/625$" in body()
