"""Inductions inside a round, weighted means of iterates, and the smallest skew: proved, and smaller bounds not."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp

from fedbounds.evidence.prover import automatic
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import START, P, X
from fedbounds.theory import assumptions as a
from fedbounds.theory import points as at
from fedbounds.theory.claim import Claim
from fedbounds.theory.quantity import Path, measured
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import (
    Delta,
    Delta_next,
    G_sq,
    Gamma,
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
    weighted_gap,
)
from fedbounds.theory.symbols import local_step as k
from fedbounds.theory.vectors import Mean, norm_sq

PLAIN = READINGS["plain"]
SGD = (a.smooth, a.strongly_convex, a.bounded_variance, a.full_participation, a.unbiased)
MOVED = measured("moved", at.mean(at.norm_sq(at.w_i - at.w_round)))
SLOPE = measured("slope", at.mean(at.norm_sq(at.grad(at.w_round))))
LATE = weighted_gap("late", t + 1)


def claim(scope, left, right, assumed, **more):
    return Claim("mine", "Mine", "a stranger", scope, left, {"all": right}, assumptions=assumed, **more)


def moved(slopes, noise, limit=2):
    right = slopes * k**2 * eta**2 * SLOPE + noise * k * eta**2 * sigma_sq
    return claim("step", MOVED, right, SGD, eta=sp.Min(eta_0, limit / L))


def apart(share, assumed=(*SGD, a.equal_p, a.identical)):
    return claim("step", drift, share * (1 - 1 / N) * k * eta**2 * sigma_sq, assumed, eta=sp.Min(eta_0, 2 / L))


def late(share, mean=LATE):
    assumed = (a.strongly_convex, a.smooth, a.bounded_gradient, a.full_participation, a.unbiased, a.one_local_step)
    return claim("horizon", T * mean, share * T * G_sq / (mu * (T + 1)), assumed, eta=2 / (mu * (t + 2)))


@pytest.mark.parametrize("statement", [moved(2, 2), apart(1), apart(2), apart(1, (*SGD, a.identical)), late(2)])
def test_a_true_statement_is_proved(statement):
    assert automatic.examine(statement, PLAIN).status == "HOLDS"


@pytest.mark.parametrize(
    "statement",
    [
        moved(2, sp.Rational(199, 100)),
        moved(2, 2, 4),
        apart(sp.Rational(99, 100)),
        apart(1, (*SGD, a.equal_p)),
        apart(sp.Rational(99, 100), (*SGD, a.identical)),
        late(sp.Rational(199, 100)),
        late(2, weighted_gap("late", lambda path: path.t[1:])),
        late(2, weighted_gap("late", t + 1, tail=2)),
        late(2, weighted_gap("late", t**2 + 1)),
    ],
)
def test_what_is_smaller_or_lacks_an_assumption_is_not_proved(statement):
    assert automatic.examine(statement, PLAIN) is None


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
    right = kept * Delta + 2 * eta * (at_optimum - rho_bar * Gamma) + 2 * eta**2 * L * rho_bar * Gamma
    assumed = (a.smooth, a.strongly_convex, a.full_gradients, a.full_participation, a.one_local_step, a.small_steps)
    statement = claim("step", Delta_next, right, assumed)
    _, proof = automatic.proved(statement, PLAIN)
    *rest, (multiplier, fact) = proof.steps[-1].because
    steps = (*proof.steps[:-1], replace(proof.steps[-1], because=(*rest, (2 * multiplier, fact))))
    assert automatic.check(replace(proof, steps=steps), statement, PLAIN).fault


@pytest.mark.parametrize("kind", [float, Fraction])
def test_weights_written_in_t_are_those_of_a_function(kind):
    losses = SimpleNamespace(p=np.array([kind(1)]), gap=lambda w: (w**2).sum(-1))
    w = np.array([[kind(x)] for x in (3, 1, 2, 5)])
    path = Path(1, np.array([kind(1)] * 3), losses, w=w)
    assert list(LATE.on_path(path)) == list(weighted_gap("late", lambda path: path.t[1:]).on_path(path))
