"""One-step inequalities without G: co-coercivity towards w*, and for alpha = p no function values at all."""

import sympy as sp

from fedbounds.evidence.symbolic.algebra import Centre, Inner, Mean, norm_sq
from fedbounds.evidence.symbolic.derivation import (
    Condition,
    Convex,
    Derivation,
    Earlier,
    Jet,
    Premise,
    Smooth,
    Square,
    averaged,
    step,
)
from fedbounds.theory.symbols import Delta, Delta_next, Gamma, L, drift, eta, mu, pi_min, rho_tilde, sigma_sq

from ._setting import (
    ALPHA,
    E_STAR,
    F_STAR,
    F_W,
    GRAD,
    GRAD_STAR,
    HERE,
    LOCAL,
    MEANING,
    MODEL,
    NOISE,
    NOTATION,
    OPTIMUM,
    RHO_TILDE,
    SKEWS,
    VARIANCE,
    W_STAR,
    I,
    P,
    W,
    X,
    claim,
    client_gap,
    optimal,
    skewed,
    value,
)

FEDAVG, STAR = claim("fedavg-step"), claim("star-step")
K = sp.Symbol("K", positive=True)
room = sp.Symbol("room", nonnegative=True)
below = sp.Symbol("below", positive=True)
rest = sp.Symbol("rest", positive=True)
DISTINCT = Condition("distinct-curvatures", K, L - mu, "mu < L")
BELOW = Condition("eta-below-1/L", below, 1 - eta * L, "eta < 1/L")
SKEWED = Condition("skewed", rest, 1 - pi_min, "pi < 1")
STEP = Condition("eta-below-2/(L+mu)", room, 2 - eta * (L + mu), "eta <= 2/(L + mu)")
# k_i, the gradient of F_i - (mu/2) ||. - w*||^2 at w_t^i, and what is left of it beside that at w*.
H = GRAD - mu * (X - W_STAR)
D = H - GRAD_STAR
KEPT = 1 - eta * mu


def cocoercive(at: Jet, to: Jet, end: sp.Expr, name: str) -> tuple[Smooth, Convex]:
    """The two facts that give ||D||^2/(2K): smoothness at ``to`` and convexity at ``at``, both to ``end``."""
    lower = Jet(end, value(name, I))
    return (
        Smooth(to, lower, "L-smoothness to the common point"),
        Convex(at, lower, "mu-convexity to the common point"),
    )


TOWARDS = cocoercive(LOCAL, OPTIMUM, W_STAR + D / K, "F_a")
BACK = cocoercive(OPTIMUM, LOCAL, X - D / K, "F_b")
AVERAGE = {
    **MEANING,
    W: Centre(P, X),
    drift: Mean(P, norm_sq(W - X)),
    Delta_next: norm_sq(W - eta * Centre(P, GRAD + NOISE) - W_STAR),
}

FEDAVG_STEPS = (
    step(
        "cocoercive",
        Inner(D, X - W_STAR),
        ">=",
        norm_sq(D) / K,
        *TOWARDS,
        *BACK,
        note="for mu-convex L-smooth F_i, both ways between w_t^i and w*",
    ),
    step(
        "mean",
        Mean(P, Inner(D, W - W_STAR)),
        ">=",
        norm_sq(Centre(P, D)) / K - K / 4 * drift,
        averaged(P, Earlier("cocoercive")),
        (1 / K, averaged(P, Square(D - Centre(P, D) + K / 2 * (W - X), "Young, for deviations from the mean"))),
        note="the p-means of w_t - w_t^i and of the deviations vanish",
    ),
    step(
        "noise",
        norm_sq(Centre(P, NOISE)),
        "<=",
        sigma_sq,
        averaged(P, Square(NOISE - Centre(P, NOISE), "Jensen: a variance")),
        averaged(P, VARIANCE),
    ),
    step(
        "conclude",
        FEDAVG.lhs,
        "<=",
        FEDAVG.rhs,
        (eta * (room + eta * K), Earlier("mean")),
        (eta * room / K, Square(Centre(P, D), "eta (L + mu) <= 2 pays for the step's own square")),
        (eta**2, Earlier("noise")),
        (2 * eta * KEPT, optimal(W - W_STAR)),
        (-2 * eta**2, optimal(Centre(P, D))),
        (-(eta**2), optimal(Centre(P, GRAD_STAR))),
    ),
)
BIAS = Centre(ALPHA, GRAD_STAR)


def beyond(quantity: sp.Expr, why: str) -> Premise:
    """sum_i (alpha_i - pi p_i) q_i >= 0 for q_i >= 0, as pi is the smallest alpha_i / p_i."""
    return Premise("pi", Mean(ALPHA, quantity) - pi_min * Mean(P, quantity), f"alpha_i >= pi p_i, times {why}")


STAR_STEPS = (
    step(
        "client",
        Inner(H, W - W_STAR),
        ">=",
        F_W - F_STAR - mu / 2 * Delta - K / 2 * norm_sq(W - X) + norm_sq(D) / (2 * K),
        *TOWARDS,
        Smooth(LOCAL, HERE, "L-smoothness of F_i from w_t^i to w_t"),
    ),
    *skewed("growth"),
    step(
        "lemma-1", norm_sq(GRAD_STAR), "<=", 2 * L * E_STAR, *((2 * L, fact) for fact in client_gap("F_c", OPTIMUM))
    ),
    step(
        "star",
        norm_sq(BIAS),
        "<=",
        2 * L * Gamma * (1 - pi_min) * (rho_tilde - pi_min),
        (1 / rest, beyond(norm_sq((1 - pi_min) * GRAD_STAR - BIAS), "a square: Jensen for alpha - pi p")),
        (rest, beyond(2 * L * E_STAR - norm_sq(GRAD_STAR), "step lemma-1")),
        (2 * L * rest, RHO_TILDE),
        (-2 * pi_min, optimal(BIAS)),
        note="sum_i p_i grad F_i(w*) = 0, so only alpha - pi p counts; at pi = 1 both sides are 0",
    ),
    step(
        "noise",
        norm_sq(Centre(ALPHA, NOISE)),
        "<=",
        sigma_sq,
        averaged(ALPHA, Square(NOISE - Centre(ALPHA, NOISE), "Jensen: a variance")),
        averaged(ALPHA, VARIANCE),
    ),
    step(
        "conclude",
        STAR.lhs,
        "<=",
        STAR.rhs,
        (2 * eta * (below + eta * K), averaged(ALPHA, Earlier("client"))),
        (2 * eta * (below + eta * K), Earlier("skew")),
        (eta * (below + eta * K) / K, averaged(ALPHA, Square(D - Centre(ALPHA, D), "Jensen: a variance"))),
        (eta * below / K, Square(Centre(ALPHA, D) - eta * K / below * BIAS, "Young")),
        (eta**2 * (below + eta * K) / below, Earlier("star")),
        (eta**2, Earlier("noise")),
    ),
)
DERIVATIONS = (
    Derivation(
        key="fedavg-step",
        title="One-step inequality for FedAvg, with neither G nor Gamma",
        claim="fedavg-step",
        steps=FEDAVG_STEPS,
        meaning=AVERAGE,
        conditions=(DISTINCT, STEP),
        setting={
            **MODEL,
            "optimum": SKEWS["optimum"],
            "unbiased": "alpha = p at every round",
            "distinct-curvatures": "mu < L; at mu = L take the limit",
        },
        notation=NOTATION,
        findings=("Half the drift term of the sharper inequality, and no second moment of the gradients.",),
    ),
    Derivation(
        key="star-step",
        title="One-step inequality without G",
        claim="star-step",
        steps=STAR_STEPS,
        meaning=MEANING,
        conditions=(DISTINCT, BELOW, SKEWED),
        setting={
            **MODEL,
            **SKEWS,
            "distinct-curvatures": "mu < L; at mu = L take the limit",
            "pi": "pi <= alpha_t^i / p_i for every client",
            "skewed": "pi < 1; otherwise alpha = p and the step star is trivial",
        },
        notation=NOTATION,
        findings=("G^2 is not needed in the step: gradients matter at w* only, and there Gamma bounds them.",),
    ),
)
