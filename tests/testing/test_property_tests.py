"""A property test of a claim: it finds a slip on the runs that are asked for, and says where it applies to none."""

from dataclasses import replace

import pytest
from hypothesis import Phase, find, settings
from hypothesis import strategies as st

from fedbounds.errors import InputError
from fedbounds.testing import property_test, strategies
from fedbounds.theory import Claim
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as s

HALVED = Claim("slip", "", "a draft", "point", s.grad_sq, {"gap": s.L * s.excess}, assumptions=(a.smooth,))


@pytest.fixture
def few():
    """Four examples a test, as they are drawn."""
    before = settings.get_current_profile_name()
    settings.register_profile("few", settings.get_profile(before), max_examples=4, phases=[Phase.generate])
    settings.load_profile("few")
    yield
    settings.load_profile(before)


def test_a_slip_is_found_among_three_clients_in_the_plane(few):
    test = property_test(HALVED, clients=3, d=2, noise=False)
    with pytest.raises(AssertionError, match=r"slip .* is refuted at t = ") as result:
        test()
    optima = str(result.value).partition("w_i* = ")[2].partition(", w_0")[0]
    assert optima.count("[") == 4 and optima.count(",") == 5


def test_examples_that_a_claim_does_not_apply_to_are_named_with_what_fails(few, monkeypatch):
    one = find(strategies.runs(clients=2, d=1, noise=False), lambda run: True)
    monkeypatch.setattr(strategies, "runs", lambda **drawn: st.sampled_from([one] * drawn["clients"]))
    test = property_test(replace(HALVED, assumptions=(a.with_replacement,)), clients=2)
    with pytest.raises(InputError, match=r"slip needs examples .*selection-with-replacement .*draw others with"):
        test()
