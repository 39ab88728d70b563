"""The table of mutants on the power page is that of its records, and the records are what a run finds."""

import dataclasses

import pytest

from fedbounds import plugins
from fedbounds.referee.power import Row, power
from validate.ledger_page import marked
from validate.power_page import KEPT, PAGE, SHOWN, record, recorded, table


@pytest.fixture(scope="module")
def rows():
    return recorded(KEPT.read_text())


def test_the_page_shows_the_records(rows):
    assert marked("mutants").search(PAGE.read_text())[2].strip() == table(rows).strip()


def test_the_records_are_of_every_claim_that_has_terms(rows):
    keys = {claim.key for claim in plugins.claims().values() if claim.kind != "rate"}
    assert {row.claim for row in rows} == keys


@pytest.mark.parametrize("key", ["lemma-1", "pi-inverse"])
def test_a_claim_thrown_again_gives_its_records(rows, key):
    def settled(row: Row) -> Row:
        numbers = {
            name: value and float(f"{value:.4g}")
            for name in ("closest", "caught", "proved")
            for value in [getattr(row, name)]
        }
        return dataclasses.replace(row, regimes=row.regimes[:SHOWN], **numbers)

    again = power([plugins.claims()[key]])
    assert [settled(row) for row in again] == [settled(row) for row in rows if row.claim == key]
    assert recorded(record(again)) == [dataclasses.replace(row, regimes=row.regimes[:SHOWN]) for row in again]
