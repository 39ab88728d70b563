"""What a claim says as it is written: a sign that nothing gives, units that differ, parts of another kind."""

import warnings
from dataclasses import replace

import pytest
import sympy as sp

from fedbounds.errors import InputError, StatementWarning
from fedbounds.plugins import claims, claims_from
from fedbounds.theory import Claim
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as s

DIVIDED = {"start": s.Delta / (1 - s.L * s.eta)}


def claim(**parts):
    return Claim(**{"key": "mine", "title": "", "source": "", "scope": "step", "lhs": s.Delta_next, **parts})


def given(**parts):
    """A claim where it is given to be examined."""
    return claims_from((claim(**parts),), ())["mine"]


def test_a_divisor_or_root_of_unknown_sign_is_named_with_the_assumption_to_write():
    with pytest.warns(StatementWarning, match=r"the sign of -L\*eta \+ 1 in start of claim mine is unknown: assume"):
        written = given(terms=DIVIDED)
    with pytest.warns(StatementWarning, match=r"rho_bar \+ rho_tilde"):
        given(terms={"root": sp.sqrt(s.rho_tilde - s.rho_bar) * s.Delta})
    with pytest.warns(StatementWarning, match="in the left side"):
        given(lhs=s.Delta_next / (1 - s.L * s.eta), terms={"start": s.Delta})
    with warnings.catch_warnings():
        warnings.simplefilter("error", StatementWarning)
        for known in (a.quarter_steps, a.steps_below_inverse_L):
            given(terms=DIVIDED, assumptions=(known,))
        given(terms={"start": s.Delta / (1 - s.mu * s.eta)}, assumptions=(a.small_steps,))
        replace(written, title="derived of the one that was warned of")
        claims()


def test_unlike_units_are_warned_of_unless_the_author_says_how_they_are_meant():
    with pytest.warns(StatementWarning, match="Delta_next and eta have different units"):
        assert claim(terms={"noise": s.eta}).units == "as written"
    with warnings.catch_warnings():
        warnings.simplefilter("error", StatementWarning)
        claim(terms={"noise": s.eta}, units="as written")
    with pytest.raises(InputError, match="different units"):
        claim(terms={"noise": s.eta}, units="checked")
