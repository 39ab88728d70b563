"""The sharper one-step inequality, for any step size: smoothness and strong convexity once each at w_t^i."""

from fedbounds.evidence.symbolic.atoms import Mean, norm_sq
from fedbounds.evidence.symbolic.derivation import Derivation, Earlier, averaged, step
from fedbounds.evidence.symbolic.setting import ALPHA, G
from fedbounds.theory.symbols import G_sq, eta

from ._setting import CLIENT, EXPAND, JENSEN, SECOND_MOMENT, SPREADS, claim, skewed

CLAIM = claim("sharper-step")

STEPS = (
    EXPAND,
    JENSEN,
    step("moment", Mean(ALPHA, norm_sq(G)), "<=", G_sq, averaged(ALPHA, SECOND_MOMENT)),
    CLIENT,
    SPREADS,
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
        findings=("No bound on the step size, no sigma^2 and no term 6 rho_bar L Gamma is needed.",),
    ),
)
