"""Where the paper's own reading of rho_bar is true: its minimum over synchronisation times, not over every step.

At the round's start w_0 the skew is known: sum_i alpha_i e_i(w_0) >= rho_bar (Gamma + (mu/2) ||w_0 - w*||^2). From
there to w_t convexity loses at most G times the way, q (tau - 1) eta G with q the round's largest eta_s/eta_t, and

    (3/8) ||w_t - w*||^2 <= ||w_0 - w*||^2 + (3/5) ||w_t - w_0||^2,

so the (5/8) of rho_bar that Theorem 1 gives away pay for ||w_0 - w*||^2, and its 32 tau^2 G^2 for the rest: 1 for the
gradient, 2 q (tau - 1) for the way, and (eta (L - mu) + (3/5) eta mu rho_bar) q^2 (tau - 1)^2 for drift and skew.

At constant steps (q = 1) that is eta mu rho_bar <= (5/3) [(32 tau^2 - 2 tau + 1)/(tau - 1)^2 - eta (L - mu)], and for
eta <= 1/L at least 155/3 at every tau. Little more holds: two clients of curvature 1 with minima 0 and 1, the second
of a tiny share and of all weight (FedMax), from w_0 = (3/5) (tau - 1) eta, break Theorem 1 within 0.7% above the
first term at every tau tried (`tests/theory/test_sync.py`, in fractions); as tau grows that term tends to 160/3.

On the corollary's steps q may be large, but the way is at most 3 tau eta_t G (the argument of `lemma-2-nine`). So
rho_bar capped at 8(gamma - 1)/3, with which eta mu rho_bar < 8/3, leaves room at every tau: the corollary follows.
"""

import sympy as sp

from fedbounds.claims.corollary import CAPPED, COROLLARY
from fedbounds.claims.theorem_1 import TERMS
from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import *

SOURCE = "This package (derivation {})"
WAY = eta_ratio * (tau - 1)
ROOM = Assumption(
    "sync-room",
    "1 + 2 q (tau - 1) + (eta (L - mu) + (3/5) eta mu rho_bar) q^2 (tau - 1)^2 <= 32 tau^2, q = max eta_s/eta_t",
    sp.Le(1 + 2 * WAY + (eta * (L - mu) + sp.Rational(3, 5) * eta * mu * rho_bar) * WAY**2, 32 * tau**2),
    found="the two sides are {left:.4g} and {right:.4g}",
)
STEP = Claim(
    key="sync-step",
    title="One-step inequality, rho_bar at synchronisation times",
    source=SOURCE.format("sync-step"),
    scope="step",
    lhs=Delta_next,
    terms=TERMS,
    assumptions=(*a.PAPER, a.full_participation, ROOM),
    readings=("sync",),
    remark="Theorem 1 in the paper's own reading of rho_bar, true where eta mu rho_bar is not too large: at constant "
    "steps of at most 1/L up to 155/3, and not beyond 160/3 at every tau.",
)
RAISED = {rho_bar: CAPPED, rho_tilde: sp.Max(rho_tilde, CAPPED)}
SUMMED = Claim(
    key="sync-corollary",
    title="Convergence bound, rho_bar at synchronisation times",
    source=SOURCE.format("sync-corollary"),
    scope="horizon",
    lhs=gap,
    terms={name: term.subs(RAISED, simultaneous=True) for name, term in COROLLARY.terms.items()},
    assumptions=COROLLARY.assumptions,
    definitions=COROLLARY.definitions,
    eta=COROLLARY.eta,
    readings=("sync",),
    remark="The corollary as repaired, in the paper's own reading of rho_bar: its cap and rho_tilde >= it suffice.",
)
CLAIMS = (STEP, SUMMED)
