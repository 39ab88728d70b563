"""The corollary of the one-step inequality without G: the gradients' bound enters through the drift alone."""

import sympy as sp

from fedbounds.theory import assumptions as a

from ._recursion import *
from .lemma_2 import A_SQUARE, INSIDE, LATE, LENGTH, MOVE, TIMES, TO_START, decays, slow_steps
from .star import BELOW, REST, UNDER_ONE, below, rest

STAR, TIGHT, WITH_NOISE, ANY, ON_SCHEDULE, DRIFT_NOISE, BIASED = map(
    claim,
    (
        *("star-corollary", "tight-corollary", "noise-corollary"),
        *("drift-any-steps", "drift-on-schedule", "drift-noise", "cho-2020-step"),
    ),
)
v, cut = sp.Symbol("v", nonnegative=True), sp.Symbol("cut", nonnegative=True)
# 1 - eta mu = (k - 1)/k with its sign on sight, k = t + gamma >= 4.
FRESH = (t + above_four + 3) / k
SPARED = FRESH * eta**2 * 8 * L * rest * t / (3 * (4 * t + 3 * gamma))
# The largest eta_s/eta_t of a round on the corollary's steps, and what s >= 0 leaves.
LARGEST, EARLY = 1 + (tau - 1) / gamma, Slack(sp.Symbol("early"), S)


GIVEN = Assumption("drift-noise", "the bound of drift-noise on the drift", sp.Le(drift, DRIFT_NOISE.rhs))


def corollary(of: Claim, title: str, drifting: sp.Expr | int, drifts: Fact, **parts: Any) -> Derivation:
    """The corollary of star-step where ``drifts`` has 4 ``drifting`` eta^2 (tau - 1)^2 G^2 for the drift."""
    noise = (
        drifting * (tau - 1) ** 2 * G_sq
        + sp.Rational(8, 3) * L * Gamma * (1 - pi_min) * (R - pi_min)
        + sp.Rational(4, 3) * sigma_sq
    )
    first, floor = gamma * Delta_0, noise / (mu**2 * r)
    steps = (
        *capped(gamma, (gamma, ONE)),
        QUARTER,
        UNDER_ONE,
        step(
            "recursion",
            Delta_next,
            "<=",
            (1 - eta * mu) * ((1 - eta * mu * r) * Delta + eta**2 * noise + 2 * eta * Gamma * (R - r)),
        ).by(
            Cited("star-step", {"eta-below-1/L": "small"}),
            (FRESH * eta * ell, drifts),
            (FRESH * (eta * mu * Delta + 2 * eta * Gamma), UNDER_RHO),
            (FRESH * (2 * eta * Gamma + sp.Rational(8, 3) * eta**2 * L * Gamma * rest), OVER_TILDE),
            (SPARED, RHO_TILDE),
            (SPARED, beyond(premise("minimum", W_STAR))),
            (FRESH * eta**2 * (tau - 1) ** 2 * G_sq * drifting * (t / k + 4 * eta * mu), ONE),
            (eta**2 * sigma_sq * (t + above_four) / (3 * k), ONE),
            note="r = min(rho_bar, gamma), R = max(rho_tilde, r); eta L <= 1/4",
        ),
        *summed(
            v,
            1 + r,
            ((1 / gamma, Extreme(v, first)),),
            (
                (FRESH * (t + below_cap) / k, HYPOTHESIS),
                (FRESH * r / k**2, Extreme(v, floor)),
                (2 * Gamma / (mu * (1 + r) * k**2), OVER_R),
            ),
        ),
        conclude(of).by(*BOTH),
    )
    return proof(
        of,
        title,
        steps=steps,
        abbreviations={r: sp.Min(rho_bar, gamma), R: sp.Max(rho_tilde, r), v: sp.Max(first, floor)},
        conditions=(FOUR, CURVATURES, REST, CAPPED),
        **parts,
    )


DERIVATIONS = (
    Derivation(
        key="drift-inside",
        title="Discrepancy of the local models at a step of the round: tau - 1 for tau",
        steps=slow_steps(4, INSIDE, (tau - 1) ** 2, ""),
        assumes=(a.full_participation, a.bounded_gradient, a.slow_decay),
        conditions=decays("slow-decay"),
    ),
    corollary(
        STAR,
        "Convergence bound with G in the drift only",
        4,
        Cited("drift-inside"),
        findings=("At tau = 1 nothing of G is left; and for alpha = p with full gradients nothing of Gamma.",),
    ),
    proof(
        ANY,
        "Discrepancy of the local models, whatever the steps",
        steps=slow_steps(eta_ratio, INSIDE, (tau - 1) ** 2, ""),
        conditions=decays("step-ratio"),
        findings=("With noise too: the 16 of Lemma 2 is the square of the largest ratio of two steps of a round.",),
    ),
    proof(
        ON_SCHEDULE,
        "Discrepancy of the local models on the corollary's steps",
        steps=(
            *TO_START,
            INSIDE,
            step("slow", MOVE, "<=", LARGEST**2 * eta**2 * Mean(U, norm_sq(G_S))).by(
                averaged(
                    U,
                    (
                        (LATE + one_step / gamma * EARLY) * (M_S + one_step / gamma * M_S + k) / (mu * k * M_S) ** 2,
                        A_SQUARE,
                    ),
                ),
                note="s + gamma is at least gamma, and at least t + gamma - (tau - 1)",
            ),
            *slow_steps(LARGEST, INSIDE, (tau - 1) ** 2, "")[-1:],
        ),
        conditions=(LENGTH, TIMES, WHOLE, Condition(EARLY, premise("past-steps"))),
    ),
    proof(
        BIASED,
        "One step under biased weights",
        steps=(
            step("below", 1 - eta * L, ">", 0).by(premise("eta-below-1/L")),
            conclude(BIASED).by(
                Cited("star-step"),
                ((below + eta * ell) * eta * ell, Cited("drift-any-steps")),
                ((below + eta * ell) * (eta * mu * Delta + 2 * eta * Gamma), Extreme(cut, rho_bar)),
                note="1 - eta mu = (1 - eta L) + eta (L - mu), and r = min(rho_bar, 1/(eta mu))",
            ),
        ),
        abbreviations={cut: sp.Min(rho_bar, 1 / (eta * mu))},
        conditions=(BELOW, CURVATURES),
    ),
    corollary(TIGHT, "Convergence bound with the drift of its own steps", LARGEST**2 / 4, Cited("drift-on-schedule")),
    corollary(
        WITH_NOISE,
        "Convergence bound with the drift of its own steps, from drift-noise",
        DRIFT_NOISE.terms["drift"] / (4 * eta**2 * (tau - 1) ** 2 * G_sq),
        premise("drift-noise"),
        assumes=(GIVEN,),
    ),
)
