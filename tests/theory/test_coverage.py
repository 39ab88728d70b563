"""What a verdict covers: membership, words, and reading back what was written."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbounds.theory.coverage import AXES, Coverage, Span, only

numbers = st.one_of(st.integers(-50, 50), st.fractions(-5, 5, max_denominator=9))
spans = st.tuples(numbers, numbers).map(lambda ends: Span(min(ends), max(ends))) | st.just(Span(low=1))
regions = spans | st.frozensets(numbers, min_size=1, max_size=3)
coverages = st.dictionaries(st.sampled_from(["kappa", "tau", "eta_L", "N"]), regions).map(Coverage)


def test_everything_contains_any_experiment():
    assert Coverage().contains({}) and Coverage().words() == "every experiment"


def test_an_unknown_value_is_not_surely_inside():
    assert not Coverage({"tau": Span(1, 3)}).contains({"kappa": 2})


def test_all_the_steps_of_a_run_must_be_inside():
    coverage = Coverage({"eta_L": Span(0, 1)})
    assert coverage.contains({"eta_L": [Fraction(1, 2), 1]})
    assert not coverage.contains({"eta_L": [Fraction(1, 2), 2]}) and not coverage.contains({"eta_L": []})


def test_the_words_say_what_the_claim_also_speaks_of():
    covered = Coverage({"gradients": only("full"), "participation": only(1), "tau": only(3)})
    claimed = Coverage({"participation": only(1)})
    said = covered.words(claimed)
    assert "full gradients" in said and said.endswith("the claim also speaks of stochastic gradients and other tau")


def test_axes_are_known_names():
    with pytest.raises(ValueError, match="no axis"):
        Coverage({"colour": only("red")})
    assert set(Coverage(dict.fromkeys(AXES, only(1))).axes) == set(AXES)


@given(coverages)
def test_what_was_written_reads_back(coverage):
    assert Coverage.from_json(coverage.to_json()) == coverage


@given(coverages, st.dictionaries(st.sampled_from(["kappa", "tau", "eta_L", "N"]), numbers))
def test_membership_is_membership_on_each_axis(coverage, instance):
    inside = all(axis in instance and instance[axis] in region for axis, region in coverage.axes.items())
    assert coverage.contains(instance) == inside


def test_infinite_ends_survive_json():
    written = Coverage({"kappa": Span(1, math.inf)}).to_json()
    assert written == {"kappa": {"low": 1, "high": None}} and Coverage.from_json(written).contains({"kappa": 10**9})
