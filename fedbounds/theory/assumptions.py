"""The assumptions shipped: a user's own is written in the same way and examined in the same way."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from fedbounds.theory.assumption import Assumption, InstanceLike, Part, RunLike
from fedbounds.theory.constant import Provenance
from fedbounds.theory.protocol_assumptions import constant_steps as constant_steps
from fedbounds.theory.protocol_assumptions import independent_selection as independent_selection
from fedbounds.theory.protocol_assumptions import own_local_steps as own_local_steps
from fedbounds.theory.protocol_assumptions import projection as projection
from fedbounds.theory.protocol_assumptions import weighting as weighting
from fedbounds.theory.protocol_assumptions import with_replacement as with_replacement
from fedbounds.theory.protocol_assumptions import without_replacement as without_replacement
from fedbounds.theory.quantity import Quantity
from fedbounds.theory.symbols import *

# Gamma below this fraction of the largest e_i(w_0), or of what an error of this relative size in w* would
# make of coinciding minima, is rounding.
ZERO_GAMMA = 1e-14
MINIMISER_ROUNDING = 1e-12
# Gradients of one function computed for two clients differ by rounding of the data's sums, far below this.
SAME_GRADIENT = 1e-10

Found = tuple[bool, str]
Values = Mapping[str, Fraction]


def _of_the_class(setting: Any) -> Found:
    """What the class of functions or its multipliers build in."""
    return True, "built into the class"


def _smooth(run: RunLike) -> Found:
    constant = run.constant("L")
    return True, f"L = {constant.value:.6g} ({constant.provenance}) on R^d"


def _strongly_convex(run: RunLike) -> Found:
    if not run.problem.convex:
        return False, "the problem is not convex"
    constant = run.constant("mu")
    return constant.value > 0, f"mu = {constant.value:.6g} ({constant.provenance}) on R^d"


def _at_least_zero(expression: sp.Expr) -> Part:
    return Part(sp.Integer(0), "<=", expression)


def _above_tangent(o: Any, x: sp.Expr, y: sp.Expr, curvature: sp.Expr) -> sp.Expr:
    """F(y) - F(x) - <grad F(x), y - x> - (curvature/2) ||y - x||^2."""
    return o.value(y) - o.value(x) - o.inner(o.gradient(x), y - x) - curvature / 2 * o.norm_sq(y - x)


smooth = Assumption(
    "smooth",
    "every F_i is L-smooth (Assumption 1)",
    on_run=_smooth,
    exactly=lambda instance, values: (True, f"L = {values['L']} on R^d"),
    in_class=_of_the_class,
    gives=lambda o, x, y: _at_least_zero(-_above_tangent(o, x, y, L)),
)
strongly_convex = Assumption(
    "strongly-convex",
    "every F_i is mu-strongly convex (Assumption 2)",
    on_run=_strongly_convex,
    exactly=lambda instance, values: (values["mu"] > 0, f"mu = {values['mu']} on R^d"),
    in_class=_of_the_class,
    gives=lambda o, x, y: _at_least_zero(_above_tangent(o, x, y, mu)),
)
convex = Assumption(
    "convex",
    "every F_i is convex (mu = 0)",
    on_run=lambda run: (run.problem.convex, "convex" if run.problem.convex else "the problem is not convex"),
    exactly=lambda instance, values: (values["mu"] >= 0, f"the smallest curvature is {values['mu']}"),
    in_class=_of_the_class,
    gives=lambda o, x, y: _at_least_zero(_above_tangent(o, x, y, sp.Integer(0))),
)
# Each F_i may be concave somewhere: what is built on mu of every F_i says nothing here.
mean_strongly_convex = Assumption(
    "mean-strongly-convex",
    "F is mu_F-strongly convex, whatever each F_i is",
    sp.Gt(mu_F, 0, evaluate=False),
    in_class=lambda setting: (False, "every F_i of the class is mu-strongly convex"),
)
polyak_lojasiewicz = Assumption(
    "polyak-lojasiewicz",
    "||grad F||^2 >= 2 mu (F - F*) with F not constant, which mu-strong convexity implies",
    on_run=_strongly_convex,
    exactly=lambda instance, values: (values["mu"] > 0, f"mu = {values['mu']} on R^d"),
    in_class=_of_the_class,
)


def _bounded_moment(key: str, words: str, bound: Quantity, vector: Callable[[Any, sp.Expr], sp.Expr]) -> Assumption:
    """A bound on the second moment of a vector, checked at the points visited, where an instance's is the largest."""
    name = bound.name

    def on_run(run: RunLike) -> Found:
        value, seen = run.constant(name).value, run.reached(name)
        if run.constant(name).provenance is Provenance.GIVEN:
            return seen <= value, f"{name} = {value:.6g} given; the run needs {seen:.6g}"
        return True, f"{name} = {value:.6g}, checked at the points visited (not on R^d)"

    return Assumption(
        key,
        words,
        on_run=on_run,
        exactly=lambda instance, values: (True, f"{name} = {float(values[name]):.6g} at the points visited"),
        in_class=_of_the_class,
        gives=lambda o, x: _at_least_zero(bound - o.norm_sq(vector(o, x))),
    )


bounded_variance = _bounded_moment(
    "bounded-variance", "E||g_i - grad F_i||^2 <= sigma^2 (Assumption 3)", sigma_sq, lambda o, x: o.noise(x)
)
bounded_gradient = _bounded_moment(
    "bounded-gradient", "E||g_i||^2 <= G^2 (Assumption 4)", G_sq, lambda o, x: o.stochastic(x)
)


def _unbounded(*_: object) -> Found:
    return False, "gradients of strongly convex losses grow without bound on R^d"


bounded_gradient_everywhere = Assumption(
    "bounded-gradient-everywhere",
    "E||g_i||^2 <= G^2 on all of R^d",
    on_run=_unbounded,
    exactly=_unbounded,
    in_class=_unbounded,
)
full_gradients = Assumption(
    "full-gradients",
    "gradients are full (sigma^2 = 0)",
    sp.Eq(sigma_sq, 0),
    in_class=lambda setting: (setting.gradients == "full", f"{setting.gradients} gradients"),
    observed="sigma^2 = {sigma_sq:.4g}",
)
PAPER = (smooth, strongly_convex, bounded_variance, bounded_gradient)

full_participation = Assumption(
    "full-participation", "every client takes part (C = 1)", sp.Eq(C, 1), observed="C = {C:g}"
)
unbiased = Assumption(
    "unbiased",
    "alpha_t^i = p_i (FedAvg)",
    (sp.Eq(pi_min, 1), sp.Eq(pi_max, 1)),
    observed="alpha_i/p_i in [{pi_min:.4g}, {pi_max:.4g}]",
    gives=lambda o, quantity: Part(sp.Integer(0), "=", o.bias(quantity)),
)


def _equal_selection(run: RunLike) -> Found:
    chosen = int(run.constant("m").value)
    if run.every_round_recorded:
        return chosen > 0, f"m = {chosen}" if chosen else "the weights are not 1/m on m clients"
    return False, "the recording stride left rounds out, so m is not known (use stride 1)"


# Any choice of m clients meets it, FedMax's too; with `unbiased` and `equal_p` who is chosen is drawn uniformly.
equal_selection = Assumption(
    "equal-selection",
    "m clients a round, whichever they are, share the weight equally",
    sp.Gt(m, 0, evaluate=False),
    on_run=_equal_selection,
    observed="m = {m:g}",
)


def _positive(symbol: sp.Symbol, label: str) -> Assumption:
    return Assumption(
        f"positive-{symbol}",
        f"{label} > 0",
        sp.Gt(symbol, 0, evaluate=False),
        observed=f"{label} = {{{symbol}:.4g}}",
    )


positive_rho_bar = _positive(rho_bar, "rho_bar")
positive_pi = _positive(pi_min, "pi")
positive_p = _positive(p_min, "min p_i")
positive_rho_pairs = Assumption(
    "positive-rho-pairs",
    "rho_bar > 0 over all pairs",
    sp.Gt(rho_pairs, 0, evaluate=False),
    observed="the smallest skew over visited pairs is {rho_pairs:.4g}",
)


def _homogeneous(run: RunLike) -> Found:
    # Not Gamma itself: a client of tiny p_i makes it tiny although its minimum lies elsewhere.
    problem = run.problem
    rounding = run.constant("L").value * float(MINIMISER_ROUNDING**2 * (problem.w_star @ problem.w_star))
    farthest, at_start = (float(gaps.max()) for gaps in (problem.star_excess, problem.excess(run.start)))
    return farthest <= max(ZERO_GAMMA * at_start, rounding), f"Gamma = {run.constant('Gamma').value:.4g}"


homogeneous = Assumption(
    "homogeneous", "Gamma = 0", sp.Eq(Gamma, 0), on_run=_homogeneous, observed="Gamma = {Gamma:.4g}"
)


def _small(key: str, limit: str, relation: sp.Rel, product: str = "eta_t L") -> Assumption:
    """A limit of the step sizes."""
    return Assumption(key, f"eta_t {limit}", relation, observed=f"max_t {product} = {{left:.4g}}")


small_steps = _small("small-steps", "<= 1/L", sp.Le(eta * L, 1))
steps_below_inverse_L = _small("eta-below-1/L", "< 1/L", sp.Lt(eta * L, 1))
quarter_steps = _small("quarter-steps", "<= 1/(4L)", sp.Le(eta * L, sp.Rational(1, 4)))
steps_up_to_2_over_L_plus_mu = _small(
    "eta-below-2/(L+mu)", "<= 2/(L + mu)", sp.Le(eta * (L + mu), 2), "eta_t (L + mu)"
)
steps_below_2_over_L_plus_mu = _small(
    "eta-strictly-below-2/(L+mu)", "< 2/(L + mu)", sp.Lt(eta * (L + mu), 2), "eta_t (L + mu)"
)


def _decaying(key: str, most: int) -> Assumption:
    """A limit on how fast step sizes fall inside a round."""
    return Assumption(
        key,
        f"inside a round every earlier step size is at most {most} eta_t",
        sp.Le(eta_ratio, most),
        observed="the largest eta_s/eta_t inside a round is {eta_ratio:.4g}",
        gives=lambda o: _at_least_zero(most * eta - o.eta_s),
    )


slow_decay, halving = _decaying("slow-decay", 4), _decaying("halving", 2)
equal_steps = Assumption(
    "equal-steps",
    "inside a round all step sizes are equal",
    (sp.Eq(eta_ratio, 1), sp.Eq(eta_growth, 1)),
    observed="inside a round the largest eta_s/eta_t is {eta_ratio:.4g} and the largest eta_t/eta_s {eta_growth:.4g}",
)

equal_p = Assumption(
    "equal-p",
    "every client has weight p_i = 1/N",
    sp.Eq(N * p_min, 1),
    observed="min p_i = {p_min:.4g} of {N:g} clients",
    gives=lambda o: Part(o.share, "=", 1 / N),
)
one_client = Assumption("one-client", "N = 1", sp.Eq(N, 1), observed="N = {N:g}")
one_local_step = Assumption("one-local-step", "tau = 1", sp.Eq(tau, 1), observed="tau = {tau:g}")
# What bounds on local SGD ask for: Assumptions 1 to 3, and every client in every round with its weight p_i.
LOCAL_SGD = (smooth, strongly_convex, bounded_variance, full_participation, unbiased)


def _identical(run: RunLike) -> Found:
    """Gradients compared at w_0, w* and d + 1 points around them: for quadratics that decides it."""
    problem = run.problem
    reach = 1 + np.linalg.norm(run.start - problem.w_star)
    d = len(problem.w_star)
    around = np.random.default_rng(0).standard_normal((d + 1, d)) * reach
    points = np.concatenate([[run.start, problem.w_star], problem.w_star + around])
    grads = problem.grads(points)
    apart = float(np.abs(grads - grads[:, :1]).max() / max(np.abs(grads).max(), np.finfo(float).tiny))
    return apart <= SAME_GRADIENT, f"client gradients at {len(points)} points differ by {apart:.2g} of the largest"


def _identical_exactly(instance: InstanceLike, values: Values) -> Found:
    clients = set(instance.functions)
    return len(clients) == 1, f"{len(clients)} different functions"


identical = Assumption(
    "identical", "F_i is the same function for every client", on_run=_identical, exactly=_identical_exactly
)


def _sample_smooth(run: RunLike) -> Found:
    constant = run.constant("L_sample")
    return bool(np.isfinite(constant.value)), f"L_sample = {constant.value:.6g} ({constant.provenance})"


sample_smooth = Assumption(
    "sample-smooth", "the loss of every sample is convex and L_sample-smooth", on_run=_sample_smooth
)

# Evidence knows these by their keys, which no other assumption of a claim may have.
SHIPPED: Mapping[str, Assumption] = {item.key: item for item in [*globals().values()] if isinstance(item, Assumption)}
