"""One step after several local steps, with bounded gradients: true bounds are proved, smaller ones are not."""

import pytest
import sympy as sp

from fedbounds.evidence.prover import automatic
from fedbounds.evidence.symbolic.definitions import ETA_S, GAP_NEXT, P, W, grad
from fedbounds.evidence.symbolic.permitted_assumptions import given
from fedbounds.evidence.symbolic.proof_state import Unproved
from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.quantity import measured
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import (
    Delta,
    Delta_next,
    G_sq,
    Gamma,
    L,
    N,
    drift,
    eta,
    eta_0,
    gap_t,
    mu,
    sigma_p_sq,
    sigma_sq,
    tau,
)
from fedbounds.theory.vectors import Centre, norm_sq

WITH_G = (a.bounded_gradient, a.full_participation, a.unbiased)
SGD = (a.smooth, a.strongly_convex, a.bounded_variance, a.full_participation, a.unbiased)
APART = eta**2 * (tau - 1) ** 2 * G_sq
QUARTER = (*SGD, a.bounded_gradient, a.quarter_steps)
gap_next = measured("gap_next", GAP_NEXT)
slope = measured("slope", norm_sq(Centre(P, grad(W))))
LONG = Assumption("long-steps", "eta_t <= 4/(3L)", sp.Le(eta * L, sp.Rational(4, 3)))


def claim(left, right, assumed, **more):
    return Claim("mine", "Mine", "a stranger", "step", left, {"all": right}, assumptions=assumed, **more)


def step_of(noise, drifts):
    return (1 - eta * mu) * Delta + eta**2 * (6 * L * Gamma + noise * sigma_p_sq) + drifts * APART


TRUE = {
    "drift at equal steps": claim(drift, APART, (*WITH_G, a.constant_steps)),
    "drift at a stated step": claim(drift, 4 * APART, (*WITH_G, a.smooth, a.strongly_convex), eta=eta_0),
    "one step at equal steps": claim(Delta_next, step_of(1, 8), (*QUARTER, a.constant_steps)),
    "one step after halving": claim(Delta_next, step_of(1, 8), (*QUARTER, a.halving)),
    "the gap under noise": claim(
        gap_next, (1 - eta * mu) * gap_t + L * eta**2 / 2 * sigma_p_sq, (*SGD, a.one_local_step, a.small_steps)
    ),
}
ONE_STEP = (a.smooth, a.strongly_convex, a.full_gradients, a.full_participation, a.unbiased)
fallen = gap_t - eta / 2 * slope
TRUE["descent"] = claim(gap_next, fallen, (*ONE_STEP, a.one_local_step, a.small_steps))
TWICE = Assumption("twice", "eta <= 2/L", sp.Le(eta * L, 2))
NO_FUNCTION = (a.smooth, a.convex, a.bounded_variance, a.full_participation, a.unbiased, TWICE)
ALIKE, IN_ALL = (*NO_FUNCTION, a.identical), (1 - 1 / N) * (tau - 1) * eta**2 * sigma_sq
TRUE["identical clients of any weights"] = claim(drift, IN_ALL, ALIKE, eta=eta_0)
OPEN = {
    "nine tenths for identical clients": claim(drift, IN_ALL * sp.Rational(9, 10), ALIKE, eta=eta_0),
    "identical clients less 2/N": claim(drift, (1 - 2 / N) * (tau - 1) * eta**2 * sigma_sq, ALIKE, eta=eta_0),
    "identical clients without tau - 1": claim(drift, (1 - 1 / N) * eta**2 * sigma_sq, ALIKE, eta=eta_0),
    "clients that differ": claim(drift, IN_ALL, NO_FUNCTION, eta=eta_0),
    "descent at long steps": claim(gap_next, fallen, (*ONE_STEP, a.one_local_step, LONG)),
    "descent after local steps": claim(gap_next, fallen, (*ONE_STEP, a.small_steps)),
    "half the drift": claim(drift, APART / 2, (*WITH_G, a.constant_steps)),
    "drift at any steps": claim(drift, APART, WITH_G),
    "drift without G": claim(drift, APART, (*WITH_G[1:], a.constant_steps)),
    "one step without drift": claim(Delta_next, step_of(1, 0), (*QUARTER, a.constant_steps)),
    "one step with less noise": claim(Delta_next, step_of(sp.Rational(1, 2), 8), (*QUARTER, a.halving)),
    "one step at any steps": claim(Delta_next, step_of(1, 8), QUARTER),
}


@pytest.mark.parametrize("statement", TRUE)
def test_a_true_bound_is_proved(statement):
    assert automatic.examine(TRUE[statement], READINGS["plain"]) is not None


@pytest.mark.parametrize("statement", OPEN)
def test_what_is_smaller_or_lacks_an_assumption_is_not(statement):
    assert automatic.examine(OPEN[statement], READINGS["plain"]) is None


def test_relations_among_step_sizes_hold_at_earlier_steps_and_no_others_do():
    assert given(a.constant_steps, (ETA_S,)) == (0, "=", eta_0 - ETA_S)
    assert given(a.small_steps, (ETA_S,)).right.has(ETA_S)
    for other in (a.slow_decay, a.one_local_step, a.constant_steps):
        with pytest.raises(Unproved):
            given(other, (ETA_S, ETA_S) if other is a.constant_steps else (ETA_S,))
