"""A one-step inequality whose noise may grow with the gradient: neither Assumption 3 nor Assumption 4.

The proof stands in `derivations/proofs/growth.md`.
"""

import sympy as sp

from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption, Part, RunLike
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import *

SHARE = 2 * eta * L * (1 + growth)


def _growing_variance(run: RunLike) -> tuple[bool, str]:
    s, c = run.constant("sigma_0_sq"), run.constant("growth")
    holds = s.value + c.value < float("inf")
    return holds, f"sigma_0^2 = {s.value:.4g} and c = {c.value:.4g} ({c.provenance})"


growing_variance = Assumption(
    "growing-variance",
    "E||g_i - grad F_i||^2 <= sigma_0^2 + c ||grad F_i||^2",
    on_run=_growing_variance,
    exactly=lambda instance, constants: (True, "the noise of an instance is within its sigma_0^2 and c"),
    gives=lambda o, x: Part(o.norm_sq(o.noise(x)), "<=", sigma_0_sq + growth * o.norm_sq(o.gradient(x))),
)
steps_below_growth = Assumption(
    "eta-below-growth", "2 eta_t L (1 + c) <= 1", sp.Le(SHARE, 1), observed="max_t 2 eta_t L (1 + c) = {left:.4g}"
)

GROWTH_STEP = Claim(
    key="growth-step",
    title="One-step inequality with growing variance",
    source="This package (fedbounds.claims.growing_variance)",
    scope="step",
    lhs=Delta_next,
    terms={
        "contraction": (1 - eta * mu * (1 + (1 - SHARE) * rho_bar)) * Delta,
        "drift": eta * (L * (1 + SHARE) - mu) * drift,
        "heterogeneity": 2 * eta * SHARE * Gamma * rho_tilde,
        "variance": eta**2 * sigma_0_sq,
        "bias": 2 * eta * (1 - SHARE) * Gamma * (rho_tilde - rho_bar),
    },
    assumptions=(
        a.smooth,
        a.strongly_convex,
        a.full_participation,
        growing_variance,
        steps_below_growth,
    ),
    readings=("repaired",),
    remark="The price of the growth is the step size: eta_t <= 1/(2 L (1 + c)).",
)
CLAIMS = (GROWTH_STEP,)
