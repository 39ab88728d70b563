"""Lemma 2 with the constant that its steps give, and what follows: a corollary, and one for the mean of the iterates.

The proofs stand in `derivations/proofs/tight.md` and `derivations/proofs/averaged.md`.
"""

from dataclasses import replace

import sympy as sp

from fedbounds.claims.corollary import ETA, GAMMA
from fedbounds.claims.steps_without_gradient_bound import CONDITIONS, REPAIR, SKEWED, summed
from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import *
from fedbounds.theory.symbols import average_gap, eta_sum, gone_sq, parting

MOVED = (a.bounded_gradient, a.full_participation)
SOURCE = "This package (derivation {})"
# The largest eta_s/eta_t of a round on the corollary's steps.
LARGEST = 1 + (tau - 1) / gamma

ANY_STEPS = Claim(
    key="drift-any-steps",
    title="Discrepancy of the local models, whatever the steps",
    source=SOURCE.format("drift-any-steps"),
    scope="step",
    lhs=drift,
    terms={"drift": eta_ratio**2 * eta**2 * (tau - 1) ** 2 * G_sq},
    assumptions=MOVED,
    readings=("repaired",),
    remark="At a constant step it is (tau - 1)^2 eta^2 G^2 where Lemma 2 has 16 tau^2 eta^2 G^2.",
)
ON_SCHEDULE = Claim(
    key="drift-on-schedule",
    title="Discrepancy of the local models on the corollary's steps",
    source=SOURCE.format("drift-on-schedule"),
    scope="step",
    lhs=drift,
    terms={"drift": LARGEST**2 * eta**2 * (tau - 1) ** 2 * G_sq},
    assumptions=MOVED,
    definitions=GAMMA,
    eta=ETA,
    readings=("repaired",),
    remark="Where tau - 1 <= gamma its constant is between 1 and 4, in place of 16.",
)
FULL = Claim(
    key="drift-full",
    title="Discrepancy of the local models, full gradients: exactly",
    source="This package (proof in derivations/proofs/tight.md)",
    scope="step",
    lhs=drift,
    terms={"drift": parting * gone_sq * G_sq / mu**2},
    assumptions=(a.smooth, a.strongly_convex, *MOVED, a.full_gradients, a.steps_up_to_2_over_L_plus_mu),
    readings=("repaired",),
    remark="Whatever the weights and the steps, clients of curvature mu attain it in the first round. Of the proof "
    "one step is checked by machine (derivation drift-full-step), not the product of the steps nor the ball. False "
    "with noise.",
)
# By which a round's way exceeds that of its last step taken each time, with noise.
LONGER = 1 + sp.Min(tau - 1, 2) / gamma
NOISY = Claim(
    key="drift-noise",
    title="Discrepancy of the local models on the corollary's steps, with noise",
    source="This package (proof in derivations/proofs/tight.md)",
    scope="step",
    lhs=drift,
    terms={"drift": LONGER**2 * eta**2 * (tau - 1) ** 2 * G_sq},
    assumptions=(a.smooth, a.strongly_convex, *MOVED),
    definitions=GAMMA,
    eta=ETA,
    readings=("repaired",),
    remark="Whatever tau, its constant is at most 9/4 in place of 16, and tends to 1 as L/mu grows. Of the proof the "
    "induction's base and step are checked by machine (derivation drift-noise-step).",
)
TIGHT_COROLLARY = Claim(
    key="tight-corollary",
    title="Convergence bound with the drift of its own steps",
    source=SOURCE.format("tight-corollary"),
    scope="horizon",
    lhs=gap,
    terms=summed(LARGEST**2 / 4),
    assumptions=(*CONDITIONS, a.bounded_gradient, a.positive_rho_bar),
    definitions=GAMMA,
    eta=ETA,
    readings=("repaired",),
    repair=REPAIR,
    remark="star-corollary has 4 (tau - 1)^2 G^2 for the drift, and asks that steps decay slowly.",
)
NOISY_COROLLARY = replace(
    TIGHT_COROLLARY,
    key="noise-corollary",
    title="Convergence bound with drift of the least constant known",
    terms=summed(LONGER**2 / 4),
    remark="tight-corollary with drift-noise for drift-on-schedule: at tau > 2 its drift is ((tau - 1 + gamma)/(2 + "
    "gamma))^2 times smaller. All but drift-noise is checked by machine.",
)
# Sums over t < T, each over rho_bar: of 1/(t + gamma)^2 it is 1/(gamma - 1) at most.
AVERAGED_TERMS = {
    "start": mu * gamma * Delta_0 / (2 * rho_bar),
    "drift": LARGEST**2 * (tau - 1) ** 2 * G_sq / (8 * mu * rho_bar),
    "variance": (eta_sum + 1 / (mu * (gamma - 1))) * sigma_sq / (2 * rho_bar),
    "heterogeneity": eta_sum * sp.Rational(4, 3) * L * Gamma * SKEWED / rho_bar,
    "error": T * Gamma * (rho_tilde / rho_bar - 1),
}
AVERAGED = Claim(
    key="averaged-corollary",
    title="Convergence bound for the mean of the iterates",
    source="This package (derivation averaged-corollary)",
    scope="horizon",
    lhs=T * average_gap,
    terms=AVERAGED_TERMS,
    assumptions=(*CONDITIONS, a.bounded_gradient, a.positive_rho_bar),
    definitions=GAMMA,
    eta=ETA,
    readings=("repaired",),
    remark="Divided by T: an error term 3 mu/(8 L) of the paper's, with no cap on rho_bar; what vanishes does so "
    "as log T/T. Its proof bounds the sum of the gaps too, and there the error term is attained.",
)
CLAIMS = (ANY_STEPS, ON_SCHEDULE, FULL, NOISY, TIGHT_COROLLARY, NOISY_COROLLARY, AVERAGED)
