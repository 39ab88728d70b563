"""One step of local SGD, after Koloskova et al. and, on one function, Stich: the mean gradient is split at w_t."""

import sympy as sp

from ._setting import *
from .li_2020 import ONE_STEP, QUARTER, quarter

CLAIM, SAME = map(claim, ("koloskova-2020-step", "stich-2019-step"))
SHARED = {item.label: item for item in ONE_STEP}
HERE, OF_F = Centre(ALPHA, GRAD_W), Centre(P, GRAD_W)
NOISY = Centre(ALPHA, NOISE)
END, LOWEST = W - (GRAD_W - GRAD) / L, W - OF_F / L

STEPS = (
    QUARTER,
    SHARED["expand"],
    SHARED["growth"],
    CLIENT,
    SPREADS,
    step("lipschitz", norm_sq(GRAD - GRAD_W), "<=", L**2 * norm_sq(W - X)).by(
        (2 * L, smooth(W, END, "L-smoothness from w_t to a common point")),
        (2 * L, convex(X, END, "mu-convexity from w_t^i to it")),
        (mu * L, Square(END - X)),
        (2 * L, smooth(X, W, "L-smoothness from w_t^i to w_t")),
    ),
    step("slope", norm_sq(OF_F), "<=", 2 * L * gap_t).by(
        (2 * L, averaged(P, smooth(W, LOWEST, "L-smoothness to the end of a gradient step of F"))),
        (2 * L, averaged(P, convex(W_STAR, LOWEST, "the end is above F*"))),
        (mu * L, Square(LOWEST - W_STAR)),
        (2 * L, optimal(LOWEST - W_STAR)),
    ),
)


def uses(spare: sp.Expr | int) -> tuple[Written, ...]:
    """What both claims combine, where ``spare`` of the descent is given away."""
    return (
        (eta**2, Earlier("variance")),
        (2 * eta, averaged(ALPHA, Earlier("client"))),
        (2 * eta**2, averaged(ALPHA, Earlier("lipschitz"))),
        (2 * eta**2, variance(ALPHA, GRAD - GRAD_W)),
        (eta**2, Square(Centre(ALPHA, GRAD) - 2 * HERE, "Young: a square")),
        (2 * eta**2, Earlier("slope")),
        (-2 * eta**2, premise("unbiased", Inner(GRAD_W, HERE + OF_F))),
        (eta * (2 - quarter) - spare, premise("unbiased", F_W - F_STAR)),
        (eta * quarter + spare, Earlier("growth")),
        (eta * (L * (quarter / 2 + spare / eta) + mu) * drift, ONE),
    )


DERIVATIONS = (
    proof(
        CLAIM,
        "One step of local SGD on different data",
        steps=(
            *STEPS,
            SHARED["variance"],
            conclude(CLAIM).by(*uses(0), note="with the identities expand and spread"),
        ),
        conditions=(Condition(quarter, Earlier("quarter")),),
    ),
    proof(
        SAME,
        "One step of local SGD on identical data",
        steps=(
            *STEPS,
            step("variance", norm_sq(NOISY), "<=", sigma_sq / N).by(
                (-1, premise("unbiased", Inner(NOISE, NOISY))),
                (-1, premise("unbiased", Inner(NOISE, Centre(P, NOISE)))),
                (-1, premise("independent-clients")),
                averaged(P, (SHARE, VARIANCE), (sigma_sq, premise("equal-p"))),
                note="the variance of a mean of N",
            ),
            conclude(SAME).by(*uses(eta / 2), note="with the identities expand and spread"),
        ),
        conditions=(Condition(quarter, Earlier("quarter")),),
        findings=("That the clients are identical is not needed: half of the descent and of the drift is to spare.",),
    ),
)
