"""Biased client selection: Cho, Wang and Joshi, 2020, the bound the paper extends, and one at a constant step.

The proof of the latter stands in `derivations/proofs/cho2020.md`.
"""

import sympy as sp

from fedbounds.claims.corollary import ETA, GAMMA, SPEED, per_step
from fedbounds.claims.steps_without_gradient_bound import CONDITIONS, STAR_STEP
from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim, Role
from fedbounds.theory.symbols import *

CHO_2020 = Claim(
    key="cho-2020",
    title="Biased client selection",
    source="Cho, Wang and Joshi, Client selection in federated learning, 2020, Theorem 3.1",
    scope="horizon",
    lhs=gap,
    terms={
        **per_step(
            {
                "noise": 4 * L * (32 * tau**2 * G_sq + sigma_sq / m) / (3 * mu**2 * rho_pairs),
                "heterogeneity": SPEED["heterogeneity"],
                "start": SPEED["start"],
            }
        ),
        "error": 8 * L * Gamma / (3 * mu) * (rho_tilde / rho_pairs - 1),
    },
    assumptions=(*a.PAPER, a.full_participation, a.equal_selection, a.positive_rho_pairs),
    definitions=GAMMA,
    eta=ETA,
    readings=("literal",),
    remark="Its rho_bar is the smallest skew over all pairs of (selecting point, evaluated point); over R^d it is 0 "
    "for a deterministic selection of one client, so the pairs visited by the run are used.",
    roles=(Role.PICTURED,),
    short="Cho et al. 2020",
)
# The skew that the contraction may use: beyond it 1 - eta mu rho_bar would be negative.
CAPPED = sp.Min(rho_bar, 1 / (eta * mu))
STEP = Claim(
    key="cho-2020-step",
    title="One step under biased weights",
    source="This package (derivation cho-2020-step), after Cho, Wang and Joshi, 2020",
    scope="step",
    lhs=Delta_next,
    terms={
        **STAR_STEP.terms,
        "contraction": (1 - eta * mu) * (1 - eta * mu * CAPPED) * Delta,
        "drift": STAR_STEP.terms["drift"].subs(drift, (eta_ratio * eta * (tau - 1)) ** 2 * G_sq),
        "bias": STAR_STEP.terms["bias"].subs(rho_bar, CAPPED),
    },
    assumptions=(*CONDITIONS, a.bounded_gradient, a.steps_below_inverse_L),
    readings=("repaired",),
    remark="star-step with the drift of its own steps, and rho_bar capped so that the contraction is not negative.",
)
AT = {eta: eta_0, eta_ratio: 1}
FIXED = Claim(
    key="cho-2020-fixed",
    title="Biased weights at a constant step: linear convergence to a floor",
    source="This package (proof in derivations/proofs/cho2020.md), after Cho, Wang and Joshi, 2020",
    scope="horizon",
    lhs=Delta_T,
    terms={
        "start": kept**T * Delta_0,
        **{
            name: (1 - kept**T) / (1 - kept) * term.subs({**AT, CAPPED: skew})
            for name, term in STEP.terms.items()
            if name != "contraction"
        },
    },
    assumptions=STEP.assumptions,
    definitions={skew: CAPPED.subs(AT), kept: (STEP.terms["contraction"] / Delta).subs(AT)},
    eta=eta_0,
    readings=("repaired",),
    remark="Of the proof the step is checked by machine (derivation cho-2020-step), not the geometric sum over it.",
)
CLAIMS = (CHO_2020, STEP, FIXED)
