"""Li et al., ICLR 2020, full participation: the one-step inequality and the drift (their Lemmas 1 to 3)."""

import sympy as sp

from fedbounds.theory import assumptions as a

from ._setting import *
from .lemma_2 import INSIDE, decays, slow_steps

quarter = sp.Symbol("quarter", nonnegative=True)
V, NOISY = Centre(ALPHA, GRAD), Centre(ALPHA, NOISE)
TO_STAR = Mean(ALPHA, F_X - F_STAR)
VARIANCE = eta**2 * sigma_p_sq
TWICE, ONCE = 1 + quarter, (3 + quarter) / 4
QUARTER = step("quarter", 0, "<=", 1 - 4 * eta * L).by((4, premise("quarter-steps")))
FEDAVG = (a.full_participation, a.smooth, a.strongly_convex, a.unbiased)

ONE_STEP = (
    QUARTER,
    lemma_1("lemma-1-local", X),
    lemma_1("lemma-1-here", W),
    step(
        "expand",
        Delta_next,
        "=",
        Delta - 2 * eta * Inner(W - W_STAR, V) + eta**2 * norm_sq(V) + eta**2 * norm_sq(NOISY),
    ).by(note="unbiased gradients"),
    step("variance", norm_sq(NOISY), "<=", sigma_p_sq).by(
        (-1, premise("unbiased", Inner(NOISE, NOISY))),
        (-1, premise("unbiased", Inner(NOISE, Centre(P, NOISE)))),
        (-1, premise("independent-clients")),
        averaged(P, (SHARE, premise("client-variances"))),
        note="Lemma 2 of Li et al.: the variances of p_i noise_i add up",
    ),
    step(
        "gradients",
        -2 * eta * Inner(W - W_STAR, V) + eta**2 * norm_sq(V),
        "<=",
        drift + 4 * L * eta**2 * Mean(ALPHA, E_X) - 2 * eta * TO_STAR - eta * mu * SPREAD,
    ).by(
        averaged(ALPHA, Square(W - X + eta * GRAD, "Cauchy-Schwarz and Young: a square")),
        (2 * eta**2, averaged(ALPHA, Earlier("lemma-1-local"))),
        (eta**2, variance(ALPHA, GRAD)),
        (2 * eta, averaged(ALPHA, convex(X, W_STAR, "mu-convexity from w_t^i to w*"))),
    ),
    step("growth", 0, "<=", Mean(ALPHA, F_W - F_STAR)).by(
        averaged(P, convex(W_STAR, W)), (mu / 2 * Delta, ONE), optimal(W - W_STAR), premise("unbiased", F_W - F_STAR)
    ),
    step("heterogeneity", Mean(ALPHA, E_STAR), "=", Gamma).by(premise("unbiased", E_STAR)),
    step("client", F_X - F_W, ">=", -eta * L * E_W - norm_sq(X - W) / (2 * eta)).by(
        convex(W, X, "mu-convexity from w_t to w_t^i"),
        (mu / 2, Square(X - W, "a squared norm")),
        (1 / (2 * eta), Square(eta * GRAD_W + X - W, "Young: a square")),
        (eta / 2, Earlier("lemma-1-here")),
    ),
    step("conclude", Delta_next, "<=", (1 - eta * mu) * Delta + VARIANCE + 6 * L * eta**2 * Gamma + 2 * drift).by(
        (eta**2, Earlier("variance")),
        Earlier("gradients"),
        (eta * mu, averaged(ALPHA, Square(W - X, "the drift is non-negative"))),
        (eta * TWICE, averaged(ALPHA, Earlier("client"))),
        (eta * TWICE * ONCE, Earlier("growth")),
        (2 * L * eta * drift, ONE),
        (4 * L**2 * eta**3 * Gamma, ONE),
        (4 * L**2 * eta**3 - 6 * L * eta**2, Earlier("heterogeneity")),
        note="Lemma 1 of Li et al., with the identity expand",
    ),
)
DERIVATIONS = (
    Derivation(
        key="li-one-step",
        title="One step of FedAvg (Li et al., Lemmas 1 and 2)",
        steps=ONE_STEP,
        assumes=(*FEDAVG, a.bounded_variance, a.quarter_steps),
        conditions=(Condition(quarter, Earlier("quarter")),),
    ),
    Derivation(
        key="li-drift",
        title="Drift of the local models (Li et al., Lemma 3)",
        steps=slow_steps(2, INSIDE, (tau - 1) ** 2, "earlier steps are at most twice as large"),
        assumes=(a.full_participation, a.bounded_gradient, a.halving, a.unbiased),
        conditions=decays("halving"),
    ),
)
