"""The objects every proof speaks of: clients, their functions at four points, and the premises of the setting."""

from __future__ import annotations

import sympy as sp

from fedbounds.evidence.symbolic.algebra import Centre, Inner, Mean, Noise, Value, Vec, Weights, norm_sq
from fedbounds.evidence.symbolic.derivation import (
    Condition,
    Convex,
    Earlier,
    Fact,
    Given,
    Jet,
    Premise,
    Smooth,
    Step,
    averaged,
    step,
)
from fedbounds.plugins import claim_named
from fedbounds.theory import symbols as sy
from fedbounds.theory.claim import Claim

I = sp.Symbol("i")
ALPHA = Weights(sp.Symbol("alpha_i"), I)
P = Weights(sp.Symbol("p_i"), I)


def vec(name: str, *indices: sp.Symbol) -> sp.Expr:
    """A named vector."""
    return Vec(sp.Symbol(name), *indices)


def value(name: str, *indices: sp.Symbol) -> sp.Expr:
    """A named scalar."""
    return Value(sp.Symbol(name), *indices)


X = vec("x", I)
W = vec("w")
W_NEXT = vec("w_next")
W_STAR = vec("w_star")
GRAD = vec("grad_x", I)
GRAD_W = vec("grad_w", I)
GRAD_STAR = vec("grad_star", I)
NOISE = Noise(sp.Symbol("noise"), I)
F_X, F_W, F_STAR, F_MIN = (value(name, I) for name in ("F_x", "F_w", "F_star", "F_min"))
E_W = F_W - F_MIN
E_STAR = F_STAR - F_MIN

LOCAL = Jet(X, F_X, GRAD)
HERE = Jet(W, F_W, GRAD_W)
OPTIMUM = Jet(W_STAR, F_STAR, GRAD_STAR)
G = GRAD + NOISE

MEANING = {
    W: Centre(ALPHA, X),
    W_NEXT: W - sy.eta * Centre(ALPHA, G),
    sy.Delta: norm_sq(W - W_STAR),
    sy.Delta_next: norm_sq(W_NEXT - W_STAR),
    sy.drift: Mean(ALPHA, norm_sq(W - X)),
    sy.Gamma: Mean(P, E_STAR),
}
NOTATION = {
    "alpha_i": r"\sum_i\alpha_t^i",
    "p_i": r"\sum_i p_i",
    "x": "w_t^i",
    "w": "w_t",
    "w_next": "w_{t+1}",
    "w_star": r"w^\star",
    "grad_x": r"\nabla F_i(w_t^i)",
    "grad_w": r"\nabla F_i(w_t)",
    "grad_star": r"\nabla F_i(w^\star)",
    "noise": r"\xi_t^i",
    "F_x": "F_i(w_t^i)",
    "F_w": "F_i(w_t)",
    "F_star": r"F_i(w^\star)",
    "F_min": r"F_i^\star",
}
MODEL = {
    "weights": "alpha_t is on the simplex, fixed at the start of the round, so independent of the round's noise",
    "unbiased-gradients": "g_i = grad F_i + noise, the noise of mean zero given the past",
}
SKEWS = {
    "rho-bar": "rho_bar <= rho(t, w_t) at this t, w_t being the alpha-weighted virtual iterate",
    "rho-tilde": "sum_i alpha_t^i e_i(w*) <= rho_tilde Gamma at this t",
    "whole-steps": "tau >= 1",
    "minimum": "F_i* is the minimum of F_i over R^d",
    "optimum": "w* minimises F = sum_i p_i F_i",
    "curvatures": "mu <= L, which Assumptions 1 and 2 imply at any two points",
}

RHO_BAR = Premise("rho-bar", Mean(ALPHA, E_W) - sy.rho_bar * Mean(P, E_W), "rho_bar <= rho(t, w_t)")
RHO_TILDE = Premise("rho-tilde", sy.rho_tilde * sy.Gamma - Mean(ALPHA, E_STAR), "rho(t, w*) <= rho_tilde")
SECOND_MOMENT = Premise("bounded-gradient", sy.G_sq - norm_sq(G), "E||g_i||^2 <= G^2")
VARIANCE = Premise("bounded-variance", sy.sigma_sq - norm_sq(NOISE), "E||noise||^2 <= sigma^2")
ONE = Given()

ell = sp.Symbol("ell", nonnegative=True)
CURVATURES = Condition("curvatures", ell, sy.L - sy.mu, "mu <= L")
one_step = sp.Symbol("tau_1", nonnegative=True)
WHOLE = Condition("whole-steps", one_step, sy.tau - 1, "tau >= 1")


def optimal(direction: sp.Expr) -> Fact:
    """<sum_i p_i grad F_i(w*), v> = 0."""
    return Premise("optimum", Inner(Centre(P, GRAD_STAR), direction), "sum_i p_i grad F_i(w*) = 0", "zero")


def skewed(growth: str) -> tuple[Step, Step]:
    """Two steps: F grows from w* (the step named ``growth``), and what rho_bar and rho_tilde make of it at w_t."""
    distance = sy.Gamma + sy.mu / 2 * sy.Delta
    grows = averaged(P, Convex(OPTIMUM, HERE, "mu-convexity of F_i from w* to w_t"))
    return (
        step(growth, Mean(P, E_W), ">=", distance, grows, optimal(W - W_STAR)),
        step(
            "skew",
            Mean(ALPHA, F_W - F_STAR),
            ">=",
            sy.rho_bar * distance - sy.rho_tilde * sy.Gamma,
            RHO_BAR,
            RHO_TILDE,
            (sy.rho_bar, Earlier(growth)),
        ),
    )


def client_gap(name: str, at: Jet) -> tuple[Fact, Fact]:
    """The two facts of Lemma 1 at a point: smoothness to the gradient step's end, which is above F_i*."""
    lower = Jet(at.point - at.gradient / sy.L, value(name, I))
    end = Smooth(at, lower, f"L-smoothness from {name[2:]} to the end of a gradient step")
    above = Premise("minimum", lower.value - F_MIN, "F_i* is the minimum of F_i")
    return end, above


def claim(key: str) -> Claim:
    """The claim of that key."""
    return claim_named(key)


def right_side(key: str, repaired: bool = True) -> sp.Expr:
    """The claim's right side: its terms, with the repair's substitutions."""
    found = claim_named(key)
    put = dict(found.repair.substitutions) if repaired and found.repair else {}
    return sp.Add(*(sp.sympify(term).subs(put, simultaneous=True) for term in found.terms.values()))
