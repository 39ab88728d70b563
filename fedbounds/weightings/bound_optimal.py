"""The constant weights that make the corollary's bound smallest: an oracle, as it knows w* and the path to it.

The bound weighs speed 1/rho_bar against error rho_tilde/rho_bar: minimise (price + rho_tilde)/rho_bar over the
simplex, where rho_bar = min_k r_k . alpha over points w_k and rho_tilde = c . alpha, with
r_k,i = e_i(w_k) / sum_j p_j e_j(w_k) and c_i = e_i(w*)/Gamma. With y = alpha/rho_bar (Charnes and Cooper, 1962)
this linear-fractional problem is the linear programme min (price 1 + c) . y subject to r_k . y >= 1, y >= 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fedbounds.errors import reject
from fedbounds.model.problem import Array, Problem
from fedbounds.model.weighting import RoundStream, Weighting, WeightingPlugin, not_in_fractions, number

# Points whose p-mean gap is below this part of the largest are w* itself up to rounding: rho is 0/0 there.
AT_OPTIMUM = 1e-9
# Steps of gradient descent from the origin whose points stand for those a run will visit.
PATH = 150
# Weights change the points visited, which change the best weights: rounds of cuts, steps towards the programme's
# optimum that are tried in each, and the relative gain below which nothing is gained.
CUTS, STEPS, SETTLED = 12, (1.0, 0.5, 0.2, 0.05), 1e-3


def skews(problem: Problem, excess: Array) -> tuple[Array, Array]:
    """(r, c): r (K, N) at points with gaps ``excess`` (K', N), points at w* dropped, and c (N,) at w*.

    c is zero where Gamma = 0: there is no error to pay for.
    """
    Gamma = float(problem.Gamma)
    means = excess @ problem.p
    above = means - Gamma
    binding = (above > AT_OPTIMUM * above.max(initial=0.0)) & (means > 0)
    c = problem.star_excess / Gamma if Gamma > 0 else np.zeros(problem.N)
    return excess[binding] / means[binding, None], c


def best_weights(r: Array, c: Array, price: float) -> Array:
    """The weights alpha (N,) of smallest (price + rho_tilde)/rho_bar over the points r (K, N), exactly."""
    from scipy.optimize import linprog

    solution = linprog(price + c, A_ub=-r, b_ub=-np.ones(len(r)), bounds=(0, None), method="highs")
    if not solution.success:
        raise reject(
            "the best weights need a client with a positive gap at every point", solution.message, "check e_i"
        )
    return solution.x / solution.x.sum()


def descent(problem: Problem, alpha: Array, steps: int = PATH) -> Array:
    """Points of gradient descent on sum_i alpha_i F_i from the origin with step 1/L: (steps, d)."""
    points = [np.zeros(problem.d)]
    for _ in range(steps - 1):
        points.append(points[-1] - alpha @ problem.grads(points[-1]) / problem.L)
    return np.stack(points)


def own_cost(problem: Problem, alpha: Array, price: float) -> tuple[float, Array]:
    """(price + rho_tilde)/rho_bar of constant weights over the points that they visit themselves, and their gaps."""
    gaps = problem.excess(descent(problem, alpha))
    r, c = skews(problem, gaps)
    lowest = float((r @ alpha).min(initial=math.inf))
    return ((price + float(c @ alpha)) / lowest if lowest > 0 else math.inf), gaps


def consistent_weights(problem: Problem, price: float) -> Array:
    """The best constant weights found over the points that they visit themselves: (N,).

    Concentrated weights pull the model to their own minimiser, where rho is small, so the points are those
    of descent on sum_i alpha_i F_i: the linear programme gives a direction, its points are added as cuts,
    and a step is taken where it pays. A local search: p, whose rho is 1 everywhere, is the worst it returns.
    """
    best = problem.p
    cheapest, points = own_cost(problem, best, price)
    for _ in range(CUTS):
        r, c = skews(problem, points)
        if not len(r):
            break
        target, improved = best_weights(r, c, price), False
        for step in STEPS:
            tried = best + step * (target - best)
            cost, gaps = own_cost(problem, tried, price)
            points = np.concatenate([points, gaps])
            if cost < cheapest * (1 - SETTLED):
                best, cheapest, improved = tried, cost, True
                break
        if not improved and np.abs(target - best).max() < SETTLED:
            break
    return best


@dataclass(frozen=True)
class BoundOptimal(Weighting):
    """The best constant weights at a price of speed in units of error, over the points they visit themselves.

    ``weights`` are found by `bind` when a run starts; without a problem there is no rule.
    """

    price: float
    weights: tuple[float, ...] | None = None
    depends_on_w: ClassVar[bool] = False
    needs_problem: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return f"bound-optimal:{self.price:g}"

    def to_text(self) -> str:
        return f"bound-optimal:{number(self.price)}"

    def bind(self, problem: Problem) -> BoundOptimal:
        return replace(self, weights=tuple(consistent_weights(problem, self.price).tolist()))

    def __call__(self, p: Array, excess: Array, round: int, stream: RoundStream) -> Array:
        if self.weights is None:
            raise reject("bound-optimal is found from a problem", "none", "call bind(problem) first")
        if excess.dtype == object:
            raise not_in_fractions(self.name, "a linear programme in floats")
        p = np.broadcast_to(p, excess.shape)
        alpha = np.where(p > 0, np.array(self.weights), 0.0)
        total = alpha.sum(axis=-1, keepdims=True)
        # Where only clients without weight are present, they share as p says.
        return np.where(total > 0, alpha / np.where(total > 0, total, 1.0), p / p.sum(axis=-1, keepdims=True))


def build(argument: str | None) -> BoundOptimal:
    """``bound-optimal:PRICE``, the price of speed in units of error; 1 unless given."""
    try:
        price = float(argument or "1")
    except ValueError:
        price = math.nan
    if not 0 < price < math.inf:
        raise reject("bound-optimal takes a positive price", repr(argument), "write bound-optimal:0.5")
    return BoundOptimal(price)


WEIGHTING = WeightingPlugin(
    "bound-optimal",
    build,
    "bound-optimal[:PRICE]",
    "the constant weights of the smallest (PRICE + rho_tilde)/rho_bar (an oracle: it knows w*)",
)
