"""Lemma 2 with the constant that its steps give, and the corollary that follows.

The drift terms are 4 to 16 times smaller than with Lemma 2's constant 16 where tau - 1 <= gamma.

By Jensen's inequality the way of a local model in a round, sum_s eta_s g_s over the steps before, has second moment
at most (sum_s eta_s)^2 G^2, with noise too; and it is at most tau - 1 steps of eta_ratio eta_t each. On the
corollary's steps eta_s/eta_t = (t + gamma)/(s + gamma) is at most 1 + (tau - 1)/gamma, since s >= 0 and
s >= t - tau + 1.

With full gradients a step contracts: the distance d from the round's start obeys d' <= (1 - eta mu) d + eta G, so
d <= (G/mu) gone, gone = 1 - prod_s (1 - eta_s mu) (`drift-full`). The variance of points of a ball is convex in each
of them, hence largest on its sphere, where it is the squared radius less ||sum_i alpha_i u_i||^2 with unit vectors
u_i, and a sum of vectors of lengths alpha_i is max(2 max_i alpha_i - 1, 0) long at the least: in the plane already,
and on a line where one alpha_i is 1/2 or more. Clients of curvature mu that pull with G along such u_i attain both
at every step of the first round. On the corollary's steps gone is (t - t_0)/(t + gamma - 1): with equal weights this
is Lemma 2 with ((tau - 1)/tau)^2 ((t + gamma)/(t + gamma - 1))^2 for its 16, at a round's last step. Noise breaks
it: of F_i = (mu/2)(w -/+ 1)^2 from w = 0, with noise that keeps E||g_i||^2 at G^2 = mu^2, the drift after two steps
exceeds it by (eta^2 G^2/2)(1 - (1 - eta mu)^2).

With noise (`drift-noise`) strong convexity still gives <grad F_i(x), x - w_0> >= mu d^2 - G d, so with D = E d^2

    D' <= (1 - 2 eta mu) D + 2 eta G sqrt(D) + eta^2 G^2,

and on the corollary's steps D <= (c n eta_t G)^2 with c = 1 + 2/gamma after n steps of a round, by induction on n
from n = 1, where c may be 1 + 1/gamma; derivation `drift-noise-step` is that induction's base and its step. Clients
of curvature mu, equal weights, pulls that cancel and noise that keeps E||g_i||^2 at G^2 have, as their number grows,

    D = (G/mu)^2 (n^2 - sum_s 1/(s + gamma))/((t + gamma - 1)(t + gamma - 2)),

which is the claim's bound at tau = 2, and at n = tau - 1 > 1 more than a share 1/(1 + 2/gamma)^2 of it.
"""

from dataclasses import replace

import sympy as sp

from fedbounds.claims.corollary import ETA, GAMMA
from fedbounds.claims.star import CONDITIONS, REPAIR, summed
from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim, Role
from fedbounds.theory.symbols import *
from fedbounds.theory.symbols import gone_sq, parting

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
    source="This package (proof in fedbounds/claims/tight.py)",
    scope="step",
    lhs=drift,
    terms={"drift": parting * gone_sq * G_sq / mu**2},
    assumptions=(a.smooth, a.strongly_convex, *MOVED, a.full_gradients, a.monotone_steps),
    readings=("repaired",),
    roles=(Role.DERIVED,),
    remark="Whatever the weights and the steps, clients of curvature mu attain it in the first round. Of the proof "
    "one step is checked by machine (derivation drift-full-step), not the product of the steps nor the ball. False "
    "with noise.",
)
# By which a round's way exceeds that of its last step taken each time, with noise.
LONGER = 1 + sp.Min(tau - 1, 2) / gamma
NOISY = Claim(
    key="drift-noise",
    title="Discrepancy of the local models on the corollary's steps, with noise",
    source="This package (proof in fedbounds/claims/tight.py)",
    scope="step",
    lhs=drift,
    terms={"drift": LONGER**2 * eta**2 * (tau - 1) ** 2 * G_sq},
    assumptions=(a.smooth, a.strongly_convex, *MOVED),
    definitions=GAMMA,
    eta=ETA,
    readings=("repaired",),
    roles=(Role.DERIVED,),
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
    roles=(Role.DERIVED,),
    remark="tight-corollary with drift-noise for drift-on-schedule: at tau > 2 its drift is ((tau - 1 + gamma)/(2 + "
    "gamma))^2 times smaller. All but drift-noise is checked by machine.",
)
CLAIMS = (ANY_STEPS, ON_SCHEDULE, FULL, NOISY, TIGHT_COROLLARY, NOISY_COROLLARY)
