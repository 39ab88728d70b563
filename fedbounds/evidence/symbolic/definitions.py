"""The objects every proof speaks of, what the claims' symbols mean in them, and the facts that are definitions.

This is the one table of meanings: a file of derivations can add to it nothing. Every definition is written as an
assumption whose facts are given at points, and is listed with the proofs that use it.
"""

from collections.abc import Mapping

import sympy as sp

from fedbounds.evidence.symbolic import weight_definitions
from fedbounds.evidence.symbolic.proof_objects import *
from fedbounds.theory import points
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption, Part
from fedbounds.theory.claim import Claim
from fedbounds.theory.point_values import BEFORE_A_STEP
from fedbounds.theory.quantity import Quantity
from fedbounds.theory.symbols import average_gap, eta_sum, gap_sum
from fedbounds.theory.vectors import Centre, Inner, Mean, norm_sq


class Formal:
    """What an assumption's ``gives`` may speak of: F_i, its gradients, inner products.

    ``eta_s`` is the step size of an earlier step of the round, ``share`` the client's p_i.
    """

    x, w_star, eta_s, share = X, W_STAR, ETA_S, SHARE
    value, gradient = staticmethod(loss), staticmethod(grad)
    inner, norm_sq = staticmethod(Inner), staticmethod(norm_sq)

    @staticmethod
    def noise(point: sp.Expr) -> sp.Expr:
        """The noise of the gradient drawn at a visited point."""
        return {X: NOISE, START: NOISE_0}[point]

    @staticmethod
    def stochastic(point: sp.Expr) -> sp.Expr:
        """The stochastic gradient drawn at a visited point."""
        return {X: G, START: grad(START) + NOISE_0, X_S: G_S}[point]

    @staticmethod
    def bias(quantity: sp.Expr) -> sp.Expr:
        """sum_i (alpha_i - p_i) q_i."""
        return Mean(ALPHA, quantity) - Mean(P, quantity)


def _counted(power: sp.Expr) -> int:
    """The place in POWERS of n^power."""
    if power not in range(1, len(POWERS) + 1):
        raise KeyError(power)
    return int(power) - 1


DEFINITIONS: Mapping[str, Assumption] = dict(
    (
        define("minimum", "F_i* is the minimum of F_i over R^d", lambda o, x: non_negative(gap(x))),
        define(
            "least-value",
            "F* is the minimum of F over R^d",
            lambda o, x: non_negative(Mean(P, loss(of_all(x)) - loss(W_STAR))),
        ),
        define(
            "smooth-below",
            "the gradient of F_i is L-Lipschitz: F_i is at most L/2 times the square of the way below its tangent",
            lambda o, x, y: non_negative(loss(y) - loss(x) - Inner(grad(x), y - x) + sy.L / 2 * norm_sq(y - x)),
        ),
        define("attained", "F_i* is the value of F_i at w_i*", lambda o: zero(loss(OWN) - F_MIN)),
        define("single-step", "tau = 1 or N = 1: local models are w_t", lambda o, v: zero(Inner(X - W, v))),
        define(
            "single-step-gradients",
            "tau = 1 or N = 1: gradients at local models are those at w_t",
            lambda o, v: zero(Inner(grad(W) - grad(X), v)),
        ),
        define(
            "gradient-dominance",
            "||grad F||^2 >= 2 mu (F - F*) at a point that all clients share",
            lambda o, x: non_negative(
                norm_sq(Centre(P, grad(of_all(x)))) - 2 * sy.mu * Mean(P, loss(x) - loss(W_STAR))
            ),
        ),
        define("no-noise", "sigma^2 = 0: gradients have no noise", lambda o, v=NOISE: zero(Inner(NOISE, v))),
        define(
            "whole-time",
            "t and T are whole numbers: x (x - 1) ... (x - j + 1) >= 0 for them",
            lambda o, x, j: non_negative(falling(x, j)),
        ),
        define("some-time", "T > 0, by which the statement divides", lambda o: Part(sp.Integer(0), "<", sy.T)),
        define(
            "common-optimum", "Gamma = 0: every F_i has its minimum at w*", lambda o, v: zero(Inner(grad(W_STAR), v))
        ),
        define(
            "one-function",
            "every F_i is F: at a point that all clients share, grad F_i is grad F",
            lambda o, x, v: zero(Inner(grad(of_all(x)) - Centre(P, grad(x)), v)),
        ),
        define(
            "one-function-apart",
            "every F_i is F: of two models the gradients differ by at most L times their distance, along it",
            lambda o: non_negative(
                sy.L * (Mean(P, Inner(grad(X), X)) - Inner(Centre(P, grad(X)), Centre(P, X)))
                - Mean(P, norm_sq(grad(X)))
                + norm_sq(Centre(P, grad(X)))
            ),
        ),
        define(
            "next-models",
            "w_{t+1}^i is w_t^i - eta_t g_i, or the mean of these, which brings them no farther from w*",
            lambda o: non_negative(Mean(P, norm_sq(X - sy.eta * G - W_STAR)) - MODELS_NEXT),
        ),
        define("mean-model", "w_T is the mean of the w_T^i", lambda o: non_negative(MODELS_T - sy.Delta_T)),
        define(
            "next-gaps",
            "every F_i is F, which is convex: where w_t^i - eta_t g_i are averaged the mean of F does not grow",
            lambda o: non_negative(Mean(P, loss(X - sy.eta * G) - loss(W_STAR)) - GAP_OF_MODELS_NEXT),
        ),
        define(
            "mean-gap",
            "every F_i is F, which is convex: at w_T, the mean of the w_T^i, it is at most its mean there",
            lambda o: non_negative(GAP_OF_MODELS_T - sy.gap),
        ),
        define("share-at-most-one", "p_i <= 1", lambda o: non_negative(1 - SHARE)),
        define("squared-shares", "the N shares p_i sum to 1", lambda o: non_negative(sy.N * sy.p_sq - 1)),
        define(
            "optimum",
            "w* minimises F = sum_i p_i F_i, whose losses are differentiable",
            lambda o, v: zero(Inner(Centre(P, grad(W_STAR)), v)),
        ),
        define(
            "alpha-optimum",
            "w_alpha minimises sum_i alpha_i F_i",
            lambda o, v: zero(Inner(Centre(ALPHA, grad(W_ALPHA)), v)),
        ),
        define(
            "weight-ratio",
            "sum_i p_i (alpha_i/p_i) v_i = sum_i alpha_i v_i",
            lambda o, v, u: zero(Inner(Centre(P, points.weight_ratio * v) - Centre(ALPHA, v), u)),
        ),
        define(
            "weight-ratio-mean",
            "sum_i p_i (alpha_i/p_i) x_i = sum_i alpha_i x_i",
            lambda o, x: zero(Mean(P, points.weight_ratio * x) - Mean(ALPHA, x)),
        ),
        define("own-optimum", "w_i* minimises F_i", lambda o, v: zero(Inner(grad(OWN), v))),
        define(
            "curvatures",
            "mu <= L, as F_i has both bounds, or F has (by the Polyak-Lojasiewicz inequality) and is no constant",
            lambda o: non_negative(sy.L - sy.mu),
        ),
        define("whole-steps", "tau >= 1", lambda o: non_negative(sy.tau - 1)),
        define("some-client", "N >= 1", lambda o: non_negative(sy.N - 1)),
        define(
            "rho-bar",
            "rho_bar <= rho(t, w_t) at this t, w_t being the alpha-weighted virtual iterate",
            lambda o: non_negative(Mean(ALPHA, gap(W)) - sy.rho_bar * Mean(P, gap(W))),
        ),
        define(
            "rho-bar-start",
            "rho_bar <= rho(t_0, w_0) at the round's start, where its weights are chosen",
            lambda o: non_negative(Mean(ALPHA, gap(START)) - sy.rho_bar * Mean(P, gap(START))),
        ),
        define(
            "rho-tilde",
            "sum_i alpha_t^i e_i(w*) <= rho_tilde Gamma at this t",
            lambda o: non_negative(sy.rho_tilde * sy.Gamma - Mean(ALPHA, gap(W_STAR))),
        ),
        define(
            "local-steps",
            "w_t^i = w_0 - sum_s eta_s g_i(w_s^i) over the n steps s of the round before t",
            lambda o, v: zero(Inner(X - START + MOVED, v)),
        ),
        define("round", "n <= tau - 1 steps of the round come before t", lambda o: non_negative(sy.tau - 1 - n)),
        define(
            "gradient-spread",
            "zeta^2 is the largest sum_i p_i ||grad F_i(w_t) - grad F(w_t)||^2, w_t = sum_i p_i w_t^i",
            lambda o: non_negative(sy.zeta_sq - Mean(P, norm_sq(grad(Centre(P, X)) - Centre(P, grad(Centre(P, X)))))),
        ),
        define(
            "round-sums",
            "n grows from 0 to tau - 1 in a round: over s < T the sum of n^j is at most T times its mean in one",
            lambda o, j: non_negative(POWERS[_counted(j)].most(sy.T) - POWERS[_counted(j)].last),
        ),
        define(
            "drift-potential",
            "b(n) times the drift, n being at most tau, is after a step b(n + 1) times that of the models stepped, "
            "or these were averaged and it is 0",
            lambda o: non_negative(
                potential_weight(n + 1) * Mean(P, norm_sq(X - sy.eta * G - W_NEXT)) - POTENTIAL_NEXT
            ),
        ),
        define(
            "local-step", "n is the number k of local steps of the round so far", lambda o: zero(sy.local_step - n)
        ),
        define(
            "first-round",
            "T <= tau: the steps before t are those of the one round, n = t",
            lambda o: zero(sy.t - n),
        ),
        define(
            "first-round-start",
            "T <= tau: the one round starts at w_0",
            lambda o: zero(sy.Delta_0 - norm_sq(START - W_STAR)),
        ),
        define(
            "round-times",
            "the steps s of the round before t have s >= t - tau + 1",
            lambda o: non_negative(M_S - sy.gamma - sy.t + sy.tau - 1),
        ),
        define(
            "step-ratio",
            "eta_s <= eta_ratio eta_t for the steps s of the round before t",
            lambda o: non_negative(sy.eta_ratio * sy.eta - ETA_S),
        ),
        define("past-steps", "the steps s of the round before t have s >= 0", lambda o: non_negative(M_S - sy.gamma)),
        *weight_definitions.OF_RATIOS,
        define(
            "independent-clients",
            "the clients' noises are independent",
            lambda o: zero(norm_sq(Centre(P, NOISE)) - Mean(P, SHARE * norm_sq(NOISE))),
        ),
        define(
            "average",
            "F is convex: at the mean of w_0, ..., w_{T-1} it is at most the mean of its values there",
            lambda o: non_negative(gap_sum - sy.T * average_gap),
        ),
        *weight_definitions.OF_DRAWN_CLIENTS,
        define(
            "client-variances",
            "E||noise_i||^2 <= sigma_i^2, a bound of each client's own",
            lambda o: non_negative(SIGMA_I - norm_sq(NOISE)),
        ),
    )
)
# Definitions that make sense only under assumptions; of those in a tuple one is enough.
ALL_PRESENT = "full-participation"
RESTS_ON = {
    "curvatures": ("smooth", ("strongly-convex", "gradient-dominance")),
    "attained": ("strongly-convex",),
    "smooth-below": ("smooth",),
    "moment-at-step": ("bounded-gradient",),
    **dict.fromkeys(("single-step", "single-step-gradients"), (ALL_PRESENT,)),
    "one-function-apart": ("smooth", ("strongly-convex", "convex")),
    **dict.fromkeys(("next-gaps", "mean-gap"), ("unbiased", ALL_PRESENT, ("strongly-convex", "convex"))),
    **dict.fromkeys(("average", "weighted-average"), (("strongly-convex", "convex"),)),
    "client-variances": ("bounded-variance",),
    "unbiased": (ALL_PRESENT,),
    "common-optimum": ("smooth",),
    **dict.fromkeys(("next-models", "mean-model", "gradient-spread", "drift-potential"), ("unbiased", ALL_PRESENT)),
    **dict.fromkeys(("rho-bar", "rho-bar-start", "rho-tilde", "local-steps", "independent-clients"), (ALL_PRESENT,)),
    **dict.fromkeys(("skew", "least-ratio", "largest-ratio", "weights-sum", "weights-sum-at-Pi"), (ALL_PRESENT,)),
}
# Symbols whose declared sign is an assumption of some claims.
OF_M = ("equal-selection", "selection-without-replacement", "selection-with-replacement")
SIGN_OF = {sy.p_min: ("positive-p_min",), sy.m: OF_M}
# The sequences of the claims: z_T -> (z_0, z_t, z_{t+1}).
SEQUENCES = {
    sy.Delta_T: (sy.Delta_0, sy.Delta, sy.Delta_next),
    eta_sum: (sp.Integer(0), STEPS, STEPS + sy.eta),
    gap_sum: (sp.Integer(0), GAPS, GAPS + sy.gap_t),
    **{power.last: (sp.Integer(0), power.now, power.now + n**j) for j, power in enumerate(POWERS, 1)},
    sy.gap: (sy.gap_0, sy.gap_t, GAP_NEXT),
    POTENTIAL_T: (sp.Integer(0), potential_weight(n) * sy.drift, POTENTIAL_NEXT),
    MODELS_T: (sy.Delta_0, MODELS, MODELS_NEXT),
    GAP_OF_MODELS_T: (sy.gap_0, GAP_OF_MODELS, GAP_OF_MODELS_NEXT),
    norm_sq(Centre(P, grad(W_T))): (SLOPE_0, norm_sq(Centre(P, grad(W))), norm_sq(Centre(P, grad(W_NEXT)))),
    norm_sq(W_T - W_PLUS): (AWAY_0, norm_sq(W - W_PLUS), norm_sq(W_NEXT - W_PLUS)),
}
# What a client's symbol means: one in a mean over clients is not the same number for each.
OF_A_CLIENT = {sy.grad_sq: norm_sq(grad(Y)), sy.excess: gap(Y)}


def meaning_of(quantity: Quantity, scope: str = "") -> sp.Expr | None:
    """The expression of points that a quantity stands for in a claim of a scope; None where no proof speaks of it."""
    expression, when = quantity.expression, scope if quantity.computed else next(iter(quantity.recorded or ()), "")
    if expression is None or quantity.statistic == "constant":
        return expression
    if quantity.statistic != "measured" or when not in ("step", "horizon"):
        return None
    scheduled = [symbol for symbol in expression.free_symbols if getattr(symbol, "scopes", ())]
    if when == "step":
        if not all("step" in symbol.scopes for symbol in scheduled):
            return None
        return expression.xreplace({points.w_i_next: X - sy.eta * G})  # before they are averaged
    # At T the round that began is the next one, not that of the steps before.
    unknown = scheduled or expression.has(*BEFORE_A_STEP, START)
    return None if unknown else expression.xreplace({W: W_T})


STATES = {
    **OF_A_CLIENT,
    sy.sigma_p_sq: Mean(P, SHARE * SIGMA_I),
    **{q: meaning for q in sy.QUANTITIES.values() if (meaning := meaning_of(q)) is not None},
}


def meanings(alpha_weighted: bool, all_present: bool, claim: Claim | None = None) -> dict[sp.Basic, sp.Expr]:
    """What symbols mean, a claim's own too; the virtual iterate is weighted by alpha, or by p as the paper writes."""
    added = {q: meaning_of(q, claim.scope) for q in claim.computed} if claim is not None else {}
    terms = [after for _, _, after in sums_of(claim).values()]
    added |= {q: meaning_of(q, "step") for term in terms for q in term.free_symbols if getattr(q, "computed", False)}
    states = {**STATES, **{q: meaning for q, meaning in added.items() if meaning is not None}}
    if not alpha_weighted:
        # Of the clients present the weights are p divided by its sum, which is p where everybody is.
        return {**states, **({W: Centre(P, X)} if all_present else {})}
    step: dict[sp.Basic, sp.Expr] = {W_NEXT: W - sy.eta * Centre(ALPHA, G)} if all_present else {}
    return {**states, W: Centre(ALPHA, X), **step}
