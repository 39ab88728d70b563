"""The table of mutants on the power page is that of its records, and the records are what a run finds."""

import dataclasses

import pytest

from fedbounds import plugins
from validate.ledger_page import marked
from validate.power.__main__ import PAGE, RECORDS, REGIMES_RECORDED, record, recorded, table
from validate.power.table import Measured, power


@pytest.fixture(scope="module")
def rows():
    return recorded(RECORDS.read_text())


def test_the_page_shows_the_records(rows):
    assert marked("mutants").search(PAGE.read_text())[2].strip() == table(rows).strip()


def test_the_records_are_of_every_claim_that_has_terms(rows):
    keys = {claim.key for claim in plugins.claims_from(None, ()).values() if claim.kind != "rate"}
    assert {row.claim for row in rows} == keys


@pytest.mark.parametrize("key", ["lemma-1", "pi-inverse"])
def test_a_claim_thrown_again_gives_its_records(rows, key):
    def settled(row: Measured) -> Measured:
        numbers = {
            name: value and float(f"{value:.4g}")
            for name in ("closest", "caught", "proved")
            for value in [getattr(row, name)]
        }
        return dataclasses.replace(row, regimes=row.regimes[:REGIMES_RECORDED], **numbers)

    again = power([plugins.claims()[key]])
    assert [settled(row) for row in again] == [settled(row) for row in rows if row.claim == key]
    assert recorded(record(again)) == [
        dataclasses.replace(row, regimes=row.regimes[:REGIMES_RECORDED]) for row in again
    ]


def test_the_findings_are_those_of_the_records(rows):
    """The numbers of the page's findings: (claim, start of the part's name, change) -> what is caught or proved."""

    def row(claim, part, change="deleted"):
        return next(r for r in rows if (r.claim, r.change) == (claim, change) and r.part.startswith(part))

    assert row("theorem-1", "contraction: 3*rho_bar/8", "times 10").caught == pytest.approx(2.6695, abs=1e-4)
    assert row("theorem-1", "drift").proved == 17 / 32 and 32 * row("theorem-1", "drift").caught == pytest.approx(
        0.37, abs=0.01
    )
    for part in ("heterogeneity", "variance"):
        assert row("theorem-1", part).outcome == "still true"
    assert row("sharper-step", "drift").caught == pytest.approx(0.24, abs=0.005)
    assert row("sharper-step", "drift: L of").caught == pytest.approx(0.84, abs=0.005)
    assert min(row("sharper-step", part).caught for part in ("gradient", "bias")) == 1 - 1e-8
    assert row("lemma-2", "drift").caught == pytest.approx(0.98, abs=0.005)
    assert row("corollary", "noise").proved == 5 / 32 and row("corollary", "noise").caught < 0.0025
    assert row("corollary", "error").caught == pytest.approx(0.023, abs=0.0005)
    assert row("sharper-corollary", "error").caught == pytest.approx(0.96, abs=0.005)
    assert row("star-corollary", "error").caught == pytest.approx(0.998, abs=0.0005)
    assert row("li-2020", "variance").caught == pytest.approx(0.18, abs=0.005)
    floor = [r for r in rows if r.change == "condition dropped" and r.part.startswith("rho_tilde replaced")]
    needed = {r.claim for r in floor if r.outcome == "refuted"}
    summed = {"star-corollary", "tight-corollary", "noise-corollary"}
    assert needed == {"corollary", "error-minimiser"} | summed
    everyone = {r.claim for r in rows if r.part.startswith("every client takes part") and r.outcome == "refuted"}
    assert everyone == {"khaled-2020-opt", "li-2020", "sharper-corollary"} | summed
