"""The sharper corollary: the recursion of the sharper step, summed about its fixed point."""

import sympy as sp

from fedbounds.evidence.symbolic.derivation import Cited, Derivation, Earlier, Extreme, Hypothesis, Induction, step
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
    t,
    tau,
)

from ._recursion import (
    FOUR,
    MEANING,
    OVER_R,
    OVER_TILDE,
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
from ._setting import CURVATURES, MODEL, ONE, SKEWS, claim, ell, right_side

CLAIM = claim("sharper-corollary")
CAP = gamma - 1
NOISE = (1 + 4 * tau**2) * G_sq
FIXED = 2 * Gamma * (R - r) / (mu * (1 + r))
v = sp.Symbol("v", nonnegative=True)
START, FLOOR = gamma * Delta_0, NOISE / (mu**2 * r)
STATEMENT = v / k + FIXED - Delta

STEPS = (
    *capped(CAP, sp.Integer(1)),
    step(
        "recursion",
        Delta_next,
        "<=",
        (1 - eta * mu * (1 + r)) * Delta + eta**2 * NOISE + 2 * eta * Gamma * (R - r),
        Cited("sharper-step"),
        (eta * ell, Cited("lemma-2-schedule")),
        (eta * mu * Delta + 2 * eta * Gamma, UNDER_RHO),
        (2 * eta * Gamma, OVER_TILDE),
        (4 * eta**2 * tau**2 * G_sq * (t / k + 4 * eta * mu), ONE),
        note="r = min(rho_bar, gamma - 1), R = max(rho_tilde, r); eta (L - mu) <= 1/4",
    ),
    step(
        "base",
        Delta_0,
        "<=",
        v / gamma + FIXED,
        (1 / gamma, Extreme(v, START, sp.Max)),
        (2 * Gamma / (mu * (1 + r)), OVER_R),
    ),
    step(
        "carry",
        Delta_next,
        "<=",
        v / (t + 1 + gamma) + FIXED,
        Earlier("recursion"),
        ((t + below_cap) / k, Hypothesis("Delta", STATEMENT)),
        (r / k**2, Extreme(v, FLOOR, sp.Max)),
        (v / (k**2 * (k + 1)), ONE),
        note="2 Gamma (R - r)/(mu (1 + r)) is the recursion's fixed point; (k - 1)/k^2 <= 1/(k + 1), k = t + gamma",
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
        "bound",
        CLAIM.lhs,
        "<=",
        L / 2 * v / (T + gamma) + L / 2 * FIXED,
        Earlier("smooth"),
        (L / 2, Earlier("all")),
    ),
    step("conclude", CLAIM.lhs, "<=", right_side("sharper-corollary"), Earlier("bound")),
)
DERIVATIONS = (
    Derivation(
        key="sharper-corollary",
        title="Sharper convergence bound",
        claim="sharper-corollary",
        readings=("repaired",),
        steps=STEPS,
        meaning=MEANING,
        abbreviations={r: sp.Min(rho_bar, CAP), R: sp.Max(rho_tilde, r), v: sp.Max(START, FLOOR)},
        positive=("rho-positive", "cap-positive"),
        conditions=(FOUR, CURVATURES, under(CAP)),
        setting={**MODEL, **SKEWS},
        notation=WORDS,
        findings=(
            "Its error term is (3 rho/8)/(1 + rho) times the paper's, at most 3/8 of it, at every rho >= 0.",
            "The drift enters at 4 tau^2 G^2 for the paper's 32 tau^2 G^2.",
        ),
    ),
)
