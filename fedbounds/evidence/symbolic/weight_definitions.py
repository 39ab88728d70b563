"""What weights are by definition: what the ratios alpha_i/p_i are between, what a skew is, and means over a draw."""

import sympy as sp

from fedbounds.evidence.symbolic.proof_objects import *
from fedbounds.theory import points
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Part
from fedbounds.theory.vectors import Centre, Inner, Mean, Noise, Ratio, Value, Vec, Weights, norm_sq

# What a claim grants that draws m of N clients for each round.
MOMENTS = ("drawn-weights-mean", "drawn-weights", "drawn-weights-at-most", "drawn-at-end")
OF_DRAWN_WEIGHTS = (*MOMENTS, "some-drawn", "no-more-drawn", "drawn-noises")
# What it grants, and what grants it draws clients by p with replacement too: E alpha_i is p_i, whatever came before.
OF_DRAWN_MODELS = ("next-drawn-models", "mean-drawn-model")
# What it grants where each round is one step.
OF_ANY_STEP = ("dissimilarity", "moment-at-step", "drawn-mean-step")
OF_DRAWS = ("drawn-clients", "drawn-at-most", "drawn-weights-at-step", *OF_ANY_STEP)
# What it grants that draws them by p with replacement, and where each round is one step.
OF_DRAWN_BY_P = ("drawn-weights-mean", "drawn-weights-at-most", "some-drawn", "drawn-noises")
OF_DRAWS_BY_P = ("drawn-by-p", "drawn-by-p-at-step", *OF_ANY_STEP)
# What holds in expectation over the draw, so that weights which depend on it may not average it.
AT_STEP = ("drawn-weights-at-step", "drawn-by-p-at-step", "drawn-mean-step", "drawn-clients", "drawn-by-p")
OVER_DRAWS = (*MOMENTS, *OF_DRAWN_MODELS, *AT_STEP, "drawn-at-most", "one-drawn-client")


def _fixed(point: sp.Expr) -> sp.Expr:
    if point not in (W_STAR, W_PLUS, W):
        raise KeyError(point)
    return point


def _undrawn(vector: sp.Expr, *further: sp.Expr) -> sp.Expr:
    """A vector that is the same whoever is drawn: local models, all clients', points before the draw, and others."""
    weights = set(vector.atoms(Weights)) - {P}
    measured = {symbol for symbol in vector.free_symbols if getattr(symbol, "scopes", ())}
    others = (
        vector.atoms(Vec) - {X, START, W_STAR, OWN, *further} | vector.atoms(Value) - {SHARE} | vector.atoms(Noise)
    )
    if weights or measured - {sy.eta} or others or not points.is_vector(vector):
        raise KeyError(vector)
    return vector


def _of_several(v: sp.Expr) -> sp.Expr:
    """m (N - 1) times what the mean square of a mean under alpha is, where m of N clients are drawn uniformly."""
    return (sy.N - sy.m) * Mean(P, norm_sq(v)) + sy.N * (sy.m - 1) * norm_sq(Centre(P, v))


def _of_draws(v: sp.Expr) -> sp.Expr:
    """m times what the mean square of a mean under alpha is, where m clients are drawn by p independently."""
    return Mean(P, norm_sq(v)) + (sy.m - 1) * norm_sq(Centre(P, v))


def _skew(at: sp.Symbol) -> sp.Expr:
    if at not in (sy.rho_bar, sy.rho_tilde, rho):
        raise KeyError(at)
    return at


def _ratio(kappa: sp.Expr) -> sp.Expr:
    if type(kappa) is not Ratio:
        raise KeyError(kappa)
    return kappa


OF_RATIOS = (
    define("least-ratio", "pi <= alpha_i/p_i", lambda o, k: non_negative(_ratio(k) - sy.pi_min)),
    define("largest-ratio", "alpha_i/p_i <= Pi", lambda o, k: non_negative(sy.pi_max - _ratio(k))),
    define("weights-sum", "sum_i p_i (alpha_i/p_i) = sum_i alpha_i = 1", lambda o, k: zero(1 - Mean(P, _ratio(k)))),
    define("weight-at-most-one", "alpha_i <= 1", lambda o, k: non_negative(1 - _ratio(k) * SHARE)),
    define("least-p", "p_i >= min p", lambda o: non_negative(SHARE - sy.p_min)),
    define("least-p-at-Pi", "p_i >= min p for the client of ratio Pi", lambda o: non_negative(TOP_SHARE - sy.p_min)),
    define(
        "weights-sum-at-Pi",
        "the weights sum to 1 at the client and time where Pi is attained",
        lambda o: zero(1 - (sy.N - 1) * Mean(OTHERS, AT_PI * SHARE) - sy.pi_max * TOP_SHARE),
    ),
    define(
        "skew",
        "rho sum_i p_i e_i = sum_i alpha_i e_i where the skew rho is taken",
        lambda o, at: zero(Mean(P, ratio(_skew(at)) * excess(at)) - at * Mean(P, excess(at))),
    ),
    define(
        "skew-denominator",
        "sum_i p_i e_i > 0 where a skew is taken (by convention it is 1 where all e_i vanish)",
        lambda o, at: Part(sp.Integer(0), "<", Mean(P, excess(_skew(at)))),
    ),
)

# Where m of N clients are drawn: moments of a mean over the draw, whatever came before it.
OF_DRAWN_CLIENTS = (
    define(
        "drawn-clients",
        "m of N clients, drawn uniformly whatever came before, make one local step: two of them both take part "
        "with probability m (m - 1)/(N (N - 1)), so that (N - 1) m E||w_{t+1} - v||^2 is the sum of N - m mean "
        "squares and N (m - 1) squares of the mean",
        lambda o, v: zero(_of_several(STEPPED - _fixed(v)) - sy.m * (sy.N - 1) * norm_sq(W_NEXT - v)),
    ),
    define(
        "drawn-by-p",
        "m clients are drawn by p, independently and whatever came before, and make one local step: m E||w_{t+1} - "
        "v||^2 is a mean square and m - 1 squares of the mean",
        lambda o, v: zero(_of_draws(STEPPED - _fixed(v)) - sy.m * norm_sq(W_NEXT - v)),
    ),
    define(
        "one-drawn-client",
        "w_{t+1} is the model of one client, drawn uniformly whatever came before, after one local step",
        lambda o, v: zero(Mean(P, norm_sq(STEPPED - _fixed(v))) - norm_sq(W_NEXT - v)),
    ),
    define(
        "drawn-at-most",
        "m of N clients are drawn uniformly and their noises are independent: the mean of m models has at most "
        "1/m of the models' variance",
        lambda o, v: non_negative(
            Mean(P, norm_sq(STEPPED - _fixed(v)))
            + (sy.m - 1) * norm_sq(Centre(P, W - sy.eta * grad(W) - _fixed(v)))
            - sy.m * norm_sq(W_NEXT - v)
        ),
    ),
    define(
        "drawn-weights-mean",
        "alpha is 1/m for each of m draws by p, whatever came before: the mean of any vectors v_i of the "
        "clients under alpha is in expectation that under p",
        lambda o, v, u: zero(Inner(Centre(ALPHA, _undrawn(v)) - Centre(P, v), _undrawn(of_all(u)))),
    ),
    define(
        "drawn-weights",
        "alpha is 1/m at m of N clients, drawn uniformly whatever came before: two of them both take part with "
        "probability m (m - 1)/(N (N - 1)), so that m (N - 1) times the mean square of a mean under alpha is the "
        "sum of N - m mean squares and N (m - 1) squares of the mean",
        lambda o, v: zero(_of_several(_undrawn(v)) - sy.m * (sy.N - 1) * norm_sq(Centre(ALPHA, v))),
    ),
    define(
        "drawn-weights-at-step",
        "the same at a round of one step, which starts at w_t: m of N clients are drawn uniformly",
        lambda o, v: zero(_of_several(_undrawn(v, W)) - sy.m * (sy.N - 1) * norm_sq(Centre(ALPHA, v))),
    ),
    define(
        "drawn-by-p-at-step",
        "m clients are drawn by p, independently, for a round of one step, which starts at w_t: m times the mean "
        "square of a mean under alpha is a mean square and m - 1 squares of the mean",
        lambda o, v: zero(_of_draws(_undrawn(v, W)) - sy.m * norm_sq(Centre(ALPHA, v))),
    ),
    define(
        "drawn-weights-at-most",
        "alpha is 1/m for each of m draws by p, whatever came before, independent or of different clients: the "
        "mean of m vectors has at most 1/m of the vectors' variance",
        lambda o, v: non_negative(_of_draws(_undrawn(v)) - sy.m * norm_sq(Centre(ALPHA, v))),
    ),
    define(
        "drawn-at-end",
        "w_T is the mean of the models w_T^i of m of N clients, drawn uniformly whatever came before, and all N have "
        "one whoever is drawn: m (N - 1) ||w_T - w*||^2 is in the mean the sum of N - m mean squares and N (m - 1) "
        "squares of the mean",
        lambda o: zero(
            (sy.N - sy.m) * Mean(P, norm_sq(X_T - W_STAR))
            + sy.N * (sy.m - 1) * norm_sq(Centre(P, X_T) - W_STAR)
            - sy.m * (sy.N - 1) * sy.Delta_T
        ),
    ),
    define(
        "next-drawn-models",
        "all clients have a model whoever is drawn: w_{t+1}^i is w_t^i - eta_t g_i, or the mean of those drawn, "
        "which is in expectation no farther from w* than all under p",
        lambda o: non_negative(Mean(P, norm_sq(X - sy.eta * G - W_STAR)) - MODELS_NEXT),
    ),
    define(
        "mean-drawn-model",
        "w_T is the mean of the w_T^i of the clients drawn: in expectation no farther from w* than all under p",
        lambda o: non_negative(MODELS_T - sy.Delta_T),
    ),
    define("some-drawn", "m >= 1", lambda o: non_negative(sy.m - 1)),
    define("no-more-drawn", "m <= N", lambda o: non_negative(sy.N - sy.m)),
    define(
        "drawn-noises",
        "the noises of the clients that may be drawn are independent",
        lambda o: zero(norm_sq(Centre(P, NOISE)) - Mean(P, SHARE * norm_sq(NOISE))),
    ),
    define(
        "drawn-mean-step",
        "clients are drawn uniformly, or by p, whatever came before, and make one local step: w_{t+1} is in "
        "expectation the mean of all clients' models",
        lambda o, u: zero(Inner(W_NEXT - Centre(P, STEPPED), _undrawn(of_all(u), W))),
    ),
    define(
        "moment-at-step",
        "a round is one step, which starts at w_t: E||g_i||^2 <= G^2 there, whoever is drawn",
        lambda o: non_negative(sy.G_sq - norm_sq(grad(W) + NOISE)),
    ),
    define(
        "dissimilarity",
        "zeta^2 is the largest sum_i p_i ||grad F_i(w_t) - grad F(w_t)||^2",
        lambda o: non_negative(sy.zeta_sq - Mean(P, norm_sq(grad(W) - Centre(P, grad(W))))),
    ),
)
