"""Tight constants of claims that speak of quantities of an author's own."""

import math
from fractions import Fraction

import pytest

from fedbounds.errors import InputError
from fedbounds.evidence.sdp.one_step.parameters import round_setting
from fedbounds.evidence.sdp.one_step.tight_constants import split, tight
from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim
from fedbounds.theory.points import grad, mean, norm_sq, w, w_star
from fedbounds.theory.quantity import measured
from fedbounds.theory.symbols import Delta, Delta_next, G_sq, Gamma, L, drift, eta, gap_t, sigma_sq, tau

V = measured("V", mean(norm_sq(grad(w) - grad(w_star))))
SETTING = round_setting(2, 1)


@pytest.mark.parametrize(("less", "needed"), [(0, 2), (V / 2, 3)])
def test_a_quantity_on_either_side_has_its_part_in_the_constant(less, needed):
    """V <= 2 L gap is tight; with half of V taken off the right side, 3 is."""
    terms = {"gap": 4 * L * gap_t, **({"less": -less} if less else {})}
    claim = Claim("v", "", "", "step", V, terms, assumptions=(a.smooth, a.strongly_convex))
    constant = tight(claim, SETTING, "gap")
    assert math.isclose(constant.solver, needed, rel_tol=1e-6)
    if less:
        assert split(claim, SETTING, "gap").rhs(Fraction(3))["V"] == Fraction(-1, 2)


@pytest.mark.parametrize(
    ("left", "terms"),
    [
        (Delta_next, {"contraction": Gamma / L, "rest": Delta + 2 * eta**2 * sigma_sq}),
        (Delta_next, {"contraction": Delta + Gamma / L}),
        (drift, {"contraction": eta**2 * tau**2 * G_sq}),
    ],
)
def test_a_contraction_is_a_multiple_of_the_distance(left, terms):
    of_class = (a.smooth, a.strongly_convex, a.bounded_variance, a.bounded_gradient)
    claim = Claim("c", "", "", "step", left, terms, assumptions=of_class)
    with pytest.raises(InputError, match="must be a multiple of Delta"):
        tight(claim, SETTING, "contraction")
