"""The shipped quantities: the one source of notation, meaning, units and definition for formulas, tables and plots.

Every right-hand side is a sympy expression in these symbols; one's own (`fedbounds.theory.quantity`) need no entry.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import sympy as sp

from fedbounds.theory import points as at
from fedbounds.theory import sample_path as on
from fedbounds.theory.path_quantities import *
from fedbounds.theory.quantity import (
    CURVATURE,
    LENGTH_SQ,
    NUMBER,
    SLOPE_SQ,
    STEP,
    VALUE,
    Quantity,
    defined,
)
from fedbounds.theory.quantity import Scope as Scope
from fedbounds.theory.sample_path import Losses, Numbers, Path
from fedbounds.theory.sums_over_steps import least_over_steps as least_over_steps
from fedbounds.theory.sums_over_steps import sum_over_rounds as sum_over_rounds
from fedbounds.theory.sums_over_steps import sum_over_steps as sum_over_steps

# Fields of the protocol rather than of the random path.
PROTOCOL_FIELDS = ("time", "eta")
_GIVEN: Mapping[Scope, str] = {}  # the record of a constant that every run gives


@defined("constant", "L", CURVATURE, _GIVEN, positive=True)
def L(losses: Losses) -> Numbers:
    """smoothness constant of every F_i (Assumption 1)"""
    return losses.L


@defined("constant", r"\mu", CURVATURE, _GIVEN, positive=True)
def mu(losses: Losses) -> Numbers:
    """strong-convexity constant of every F_i (Assumption 2)"""
    return losses.mu


Gamma = Quantity(
    "Gamma",
    at.F_star - at.mean(at.F_i_star),
    latex=r"\Gamma",
    meaning="heterogeneity F* - sum_i p_i F_i*",
    recorded=_GIVEN,
    nonnegative=True,
)


@defined("largest", r"\tau", NUMBER, _GIVEN, positive=True)
def tau(path: Path) -> Numbers:
    """local steps a round"""
    return path.tau


@defined("constant", "N", NUMBER, _GIVEN, positive=True)
def N(losses: Losses) -> Numbers:
    """number of clients"""
    return len(losses.p)


@defined("largest", "G^2", SLOPE_SQ, _GIVEN)
def G_sq(path: Path) -> Numbers:
    """bound on the second moment of stochastic gradients (Assumption 4)"""
    return (on.norm_sq(on.each_client_at_its_point(path.losses.grads(path.X))) + on.variances(path)).ravel()


@defined("largest", r"\sigma^2", SLOPE_SQ, _GIVEN)
def sigma_sq(path: Path) -> Numbers:
    """bound on the variance of stochastic gradients (Assumption 3)"""
    return on.variances(path).ravel()


@defined("largest", r"\sum_i p_i^2\sigma_i^2", SLOPE_SQ, _GIVEN)
def sigma_p_sq(path: Path) -> Numbers:
    """variance of the p-weighted stochastic gradient"""
    return on.variance_of_mean(path.losses.p, on.variances(path))


@defined("largest", r"\sum_i p_i^2\sigma_{i,\star}^2", SLOPE_SQ, _GIVEN)
def sigma_opt_sq(path: Path) -> Numbers:
    """variance of the p-weighted stochastic gradient at w*"""
    return path.losses.p**2 @ on.variances_at_optimum(path)


@defined("largest", r"\sigma_{\mathrm{dif}}^2", SLOPE_SQ, _GIVEN)
def sigma_dif_sq(path: Path) -> Numbers:
    """sum_i p_i E||g_i(w*)||^2, second moment of the gradients at w*"""
    slopes = on.norm_sq(path.losses.grads(path.losses.w_star))
    return path.losses.p @ on.variances_at_optimum(path) + path.losses.p @ slopes


@defined("smallest", r"\overline{\rho}", NUMBER, _GIVEN)
def rho_bar(path: Path) -> Numbers:
    """smallest weighting skew rho(t, w_t)"""
    rho = np.where(on.is_p(path), 1, on.skew(path.alpha, path.shares, path.losses.excess(on.virtual(path))))
    return rho[:: path.tau] if path.synchronised_skew else rho


@defined("largest", r"\tilde{\rho}", NUMBER, _GIVEN)
def rho_tilde(path: Path) -> Numbers:
    """largest weighting skew rho(t, w*)"""
    products = path.alpha @ path.losses.excess(path.losses.w_star)
    return on.skew_at_optimum(products, on.heterogeneity(path.losses), on.is_p(path))


@defined("smallest", r"\pi", NUMBER, _GIVEN)
def pi_min(path: Path) -> Numbers:
    """smallest ratio alpha_t^i / p_i"""
    return on.weight_ratios(path)


@defined("largest", r"\Pi", NUMBER, _GIVEN)
def pi_max(path: Path) -> Numbers:
    """largest ratio alpha_t^i / p_i"""
    return on.weight_ratios(path)


@defined("constant", r"\min_i p_i", NUMBER, _GIVEN, positive=True)
def p_min(losses: Losses) -> Numbers:
    """smallest client weight"""
    return losses.p.min()


@defined("largest", r"\Vert w_0-w^\star\Vert^2", LENGTH_SQ, _GIVEN)
def Delta_0(path: Path) -> Numbers:
    """squared distance of the start to w*"""
    return on.distance_sq(path)[:1]


@defined("smallest", "C", NUMBER, _GIVEN, positive=True)
def C(path: Path) -> Numbers:
    """share of the clients that take part in a round"""
    return (path.shares > 0).sum(-1) / (0 * path.eta + path.shares.shape[-1])


@defined("largest", r"\left(\max_{s\leq t}\eta_s/\eta_t\right)", NUMBER, _GIVEN, positive=True)
def eta_ratio(path: Path) -> Numbers:
    """largest ratio of an earlier to a later step size of one round"""
    return on.ratios_of_steps(path.eta, path.tau)


@defined("largest", r"\left(\max_{s\leq t}\eta_t/\eta_s\right)", NUMBER, _GIVEN, positive=True)
def eta_growth(path: Path) -> Numbers:
    """largest ratio of a later to an earlier step size of one round"""
    return on.growth_of_steps(path.eta, path.tau)


@defined("largest", r"\eta_0", STEP, _GIVEN, positive=True)
def eta_0(path: Path) -> Numbers:
    """step size of the first step"""
    return path.eta[:1]


def _named(name: str, latex: str, meaning: str, units: tuple[int, int] = NUMBER, **signs: Any) -> Quantity:
    """A constant that a claim defines, or that is taken over all paths together."""
    signs = signs or {"nonnegative": True}
    return Quantity(name, None, "constant", latex, meaning, units, recorded=_GIVEN, **signs)


gamma = _named("gamma", r"\gamma", "offset of the step size", positive=True)
sigma_0_sq = _named("sigma_0_sq", r"\sigma_0^2", "variance of stochastic gradients where grad F_i = 0", SLOPE_SQ)
growth = _named("growth", "c", "growth of the variance with ||grad F_i||^2")
L_sample = _named(
    "L_sample", r"L_{\xi}", "smoothness constant of the loss of every single sample", CURVATURE, positive=True
)
rho_pairs = _named("rho_pairs", r"\overline{\rho}_{\times}", "smallest skew over pairs of visited points")
m = _named("m", "m", "number of clients selected a round", positive=True)
q = _named("q", "q", "probability that a client takes part in a round, whoever else does", positive=True)
eta_s = _named("eta_s", r"\eta_s", "server step size: a round ends in w + eta_s (mean of models - w)", positive=True)
turn = _named("turn", "h", "what a step of a local model turns by, over what it contracts by")
reach = _named("reach", "y", "local steps whose deviations gain most in a round, less one")
push = _named("push", "b", "largest way of the mean in a round from w*, over the root of sigma_dif^2", STEP)
skew = _named("skew", "r", "smallest weighting skew, as far as a contraction may use it")
kept = _named("kept", r"q_{\eta}", "what a step at a constant size keeps of the squared distance")


@defined("scheduled", "t", NUMBER, {"step": "time"})
def t(path: Path) -> Numbers:
    """local step"""
    return path.t


@defined("scheduled", "T", NUMBER, {"horizon": "time"})
def T(path: Path) -> Numbers:
    """number of local steps taken"""
    return path.t


@defined("scheduled", r"\eta_t", STEP, {"step": "eta"}, positive=True)
def eta(path: Path) -> Numbers:
    """step size"""
    return path.eta


_DISTANCE_SQ, _GAP = at.norm_sq(at.w - at.w_star), at.F(at.w) - at.F_star


def _of_a_step(name: str, of: sp.Expr, latex: str, meaning: str, scope: Scope, field: str) -> Quantity:
    """An expectation that engines record, and that is never negative."""
    return Quantity(name, of, "measured", latex, meaning, recorded={scope: field}, nonnegative=True)


Delta = _of_a_step(
    "Delta", _DISTANCE_SQ, r"\mathbb{E}\Vert w_t-w^\star\Vert^2", "squared distance to w*", "step", "distance_sq"
)
Delta_next = _of_a_step(
    "Delta_next",
    at.norm_sq(at.w_next - at.w_star),
    r"\mathbb{E}\Vert w_{t+1}-w^\star\Vert^2",
    "squared distance to w* one step later",
    "step",
    "next_mean",
)
drift = _of_a_step(
    "drift",
    at.mean_alpha(at.norm_sq(at.w - at.w_i)),
    r"\mathbb{E}\sum_i\alpha_t^i\Vert w_t-w_t^i\Vert^2",
    "discrepancy of the local models from the virtual iterate",
    "step",
    "drift",
)
gap = _of_a_step("gap", _GAP, r"\mathbb{E}[F(w_T)]-F^\star", "suboptimality of the global model", "horizon", "gap")
Delta_T = _of_a_step(
    "Delta_T",
    _DISTANCE_SQ,
    r"\mathbb{E}\Vert w_T-w^\star\Vert^2",
    "squared distance of w_T to w*",
    "horizon",
    "distance_sq",
)
gap_t = _of_a_step(
    "gap_t", _GAP, r"\left(\mathbb{E}[F(w_t)]-F^\star\right)", "suboptimality at a step", "step", "gap"
)


@defined("measured", r"\Vert\nabla F_i(w)\Vert^2", SLOPE_SQ, {"point": "grad_sq"})
def grad_sq(path: Path) -> Numbers:
    """squared gradient norm of a client"""
    return on.norm_sq(on.each_client_at_its_point(path.losses.grads(path.X)))


@defined("measured", r"\left(F_i(w)-F_i^\star\right)", VALUE, {"point": "local_excess"})
def excess(path: Path) -> Numbers:
    """gap of a client"""
    return on.each_client_at_its_point(path.losses.excess(path.X))


# Name -> every shipped quantity, and those among them that engines record or every run gives.
QUANTITIES: Mapping[str, Quantity] = {
    q.name: q
    for q in sorted(
        (v for v in globals().values() if isinstance(v, Quantity)),
        key=lambda q: q.computed,
    )
}
RECORDED: Mapping[str, Quantity] = {name: q for name, q in QUANTITIES.items() if q.recorded is not None}


@cache
def in_scope(scope: Scope) -> Mapping[str, str]:
    """The symbols that vary over a scope -> the recorded field that fills each.

    >>> in_scope("step")["Delta"], "L" in in_scope("step")
    ('distance_sq', False)
    """
    fields = {name: (q.recorded or {}).get(scope) for name, q in RECORDED.items()}
    return {name: field for name, field in fields.items() if field is not None}


@cache
def measured_fields() -> Mapping[str, str]:
    """The recorded symbols that stand for an expectation -> the field behind each, whatever the scope.

    >>> measured_fields()["Delta"]
    'distance_sq'
    """
    chosen = [q for q in RECORDED.values() if q.statistic == "measured"]
    return {q.name: field for q in chosen for field in (q.recorded or {}).values()}


def latex(expression: sp.Expr) -> str:
    """LaTeX of an expression in the paper's notation.

    >>> latex(eta**2 * sigma_sq)
    '\\\\eta_t^{2} \\\\sigma^2'
    """
    notation = ((s, s if isinstance(s, Quantity) else QUANTITIES.get(s.name)) for s in expression.free_symbols)
    names = {symbol: quantity.latex for symbol, quantity in notation if quantity is not None}
    return str(sp.latex(expression, symbol_names=names))
