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


def test_shipped_certificates_are_verified_again_and_what_is_wrong_is_rejected(tmp_path, capsys):
    """Some of each file; `make certificates` verifies all of them."""
    lines = [line for path in FILES for line in path.read_text().splitlines()[::100]]
    good = json.loads(lines[0])
    label = next(iter(good["multipliers"]))
    bad = [
        {**good, "multipliers": {**good["multipliers"], label: "-1"}},
        {**good, "multipliers": {**good["multipliers"], "gradient 0 star": "1"}},
        {**good, "claim": "theorem-1"},
        {**good, "setting": {**good["setting"], "reading": "mine"}},
        {key: value for key, value in good.items() if key != "lhs"},
    ]
    (tmp_path / "some.jsonl").write_text("\n".join([*lines, *map(json.dumps, bad)]) + "\n")
    assert second_checker.main([str(tmp_path / "some.jsonl")]) == 1
    *_, verified, models = capsys.readouterr().out.strip().splitlines()
    assert len(lines) >= len(FILES) and verified == f"{len(lines)} certificates verified, {len(bad)} rejected"
    assert re.fullmatch(r"\d+ models read, 0 of their lines differ", models)


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
