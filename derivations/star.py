"""One-step inequalities without G: co-coercivity towards w*, and for alpha = p no function values at all."""

import sympy as sp

from ._setting import *

FEDAVG, STAR = claim("fedavg-step"), claim("star-step")
K = sp.Symbol("K", positive=True)
room = sp.Symbol("room", nonnegative=True)
below = sp.Symbol("below", positive=True)
rest = sp.Symbol("rest", nonnegative=True)
BELOW = Condition(below, premise("eta-below-1/L"))
STEP = Condition(room, premise("eta-below-2/(L+mu)"))
# k_i, the gradient of F_i - (mu/2) ||. - w*||^2 at w_t^i, and what is left of it beside that at w*.
H = GRAD - mu * (X - W_STAR)
D = H - GRAD_STAR
KEPT = 1 - eta * mu
UNDER_ONE = step("pi-under-one", pi_min, "<=", 1).by(
    averaged(P, premise("least-ratio", ratio(rho_bar))), premise("weights-sum", ratio(rho_bar))
)
REST = Condition(rest, Earlier("pi-under-one"))
CURVED = step("curved", mu, "<=", L).by(premise("curvatures"))


def cocoercive(at: sp.Expr, to: sp.Expr, end: sp.Expr) -> tuple[Premise, Premise]:
    """The two facts that give ||D||^2/(2K): smoothness at ``to`` and convexity at ``at``, both to ``end``."""
    return smooth(to, end, "L-smoothness to the common point"), convex(at, end, "mu-convexity to the common point")


TOWARDS = cocoercive(X, W_STAR, W_STAR + D / K)
BACK = cocoercive(W_STAR, X, X - D / K)


def quadratic(direction: sp.Expr) -> tuple[Use, ...]:
    """-<D, v> >= 0 where mu = L: F_i is quadratic there, so D vanishes (both bounds at w_t^i, w* and w* + v)."""
    end = W_STAR + direction
    return tuple((sp.Integer(1), fact) for fact in (smooth(W_STAR, end), convex(X, end), smooth(X, W_STAR)))


MIXED = eta**2 * Centre(ALPHA, D) - 2 * eta * KEPT * (W - W_STAR)
# With alpha = p the bias vanishes; the identity is that of w_{t+1} - w*.
FEDAVG_STEPS = (
    CURVED,
    NOISY,
    step(
        "centred",
        Delta_next,
        "<=",
        KEPT**2 * Delta
        - 2 * eta * KEPT * Inner(Centre(ALPHA, D), W - W_STAR)
        + eta**2 * norm_sq(Centre(ALPHA, D))
        + FEDAVG.terms["variance"],
    ).by(
        (eta**2, Earlier("noise")),
        *(
            (factor, fact)
            for factor, v in (
                (2 * eta * KEPT, W - W_STAR),
                (-2 * eta**2, Centre(ALPHA, D)),
                (-(eta**2), Centre(ALPHA, GRAD_STAR)),
            )
            for fact in (premise("unbiased", Inner(GRAD_STAR, v)), optimal(v))
        ),
        note="sum_i p_i grad F_i(w*) = 0",
    ),
    conclude(FEDAVG).by(
        Cases(
            L - mu,
            case(
                K,
                Earlier("centred"),
                (eta * (room + eta * K), averaged(ALPHA, *TOWARDS, *BACK)),
                (
                    eta * (room + eta * K) / K,
                    averaged(ALPHA, Square(D - Centre(ALPHA, D) + K / 2 * (W - X), "Young, for deviations")),
                ),
                (eta * room / K, Square(Centre(ALPHA, D), "eta (L + mu) <= 2 pays for the step's own square")),
            ),
            case(L, Earlier("centred"), averaged(ALPHA, *quadratic(MIXED))),
            zero="curved",
        ),
        note="co-coercivity both ways between w_t^i and w*; the alpha-means of w_t - w_t^i and of deviations vanish",
    ),
)
BIAS = Centre(ALPHA, GRAD_STAR)
CENTRE = Centre(ALPHA, D)
CROSS = eta**2 * (CENTRE + 2 * BIAS)

STAR_STEPS: tuple[Step, ...] = (
    CURVED,
    UNDER_ONE,
    step("below", 1 - eta * L, ">", 0).by(premise("eta-below-1/L")),
    step("client", Inner(H, W - W_STAR), ">=", F_W - F_STAR - mu / 2 * Delta - (L - mu) / 2 * norm_sq(W - X)).by(
        smooth(X, W, "L-smoothness of F_i from w_t^i to w_t"), convex(X, W_STAR)
    ),
    *skewed("growth"),
    lemma_1("lemma-1", W_STAR),
    step("star", norm_sq(BIAS), "<=", 2 * L * Gamma * (1 - pi_min) * (rho_tilde - pi_min)).by(
        CauchySchwarz(GRAD_STAR),
        (rest, beyond(Earlier("lemma-1"))),
        (2 * L * rest, RHO_TILDE),
        (-2 * pi_min, optimal(BIAS)),
        (pi_min**2, optimal(Centre(P, GRAD_STAR))),
        note="sum_i p_i grad F_i(w*) = 0, so only alpha - pi p counts",
    ),
    NOISY,
    conclude(STAR).by(
        Cases(
            L - mu,
            case(
                K,
                (2 * eta * (below + eta * K), averaged(ALPHA, *TOWARDS, smooth(X, W))),
                (2 * eta * (below + eta * K), Earlier("skew")),
                (eta * (below + eta * K) / K, variance(ALPHA, D)),
                (eta * below / K, Square(CENTRE - eta * K / below * BIAS, "Young")),
                (eta**2 * (below + eta * K) / below, Earlier("star")),
                (eta**2, Earlier("noise")),
            ),
            case(
                L,
                (2 * eta * below, averaged(ALPHA, Earlier("client"))),
                (2 * eta * below, Earlier("skew")),
                averaged(ALPHA, *quadratic(CROSS)),
                (eta**2, Earlier("star")),
                (eta**2, Earlier("noise")),
            ),
            zero="curved",
        )
    ),
)
DERIVATIONS = (
    proof(
        FEDAVG,
        "One-step inequality for FedAvg, with neither G nor Gamma",
        steps=FEDAVG_STEPS,
        conditions=(STEP,),
        findings=("Half the drift term of the sharper inequality, and no second moment of the gradients.",),
    ),
    proof(
        STAR,
        "One-step inequality without G",
        steps=STAR_STEPS,
        conditions=(BELOW, REST),
        findings=("G^2 is not needed in the step: gradients matter at w* only, and there Gamma bounds them.",),
    ),
)
