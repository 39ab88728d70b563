"""One-step theorems of a stranger: Rocq accepts the scripts written of their proofs, and no changed statement."""

import random
from pathlib import Path

import pytest

from fedbounds.evidence import kernel
from fedbounds.evidence.kernel import coqc
from fedbounds.io import read_json
from validate import one_step

needs_rocq = pytest.mark.skipif(kernel.available() is None, reason="Rocq (Coq) is not installed: apt-get install coq")


@pytest.fixture(scope="module")
def compiled(rocq_folder):
    return lambda module, text: coqc.compiled(rocq_folder, module, text)[0]


@needs_rocq
def test_rocq_accepts_the_script_and_refuses_a_changed_constant_and_a_sign(compiled):
    name = "drift-bounded-gradients"
    one = one_step.found(name, one_step.theorems()[name])
    assert one.proved and one_step.accepted(one, compiled) == ""
    for kind in ("constant", "sign"):
        changed = one_step.planted(one.statement, kind, random.Random(1))
        assert changed != one.statement
        complaint = one_step.accepted(one, compiled, changed)
        assert complaint and not complaint.startswith("the statement")


def test_a_class_that_is_merely_convex_has_no_curvature_and_no_minimum_of_a_client():
    stated = one_step.found("expected-smoothness", one_step.theorems()["expected-smoothness"]).statement
    assert "strongly_convex P 0" in stated and "mu" not in stated and "w_i_star" not in stated


def test_the_page_tells_the_recorded_table_and_no_changed_constant_or_sign_was_accepted():
    record = read_json(one_step.RECORD)
    rows, changes = record["theorems"], record["changes"]
    assert rows.keys() == one_step.theorems().keys()
    proved, accepted = (sum(row[word] for row in rows.values()) for word in ("proved", "rocq"))
    tried = sum(row["tried"] for row in changes.values())
    assert tried >= 100 and changes["constant"]["accepted"] == changes["sign"]["accepted"] == 0
    page = " ".join((Path(__file__).parents[2] / "docs" / "kernel.md").read_text().split())
    assert f"a stranger {proved} are proved, and Rocq accepts all {accepted}" in page
    assert f"Each of {tried} planted changes" in page
    quick = [name for name, row in rows.items() if row["rocq"] and row["rocq seconds"] < 60]
    assert len(quick) == accepted >= 8
