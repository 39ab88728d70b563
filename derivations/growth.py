"""The one-step inequality for a variance that grows with the gradient: part of each inner product pays for it."""

import sympy as sp

from fedbounds.claims.growing_variance import SHARE as PAID

from ._setting import *

CLAIM = claim("growth-step")
rest = sp.Symbol("rest", nonnegative=True)

STEPS = (
    EXPAND,
    JENSEN,
    step("noise", Mean(ALPHA, norm_sq(G)), "<=", sigma_0_sq + (1 + growth) * Mean(ALPHA, norm_sq(GRAD))).by(
        averaged(ALPHA, premise("growing-variance", X))
    ),
    lemma_1("gradient", X),
    step(
        "paying", Inner(GRAD, W - W_STAR), ">=", E_X / 2 - E_STAR - L * norm_sq(W - X) + mu / 2 * norm_sq(X - W_STAR)
    ).by(
        convex(X, W_STAR),
        (1 / (4 * L), Square(GRAD + 2 * L * (W - X), "Young")),
        (1 / (4 * L), Earlier("gradient")),
        note="the share x = 2 eta L (1 + c) of the inner product, which pays for the second moment",
    ),
    CLIENT,
    SPREADS,
    *skewed("distance"),
    conclude(CLAIM).by(
        (eta**2, Earlier("jensen")),
        (eta**2, Earlier("noise")),
        (eta**2 * (1 + growth), averaged(ALPHA, Earlier("gradient"))),
        (2 * eta * PAID, averaged(ALPHA, Earlier("paying"))),
        (2 * eta * PAID, RHO_TILDE),
        (2 * eta * rest, averaged(ALPHA, Earlier("client"))),
        (2 * eta * rest, Earlier("skew")),
        note="with the identities expand and spread",
    ),
)
DERIVATIONS = (
    proof(
        CLAIM,
        "One-step inequality for a variance that grows with the gradient",
        steps=STEPS,
        conditions=(Condition(rest, premise("eta-below-growth")),),
        findings=(
            "Neither Assumption 3 nor Assumption 4 is needed for one step: only sigma_0^2 and c, which exist on R^d.",
            "The price is the step size, eta_t <= 1/(2 L (1 + c)); with tau > 1 the drift still has to be bounded.",
        ),
    ),
)
