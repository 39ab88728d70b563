"""Theorems that fail where nobody looks: after many steps, where the arguments of a Max balance, on one loss."""

import sympy as sp

from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import (
    Delta_0,
    Delta_T,
    G_sq,
    L,
    N,
    T,
    drift,
    eta,
    eta_ratio,
    gamma,
    mu,
    sigma_p_sq,
    sigma_sq,
    t,
    tau,
)

CONVEX = (a.smooth, a.strongly_convex, a.bounded_variance, a.full_participation, a.unbiased)


def draft(key, scope, lhs, term, assumptions, **rest):
    """A claim of one term."""
    return Claim(
        key=key,
        title=key,
        source="a draft",
        scope=scope,
        lhs=lhs,
        terms={"bound": term},
        assumptions=assumptions,
        **rest,
    )


def floor(divisor):
    """The noise floor of a constant step at half its size: passed after ever more steps as the step shrinks."""
    step = 1 / (divisor * L)
    spread = (1 - step * mu) * step**2 * (L - mu) * (tau - 1) ** 2 * G_sq / (2 * mu * (2 - step * mu))
    bound = (1 - step * mu) ** (2 * T) * Delta_0 + spread + step * sigma_p_sq / (2 * mu)
    return draft(f"half-floor-{divisor}", "horizon", Delta_T, bound, (*CONVEX, a.bounded_gradient), eta=step)


# True up to tau = 17.
LINEAR = draft(
    "linear-in-tau",
    "step",
    drift,
    16 * (tau - 1) * eta**2 * G_sq,
    (a.bounded_gradient, a.full_participation, a.equal_steps),
)
# Fails in a window of one hundredth of w_0.
BALANCED = draft(
    "three-halves",
    "horizon",
    Delta_T,
    sp.Max(gamma * Delta_0, sp.Rational(3, 2) * (sigma_p_sq + (tau - 1) ** 2 * G_sq) / mu**2) / (gamma + T),
    (*CONVEX, a.bounded_gradient),
    definitions={gamma: sp.Max(8 * L / mu, tau)},
    eta=2 / (mu * (gamma + t)),
)
ONE_LOSS = (*CONVEX, a.equal_p, a.identical, a.steps_up_to_2_over_L_plus_mu)
NO_TAU = draft("identical-no-tau", "step", drift, (1 - 1 / N) * eta_ratio**2 * eta**2 * sigma_sq, ONE_LOSS)
step = 1 / (4 * L)
L_FOR_MU = draft(
    "identical-L-for-mu",
    "step",
    drift,
    (1 - 1 / N) * step * sigma_sq * (1 - (1 - step * L) ** (2 * (tau - 1))) / (L * (2 - step * L)),
    ONE_LOSS,
    eta=step,
)
SEEN = (LINEAR, floor(16), NO_TAU, L_FOR_MU)
SOUGHT = (BALANCED,)
CLAIMS = (BALANCED, *SEEN)
