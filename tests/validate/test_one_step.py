"""One-step theorems of a stranger: what is planted in their statements, and what the page tells of the record."""

import random
from pathlib import Path

from fedbounds.io import read_json
from validate import one_step


def test_a_planted_change_is_another_statement_and_a_convex_class_has_no_curvature_and_no_minimum_of_a_client():
    """That Rocq accepts what is found, and no changed constant, is tried in tests/evidence/kernel."""
    stated = one_step.found("expected-smoothness", one_step.theorems()["expected-smoothness"]).statement
    assert "strongly_convex P 0" in stated and "mu" not in stated and "w_i_star" not in stated
    for kind in ("constant", "sign"):
        changed = one_step.planted(stated, kind, random.Random(1))
        assert changed and changed != stated and changed.count(" ->") == stated.count(" ->")


def test_the_page_tells_the_recorded_table_and_no_changed_sign_was_accepted():
    record = read_json(one_step.RECORD)
    rows, changes = record["theorems"], record["changes"]
    assert rows.keys() == one_step.theorems().keys()
    proved, accepted = (sum(row[word] for row in rows.values()) for word in ("proved", "rocq"))
    tried = sum(row["tried"] for row in changes.values())
    taken = {kind: row["accepted"] for kind, row in changes.items()}
    of_hypotheses = sum(count for kind, count in taken.items() if kind.startswith("hypothesis"))
    assert tried >= 100 and taken["sign"] == 0
    page = " ".join((Path(__file__).parents[2] / "docs" / "kernel.md").read_text().split())
    assert f"a stranger {proved} are proved, and Rocq accepts {accepted}" in page
    assert f"Of {tried} planted changes" in page
    assert f"{of_hypotheses} of hypotheses that the proof does not use, and {taken['constant']} of constants" in page
    quick = [name for name, row in rows.items() if row["rocq"] and row["rocq seconds"] < 60]
    assert len(quick) == accepted >= 8
