"""The speed's least value, and its value under FedAvg with the paper's misprint."""

import sympy as sp

from fedbounds.claims.corollary import SPEED, V_MIN
from fedbounds.theory import assumptions as a

from ._setting import *

FLOOR, FEDAVG = claim("speed-floor"), claim("fedavg-speed")
ABOVE_P, UNDER_ONE = Slack(sp.Symbol("above_p"), I), Slack(sp.Symbol("under_one"), I)
total = sp.Symbol("total", positive=True)
AT_ONE, MISPRINT = SPEED["noise"].subs(rho_bar, 1), FEDAVG.terms["noise"]

DERIVATIONS = (
    Derivation(
        key="skew-ceiling",
        title="The weighting skew is at most 1/min p",
        steps=(
            step("ratio", ratio(rho), "<=", 1 / p_min).by(
                (UNDER_ONE / p_min + ratio(rho) * ABOVE_P / p_min, ONE),
                note="alpha_i = kappa_i p_i is at most 1, and p_i at least min p",
            ),
            step("ceiling", rho, "<=", 1 / p_min).by(
                (1 / total, averaged(P, (definitions.excess(rho), Earlier("ratio")))),
                (1 / total, premise("skew", rho)),
                note="rho is an average of the ratios alpha_i/p_i",
            ),
        ),
        assumes=(a.full_participation, a.positive_p),
        conditions=(
            Condition(UNDER_ONE, premise("weight-at-most-one", ratio(rho))),
            Condition(ABOVE_P, premise("least-p")),
            Condition(total, premise("skew-denominator", rho)),
        ),
        findings=("rho_bar is never arbitrarily large: it is at most 1/min p.",),
    ),
    Derivation(
        key="speed-floor",
        title="V_min is not reached: the speed exceeds it at every reachable rho_bar",
        assumes=(a.positive_p,),
        steps=(
            step("excess", FLOOR.lhs, "=", FLOOR.rhs + SPEED["noise"].subs(rho_bar, 1 / p_min)).by(
                note="at rho_bar = 1/min p, its largest value"
            ),
        ),
        findings=("The gap to V_min is 4L min p (32 tau^2 G^2 + sigma^2)/(3 mu^2), zero only if every gradient is.",),
    ),
    Derivation(
        key="fedavg-speed",
        title="The speed under FedAvg: a misprint",
        steps=(
            step("corrected", FEDAVG.lhs, "=", sp.Add(*V_MIN.values()) + AT_ONE).by(
                paper=Display(
                    sp.Add(*V_MIN.values()) + MISPRINT,
                    AT_ONE - MISPRINT,
                    "the product 4L (32 tau^2 G^2 + sigma^2) became 4L - 32 tau^2 G^2 + sigma^2",
                )
            ),
        ),
        findings=("The corrected speed is V_min + 4L(32 tau^2 G^2 + sigma^2)/(3 mu^2).",),
    ),
)
