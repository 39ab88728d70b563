"""Theorem 1 and the corollary with rho_bar at synchronisation times, as the paper writes it."""

import sympy as sp

from fedbounds.theory import assumptions as a

from ._recursion import *
from .corollary import ABBREVIATED, CAPS, C, recursive
from .lemma_2 import DECAY, INSIDE, LENGTH, TIMES, decays, left, schedule_steps, slow_steps
from .sharper_step import MOMENT

STEP, SUMMED = map(claim, ("sync-step", "sync-corollary"))
roomy = sp.Symbol("roomy", nonnegative=True)
PULL, AHEAD = Centre(ALPHA, grad(START)), Inner(Centre(ALPHA, grad(START)), W - START)
AWAY, STAYED = norm_sq(START - W_STAR), Mean(ALPHA, norm_sq(X - START))
GROWN = Gamma + mu / 2 * AWAY
PART = sp.Rational(3, 5)
SPREAD_OUT = averaged(ALPHA, Square(X - W, "a variance"))
WAY, FAR = eta_ratio * eta * (tau - 1) * G_sq, eta_ratio**2 * eta**2 * (tau - 1) ** 2 * G_sq
MOVED_BY = (a.full_participation, a.bounded_gradient)
# The gradient at the round's start, and on the corollary's steps the way from there and what is lost on it.
PULLED = step("pull", norm_sq(PULL), "<=", G_sq).by(
    variance(ALPHA, grad(START)),
    averaged(ALPHA, premise("bounded-gradient", START), Square(NOISE_0, "the variance of the gradient")),
)
ON_SCHEDULE = (
    step("far", STAYED, "<=", 9 * eta**2 * tau**2 * G_sq).by(Cited("way-nine")),
    PULLED,
    step("moved", AHEAD, ">=", -3 * eta * tau * G_sq).by(
        (3 * eta * tau / 2, Earlier("pull")),
        (1 / (6 * eta * tau), Square(3 * eta * tau * PULL + W - START, "Young")),
        (1 / (6 * eta * tau), SPREAD_OUT),
        (1 / (6 * eta * tau), Earlier("far")),
    ),
)
# At the round's start: how F grows from w*, and what of ||w_t - w*||^2 is there already.
AT_START = (
    step("growth", Mean(P, definitions.gap(START)), ">=", GROWN).by(
        averaged(P, convex(W_STAR, START)), optimal(START - W_STAR)
    ),
    step("split", sp.Rational(3, 8) * Delta, "<=", AWAY + PART * norm_sq(W - START)).by(
        (sp.Rational(5, 8), Square(START - W_STAR - PART * (W - START), "Young"))
    ),
    EXPAND,
    JENSEN,
    MOMENT,
    CLIENT,
    SPREADS,
)


def onwards(skew: sp.Expr, way: sp.Expr, *under: Written) -> Step:
    """What the start's skew says at w_t, once the step ``moved`` shows <sum_i alpha_i grad F_i(w_0), w_t - w_0>."""
    return step("skew", Mean(ALPHA, E_W), ">=", skew * GROWN - way).by(
        averaged(ALPHA, convex(START, W)),
        (mu / 2, Square(W - START)),
        premise("rho-bar-start"),
        (rho_bar, Earlier("growth")),
        Earlier("moved"),
        *under,
    )


def used(skew: sp.Expr) -> tuple[Written, ...]:
    """What a step from w_t makes of these."""
    return (
        (eta**2, Earlier("jensen")),
        (eta**2, Earlier("moment")),
        (2 * eta, averaged(ALPHA, Earlier("client"))),
        (2 * eta, Earlier("skew")),
        (2 * eta, RHO_TILDE),
        (eta * mu * skew, Earlier("split")),
        (eta * mu * skew * PART + eta * ell, Earlier("far")),
        (eta * mu * skew * PART, SPREAD_OUT),
        (eta * ell, Square(W - START)),
    )


# What 32 tau^2 leaves on the corollary's steps, over 1/(20 k) and with tau = one_step + 1.
LEFT = (
    (307 * one_step**2 + 494 * one_step + 167) * gamma
    + (640 * one_step**2 + 1160 * one_step + 500) * t
    + (468 + 108 * below_cap) * tau**2
)
DERIVATIONS = (
    Derivation(
        key="way-any-steps",
        title="The way from a round's start, whatever the steps",
        steps=slow_steps(eta_ratio, INSIDE, (tau - 1) ** 2, "", STAYED),
        assumes=MOVED_BY,
        conditions=decays("step-ratio"),
    ),
    proof(
        STEP,
        "One-step inequality, rho_bar at synchronisation times",
        steps=(
            step("far", STAYED, "<=", FAR).by(Cited("way-any-steps")),
            PULLED,
            *AT_START,
            step("one", Inner(PULL, X - START), ">=", -WAY).by(
                premise("local-steps", PULL),
                averaged(
                    U,
                    (n * ETA_S / 2, Square(PULL - G_S, "Young")),
                    (n * ETA_S / 2, Earlier("pull")),
                    (n * ETA_S / 2, premise("bounded-gradient", X_S)),
                    (n * DECAY * G_sq, ONE),
                ),
                (left * eta_ratio * eta * G_sq, ONE),
            ),
            step("moved", AHEAD, ">=", -WAY).by(averaged(ALPHA, Earlier("one"))),
            onwards(rho_bar, WAY),
            conclude(STEP).by(
                *used(rho_bar),
                (roomy * eta**2 * G_sq, ONE),
                (6 * eta**2 * rho_bar * L * Gamma + eta**2 * sigma_sq, ONE),
            ),
        ),
        conditions=(*decays("step-ratio"), CURVATURES, Condition(roomy, premise("sync-room"))),
        findings=("Neither eta_t <= 1/L nor the terms in sigma^2 and 6 rho_bar L Gamma are needed.",),
    ),
    Derivation(
        key="way-nine",
        title="The way from a round's start, for eta_t = 1/(mu(t + gamma))",
        steps=schedule_steps(sp.Rational(3, 2), STAYED, 9 * eta**2 * tau**2 * G_sq, 9),
        assumes=(*MOVED_BY, a.strongly_convex),
        eta=1 / (mu * k),
        conditions=(LENGTH, TIMES),
    ),
    proof(
        SUMMED,
        "Convergence bound, rho_bar at synchronisation times and capped at 8(gamma - 1)/3",
        steps=(
            *CAPS,
            QUARTER,
            *ON_SCHEDULE,
            *AT_START,
            onwards(r, 3 * eta * tau * G_sq, (GROWN, UNDER_RHO)),
            *recursive(
                SUMMED,
                *used(r),
                (2 * eta * Gamma, OVER_TILDE),
                (eta**2 * (G_sq * LEFT / (20 * k) + 6 * r * L * Gamma + sigma_sq), ONE),
                note="Theorem 1 with r = min(rho_bar, 8(gamma - 1)/3), with which eta mu r < 8/3",
            ),
        ),
        abbreviations=ABBREVIATED,
        conditions=(FOUR, CURVATURES, CAPPED, WHOLE),
    ),
)
