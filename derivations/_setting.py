"""What proofs are written in: the words of every file here, facts by their points, and the steps that several share.

The words are the claims' symbols, the atoms and objects of proofs, and the kinds of facts and steps; a name that says
something else than was meant makes a step that does not check.
"""

from typing import Any

import sympy as sp

from fedbounds.evidence.symbolic import definitions
from fedbounds.evidence.symbolic.definitions import *
from fedbounds.evidence.symbolic.derivation import *
from fedbounds.plugins import claim_named as claim
from fedbounds.theory.assumption import Assumption, Part
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import *
from fedbounds.theory.vector_normal_form import normal
from fedbounds.theory.vectors import *

GRAD, GRAD_W, GRAD_STAR = grad(X), grad(W), grad(W_STAR)
F_X, F_W, F_STAR = loss(X), loss(W), loss(W_STAR)
E_X, E_W, E_STAR = (definitions.gap(point) for point in (X, W, W_STAR))
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
    end = at - grad(at) / L
    return smooth(at, end, "L-smoothness to the end of a gradient step"), premise("minimum", end)


def lemma_1(label: str, at: sp.Expr) -> Step:
    """||grad F_i||^2 <= 2 L e_i at a point."""
    uses = tuple((2 * L, fact) for fact in client_gap(at))
    return step(label, norm_sq(grad(at)), "<=", 2 * L * definitions.gap(at)).by(*uses)


def variance(weights: sp.Expr, vector: sp.Expr) -> Fact:
    """Jensen: the weighted variance of a vector is not negative."""
    return averaged(weights, Square(vector - Centre(weights, vector), "Jensen: a variance"))


EXPAND = step(
    "expand",
    Delta_next,
    "=",
    Delta - 2 * eta * Mean(ALPHA, Inner(GRAD, W - W_STAR)) + eta**2 * norm_sq(Centre(ALPHA, G)),
).by(note="definition of the step; the noise has mean zero given the past")
JENSEN = step("jensen", norm_sq(Centre(ALPHA, G)), "<=", Mean(ALPHA, norm_sq(G))).by(variance(ALPHA, G))
NOISY = step("noise", norm_sq(Centre(ALPHA, NOISE)), "<=", sigma_sq).by(
    variance(ALPHA, NOISE), averaged(ALPHA, VARIANCE)
)
CLIENT = step(
    "client", Inner(GRAD, W - W_STAR), ">=", F_W - F_STAR - L / 2 * norm_sq(W - X) + mu / 2 * norm_sq(X - W_STAR)
).by(smooth(X, W, "L-smoothness of F_i from w_t^i to w_t"), convex(X, W_STAR, "mu-convexity of F_i from w_t^i to w*"))
SPREADS = step("spread", SPREAD, "=", Delta + drift).by(note="w_t is the alpha-weighted mean of the w_t^i")


def skewed(growth: str) -> tuple[Step, Step]:
    """Two steps: F grows from w* (the step named ``growth``), and what rho_bar and rho_tilde make of it at w_t."""
    distance = Gamma + mu / 2 * Delta
    return (
        step(growth, Mean(P, E_W), ">=", distance).by(averaged(P, convex(W_STAR, W)), optimal(W - W_STAR)),
        step("skew", Mean(ALPHA, F_W - F_STAR), ">=", rho_bar * distance - rho_tilde * Gamma).by(
            RHO_BAR, RHO_TILDE, (rho_bar, Earlier(growth))
        ),
    )


def proof(of: Claim, title: str, **parts: Any) -> Derivation:
    """The derivation of a claim under the claim's key, in the repaired reading where it has one."""
    readings = ("repaired",) if "repaired" in of.readings else of.readings
    return Derivation(of.key, title, claim=of.key, **{"readings": readings, **parts})
