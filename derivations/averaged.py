"""The mean of the iterates on the corollary's steps: a step that keeps F(w_t) telescopes over the whole run."""

import sympy as sp

from fedbounds.theory.symbols import eta_sum, gap_sum

from ._recursion import *
from .star import REST, UNDER_ONE, rest
from .star_corollary import LARGEST

AVERAGED = claim("averaged-corollary")
BEFORE, STEPS = definitions.GAPS, definitions.STEPS
DRIFT = LARGEST**2 * (tau - 1) ** 2 * G_sq
LINEAR = sigma_sq / 2 + sp.Rational(4, 3) * L * Gamma * (1 - pi_min) * (rho_tilde - pi_min)
# What is summed over 1/(t + gamma)^2, at most 1/(gamma - 1) - 1/(T + gamma - 1).
SQUARES = (L - mu) * DRIFT / (2 * mu**2) + sigma_sq / (2 * mu)
# What 1/(1 - eta L) <= 4/3 leaves of the heterogeneity.
SPARED = 4 * L * rest * t / (3 * mu * k * (4 * t + 3 * gamma))


def so_far(at: sp.Expr, steps: sp.Expr) -> sp.Expr:
    """The right side of the sum over the steps before a time."""
    squares = SQUARES * (1 / (gamma - 1) - 1 / (at + gamma - 1))
    return mu * gamma / 2 * Delta_0 + at * Gamma * (rho_tilde - rho_bar) + steps * LINEAR + squares


AFTER_START = step("after-0", gamma - 1, ">", 0).by((above_four + 3, ONE))
SUMMED = (
    FOUR_STEP,
    AFTER_START,
    RHO_POSITIVE,
    QUARTER,
    UNDER_ONE,
    *(step(f"after-{at}", at + gamma - 1, ">", 0).by((at + above_four + 3, ONE), note="gamma >= 4") for at in (t, T)),
    step("base", mu * gamma / 2 * Delta_0, "<=", so_far(sp.Integer(0), sp.Integer(0))),
    step(
        "carry",
        rho_bar * (BEFORE + gap_t) + mu * (k + 1) / 2 * Delta_next,
        "<=",
        so_far(t + 1, STEPS + eta),
    ).by(
        HYPOTHESIS,
        (mu / 2 * k**2 / (k - 1), Cited("star-descent", {"eta-below-1/L": "small"})),
        (mu / 2 * Delta_next / (k - 1), ONE),
        (ell / 2, Cited("drift-on-schedule")),
        (ell * DRIFT / (2 * mu**2 * k**2 * (k - 1)), ONE),
        (SPARED, RHO_TILDE),
        (SPARED, beyond(premise("minimum", W_STAR))),
        note="star-descent over 2 eta (1 - eta mu), with k^2/(k - 1) >= k + 1 for k = t + gamma",
    ),
    step("all", rho_bar * gap_sum + mu * (T + gamma) / 2 * Delta_T, "<=", so_far(T, eta_sum)).by(
        Induction("base", "carry")
    ),
    conclude(AVERAGED).by(
        premise("average"),
        (mu / 2 * (T + gamma) * Delta_T / rho_bar, ONE),
        (1 / rho_bar, Earlier("all")),
        (SQUARES.subs(L - mu, ell) / (rho_bar * (T + gamma - 1)), ONE),
        (3 * DRIFT / (8 * mu * (gamma - 1) * rho_bar), ONE),
        note="(L - mu)/(gamma - 1) <= mu/4",
    ),
)
DERIVATIONS = (
    proof(
        AVERAGED,
        "Convergence bound for the mean of the iterates",
        steps=SUMMED,
        conditions=(FOUR, CURVATURES, REST),
        findings=(
            "No cap on rho_bar, and rho_tilde may be below it: neither is multiplied by a step's contraction.",
            "The error term is 3 mu/(8 L) of the paper's, and in the step `all` attained at every kappa.",
        ),
    ),
)
