"""A stronger one-step inequality and corollary than the paper's, valid for any step size.

Strong convexity at the local models and smoothness at the virtual iterate are used once each, so
neither a bound on eta nor the term 6 rho_bar L Gamma is needed.
"""

import sympy as sp

from fedbounds.claims.corollary import ETA, GAMMA
from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim, Repair, Role
from fedbounds.theory.symbols import *

SHARPER_STEP = Claim(
    key="sharper-step",
    title="Sharper one-step inequality",
    source="This package (derivation sharper-step)",
    scope="step",
    lhs=Delta_next,
    terms={
        "contraction": (1 - eta * mu * (1 + rho_bar)) * Delta,
        "gradient": eta**2 * G_sq,
        "drift": eta * (L - mu) * drift,
        "bias": 2 * eta * Gamma * (rho_tilde - rho_bar),
    },
    assumptions=(a.smooth, a.strongly_convex, a.bounded_gradient, a.full_participation),
    readings=("repaired",),
    roles=(Role.PICTURED, Role.YARDSTICK),
    short="sharper step",
)

# rho_bar <= gamma - 1 keeps 1 - (1 + rho_bar)/(t + gamma) non-negative in the summation.
CAPPED = sp.Min(rho_bar, gamma - 1)
SHARPER_COROLLARY = Claim(
    key="sharper-corollary",
    title="Sharper convergence bound",
    source="This package (derivation sharper-corollary)",
    scope="horizon",
    lhs=gap,
    terms={
        "speed": L / 2 * sp.Max(gamma * Delta_0, (1 + 4 * tau**2) * G_sq / (mu**2 * rho_bar)) / (T + gamma),
        "error": L * Gamma / mu * (rho_tilde - rho_bar) / (1 + rho_bar),
    },
    assumptions=(
        a.smooth,
        a.strongly_convex,
        a.bounded_gradient,
        a.full_participation,
        a.positive_rho_bar,
    ),
    definitions=GAMMA,
    eta=ETA,
    readings=("repaired",),
    repair=Repair(
        "rho_bar is capped at gamma - 1 and rho_tilde is at least rho_bar",
        (),
        {rho_bar: CAPPED, rho_tilde: sp.Max(rho_tilde, CAPPED)},
    ),
    roles=(Role.BOUND, Role.PICTURED),
    short="sharper corollary",
)
CLAIMS = (SHARPER_STEP, SHARPER_COROLLARY)
