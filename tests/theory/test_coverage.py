"""What a verdict covers: membership, words, and reading back what was written."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbounds.theory.coverage import AXES, Along, Coverage, Span, only
from fedbounds.theory.labels import shown
from fedbounds.theory.verdict import Evidence, Status

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

    @pytest.mark.parametrize("kappa", [4, 4.0, Fraction(4), (4,), frozenset({4})])
    def test_it_holds_the_values_at_the_other_axis(self, kappa):
        quarter, second = Fraction(1, 4), Fraction(5, 16)
        assert self.BOTH.contains({"kappa": kappa, "eta_L": (quarter, second)})
        assert not self.BOTH.contains({"kappa": kappa, "eta_L": (second, quarter)})
        assert not self.BOTH.contains({"kappa": kappa, "eta_L": quarter})
        assert self.SAME.contains({"kappa": kappa, "eta_L": quarter})
        assert self.SAME.contains({"kappa": kappa, "eta_L": (quarter, quarter)})

    @pytest.mark.parametrize(
        "kappa", [{}, {"kappa": float("nan")}, {"kappa": 4.5}, {"kappa": (4, 5)}, {"kappa": "four"}, {"kappa": 0}]
    )
    def test_it_holds_nothing_where_the_other_axis_does_not_tell(self, kappa):
        assert not self.SAME.contains({"eta_L": Fraction(1, 4), **kappa})

    def test_it_is_said_as_formulas(self):
        assert self.SAME.words() == "eta L at every step = 1/kappa"
        assert self.BOTH.words() == "eta L at every step = (1/kappa, (kappa + 1)/kappa**2)"
        assert Coverage.from_json(self.BOTH.to_json()) == self.BOTH

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
