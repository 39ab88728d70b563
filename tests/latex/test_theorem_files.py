"""Theorem files: what is written reads back as the same claim, displays read as their papers mean them."""

import pytest
import sympy as sp

from fedbounds.latex.reader import read_text
from fedbounds.latex.writer import write
from fedbounds.plugins import claims
from fedbounds.theory.claim import in_readings

EVERY = list(in_readings(claims()))


@pytest.mark.parametrize("part", range(6))
def test_every_claim_in_every_reading_reads_back_as_the_same(part):
    for claim, reading in EVERY[part::6]:
        (back,) = read_text(write(claim, reading)).values()
        repaired = reading == "repaired"
        assert dict(back.terms) == claim.stated(repaired)
        assert back.lhs == sp.sympify(claim.lhs)
        extra = claim.repair.assumptions if repaired and claim.repair else ()
        assert [one.key for one in back.assumptions] == [one.key for one in (*claim.assumptions, *extra)]
        same = ("key", "title", "source", "scope", "kind", "eta", "algorithm", "definitions")
        assert all(getattr(back, name) == getattr(claim, name) for name in same)
        assert back.readings == (reading,)
