"""The paper's own proof of Theorem 1: the terms A_1 to A_5 with every constant, under eta_t <= 1/(4L)."""

import sympy as sp

from fedbounds.theory import assumptions as a

from ._setting import *
from .li_2020 import ONCE, QUARTER, TWICE, quarter

CLAIM = claim("theorem-1")

V, V_NOISY = Centre(ALPHA, GRAD), Centre(ALPHA, G)
A_1 = -2 * eta * Inner(W - W_STAR, V)
A_2 = 2 * eta * Inner(W - W_STAR - eta * V, V - V_NOISY)
A_3 = norm_sq(eta * V)
A_4 = eta**2 * norm_sq(V - V_NOISY)
LOCAL_GAP = Mean(ALPHA, E_X)
TO_STAR = Mean(ALPHA, F_X - F_STAR)
A_5 = 4 * L * eta**2 * LOCAL_GAP - 2 * eta * TO_STAR
DRIFT_BOUND = eta**2 * tau**2 * G_sq
STEPS = (
    QUARTER,
    step("split", Delta_next, "=", Delta + A_1 + A_2 + A_3 + A_4).by(
        note="definition of w_{t+1}, add and subtract, develop the square"
    ),
    step("A2", A_2, "=", 0).by(note="unbiased gradients, for weights that do not see the step's noise"),
    lemma_1("lemma-1-local", X),
    lemma_1("lemma-1-here", W),
    step(
        "A1-young", A_1, "<=", drift + 2 * L * eta**2 * LOCAL_GAP - 2 * eta * Mean(ALPHA, Inner(X - W_STAR, GRAD))
    ).by(
        averaged(ALPHA, Square(W - X + eta * GRAD, "Cauchy-Schwarz and Young: a square")),
        (eta**2, averaged(ALPHA, Earlier("lemma-1-local"))),
    ),
    step("A1", A_1, "<=", drift + 2 * L * eta**2 * LOCAL_GAP - 2 * eta * TO_STAR - eta * mu * SPREAD).by(
        Earlier("A1-young"),
        (2 * eta, averaged(ALPHA, convex(X, W_STAR, "mu-convexity from w_t^i to w*"))),
        paper=Display(
            -2 * eta * TO_STAR - eta * mu * SPREAD,
            drift + 2 * L * eta**2 * LOCAL_GAP,
            "it drops the drift and 2 L eta^2 sum alpha_i (F_i(w_t^i) - F_i*); the paper's next line has both",
        ),
    ),
    step(
        "A1-drift", A_1, "<=", 16 * DRIFT_BOUND - eta * mu * SPREAD + 2 * L * eta**2 * LOCAL_GAP - 2 * eta * TO_STAR
    ).by(
        Earlier("A1"),
        Cited("lemma-2"),
        paper=Display(
            DRIFT_BOUND - eta * mu * SPREAD + 2 * L * eta**2 * LOCAL_GAP - 2 * eta * TO_STAR,
            15 * DRIFT_BOUND,
            "Lemma 2 gives 16 eta^2 E^2 G^2, not eta^2 E^2 G^2; the lines after have 16",
        ),
    ),
    step("A3", A_3, "<=", 2 * L * eta**2 * LOCAL_GAP).by(
        (eta**2, variance(ALPHA, GRAD)), (eta**2, averaged(ALPHA, Earlier("lemma-1-local")))
    ),
    step("A4", A_4, "<=", eta**2 * sigma_sq).by(
        (eta**2, variance(ALPHA, NOISE)), (eta**2, averaged(ALPHA, VARIANCE))
    ),
    SPREADS,
    step("sum", Delta_next, "<=", (1 - eta * mu) * Delta + 16 * DRIFT_BOUND + eta**2 * sigma_sq + A_5).by(
        Earlier("A1-drift"),
        Earlier("A3"),
        Earlier("A4"),
        (eta * mu, averaged(ALPHA, Square(W - X, "the drift is non-negative"))),
    ),
    step("A5-client", E_X, ">=", (1 - eta * L) * E_W - norm_sq(X - W) / (2 * eta)).by(
        convex(W, X, "mu-convexity from w_t to w_t^i"),
        (mu / 2, Square(X - W, "a squared norm")),
        (1 / (2 * eta), Square(eta * GRAD_W + X - W, "Young: a square")),
        (eta / 2, Earlier("lemma-1-here")),
    ),
    skewed("growth")[0],
    step(
        "A5",
        A_5,
        "<=",
        eta**2 * (16 * tau**2 * G_sq + 6 * rho_bar * L * Gamma)
        - sp.Rational(3, 8) * eta * mu * rho_bar * Delta
        + 2 * eta * Gamma * (rho_tilde - rho_bar),
    ).by(
        (eta * TWICE, averaged(ALPHA, Earlier("A5-client"))),
        (2 * eta, RHO_TILDE),
        (eta * TWICE * ONCE, RHO_BAR),
        (eta * TWICE * ONCE * rho_bar, Earlier("growth")),
        (TWICE / 2, Cited("lemma-2")),
        (32 * L * eta**3 * tau**2 * G_sq, ONE),
        (eta * mu * rho_bar * (4 * quarter + quarter**2) / 8 * Delta, ONE),
        (4 * eta**3 * L**2 * rho_bar * Gamma, ONE),
        note="2 eta (1 - 2 L eta) >= eta and 1 - L eta >= 3/4 need eta <= 1/(4L)",
    ),
    conclude(CLAIM).by(Earlier("sum"), Earlier("A5")),
)
DERIVATIONS = (
    Derivation(
        key="theorem-1-appendix",
        title="One-step inequality, the paper's own proof, under eta_t <= 1/(4L)",
        claim="theorem-1",
        steps=STEPS,
        assumes=(a.quarter_steps,),
        conditions=(Condition(quarter, Earlier("quarter")),),
        findings=(
            "A_1's second display drops two terms and its third writes 1 for 16.",
            "A_2 has mean zero only where the weights do not see the step's noise.",
            "A_5 needs eta_t <= 1/(4L), which the theorem does not state, and rho_bar <= rho(t, w_t) at that t.",
        ),
    ),
)
