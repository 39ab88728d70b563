"""The one-step inequality for a variance that grows with the gradient: part of each inner product pays for it."""

import sympy as sp

from fedbounds.claims.growth import SHARE
from fedbounds.evidence.symbolic.algebra import Centre, Inner, Mean, norm_sq
from fedbounds.evidence.symbolic.derivation import (
    Condition,
    Convex,
    Derivation,
    Earlier,
    Premise,
    Smooth,
    Square,
    averaged,
    step,
)
from fedbounds.theory.symbols import Delta, Delta_next, L, drift, eta, growth, mu, sigma_0_sq

from ._setting import (
    ALPHA,
    E_STAR,
    F_MIN,
    F_STAR,
    F_W,
    F_X,
    GRAD,
    HERE,
    LOCAL,
    MEANING,
    MODEL,
    NOISE,
    NOTATION,
    OPTIMUM,
    RHO_TILDE,
    SKEWS,
    W_STAR,
    G,
    W,
    X,
    claim,
    client_gap,
    skewed,
)

CLAIM = claim("growth-step")
SPREAD = Mean(ALPHA, norm_sq(X - W_STAR))
rest = sp.Symbol("rest", nonnegative=True)
REST = Condition("eta-below-growth", rest, 1 - SHARE, "2 eta_t L (1 + c) <= 1")
GROWING = Premise(
    "growing-variance",
    sigma_0_sq + growth * norm_sq(GRAD) - norm_sq(NOISE),
    "E||noise||^2 <= sigma_0^2 + c ||grad F_i||^2",
)
END, ABOVE = client_gap("F_low", LOCAL)

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
    step(
        "noise",
        Mean(ALPHA, norm_sq(G)),
        "<=",
        sigma_0_sq + (1 + growth) * Mean(ALPHA, norm_sq(GRAD)),
        averaged(ALPHA, GROWING),
    ),
    step("gradient", norm_sq(GRAD), "<=", 2 * L * (F_X - F_MIN), (2 * L, END), (2 * L, ABOVE), note="Lemma 1"),
    step(
        "paying",
        Inner(GRAD, W - W_STAR),
        ">=",
        (F_X - F_MIN) / 2 - E_STAR - L * norm_sq(W - X) + mu / 2 * norm_sq(X - W_STAR),
        Convex(LOCAL, OPTIMUM, "mu-convexity of F_i from w_t^i to w*"),
        (1 / (4 * L), Square(GRAD + 2 * L * (W - X), "Young")),
        (1 / (4 * L), Earlier("gradient")),
        note="the share x = 2 eta L (1 + c) of the inner product, which pays for the second moment",
    ),
    step(
        "client",
        Inner(GRAD, W - W_STAR),
        ">=",
        F_W - F_STAR - L / 2 * norm_sq(W - X) + mu / 2 * norm_sq(X - W_STAR),
        Smooth(LOCAL, HERE, "L-smoothness of F_i from w_t^i to w_t"),
        Convex(LOCAL, OPTIMUM, "mu-convexity of F_i from w_t^i to w*"),
        note="the share 1 - x, as in the sharper step",
    ),
    step("spread", SPREAD, "=", Delta + drift, note="w_t is the alpha-weighted mean of the w_t^i"),
    *skewed("distance"),
    step(
        "conclude",
        CLAIM.lhs,
        "<=",
        CLAIM.rhs,
        (eta**2, Earlier("jensen")),
        (eta**2, Earlier("noise")),
        (eta**2 * (1 + growth), averaged(ALPHA, Earlier("gradient"))),
        (2 * eta * SHARE, averaged(ALPHA, Earlier("paying"))),
        (2 * eta * SHARE, RHO_TILDE),
        (2 * eta * rest, averaged(ALPHA, Earlier("client"))),
        (2 * eta * rest, Earlier("skew")),
        note="with the identities expand and spread",
    ),
)
DERIVATIONS = (
    Derivation(
        key="growth-step",
        title="One-step inequality for a variance that grows with the gradient",
        claim="growth-step",
        steps=STEPS,
        meaning=MEANING,
        conditions=(REST,),
        setting={**MODEL, **SKEWS},
        notation=NOTATION,
        findings=(
            "Neither Assumption 3 nor Assumption 4 is needed for one step: only sigma_0^2 and c, which exist on R^d.",
            "The price is the step size, eta_t <= 1/(2 L (1 + c)); with tau > 1 the drift still has to be bounded.",
        ),
    ),
)
