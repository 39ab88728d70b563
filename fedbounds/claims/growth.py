"""A one-step inequality whose noise may grow with the gradient: neither Assumption 3 nor Assumption 4.

Suppose E||g_i - grad F_i||^2 <= sigma_0^2 + c ||grad F_i||^2 on R^d, as for minibatches of least squares, where no
sigma^2 and no G^2 exist. The noises of the clients are independent, so with Lemma 1 at the local models

    eta^2 E||sum_i alpha_i g_i||^2 <= eta x sum_i alpha_i e_i(w_t^i) + eta^2 sigma_0^2,        x = 2 eta L (1 + c).

A share x of <grad F_i(w_t^i), w_t - w*> pays for that: by strong convexity to w* and Young's inequality it is at
least e_i(w_t^i)/2 - e_i(w*) - L ||w_t - w_t^i||^2 + (mu/2) ||w_t^i - w*||^2. The share 1 - x >= 0 goes as in the
sharper step. With tau = 1 there is no drift, and nothing but L, mu, c and sigma_0^2 enters.
"""

from fedbounds.evidence.constants import Run, with_growth
from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Assumption, Claim
from fedbounds.theory.symbols import (
    Delta,
    Delta_next,
    Gamma,
    L,
    drift,
    eta,
    growth,
    mu,
    rho_bar,
    rho_tilde,
    sigma_0_sq,
)

SHARE = 2 * eta * L * (1 + growth)


def _growing_variance(run: Run) -> tuple[bool, str]:
    known = with_growth(run)
    s, c = known["sigma_0_sq"].value, known["growth"].value
    return s + c < float("inf"), f"sigma_0^2 = {s:.4g} and c = {c:.4g} ({known['growth'].provenance})"


def _share(run: Run) -> tuple[bool, str]:
    c = with_growth(run)["growth"].value
    share = 2 * float(run.trajectory.eta.max()) * run.constants["L"].value * (1 + c)
    return share <= 1 + a.EQUAL_WEIGHTS, f"max_t 2 eta_t L (1 + c) = {share:.4g}"


GROWTH_STEP = Claim(
    key="growth-step",
    title="One-step inequality with growing variance",
    source="This package (fedbounds.claims.growth)",
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
        Assumption("growing-variance", "E||g_i - grad F_i||^2 <= sigma_0^2 + c ||grad F_i||^2", _growing_variance),
        Assumption("eta-below-growth", "2 eta_t L (1 + c) <= 1", _share),
    ),
    readings=("repaired",),
    remark="The price of the growth is the step size: eta_t <= 1/(2 L (1 + c)).",
)
CLAIMS = (GROWTH_STEP,)
