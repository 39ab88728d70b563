"""Li et al., ICLR 2020, Theorem 1, full participation: the induction over their one-step inequality."""

import sympy as sp

from fedbounds.evidence.symbolic.algebra import Mean, Positive, Slack, norm_sq
from fedbounds.evidence.symbolic.derivation import (
    Cited,
    Condition,
    Derivation,
    Earlier,
    Extreme,
    Hypothesis,
    Induction,
    Square,
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
    gap,
    mu,
    sigma_p_sq,
    t,
    tau,
)

from ._recursion import SMOOTHNESS, Delta_T
from ._setting import CURVATURES, F_STAR, F_W, ONE, SKEWS, W_STAR, P, W, claim, ell, right_side
from .li_2020 import ETA_S, SETTING, WORDS, S

CLAIM = claim("li-2020")
k = t + gamma
KNOWN = sigma_p_sq + 6 * L * Gamma
SPREAD = Square(tau - 1, "a square", vector=False)
NOISE = KNOWN + 8 * (tau - 1) ** 2 * G_sq
BOUND = gamma * Delta_0 + 4 * NOISE / mu**2
STATEMENT = BOUND / k - Delta
wide, long = sp.Symbol("wide", nonnegative=True), sp.Symbol("long", nonnegative=True)
M_S = Positive(sp.Symbol("m_s"), S)
LATE, BEGUN = Slack(sp.Symbol("late"), S), Slack(sp.Symbol("begun"), S)

STEPS = (
    step("gamma-L", 8 * L / mu, "<=", gamma, Extreme(gamma, 8 * L / mu, sp.Max)),
    step("gamma-tau", tau, "<=", gamma, Extreme(gamma, tau, sp.Max)),
    step("quarter", 0, "<=", 1 - 4 * eta * L, ((t + wide) / k, ONE), note="eta_t <= 2/(mu gamma) <= 1/(4L)"),
    step(
        "halve",
        ETA_S,
        "<=",
        2 * eta,
        (2 * (LATE + BEGUN + long + 1) / (mu * k * M_S), ONE),
        note="2(s + gamma) - (t + gamma) >= s + gamma - tau + 1 > 0 since gamma >= tau",
    ),
    step(
        "recursion",
        Delta_next,
        "<=",
        (1 - eta * mu) * Delta + eta**2 * NOISE,
        Cited("li-one-step", {"quarter-steps": "quarter"}),
        (2, Cited("li-drift", {"halving": "halve"})),
    ),
    step(
        "base",
        Delta_0,
        "<=",
        BOUND / gamma,
        (4 * KNOWN / (mu**2 * gamma), ONE),
        (32 * G_sq / (mu**2 * gamma), SPREAD),
    ),
    step(
        "carry",
        Delta_next,
        "<=",
        BOUND / (k + 1),
        Earlier("recursion"),
        ((t + wide + 8 * ell / mu + 6) / k, Hypothesis("Delta", STATEMENT)),
        (gamma * Delta_0 * (1 / k**2 + 1 / (k**2 * (k + 1))), ONE),
        (4 * KNOWN / (mu**2 * k**2 * (k + 1)), ONE),
        (32 * G_sq / (mu**2 * k**2 * (k + 1)), SPREAD),
        note="(k - 1)/k^2 <= 1/(k + 1) with k = t + gamma, and 1 - 2/k >= 0 since gamma >= 8",
    ),
    step(
        "all",
        Delta_T,
        "<=",
        BOUND / (T + gamma),
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
    step("conclude", CLAIM.lhs, "<=", right_side("li-2020"), Earlier("smooth"), (L / 2, Earlier("all"))),
)
DERIVATIONS = (
    Derivation(
        key="li-2020",
        title="FedAvg with full participation (Li et al., Theorem 1)",
        claim="li-2020",
        readings=("literal",),
        steps=STEPS,
        meaning={
            eta: 2 / (mu * k),
            ETA_S: 2 / (mu * M_S),
            gap: Mean(P, F_W - F_STAR),
            Delta_T: norm_sq(W - W_STAR),
        },
        abbreviations={gamma: sp.Max(8 * L / mu, tau)},
        conditions=(
            CURVATURES,
            Condition("step:gamma-L", wide, gamma - 8 * L / mu, "gamma >= 8L/mu"),
            Condition("step:gamma-tau", long, gamma - tau, "gamma >= tau"),
            Condition("round", LATE, M_S - k + tau - 1, "s >= t - tau + 1, with m_s = s + gamma"),
            Condition("round", BEGUN, M_S - gamma, "s >= 0, with m_s = s + gamma"),
        ),
        setting={**SETTING, "curvatures": SKEWS["curvatures"]},
        notation=WORDS | {"w": "w_T", "Delta_T": r"\mathbb{E}\Vert w_T-w^\star\Vert^2"},
        findings=(
            "Their theorem counts from w_1 and prints gamma + T - 1: from w_0, after T steps, gamma + T.",
            "Their Assumption 3 needs the clients' noises to be independent for the term sum p_i^2 sigma_i^2.",
        ),
    ),
)
