"""Theorem 1 under eta_t <= 1/L, from the sharper inequality and Lemma 2; and its case Gamma = 0."""

import sympy as sp

from fedbounds.theory import assumptions as a

from ._setting import *

CLAIM = claim("theorem-1")
FREE = claim("error-free-step")
spare = sp.Symbol("spare", nonnegative=True)
SMALL = Condition(spare, premise("small-steps"))
HOMOGENEOUS = premise("homogeneous")
LEMMA_2 = Assumption("lemma-2", "the bound of Lemma 2 on the drift", sp.Le(drift, 16 * eta**2 * tau**2 * G_sq))
SHARED = (a.full_participation, a.smooth, a.strongly_convex, a.bounded_gradient)

STEPS = (
    step("room", 16 * eta * (L - mu) * tau**2, "<=", 32 * tau**2 - 1).by(
        (16 * tau**2 * (spare + eta * mu), ONE),
        (15 * tau**2 + one_step * (tau + 1), ONE),
        note="true up to eta (L - mu) = 2 - 1/(16 tau^2)",
    ),
    conclude(CLAIM).by(
        Cited("sharper-step"),
        (eta * ell, premise("lemma-2")),
        (16 * eta**2 * G_sq * tau**2 * (spare + eta * mu), ONE),
        (eta**2 * G_sq * (15 * tau**2 + one_step * (tau + 1)), ONE),
        (sp.Rational(5, 8) * eta * mu * rho_bar * Delta, ONE),
        (6 * eta**2 * rho_bar * L * Gamma + eta**2 * sigma_sq, ONE),
    ),
)
DERIVATIONS = (
    Derivation(
        key="theorem-1-from-lemma-2",
        title="One-step inequality, under eta_t <= 1/L and the bound of Lemma 2",
        steps=STEPS,
        assumes=(*SHARED, a.small_steps, LEMMA_2),
        conditions=(SMALL, CURVATURES, WHOLE),
    ),
    proof(
        CLAIM,
        "One-step inequality, under eta_t <= 1/L",
        steps=(
            step("lemma-2", LEMMA_2.relation.lhs, "<=", LEMMA_2.relation.rhs).by(Cited("lemma-2")),
            conclude(CLAIM).by(Cited("theorem-1-from-lemma-2", {"lemma-2": "lemma-2"})),
        ),
        findings=(
            "Needs rho_bar <= rho(t, w_t) at every t and the alpha-weighted virtual iterate, but only eta_t <= 1/L.",
            "The terms sigma^2, 6 rho_bar L Gamma and (16 tau^2 - 1) G^2 of 32 tau^2 G^2 are redundant: the "
            "proof uses none.",
        ),
    ),
    proof(
        FREE,
        "One-step inequality without heterogeneity",
        steps=(
            conclude(FREE).by(
                Cited("theorem-1"),
                (6 * eta**2 * rho_bar * L + 2 * eta * (rho_tilde - rho_bar), HOMOGENEOUS),
                note="Gamma = 0 removes the terms in Gamma; it says that the minimisers coincide, not IID data",
            ),
        ),
    ),
)
