"""The speed's least value, and its value under FedAvg with the paper's misprint."""

import sympy as sp

from fedbounds.claims.corollary import SPEED, V_MIN
from fedbounds.evidence.symbolic.algebra import Mean, Positive, Slack
from fedbounds.evidence.symbolic.derivation import (
    Condition,
    Derivation,
    Display,
    Earlier,
    Instance,
    Premise,
    averaged,
    step,
)
from fedbounds.theory.symbols import G_sq, L, mu, p_min, rho_bar, sigma_sq, tau

from ._setting import ONE, P, claim

FLOOR, FEDAVG = claim("speed-floor"), claim("fedavg-speed")
I = P.args[1]
KAPPA, EXCESS = Positive(sp.Symbol("kappa"), I), Slack(sp.Symbol("e"), I)
rho, total = sp.Symbol("rho", nonnegative=True), sp.Symbol("total", positive=True)
SHARE = Positive(sp.Symbol("share"), I)
ABOVE_P, UNDER_ONE = Slack(sp.Symbol("above_p"), I), Slack(sp.Symbol("under_one"), I)
moment = sp.Symbol("G_positive", positive=True)
MISPRINT = (4 * L - 32 * tau**2 * G_sq + sigma_sq) / (3 * mu**2)
NOISE = 4 * L * (32 * tau**2 * G_sq + sigma_sq) / (3 * mu**2)

RATIO = step(
    "ratio",
    KAPPA,
    "<=",
    1 / p_min,
    # 1/p_min - kappa = (1 - kappa p_i)/p_i + (p_i - p_min)/(p_i p_min), and alpha_i = kappa_i p_i <= 1.
    (UNDER_ONE / SHARE + ABOVE_P / (SHARE * p_min), ONE),
    note="alpha_i = kappa_i p_i is at most 1, and p_i at least min p",
)
CEILING = step(
    "ceiling",
    rho,
    "<=",
    1 / p_min,
    (1 / total, averaged(P, (EXCESS, Earlier("ratio")))),
    (1 / total, Premise("skew", Mean(P, KAPPA * EXCESS) - rho * total, "definition of rho(t, w)", "zero")),
    (1 / (p_min * total), Premise("skew", total - Mean(P, EXCESS), "sum_i p_i e_i", "zero")),
    note="rho is an average of the ratios alpha_i/p_i",
)
DERIVATIONS = (
    Derivation(
        key="skew-ceiling",
        title="The weighting skew is at most 1/min p",
        steps=(RATIO, CEILING),
        conditions=(
            Condition("simplex", UNDER_ONE, 1 - KAPPA * SHARE, "alpha_i <= 1"),
            Condition("simplex", ABOVE_P, SHARE - p_min, "p_i >= min p"),
        ),
        setting={
            "simplex": "alpha_t and p are on the simplex",
            "skew": "rho sum_i p_i e_i = sum_i alpha_i e_i, with sum_i p_i e_i > 0",
        },
        notation={
            "kappa": r"\kappa_t^i",
            "e": "e_i(w)",
            "rho": r"\rho(t,w)",
            "share": "p_i",
            "p_i": r"\sum_i p_i",
            "total": r"\sum_i p_i e_i(w)",
            "under_one": r"(1-\alpha_t^i)",
            "above_p": r"(p_i-\min_j p_j)",
        },
        findings=("rho_bar is never arbitrarily large: it is at most 1/min p.",),
    ),
    Derivation(
        key="speed-floor",
        title="V_min is not reached: the speed exceeds it at every reachable rho_bar",
        claim="speed-floor",
        readings=("literal",),
        refutes=True,
        steps=(
            step(
                "conclude",
                FLOOR.lhs,
                ">",
                FLOOR.rhs,
                (4 * L * p_min * 32 * tau**2 * moment / (3 * mu**2), ONE),
                (4 * L * p_min * sigma_sq / (3 * mu**2), ONE),
                note="at rho_bar = 1/min p, its largest value, the noise term is 4L min p (32 tau^2 G^2 + sigma^2)"
                "/(3 mu^2) > 0",
            ),
        ),
        conditions=(Condition("moving", moment, G_sq, "G^2 > 0: some gradient is not zero"),),
        setting={"moving": "G^2 > 0"},
        notation={"G_positive": "G^2"},
        findings=("The gap to V_min is 4L min p (32 tau^2 G^2 + sigma^2)/(3 mu^2), zero only if every gradient is.",),
    ),
    Derivation(
        key="fedavg-speed",
        title="The speed under FedAvg: a misprint",
        claim="fedavg-speed",
        readings=("literal",),
        refutes=True,
        steps=(
            step(
                "corrected",
                sp.Add(*SPEED.values()).subs(rho_bar, 1),
                "=",
                sp.Add(*V_MIN.values()) + NOISE,
                paper=Display(
                    sp.Add(*V_MIN.values()) + MISPRINT,
                    NOISE - MISPRINT,
                    "the product 4L (32 tau^2 G^2 + sigma^2) became 4L - 32 tau^2 G^2 + sigma^2",
                ),
            ),
            step(
                "conclude",
                FEDAVG.lhs,
                "!=",
                FEDAVG.rhs,
                by=Instance({L: 1, mu: 1, tau: 1, G_sq: 1, sigma_sq: 1}),
                note="at L = mu = tau = G^2 = sigma^2 = 1 the speeds differ by 53",
            ),
        ),
        findings=("The corrected speed is V_min + 4L(32 tau^2 G^2 + sigma^2)/(3 mu^2).",),
    ),
)
