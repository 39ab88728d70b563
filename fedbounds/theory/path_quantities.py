"""The shipped quantities that no engine records: evidence computes each from paths, as it does a user's own."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from fedbounds.errors import reject
from fedbounds.theory import points as at
from fedbounds.theory import sample_path as on
from fedbounds.theory.point_values import LaterGap, PointFormula, WeightedGap
from fedbounds.theory.quantity import (
    CURVATURE,
    LENGTH_SQ,
    NUMBER,
    SLOPE_SQ,
    STEP,
    VALUE,
    Quantity,
    constant,
    defined,
    largest,
    measured,
)
from fedbounds.theory.sample_path import Losses, Numbers, Path

zeta_star_sq = Quantity(
    "zeta_star_sq",
    at.mean(at.norm_sq(at.grad(at.w_star))),
    "constant",
    r"\zeta_\star^2",
    "sum_i p_i ||grad F_i(w*)||^2",
)


@defined("largest", r"\zeta^2", SLOPE_SQ, in_proof=True)
def zeta_sq(path: Path) -> Numbers:
    """largest sum_i p_i ||grad F_i(w_t) - grad F(w_t)||^2 at the iterates visited"""
    slopes, mean = on.gradients_and_their_mean(path)
    return on.norm_sq(slopes - mean[..., None, :]) @ path.losses.p


@defined("scheduled", r"\eta_{t_0}", STEP, positive=True)
def eta_round(path: Path) -> Numbers:
    """step size of the first step of the round"""
    return path.eta[path.begun[:-1]]


@defined("largest", r"T_{\mathrm{run}}", NUMBER, {}, positive=True)
def T_run(path: Path) -> Numbers:
    """number of local steps of the whole run"""
    return len(path.eta)


@defined("scheduled", "R", NUMBER)
def R(path: Path) -> Numbers:
    """number of finished rounds"""
    return path.begun // path.tau


@defined("scheduled", "k", NUMBER, in_class=lambda setting: Fraction(setting.step), in_proof=True)
def local_step(path: Path) -> Numbers:
    """local steps of the round so far"""
    return path.t - path.begun


@defined("measured", r"\mathbb{E}\Vert w_{r\tau}-w^\star\Vert^2", LENGTH_SQ)
def Delta_round(path: Path) -> Numbers:
    """squared distance to w* at the start of the round"""
    return on.distance_sq(path)[path.begun]


@defined("measured", r"\mathbb{E}\Vert w_{(r+1)\tau}-w^\star\Vert^2", LENGTH_SQ)
def Delta_round_next(path: Path) -> Numbers:
    """squared distance to w* at the end of the round"""
    return on.distance_sq(path)[path.begun[:-1] + path.tau]


@defined("measured", r"\left(\mathbb{E}[F(w_{r\tau})]-F^\star\right)", VALUE)
def gap_round(path: Path) -> Numbers:
    """suboptimality at the start of the round"""
    return path.losses.gap(path.w)[path.begun]


@defined("measured", r"\left(\mathbb{E}[F(w_{(r+1)\tau})]-F^\star\right)", VALUE)
def gap_round_next(path: Path) -> Numbers:
    """suboptimality at the end of the round"""
    return path.losses.gap(path.w)[path.begun[:-1] + path.tau]


@defined("scheduled", r"\sum_{t<T}\eta_t", STEP, in_proof=True)
def eta_sum(path: Path) -> Numbers:
    """sum of the first T steps"""
    return on.sums(path.eta)


@defined("measured", r"\sum_{t<T}\left(\mathbb{E}[F(w_t)]-F^\star\right)", VALUE, in_proof=True)
def gap_sum(path: Path) -> Numbers:
    """sum of the suboptimality of w_0 ... w_{T-1}"""
    return on.sums(path.losses.gap(path.w[:-1]))


@defined("largest", r"\left(F(w_0)-F^\star\right)", VALUE, in_proof=True)
def gap_0(path: Path) -> Numbers:
    """suboptimality of the start"""
    return path.losses.gap(path.w[:1])


@defined("constant", r"\mu_F", CURVATURE, positive=True)
def mu_F(losses: Losses) -> Numbers:
    """strong-convexity constant of F, whatever those of the F_i"""
    rows = getattr(losses, "curvatures", None)
    if rows is None or losses.turns is not None:  # type: ignore[attr-defined]
        return losses.mu
    upper = losses.upper  # type: ignore[attr-defined]
    least = rows if upper is None else np.minimum(rows, upper)
    return (losses.p[:, None] * least).sum(0).min()


def _gone_in_class(setting: Any) -> Any:
    return (1 - math.prod((1 - eta * setting.mu for eta in setting.eta[:-1]), start=Fraction(1))) ** 2


@defined("measured", r"\left(1-\prod_{t_0\leq s<t}(1-\eta_s\mu)\right)^2", NUMBER, in_class=_gone_in_class)
def gone_sq(path: Path) -> Numbers:
    """squared share of its way to rest that a slowest local model has gone since the round's start"""
    factors = 1 - path.eta * path.losses.mu
    return np.array([(1 - factors[start:t].prod()) ** 2 for t, start in enumerate(path.begun[:-1])])


def _parting_in_class(setting: Any) -> Any:
    return 1 - max(2 * max(setting.alpha) - 1, Fraction(0)) ** 2


@defined("largest", r"\left(1-\max(2\max_i\alpha_t^i-1,0)^2\right)", NUMBER, in_class=_parting_in_class)
def parting(path: Path) -> Numbers:
    """largest variance of weighted points in a ball, over its squared radius"""
    top = path.alpha.max(axis=-1)
    return 1 - np.maximum(2 * top - 1, 0 * top) ** 2


def weighted_gap(name: str, weights: Callable[[Path], Numbers] | sp.Expr, tail: int = 0, **declared: Any) -> Quantity:
    """E F(sum_t c_t w_t / sum_t c_t) - F* over the steps t < T.

    ``weights(path)`` (T,) are the c_t > 0, or their expression in t, which proofs read. With ``tail`` = k the first
    T // k steps are left out. At T = 0 it is w_0.

    >>> weighted_gap("late_gap", lambda path: path.eta, tail=2).statistic
    'measured'
    """
    facets = {"units": VALUE, "nonnegative": True, "in_proof": isinstance(weights, sp.Expr), **declared}
    return measured(name, WeightedGap(weights, tail), **facets)


def _equal_weights(path: Path) -> Numbers:
    return np.ones_like(path.eta)


def step_size_weights(path: Path) -> Numbers:
    return path.eta


# These are of any number of runs at once, eta (..., T).
OF_MANY_RUNS = (_equal_weights, step_size_weights)

average_gap = weighted_gap(
    "average_gap",
    _equal_weights,
    latex=r"\mathbb{E}[F(\bar w_T)]-F^\star",
    meaning="suboptimality of the mean of w_0 ... w_{T-1}",
    in_proof=True,
)
eta_average_gap = weighted_gap(
    "eta_average_gap",
    step_size_weights,
    latex=r"\mathbb{E}[F(\bar w^{\eta}_T)]-F^\star",
    meaning="suboptimality of the mean of w_0 ... w_{T-1} with weights eta_t",
    in_proof=True,
)
later_average_gap = measured(
    "later_average_gap",
    LaterGap(_equal_weights),
    units=VALUE,
    nonnegative=True,
    latex=r"\mathbb{E}[F(\bar w_{1:T})]-F^\star",
    meaning="suboptimality of the mean of w_1 ... w_T",
)
tail_gap = weighted_gap(
    "tail_gap",
    _equal_weights,
    tail=2,
    latex=r"\mathbb{E}[F(\bar w_{T/2:T})]-F^\star",
    meaning="suboptimality of the mean of w_t over T/2 <= t < T, rounded down",
)


# By what a free constant exceeds its least value, in one problem or another.
BEYOND = (1, Fraction(1, 8), 8, Fraction(1, 64), 64, 0)


@dataclass(frozen=True)
class FreeValue:
    """The value that a constant which may be any number from ``least`` on has in a problem."""

    least: sp.Expr

    def __call__(self, losses: Losses) -> Numbers:
        # Rounding a problem to fractions must not change the value.
        which = len(losses.p) + len(losses.w_star) + math.floor(8 * losses.mu / losses.L)
        first, choices = PointFormula(self.least)(losses), BEYOND if self.least != 0 else BEYOND[:-1]
        return first + (first + (first == 0)) * (choices[which % len(choices)] + 0 * losses.p[0])


def free(name: str, least: Any = 0, **declared: Any) -> Quantity:
    """A constant of the author's that may be any number from ``least`` on, or any positive one.

    Proofs know nothing of it. In runs and fractions each problem has one of six values, so that a violation stands
    and its absence says nothing of other values. ``least`` is a number or an expression in L, mu and N.

    >>> free("c", least=2).meaning
    'any number from 2 on'
    """
    least = sp.sympify(least)
    wrong = at.fault(least, constant=True)
    if wrong:
        raise reject(f"the least value of {name} must be made of constants of the problem", least, wrong)
    bounded = f"any number from {least} on" if least != 0 else "any positive number"
    words = declared.pop("meaning", bounded)
    return Quantity(name, FreeValue(least), "constant", meaning=words, **{"positive": True, **declared})


def is_free(quantity: Quantity) -> bool:
    """Whether no problem determines a quantity.

    >>> is_free(free("c")), is_free(gap_0)
    (True, False)
    """
    return isinstance(quantity.on_path, FreeValue)


def dissimilarity(B_sq: Any, name: str = "G_B_sq") -> Quantity:
    """The smallest G^2 >= 0 with sum_i p_i ||grad F_i||^2 <= G^2 + B^2 ||grad F||^2 at the iterates visited.

    >>> dissimilarity(4).meaning
    'smallest G^2 of (G, B) dissimilarity at the iterates, B^2 = 4'
    """

    def beyond(path: Path) -> Numbers:
        slopes, mean = on.gradients_and_their_mean(path)
        return np.maximum(on.norm_sq(slopes) @ path.losses.p - B_sq * on.norm_sq(mean), 0)

    meaning = f"smallest G^2 of (G, B) dissimilarity at the iterates, B^2 = {B_sq}"
    return largest(name, beyond, latex="G_B^2", meaning=meaning, units=SLOPE_SQ, nonnegative=True)


# Each of the following is one expression of points, which all kinds of evidence read.
# Of the problem.
p_sq = constant("p_sq", at.mean(at.p_i), meaning="sum_i p_i^2")
optimum_spread = constant(
    "optimum_spread", at.mean(at.norm_sq(at.w_i_star - at.w_star)), meaning="sum_i p_i ||w_i* - w*||^2"
)
spread_of_optima = constant(
    "spread_of_optima",
    at.mean(at.norm_sq(at.w_i_star - at.mean(at.w_i_star))),
    meaning="variance of the w_i* under p",
)
optimum_to_mean = constant(
    "optimum_to_mean", at.norm_sq(at.w_star - at.mean(at.w_i_star)), meaning="||w* - sum_i p_i w_i*||^2"
)
# At the virtual iterate.
slope_sq = measured("slope_sq", at.mean(at.norm_sq(at.grad(at.w))), meaning="sum_i p_i ||grad F_i(w)||^2")
mean_slope_sq = measured("mean_slope_sq", at.norm_sq(at.mean(at.grad(at.w))), meaning="||grad F(w)||^2")
slope_variance = measured(
    "slope_variance",
    at.mean(at.norm_sq(at.grad(at.w) - at.mean(at.grad(at.w)))),
    meaning="sum_i p_i ||grad F_i(w) - grad F(w)||^2",
)
mean_excess = measured("mean_excess", at.F(at.w) - at.mean(at.F_i_star), meaning="F(w) - sum_i p_i F_i*")
moved_sq = measured("moved_sq", at.norm_sq(at.w_next - at.w), meaning="||w_{t+1} - w_t||^2")
# At the local models.
dispersion = measured(
    "dispersion", at.mean(at.norm_sq(at.w_i - at.mean(at.w_i))), meaning="variance of the local models under p"
)
client_error = measured("client_error", at.mean(at.norm_sq(at.w_i - at.w_star)), meaning="sum_i p_i ||w_i - w*||^2")
models_slope_sq = measured(
    "models_slope_sq", at.mean(at.norm_sq(at.grad(at.w_i))), meaning="sum_i p_i ||grad F_i(w_i)||^2"
)
average_models_gap = measured(
    "average_models_gap", at.F(at.mean(at.w_i)) - at.F_star, meaning="F(wbar) - F*, wbar = sum_i p_i w_i"
)
average_models_slope_sq = measured(
    "average_models_slope_sq", at.norm_sq(at.mean(at.grad(at.mean(at.w_i)))), meaning="||grad F(wbar)||^2"
)
# Of the server's weights.
chi_sq = measured("chi_sq", at.mean((at.weight_ratio - 1) ** 2), meaning="sum_i (alpha_i - p_i)^2/p_i")
displaced_sq = measured("displaced_sq", at.norm_sq(at.w_alpha - at.w_star), meaning="||w_alpha - w*||^2")
displaced_gap = measured("displaced_gap", at.F(at.w_alpha) - at.F_star, meaning="F(w_alpha) - F*")
