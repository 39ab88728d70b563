"""Gradient descent at a constant step below 2/L: the exact worst case of F(w_T) - F*.

FedAvg with one local step, full gradients and everybody taking part is gradient descent on F, for any weights p:
a certificate of T steps of a single client is one for all clients and weights.
"""

import sympy as sp

from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import *

KEPT = (1 - eta_0 * mu) ** (2 * T)
steps_below_2_L = Assumption("eta-below-2/L", "eta_t < 2/L", sp.Lt(eta * L, 2), observed="max_t eta_t L = {left:.4g}")
GRADIENT_DESCENT = Claim(
    key="gradient-descent",
    title="The exact rate of gradient descent at a constant step",
    source="arXiv 2412.04427 (A proof of exact convergence rate of gradient descent, part II)",
    scope="horizon",
    lhs=gap,
    terms={"start": L / 2 * sp.Max(KEPT / (KEPT + L / mu * (1 - KEPT)), (1 - eta_0 * L) ** (2 * T)) * Delta_0},
    assumptions=(
        a.smooth,
        a.strongly_convex,
        a.full_participation,
        a.unbiased,
        a.full_gradients,
        a.one_local_step,
        steps_below_2_L,
    ),
    eta=eta_0,
    readings=("literal",),
    remark="Attained by a quadratic, or by a function of curvature L near w* and mu beyond.",
)
CLAIMS = (GRADIENT_DESCENT,)
