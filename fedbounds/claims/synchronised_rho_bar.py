"""Where the paper's own reading of rho_bar is true: its minimum over synchronisation times, not over every step.

The proof stands in `derivations/proofs/sync.md`.
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
    observed="the two sides are {left:.4g} and {right:.4g}",
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
