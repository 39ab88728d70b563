"""The mean of the iterates on the corollary's steps: an error term smaller than the paper's by a factor of kappa.

The proof stands in `derivations/proofs/averaged.md`.
"""

import sympy as sp

from fedbounds.claims.corollary import ETA, GAMMA
from fedbounds.claims.steps_without_gradient_bound import CONDITIONS, SKEWED
from fedbounds.claims.tighter_drift import LARGEST
from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import *
from fedbounds.theory.symbols import average_gap, eta_sum

# Sums over t < T, each over rho_bar: of 1/(t + gamma)^2 it is 1/(gamma - 1) at most.
TERMS = {
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
    terms=TERMS,
    assumptions=(*CONDITIONS, a.bounded_gradient, a.positive_rho_bar),
    definitions=GAMMA,
    eta=ETA,
    readings=("repaired",),
    remark="Divided by T: an error term 3 mu/(8 L) of the paper's, with no cap on rho_bar; what vanishes does so "
    "as log T/T. Its proof bounds the sum of the gaps too, and there the error term is attained.",
)
CLAIMS = (AVERAGED,)
