"""Ten textbook statements about whole runs, written before the prover was tried on them, and false neighbours."""

import sympy as sp

from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as s
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim

SMOOTH = (a.smooth, a.strongly_convex)
ALL = (a.full_participation, a.unbiased)
ONE = Assumption("one-step", "tau = 1", sp.Eq(s.tau, 1))
GD = (*SMOOTH, *ALL, a.full_gradients, ONE)
SGD = (*SMOOTH, *ALL, a.bounded_variance, ONE)
LOCAL = (*SMOOTH, *ALL, a.bounded_variance, a.bounded_gradient)
KEPT = 1 - s.eta_0 * s.mu
TWICE_KAPPA = Assumption("gamma", "gamma >= 2 kappa", sp.Le(s.eta_0 * s.L, 1))


def up_to(limit):
    """Any constant step of at most ``limit``."""
    return {"eta": sp.Min(s.eta_0, limit)}


STATEMENTS = {
    "contraction": (s.Delta_T, KEPT ** (2 * s.T) * s.Delta_0, GD, up_to(2 / (s.L + s.mu))),
    "gap": (s.gap, s.L / 2 * KEPT ** (2 * s.T) * s.Delta_0, GD, up_to(1 / s.L)),
    "last-iterate": (s.gap, s.Delta_0 / (2 * s.eta_0 * s.T), GD, up_to(1 / s.L)),
    "floor": (
        s.Delta_T,
        KEPT ** (2 * s.T) * s.Delta_0 + s.eta_0 * s.sigma_p_sq / (s.mu * (2 - s.eta_0 * s.mu)),
        SGD,
        up_to(2 / (s.L + s.mu)),
    ),
    "product": (
        s.Delta_T,
        ((s.gamma - 1) * (s.gamma - 2) * s.Delta_0 + 4 * s.T * s.sigma_p_sq / s.mu**2)
        / ((s.T + s.gamma - 1) * (s.T + s.gamma - 2)),
        (*SGD, TWICE_KAPPA),
        {"eta": 2 / (s.mu * (s.t + s.gamma)), "definitions": {s.gamma: 2 / (s.mu * s.eta_0)}},
    ),
    "sum": (s.gap_sum, s.Delta_0 / (2 * s.eta_0) + s.T * s.eta_0 * s.sigma_p_sq / 2, SGD, up_to(1 / s.L)),
    "average": (
        s.average_gap,
        s.Delta_0 / (s.eta_0 * s.T) + s.eta_0 * s.sigma_sq / s.N,
        (*SGD, a.equal_p),
        up_to(1 / (2 * s.L)),
    ),
    "local-floor": (
        s.Delta_T,
        KEPT**s.T * s.Delta_0 + s.eta_0 / s.mu * (s.sigma_p_sq + 6 * s.L * s.Gamma + 8 * (s.tau - 1) ** 2 * s.G_sq),
        LOCAL,
        up_to(1 / (4 * s.L)),
    ),
    "common-minimiser": (
        s.Delta_T,
        KEPT ** (2 * s.T) * s.Delta_0,
        (*SMOOTH, *ALL, a.full_gradients, a.homogeneous),
        up_to(2 / (s.L + s.mu)),
    ),
    "any-weights": (
        s.Delta_T,
        KEPT**s.T * s.Delta_0 + 2 * s.rho_tilde * s.Gamma / s.mu,
        (*SMOOTH, a.full_participation, a.full_gradients, ONE),
        up_to(1 / s.L),
    ),
    "bounded-gradients": (
        s.Delta_T,
        4 * s.G_sq / (s.mu**2 * (s.T + 1)),
        (*ALL, a.strongly_convex, a.bounded_gradient, ONE),
        {"eta": 2 / (s.mu * (s.t + 2))},
    ),
}


def claim(name, share=1, without=()):
    """A statement as a claim; with a smaller share of its bound, or without an assumption, it is false."""
    left, right, assumed, more = STATEMENTS[name]
    assumed = tuple(item for item in assumed if item.key not in without)
    return Claim(name, name, "a textbook", "horizon", left, {"all": share * right}, assumptions=assumed, **more)
