"""Lemma 2: under slowly shrinking steps, and for steps 1/(mu(t + gamma)) with no further condition."""

import sympy as sp

from fedbounds.evidence.symbolic.algebra import Centre, Mean, Noise, Positive, Slack, Vec, Weights, norm_sq
from fedbounds.evidence.symbolic.derivation import (
    Cases,
    Condition,
    Convex,
    Derivation,
    Earlier,
    Jet,
    Premise,
    Square,
    Step,
    averaged,
    case,
    step,
)
from fedbounds.theory.symbols import G_sq, drift, eta, gamma, mu, t, tau

from ._setting import (
    ALPHA,
    LOCAL,
    MODEL,
    NOISE,
    NOTATION,
    ONE,
    SECOND_MOMENT,
    I,
    W,
    X,
    claim,
    value,
    vec,
)

CLAIM = claim("lemma-2")
S = sp.Symbol("s")
U = Weights(sp.Symbol("u_s"), S)
n = sp.Symbol("n", nonnegative=True)
left = sp.Symbol("left", nonnegative=True)
START, OWN = vec("w_0"), vec("w_own", I)
G_S = Vec(sp.Symbol("g"), I, S)
ETA_S = Positive(sp.Symbol("eta_s"), S)
DECAY = Slack(sp.Symbol("decay"), S)

MOMENT = Premise("bounded-gradient", G_sq - norm_sq(G_S), "E||g_i(w_s^i)||^2 <= G^2")
ROUND = Condition("round", left, tau - 1 - n, "at most tau - 1 steps of the round have been taken")
SLOW = Condition("slow-decay", DECAY, 4 * eta - ETA_S, "eta_s <= 4 eta_t for the earlier steps s of the round")
SETTING = {
    **MODEL,
    "round": "w_t^i = w_0 - sum_s eta_s g_i(w_s^i) over the n <= tau - 1 steps s of the round before t",
}
WORDS = NOTATION | {
    "u_s": r"\frac1n\sum_s",
    "w_0": "w_{t_0}",
    "w_own": "w_i^\\star",
    "g": "g_i(w_s^i)",
    "eta_s": r"\eta_s",
    "n": "n",
    "m_s": r"(s+\gamma)",
    "grad_0": r"\nabla F_i(w_{t_0})",
    "noise_0": r"\xi_{t_0}^i",
    "F_own": r"F_i^\star",
    "F_0": r"F_i(w_{t_0})",
}
MOVES = {W: Centre(ALPHA, X), drift: Mean(ALPHA, norm_sq(W - X))}


def opening(size: sp.Expr) -> tuple[Step, ...]:
    """The steps both proofs share, for local steps of the given size eta_s."""
    move = size * G_S
    return (
        step(
            "variance",
            drift,
            "<=",
            Mean(ALPHA, norm_sq(X - START)),
            Square(W - START, "a variance is at most a second moment about any point"),
        ),
        step(
            "jensen",
            norm_sq(X - START),
            "<=",
            n**2 * Mean(U, size**2 * norm_sq(G_S)),
            (n**2, averaged(U, Square(move - Centre(U, move), "Jensen: a variance over the steps"))),
        ),
        step("moment", Mean(U, norm_sq(G_S)), "<=", G_sq, averaged(U, MOMENT)),
        step("count", n**2, "<=", tau**2, ((left + 1) * (tau + n), ONE)),
    )


SLOW_STEPS = (
    *opening(ETA_S),
    step(
        "slow",
        Mean(U, ETA_S**2 * norm_sq(G_S)),
        "<=",
        16 * eta**2 * Mean(U, norm_sq(G_S)),
        averaged(U, (DECAY * (4 * eta + ETA_S), Square(G_S, "a squared norm"))),
        note="the condition the paper does not state: 16 eta_t^2 - eta_s^2 = (4 eta_t - eta_s)(4 eta_t + eta_s)",
    ),
    step(
        "conclude",
        CLAIM.lhs,
        "<=",
        CLAIM.rhs,
        Earlier("variance"),
        averaged(ALPHA, Earlier("jensen"), (n**2, Earlier("slow")), (16 * eta**2 * n**2, Earlier("moment"))),
        (16 * eta**2 * G_sq, Earlier("count")),
    ),
)

# Steps 1/(mu (t + gamma)): m_s = s + gamma for an earlier step s of the round.
M_S = Positive(sp.Symbol("m_s"), S)
LATE = Slack(sp.Symbol("late"), S)
NOW = t + gamma
TIMES = Condition("round", LATE, M_S - NOW + tau - 1, "s >= t - tau + 1")
GRAD_0, NOISE_0 = vec("grad_0", I), Noise(sp.Symbol("noise_0"), I)
MOMENT_0 = Premise("bounded-gradient", G_sq - norm_sq(GRAD_0 + NOISE_0), "E||g_i(w_0)||^2 <= G^2")
OWN_JET = Jet(OWN, value("F_own", I))


def near(label: str, at: Jet, moment: Premise, noise: sp.Expr) -> Step:
    """Visited points are near each client's own minimiser, where G bounds the gradient."""
    away = at.point - OWN
    return step(
        label,
        norm_sq(away),
        "<=",
        G_sq / mu**2,
        (1 / mu**2, moment),
        (1 / mu**2, Square(noise, "the variance of the gradient")),
        (1 / mu**2, Square(at.gradient - mu * away, "Cauchy-Schwarz: a square")),
        (2 / mu, Convex(OWN_JET, at, "mu-convexity from w_i*")),
        (2 / mu, Convex(at, OWN_JET, "mu-convexity to w_i*")),
    )


def schedule_steps(theta: sp.Rational, lhs: sp.Expr, rhs: sp.Expr, constant: int) -> tuple[Step, ...]:
    """Two cases: t + gamma <= theta tau, where the ball is small, and the rest, where steps shrink slowly.

    In the second eta_s <= theta/(theta - 1) eta_t, since s + gamma >= t + gamma - tau + 1.
    """
    ratio, low, high = theta / (theta - 1), sp.Symbol("low", nonnegative=True), sp.Symbol("high", nonnegative=True)
    early = Condition("case", low, theta * tau - NOW, f"t + gamma <= {theta} tau")
    late = Condition("case", high, NOW - theta * tau, f"t + gamma >= {theta} tau")
    # ratio m_s - (t + gamma) = ratio (late + 1) + (ratio - 1)(t + gamma) - ratio tau, and ratio/(ratio - 1) = theta.
    slack = ratio * (LATE + 1) + (ratio - 1) * high
    scale = G_sq / (mu**2 * NOW**2)
    pull = slack * (ratio * M_S + NOW) / M_S**2
    spare = sp.Integer(constant) - ratio**2
    return (
        *opening(1 / (mu * M_S)),
        near("near", LOCAL, SECOND_MOMENT, NOISE),
        near("near-start", Jet(START, value("F_0", I), GRAD_0), MOMENT_0, NOISE_0),
        step(
            "triangle",
            norm_sq(X - START),
            "<=",
            4 * G_sq / mu**2,
            Square(X - OWN + START - OWN, "Young: a square"),
            (2, Earlier("near")),
            (2, Earlier("near-start")),
        ),
        step(
            "conclude",
            lhs,
            "<=",
            rhs,
            by=Cases(
                case(
                    early,
                    Earlier("variance"),
                    averaged(ALPHA, Earlier("triangle")),
                    (4 * scale * low * (theta * tau + NOW), ONE),
                    ((constant - 4 * theta**2) * scale * tau**2, ONE),
                ),
                case(
                    late,
                    Earlier("variance"),
                    averaged(
                        ALPHA,
                        Earlier("jensen"),
                        (n**2 / (mu * NOW) ** 2, averaged(U, (pull, Square(G_S, "a squared norm")))),
                    ),
                    (ratio**2 * n**2 / (mu * NOW) ** 2, averaged(ALPHA, Earlier("moment"))),
                    (ratio**2 * scale, Earlier("count")),
                    (spare * scale * tau**2, ONE),
                ),
            ),
            note=f"constant {constant}: {4 * theta**2} in the first case, {ratio**2} in the second",
        ),
    )


SCHEDULE = {eta: 1 / (mu * NOW), X: START - n * Centre(U, G_S / (mu * M_S)), **MOVES}
DERIVATIONS = (
    Derivation(
        key="lemma-2",
        title="Discrepancy of the local models, for slowly shrinking steps",
        claim="lemma-2",
        steps=SLOW_STEPS,
        meaning={X: START - n * Centre(U, ETA_S * G_S), **MOVES},
        conditions=(ROUND, SLOW),
        setting=SETTING,
        notation=WORDS,
        findings=("The condition eta_s <= 4 eta_t inside a round is needed, and not in the paper.",),
    ),
    Derivation(
        key="lemma-2-schedule",
        title="Lemma 2 for eta_t = 1/(mu(t + gamma)), every tau and every gamma > 0",
        claim="lemma-2",
        steps=schedule_steps(sp.Integer(2), CLAIM.lhs, CLAIM.rhs, 16),
        meaning=SCHEDULE,
        conditions=(ROUND, TIMES),
        setting=SETTING,
        notation=WORDS,
        findings=(
            "With eta_t = 1/(mu(t + gamma)) Lemma 2 holds for every tau and every gamma > 0: it needs no slow-decay.",
        ),
    ),
    Derivation(
        key="lemma-2-nine",
        title="Lemma 2 with constant 9 for eta_t = 1/(mu(t + gamma))",
        steps=schedule_steps(sp.Rational(3, 2), drift, 9 * eta**2 * tau**2 * G_sq, 9),
        meaning=SCHEDULE,
        conditions=(ROUND, TIMES),
        setting=SETTING,
        notation=WORDS,
        findings=("The same proof, its cases parted at t + gamma = 3 tau/2, gives the constant 9 for 16.",),
    ),
)
