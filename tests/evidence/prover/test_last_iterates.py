"""Exact rates of the last iterate of gradient descent are proved for every T, and smaller constants are not."""

import pytest
import sympy as sp
from whole_run_claims import ALL, GD, ONE

from fedbounds.evidence.prover import automatic
from fedbounds.evidence.symbolic.definitions import NOISE, W_STAR, W, grad
from fedbounds.evidence.symbolic.permitted_assumptions import given, granted
from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim
from fedbounds.theory.normal_form import normal
from fedbounds.theory.path_quantities import mean_slope_sq
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import Delta_0, L, T, eta_0, gap, gap_0
from fedbounds.theory.vectors import Inner

CONVEX = (a.smooth, a.convex, *ALL, a.full_gradients, ONE)
STATEMENTS = {
    "gap": (gap, L * Delta_0 / (4 * T + 2), 1 / L),
    "gap-half": (gap, L * Delta_0 / (2 * T + 2), 1 / (2 * L)),
    "gap-any": (gap, L * Delta_0 / (4 * T * eta_0 * L + 2), sp.Min(eta_0, 1 / L)),
    "slope": (mean_slope_sq, L**2 * Delta_0 / (T + 1) ** 2, 1 / L),
    "slope-gap": (mean_slope_sq, 2 * L * gap_0 / (2 * T + 1), 1 / L),
    "slope-later": (mean_slope_sq, 4 * L**2 * Delta_0 / (T * (T + 2)), 1 / L),
}


def proved(name, bound=None, assumed=CONVEX, steps=None):
    left, right, size = STATEMENTS[name]
    terms = {"all": right if bound is None else bound}
    one = Claim("last", "Last", "", "horizon", left, terms, assumptions=assumed, eta=size if steps is None else steps)
    return automatic.examine(one, READINGS["plain"]) is not None


@pytest.mark.parametrize("name", STATEMENTS)
def test_an_exact_rate_is_proved(name):
    assert proved(name)


@pytest.mark.parametrize(
    ("name", "bound"),
    [
        ("gap", L * Delta_0 / (4 * T + 3)),
        ("gap", L * Delta_0 / (5 * T + 2)),
        ("gap-any", L * Delta_0 / (4 * T * eta_0 * L + 3)),
        ("slope", L**2 * Delta_0 / (T + 2) ** 2),
        ("slope-gap", 2 * L * gap_0 / (2 * T + 2)),
    ],
)
def test_a_smaller_bound_is_not(name, bound):
    assert not proved(name, bound)


@pytest.mark.parametrize("without", ["convex", "full-gradients", "one-step", "unbiased", "full-participation"])
def test_without_what_it_needs_it_is_not(without):
    assert not proved("gap", assumed=tuple(item for item in CONVEX if item.key != without))


def test_strongly_convex_losses_are_convex_and_a_step_at_which_it_is_false_is_not_covered():
    """One step of 7/4 1/L takes a quadratic from 1 to -3/4, and (3/4)^2 is above 2/9."""
    assert proved("gap", assumed=GD)
    assert proved("gap-any", steps=sp.Min(eta_0, sp.Rational(5, 4) / L))
    assert not proved("gap-any", steps=sp.Min(eta_0, sp.Rational(7, 4) / L))


def test_that_there_is_no_noise_is_granted_along_every_vector_only_where_it_is_assumed():
    def definitions(assumed):
        one = Claim("x", "x", "", "horizon", gap, {"all": L * Delta_0}, assumptions=assumed, eta=1 / L)
        return granted(READINGS["plain"], one)

    assert "no-noise" not in definitions((a.smooth, a.convex, *ALL, a.bounded_variance, ONE))
    part = given(definitions(CONVEX)["no-noise"], (grad(W) - W_STAR,))
    assert part.sign == "=" and normal(part.right - Inner(NOISE, grad(W) - W_STAR)) == 0
