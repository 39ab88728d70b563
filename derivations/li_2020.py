"""Li et al., ICLR 2020, full participation: the one-step inequality and the drift (their Lemmas 1 to 3)."""

import sympy as sp

from fedbounds.evidence.symbolic.algebra import Centre, Inner, Mean, Slack, norm_sq
from fedbounds.evidence.symbolic.derivation import (
    Condition,
    Convex,
    Derivation,
    Earlier,
    Premise,
    Square,
    averaged,
    step,
)
from fedbounds.theory.symbols import Delta, Delta_next, G_sq, Gamma, L, drift, eta, mu, sigma_p_sq, tau

from ._setting import (
    E_W,
    F_MIN,
    F_STAR,
    F_W,
    F_X,
    GRAD,
    GRAD_W,
    HERE,
    LOCAL,
    MODEL,
    NOISE,
    ONE,
    OPTIMUM,
    W_NEXT,
    W_STAR,
    G,
    P,
    W,
    X,
    client_gap,
    optimal,
)
from .lemma_2 import ETA_S, G_S, MOMENT, ROUND, START, WORDS, U, left, n

S = U.args[1]
quarter, kept = sp.Symbol("quarter", nonnegative=True), Slack(sp.Symbol("kept"), S)
QUARTER = Condition("quarter-steps", quarter, 1 - 4 * eta * L, "eta_t <= 1/(4L)")
HALVING = Condition("halving", kept, 2 * eta - ETA_S, "eta_s <= 2 eta_t for the earlier steps s of the round")
MOVES = {W: Centre(P, X), drift: Mean(P, norm_sq(W - X))}
STEP_MEANING = {
    **MOVES,
    W_NEXT: W - eta * Centre(P, G),
    Delta: norm_sq(W - W_STAR),
    Delta_next: norm_sq(W_NEXT - W_STAR),
    Gamma: Mean(P, F_STAR - F_MIN),
}
V, AWAY, TO_STAR = Centre(P, GRAD), Mean(P, norm_sq(X - W_STAR)), Mean(P, F_X - F_STAR)
VARIANCE = eta**2 * sigma_p_sq
SPREAD = Premise(
    "bounded-variance", sigma_p_sq - norm_sq(Centre(P, NOISE)), "E||sum p_i noise_i||^2 <= sum p_i^2 sigma_i^2"
)
END, ABOVE = client_gap("F_w_below", HERE)
END_LOCAL, ABOVE_LOCAL = client_gap("F_x_below", LOCAL)
TWICE, ONCE = 1 + quarter, (3 + quarter) / 4
SETTING = {
    **MODEL,
    "unbiased": "alpha = p at every round",
    "minimum": "F_i* is the minimum of F_i over R^d",
    "optimum": "w* minimises F = sum_i p_i F_i",
    "round": "w_t^i = w_0 - sum_s eta_s g_i(w_s^i) over the n <= tau - 1 steps s of the round before t",
    "independent-clients": "the clients' noises are independent, so that variances of p_i noise_i add up",
}

ONE_STEP = (
    step("lemma-1-local", norm_sq(GRAD), "<=", 2 * L * (F_X - F_MIN), (2 * L, END_LOCAL), (2 * L, ABOVE_LOCAL)),
    step("lemma-1-here", norm_sq(GRAD_W), "<=", 2 * L * E_W, (2 * L, END), (2 * L, ABOVE)),
    step(
        "expand",
        Delta_next,
        "=",
        Delta - 2 * eta * Inner(W - W_STAR, V) + eta**2 * norm_sq(V) + eta**2 * norm_sq(Centre(P, NOISE)),
        note="unbiased gradients",
    ),
    step(
        "variance", eta**2 * norm_sq(Centre(P, NOISE)), "<=", VARIANCE, (eta**2, SPREAD), note="Lemma 2 of Li et al."
    ),
    step(
        "gradients",
        -2 * eta * Inner(W - W_STAR, V) + eta**2 * norm_sq(V),
        "<=",
        drift + 4 * L * eta**2 * Mean(P, F_X - F_MIN) - 2 * eta * TO_STAR - eta * mu * AWAY,
        averaged(P, Square(W - X + eta * GRAD, "Cauchy-Schwarz and Young: a square")),
        (2 * eta**2, averaged(P, Earlier("lemma-1-local"))),
        (eta**2, averaged(P, Square(GRAD - V, "Jensen: a variance"))),
        (2 * eta, averaged(P, Convex(LOCAL, OPTIMUM, "mu-convexity from w_t^i to w*"))),
    ),
    step(
        "growth",
        0,
        "<=",
        Mean(P, F_W - F_STAR),
        averaged(P, Convex(OPTIMUM, HERE)),
        (mu / 2 * Delta, ONE),
        optimal(W - W_STAR),
    ),
    step(
        "client",
        F_X - F_W,
        ">=",
        -eta * L * E_W - norm_sq(X - W) / (2 * eta),
        Convex(HERE, LOCAL, "mu-convexity from w_t to w_t^i"),
        (mu / 2, Square(X - W, "a squared norm")),
        (1 / (2 * eta), Square(eta * GRAD_W + X - W, "Young: a square")),
        (eta / 2, Earlier("lemma-1-here")),
    ),
    step(
        "conclude",
        Delta_next,
        "<=",
        (1 - eta * mu) * Delta + VARIANCE + 6 * L * eta**2 * Gamma + 2 * drift,
        Earlier("variance"),
        Earlier("gradients"),
        (eta * mu, averaged(P, Square(W - X, "the drift is non-negative"))),
        (eta * TWICE, averaged(P, Earlier("client"))),
        (eta * TWICE * ONCE, Earlier("growth")),
        (2 * L * eta * drift, ONE),
        (4 * L**2 * eta**3 * Gamma, ONE),
        note="Lemma 1 of Li et al., with the identity expand",
    ),
)
DRIFT = (
    step(
        "variance",
        drift,
        "<=",
        Mean(P, norm_sq(X - START)),
        Square(W - START, "a variance is at most a second moment about any point"),
    ),
    step(
        "jensen",
        norm_sq(X - START),
        "<=",
        n**2 * Mean(U, ETA_S**2 * norm_sq(G_S)),
        (n**2, averaged(U, Square(ETA_S * G_S - Centre(U, ETA_S * G_S), "Jensen: a variance over the steps"))),
    ),
    step(
        "halving",
        Mean(U, ETA_S**2 * norm_sq(G_S)),
        "<=",
        4 * eta**2 * G_sq,
        averaged(U, (kept * (2 * eta + ETA_S), Square(G_S, "a squared norm")), (4 * eta**2, MOMENT)),
    ),
    step("count", n**2, "<=", (tau - 1) ** 2, (left * (left + 2 * n), ONE)),
    step(
        "conclude",
        drift,
        "<=",
        4 * eta**2 * (tau - 1) ** 2 * G_sq,
        Earlier("variance"),
        averaged(P, Earlier("jensen"), (n**2, Earlier("halving"))),
        (4 * eta**2 * G_sq, Earlier("count")),
        note="Lemma 3 of Li et al.",
    ),
)
DERIVATIONS = (
    Derivation(
        key="li-one-step",
        title="One step of FedAvg (Li et al., Lemmas 1 and 2)",
        steps=ONE_STEP,
        meaning=STEP_MEANING,
        conditions=(QUARTER,),
        setting=SETTING,
        notation=WORDS,
    ),
    Derivation(
        key="li-drift",
        title="Drift of the local models (Li et al., Lemma 3)",
        steps=DRIFT,
        meaning={X: START - n * Centre(U, ETA_S * G_S), **MOVES},
        conditions=(ROUND, HALVING),
        setting=SETTING,
        notation=WORDS,
    ),
)
