"""The mean of the iterates on the corollary's steps: an error term smaller than the paper's by a factor of kappa.

A step of `star-step` bounds F(w_t) - F* from below by (mu/2) ||w_t - w*||^2. Kept as it is and divided by
2 eta_t (1 - eta_t mu), with k = t + gamma, eta_t = 1/(mu k) and k^2/(k - 1) >= k + 1, the step telescopes:

    rho_bar (F(w_t) - F*) + mu (k + 1)/2 Delta_{t+1} <= mu k/2 Delta_t + (L - mu)/2 drift
        + Gamma (rho_tilde - rho_bar) + eta_t [sigma^2 k/(k - 1)/2 + L Gamma (1 - pi)(rho_tilde - pi)/(1 - eta_t L)].

The drift and what k/(k - 1) exceeds 1 by sum to a constant, as 1/k^2 < 1/(k - 1) - 1/k; the rest is the sum of the
steps, at most (1/mu) log((T + gamma - 1/2)/(gamma - 1/2)). rho_bar needs no cap, and rho_tilde may be less.

The error term Gamma (rho_tilde/rho_bar - 1) is 3 mu/(8 L) of the paper's. The proof bounds more than T times the gap
of the mean: the sum of the gaps and mu (T + gamma) Delta_T/(2 rho_bar). For that the error term is attained at every
kappa: with constant weights, on clients of curvature mu whose weighted minimum is w_0, nothing moves, and the left
side is the start and T times the error. So is the factor 1/2 of sigma^2 to leading order, by one quadratic; F at the
mean of its iterates is smaller. As Delta_T >= (2/L) gap_T, the gap comes back for ever to below any number above
Gamma (rho_tilde - rho_bar)/(rho_bar + mu/L), and is at most that at a limit: equality at kappa = 1, approached but
never reached at any other.
"""

import sympy as sp

from fedbounds.claims.corollary import ETA, GAMMA
from fedbounds.claims.star import CONDITIONS, SKEWED
from fedbounds.claims.tight import LARGEST
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
