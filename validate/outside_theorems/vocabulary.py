"""What the statements speak of beside the shipped symbols: quantities and assumptions of one's own."""

from __future__ import annotations

from typing import Any

import sympy as sp

from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
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

p_sq = constant("p_sq", lambda losses: (losses.p**2).sum(), meaning="sum_i p_i^2")
begun = scheduled("begun", lambda path: path.begun, meaning="first step of the round")
k = scheduled("k", lambda path: path.t - path.begun, meaning="local steps of the round so far", nonnegative=True)
slope_sq = measured("slope_sq", f.slopes, meaning="sum_i p_i ||grad F_i(w)||^2")
mean_slope_sq = measured(
    "mean_slope_sq",
    lambda path: f.norm_sq(f.mean(path.losses.p, path.losses.grads(path.w))),
    meaning="||grad F(w)||^2",
)
deviation_sq = measured(
    "deviation_sq",
    lambda path: ((path.alpha - path.losses.p) ** 2 / path.losses.p).sum(-1),
    meaning="chi^2 of the weights",
)
displaced_sq = measured(
    "displaced_sq", lambda path: f.norm_sq(f.minimisers(path) - path.losses.w_star), meaning="||w_alpha - w*||^2"
)
displaced_gap = measured("displaced_gap", lambda path: path.losses.gap(f.minimisers(path)), meaning="F(w_alpha) - F*")
mean_excess = measured(
    "mean_excess", lambda path: path.losses.excess(path.w) @ path.losses.p, meaning="F(w) - sum_i p_i F_i*"
)
dispersion = measured(
    "dispersion",
    lambda path: f.norm_sq(path.X - f.average(path)[:, None]) @ path.losses.p,
    meaning="sum_i p_i ||w_i - wbar||^2",
)
average_models_gap = measured(
    "average_models_gap", lambda path: path.losses.gap(f.average(path)), meaning="F(wbar) - F*"
)
skew_now = measured(
    "skew_now",
    lambda path: f.a_ratio((path.alpha * f.gaps(path)).sum(-1), f.gaps(path) @ path.losses.p),
    meaning="rho(w_t)",
)
at_optimum = measured(
    "at_optimum", lambda path: path.alpha @ path.losses.excess(path.losses.w_star), meaning="sum_i alpha_i e_i(w*)"
)
spread_of_optima = constant(
    "spread_of_optima",
    lambda losses: f.norm_sq(losses.w_i_star - f.mean(losses.p, losses.w_i_star)) @ losses.p,
    meaning="V = sum_i p_i ||w_i* - wt||^2",
)
optimum_to_mean = constant(
    "optimum_to_mean",
    lambda losses: f.norm_sq(losses.w_star - f.mean(losses.p, losses.w_i_star)),
    meaning="||w* - wt||^2",
)
optimum_spread = constant(
    "optimum_spread", lambda losses: f.norm_sq(losses.w_i_star - losses.w_star) @ losses.p, meaning="D"
)
limit_distance_sq = largest(
    "limit_distance_sq",
    lambda path: f.norm_sq(quadratics.limit(path) - path.losses.w_star),
    meaning="||w_inf - w*||^2",
)
limit_gap = largest("limit_gap", lambda path: path.losses.gap(quadratics.limit(path)), meaning="F(w_inf) - F*")
kappa = L / mu
