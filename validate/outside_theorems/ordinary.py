"""The first thirty statements: ordinary convergence theorems and lemmas. Keys with a letter are parts of one."""

from __future__ import annotations

import numpy as np
import sympy as sp

from fedbounds.theory import assumptions as a
from fedbounds.theory import path_quantities as pq
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.points import F, F_star, grad, mean, norm_sq, w, w_i, w_next
from fedbounds.theory.quantity import constant, measured
from fedbounds.theory.symbols import (
    Delta,
    Delta_0,
    Delta_next,
    Delta_round,
    Delta_T,
    G_sq,
    Gamma,
    L,
    N,
    T,
    drift,
    eta,
    eta_0,
    gamma,
    gap_t,
    local_step,
    m,
    mu,
    rho_tilde,
    sigma_p_sq,
    sigma_sq,
    t,
    tau,
    zeta_sq,
    zeta_star_sq,
)
from validate.outside_theorems import formulas as f
from validate.outside_theorems import vocabulary as v
from validate.outside_theorems.vocabulary import (
    CONVEX,
    EVERYBODY,
    FREE,
    KEPT,
    LOCAL_GD,
    NOISY,
    SAMPLED,
    ZERO,
    kappa,
    statement,
    up_to,
)

gamma_above_kappa = Assumption("gamma", "gamma >= kappa", sp.Le(eta_0 * L, 1))
gamma_above_both = Assumption("gamma", "gamma >= max(2 kappa, tau)", sp.Le(eta_0 * sp.Max(2 * L, tau * mu), 1))
below_2_over_L = Assumption("eta-below-2/L", "eta < 2/L", sp.Lt(eta * L, 2))
heterogeneous = Assumption("heterogeneous", "Gamma > 0", sp.Gt(Gamma, 0, evaluate=False))

later_gaps = measured("later_gaps", lambda path: np.append([0], np.cumsum(path.losses.gap(path.w[1:]))))
least_selected = measured("least_selected", f.least_top)
softmax_excess = measured(
    "softmax_excess",
    lambda path: (f.softmax(path.losses.p, path.losses.excess(path.w)) * path.losses.excess(path.w)).sum(-1),
)
softmax_bound = measured(
    "softmax_bound",
    lambda path: (
        (f.softmax(path.losses.p, path.losses.excess(path.w)) / path.losses.p).max(axis=-1)
        * (path.losses.excess(path.w) @ path.losses.p)
    ),
)
sample_bias = measured("sample_bias", f.biased)
least_sample_gap = measured("least_sample_gap", lambda path: np.min([g for _, g in f.gap_of_sample(path)], axis=0))
inverse_bias = measured("inverse_bias", lambda path: f.inverse_probability(path, 1))
inverse_error = measured("inverse_error", lambda path: f.inverse_probability(path, 2))
update_sq = measured("update_sq", lambda path: f.norm_sq(f.advance(path)) @ path.losses.p**2)
of_largest_loss = measured("of_largest_loss", f.of_largest_loss)
aggregated_sq = measured("aggregated_sq", norm_sq(w_next - w) / eta**2)
sampling_error = measured("sampling_error", f.sampling_error)
stepped_gap = measured("stepped_gap", F(mean(w_i) - eta * mean(grad(w_i))) - F_star)
min_max_gap = constant("min_max_gap", f.min_max_gap)

li_B = sigma_p_sq + 6 * L * Gamma + 8 * (tau - 1) ** 2 * G_sq
# fmt: off
CLAIMS = (
    statement(
        "ordinary-01",
        "Mean loss along the run, times T: sum_{t=1}^T (E F(w_t) - F*) <= (kappa/2)(mu gamma D_0 + sigma^2/(mu N))",
        "horizon", later_gaps, {"start": kappa / 2 * mu * gamma * Delta_0, "noise": kappa / 2 * sigma_sq / (mu * N)},
        *NOISY, *EVERYBODY, a.equal_p, v.one_step, gamma_above_kappa, **FREE,
    ),
    statement(
        "ordinary-02", "Displacement by biased weights, squared: ||w_alpha - w*||^2 <= chi^2 zeta_*^2/mu^2", "step",
        pq.displaced_sq, pq.chi_sq * zeta_star_sq / mu**2, *CONVEX, a.full_participation,
    ),
    statement(
        "ordinary-03", "Gradient diversity: sum_i p_i ||grad F_i(w)||^2 <= 2 L (F(w) - F*) + zeta_*^2", "step",
        pq.slope_sq, {"gap": 2 * L * gap_t, "optimum": zeta_star_sq}, *CONVEX,
    ),
    statement(
        "ordinary-04a", "Size of the client gradients: 2 mu (F(w) - F* + Gamma) <= sum_i p_i ||grad F_i(w)||^2",
        "step", 2 * mu * (gap_t + Gamma), pq.slope_sq, *CONVEX,
    ),
    statement(
        "ordinary-04b", "Size of the client gradients: sum_i p_i ||grad F_i(w)||^2 <= 2 L (F(w) - F* + Gamma)",
        "step", pq.slope_sq, 2 * L * (gap_t + Gamma), *CONVEX,
    ),
    statement(
        "ordinary-05", "FedAvg, decaying steps, full participation: E||wbar_T - w*||^2 <= v/(gamma + T)", "horizon",
        Delta_T, sp.Max(4 * li_B / mu**2, gamma * Delta_0) / (gamma + T), *a.PAPER, *EVERYBODY,
        definitions={gamma: sp.Max(8 * kappa, tau)}, eta=2 / (mu * (t + gamma)),
    ),
    statement(
        "ordinary-06", "Top-k selection: a_k(w) = sum_i alpha_i F_i(w) - F(w) >= 0 for every w, k and p", "step",
        pq.mean_excess, least_selected, *CONVEX,
    ),
    statement(
        "ordinary-07a", "Selection skew of a soft-max rule: 1 <= rho(w), multiplied by its denominator, beta = 1",
        "step", pq.mean_excess, softmax_excess, *CONVEX,
    ),
    statement(
        "ordinary-07b",
        "Selection skew of a soft-max rule: rho(w) <= max_i alpha_i/p_i, multiplied likewise, beta = 1", "step",
        softmax_excess, softmax_bound, *CONVEX,
    ),
    statement(
        "ordinary-08a", "Unbiased aggregation: E w_S = wbar for m clients drawn uniformly, w_S normalised, every m",
        "step", sample_bias, ZERO, *CONVEX,
    ),
    statement(
        "ordinary-08b", "Unbiased aggregation: E F(w_S) >= F(wbar), every m", "step", pq.average_models_gap,
        least_sample_gap, *CONVEX,
    ),
    statement(
        "ordinary-09a", "Optimum spread: (mu/2) D <= Gamma", "constant", mu / 2 * pq.optimum_spread, Gamma, *CONVEX,
    ),
    statement(
        "ordinary-09b", "Optimum spread: Gamma <= (L/2) D", "constant", Gamma, L / 2 * pq.optimum_spread, *CONVEX,
    ),
    statement(
        "ordinary-10a", "Inverse-probability aggregation: E Delta = vbar, every m", "step", inverse_bias, ZERO,
        *CONVEX,
    ),
    statement(
        "ordinary-10b",
        "Inverse-probability aggregation: (m/N) E||Delta - vbar||^2 <= sum_i p_i^2 ||v_i||^2, every m", "step",
        inverse_error, update_sq, *CONVEX,
    ),
    statement(
        "ordinary-11a", "Loss after averaging over a sample: F(wbar) <= E F(w_S)", "step", pq.average_models_gap,
        gap_t, *CONVEX, *SAMPLED,
    ),
    statement(
        "ordinary-11b", "Loss after averaging over a sample: E F(w_S) <= F(wbar) + (L/(2m)) V", "step", gap_t,
        {"all": pq.average_models_gap, "sample": L / (2 * m) * pq.dispersion}, *CONVEX, *SAMPLED,
    ),
    statement(
        "ordinary-12",
        "Common minimiser: A_T <= (1 - eta mu)^{2T} A_0 + (eta/mu) sum_i p_i sigma_i^2, one sigma for all", "step",
        pq.client_error, {"start": KEPT ** (2 * t) * Delta_0, "noise": eta_0 / mu * sigma_sq}, *NOISY, *EVERYBODY,
        a.homogeneous, eta=up_to(2 / (mu + L)),
    ),
    statement(
        "ordinary-13", "Biased client selection: ||w_T - w*||^2 <= (1 - eta mu)^T ||w_0 - w*||^2 + 2 rho_T Gamma/mu",
        "horizon", Delta_T, {"start": KEPT**T * Delta_0, "bias": 2 * rho_tilde * Gamma / mu}, *CONVEX,
        a.full_gradients, a.full_participation, v.one_step, heterogeneous, eta=up_to(1 / L),
    ),
    statement(
        "ordinary-14", "Largest-loss selection: rho(w) >= 1, multiplied by its denominator, F_i* need not be equal",
        "step", pq.mean_excess, of_largest_loss, *CONVEX,
    ),
    statement(
        "ordinary-15", "Second moment of the aggregated gradient: E||sum_i p_i g_i||^2 <= G^2 sum_i p_i^2", "step",
        aggregated_sq, G_sq * pq.p_sq, *a.PAPER, *EVERYBODY, v.one_step,
    ),
    statement(
        "ordinary-16", "Sampling variance: m N/(N - m) E||w_S - wbar||^2 <= V, every m < N", "step", sampling_error,
        pq.dispersion, *CONVEX, a.equal_p, v.several_clients,
    ),
    statement(
        "ordinary-17", "Drift under decaying steps: E V_t <= (tau - 1)^2 eta_t^2 G^2", "step", drift,
        (tau - 1) ** 2 * eta**2 * G_sq, *a.PAPER, *EVERYBODY, v.several_steps, gamma_above_both, **FREE,
    ),
    statement(
        "ordinary-18", "Interpolation regime, squared: ||w_R - w*||^2 <= (1 - eta mu)^{2 tau R} ||w_0 - w*||^2",
        "horizon", Delta_round, KEPT ** (2 * v.begun) * Delta_0, *CONVEX, a.full_gradients, a.full_participation,
        a.homogeneous, below_2_over_L, eta=eta_0,
    ),
    statement(
        "ordinary-19", "Loss at the minimiser of a biased objective: F(w_alpha) - F* <= chi^2 zeta_*^2/(2 mu)",
        "step", pq.displaced_gap, pq.chi_sq * zeta_star_sq / (2 * mu), *CONVEX, a.full_participation,
    ),
    statement(
        "ordinary-20",
        "Quadratics with a common Hessian: E||wbar_T - w*||^2 <= (1 - eta mu)^{2T} D_0 + eta sigma^2/(2 mu N)",
        "horizon", Delta_T, {"start": KEPT ** (2 * T) * Delta_0, "noise": eta_0 * sigma_sq / (2 * mu * N)}, *NOISY,
        *EVERYBODY, a.equal_p, v.common_hessian, eta=up_to(1 / L),
    ),
    statement(
        "ordinary-21", "Drift caused by noise alone: E V_k <= (1 - 1/N) k eta^2 sigma^2", "step", drift,
        (1 - 1 / N) * local_step * eta**2 * sigma_sq, *NOISY, *EVERYBODY, a.equal_p, a.identical, eta=up_to(2 / L),
    ),
    statement(
        "ordinary-22", "Parallel SGD, decaying steps, T >= 1", "horizon", Delta_T,
        {"start": ((gamma - 1) / (T + gamma - 1)) ** 2 * Delta_0,
         "noise": T * sigma_p_sq / (mu**2 * (T + gamma - 1) ** 2)},
        *NOISY, *EVERYBODY, v.one_step, gamma_above_kappa, **FREE,
    ),
    statement(
        "ordinary-23", "Descent with drift: F(wbar^+) <= F(wbar) - (eta/2)||grad F(wbar)||^2 + (eta L^2/2) V", "step",
        stepped_gap,
        {"before": pq.average_models_gap, "descent": -eta / 2 * pq.average_models_slope_sq,
         "drift": eta * L**2 / 2 * pq.dispersion},
        *CONVEX, a.small_steps,
    ),
    statement(
        "ordinary-24", "Rate per round: ||w_R - w*||^2 <= (1 - tau eta mu)^{2R} ||w_0 - w*||^2", "horizon",
        Delta_round, (1 - tau * eta_0 * mu) ** (2 * v.begun / tau) * Delta_0, *LOCAL_GD, a.homogeneous,
        eta=up_to(1 / (tau * L)),
    ),
    statement(
        "ordinary-25", "Two measures of heterogeneity: Gamma <= zeta_*^2/(2 L)", "constant", Gamma,
        zeta_star_sq / (2 * L), *CONVEX,
    ),
    statement(
        "ordinary-26", "Price of min-max selection, F_i* = 0: F(w_max) - F* <= Gamma", "constant", min_max_gap, Gamma,
        *CONVEX,
    ),
    statement(
        "ordinary-27", "Partial participation, identical clients, floor eta sigma^2/(mu N)", "horizon", Delta_round,
        {"start": KEPT ** (2 * v.begun) * Delta_0, "noise": eta_0 * sigma_sq / (mu * N)}, *NOISY, *SAMPLED,
        a.identical, v.quadratic, eta=up_to(1 / L),
    ),
    statement(
        "ordinary-28", "Local GD with constant step: ||w_R - w*|| <= (1 - eta mu)^{tau R} ||w_0 - w*|| + bias zeta_*",
        "horizon", sp.sqrt(Delta_round),
        {"start": KEPT**v.begun * sp.sqrt(Delta_0),
         "bias": eta_0**2 * L * tau * (tau - 1) * sp.sqrt(zeta_star_sq) / (2 * (1 - KEPT**tau))},
        *LOCAL_GD, eta=up_to(1 / L),
    ),
    statement(
        "ordinary-29", "Partial participation, one local step, decrease (1 - eta mu)^{2T}", "horizon", Delta_T,
        {"start": KEPT ** (2 * T) * Delta_0, "noise": eta_0 / (mu * m) * (sigma_sq + zeta_sq)}, *NOISY, *SAMPLED,
        v.one_step, eta=up_to(1 / L),
    ),
    statement(
        "ordinary-30", "One step of FedAvg, eta <= 1/(4L)", "step", Delta_next,
        {"contraction": (1 - eta * mu) * Delta, "noise": eta**2 * sigma_p_sq,
         "heterogeneity": 6 * L * eta**2 * Gamma, "drift": 2 * drift},
        *NOISY, *EVERYBODY, a.quarter_steps,
    ),
)
# fmt: on
# Number -> what differs from the statement, or is lacking.
CHANGED = {
    6: "losses up to a common shift: F_i* is not in what a quantity sees, and only values at w matter",
    7: "beta = 1, by the scale of F; in fractions exp is rounded to a float",
    11: "local models that FedAvg reaches, not arbitrary ones; m is that of a run, which draws in every round",
    12: "one sigma^2 for all clients (sum_i p_i sigma_i^2 is no symbol); noises independent between clients",
    14: "minimum values F_i* from a small grid, since a quantity sees gaps F_i - F_i* only",
    26: "one dimension; w_max to 2^-60",
    13: "rho_T over all steps of a run, which is that up to T on the run that ends there",
    29: "zeta^2 over the iterates visited, which is no larger than for all w",
    30: "local models that FedAvg reaches, not arbitrary ones",
}
NOT_EXPRESSED: dict[int, str] = {}
