"""Claims about local steps, weighted means of iterates and the smallest skew: proved, and smaller bounds not."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp

from fedbounds.evidence.prover import automatic
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic import verified_proofs
from fedbounds.evidence.symbolic.definitions import ETA_S, GAP_NEXT, START, W_STAR, P, W, X, grad
from fedbounds.evidence.symbolic.permitted_assumptions import given
from fedbounds.evidence.symbolic.proof_state import Unproved
from fedbounds.theory import assumptions as a
from fedbounds.theory import points as at
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.quantity import Path, measured
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import (
    Delta,
    Delta_next,
    G_sq,
    L,
    N,
    T,
    drift,
    eta,
    eta_0,
    mu,
    rho_bar,
    sigma_sq,
    t,
    tau,
)
from fedbounds.theory.symbols import local_step as k
from fedbounds.theory.vectors import Centre, Inner, Mean, norm_sq

PLAIN = READINGS["plain"]
ALL = (a.full_participation, a.unbiased)
WITH_G = (a.bounded_gradient, *ALL)
SGD = (a.smooth, a.strongly_convex, a.bounded_variance, *ALL)
QUARTER = (*SGD, a.bounded_gradient, a.quarter_steps)
ONE_STEP = (a.smooth, a.strongly_convex, a.full_gradients, *ALL)
CONVEX = (a.smooth, a.convex, a.bounded_variance, *ALL, Assumption("twice", "eta <= 2/L", sp.Le(eta * L, 2)))
LONG = Assumption("long-steps", "eta_t <= 4/(3L)", sp.Le(eta * L, sp.Rational(4, 3)))
MOVED = measured("moved", at.mean(at.norm_sq(at.w_i - at.w_round)))
SLOPE = measured("slope", at.mean(at.norm_sq(at.grad(at.w_round))))
LATE = sy.weighted_gap("late", t + 1)
APART = eta**2 * (tau - 1) ** 2 * G_sq
IN_ALL = (1 - 1 / N) * (tau - 1) * eta**2 * sigma_sq
gap_next = measured("gap_next", GAP_NEXT)
fallen = sy.gap_t - eta / 2 * measured("slope", norm_sq(Centre(P, grad(W))))


def claim(left, right, assumed, scope="step", **more):
    return Claim("mine", "Mine", "a stranger", scope, left, {"all": right}, assumptions=assumed, **more)


def step_of(noise, drifts, assumed):
    added = eta**2 * (6 * L * sy.Gamma + noise * sy.sigma_p_sq) + drifts * APART
    return claim(Delta_next, (1 - eta * mu) * Delta + added, assumed)


def moved(slopes, noise, limit=2):
    right = slopes * k**2 * eta**2 * SLOPE + noise * k * eta**2 * sigma_sq
    return claim(MOVED, right, SGD, eta=sp.Min(eta_0, limit / L))


def apart(share, assumed=(*SGD, a.equal_p, a.identical)):
    return claim(drift, share * (1 - 1 / N) * k * eta**2 * sigma_sq, assumed, eta=sp.Min(eta_0, 2 / L))


def late(share, mean=LATE):
    assumed = (*ONE_STEP[:2], *WITH_G, a.one_local_step)
    return claim(T * mean, share * T * G_sq / (mu * (T + 1)), assumed, "horizon", eta=2 / (mu * (t + 2)))


TRUE = {
    "drift at equal steps": claim(drift, APART, (*WITH_G, a.constant_steps)),
    "drift at a stated step": claim(drift, 4 * APART, (*WITH_G, a.smooth, a.strongly_convex), eta=eta_0),
    "one step at equal steps": step_of(1, 8, (*QUARTER, a.constant_steps)),
    "one step after halving": step_of(1, 8, (*QUARTER, a.halving)),
    "descent": claim(gap_next, fallen, (*ONE_STEP, a.one_local_step, a.small_steps)),
    "identical clients of any weights": claim(drift, IN_ALL, (*CONVEX, a.identical), eta=eta_0),
    "a model moves": moved(2, 2),
    "identical clients at a step": apart(1),
    "without equal weights": apart(1, (*SGD, a.identical)),
    "late iterates weigh more": late(2),
}
OPEN = {
    "nine tenths for identical clients": claim(drift, IN_ALL * sp.Rational(9, 10), (*CONVEX, a.identical), eta=eta_0),
    "clients that differ": claim(drift, IN_ALL, CONVEX, eta=eta_0),
    "descent at long steps": claim(gap_next, fallen, (*ONE_STEP, a.one_local_step, LONG)),
    "descent after local steps": claim(gap_next, fallen, (*ONE_STEP, a.small_steps)),
    "half the drift": claim(drift, APART / 2, (*WITH_G, a.constant_steps)),
    "drift at any steps": claim(drift, APART, WITH_G),
    "drift without G": claim(drift, APART, (*ALL, a.constant_steps)),
    "one step without drift": step_of(1, 0, (*QUARTER, a.constant_steps)),
    "one step with less noise": step_of(sp.Rational(1, 2), 8, (*QUARTER, a.halving)),
    "one step at any steps": step_of(1, 8, QUARTER),
    "a model moves by less noise": moved(2, sp.Rational(199, 100)),
    "a model moves at long steps": moved(2, 2, 4),
    "identical clients, less": apart(sp.Rational(99, 100)),
    "clients of equal weights": apart(1, (*SGD, a.equal_p)),
    "late iterates, less": late(sp.Rational(199, 100)),
    "late iterates by a function": late(2, sy.weighted_gap("late", lambda path: path.t[1:])),
    "the tail of late iterates": late(2, sy.weighted_gap("late", t + 1, tail=2)),
}


@pytest.mark.parametrize("statement", TRUE)
def test_a_true_bound_is_proved(statement):
    assert automatic.examine(TRUE[statement], PLAIN).status == "HOLDS"


@pytest.mark.parametrize("statement", OPEN)
def test_what_is_smaller_or_lacks_an_assumption_is_not(statement):
    assert automatic.examine(OPEN[statement], PLAIN) is None


def test_relations_among_step_sizes_hold_at_earlier_steps_and_no_others_do():
    assert given(a.constant_steps, (ETA_S,)) == (0, "=", eta_0 - ETA_S)
    assert given(a.small_steps, (ETA_S,)).right.has(ETA_S)
    for other in (a.slow_decay, a.one_local_step, a.constant_steps):
        with pytest.raises(Unproved):
            given(other, (ETA_S, ETA_S) if other is a.constant_steps else (ETA_S,))


def test_an_induction_over_local_steps_is_about_local_models_from_the_round_on():
    statement = moved(2, 2)
    _, proof = automatic.proved(statement, PLAIN)
    whole = next(step for step in proof.steps if step.label == "all")
    for wrong in (
        replace(whole, because=d.Induction("base", "carry")),
        replace(whole, because=d.Induction("carry", "base", local=True)),
        replace(whole, rhs=whole.rhs - eta**2 * sigma_sq),
        replace(whole, lhs=Mean(P, norm_sq(X - START)) + Delta),
        replace(whole, lhs=2 * whole.lhs),
    ):
        steps = tuple(wrong if step.label == "all" else step for step in proof.steps)
        assert automatic.check(replace(proof, steps=steps), statement, PLAIN).fault


def test_the_smallest_skew_shortens_a_step():
    at_optimum = measured("at_optimum", at.mean_alpha(at.F_i(at.w_star) - at.F_i_star))
    kept = 1 - eta * mu * (1 + rho_bar * (1 - eta * L))
    right = kept * Delta + 2 * eta * (at_optimum - rho_bar * sy.Gamma) + 2 * eta**2 * L * rho_bar * sy.Gamma
    assumed = (a.smooth, a.strongly_convex, a.full_gradients, a.full_participation, a.one_local_step, a.small_steps)
    statement = claim(Delta_next, right, assumed)
    _, proof = automatic.proved(statement, PLAIN)
    *rest, (multiplier, fact) = proof.steps[-1].because
    steps = (*proof.steps[:-1], replace(proof.steps[-1], because=(*rest, (2 * multiplier, fact))))
    assert automatic.check(replace(proof, steps=steps), statement, PLAIN).fault


@pytest.mark.parametrize("kind", [float, Fraction])
def test_weights_written_in_t_are_those_of_a_function(kind):
    losses = SimpleNamespace(p=np.array([kind(1)]), gap=lambda w: (w**2).sum(-1))
    w = np.array([[kind(x)] for x in (3, 1, 2, 5)])
    path = Path(1, np.array([kind(1)] * 3), losses, w=w)
    assert list(LATE.on_path(path)) == list(sy.weighted_gap("late", lambda path: path.t[1:]).on_path(path))


def _with_young(weight, whole):
    """A line from Young's inequality, where another line bounds ||x - w*||^2 by 4 times itself."""
    way, slope = X - W_STAR, grad(X)
    shown = d.step("shown", Mean(P, norm_sq(way)), "<=", 4 * Mean(P, norm_sq(way)))
    shown = shown.by((3, d.averaged(P, d.Square(way))))
    left = -2 * Mean(P, Inner(way, slope))
    line = d.step("line", left, "<=", weight * (whole + Mean(P, norm_sq(slope))))
    return d.Derivation("mine", "Mine", (shown, line.by(d.Young("shown", way, slope, weight, whole))))


@pytest.mark.parametrize(
    ("weight", "share", "holds"), [(2, 1, True), (1, 1, False), (-2, 1, False), (1, 4, True), (2, 2, False)]
)
def test_youngs_inequality_has_the_weight_that_its_step_shows(weight, share, holds):
    one = _with_young(sp.Integer(weight), share * Mean(P, norm_sq(X - W_STAR)))
    checked = verified_proofs.check("mine", verified_proofs.shelf({"mine": one}, {}), READINGS["repaired"])
    assert (not checked.fault) is holds
