"""Where biased weights lead, and how fast: the distance to the minimiser w_+ of what they really minimise.

FedMax, FedMax(k), FedSoftMax and FedAvg all choose weights that maximise sum_i a_i e_i(w) - psi(a) over a convex set,
at the round's start w: the simplex with psi = 0; its part with a_i <= 1/k; the simplex with psi the temperature times
the divergence of a from p; {p}. So with tau = 1 they are (sub)gradient methods on the maximum M(w), which is
mu-strongly convex: max_i e_i, the mean of the k largest, the soft-max, F. At its minimiser w_+ some maximising lambda
has sum_i lambda_i grad F_i(w_+) = 0. That alpha_t is optimal at w_t and lambda at w_+, added, is `monotone`: psi
drops out. With tau > 1 it holds at the first step of a round only: what is lost from there to w_t is at most G times
the way, 3 tau eta_t G (`floor-rounds`).
"""

import sympy as sp

from fedbounds.theory import assumptions as a

from ._recursion import k
from ._setting import *
from .sharper_step import MOMENT
from .star import BELOW, KEPT, below, without_g
from .sync import ON_SCHEDULE, SPREAD_OUT

LAMBDA, AWAY_0, Z_SQ = definitions.LAMBDA, definitions.AWAY_0, definitions.Z_SQ
F_PLUS, GRAD_PLUS = loss(W_PLUS), grad(W_PLUS)
AWAY, AWAY_T = norm_sq(W - W_PLUS), norm_sq(W_T - W_PLUS)
wide, v = sp.symbols("wide v", nonnegative=True)
s = sp.Symbol("s", positive=True)

MONOTONE = Assumption(
    "monotone",
    "sum_i (alpha_i - lambda_i)(F_i(w_t) - F_i(w_+)) >= 0: alpha_t maximises at w_t, and lambda at w_+",
    gives=lambda o: Part(Mean(LAMBDA, F_W - F_PLUS), "<=", Mean(ALPHA, F_W - F_PLUS)),
)
BALANCED = Assumption(
    "balanced",
    "w_+ minimises sum_i lambda_i F_i",
    gives=lambda o, v: Part(sp.Integer(0), "=", Inner(Centre(LAMBDA, GRAD_PLUS), v)),
)
AT_FLOOR = Assumption(
    "gradient-at-w_+",
    "||sum_i alpha_i grad F_i(w_+)||^2 <= Z^2, such as max_i ||grad F_i(w_+)||^2; for FedAvg it is 0",
    gives=lambda o: Part(norm_sq(Centre(ALPHA, GRAD_PLUS)), "<=", Z_SQ),
)
AT_START = Assumption(
    "monotone-at-start",
    "sum_i (alpha_i - lambda_i)(F_i(w_0) - F_i(w_+)) >= 0 at the round's start w_0",
    gives=lambda o: Part(Mean(LAMBDA, loss(START) - F_PLUS), "<=", Mean(ALPHA, loss(START) - F_PLUS)),
)
ONE_STEP = Assumption(
    "one-step", "tau = 1, so that every w_t^i is w_t", gives=lambda o: Part(drift, "=", sp.Integer(0))
)
SCALE = Assumption("scale", "gamma >= 4L/mu", sp.Ge(mu * gamma, 4 * L))
CLASS = (a.smooth, a.strongly_convex, a.bounded_variance, a.full_participation, MONOTONE, BALANCED, AT_FLOOR)
# The noise of a step: (1 - eta mu)/(1 - eta L) <= (4L - mu)/(3L) for eta <= 1/(4L), and 1 where mu = L.
# With tau > 1: what a step adds, in units of eta^2, and the larger of the start and where that comes to rest.
ADDED = (1 + 3 * tau) ** 2 * G_sq
FIRST, LAST = gamma * AWAY_0, 2 * ADDED / mu**2
NOISE_SQ = sigma_sq + (4 * L - mu) / (3 * L) * Z_SQ
SPARED = eta**2 * Z_SQ * ell * (mu * t + wide) / (3 * L * (mu * t + wide + 3 * L))


def so_far(at: sp.Expr) -> sp.Expr:
    """(gamma - 1)^2 ||w_0 - w_+||^2 and the noise of as many steps."""
    return (gamma - 1) ** 2 * AWAY_0 + at * NOISE_SQ / mu**2


DERIVATIONS = (
    Derivation(
        key="floor-step",
        title="A step towards w_+, the minimiser of what the weights minimise",
        steps=without_g(
            (
                step("towards", Mean(ALPHA, F_W - F_PLUS), ">=", mu / 2 * AWAY).by(
                    premise("monotone"), averaged(LAMBDA, convex(W_PLUS, W)), premise("balanced", W - W_PLUS)
                ),
            ),
            (step("bias", norm_sq(Centre(ALPHA, GRAD_PLUS)), "<=", Z_SQ).by(premise("gradient-at-w_+")),),
            step(
                "closer",
                norm_sq(W_NEXT - W_PLUS),
                "<=",
                KEPT * (KEPT * AWAY + eta * (L - mu) * drift + eta**2 * Z_SQ / (1 - eta * L)) + eta**2 * sigma_sq,
            ),
            at=W_PLUS,
        ),
        assumes=(*CLASS, a.steps_below_inverse_L),
        conditions=(BELOW,),
    ),
    Derivation(
        key="floor-rate",
        title="With tau = 1, ||w_T - w_+||^2 = O(1/T) and F(w_T) - F(w_+) = O(T^(-1/2))",
        steps=(
            step("small", 0, "<", 1 - eta * L).by(((mu * t + wide + 3 * L) / (mu * k), ONE), note="eta_t L <= 1/4"),
            step("base", (gamma - 1) ** 2 * AWAY_0, "<=", so_far(sp.Integer(0))),
            step("carry", k**2 * norm_sq(W_NEXT - W_PLUS), "<=", so_far(t + 1)).by(
                Hypothesis("all"),
                (k**2, Cited("floor-step", {"eta-below-1/L": "small"})),
                (k**2 * KEPT * eta * (L - mu), premise("one-step")),
                (k**2 * SPARED, ONE),
                note="(1 - eta mu)^2 = (k - 1)^2/k^2 for k = t + gamma",
            ),
            step("all", (T + gamma - 1) ** 2 * AWAY_T, "<=", so_far(T)).by(Induction("base", "carry")),
            step("after", T + gamma - 1, ">", 0).by((T + (wide + 4 * ell + 3 * mu) / mu, ONE)),
            step(
                "value",
                Mean(P, loss(W_T) - F_PLUS),
                "<=",
                s / 2 * norm_sq(Centre(P, GRAD_PLUS)) + (1 / s + L) / 2 * so_far(T) / (T + gamma - 1) ** 2,
            ).by(
                averaged(P, smooth(W_PLUS, W_T)),
                (1 / (2 * s), Square(s * Centre(P, GRAD_PLUS) - (W_T - W_PLUS), "Young")),
                ((1 / s + L) / (2 * (T + gamma - 1) ** 2), Earlier("all")),
                note="at the best s it is ||grad F(w_+)|| d + (L/2) d^2, d^2 the bound of the line before",
            ),
        ),
        assumes=(*CLASS, ONE_STEP, SCALE),
        eta=1 / (mu * (t + gamma)),
        conditions=(CURVATURES, Condition(wide, premise("scale"))),
        findings=(
            "The gap's floor is F(w_+) - F*, for FedAvg 0: there lambda = alpha = p, and Z = 0.",
            "Attained as N grows: mu = L, full gradients, F_i = (mu/2)||w + (G/mu) e_i||^2 on R^N, T < N.",
        ),
    ),
    Derivation(
        key="floor-rounds",
        title="For every tau, ||w_T - w_+||^2 = O(1/T)",
        steps=(
            *ON_SCHEDULE,
            JENSEN,
            MOMENT,
            step(
                "client",
                Inner(GRAD, W - W_PLUS),
                ">=",
                F_W - F_PLUS - L / 2 * norm_sq(W - X) + mu / 2 * norm_sq(X - W_PLUS),
            ).by(smooth(X, W), convex(X, W_PLUS)),
            step(
                "towards", Mean(ALPHA, F_W - F_PLUS), ">=", mu / 2 * norm_sq(START - W_PLUS) - 3 * eta * tau * G_sq
            ).by(
                averaged(ALPHA, convex(START, W)),
                (mu / 2, Square(W - START)),
                premise("monotone-at-start"),
                averaged(LAMBDA, convex(W_PLUS, START)),
                premise("balanced", START - W_PLUS),
                Earlier("moved"),
            ),
            step("closer", norm_sq(W_NEXT - W_PLUS), "<=", (1 - 3 * eta * mu / 2) * AWAY + eta**2 * ADDED).by(
                (eta**2, Earlier("jensen")),
                (eta**2, Earlier("moment")),
                (2 * eta, averaged(ALPHA, Earlier("client"))),
                (2 * eta, Earlier("towards")),
                (eta * mu / 2, Square(START - W_PLUS - (W - START), "Young")),
                (eta * L, Earlier("far")),
                (eta * mu, SPREAD_OUT),
                (eta * ell, Square(W - START)),
                (9 * tau**2 * eta**2 * G_sq * (mu * t + wide + 3 * L) / (mu * k), ONE),
                note="half of ||w_t - w_+||^2 is at most ||w_0 - w_+||^2 + ||w_t - w_0||^2",
            ),
            step("base", AWAY_0, "<=", v / gamma).by((1 / gamma, Extreme(v, FIRST))),
            step("carry", norm_sq(W_NEXT - W_PLUS), "<=", v / (k + 1)).by(
                Earlier("closer"),
                ((mu * t + wide + 4 * ell + 5 * mu / 2) / (mu * k), Hypothesis("all")),
                (1 / (2 * k**2), Extreme(v, LAST)),
                (v / (k**2 * (k + 1)), ONE),
            ),
            step("all", AWAY_T, "<=", v / (T + gamma)).by(Induction("base", "carry")),
        ),
        assumes=(a.smooth, a.strongly_convex, a.bounded_gradient, a.full_participation, AT_START, BALANCED, SCALE),
        eta=1 / (mu * (t + gamma)),
        conditions=(CURVATURES, Condition(wide, premise("scale"))),
        abbreviations={v: sp.Max(FIRST, LAST)},
        findings=("Local steps do not spoil the rate: the model drifts, but ends at the same w_+.",),
    ),
)
