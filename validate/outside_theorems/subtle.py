"""The second thirty statements: sharper ones, with constants at or beyond the limit. Keys with a letter are parts."""

from __future__ import annotations

import numpy as np
import sympy as sp

from fedbounds.theory import assumptions as a
from fedbounds.theory import path_quantities as pq
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.points import grad, mean, mean_alpha, norm_sq, w, w_i, w_round, w_star
from fedbounds.theory.quantity import largest, measured
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
    gap,
    gap_0,
    gap_round,
    gap_sum,
    local_step,
    m,
    mu,
    p_min,
    rho_bar,
    sigma_p_sq,
    sigma_sq,
    t,
    tau,
    weighted_gap,
    zeta_star_sq,
)
from validate.outside_theorems import formulas as f
from validate.outside_theorems import quadratics
from validate.outside_theorems import vocabulary as v
from validate.outside_theorems.vocabulary import (
    CONVEX,
    EVERYBODY,
    FREE,
    HALF,
    KEPT,
    LOCAL_GD,
    NOISY,
    SAMPLED,
    kappa,
    statement,
    up_to,
)

HALF_FREE = {"definitions": {gamma: 1 / (2 * mu * eta_0)}, "eta": 1 / (2 * mu * (t + gamma))}
gamma_above_2_kappa = Assumption("gamma", "gamma >= 2 kappa", sp.Le(2 * eta_0 * L, 1))
gamma_above_4_kappa = Assumption("gamma", "gamma >= 4 kappa", sp.Le(8 * eta_0 * L, 1))
gamma_above_mean = Assumption("gamma", "gamma >= (kappa + 1)/2", sp.Le(eta_0 * (L + mu), 2))
one_dimension = Assumption("one-dimension", "d = 1", sp.Eq(v.dimension, 1))
SHARE = (N - m) / (m * (N - 1))
sampled_steps = Assumption("steps", "eta <= 1/(L (1 + 2c))", sp.Le(eta * L * (1 + 2 * SHARE), 1))


slopes_so_far = measured(
    "slopes_so_far", lambda path: f.since_start(path, f.norm_sq(f.own_gradients(path)) @ path.losses.p)
)
travelled_sq = measured("travelled_sq", mean(norm_sq(w_i - w_round)))
slopes_at_start = measured("slopes_at_start", mean(norm_sq(grad(w_round))))
one_client_sq = measured("one_client_sq", mean_alpha(norm_sq(w - eta * grad(w) - w_star)))
admissible_excess = measured(
    "admissible_excess", lambda path: np.min([top / (j + 1) for j, top in enumerate(f.admissible_top(path))], axis=0)
)
admissible_sum = measured("admissible_sum", lambda path: np.max(f.admissible_top(path), axis=0))
deviation_1, deviation_2 = (measured(f"deviation_{k + 1}", f.deviation(k)) for k in (0, 1))
pseudo_error = measured("pseudo_error", lambda path: f.length(f.pseudo_gradient(path)[0]))
mean_slope = measured("mean_slope", lambda path: f.length(f.pseudo_gradient(path)[1]) @ path.losses.p)
linear_average_gap = weighted_gap("linear_average_gap", t + 1)
sampled_sq = measured(
    "sampled_sq",
    lambda path: f.norm_sq(path.w[:-1] - path.X.sum(-2) / len(path.losses.p)),
    meaning="||w_S - wbar||^2",
)
softmax_losses_excess = measured("softmax_losses_excess", f.of_softmax_losses)
p_max = largest("p_max", lambda path: path.losses.p)

q = {h: (1 - (1 - eta_0 * h) ** tau) / (eta_0 * h) for h in (mu, L)}
li_B = sigma_p_sq + 6 * L * Gamma + 8 * (tau - 1) ** 2 * G_sq
LI = {"definitions": {gamma: sp.Max(8 * kappa, tau)}, "eta": 2 / (mu * (t + gamma))}
li_bound = sp.Max(4 * li_B / mu**2, gamma * Delta_0) / (T + gamma)
ARBITRARY_STEP = {
    "contraction": (1 - eta * mu * (1 + v.skew_now * (1 - eta * L))) * Delta,
    "bias": 2 * eta * (v.at_optimum - v.skew_now * Gamma),
    "heterogeneity": 2 * eta**2 * L * v.skew_now * Gamma,
}
ONE_CLIENT = {**ARBITRARY_STEP, "contraction": (1 - eta * mu * (1 + v.skew_now)) * Delta}


# fmt: off
def growing(part, c, sigma):
    """Statements 14, 25 and 28 with noise of variance sigma^2 + c ||grad F_i||^2, for one c and sigma^2."""
    distance = measured("distance", quadratics.noisy_distance(c, sigma), meaning="E||wbar_T - w*||^2")
    known, case = (*LOCAL_GD, v.quadratic), f"c = {c}, sigma^2 = {sigma}"
    max_weight = Assumption("steps", "eta <= 1/(L (1 + c pmax))", sp.Le(eta * L * (1 + c * p_max), 1))
    yield statement(
        f"subtle-14{part}", f"SGD under noise that grows with the client gradient (max weight), {case}", "horizon",
        distance, {"start": KEPT**T * Delta_0, "floor": eta_0 / mu * (sigma * pq.p_sq + 2 * L * c * p_max * Gamma)},
        *known, v.one_step, max_weight, eta=eta_0,
    )
    yield statement(
        f"subtle-25{part}", f"SGD under noise that grows with the client gradient (sum of squares), {case}",
        "horizon", distance,
        {"start": KEPT**T * Delta_0, "floor": eta_0 / mu * pq.p_sq * (sigma + 2 * L * c * Gamma)},
        *known, v.one_step, eta=up_to(1 / (L * (1 + c))),
    )
    if sigma == 0:
        yield statement(
            f"subtle-28{part}", f"Noise proportional to the gradient, common minimiser, {case}", "horizon", distance,
            (KEPT**2 + c * eta_0**2 * mu**2) ** T * Delta_0, *known, a.homogeneous, eta=up_to(2 / ((1 + c) * L)),
        )


CLAIMS = (
    statement(
        "subtle-01", "Expected spread of the local models within a round", "step", pq.dispersion,
        eta_0**2 * local_step * (slopes_so_far + sigma_sq), *NOISY, a.full_participation, v.quadratic,
        eta=up_to(1 / L),
    ),
    statement(
        "subtle-02", "Spread of the local models, decaying steps: E V_t <= eta_t^2 (tau - 1)^2 G^2", "step", drift,
        eta**2 * (tau - 1) ** 2 * G_sq, *a.PAPER, *EVERYBODY, v.several_steps, gamma_above_2_kappa, **FREE,
    ),
    statement(
        "subtle-03",
        "Limit of noise-free FedAvg, squared: ||w_inf - w*||^2 <= (eta (tau-1)(L-mu)/(4 sqrt(mu L)))^2 zeta_*^2",
        "constant", v.limit_distance_sq, (eta_0 * (tau - 1) * (L - mu)) ** 2 / (16 * mu * L) * zeta_star_sq,
        *LOCAL_GD, v.quadratic, v.several_steps, eta=up_to(1 / L),
    ),
    statement(
        "subtle-04", "Distance travelled by the clients", "step", travelled_sq,
        ((1 - (1 - eta * mu) ** local_step) / mu) ** 2 * slopes_at_start, *CONVEX, a.full_gradients,
        a.full_participation, eta=up_to(2 / (L + mu)),
    ),
    statement(
        "subtle-05", "One step with one client drawn by the server's weights (eta^2 sigma^2 taken off both sides)",
        "step", one_client_sq, ONE_CLIENT, *CONVEX, a.full_gradients, a.full_participation, v.one_step, a.small_steps,
    ),
    statement(
        "subtle-06a", "The k clients with the largest gap, every k with p_i <= 1/k: 1 <= rho(w)", "step",
        pq.mean_excess, admissible_excess, *CONVEX,
    ),
    statement(
        "subtle-06b", "The k clients with the largest gap, every k with p_i <= 1/k: rho(w) <= 1/(k min_i p_i)",
        "step", p_min * admissible_sum, pq.mean_excess, *CONVEX,
    ),
    statement(
        "subtle-07", "Average loss of constant-step SGD (multiplied by T)", "horizon", gap_sum,
        {"start": Delta_0 / (2 * eta_0), "noise": T * eta_0 * sigma_p_sq / 2}, *NOISY, *EVERYBODY, v.one_step,
        eta=up_to(2 / (L + mu)),
    ),
    statement(
        "subtle-08a", "Heterogeneity and the spread of the optima: (mu/2) V <= Gamma", "constant",
        mu / 2 * pq.spread_of_optima, Gamma, *CONVEX,
    ),
    statement(
        "subtle-08b", "Heterogeneity and the spread of the optima: Gamma <= (L/2) V", "constant", Gamma,
        L / 2 * pq.spread_of_optima, *CONVEX,
    ),
    statement(
        "subtle-09", "Decaying steps, distance of the last iterate", "horizon", Delta_T,
        sp.Max(gamma * Delta_0, 2 * sigma_p_sq / mu**2) / (T + gamma), *NOISY, *EVERYBODY, v.one_step,
        gamma_above_4_kappa, **HALF_FREE,
    ),
    statement(
        "subtle-10", "Gradient diversity away from w*", "step", pq.slope_sq,
        {"optimum": 2 * zeta_star_sq, "slope": ((kappa + 1) ** 2 / (2 * kappa) - 1) * pq.mean_slope_sq}, *CONVEX,
    ),
    statement(
        "subtle-11", "One step with arbitrary server weights", "step", Delta_next,
        {name: term.subs(v.skew_now, rho_bar) for name, term in ARBITRARY_STEP.items()}, *CONVEX, a.full_gradients,
        a.full_participation, v.one_step, a.small_steps,
    ),
    statement(
        "subtle-12", "Mean of the iterate, squared, at most two coordinates: ||E w_T - w*||^2", "horizon",
        deviation_1**2 + deviation_2**2,
        (KEPT**T * sp.sqrt(Delta_0) + HALF * sp.sqrt(eta_0 * sigma_p_sq / (mu * (2 - eta_0 * mu)))) ** 2, *NOISY,
        *EVERYBODY, v.one_step, eta=up_to(1 / L),
    ),
    statement(
        "subtle-13", "Pseudo-gradient of a round", "step", pseudo_error, eta_0 * L * (tau - 1) / 2 * mean_slope,
        *LOCAL_GD, v.several_steps, eta=up_to(2 / L),
    ),
    statement(
        "subtle-15", "Linear decrease of the loss, common minimiser", "horizon", gap_round,
        KEPT ** (2 * v.begun) * gap_0, *LOCAL_GD, a.homogeneous, v.quadratic, eta=up_to(1 / L),
    ),
    statement(
        "subtle-16", "Limit of noise-free FedAvg in one dimension, squared", "constant", v.limit_distance_sq,
        (q[mu] - q[L]) ** 2 / (4 * mu * L * q[mu] * q[L]) * zeta_star_sq, *LOCAL_GD, v.quadratic, v.several_steps,
        one_dimension, eta=up_to(1 / L),
    ),
    statement(
        "subtle-17", "Linearly weighted average (multiplied by T): E F(what) - F* <= 2 G^2/(mu (T + 1))", "horizon",
        T * linear_average_gap, 2 * T * G_sq / (mu * (T + 1)), *a.PAPER, *EVERYBODY, v.one_step,
        eta=2 / (mu * (t + 2)),
    ),
    statement(
        "subtle-18", "Error of client sampling: E||w_S - wbar||^2 <= (1/m - 1/N) eta^2 tau^2 G^2", "step", sampled_sq,
        (1 / m - 1 / N) * eta_0**2 * local_step**2 * G_sq, *a.PAPER, *SAMPLED, v.several_clients, eta=up_to(1 / L),
    ),
    statement(
        "subtle-19", "Soft-max of the losses: rho(w) >= 1, multiplied by its denominator, theta = 1", "step",
        pq.mean_excess, softmax_losses_excess, *CONVEX,
    ),
    statement(
        "subtle-20", "Distance between w* and the mean of the optima, equal weights", "constant", pq.optimum_to_mean,
        ((kappa - 1) / (kappa + 1)) ** 2 * pq.spread_of_optima, *CONVEX, a.equal_p,
    ),
    statement(
        "subtle-21", "Random clients, one step per round", "horizon", Delta_T,
        {"start": KEPT**T * Delta_0, "sampling": 2 * eta_0 * SHARE * zeta_star_sq / mu}, *CONVEX, a.full_gradients,
        *SAMPLED, v.one_step, v.several_clients, sampled_steps, eta=eta_0,
    ),
    statement(
        "subtle-22", "Identical clients", "horizon", Delta_round,
        {"start": KEPT ** (2 * v.begun) * Delta_0, "noise": eta_0 * sigma_sq / (N * mu * (2 - eta_0 * mu))}, *NOISY,
        *EVERYBODY, a.equal_p, a.identical, eta=up_to(1 / L),
    ),
    statement(
        "subtle-23", "Decaying steps, common minimiser, T >= 1", "horizon", Delta_T,
        {"start": (gamma - 1) ** 2 * Delta_0 / (T + gamma - 1) ** 2,
         "noise": T * sigma_sq / mu**2 * pq.p_sq / (T + gamma - 1) ** 2},
        *NOISY, *EVERYBODY, a.homogeneous, v.quadratic, gamma_above_mean, **FREE,
    ),
    statement(
        "subtle-24", "Loss of the minimiser for other weights: F(w_alpha) - F* <= chi^2 zeta_*^2/(2 mu)", "step",
        pq.displaced_gap, pq.chi_sq * zeta_star_sq / (2 * mu), *CONVEX, a.full_participation, a.positive_pi,
    ),
    statement(
        "subtle-26", "Distance between w* and the mean of the optima", "constant", pq.optimum_to_mean,
        (kappa - 1) ** 2 / (4 * kappa) * pq.spread_of_optima, *CONVEX,
    ),
    statement(
        "subtle-27a", "FedAvg with decaying steps: E||wbar_T - w*||^2 <= v/(T + gamma)", "horizon", Delta_T, li_bound,
        *a.PAPER, *EVERYBODY, **LI,
    ),
    statement(
        "subtle-27b", "FedAvg with decaying steps: E F(wbar_T) - F* <= (L/2) v/(T + gamma)", "horizon", gap,
        L / 2 * li_bound, *a.PAPER, *EVERYBODY, **LI,
    ),
    statement(
        "subtle-29", "Sampling clients without replacement, common Hessian", "horizon", Delta_round,
        {"start": KEPT ** (2 * v.begun) * Delta_0,
         "sampling": SHARE * (1 - (1 - eta_0 * L) ** tau) / (1 + (1 - eta_0 * L) ** tau) * pq.optimum_spread},
        *CONVEX, a.full_gradients, *SAMPLED, v.several_clients, v.common_hessian, eta=up_to(1 / L),
    ),
    statement(
        "subtle-30", "Loss of the limit of noise-free FedAvg against Gamma", "constant", v.limit_gap, Gamma,
        *LOCAL_GD, v.quadratic, eta=up_to(1 / L),
    ),
    *growing("a", 1, 0),
    *growing("b", 4, 0),
    *growing("c", 1, 1),
)
# fmt: on
# Number -> what differs from the statement, or is lacking.
CHANGED = {
    11: "rho_bar, the smallest rho(w_t): over one step it is rho, and over more the bound is no smaller",
    1: "noises independent between clients",
    5: "noise-free, to which it is equivalent: the noise adds at most eta^2 sigma^2 to both sides",
    12: "at most two coordinates; the expectation of the vector is that of each",
    13: "in fractions one dimension only, where a length is rational",
    14: "quadratics; c and sigma^2 are given numbers, noise along the gradient and e_1; its moments are computed",
    19: "theta = 1, by the scale of F; minimum values 0, e_i/2 or e_i; in fractions exp is rounded to a float",
    25: "as 14",
    28: "as 14",
}
NOT_EXPRESSED: dict[int, str] = {}
