"""The corollary of the one-step inequality without G: the gradients' bound enters through the drift alone."""

import sympy as sp

from fedbounds.theory import assumptions as a

from ._recursion import *
from .lemma_2 import INSIDE, decays, slow_steps
from .star import REST, UNDER_ONE, rest

CLAIM = claim("star-corollary")
NOISE = (
    4 * (tau - 1) ** 2 * G_sq
    + sp.Rational(8, 3) * L * Gamma * (1 - pi_min) * (R - pi_min)
    + sp.Rational(4, 3) * sigma_sq
)
v = sp.Symbol("v", nonnegative=True)
FIRST, FLOOR = gamma * Delta_0, NOISE / (mu**2 * r)
# 1 - eta mu = (k - 1)/k with its sign on sight, k = t + gamma >= 4.
FRESH = (t + above_four + 3) / k
SPARED = FRESH * eta**2 * 8 * L * rest * t / (3 * (4 * t + 3 * gamma))

STEPS = (
    *capped(gamma, (gamma, ONE)),
    QUARTER,
    UNDER_ONE,
    step(
        "recursion",
        Delta_next,
        "<=",
        (1 - eta * mu) * ((1 - eta * mu * r) * Delta + eta**2 * NOISE + 2 * eta * Gamma * (R - r)),
    ).by(
        Cited("star-step", {"eta-below-1/L": "small"}),
        (FRESH * eta * ell, Cited("drift-inside")),
        (FRESH * (eta * mu * Delta + 2 * eta * Gamma), UNDER_RHO),
        (FRESH * (2 * eta * Gamma + sp.Rational(8, 3) * eta**2 * L * Gamma * rest), OVER_TILDE),
        (SPARED, RHO_TILDE),
        (SPARED, beyond(premise("minimum", W_STAR))),
        (FRESH * eta**2 * (tau - 1) ** 2 * G_sq * (4 * t / k + 16 * eta * mu), ONE),
        (eta**2 * sigma_sq * (t + above_four) / (3 * k), ONE),
        note="r = min(rho_bar, gamma), R = max(rho_tilde, r); eta L <= 1/4",
    ),
    *summed(
        v,
        1 + r,
        ((1 / gamma, Extreme(v, FIRST)),),
        (
            (FRESH * (t + below_cap) / k, HYPOTHESIS),
            (FRESH * r / k**2, Extreme(v, FLOOR)),
            (2 * Gamma / (mu * (1 + r) * k**2), OVER_R),
        ),
    ),
    conclude(CLAIM).by(*BOTH),
)
DERIVATIONS = (
    Derivation(
        key="drift-inside",
        title="Discrepancy of the local models at a step of the round: tau - 1 for tau",
        steps=slow_steps(4, INSIDE, (tau - 1) ** 2, ""),
        assumes=(a.full_participation, a.bounded_gradient, a.slow_decay),
        conditions=decays("slow-decay"),
    ),
    proof(
        CLAIM,
        "Convergence bound with G in the drift only",
        steps=STEPS,
        abbreviations={r: sp.Min(rho_bar, gamma), R: sp.Max(rho_tilde, r), v: sp.Max(FIRST, FLOOR)},
        conditions=(FOUR, CURVATURES, REST, CAPPED),
        notation=WORDS,
        findings=("At tau = 1 nothing of G is left; and for alpha = p with full gradients nothing of Gamma.",),
    ),
)
