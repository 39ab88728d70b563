"""The shipped quantities that no engine records: evidence computes each from paths, as it does a user's own."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from fedbounds.theory import path_formulas as on
from fedbounds.theory.quantity import (
    LENGTH_SQ,
    NUMBER,
    SLOPE_SQ,
    STEP,
    VALUE,
    Formula,
    Numbers,
    Path,
    Quantity,
    Statistic,
    largest,
    measured,
)


def _computed(
    statistic: Statistic, name: str, on_path: Formula, latex: str, meaning: str, units: tuple[int, int], **more: Any
) -> Quantity:
    """What evidence computes by ``on_path``."""
    signs: dict[str, Any] = {} if "positive" in more else {"nonnegative": True}
    return Quantity(name, on_path, statistic, latex, meaning, units, **more, **signs)


zeta_star_sq = _computed(
    "constant",
    "zeta_star_sq",
    on.slopes_at_optimum,
    r"\zeta_\star^2",
    "sum_i p_i ||grad F_i(w*)||^2",
    SLOPE_SQ,
    in_proof=True,
)
zeta_sq = _computed(
    "largest",
    "zeta_sq",
    on.gradient_spread,
    r"\zeta^2",
    "largest sum_i p_i ||grad F_i(w_t) - grad F(w_t)||^2 at the iterates visited",
    SLOPE_SQ,
)
eta_round = _computed(
    "scheduled",
    "eta_round",
    on.first_step,
    r"\eta_{t_0}",
    "step size of the first step of the round",
    STEP,
    positive=True,
)
Delta_round = _computed(
    "measured",
    "Delta_round",
    on.distance_at_start_sq,
    r"\mathbb{E}\Vert w_{r\tau}-w^\star\Vert^2",
    "squared distance to w* at the start of the round",
    LENGTH_SQ,
)
Delta_round_next = _computed(
    "measured",
    "Delta_round_next",
    on.distance_at_end_sq,
    r"\mathbb{E}\Vert w_{(r+1)\tau}-w^\star\Vert^2",
    "squared distance to w* at the end of the round",
    LENGTH_SQ,
)
gap_round = _computed(
    "measured",
    "gap_round",
    on.gap_at_start,
    r"\left(\mathbb{E}[F(w_{r\tau})]-F^\star\right)",
    "suboptimality at the start of the round",
    VALUE,
)
eta_sum = _computed(
    "scheduled",
    "eta_sum",
    lambda path: on.sums(path.eta),
    r"\sum_{t<T}\eta_t",
    "sum of the first T steps",
    STEP,
    in_proof=True,
)
gap_sum = _computed(
    "measured",
    "gap_sum",
    lambda path: on.sums(path.losses.gap(path.w[:-1])),
    r"\sum_{t<T}\left(\mathbb{E}[F(w_t)]-F^\star\right)",
    "sum of the suboptimality of w_0 ... w_{T-1}",
    VALUE,
    in_proof=True,
)
gone_sq = _computed(
    "measured",
    "gone_sq",
    on.distance_gone_sq,
    r"\left(1-\prod_{t_0\leq s<t}(1-\eta_s\mu)\right)^2",
    "squared share of its way to rest that a slowest local model has gone since the round's start",
    NUMBER,
    in_class=lambda setting: (
        (1 - math.prod((1 - eta * setting.mu for eta in setting.eta[:-1]), start=Fraction(1))) ** 2
    ),
)
parting = _computed(
    "largest",
    "parting",
    on.weight_variance,
    r"\left(1-\max(2\max_i\alpha_t^i-1,0)^2\right)",
    "largest variance of weighted points in a ball, over its squared radius",
    NUMBER,
    in_class=lambda setting: 1 - max(2 * max(setting.alpha) - 1, Fraction(0)) ** 2,
)


def weighted_gap(name: str, weights: Callable[[Path], Numbers], tail: int = 0, **declared: Any) -> Quantity:
    """E F(sum_t c_t w_t / sum_t c_t) - F* over the steps t < T.

    ``weights(path)`` (T,) are the c_t > 0. With ``tail`` = k the first T // k steps are left out. At T = 0 it is w_0.

    >>> weighted_gap("late_gap", lambda path: path.eta, tail=2).statistic
    'measured'
    """
    return measured(name, on.gap_of_average(weights, tail), units=VALUE, nonnegative=True, **declared)


average_gap = weighted_gap(
    "average_gap",
    on.equal_weights,
    latex=r"\mathbb{E}[F(\bar w_T)]-F^\star",
    meaning="suboptimality of the mean of w_0 ... w_{T-1}",
    in_proof=True,
)
tail_gap = weighted_gap(
    "tail_gap",
    on.equal_weights,
    tail=2,
    latex=r"\mathbb{E}[F(\bar w_{T/2:T})]-F^\star",
    meaning="suboptimality of the mean of w_t over T/2 <= t < T, rounded down",
)


def dissimilarity(B_sq: Any, name: str = "G_B_sq") -> Quantity:
    """The smallest G^2 >= 0 of (G, B) dissimilarity for a given B^2, at the iterates w_t visited.

    It is where sum_i p_i ||grad F_i||^2 <= G^2 + B^2 ||grad F||^2.

    >>> dissimilarity(4).meaning
    'smallest G^2 of (G, B) dissimilarity at the iterates, B^2 = 4'
    """
    meaning = f"smallest G^2 of (G, B) dissimilarity at the iterates, B^2 = {B_sq}"
    beyond = on.dissimilarity_beyond(B_sq)
    return largest(name, beyond, latex="G_B^2", meaning=meaning, units=SLOPE_SQ, nonnegative=True)
