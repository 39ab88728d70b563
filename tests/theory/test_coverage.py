"""What a verdict covers: membership, words, and reading back what was written."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbounds.errors import InputError
from fedbounds.plugins import claim_named
from fedbounds.referee.trial import checked
from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.coverage import Along, Coverage, Span
from fedbounds.theory.symbols import N
from fedbounds.theory.verdict import Evidence, Status, shown

numbers = st.one_of(st.integers(-50, 50), st.fractions(-5, 5, max_denominator=9))
spans = st.tuples(numbers, numbers).map(lambda ends: Span(min(ends), max(ends))) | st.just(Span(low=1))
regions = spans | st.frozensets(numbers, min_size=1, max_size=3)
coverages = st.dictionaries(st.sampled_from(["kappa", "tau", "eta_L", "N"]), regions).map(Coverage)


def test_all_the_steps_of_a_run_must_be_inside():
    coverage = Coverage({"eta_L": Span(0, 1)})
    assert coverage.contains({"eta_L": [Fraction(1, 2), 1]})
    assert not coverage.contains({"eta_L": [Fraction(1, 2), 2]}) and not coverage.contains({"eta_L": []})


@settings(max_examples=30)
@given(coverages)
def test_what_was_written_reads_back(coverage):
    assert Coverage.from_json(coverage.to_json()) == coverage


@settings(max_examples=30)
@given(coverages, st.dictionaries(st.sampled_from(["kappa", "tau", "eta_L", "N"]), numbers))
def test_membership_is_membership_on_each_axis(coverage, instance):
    inside = all(axis in instance and instance[axis] in region for axis, region in coverage.axes.items())
    assert coverage.contains(instance) == inside


def test_a_span_may_leave_its_lower_end_out():
    open_below = Span(1, 5, above=True)
    assert 1 not in open_below and 2 in open_below and 5 in open_below and 6 not in open_below
    assert (str(open_below), str(Span(1, 5)), str(Span(2, 2))) == ("in (1, 5]", "in [1, 5]", "= 2")
    assert (str(Span(1)), str(Span(1, above=True)), str(Span(high=1))) == (">= 1", "> 1", "<= 1")


class TestAlong:
    """Steps of 1/kappa and (1 + kappa)/kappa^2, one after the other."""

    F = Fraction
    FIRST = ((F(1),), (F(0), F(1)))
    SECOND = ((F(1), F(1)), (F(0), F(0), F(1)))
    BOTH = Coverage({"eta_L": Along("kappa", (FIRST, SECOND))})
    SAME = Coverage({"eta_L": Along("kappa", (FIRST, FIRST))})

    @pytest.mark.parametrize("kappa", [4, (4,)])
    def test_it_holds_the_values_at_the_other_axis(self, kappa):
        quarter, second = Fraction(1, 4), Fraction(5, 16)
        assert self.BOTH.contains({"kappa": kappa, "eta_L": (quarter, second)})
        assert not self.BOTH.contains({"kappa": kappa, "eta_L": (second, quarter)})
        assert not self.BOTH.contains({"kappa": kappa, "eta_L": quarter})
        assert self.SAME.contains({"kappa": kappa, "eta_L": quarter})
        assert self.SAME.contains({"kappa": kappa, "eta_L": (quarter, quarter)})

    @pytest.mark.parametrize(
        ("axis", "quotients"),
        [
            ("colour", (FIRST,)),
            ("kappa", ((FIRST[0],),)),
            ("kappa", (((1,), (1,)),)),
            ("kappa", ((FIRST[0], (F(0),)),)),
        ],
    )
    def test_what_is_no_quotient_is_refused(self, axis, quotients):
        with pytest.raises(ValueError, match="depend on another axis"):
            Along(axis, quotients)


@pytest.mark.parametrize("status", Status)
def test_only_a_refutation_shouts(status):
    said = {shown(status, evidence) for evidence in Evidence}
    assert all(word.isupper() if status is Status.REFUTED else word.islower() for word in said)


def test_a_claim_that_no_instance_meets_is_refused_before_a_trial():
    limits = (a.one_client, Assumption("several", "N >= 2", N >= 2))
    claim = replace(claim_named("lemma-2"), assumptions=limits)
    with pytest.raises(
        InputError, match=r"must be able to meet the assumptions of lemma-2, but received N in \[2, 1\]"
    ):
        checked(claim, None, "small", 0, None)


def test_an_assumption_that_stands_in_no_tuple_is_refused_as_the_claim_is_made():
    with pytest.raises(InputError, match=r"must be a tuple, but received smooth: write assumptions=\(a\.smooth,\)"):
        replace(claim_named("lemma-2"), assumptions=a.smooth)
