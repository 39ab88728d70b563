"""Statements of strangers are proved by the machine, and false neighbours of them are not."""

import pytest
import sympy as sp

from fedbounds.evidence.prover import automatic
from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import (
    Delta,
    Delta_next,
    Gamma,
    L,
    eta,
    excess,
    gap_t,
    grad_sq,
    mu,
    sigma_sq,
    tau,
    zeta_star_sq,
)

CLASS = (a.smooth, a.strongly_convex)
SGD = (*CLASS, a.bounded_variance, a.full_participation, a.unbiased, Assumption("one", "tau = 1", sp.Eq(tau, 1)))
SLOW = (*SGD, a.small_steps)
NOISE = eta**2 * sigma_sq


def proved(scope, lhs, rhs, *assumptions, **more):
    claim = Claim(
        "mine",
        "Mine",
        "a stranger",
        scope,
        sp.sympify(lhs),
        {"all": sp.sympify(rhs)},
        assumptions=assumptions,
        **more,
    )
    return automatic.examine(claim, READINGS["plain"]) is not None


@pytest.mark.parametrize(
    ("scope", "lhs", "rhs", "assumptions"),
    [
        ("point", excess, grad_sq / (2 * mu), CLASS),
        ("constant", zeta_star_sq, 2 * L * Gamma, CLASS),
        ("step", mu / 2 * Delta, gap_t, CLASS),
        ("step", Delta_next, (1 - eta * mu) * Delta + NOISE, SLOW),
    ],
)
def test_a_true_statement_is_proved_and_with_a_smaller_bound_it_is_not(scope, lhs, rhs, assumptions):
    assert proved(scope, lhs, rhs, *assumptions)
    assert not proved(scope, lhs, sp.Rational(99, 100) * rhs, *assumptions)


def test_an_assumption_that_is_dropped_is_missed():
    assert not proved("point", excess, grad_sq / (2 * mu), a.smooth)
    assert not proved("step", Delta_next, (1 - eta * mu) * Delta + NOISE, *SGD)
