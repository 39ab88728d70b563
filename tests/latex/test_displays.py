"""Fifty displays as their authors typeset them (displays.tex): each reads as meant, or is refused for the reason."""

import pytest
import sympy as sp
from corpus import assert_refused, assert_says, labelled, with_asked, with_line

from fedbounds.theory import points as at
from fedbounds.theory.point_quantities import mean_slope_sq
from fedbounds.theory.sums_over_steps import sum_over_steps
from fedbounds.theory.symbols import (
    Delta,
    Delta_0,
    Delta_next,
    Delta_round,
    Delta_round_next,
    Delta_T,
    G_sq,
    Gamma,
    L,
    N,
    T,
    average_gap,
    drift,
    eta,
    eta_0,
    excess,
    gamma,
    gap,
    gap_0,
    gap_round,
    gap_sum,
    gap_t,
    grad_sq,
    m,
    mu,
    rho_bar,
    rho_tilde,
    sigma_dif_sq,
    sigma_p_sq,
    sigma_sq,
    t,
    tau,
    zeta_sq,
    zeta_star_sq,
)

THEOREMS = labelled("displays.tex")
B = sigma_p_sq + 6 * L * Gamma + 8 * (tau - 1) ** 2 * G_sq
KHALED = (1 - eta_0 * mu) ** T * Delta_0 + eta_0 * sigma_sq / (mu * N) + 2 * L * eta_0**2 * (tau - 1) * sigma_sq / mu
# What the gradients' mean is beside its expectation.
NOISE = at.norm_sq((at.w - at.w_next) / eta - at.mean(at.grad(at.w_i)))
# label -> both sides, as the author means them.
READ = {
    "li-full": (gap, L / mu / (gamma + T) * (2 * B / mu + mu * gamma / 2 * Delta_0)),
    "li-start-at-one": (gap, L / mu / (gamma + T) * (2 * B / mu + mu * gamma / 2 * Delta_0)),
    "gower-main": (Delta, (1 - eta_0 * mu) ** t * Delta_0 + 2 * eta_0 * sigma_sq / mu),
    "li-divergence": (drift, 4 * eta**2 * (tau - 1) ** 2 * G_sq),
    "li-delta": (Delta_next, (1 - eta * mu) * Delta + eta**2 * B),
    "li-one-step": (Delta_next, (1 - eta * mu) * Delta + eta**2 * NOISE + 6 * L * eta**2 * Gamma + 2 * drift),
    "stich-one-step": (
        Delta_next,
        (1 - mu * eta) * Delta + eta**2 * NOISE - eta * gap_t / 2 + 2 * eta * L * drift,
    ),
    "stich-one-step-noise": (
        Delta_next,
        (1 - mu * eta) * Delta + eta**2 * sigma_sq / N - eta * gap_t / 2 + 2 * eta * L * drift,
    ),
    "stich-deviation": (drift, 4 * G_sq * eta**2 * tau**2),
    "khaled-identical": (Delta_T, KHALED),
    "khaled-identical-parens": (Delta_T, KHALED),
    "khaled-descent": (
        Delta_next,
        (1 - eta * mu) * Delta - eta / 2 * gap_t + 2 * eta * L * drift + eta**2 * sigma_sq / N,
    ),
    "khaled-average": (
        average_gap,
        2 * Delta_0 / (eta_0 * T) + 2 * eta_0 * sigma_dif_sq / N + 8 * eta_0**2 * L * (tau - 1) ** 2 * sigma_dif_sq,
    ),
    "khaled-drift": (drift, (tau - 1) * eta_0**2 * sigma_sq),
    "scaffold-round": (
        Delta_round_next,
        (1 - mu * eta_0 / 2) * Delta_round - eta_0 * gap_round + eta_0**2 * sigma_sq / (tau * N),
    ),
    "woodworth-consensus": (drift, 3 * tau * sigma_sq * eta**2 + 6 * tau**2 * eta**2 * zeta_sq),
    "woodworth-step": (
        gap_t,
        (1 / eta - mu) * Delta - Delta_next / eta + 3 * eta * sigma_sq / N + 2 * L * drift,
    ),
    "woodworth-distance": (
        Delta_T,
        (1 - mu * eta_0) ** T * Delta_0
        + 2 * eta_0 * sigma_sq / (mu * N)
        + 8 * L * eta_0**2 / mu * (tau * sigma_sq + tau**2 * zeta_sq),
    ),
    "woodworth-average": (gap_sum / T, Delta_0 / (2 * eta_0 * T) + eta_0 * sigma_sq / N),
    "koloskova-descent": (
        Delta_next,
        (1 - eta * mu / 2) * Delta + eta**2 * sigma_sq / N - eta * gap_t + 3 * L * eta * drift,
    ),
    "koloskova-recursion": (
        Delta_next,
        (1 - mu * eta / 2) * Delta - eta * gap_t + eta**2 * sigma_p_sq + 3 * L * eta * drift,
    ),
    "koloskova-optimum": (drift, 12 * tau**2 * eta**2 * (zeta_star_sq + sigma_sq)),
    "proxskip-gd": (Delta_T, (1 - eta_0 * mu) ** T * Delta_0),
    "fednova-gradient": (sum_over_steps(mean_slope_sq) / T, 4 * gap_0 / (eta_0 * T) + L * eta_0 * sigma_sq),
    "cho-main": (
        gap,
        (
            4 * L * (32 * tau**2 * G_sq + sigma_sq / m) / (3 * mu**2 * rho_bar)
            + 8 * L**2 * Gamma / mu**2
            + L * gamma * Delta_0 / 2
        )
        / (T + gamma)
        + 8 * L * Gamma / (3 * mu) * (rho_tilde / rho_bar - 1),
    ),
    "cho-gradient": (grad_sq, 2 * L * excess),
    "cho-discrepancy": (drift, 16 * eta**2 * tau**2 * G_sq),
    "cho-step": (
        Delta_next,
        (1 - eta * mu * (1 + 3 * rho_bar / 8)) * Delta
        + eta**2 * (32 * tau**2 * G_sq + sigma_sq / m + 6 * rho_bar * L * Gamma)
        + 2 * eta * Gamma * (rho_tilde - rho_bar),
    ),
    "gower-main-T": (Delta_T, (1 - eta_0 * mu) ** T * Delta_0 + 2 * eta_0 * sigma_sq / mu),
    "gower-recursion": (Delta_next, (1 - eta_0 * mu) * Delta + 2 * eta_0**2 * sigma_sq),
    "bottou-diminishing": (gap, sp.Max(2 * L * sigma_sq / mu**2, L * gamma / 2 * Delta_0) / (gamma + T)),
    "scaffold-smooth": (at.mean(at.norm_sq(at.grad(at.w) - at.grad(at.w_star))) / (2 * L), gap_t),
    "bottou-decrease": (at.F(at.w_next) - at.F_star, (1 - eta * mu) * gap_t + eta**2 * L * sigma_sq / 2),
    "nesterov-contraction": (Delta_next, (1 - 2 * eta_0 * mu * L / (mu + L)) * Delta),
    "nesterov-rate": (gap, L / 2 * ((L - mu) / (L + mu)) ** (2 * T) * Delta_0),
    "nesterov-distance": (sp.sqrt(Delta_T), ((L / mu - 1) / (L / mu + 1)) ** T * sp.sqrt(Delta_0)),
}
# label -> the line that its error asks for, and both sides, which are then read.
ANSWERED = {
    "gower-conditional": ("in expectation", Delta_next, (1 - eta_0 * mu) * Delta + 2 * eta_0**2 * sigma_sq),
    "khaled-start-gap": ("units as written", average_gap, 2 * gap_0 / (eta_0 * T) + eta_0 * sigma_sq / N),
    "scaffold-round-tau": (
        "units as written",
        Delta_round_next,
        (1 - mu * eta_0 * tau / 2) * Delta_round
        - eta_0 * tau * gap_round
        + 3 * tau * eta_0**2 * sigma_sq / N * (1 + N / L),
    ),
}
# label -> what the refusal says: mostly quantities that do not exist.
REFUSED = {
    "li-partial": "C is the share of the clients",
    "stich-main": r"\hat{w}_{T}",
    "stich-order": "order without constants",
    "khaled-start-gap": "different units",
    "scaffold-round-tau": "different units",
    "scaffold-tilde-order": "order without constants",
    "scaffold-bgd": "received B",
    "woodworth-constant": r"\hat{w}",
    "koloskova-mixing": "an expectation with a condition",
    "proxskip-main": r"\Psi",
    "fednova-main": "order without constants",
    "gower-conditional": "an expectation with a condition",
    "bottou-fixed": "different units",
    "bottou-nonconvex": "a sum must be over",
}


def test_a_letter_of_the_table_may_be_the_authors_own_constant():
    theorem = with_line(THEOREMS["li-partial"], r"where C = \frac{4}{m}E^2G^2")
    right = 2 * L / mu / (gamma + T) * ((B + 4 * tau**2 * G_sq / m) / mu + 2 * L * Delta_0)
    assert_says(with_line(theorem, "assume selection-without-replacement"), (gap, right))


def test_the_fifty_are_all_expected_to_be_something():
    assert len(READ) == 36
    assert len(THEOREMS) == 50 == len(READ) + len(REFUSED)
    assert set(THEOREMS) == set(READ) | set(REFUSED)


@pytest.mark.parametrize("label", READ)
def test_a_display_reads_as_its_author_means_it(label):
    assert_says(THEOREMS[label], READ[label])


@pytest.mark.parametrize("label", ANSWERED)
def test_a_display_is_read_with_the_line_that_its_error_asks_for(label):
    line, *sides = ANSWERED[label]
    assert_says(with_asked(THEOREMS[label], [line]), sides)


@pytest.mark.parametrize("label", REFUSED)
def test_a_display_is_refused_for_the_reason(label):
    assert_refused(THEOREMS[label], REFUSED[label])
