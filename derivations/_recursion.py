"""What the horizon bounds share: steps 1/(mu(t + gamma)), gamma = 4L/mu, a capped skew, and the last line."""

from __future__ import annotations

import sympy as sp

from fedbounds.evidence.symbolic.algebra import Mean, norm_sq
from fedbounds.evidence.symbolic.derivation import Condition, Extreme, Premise, Smooth, Step, averaged, step
from fedbounds.theory.symbols import L, eta, gamma, gap, mu, rho_bar, rho_tilde, t

from ._setting import F_STAR, F_W, HERE, NOTATION, ONE, OPTIMUM, W_STAR, P, W, optimal

r = sp.Symbol("r", positive=True)
R = sp.Symbol("R", nonnegative=True)
Delta_T = sp.Symbol("Delta_T", nonnegative=True)
above_four = sp.Symbol("above_four", nonnegative=True)
below_cap = sp.Symbol("below_cap", nonnegative=True)
k = t + gamma

# L = mu gamma/4 is the definition of gamma.
MEANING = {
    eta: 1 / (mu * k),
    L: mu * gamma / 4,
    gap: Mean(P, F_W - F_STAR),
    Delta_T: norm_sq(W - W_STAR),
}
WORDS = NOTATION | {"w": "w_T", "Delta_T": r"\mathbb{E}\Vert w_T-w^\star\Vert^2", "R": "R", "r": "r"}
FOUR = Condition("curvatures", above_four, gamma - 4, "gamma = 4L/mu >= 4")
RHO_POSITIVE = Premise("positive-rho_bar", rho_bar, "rho_bar > 0", "positive")
UNDER_RHO = Extreme(r, rho_bar, sp.Min)
OVER_TILDE = Extreme(R, rho_tilde, sp.Max)
OVER_R = Extreme(R, r, sp.Max)


def under(cap: sp.Expr) -> Condition:
    """The condition r <= cap, shown by the step labelled cap."""
    return Condition("step:cap", below_cap, cap - r, "r is capped")


def capped(cap: sp.Expr, factor: sp.Expr) -> tuple[Step, ...]:
    """Positivity of the capped skew r = min(rho_bar, cap), cap = factor (gamma - 1), and r <= cap."""
    return (
        step("rho-positive", rho_bar, ">", 0, RHO_POSITIVE),
        step("cap-positive", cap, ">", 0, (3 * factor, ONE), (factor * above_four, ONE)),
        step("cap", r, "<=", cap, Extreme(r, cap, sp.Min)),
    )


SMOOTHNESS = step(
    "smooth",
    gap,
    "<=",
    L / 2 * Delta_T,
    averaged(P, Smooth(OPTIMUM, HERE, "L-smoothness of F_i from w* to w_T")),
    (-1, optimal(W - W_STAR)),
)
QUARTER = step(
    "small",
    0,
    "<=",
    1 - eta * L,
    ((4 * t + 3 * gamma) / (4 * k), ONE),
    note="eta_t L <= L/(mu gamma) = 1/4",
)
