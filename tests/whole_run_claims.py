"""Ten textbook statements about whole runs, written before the prover was tried on them, and false neighbours."""

import sympy as sp

from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import (
    Delta_0,
    Delta_T,
    G_sq,
    Gamma,
    L,
    N,
    T,
    average_gap,
    eta_0,
    gamma,
    gap,
    gap_sum,
    mu,
    rho_tilde,
    sigma_p_sq,
    sigma_sq,
    t,
    tau,
)

SMOOTH = (a.smooth, a.strongly_convex)
ALL = (a.full_participation, a.unbiased)
ONE = Assumption("one-step", "tau = 1", sp.Eq(tau, 1))
GD = (*SMOOTH, *ALL, a.full_gradients, ONE)
SGD = (*SMOOTH, *ALL, a.bounded_variance, ONE)
LOCAL = (*SMOOTH, *ALL, a.bounded_variance, a.bounded_gradient)
KEPT = 1 - eta_0 * mu
TWICE_KAPPA = Assumption("gamma", "gamma >= 2 kappa", sp.Le(eta_0 * L, 1))


def up_to(limit):
    """Any constant step of at most ``limit``."""
    return {"eta": sp.Min(eta_0, limit)}


STATEMENTS = {
    "contraction": (Delta_T, KEPT ** (2 * T) * Delta_0, GD, up_to(2 / (L + mu))),
    "gap": (gap, L / 2 * KEPT ** (2 * T) * Delta_0, GD, up_to(1 / L)),
    "last-iterate": (gap, Delta_0 / (2 * eta_0 * T), GD, up_to(1 / L)),
    "floor": (
        Delta_T,
        KEPT ** (2 * T) * Delta_0 + eta_0 * sigma_p_sq / (mu * (2 - eta_0 * mu)),
        SGD,
        up_to(2 / (L + mu)),
    ),
    "product": (
        Delta_T,
        ((gamma - 1) * (gamma - 2) * Delta_0 + 4 * T * sigma_p_sq / mu**2) / ((T + gamma - 1) * (T + gamma - 2)),
        (*SGD, TWICE_KAPPA),
        {"eta": 2 / (mu * (t + gamma)), "definitions": {gamma: 2 / (mu * eta_0)}},
    ),
    "sum": (gap_sum, Delta_0 / (2 * eta_0) + T * eta_0 * sigma_p_sq / 2, SGD, up_to(1 / L)),
    "average": (
        average_gap,
        Delta_0 / (eta_0 * T) + eta_0 * sigma_sq / N,
        (*SGD, a.equal_p),
        up_to(1 / (2 * L)),
    ),
    "local-floor": (
        Delta_T,
        KEPT**T * Delta_0 + eta_0 / mu * (sigma_p_sq + 6 * L * Gamma + 8 * (tau - 1) ** 2 * G_sq),
        LOCAL,
        up_to(1 / (4 * L)),
    ),
    "common-minimiser": (
        Delta_T,
        KEPT ** (2 * T) * Delta_0,
        (*SMOOTH, *ALL, a.full_gradients, a.homogeneous),
        up_to(2 / (L + mu)),
    ),
    "any-weights": (
        Delta_T,
        KEPT**T * Delta_0 + 2 * rho_tilde * Gamma / mu,
        (*SMOOTH, a.full_participation, a.full_gradients, ONE),
        up_to(1 / L),
    ),
    "bounded-gradients": (
        Delta_T,
        4 * G_sq / (mu**2 * (T + 1)),
        (*ALL, a.strongly_convex, a.bounded_gradient, ONE),
        {"eta": 2 / (mu * (t + 2))},
    ),
}


def claim(name, share=1, without=()):
    """A statement as a claim; with a smaller share of its bound, or without an assumption, it is false."""
    left, right, assumed, more = STATEMENTS[name]
    assumed = tuple(item for item in assumed if item.key not in without)
    return Claim(name, name, "a textbook", "horizon", left, {"all": share * right}, assumptions=assumed, **more)
