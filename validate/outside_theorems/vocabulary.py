"""What the statements speak of beside the shipped quantities: quantities and assumptions of one's own.

Quantities are expressions of points where these can say them; they were functions of a path until that was possible.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.points import F_i, F_i_star, mean_alpha, w_star
from fedbounds.theory.quantity import constant, largest, measured, scheduled
from fedbounds.theory.symbols import L, N, eta_0, gamma, mu, t, tau
from validate.outside_theorems import formulas as f
from validate.outside_theorems import quadratics

CONVEX = (a.smooth, a.strongly_convex)
NOISY = (*CONVEX, a.bounded_variance)
EVERYBODY = (a.full_participation, a.unbiased)
LOCAL_GD = (*CONVEX, a.full_gradients, *EVERYBODY)
SAMPLED = (a.equal_selection, a.unbiased, a.equal_p)
ZERO, HALF = sp.Integer(0), sp.Rational(1, 2)
KEPT = 1 - eta_0 * mu
# gamma is free in 1/(mu (t + gamma)): the first step size says which it is.
FREE = {"definitions": {gamma: 1 / (mu * eta_0)}, "eta": 1 / (mu * (t + gamma))}


def statement(key: str, title: str, scope: Any, lhs: Any, rhs: Any, *assumed: Assumption, **more: Any) -> Claim:
    """lhs <= rhs; the right side is one term or several by name."""
    terms = rhs if isinstance(rhs, dict) else {"bound": rhs}
    return Claim(key, title, "an outsider", scope, lhs, terms, assumptions=assumed, **more)


def up_to(limit: sp.Expr) -> sp.Expr:
    """A constant step size of at most ``limit``."""
    return sp.Min(eta_0, limit)


bent = constant("bent", quadratics.bends, meaning="whether some F_i is not quadratic")
uncommon = constant("uncommon", quadratics.hessians_differ, meaning="whether Hessians of quadratics differ")
dimension = constant("dimension", lambda losses: len(losses.w_star), meaning="d")
quadratic = Assumption("quadratic", "every F_i is quadratic", sp.Eq(bent, 0))
common_hessian = Assumption(
    "common-hessian", "the F_i are quadratics with one Hessian", (sp.Eq(bent, 0), sp.Eq(uncommon, 0))
)
one_step = Assumption("one-step", "tau = 1", sp.Eq(tau, 1))
several_steps = Assumption("several-steps", "tau >= 2", sp.Ge(tau, 2))
several_clients = Assumption("several-clients", "N >= 2", sp.Ge(N, 2))

begun = scheduled("begun", lambda path: path.begun, meaning="first step of the round")
skew_now = measured(
    "skew_now",
    lambda path: f.a_ratio((path.alpha * f.gaps(path)).sum(-1), f.gaps(path) @ path.losses.p),
    meaning="rho(w_t)",
)
at_optimum = measured("at_optimum", mean_alpha(F_i(w_star) - F_i_star))
limit_distance_sq = largest(
    "limit_distance_sq",
    lambda path: f.norm_sq(quadratics.limit(path) - path.losses.w_star),
    meaning="||w_inf - w*||^2",
)
limit_gap = largest("limit_gap", lambda path: path.losses.gap(quadratics.limit(path)), meaning="F(w_inf) - F*")
kappa = L / mu
