"""The repaired corollary with pi for the capped skew and Pi for rho_tilde, and the final bound in pi alone."""

import sympy as sp

from fedbounds.claims.corollary import CAPPED as CAPPED_SKEW
from fedbounds.claims.pi_inequalities import LAMBDA_1, LAMBDA_2

from ._recursion import *
from .pi_chain import MEETS, PI, PI_POSITIVE, TOTALS, WIDER, at_most, pi, total
from .star import UNDER_ONE

WITH_PI_MAX, CLAIM = claim("ratio-bound"), claim("final-bound")
CAP = next(argument for argument in CAPPED_SKEW.args if argument != rho_bar)
r_over, R_under = sp.Symbol("r_over", nonnegative=True), sp.Symbol("R_under", nonnegative=True)

STEPS = (
    *MEETS,
    at_most("rho-bar-under-Pi", rho_bar, total),
    UNDER_ONE,
    FOUR_STEP,
    step("cap-positive", CAP, ">", 0).by((8, ONE), (sp.Rational(8, 3) * above_four, ONE)),
    step("pi-under-cap", pi_min, "<=", CAP).by(Earlier("pi-under-one"), (7 + sp.Rational(8, 3) * above_four, ONE)),
    step("pi-under-r", pi_min, "<=", r).by(Every(r, ("rho-over-pi", "pi-under-cap"))),
    step("r-under-Pi", r, "<=", pi_max).by(Extreme(r, rho_bar), Earlier("rho-bar-under-Pi")),
    step("R-under-Pi", R, "<=", pi_max).by(Every(R, ("rho-under-Pi", "r-under-Pi"))),
    conclude(WITH_PI_MAX).by(
        Cited("corollary", {"positive-rho_bar": "rho-positive"}),
        (LAMBDA_1 / (T + gamma) * r_over / (pi * r), ONE),
        (LAMBDA_2 * (pi_max * r_over + R_under * pi) / (pi * r), ONE),
    ),
)
DERIVATIONS = (
    proof(
        WITH_PI_MAX,
        WITH_PI_MAX.title,
        steps=STEPS,
        abbreviations={r: sp.Min(rho_bar, CAP), R: sp.Max(rho_tilde, r)},
        conditions=(
            PI,
            *TOTALS,
            FOUR,
            Condition(r_over, Earlier("pi-under-r")),
            Condition(R_under, Earlier("R-under-Pi")),
        ),
        findings=("It holds without a cap: pi <= 1 <= 8(gamma - 1)/3, so pi is below the capped skew.",),
    ),
    proof(
        CLAIM,
        CLAIM.title,
        steps=(PI_POSITIVE, WIDER, conclude(CLAIM).by(Cited("ratio-bound"), (LAMBDA_2, Earlier("error")))),
        conditions=(PI,),
        findings=("It depends on min p and N too, not on pi alone.",),
    ),
)
