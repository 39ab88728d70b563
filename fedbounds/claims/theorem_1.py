"""Theorem 1: the one-step inequality, and its error-free case."""

import sympy as sp

from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim, Repair, Role
from fedbounds.theory.symbols import *

CONTRACTION = sp.Rational(3, 8)

TERMS = {
    "contraction": (1 - eta * mu * (1 + CONTRACTION * rho_bar)) * Delta,
    "drift": eta**2 * 32 * tau**2 * G_sq,
    "heterogeneity": eta**2 * 6 * rho_bar * L * Gamma,
    "variance": eta**2 * sigma_sq,
    "bias": 2 * eta * Gamma * (rho_tilde - rho_bar),
}
REPAIR = Repair(
    "rho_bar must bound rho(t, w_t) at every t, the iterate be alpha-weighted, and Lemma 2 apply",
    (a.small_steps, a.slow_decay),
)

THEOREM_1 = Claim(
    key="theorem-1",
    title="One-step inequality",
    source="Theorem 1, inequality (main)",
    scope="step",
    lhs=Delta_next,
    terms=TERMS,
    assumptions=(*a.PAPER, a.full_participation),
    readings=("literal", "sync", "repaired"),
    repair=REPAIR,
    roles=(Role.PICTURED, Role.HEADLINE),
    short="Theorem 1",
)
ERROR_FREE_STEP = Claim(
    key="error-free-step",
    title="One-step inequality without heterogeneity",
    source="Error-free framework, first display",
    scope="step",
    lhs=Delta_next,
    terms={name: TERMS[name] for name in ("contraction", "drift", "variance")},
    assumptions=(*a.PAPER, a.full_participation, a.homogeneous),
    readings=("literal", "sync", "repaired"),
    repair=REPAIR,
    remark="Gamma = 0 means that the minimisers coincide, not that the data are IID.",
)
CLAIMS = (THEOREM_1, ERROR_FREE_STEP)
