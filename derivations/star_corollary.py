"""The corollary of the one-step inequality without G: the gradients' bound enters through the drift alone."""

import sympy as sp

from fedbounds.evidence.symbolic.algebra import Centre, Mean
from fedbounds.evidence.symbolic.derivation import (
    Cited,
    Derivation,
    Earlier,
    Extreme,
    Hypothesis,
    Induction,
    averaged,
    step,
)
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import (
    Delta,
    Delta_0,
    Delta_next,
    G_sq,
    Gamma,
    L,
    T,
    drift,
    eta,
    gamma,
    mu,
    pi_min,
    rho_bar,
    rho_tilde,
    sigma_sq,
    t,
    tau,
)

from ._recursion import (
    FOUR,
    MEANING,
    OVER_R,
    OVER_TILDE,
    QUARTER,
    RHO_POSITIVE,
    SMOOTHNESS,
    UNDER_RHO,
    WORDS,
    Delta_T,
    R,
    above_four,
    below_cap,
    k,
    r,
    under,
)
from ._setting import ALPHA, E_STAR, MODEL, ONE, RHO_TILDE, SKEWS, P, X, claim, right_side
from .lemma_2 import ETA_S, G_S, MOVES, ROUND, SETTING, SLOW, SLOW_STEPS, START, U, left, n
from .star import DISTINCT, SKEWED, K, beyond, rest

CLAIM: Claim = claim("star-corollary")
INNER = 16 * eta**2 * (tau - 1) ** 2 * G_sq
DRIFT_STEPS = (
    *(one for one in SLOW_STEPS if one.label not in ("count", "conclude")),
    step("count", n**2, "<=", (tau - 1) ** 2, (left * (left + 2 * n), ONE), note="n <= tau - 1 steps were taken"),
    step(
        "conclude",
        drift,
        "<=",
        INNER,
        Earlier("variance"),
        averaged(ALPHA, Earlier("jensen"), (n**2, Earlier("slow")), (16 * eta**2 * n**2, Earlier("moment"))),
        (16 * eta**2 * G_sq, Earlier("count")),
    ),
)

NOISE = (
    4 * (tau - 1) ** 2 * G_sq
    + sp.Rational(8, 3) * L * Gamma * (1 - pi_min) * (R - pi_min)
    + sp.Rational(4, 3) * sigma_sq
)
FIXED = 2 * Gamma * (R - r) / (mu * (1 + r))
v = sp.Symbol("v", nonnegative=True)
FIRST, FLOOR = gamma * Delta_0, NOISE / (mu**2 * r)
STATEMENT = v / k + FIXED - Delta
KEPT = 1 - eta * mu
# The same number with its sign on sight: 1 - eta mu = (k - 1)/k, k = t + gamma >= 4.
FRESH = (t + above_four + 3) / k

STEPS = (
    step("rho-positive", rho_bar, ">", 0, RHO_POSITIVE),
    step("cap-positive", gamma, ">", 0, (gamma, ONE)),
    step("cap", r, "<=", gamma, Extreme(r, gamma, sp.Min)),
    QUARTER,
    step(
        "recursion",
        Delta_next,
        "<=",
        KEPT * ((1 - eta * mu * r) * Delta + eta**2 * NOISE + 2 * eta * Gamma * (R - r)),
        Cited("star-step", {"eta-below-1/L": "small"}),
        (FRESH * eta * K, Cited("drift-inside")),
        (FRESH * (eta * mu * Delta + 2 * eta * Gamma), UNDER_RHO),
        (FRESH * (2 * eta * Gamma + sp.Rational(8, 3) * eta**2 * L * Gamma * rest), OVER_TILDE),
        (FRESH * eta**2 * 8 * L * rest * t / (3 * (4 * t + 3 * gamma)), RHO_TILDE),
        (FRESH * eta**2 * 8 * L * rest * t / (3 * (4 * t + 3 * gamma)), beyond(E_STAR, "e_i(w*) >= 0")),
        (FRESH * eta**2 * (tau - 1) ** 2 * G_sq * (4 * t / k + 16 * eta * mu), ONE),
        (eta**2 * sigma_sq * (t + above_four) / (3 * k), ONE),
        note="r = min(rho_bar, gamma), R = max(rho_tilde, r); eta L <= 1/4",
    ),
    step(
        "base",
        Delta_0,
        "<=",
        v / gamma + FIXED,
        (1 / gamma, Extreme(v, FIRST, sp.Max)),
        (2 * Gamma / (mu * (1 + r)), OVER_R),
    ),
    step(
        "carry",
        Delta_next,
        "<=",
        v / (t + 1 + gamma) + FIXED,
        Earlier("recursion"),
        (FRESH * (t + below_cap) / k, Hypothesis("Delta", STATEMENT)),
        (FRESH * r / k**2, Extreme(v, FLOOR, sp.Max)),
        (2 * Gamma / (mu * (1 + r) * k**2), OVER_R),
        (v / (k**2 * (k + 1)), ONE),
        note="with x = 1/k the induction needs (1 - x^2) v <= v, and (1 - x^2) FIXED <= FIXED",
    ),
    step(
        "all",
        Delta_T,
        "<=",
        v / (T + gamma) + FIXED,
        by=Induction(
            "Delta",
            STATEMENT,
            "base",
            "carry",
            start={Delta: Delta_0, t: 0},
            next={Delta: Delta_next, t: t + 1},
            end={Delta: Delta_T, t: T},
        ),
    ),
    SMOOTHNESS,
    step(
        "bound", CLAIM.lhs, "<=", L / 2 * v / (T + gamma) + L / 2 * FIXED, Earlier("smooth"), (L / 2, Earlier("all"))
    ),
    step("conclude", CLAIM.lhs, "<=", right_side("star-corollary"), Earlier("bound")),
)
DERIVATIONS = (
    Derivation(
        key="drift-inside",
        title="Discrepancy of the local models at a step of the round: tau - 1 for tau",
        steps=DRIFT_STEPS,
        meaning={X: START - n * Centre(U, ETA_S * G_S), **MOVES},
        conditions=(ROUND, SLOW),
        setting=SETTING,
        notation=WORDS,
    ),
    Derivation(
        key="star-corollary",
        title="Convergence bound with G in the drift only",
        claim="star-corollary",
        readings=("repaired",),
        steps=STEPS,
        meaning={**MEANING, Gamma: Mean(P, E_STAR)},
        abbreviations={r: sp.Min(rho_bar, gamma), R: sp.Max(rho_tilde, r), v: sp.Max(FIRST, FLOOR)},
        positive=("rho-positive", "cap-positive"),
        conditions=(FOUR, DISTINCT, SKEWED, under(gamma)),
        setting={**MODEL, **SKEWS},
        notation=WORDS,
        findings=("At tau = 1 nothing of G is left; and for alpha = p with full gradients nothing of Gamma.",),
    ),
)
