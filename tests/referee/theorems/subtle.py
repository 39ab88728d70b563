"""Theorems that fail where nobody looks: after many steps, where the arguments of a Max balance, on one loss."""

import sympy as sp

from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as s
from fedbounds.theory.claim import Claim

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
    step = 1 / (divisor * s.L)
    spread = (1 - step * s.mu) * step**2 * (s.L - s.mu) * (s.tau - 1) ** 2 * s.G_sq / (2 * s.mu * (2 - step * s.mu))
    bound = (1 - step * s.mu) ** (2 * s.T) * s.Delta_0 + spread + step * s.sigma_p_sq / (2 * s.mu)
    return draft(f"half-floor-{divisor}", "horizon", s.Delta_T, bound, (*CONVEX, a.bounded_gradient), eta=step)


# True up to tau = 17.
LINEAR = draft(
    "linear-in-tau",
    "step",
    s.drift,
    16 * (s.tau - 1) * s.eta**2 * s.G_sq,
    (a.bounded_gradient, a.full_participation, a.equal_steps),
)
# Fails in a window of one hundredth of w_0.
BALANCED = draft(
    "three-halves",
    "horizon",
    s.Delta_T,
    sp.Max(s.gamma * s.Delta_0, sp.Rational(3, 2) * (s.sigma_p_sq + (s.tau - 1) ** 2 * s.G_sq) / s.mu**2)
    / (s.gamma + s.T),
    (*CONVEX, a.bounded_gradient),
    definitions={s.gamma: sp.Max(8 * s.L / s.mu, s.tau)},
    eta=2 / (s.mu * (s.gamma + s.t)),
)
ONE_LOSS = (*CONVEX, a.equal_p, a.identical, a.steps_up_to_2_over_L_plus_mu)
NO_TAU = draft("identical-no-tau", "step", s.drift, (1 - 1 / s.N) * s.eta_ratio**2 * s.eta**2 * s.sigma_sq, ONE_LOSS)
step = 1 / (4 * s.L)
L_FOR_MU = draft(
    "identical-L-for-mu",
    "step",
    s.drift,
    (1 - 1 / s.N) * step * s.sigma_sq * (1 - (1 - step * s.L) ** (2 * (s.tau - 1))) / (s.L * (2 - step * s.L)),
    ONE_LOSS,
    eta=step,
)
SEEN = (LINEAR, floor(16), NO_TAU, L_FOR_MU)
SOUGHT = (BALANCED,)
CLAIMS = (BALANCED, *SEEN)
