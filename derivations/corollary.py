"""The corollary with capped skews, its case Gamma = 0, and the error term's sign."""

from dataclasses import replace

import sympy as sp

from fedbounds.evidence.symbolic.derivation import (
    Cited,
    Condition,
    Derivation,
    Earlier,
    Extreme,
    Hypothesis,
    Induction,
    step,
)
from fedbounds.theory.symbols import (
    Delta,
    Delta_0,
    Delta_next,
    G_sq,
    Gamma,
    L,
    T,
    eta,
    gamma,
    mu,
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
    SMOOTHNESS,
    UNDER_RHO,
    WORDS,
    Delta_T,
    R,
    below_cap,
    capped,
    k,
    r,
    under,
)
from ._setting import MODEL, ONE, SKEWS, claim, right_side
from .theorem_1 import HOMOGENEOUS

CLAIM, FREE, MINIMISER = claim("corollary"), claim("error-free"), claim("error-minimiser")
CAP = sp.Rational(8, 3) * (gamma - 1)
B = 1 + sp.Rational(3, 8) * r
C = 32 * tau**2 * G_sq + 6 * r * L * Gamma + sigma_sq
D = 2 * Gamma * (R - r)
V = gamma * Delta_0 + C / (mu**2 * (B - 1))
ERROR = D / (mu * (B - 1))
STATEMENT = V / k + ERROR - Delta

divisor = sp.Symbol("rho", positive=True)
DIVISOR = Condition("positive-rho_bar", divisor, rho_bar, "rho_bar > 0")

STEPS = (
    *capped(CAP, sp.Rational(8, 3)),
    QUARTER,
    step(
        "recursion",
        Delta_next,
        "<=",
        (1 - eta * mu * B) * Delta + eta**2 * C + eta * D,
        Cited("theorem-1", {"small-steps": "small", "slow-decay": "lemma-2-schedule"}),
        (sp.Rational(3, 8) * eta * mu * Delta, UNDER_RHO),
        # 2 eta (1 - 3 eta L): the smaller r costs 6 eta^2 L Gamma and gains 2 eta Gamma a unit.
        (2 * eta * Gamma * (4 * t + gamma) / (4 * k), UNDER_RHO),
        (2 * eta * Gamma, OVER_TILDE),
        note="Theorem 1 with r = min(rho_bar, 8(gamma-1)/3) for rho_bar and R = max(rho_tilde, r) for rho_tilde",
    ),
    step(
        "base",
        Delta_0,
        "<=",
        V / gamma + ERROR,
        (C / (mu**2 * (B - 1) * gamma), ONE),
        (2 * Gamma / (mu * (B - 1)), OVER_R),
    ),
    step(
        "carry",
        Delta_next,
        "<=",
        V / (t + 1 + gamma) + ERROR,
        Earlier("recursion"),
        # 1 - B/(t + gamma) >= 0 since B <= gamma: the condition the paper misses.
        ((t + sp.Rational(3, 8) * below_cap) / k, Hypothesis("Delta", STATEMENT)),
        (V / (k**2 * (k + 1)), ONE),
        ((B - 1) * gamma * Delta_0 / k**2, ONE),
        (2 * Gamma / (mu * (B - 1) * k), OVER_R),
        note="B <= gamma keeps the factor 1 - B/(t+gamma) non-negative; D >= 0 carries the error term",
    ),
    step(
        "all",
        Delta_T,
        "<=",
        V / (T + gamma) + ERROR,
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
    step("conclude", CLAIM.lhs, "<=", right_side("corollary"), Earlier("smooth"), (L / 2, Earlier("all"))),
)
COROLLARY = Derivation(
    key="corollary",
    title="Convergence bound, rho_bar capped at 8(gamma - 1)/3 and rho_tilde at least rho_bar",
    claim="corollary",
    readings=("repaired",),
    steps=STEPS,
    positive=("rho-positive", "cap-positive"),
    findings=(
        "eta_t = 1/(mu(t + gamma)) makes slow-decay superfluous (derivation lemma-2-schedule).",
        "B <= gamma and D >= 0 are needed, and not in the paper.",
    ),
    meaning=MEANING,
    abbreviations={r: sp.Min(rho_bar, CAP), R: sp.Max(rho_tilde, r)},
    conditions=(FOUR, under(CAP)),
    setting={**MODEL, **SKEWS},
    notation=WORDS,
)
DERIVATIONS = (
    COROLLARY,
    replace(
        COROLLARY,
        key="error-free",
        title="Convergence bound without heterogeneity",
        claim="error-free",
        readings=("repaired",),
        steps=(
            *capped(CAP, sp.Rational(8, 3)),
            step(
                "conclude",
                FREE.lhs,
                "<=",
                right_side("error-free"),
                Cited("corollary"),
                (-8 * L**2 / (mu**2 * (T + gamma)) - 8 * L / (3 * mu) * (R / r - 1), HOMOGENEOUS),
                note="Gamma = 0 removes both terms in Gamma",
            ),
        ),
        conditions=(FOUR,),
        findings=(),
    ),
    Derivation(
        key="error-minimiser",
        title="The error term is non-negative once rho_tilde is at least rho_bar",
        claim="error-minimiser",
        readings=("repaired",),
        steps=(
            step(
                "conclude",
                MINIMISER.lhs,
                "<=",
                right_side("error-minimiser"),
                (8 * L * Gamma / (3 * mu * divisor), Extreme(R, rho_bar, sp.Max)),
                note="zero at alpha = p, where rho_bar = rho_tilde = 1",
            ),
        ),
        abbreviations={R: sp.Max(rho_tilde, rho_bar)},
        conditions=(DIVISOR,),
        notation=WORDS,
        findings=("Without rho_tilde >= rho_bar the error term is negative exactly where rho_tilde < rho_bar.",),
    ),
)
