"""Lemma 2: under slowly shrinking steps, and for steps 1/(mu(t + gamma)) with no further condition."""

import sympy as sp

from fedbounds.theory import assumptions as a

from ._setting import *

CLAIM = claim("lemma-2")
left = sp.Symbol("left", nonnegative=True)
LENGTH = Condition(left, premise("round"))
LATE = Slack(sp.Symbol("late"), S)
TIMES = Condition(LATE, premise("round-times"))
DECAY = Slack(sp.Symbol("decay"), S)
MOVE = Mean(U, ETA_S**2 * norm_sq(G_S))
A_SQUARE = Square(G_S, "a squared norm")
TO_START = (
    step("variance", drift, "<=", Mean(ALPHA, norm_sq(X - START))).by(
        Square(W - START, "a variance is at most a second moment about any point")
    ),
    step("jensen", norm_sq(X - START), "<=", n**2 * MOVE).by(
        (-1, premise("local-steps", X - START - MOVED)),
        (n**2, averaged(U, Square(ETA_S * G_S - Centre(U, ETA_S * G_S), "Jensen: a variance over the steps"))),
    ),
    step("moment", Mean(U, norm_sq(G_S)), "<=", G_sq).by(averaged(U, premise("bounded-gradient", X_S))),
)
COUNT = step("count", n**2, "<=", tau**2).by(((left + 1) * (tau + n), ONE))
INSIDE = step("count", n**2, "<=", (tau - 1) ** 2).by(
    (left * (left + 2 * n), ONE), note="n <= tau - 1 steps were taken"
)


def slow_steps(factor: sp.Expr | int, count: Step, most: sp.Expr, note: str, of: sp.Expr = drift) -> tuple[Step, ...]:
    """The drift, or the second moment about the round's start, where earlier steps are at most ``factor`` eta_t.

    With n^2 <= most, by the step ``count``.
    """
    square = factor**2 * eta**2
    return (
        *TO_START,
        count,
        step("slow", MOVE, "<=", square * Mean(U, norm_sq(G_S))).by(
            averaged(U, (DECAY * (factor * eta + ETA_S), A_SQUARE)), note=note
        ),
        step("conclude", of, "<=", square * most * G_sq).by(
            *((Earlier("variance"),) if of == drift else ()),
            averaged(ALPHA, Earlier("jensen"), (n**2, Earlier("slow")), (square * n**2, Earlier("moment"))),
            (square * G_sq, Earlier("count")),
        ),
    )


def decays(key: str) -> tuple[Condition, Condition]:
    """The conditions of ``slow_steps``: the round's length, and the assumption on how steps shrink."""
    return LENGTH, Condition(DECAY, premise(key))


def near(label: str, at: sp.Expr, moment: Premise, noise: sp.Expr) -> Step:
    """Visited points are near each client's own minimiser, where G bounds the gradient."""
    away = at - OWN
    return step(label, norm_sq(away), "<=", G_sq / mu**2).by(
        (1 / mu**2, moment),
        (1 / mu**2, Square(noise, "the variance of the gradient")),
        (1 / mu**2, Square(grad(at) - mu * away, "Cauchy-Schwarz: a square")),
        (2 / mu, convex(OWN, at, "mu-convexity from w_i*")),
        (2 / mu, convex(at, OWN, "mu-convexity to w_i*")),
        (2 / mu, premise("own-optimum", away)),
    )


CLOCK = t + gamma


def schedule_steps(theta: sp.Rational, lhs: sp.Expr, rhs: sp.Expr, constant: int, *first: Fact) -> tuple[Step, ...]:
    """Two cases: t + gamma <= theta tau, where the ball is small, and the rest, where steps shrink slowly.

    In the second eta_s <= theta/(theta - 1) eta_t, since s + gamma >= t + gamma - tau + 1. ``first`` bounds the left
    side by the second moment about the round's start.
    """
    ratio, low, high = theta / (theta - 1), sp.Symbol("low", nonnegative=True), sp.Symbol("high", nonnegative=True)
    # ratio m_s - (t + gamma) = ratio (late + 1) + (ratio - 1)(t + gamma) - ratio tau, and
    # ratio/(ratio - 1) = theta.
    slack = ratio * (LATE + 1) + (ratio - 1) * high
    scale = G_sq / (mu**2 * CLOCK**2)
    pull = slack * (ratio * M_S + CLOCK) / M_S**2
    return (
        *TO_START,
        COUNT,
        near("near", X, SECOND_MOMENT, NOISE),
        near("near-start", START, premise("bounded-gradient", START), NOISE_0),
        step("triangle", norm_sq(X - START), "<=", 4 * G_sq / mu**2).by(
            Square(X - OWN + START - OWN, "Young: a square"), (2, Earlier("near")), (2, Earlier("near-start"))
        ),
        step("conclude", lhs, "<=", rhs).by(
            Cases(
                theta * tau - CLOCK,
                case(
                    low,
                    *first,
                    averaged(ALPHA, Earlier("triangle")),
                    (4 * scale * low * (theta * tau + CLOCK), ONE),
                    ((constant - 4 * theta**2) * scale * tau**2, ONE),
                ),
                case(
                    high,
                    *first,
                    averaged(ALPHA, Earlier("jensen"), (n**2 / (mu * CLOCK) ** 2, averaged(U, (pull, A_SQUARE)))),
                    (ratio**2 * n**2 / (mu * CLOCK) ** 2, averaged(ALPHA, Earlier("moment"))),
                    (ratio**2 * scale, Earlier("count")),
                    ((constant - ratio**2) * scale * tau**2, ONE),
                ),
            ),
            note=f"constant {constant}: {4 * theta**2} in the first case, {ratio**2} in the second",
        ),
    )


ETA = 1 / (mu * CLOCK)
ASSUMED = (a.full_participation, a.bounded_gradient, a.strongly_convex)
DERIVATIONS = (
    proof(
        CLAIM,
        "Discrepancy of the local models, for slowly shrinking steps",
        steps=slow_steps(
            4,
            COUNT,
            tau**2,
            "the condition the paper does not state: 16 eta_t^2 - eta_s^2 = (4 eta_t - eta_s)(4 eta_t + eta_s)",
        ),
        conditions=decays("slow-decay"),
        findings=("The condition eta_s <= 4 eta_t inside a round is needed, and not in the paper.",),
    ),
    Derivation(
        key="lemma-2-schedule",
        title="Lemma 2 for eta_t = 1/(mu(t + gamma)), every tau and every gamma > 0",
        claim="lemma-2",
        steps=schedule_steps(sp.Integer(2), CLAIM.lhs, CLAIM.rhs, 16, Earlier("variance")),
        assumes=(a.strongly_convex,),
        eta=ETA,
        conditions=(LENGTH, TIMES),
        findings=(
            "With eta_t = 1/(mu(t + gamma)) Lemma 2 holds for every tau and every gamma > 0: it needs no slow-decay.",
        ),
    ),
    Derivation(
        key="lemma-2-nine",
        title="Lemma 2 with constant 9 for eta_t = 1/(mu(t + gamma))",
        steps=schedule_steps(sp.Rational(3, 2), drift, 9 * eta**2 * tau**2 * G_sq, 9, Earlier("variance")),
        assumes=ASSUMED,
        eta=ETA,
        conditions=(LENGTH, TIMES),
        findings=("The same proof, its cases parted at t + gamma = 3 tau/2, gives the constant 9 for 16.",),
    ),
)
