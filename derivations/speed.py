"""The speed's least value, and its value under FedAvg with the paper's misprint."""

import sympy as sp

from fedbounds.claims.corollary import SPEED, V_MIN
from fedbounds.theory import assumptions as a

from ._setting import *

FLOOR, FEDAVG = claim("speed-floor"), claim("fedavg-speed")
ABOVE_P, UNDER_ONE = Slack(sp.Symbol("above_p"), I), Slack(sp.Symbol("under_one"), I)
total = sp.Symbol("total", positive=True)
AT_ONE, MISPRINT = SPEED["noise"].subs(rho_bar, 1), FEDAVG.terms["noise"]
HALF = sp.Rational(1, 2)
# Both clients pull equally, so every model starts each round at 0: G^2 = 1, sigma^2 = 0.
OPPOSITE = UnitQuadratics((sp.Integer(1), sp.Integer(-1)), (HALF, HALF), (HALF, HALF), sp.Integer(0))

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
                (1 / total, averaged(P, (objects.excess(rho), Earlier("ratio")))),
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
        notation={"total": r"\sum_i p_i e_i(w)", "under_one": r"(1-\alpha_t^i)", "above_p": r"(p_i-\min_j p_j)"},
        findings=("rho_bar is never arbitrarily large: it is at most 1/min p.",),
    ),
    proof(
        FLOOR,
        "V_min is not reached: the speed exceeds it at every reachable rho_bar",
        refutes=True,
        exhibit=OPPOSITE,
        steps=(
            step("excess", FLOOR.lhs, "=", FLOOR.rhs + SPEED["noise"].subs(rho_bar, 1 / p_min)).by(
                note="at rho_bar = 1/min p, its largest value"
            ),
            conclude(FLOOR, ">").by(
                Exhibited(),
                note="at rho_bar = 1/min p, its largest value, the noise term is 4L min p (32 tau^2 G^2 + sigma^2)"
                "/(3 mu^2) > 0",
            ),
        ),
        findings=("The gap to V_min is 4L min p (32 tau^2 G^2 + sigma^2)/(3 mu^2), zero only if every gradient is.",),
    ),
    proof(
        FEDAVG,
        "The speed under FedAvg: a misprint",
        refutes=True,
        exhibit=OPPOSITE,
        steps=(
            step("corrected", FEDAVG.lhs, "=", sp.Add(*V_MIN.values()) + AT_ONE).by(
                paper=Display(
                    sp.Add(*V_MIN.values()) + MISPRINT,
                    AT_ONE - MISPRINT,
                    "the product 4L (32 tau^2 G^2 + sigma^2) became 4L - 32 tau^2 G^2 + sigma^2",
                )
            ),
            conclude(FEDAVG, "!=").by(
                Exhibited(),
                note="on F_i = (w -/+ 1)^2/2 with tau = 1, where G^2 = 1 and sigma^2 = 0, the speeds differ by 52",
            ),
        ),
        findings=("The corrected speed is V_min + 4L(32 tau^2 G^2 + sigma^2)/(3 mu^2).",),
    ),
)
