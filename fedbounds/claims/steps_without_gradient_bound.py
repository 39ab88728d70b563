"""A one-step inequality and a corollary with no G in the step: gradients matter at w* only.

The proof stands in `derivations/proofs/star.md`.
"""

import sympy as sp

from fedbounds.claims.corollary import ETA, GAMMA
from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim, Repair
from fedbounds.theory.symbols import *

CONDITIONS = (a.smooth, a.strongly_convex, a.bounded_variance, a.full_participation)
KEPT = 1 - eta * mu
SKEWED = (1 - pi_min) * (rho_tilde - pi_min)

STAR_STEP = Claim(
    key="star-step",
    title="One-step inequality without G",
    source="This package (derivation star-step)",
    scope="step",
    lhs=Delta_next,
    terms={
        "contraction": KEPT * (1 - eta * mu * rho_bar) * Delta,
        "drift": KEPT * eta * (L - mu) * drift,
        "heterogeneity": KEPT * eta**2 * 2 * L * Gamma * SKEWED / (1 - eta * L),
        "variance": eta**2 * sigma_sq,
        "bias": KEPT * 2 * eta * Gamma * (rho_tilde - rho_bar),
    },
    assumptions=(*CONDITIONS, a.steps_below_inverse_L),
    readings=("repaired",),
    remark="For alpha = p it is (1 - eta mu)^2 Delta plus drift and variance: with tau = 1 the exact rate of "
    "gradient descent.",
)

FEDAVG_STEP = Claim(
    key="fedavg-step",
    title="One-step inequality for FedAvg",
    source="This package (derivation fedavg-step)",
    scope="step",
    lhs=Delta_next,
    terms={
        "contraction": KEPT**2 * Delta,
        "drift": KEPT * eta * (L - mu) / 2 * drift,
        "variance": eta**2 * sigma_sq,
    },
    assumptions=(*CONDITIONS, a.unbiased, a.steps_up_to_2_over_L_plus_mu),
    readings=("repaired",),
    remark="Both constants are tight over the class: (1 - eta mu)^2 at tau = 1, and 1/2 of the drift.",
)

# rho_bar <= gamma keeps 1 - rho_bar/(t + gamma) non-negative in the summation.
CAPPED = sp.Min(rho_bar, gamma)
REPAIR = Repair(
    "rho_bar is capped at gamma and rho_tilde is at least rho_bar",
    (),
    {rho_bar: CAPPED, rho_tilde: sp.Max(rho_tilde, CAPPED)},
)


def summed(drifting: sp.Expr | int) -> dict[str, sp.Expr]:
    """The terms after T steps where the drift is at most 4 ``drifting`` eta_t^2 (tau - 1)^2 G^2."""
    noise = drifting * (tau - 1) ** 2 * G_sq + sp.Rational(8, 3) * L * Gamma * SKEWED + sp.Rational(4, 3) * sigma_sq
    return {
        "speed": L / 2 * sp.Max(gamma * Delta_0, noise / (mu**2 * rho_bar)) / (T + gamma),
        "error": L * Gamma / mu * (rho_tilde - rho_bar) / (1 + rho_bar),
    }


STAR_COROLLARY = Claim(
    key="star-corollary",
    title="Convergence bound with G in the drift only",
    source="This package (derivation star-corollary)",
    scope="horizon",
    lhs=gap,
    terms=summed(4),
    assumptions=(*CONDITIONS, a.bounded_gradient, a.positive_rho_bar, a.slow_decay),
    definitions=GAMMA,
    eta=ETA,
    readings=("repaired",),
    repair=REPAIR,
    remark="At tau = 1 nothing of G is left, and for alpha = p with full gradients nothing of Gamma.",
)
CLAIMS = (STAR_STEP, FEDAVG_STEP, STAR_COROLLARY)
