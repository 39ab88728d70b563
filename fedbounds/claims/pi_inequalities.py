"""The inequalities in pi = min alpha_i/p_i and Pi = max alpha_i/p_i, and the final bound."""

from dataclasses import replace

import sympy as sp

from fedbounds.claims.corollary import ERROR, ETA, GAMMA, NOISE, SPEED, per_step
from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim, Role
from fedbounds.theory.symbols import *

LAMBDA_1 = NOISE * rho_bar
LAMBDA_2 = 8 * L * Gamma / (3 * mu)
SOURCE = "General framework"
POSITIVE = (a.positive_pi, a.positive_p, a.full_participation)


def _inequality(key: str, title: str, lhs: sp.Expr, term: sp.Expr, *assumptions: Assumption) -> Claim:
    return Claim(
        key=key,
        title=title,
        source=SOURCE,
        scope="constant",
        lhs=lhs,
        terms={"bound": term},
        assumptions=(*POSITIVE, *assumptions),
        definitions=GAMMA,
        readings=("literal", "repaired"),
        units="as written",
    )


PI_RATIO = _inequality("pi-ratio", "Skews against weight ratios", rho_tilde / rho_bar, pi_max / pi_min)
PI_INVERSE = _inequality("pi-inverse", "Smallest skew against pi", 1 / rho_bar, 1 / pi_min)
PI_MAX = _inequality("pi-max", "Largest ratio against pi", pi_max * p_min, 1 - (N - 1) * pi_min * p_min)
ERROR_BY_PI = _inequality("error-by-pi", "Error term against pi", ERROR, 1 / (pi_min * p_min) - N)

RATIO_BOUND = Claim(
    key="ratio-bound",
    title="Convergence bound in pi and Pi",
    source=f"{SOURCE}, the display with lambda_2 (Pi - pi)/pi",
    scope="horizon",
    lhs=gap,
    terms={
        **per_step({"noise": LAMBDA_1 / pi_min, **{k: SPEED[k] for k in ("heterogeneity", "start")}}),
        "error": LAMBDA_2 * (pi_max - pi_min) / pi_min,
    },
    assumptions=(*a.PAPER, *POSITIVE),
    definitions=GAMMA,
    eta=ETA,
    readings=("literal", "repaired"),
)
FINAL_BOUND = replace(
    RATIO_BOUND,
    key="final-bound",
    title="Convergence bound in pi alone",
    source=f"{SOURCE}, inequality (Finalbound)",
    terms={**RATIO_BOUND.terms, "error": LAMBDA_2 * (1 / (pi_min * p_min) - N)},
    remark="Depends on pi, but on min p and N as well.",
    roles=(Role.BOUND,),
)
CLAIMS = (PI_RATIO, PI_INVERSE, PI_MAX, ERROR_BY_PI, RATIO_BOUND, FINAL_BOUND)
