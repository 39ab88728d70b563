"""The corollary with capped skews, its case Gamma = 0, and the error term's sign."""

import sympy as sp

from ._recursion import *
from .theorem_1 import HOMOGENEOUS, LEMMA_2

CLAIM, FREE, MINIMISER = claim("corollary"), claim("error-free"), claim("error-minimiser")
CAP = sp.Rational(8, 3) * (gamma - 1)
B = 1 + sp.Rational(3, 8) * r
C = 32 * tau**2 * G_sq + 6 * r * L * Gamma + sigma_sq
D = 2 * Gamma * (R - r)
V = gamma * Delta_0 + C / (mu**2 * (B - 1))
CAPS = capped(CAP, (8, ONE), (sp.Rational(8, 3) * above_four, ONE))

ABBREVIATED = {r: sp.Min(rho_bar, CAP), R: sp.Max(rho_tilde, r)}


def recursive(of: Claim, *why: Written, note: str) -> tuple[Step, ...]:
    """Theorem 1 with the capped r and R, because of ``why``; and the corollary ``of`` that follows by induction."""
    return (
        step("recursion", Delta_next, "<=", (1 - eta * mu * B) * Delta + eta**2 * C + eta * D).by(*why, note=note),
        *summed(
            V,
            B - 1,
            ((C / (mu**2 * (B - 1) * gamma), ONE),),
            (
                # 1 - B/(t + gamma) >= 0 since B <= gamma: the condition the paper misses.
                ((t + sp.Rational(3, 8) * below_cap) / k, HYPOTHESIS),
                ((B - 1) * gamma * Delta_0 / k**2, ONE),
                (2 * Gamma / (mu * (B - 1) * k), OVER_R),
            ),
        ),
        conclude(of).by(*BOTH),
    )


STEPS = (
    *CAPS,
    QUARTER,
    step("small-steps", 0, "<=", 1 - eta * L).by(Earlier("small")),
    step("lemma-2", LEMMA_2.relation.lhs, "<=", LEMMA_2.relation.rhs).by(Cited("lemma-2-schedule")),
    *recursive(
        CLAIM,
        Cited("theorem-1-from-lemma-2", {"small-steps": "small-steps", "lemma-2": "lemma-2"}),
        (sp.Rational(3, 8) * eta * mu * Delta, UNDER_RHO),
        # 2 eta (1 - 3 eta L): the smaller r costs 6 eta^2 L Gamma and gains 2 eta Gamma a unit.
        (2 * eta * Gamma * (4 * t + gamma) / (4 * k), UNDER_RHO),
        (2 * eta * Gamma, OVER_TILDE),
        note="Theorem 1 with r = min(rho_bar, 8(gamma-1)/3) for rho_bar and R = max(rho_tilde, r) for rho_tilde",
    ),
)
DERIVATIONS = (
    proof(
        CLAIM,
        "Convergence bound, rho_bar capped at 8(gamma - 1)/3 and rho_tilde at least rho_bar",
        steps=STEPS,
        findings=(
            "eta_t = 1/(mu(t + gamma)) makes slow-decay superfluous (derivation lemma-2-schedule).",
            "B <= gamma and D >= 0 are needed, and not in the paper.",
        ),
        abbreviations=ABBREVIATED,
        conditions=(FOUR, CAPPED),
    ),
    proof(
        FREE,
        "Convergence bound without heterogeneity",
        steps=(
            *CAPS,
            conclude(FREE).by(
                Cited("corollary"),
                (8 * L**2 / (mu**2 * (T + gamma)) + 8 * L / (3 * mu) * (R / r - 1), HOMOGENEOUS),
                note="Gamma = 0 removes both terms in Gamma",
            ),
        ),
        abbreviations=ABBREVIATED,
        conditions=(FOUR,),
    ),
    proof(
        MINIMISER,
        "The error term is non-negative once rho_tilde is at least rho_bar",
        steps=(
            RHO_POSITIVE,
            conclude(MINIMISER).by(
                (8 * L * Gamma / (3 * mu * rho_bar), Extreme(R, rho_bar)),
                note="zero at alpha = p, where rho_bar = rho_tilde = 1",
            ),
        ),
        abbreviations={R: sp.Max(rho_tilde, rho_bar)},
        findings=("Without rho_tilde >= rho_bar the error term is negative exactly where rho_tilde < rho_bar.",),
    ),
)
