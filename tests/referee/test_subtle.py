"""False theorems whose failure lies out of the way are refuted, each by an instance in fractions."""

from pathlib import Path

import pytest

from fedbounds.evidence.exact.compare import examine
from fedbounds.plugins import load_file
from fedbounds.referee import limit_cases
from fedbounds.referee.search.budget import BUDGETS
from fedbounds.referee.search.refute import refute
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status

SUBTLE = load_file(Path(__file__).parent / "theorems" / "subtle.py")
PLAIN = READINGS["plain"]


@pytest.mark.parametrize("claim", SUBTLE.SEEN, ids=lambda claim: claim.key)
def test_the_battery_meets_it(claim):
    instance = next(item for item, violated in limit_cases.sweep(claim, PLAIN, False, {}) if violated)
    assert examine(instance, claim, PLAIN).status is Status.REFUTED


@pytest.mark.parametrize("claim", SUBTLE.SOUGHT, ids=lambda claim: claim.key)
def test_the_search_finds_it(claim):
    assert refute(claim, PLAIN, BUDGETS["small"]).status is Status.REFUTED
