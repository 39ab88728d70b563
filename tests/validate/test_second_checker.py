"""The second checker: it imports nothing of the package, is short, and verifies every certificate that is shipped."""

import ast
import json
import re
import sys
from pathlib import Path

import pytest

from validate import second_checker

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "derivations" / "certificates").glob("*.jsonl"))
SOURCE = Path(second_checker.__file__).read_text()


def test_it_stands_alone():
    imported = set()
    for node in ast.walk(ast.parse(SOURCE)):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module.partition(".")[0])
    assert imported <= sys.stdlib_module_names
    assert len([line for line in SOURCE.splitlines() if line.strip()]) < 280 and "float" not in SOURCE


def test_it_shares_no_line_with_the_first():
    long = 25  # shorter lines are brackets and keywords
    mine = {line.strip() for line in SOURCE.splitlines() if len(line.strip()) > long}
    theirs = {
        line.strip()
        for path in (ROOT / "fedbounds" / "evidence" / "sdp").rglob("*.py")
        for line in path.read_text().splitlines()
    }
    assert {
        line for line in mine & theirs if not re.match("from __future__|from fractions|from pathlib", line)
    } == set()


def test_shipped_certificates_are_verified_again(tmp_path, capsys):
    """Every eighth of each file; `make certificates` verifies all of them."""
    lines = [line for path in FILES for line in path.read_text().splitlines()[::8]]
    (tmp_path / "some.jsonl").write_text("\n".join(lines) + "\n")
    assert second_checker.main([str(tmp_path / "some.jsonl")]) == 0
    verified, models = capsys.readouterr().out.strip().splitlines()
    assert len(lines) > 40 and verified == f"{len(lines)} certificates verified, 0 rejected"
    assert re.fullmatch(r"\d+ models read, 0 of their lines differ", models)


def test_it_rejects_what_is_wrong(tmp_path, capsys):
    good = json.loads(FILES[0].read_text().splitlines()[0])
    label = next(iter(good["multipliers"]))
    bad = [
        {**good, "multipliers": {**good["multipliers"], label: "-1"}},
        {**good, "multipliers": {**good["multipliers"], "gradient 0 star": "1"}},
        {**good, "claim": "theorem-1"},
        {**good, "setting": {**good["setting"], "reading": "mine"}},
        {key: value for key, value in good.items() if key != "lhs"},
    ]
    (tmp_path / "bad.jsonl").write_text("".join(json.dumps(item) + "\n" for item in bad))
    assert second_checker.main([str(tmp_path / "bad.jsonl")]) == 1
    assert "0 certificates verified, 5 rejected" in capsys.readouterr().out


@pytest.mark.parametrize(
    "polynomial, expected",
    [
        ({}, True),
        ({("a", "a"): 1, ("a", "b"): 2, ("b", "b"): 1}, True),
        ({("a", "a"): 1, ("a", "b"): 3, ("b", "b"): 1}, False),
        ({("a", "b"): 1}, False),
        ({("a", "a"): -1}, False),
        ({("f",): 1, ("a", "a"): 1}, False),
    ],
)
def test_sums_of_squares(polynomial, expected):
    assert second_checker.sum_of_squares(polynomial) is expected
