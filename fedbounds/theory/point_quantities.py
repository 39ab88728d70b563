"""Quantities that theorems often speak of, each one expression of points: one line for all kinds of evidence."""

from __future__ import annotations

from fedbounds.theory.points import (
    F,
    F_i_star,
    F_star,
    grad,
    mean,
    norm_sq,
    p_i,
    w,
    w_alpha,
    w_i,
    w_i_star,
    w_next,
    w_star,
    weight_ratio,
)
from fedbounds.theory.quantity import constant, measured

__all__ = [
    "average_models_gap",
    "average_models_slope_sq",
    "chi_sq",
    "client_error",
    "dispersion",
    "displaced_gap",
    "displaced_sq",
    "mean_excess",
    "mean_slope_sq",
    "models_slope_sq",
    "moved_sq",
    "optimum_spread",
    "optimum_to_mean",
    "p_sq",
    "slope_sq",
    "slope_variance",
    "spread_of_optima",
]

# Of the problem.
p_sq = constant("p_sq", mean(p_i), meaning="sum_i p_i^2")
optimum_spread = constant("optimum_spread", mean(norm_sq(w_i_star - w_star)), meaning="sum_i p_i ||w_i* - w*||^2")
spread_of_optima = constant(
    "spread_of_optima", mean(norm_sq(w_i_star - mean(w_i_star))), meaning="variance of the w_i* under p"
)
optimum_to_mean = constant("optimum_to_mean", norm_sq(w_star - mean(w_i_star)), meaning="||w* - sum_i p_i w_i*||^2")
# At the virtual iterate.
slope_sq = measured("slope_sq", mean(norm_sq(grad(w))), meaning="sum_i p_i ||grad F_i(w)||^2")
mean_slope_sq = measured("mean_slope_sq", norm_sq(mean(grad(w))), meaning="||grad F(w)||^2")
slope_variance = measured(
    "slope_variance", mean(norm_sq(grad(w) - mean(grad(w)))), meaning="sum_i p_i ||grad F_i(w) - grad F(w)||^2"
)
mean_excess = measured("mean_excess", F(w) - mean(F_i_star), meaning="F(w) - sum_i p_i F_i*")
moved_sq = measured("moved_sq", norm_sq(w_next - w), meaning="||w_{t+1} - w_t||^2")
# At the local models.
dispersion = measured("dispersion", mean(norm_sq(w_i - mean(w_i))), meaning="variance of the local models under p")
client_error = measured("client_error", mean(norm_sq(w_i - w_star)), meaning="sum_i p_i ||w_i - w*||^2")
models_slope_sq = measured("models_slope_sq", mean(norm_sq(grad(w_i))), meaning="sum_i p_i ||grad F_i(w_i)||^2")
average_models_gap = measured(
    "average_models_gap", F(mean(w_i)) - F_star, meaning="F(wbar) - F*, wbar = sum_i p_i w_i"
)
average_models_slope_sq = measured(
    "average_models_slope_sq", norm_sq(mean(grad(mean(w_i)))), meaning="||grad F(wbar)||^2"
)
# Of the server's weights.
chi_sq = measured("chi_sq", mean((weight_ratio - 1) ** 2), meaning="sum_i (alpha_i - p_i)^2/p_i")
displaced_sq = measured("displaced_sq", norm_sq(w_alpha - w_star), meaning="||w_alpha - w*||^2")
displaced_gap = measured("displaced_gap", F(w_alpha) - F_star, meaning="F(w_alpha) - F*")
