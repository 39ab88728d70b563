"""The objects every proof speaks of: points, weights over clients and steps, noise, sums and means over a run."""

from dataclasses import dataclass

import sympy as sp

from fedbounds.theory import points
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption, Part
from fedbounds.theory.claim import Claim
from fedbounds.theory.path_quantities import step_size_weights
from fedbounds.theory.point_values import StepSum, WeightedGap
from fedbounds.theory.quantity import Quantity
from fedbounds.theory.vector_normal_form import depends
from fedbounds.theory.vectors import (
    Centre,
    Excess,
    Mean,
    Noise,
    Positive,
    Ratio,
    Slack,
    Vec,
    Weights,
    norm_sq,
    random,
)

I, S, ALPHA, P = points.I, points.S, points.ALPHA, points.P
LAMBDA, OTHERS = (Weights(sp.Symbol(name), I) for name in ("lambda_i", "others"))
U = Weights(sp.Symbol("u_s"), S)


def _vec(name: str, *indices: sp.Symbol) -> sp.Expr:
    return Vec(sp.Symbol(name), *indices)


# w_t^i, the virtual iterate at t, t + 1 and T, w*, a client's own minimiser, that of sum_i lambda_i F_i for weights
# lambda that never change, the round's start, an earlier local model of the round, and any point.
X, OWN, W, W_NEXT, W_STAR = points.w_i, points.w_i_star, points.w, points.w_next, points.w_star
W_ALPHA = points.w_alpha
X_S, W_T, W_PLUS = _vec("x_s", I, S), _vec("w_T"), _vec("w_plus")
START, Y = _vec("w_0"), _vec("y")
# The local models at t + 1 and at T.
X_NEXT, X_T = _vec("x_next", I), _vec("x_T", I)
# ||w_0 - w_+||^2, and a bound on ||sum_i alpha_i grad F_i(w_+)||^2.
AWAY_0, Z_SQ = (sp.Symbol(name, nonnegative=True) for name in ("away_0", "Z_sq"))
# ||grad F(w_0)||^2.
SLOPE_0 = sp.Symbol("slope_0", nonnegative=True)
NOISE, NOISE_0 = Noise(sp.Symbol("noise"), I), Noise(sp.Symbol("noise_0"), I)
G_S = _vec("g", I, S)
F_MIN = points.F_i_star
# The step size of an earlier step s of the round, and s + gamma; how many there are.
ETA_S, M_S = Positive(sp.Symbol("eta_s"), S), Positive(sp.Symbol("m_s"), S)
n = sp.Symbol("n", nonnegative=True)
SHARE, TOP_SHARE = points.p_i, sp.Symbol("top_share", nonnegative=True)
SIGMA_I = Slack(sp.Symbol("sigma_i_sq"), I)
# A weighting skew rho(t, w), of any time and point.
rho = sp.Symbol("rho", nonnegative=True)
# Sums over s < t, of eta_s and of E F(w_s) - F*.
STEPS, GAPS = (sp.Symbol(name, nonnegative=True) for name in ("steps", "gaps"))
# The sum of c_s (E F(w_s) - F*) over s < t and over s < T, for the weights c of the mean that a claim speaks of.
WEIGHTED, WEIGHTED_T = (sp.Symbol(name, nonnegative=True) for name in ("weighted_gaps", "weighted_gaps_T"))


@dataclass(frozen=True)
class PowerSum:
    """The sum of n^j over the steps s < t (``now``) and s < T (``last``), n the steps of the round before s."""

    now: sp.Symbol
    last: sp.Symbol
    in_round: sp.Expr

    def most(self, times: sp.Expr) -> sp.Expr:
        """The times times its mean over a round, which the sum is at most, as n grows in each from 0 to tau - 1."""
        return times * self.in_round


def _power_sum(name: str, in_round: sp.Expr) -> PowerSum:
    now, last = (sp.Symbol(f"{name}{at}", nonnegative=True) for at in ("", "_T"))
    return PowerSum(now, last, in_round)


POWERS = (
    _power_sum("counts", (sy.tau - 1) / 2),
    _power_sum("squared_counts", (sy.tau - 1) * (2 * sy.tau - 1) / 6),
)
# b(n) times the drift sum_i p_i ||w_t^i - w_t||^2 at t + 1 and at T: see `potential_weight`.
POTENTIAL_NEXT, POTENTIAL_T = (sp.Symbol(name, nonnegative=True) for name in ("potential_next", "potential_T"))
DELTA = sp.Rational(1, 8)
SHIPPED_OWN = tuple(
    q for q in sy.QUANTITIES.values() if q.in_proof and q.computed and (q.expression is None or not q.scopes)
)
OWN_SYMBOLS = (n, TOP_SHARE, rho, AWAY_0, Z_SQ, SLOPE_0, STEPS, GAPS, WEIGHTED, WEIGHTED_T, *SHIPPED_OWN)
OWN_SYMBOLS += tuple(symbol for power in POWERS for symbol in (power.now, power.last))
OWN_SYMBOLS += (POTENTIAL_NEXT, POTENTIAL_T)
MOVED = n * Centre(U, ETA_S * G_S)
MOST_FACTORS = 20


loss, grad = points.F_i, points.grad


def left_in_round(count: sp.Expr) -> sp.Expr:
    """c(n), the sum of k + DELTA over n <= k < tau."""
    return (sy.tau - count) * (sy.tau + count - 1 + 2 * DELTA) / 2


def potential_weight(count: sp.Expr) -> sp.Expr:
    """b(n) = c(n)/(n + DELTA), which is 1 + b(n + 1) (1 + 1/(n + DELTA)), and 0 at n = tau."""
    return left_in_round(count) / (count + DELTA)


def falling(time: sp.Expr, count: sp.Expr) -> sp.Expr:
    """x (x - 1) ... (x - j + 1), for a time x and j >= 1."""
    if time not in (sy.t, sy.T) or not isinstance(count, sp.Integer) or not 1 <= count <= MOST_FACTORS:
        raise KeyError(time)
    return sp.Mul(*(time - k for k in range(int(count))))


def gap(point: sp.Expr) -> sp.Expr:
    """e_i at a point: F_i less its minimum."""
    return loss(point) - F_MIN


def ratio(at: sp.Symbol) -> sp.Expr:
    """alpha_i/p_i where the skew ``at`` is taken."""
    return Ratio(sp.Symbol(f"kappa_{at.name}"), I)


def excess(at: sp.Symbol) -> sp.Expr:
    """e_i where the skew ``at`` is taken."""
    return Excess(sp.Symbol(f"e_{at.name}"), I)


AT_PI = ratio(sy.pi_max)
G = grad(X) + NOISE
# sum_i p_i ||w_T^i - w*||^2 of the local models, and the same at t and t + 1; E F(w_{t+1}) - F*.
# A client's model after a step from w_t itself.
STEPPED = W - sy.eta * (grad(W) + NOISE)
MODELS_T, MODELS, MODELS_NEXT = (Mean(P, norm_sq(x - W_STAR)) for x in (X_T, X, X_NEXT))
GAP_NEXT = Mean(P, loss(W_NEXT) - loss(W_STAR))
# sum_i p_i F_i(w_T^i) - F* of the local models, and the same at t and t + 1.
GAP_OF_MODELS_T, GAP_OF_MODELS, GAP_OF_MODELS_NEXT = (Mean(P, loss(x) - loss(W_STAR)) for x in (X_T, X, X_NEXT))


def non_negative(expression: sp.Expr) -> Part:
    """The fact that an expression is at least zero."""
    return Part(sp.Integer(0), "<=", expression)


def zero(expression: sp.Expr) -> Part:
    """The fact that an expression is zero."""
    return Part(sp.Integer(0), "=", expression)


def of_all(point: sp.Expr) -> sp.Expr:
    """A point that all clients share, at no step of its own."""
    if depends(point, I) or depends(point, S):
        raise KeyError(point)
    return point


def define(key: str, statement: str, gives: object) -> tuple[str, Assumption]:
    """A definition by its key."""
    return key, Assumption(key, statement, gives=gives)  # type: ignore[arg-type]


t, T = sy.t, sy.T
# What grants the fact; no assumption may have this name.
WEIGHTED_AVERAGE = "weighted-average"


# What the name of a sum over s < t ends with, where that over s < T has the name before.
SUM_SO_FAR = "_so_far"


def summand_of(quantity: sp.Basic) -> sp.Expr | None:
    """The term of the step t of which a quantity is the sum over t < T; None of any other quantity."""
    total = getattr(quantity, "on_path", None)
    if type(quantity) is not Quantity or type(total) is not StepSum or total.of_rounds:
        return None
    return total.term if quantity.statistic == ("measured" if random(total.term) else "scheduled") else None


def sums_of(claim: Claim | None) -> dict[sp.Expr, tuple[sp.Expr, sp.Expr, sp.Expr]]:
    """The sums over steps that a claim speaks of, as sequences: z_T -> (z_0, z_t, z_{t+1})."""
    spoken = claim.computed if claim is not None and claim.scope == "horizon" else ()
    names = [q.name for q in spoken]
    terms = {q: summand_of(q) for q in spoken if names.count(q.name) == 1}
    # What the claim speaks of by itself is at T, as is what else is known at no step alone.
    terms = {q: term for q, term in terms.items() if term is not None and not term.has(*spoken) and _of_step(term)}
    so_far = {
        q: sp.Symbol(f"{q.name}{SUM_SO_FAR}", **{"nonnegative" if q.is_nonnegative else "real": True}) for q in terms
    }
    return {q: (sp.Integer(0), so_far[q], so_far[q] + term) for q, term in terms.items()}


def _of_step(term: sp.Expr) -> bool:
    """Whether each symbol of a sum's term, and of its expression, means in a proof what it is at t, and not at T."""

    def is_fixed(q: sp.Basic) -> bool:
        if not isinstance(q, Quantity):
            return False
        if q.recorded:
            return "step" in q.recorded
        return q.expression is not None and all(
            is_fixed(s) for s in q.expression.free_symbols if getattr(s, "scopes", ())
        )

    return all(map(is_fixed, term.free_symbols))


def averaging_weights(quantity: sp.Basic) -> sp.Expr | None:
    """The weights c_t of F(sum_t c_t w_t / sum_t c_t) - F*: eta_t, or polynomials in t of positive coefficients."""
    average = getattr(quantity, "on_path", None)
    if type(quantity) is not Quantity or type(average) is not WeightedGap or average.tail != 0:
        return None
    weights = average.weights
    if weights is step_size_weights and quantity.statistic == "measured":
        return sy.eta
    if quantity.statistic != "measured" or not isinstance(weights, sp.Expr) or not weights.is_polynomial(t):
        return None
    coefficients = sp.Poly(weights, t).coeffs()
    positive = all(c.is_Rational and c > 0 for c in coefficients) and weights.subs(t, 0) > 0
    return weights if positive else None


@dataclass(frozen=True)
class WeightedMean:
    """The fact that F is convex, for one quantity; the sum of weighted gaps is a sequence of its own."""

    quantity: sp.Expr
    weights: sp.Expr

    @property
    def sequence(self) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
        """The sum at times 0, t and t + 1."""
        return sp.Integer(0), WEIGHTED, WEIGHTED + self.weights * sy.gap_t

    def __call__(self, o: object) -> Part:
        if self.weights == sy.eta:
            return Part(sp.Integer(0), "<=", WEIGHTED_T - sy.eta_sum * self.quantity)
        total = sp.factor(sp.summation(self.weights, (t, 0, T - 1)))
        if total.subs(T, 0) != 0 or sp.expand(total.subs(T, t + 1) - total.subs(T, t) - self.weights) != 0:
            raise KeyError(self.weights)
        return Part(sp.Integer(0), "<=", WEIGHTED_T - total * self.quantity)
