"""The sharper one-step inequality, for any step size: smoothness and strong convexity once each at w_t^i."""

from fedbounds.evidence.symbolic.algebra import Centre, Inner, Mean, norm_sq
from fedbounds.evidence.symbolic.derivation import Convex, Derivation, Earlier, Smooth, Square, averaged, step
from fedbounds.theory.symbols import Delta, Delta_next, G_sq, L, drift, eta, mu

from ._setting import (
    ALPHA,
    F_STAR,
    F_W,
    GRAD,
    HERE,
    LOCAL,
    MEANING,
    MODEL,
    NOTATION,
    OPTIMUM,
    SECOND_MOMENT,
    SKEWS,
    W_STAR,
    G,
    W,
    X,
    claim,
    skewed,
)

CLAIM = claim("sharper-step")
SPREAD = Mean(ALPHA, norm_sq(X - W_STAR))

STEPS = (
    step(
        "expand",
        Delta_next,
        "=",
        Delta - 2 * eta * Mean(ALPHA, Inner(GRAD, W - W_STAR)) + eta**2 * norm_sq(Centre(ALPHA, G)),
        note="definition of the step; the noise has mean zero given the past",
    ),
    step(
        "jensen",
        norm_sq(Centre(ALPHA, G)),
        "<=",
        Mean(ALPHA, norm_sq(G)),
        averaged(ALPHA, Square(G - Centre(ALPHA, G), "Jensen: a variance")),
    ),
    step("moment", Mean(ALPHA, norm_sq(G)), "<=", G_sq, averaged(ALPHA, SECOND_MOMENT)),
    step(
        "client",
        Inner(GRAD, W - W_STAR),
        ">=",
        F_W - F_STAR - L / 2 * norm_sq(W - X) + mu / 2 * norm_sq(X - W_STAR),
        Smooth(LOCAL, HERE, "L-smoothness of F_i from w_t^i to w_t"),
        Convex(LOCAL, OPTIMUM, "mu-convexity of F_i from w_t^i to w*"),
    ),
    step("spread", SPREAD, "=", Delta + drift, note="w_t is the alpha-weighted mean of the w_t^i"),
    *skewed("growth"),
    step(
        "conclude",
        CLAIM.lhs,
        "<=",
        CLAIM.rhs,
        (eta**2, Earlier("jensen")),
        (eta**2, Earlier("moment")),
        (2 * eta, averaged(ALPHA, Earlier("client"))),
        (2 * eta, Earlier("skew")),
        note="with the identities expand and spread",
    ),
)
DERIVATIONS = (
    Derivation(
        key="sharper-step",
        title="Sharper one-step inequality, for any step size",
        claim="sharper-step",
        steps=STEPS,
        meaning=MEANING,
        setting={**MODEL, **SKEWS},
        notation=NOTATION,
        findings=("No bound on the step size, no sigma^2 and no term 6 rho_bar L Gamma is needed.",),
    ),
)
