"""Whole rounds of FedAvg: what a machine can check of the proofs in `derivations/proofs/rounds.md`.

That is one step of the mean, one step of the control problem, and the two facts of the contraction. The sums over a
round and over the rounds are not among what the checker speaks of: they stand in that file, as text.
"""

import sympy as sp

from fedbounds.theory import assumptions as a

from ._setting import *
from .star import BACK, CENTRE, CURVED, FEDAVG_STEPS, STEP, TOWARDS, D, K, cocoercive, quadratic, room

V, AWAY = D - CENTRE, X - W_STAR
CLASS = (a.smooth, a.strongly_convex, a.steps_up_to_2_over_L_plus_mu)
PAID = eta * (room + eta * K)
# a, q, the steps that are still to come, and beta_j, of the control problem.
weight, q = sp.symbols("weight factor", positive=True)
ahead, beta = sp.symbols("ahead beta", nonnegative=True)
d, s, v = X - W, GRAD_STAR, V
LATER_BETA = ((weight + ahead) * beta + eta * ahead) / (q * (weight + ahead + 1))
CURVATURE = eta**2 * weight * (weight + ahead + 1) / (weight + ahead)
PULL = (eta**2 * ahead / (weight + ahead) + beta * eta) / CURVATURE
GAINED = eta**2 * ahead / (weight + ahead) + 2 * beta * eta + CURVATURE * PULL**2
NEXT = q * d - eta * (v + s)
# A local step from the round's start: the share of G/mu gone so far is ``gone``.
under, gone = sp.symbols("under gone", positive=True)
FAR = X - START
TURN = GRAD - grad(START) - mu * FAR
TWICE = under + eta * K
GONE = (1 - eta * mu) * gone + eta * mu


def young(kept: sp.Expr, *uses: Written) -> tuple[Written, ...]:
    """What u = (1 - eta mu)(x - w_0) - eta TURN and v = -eta grad F_i(w_0) make, 2 (1 - eta mu) being ``kept``."""
    a_side, b_side = kept * gone / 2, eta * mu
    u, v = (1 - eta * mu) * FAR - eta * TURN, -eta * grad(START)
    grown = (a_side + b_side) / a_side
    return (
        *((grown * factor, fact) for factor, fact in map(as_use, uses)),
        (1 / (a_side * b_side), Square(b_side * u - a_side * v, "Young")),
    )


END = START + eta * TURN - 2 * (1 - eta * mu) * FAR
FACTS = (*cocoercive(X, START, START + TURN / K), *cocoercive(START, X, X - TURN / K))

# With noise: more + 1 steps of the round were taken before t, and E||x - w_0||^2 <= (c n eta_t G)^2 for n of them.
more, before, over_two = (sp.Symbol(name, nonnegative=True) for name in ("more", "before", "over_two"))
c, k = 1 + 2 / gamma, t + gamma
WAY, ONCE = c * (more + 1), 1 + 1 / gamma
SO_FAR = Assumption(
    "so-far",
    "E||w_t^i - w_0||^2 <= (1 + 2/gamma)^2 n^2 eta_t^2 G^2 after n = more + 1 steps of the round",
    gives=lambda o: Part(norm_sq(FAR), "<=", WAY**2 * eta**2 * G_sq),
)
COUNTED = Assumption("counted", "n <= t", sp.Ge(t, more + 1))
TWO = Assumption("gamma-two", "gamma >= 2", sp.Ge(gamma, 2))


def left_of(bound: sp.Expr, used: sp.Expr, late: bool = False) -> Written:
    """What a bound leaves beyond what was used of it, in units of (G/mu)^2 and with its sign on sight."""
    above, below = sp.fraction(
        sp.together((bound - used).subs({gamma: over_two + 2} | ({t: before + more + 1} if late else {})))
    )
    return G_sq / mu**2 * sp.expand(above) / below, ONE


DERIVATIONS = (
    Derivation(
        key="drift-noise-step",
        title="With noise, the way from a round's start: its first step, and from n steps to n + 1",
        steps=(
            step("first", norm_sq(eta * (grad(START) + NOISE_0)), "<=", (ONCE / (mu * (k + 1))) ** 2 * G_sq).by(
                (eta**2, premise("bounded-gradient", START)), left_of((ONCE / (k + 1)) ** 2, 1 / k**2)
            ),
            step("start", norm_sq(grad(START)), "<=", G_sq).by(
                premise("bounded-gradient", START), Square(NOISE_0, "the variance of the gradient")
            ),
            step("away", norm_sq(FAR - eta * G), "<=", (WAY + c) ** 2 / (mu * (k + 1)) ** 2 * G_sq).by(
                (eta**2, premise("bounded-gradient", X)),
                (2 * eta, convex(X, START)),
                (2 * eta, convex(START, X)),
                (eta**2 * WAY, Earlier("start")),
                (eta**2 * WAY, Square(mu * k / WAY * FAR + grad(START), "Young")),
                ((before + more + 1 + over_two) / k + 1 / WAY, premise("so-far")),
                left_of((WAY + c) ** 2 / (k + 1) ** 2, ((1 - 2 / k) * WAY**2 + 2 * WAY + 1) / k**2, late=True),
            ),
        ),
        assumes=(a.strongly_convex, a.bounded_gradient, SO_FAR, COUNTED, TWO),
        eta=1 / (mu * (t + gamma)),
        conditions=(Condition(before, premise("counted")), Condition(over_two, premise("gamma-two"))),
    ),
    Derivation(
        key="drift-full-step",
        title="A step away from the round's start: d' <= (1 - eta mu) d + eta G, in squares",
        steps=(
            CURVED,
            step(
                "away",
                norm_sq(FAR - eta * GRAD),
                "<=",
                (1 - eta * mu) * GONE / gone * norm_sq(FAR) + eta * GONE / mu * norm_sq(grad(START)),
            ).by(
                Cases(
                    L - mu,
                    case(
                        K,
                        *young(
                            TWICE,
                            *((eta * TWICE, fact) for fact in FACTS),
                            (eta * under / K, Square(TURN, "paid for")),
                        ),
                    ),
                    case(
                        L,
                        *young(
                            under,
                            *((eta, fact) for fact in (smooth(START, END), convex(X, END), smooth(X, START))),
                        ),
                    ),
                    zero="curved",
                ),
                note="with ||x - w_0|| <= gone G/mu the right side is (G/mu)^2 (1 - (1 - eta mu)(1 - gone))^2",
            ),
        ),
        assumes=(a.smooth, a.strongly_convex, a.steps_below_2_over_L_plus_mu),
        conditions=(Condition(under, premise("eta-strictly-below-2/(L+mu)")),),
    ),
    Derivation(
        key="rounds-step",
        title="A step of the mean, with the deviations' gain in full",
        steps=(
            *FEDAVG_STEPS[:3],
            step(
                "gain",
                (L - mu) * Delta_next,
                "<=",
                (L - mu) * ((1 - eta * mu) ** 2 * Delta + eta**2 * sigma_sq)
                + 2 * eta * (1 - eta * mu) * Mean(ALPHA, (L - mu) * Inner(V, X - W) - norm_sq(V)),
            ).by(
                Cases(
                    L - mu,
                    case(
                        K,
                        (K, Earlier("centred")),
                        (K * PAID, averaged(ALPHA, *TOWARDS, *BACK)),
                        (eta * room, Square(CENTRE, "eta (L + mu) <= 2 pays for the step's own square")),
                    ),
                    case(L, (eta * room, averaged(ALPHA, *quadratic(V)))),
                    zero="curved",
                ),
                note="summed over the clients, co-coercivity pays for the mean and for every deviation",
            ),
        ),
        assumes=(*CLASS, a.full_participation, a.unbiased, a.bounded_variance),
        conditions=(STEP,),
    ),
    Derivation(
        key="rounds-control",
        title="A step of the control problem: what a client's deviation can gain, over q^(2j)",
        steps=(
            step(
                "value",
                2 * eta * q * Inner(v, d)
                - eta**2 * (1 + weight) * norm_sq(v)
                + ahead / (weight + ahead) * norm_sq(NEXT)
                - 2 * beta * Inner(s, NEXT),
                "<=",
                q**2 * ((ahead + 1) / (weight + ahead + 1) * norm_sq(d) - 2 * LATER_BETA * Inner(s, d))
                + GAINED * norm_sq(s),
            ).by(
                (CURVATURE, Square(v - q / (eta * (weight + ahead + 1)) * d - PULL * s, "the best v")),
                note="weight is (2 - eta (L + mu))/(eta (L - mu)), ahead the steps still to come",
            ),
        ),
        findings=("One step is checked; that the steps add up over a round and over all rounds is text.",),
    ),
    Derivation(
        key="rounds-push",
        title="A local step contracts, and turns by no more than the curvatures differ",
        steps=(
            CURVED,
            step("contracts", norm_sq(AWAY - eta * (GRAD - GRAD_STAR)), "<=", (1 - eta * mu) ** 2 * norm_sq(AWAY)).by(
                Cases(
                    L - mu,
                    case(K, *((PAID, fact) for fact in (*TOWARDS, *BACK)), (eta * room / K, Square(D))),
                    case(L, *((eta, use[1]) for use in quadratic(2 * (1 - eta * mu) * -AWAY + eta * D))),
                    zero="curved",
                )
            ),
            step(
                "turns",
                norm_sq(GRAD - GRAD_STAR - (L + mu) / 2 * AWAY),
                "<=",
                (L - mu) ** 2 / 4 * norm_sq(AWAY),
            ).by(
                Cases(
                    L - mu,
                    case(K, *((K, fact) for fact in (*TOWARDS, *BACK))),
                    case(L, *quadratic(D)),
                    zero="curved",
                )
            ),
        ),
        assumes=CLASS,
        conditions=(STEP,),
    ),
)
