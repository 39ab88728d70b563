"""What the horizon bounds share: steps 1/(mu(t + gamma)), a capped skew, the induction, and the last line."""

import sympy as sp

from ._setting import *

r = sp.Symbol("r", positive=True)
R = sp.Symbol("R", nonnegative=True)
above_four = sp.Symbol("above_four", nonnegative=True)
below_cap = sp.Symbol("below_cap", nonnegative=True)
k = t + gamma

FOUR_STEP = step("four", 4, "<=", gamma).by((4 / mu, premise("curvatures")), note="gamma = 4L/mu")
FOUR = Condition(above_four, Earlier("four"))
CAPPED = Condition(below_cap, Earlier("cap"))
UNDER_RHO, OVER_TILDE, OVER_R = Extreme(r, rho_bar), Extreme(R, rho_tilde), Extreme(R, r)
RHO_POSITIVE = step("rho-positive", rho_bar, ">", 0).by(premise("positive-rho_bar"))
QUARTER = step("small", 0, "<", 1 - eta * L).by(
    ((4 * t + 3 * gamma) / (4 * k), ONE), note="eta_t L <= L/(mu gamma) = 1/4"
)


def capped(cap: sp.Expr, *uses: Written) -> tuple[Step, ...]:
    """gamma >= 4, positivity of the capped skew r = min(rho_bar, cap), and r <= cap."""
    return (
        FOUR_STEP,
        RHO_POSITIVE,
        step("cap-positive", cap, ">", 0).by(*uses),
        step("cap", r, "<=", cap).by(Extreme(r, cap)),
    )


def fixed_point(share: sp.Expr) -> sp.Expr:
    """2 Gamma (R - r)/(mu share): where the recursion comes to rest."""
    return 2 * Gamma * (R - r) / (mu * share)


def summed(v: sp.Expr, share: sp.Expr, base: tuple[Written, ...], carry: tuple[Written, ...]) -> tuple[Step, ...]:
    """Delta_T <= v/(T + gamma) + the fixed point, by induction from the step ``recursion``; and smoothness at w_T."""
    rest = fixed_point(share)
    return (
        step("base", Delta_0, "<=", v / gamma + rest).by(*base, (2 * Gamma / (mu * share), OVER_R)),
        step("carry", Delta_next, "<=", v / (k + 1) + rest).by(
            Earlier("recursion"), *carry, (v / (k**2 * (k + 1)), ONE)
        ),
        step("all", Delta_T, "<=", v / (T + gamma) + rest).by(Induction("base", "carry")),
        SMOOTHNESS,
    )


SMOOTHNESS = step("smooth", gap, "<=", L / 2 * Delta_T).by(
    averaged(P, smooth(W_STAR, W_T, "L-smoothness of F_i from w* to w_T")), (-1, optimal(W_T - W_STAR))
)
HYPOTHESIS = Hypothesis("all")
BOTH = (Earlier("smooth"), (L / 2, Earlier("all")))
