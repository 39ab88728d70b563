"""Sixty statements of outsiders: each builds or is said to be lacking, and the stored answers are the referee's."""

import multiprocessing
import re
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from fedbounds.evidence.exact.compare import unexpressed
from fedbounds.theory.reading import READINGS
from validate.outside_theorems import __main__ as study
from validate.outside_theorems import ordinary, subtle
from validate.outside_theorems.trials import CLAIMS, judged


@pytest.mark.parametrize(("name", "part"), [("ordinary", ordinary), ("subtle", subtle)])
def test_every_statement_is_a_claim_or_is_said_to_be_lacking(name, part):
    numbers = {int(claim.key.removeprefix(f"{name}-")[:2]) for claim in part.CLAIMS}
    assert numbers | part.NOT_EXPRESSED.keys() == set(range(1, 31))
    assert numbers.isdisjoint(part.NOT_EXPRESSED) and part.CHANGED.keys() <= numbers


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_every_statement_can_be_examined_in_fractions(claim):
    assert unexpressed(claim, READINGS["plain"]) == ()


def test_the_record_is_of_these_claims():
    assert study.recorded().keys() == CLAIMS.keys()


def test_the_pages_show_the_record():
    root, summary = Path(__file__).parents[2], study.summary(study.recorded())
    assert summary in (root / "docs/referee.md").read_text(encoding="utf-8")
    refuted, wrong, proved = (sum(column) for column in list(zip(*numbers(summary), strict=True))[:3])
    said = f"Of the false ones, {refuted} of 30 were refuted. "
    said += f"Of the true ones, {wrong} of 30 were refuted and {proved} of 30 proved."
    assert said in " ".join((root / "README.md").read_text(encoding="utf-8").split())


def numbers(summary):
    """The counts of 15 in each row of the summary."""
    return [[int(n) for n in re.findall(r"(\d+) of 15", row)] for row in summary.splitlines()[2:]]


def test_no_true_statement_is_refuted():
    refuted = {key for key, item in study.recorded().items() if item["headline"] == "FALSE"}
    assert all(int(key.split("-")[1][:2]) in study.FALSE[key.split("-")[0]] for key in refuted)


def test_the_stored_answer_is_given_again():
    """In a process of its own, as the study judges it: the processor time of other tests is not the claim's."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(judged, "ordinary-25").result()["headline"] == study.recorded()["ordinary-25"]["headline"]
