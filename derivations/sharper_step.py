"""The sharper one-step inequality, for any step size: smoothness and strong convexity once each at w_t^i."""

from ._setting import *

CLAIM = claim("sharper-step")

MOMENT = step("moment", Mean(ALPHA, norm_sq(G)), "<=", G_sq).by(averaged(ALPHA, SECOND_MOMENT))
STEPS = (
    EXPAND,
    JENSEN,
    MOMENT,
    CLIENT,
    SPREADS,
    *skewed("growth"),
    conclude(CLAIM).by(
        (eta**2, Earlier("jensen")),
        (eta**2, Earlier("moment")),
        (2 * eta, averaged(ALPHA, Earlier("client"))),
        (2 * eta, Earlier("skew")),
        note="with the identities expand and spread",
    ),
)
DERIVATIONS = (
    proof(
        CLAIM,
        "Sharper one-step inequality, for any step size",
        steps=STEPS,
        findings=("No bound on the step size, no sigma^2 and no term 6 rho_bar L Gamma is needed.",),
    ),
)
