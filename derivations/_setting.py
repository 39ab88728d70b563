"""What the proofs write again and again: facts by their points, and the steps that several share."""

from __future__ import annotations

import sympy as sp

from fedbounds.evidence.symbolic.atoms import Centre, Inner, Mean, norm_sq
from fedbounds.evidence.symbolic.derivation import (
    Condition,
    Earlier,
    Fact,
    Premise,
    Square,
    Step,
    averaged,
    premise,
    step,
)
from fedbounds.evidence.symbolic.setting import ALPHA, NOISE, W_STAR, G, P, W, X, gap, grad, loss
from fedbounds.plugins import claim_named
from fedbounds.theory import symbols as sy
from fedbounds.theory.claim import Claim

GRAD, GRAD_W, GRAD_STAR = grad(X), grad(W), grad(W_STAR)
F_X, F_W, F_STAR = loss(X), loss(W), loss(W_STAR)
E_X, E_W, E_STAR = gap(X), gap(W), gap(W_STAR)
SPREAD = Mean(ALPHA, norm_sq(X - W_STAR))

RHO_BAR, RHO_TILDE = premise("rho-bar"), premise("rho-tilde")
SECOND_MOMENT, VARIANCE = premise("bounded-gradient", X), premise("bounded-variance", X)
ell = sp.Symbol("ell", nonnegative=True)
CURVATURES = Condition(ell, premise("curvatures"))
one_step = sp.Symbol("tau_1", nonnegative=True)
WHOLE = Condition(one_step, premise("whole-steps"))


def smooth(at: sp.Expr, to: sp.Expr, why: str = "L-smoothness of F_i") -> Premise:
    """The quadratic upper bound from one point to another."""
    return premise("smooth", at, to, why=why)


def convex(at: sp.Expr, to: sp.Expr, why: str = "mu-convexity of F_i") -> Premise:
    """The quadratic lower bound from one point to another."""
    return premise("strongly-convex", at, to, why=why)


def optimal(direction: sp.Expr) -> Premise:
    """<sum_i p_i grad F_i(w*), v> = 0."""
    return premise("optimum", direction)


def client_gap(at: sp.Expr) -> tuple[Fact, Fact]:
    """The two facts of Lemma 1 at a point: smoothness to the gradient step's end, which is above F_i*."""
    end = at - grad(at) / sy.L
    return smooth(at, end, "L-smoothness to the end of a gradient step"), premise("minimum", end)


def lemma_1(label: str, at: sp.Expr) -> Step:
    """||grad F_i||^2 <= 2 L e_i at a point."""
    uses = tuple((2 * sy.L, fact) for fact in client_gap(at))
    return step(label, norm_sq(grad(at)), "<=", 2 * sy.L * gap(at), *uses)


def variance(weights: sp.Expr, vector: sp.Expr) -> Fact:
    """Jensen: the weighted variance of a vector is not negative."""
    return averaged(weights, Square(vector - Centre(weights, vector), "Jensen: a variance"))


EXPAND = step(
    "expand",
    sy.Delta_next,
    "=",
    sy.Delta - 2 * sy.eta * Mean(ALPHA, Inner(GRAD, W - W_STAR)) + sy.eta**2 * norm_sq(Centre(ALPHA, G)),
    note="definition of the step; the noise has mean zero given the past",
)
JENSEN = step("jensen", norm_sq(Centre(ALPHA, G)), "<=", Mean(ALPHA, norm_sq(G)), variance(ALPHA, G))
NOISY = step(
    "noise", norm_sq(Centre(ALPHA, NOISE)), "<=", sy.sigma_sq, variance(ALPHA, NOISE), averaged(ALPHA, VARIANCE)
)
CLIENT = step(
    "client",
    Inner(GRAD, W - W_STAR),
    ">=",
    F_W - F_STAR - sy.L / 2 * norm_sq(W - X) + sy.mu / 2 * norm_sq(X - W_STAR),
    smooth(X, W, "L-smoothness of F_i from w_t^i to w_t"),
    convex(X, W_STAR, "mu-convexity of F_i from w_t^i to w*"),
)
SPREADS = step("spread", SPREAD, "=", sy.Delta + sy.drift, note="w_t is the alpha-weighted mean of the w_t^i")


def skewed(growth: str) -> tuple[Step, Step]:
    """Two steps: F grows from w* (the step named ``growth``), and what rho_bar and rho_tilde make of it at w_t."""
    distance = sy.Gamma + sy.mu / 2 * sy.Delta
    return (
        step(growth, Mean(P, E_W), ">=", distance, averaged(P, convex(W_STAR, W)), optimal(W - W_STAR)),
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


def right_side(claim: Claim, repaired: bool = True) -> sp.Expr:
    """The claim's right side: its terms, with the repair's substitutions."""
    put = dict(claim.repair.substitutions) if repaired and claim.repair else {}
    return sp.Add(*(sp.sympify(term).subs(put, simultaneous=True) for term in claim.terms.values()))


claim = claim_named
