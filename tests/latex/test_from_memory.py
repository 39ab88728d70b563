"""Statements of well-known papers (from_memory.tex): read at once, or after the lines that the errors ask for."""

import pytest
from corpus import assert_refused, assert_says, labelled, with_asked

from fedbounds.theory.point_quantities import mean_slope_sq
from fedbounds.theory.sums_over_steps import sum_over_steps
from fedbounds.theory.symbols import (
    Delta,
    Delta_0,
    Delta_next,
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
    gamma,
    gap,
    gap_0,
    gap_sum,
    gap_t,
    m,
    mu,
    rho_bar,
    rho_tilde,
    sigma_p_sq,
    sigma_sq,
    t,
    tau,
    zeta_sq,
)

THEOREMS = labelled("from_memory.tex")
B = sigma_p_sq + 6 * L * Gamma + 8 * (tau - 1) ** 2 * G_sq
STICH = (1 - mu * eta) * Delta - eta * gap_t / 2 + eta**2 * sigma_sq / N + 2 * eta * L * drift
DESCENT = gap_t - eta * (1 - L * eta / 2) * mean_slope_sq + L * eta**2 * sigma_sq / 2
# label -> both sides, as the author means them.
AT_ONCE = {
    "li-one-step": (Delta_next, (1 - eta * mu) * Delta + eta**2 * (sigma_p_sq + 6 * L * Gamma) + 2 * drift),
    "li-divergence": (drift, 4 * eta**2 * (tau - 1) ** 2 * G_sq),
    "li-rate": (gap, 2 * L / mu / (gamma + T) * (B / mu + 2 * L * Delta_0)),
    "stich-step": (Delta_next, STICH),
    "stich-deviation": (drift, 4 * tau**2 * eta**2 * G_sq),
    "khaled-variance": (drift, (tau - 1) * eta**2 * sigma_sq),
    "woodworth-drift": (drift, 3 * tau * sigma_sq * eta**2 + 6 * tau**2 * eta**2 * zeta_sq),
    "sgd-convex": (gap_sum / T, Delta_0 / (eta_0 * T) + eta_0 * sigma_sq),
    "descent": (None, DESCENT),
    "joshi-nonconvex": (
        sum_over_steps(mean_slope_sq) / T,
        2 * gap_0 / (eta_0 * T) + eta_0 * L * sigma_sq / N + eta_0**2 * L**2 * sigma_sq * (tau - 1),
    ),
    "gd-linear": (Delta, (1 - eta_0 * mu) ** t * Delta_0),
}
NOISE = 32 * tau**2 * G_sq + sigma_sq / m
CHO = 4 * L * NOISE / (3 * mu**2 * rho_bar) + 8 * L**2 * Gamma / mu**2 + L * gamma * Delta_0 / 2
# label -> the line that its error asks for, and both sides.
ANSWERED = {
    "khaled-strongly": (
        r"let \hat{x} = w",
        Delta_T,
        (1 - eta_0 * mu) ** T * Delta_0 + eta_0 * sigma_sq / (mu * N) + 2 * L * eta_0**2 * (tau - 1) * sigma_sq / mu,
    ),
    "khaled-convex": (
        r"let \bar{w} = \bar{w}",
        average_gap,
        2 * Delta_0 / (eta_0 * T) + 2 * eta_0 * sigma_sq / N + 4 * eta_0**2 * L * sigma_sq * (tau - 1),
    ),
    "woodworth-homogeneous": (
        r"let \bar{w} = \bar{w}",
        average_gap,
        Delta_0 / (eta_0 * T) + eta_0 * sigma_sq / N + 4 * L * eta_0**2 * sigma_sq * tau,
    ),
    "koloskova-descent": (
        "in expectation",
        Delta_next,
        (1 - eta * mu / 2) * Delta + eta**2 * sigma_sq / N - eta * gap_t + 3 * eta * L * drift,
    ),
    "cho-rate": (
        r"let \bar{w} = w",
        gap,
        CHO / (T + gamma) + 8 * L * Gamma / (3 * mu) * (rho_tilde / rho_bar - 1),
    ),
}
REFUSED = {
    "scaffold-fedavg": "order without constants",
    "scaffold-perturbed": "received z",
    "fedprox": r"received \rho",
    "nova-nonconvex": r"received w^{t,0}",
}


def test_every_statement_is_expected_to_be_something():
    assert set(THEOREMS) == {*AT_ONCE, *ANSWERED, *REFUSED} and len(THEOREMS) == 20


@pytest.mark.parametrize("label", AT_ONCE)
def test_a_statement_reads_as_its_author_means_it(label):
    assert_says(THEOREMS[label], AT_ONCE[label])


@pytest.mark.parametrize("label", ANSWERED)
def test_an_error_names_the_line_with_which_it_reads(label):
    line, *sides = ANSWERED[label]
    assert_says(with_asked(THEOREMS[label], [line]), sides)


@pytest.mark.parametrize("label", REFUSED)
def test_a_statement_is_refused_for_the_reason(label):
    assert_refused(THEOREMS[label], REFUSED[label])
