"""Displays collected by a rule (fresh.tex): each reads as meant, or is refused for the reason."""

import pytest
import sympy as sp
from corpus import HERE, assert_refused, assert_says, labelled, with_asked

from fedbounds.latex.reader import claims_of
from fedbounds.theory import points as at
from fedbounds.theory import symbols as s
from fedbounds.theory.point_quantities import mean_slope_sq, moved_sq
from fedbounds.theory.symbols import (
    Delta,
    Delta_0,
    Delta_next,
    Delta_T,
    G_sq,
    L,
    T,
    average_gap,
    eta,
    eta_0,
    gap,
    gap_0,
    gap_sum,
    gap_t,
    mu,
    sigma_sq,
    t,
    tau,
)

THEOREMS, LATER_THEOREMS = labelled("fresh.tex"), labelled("later.tex")
EVERY = THEOREMS | LATER_THEOREMS
SLOPE = at.mean(at.grad(at.w))
GAP_NEXT = at.F(at.w_next) - at.F_star
STOCHASTIC = at.norm_sq((at.w - at.w_next) / eta)
ALONG = at.inner(SLOPE, at.w - at.w_star)
NOISY = Delta - 2 * eta * ALONG + eta**2 * (mean_slope_sq + sigma_sq)
EXPANDED = Delta - 2 * eta * mu * Delta + eta**2 * L**2 * Delta + eta**2 * sigma_sq
COCOERCIVE = Delta - 2 * eta * gap_t + 2 * L * eta**2 * gap_t
WITH_STEP = gap_t + at.inner(SLOPE, -SLOPE / L) + L / 2 * at.norm_sq(SLOPE / L)
SUBLINEAR = (gap_t, L * Delta_0 / (2 * t))
BY_STEP = (gap_t, Delta_0 / (2 * eta_0 * t))
KAPPA = (Delta, (1 - mu / L) ** t * Delta_0)
LINEAR = (gap_t, (1 - eta_0 * mu) ** t * gap_0)
SLOPED = (Delta_next, Delta - 2 * eta * gap_t + eta**2 * mean_slope_sq)
BOUNDED = (Delta_next, Delta - 2 * eta * gap_t + eta**2 * G_sq)
ETA_GAPS, ETA_SQUARES = s.sum_over_steps(eta * gap_t), s.sum_over_steps(eta**2)
ROOT = sp.sqrt(Delta_0 * G_sq / T)
# label -> both sides of each relation, as the author means them.
READ = {
    "noise-over-mu": [(Delta, (1 - eta_0 * mu) ** t * Delta_0 + sigma_sq / mu**2)],
    "output": [(average_gap, ROOT)],
    "sublinear-order": [SUBLINEAR],
    "one-over-kappa": [KAPPA],
    "subgradient-step": [(Delta_next, Delta - 2 * eta * gap_t + eta**2 * STOCHASTIC)],
    "subgradient-gap": [(gap_t, (Delta - Delta_next) / (2 * eta) + eta / 2 * STOCHASTIC)],
    "cocoercive-step": [(Delta_next, Delta - 2 / L * gap_t)],
    "gap-times-k": [(2 * t / L * gap_t, Delta_0)],
    "aligned-chain": [(Delta_next, COCOERCIVE), (COCOERCIVE, Delta - 2 * eta * (1 - L * eta) * gap_t)],
    "half-gap-step": [(Delta_next, Delta - gap_t / (2 * L))],
    "linear-step": [(Delta_next, (1 - mu / L) * Delta)],
    "boxed-gap": [(gap, L / 2 * (1 - mu / L) ** T * Delta_0)],
    "two-t-eta": [BY_STEP],
    "eigenvalues": [(GAP_NEXT, (1 - mu / L) * gap_t)],
    "tagged-kappa": [(gap_t, (1 - mu / L) ** t * gap_0)],
    "tagged-descent": [(GAP_NEXT - gap_t, -mean_slope_sq / (2 * L))],
    "gd-of-w": [LINEAR],
    "accumulated": [(ETA_GAPS, Delta_0 / 2 + ETA_SQUARES * G_sq / 2)],
    "alpha-k": [BY_STEP],
    "inner-step": [(Delta_next, Delta - 2 / L * ALONG + mean_slope_sq / L**2)],
    "descent-at-x": [(GAP_NEXT, WITH_STEP), (WITH_STEP, gap_t - mean_slope_sq / (2 * L))],
    "lvert-k": [SUBLINEAR],
    "m-over-L": [KAPPA],
    "with-a-remark": [BY_STEP],
    "L-behind": [SUBLINEAR],
    "slopes-of-sgd": [(s.sum_over_steps(mean_slope_sq) / T, 2 * gap_0 / (eta_0 * T) + eta_0 * L * sigma_sq)],
    "gaps-of-sgd": [(gap_sum / T, Delta_0 / (2 * eta_0 * T) + eta_0 * G_sq / 2)],
    "distance-of-sgd": [(Delta_T, (1 - eta_0 * mu) ** T * Delta_0 + eta_0 * sigma_sq / mu)],
    "half-contraction": [(Delta_T, (1 - mu * eta_0 / 2) ** T * Delta_0 + 2 * eta_0 * sigma_sq / mu)],
    "lambda-t": [(Delta, 2 * G_sq / (mu**2 * (t + 1)))],
    "frobenius": [
        (Delta_next, (1 - eta * mu) * Delta),
        ((1 - eta_0 * mu) * Delta, (1 - eta_0 * mu) ** (t + 1) * Delta_0),
    ],
    "superscript-k": [(Delta, (1 - eta_0 * mu) ** t * Delta_0)],
    "escaped-step": [(Delta_next, (1 - eta * mu) * Delta + (2 * eta**2 * L - 2 * eta) * gap_t)],
    "f-star-on-the-right": [(gap, L / 2 * Delta_T)],
    "t-is-the-step": [BY_STEP],
    "bold-gd": [(gap, Delta_0 / (2 * eta_0 * T))],
    "bold-gd-step": [SLOPED],
    "bold-gd-gap": [(gap_t, (Delta - Delta_next) / (2 * eta) + eta / 2 * mean_slope_sq)],
    "kappa-of-H": [KAPPA],
    "c-strongly": [LINEAR],
    "spaced-superscripts": [BY_STEP],
    "array-descent": [(GAP_NEXT, gap_t + at.inner(SLOPE, at.w_next - at.w) + L / 2 * moved_sq)],
    "descent-lemma": [(GAP_NEXT, gap_t - eta * (1 - L * eta / 2) * mean_slope_sq)],
    "m-strongly": [(GAP_NEXT, (1 - eta * mu) * gap_t)],
    "least-norm-of-N": [(sp.sqrt(s.least_over_steps(mean_slope_sq)), sp.sqrt(2 * L * gap_0 / T))],
    "single-bars": [BY_STEP],
    "bars-behind": [(gap, Delta_0 / (eta_0 * T))],
    "two-in-one": [
        (gap, L * Delta_0 / 2 * sp.Min(1 / T, (1 - mu / L) ** T)),
        (sp.sqrt(Delta_T), sp.sqrt(Delta_0) * (1 - mu / L) ** (T / 2)),
    ],
}
# label -> the lines that its errors ask for, one after the other, and both sides.
ASKED = {
    "sum-to-K": (("let K = ",), ("let K = T",), [(gap_sum / T, 2 * L * Delta_0 / T)]),
    "best-of-a-chain": (
        (r"let \bar{x} = \bar{w}",),
        (r"let \bar{x} = \bar{w}",),
        [(average_gap, gap_sum / T), (gap_sum / T, ROOT)],
    ),
    "example-bound": (("units as written",), ("units as written",), [(gap, L * sigma_sq / (2 * sp.sqrt(T)))]),
    "abbreviated-condition": (("in expectation",), ("in expectation",), [BOUNDED]),
    "given-w": (("in expectation",), ("in expectation",), [BOUNDED]),
    "expected-delta": (
        (r"let \theta = w", "in expectation"),
        (r"let \theta = w", "in expectation"),
        [(Delta_next, (1 - mu / L) * Delta + sigma_sq / (4 * L**2))],
    ),
    "expected-delta-T": (
        (r"let \theta = w",),
        (r"let \theta = w",),
        [(Delta_T, (1 - mu / L) ** T * Delta_0 + sigma_sq / (4 * mu * L))],
    ),
    "aligned-delta": (
        ("in expectation",),
        ("in expectation",),
        [(Delta_next, NOISY), (NOISY, EXPANDED), (EXPANDED, EXPANDED)],
    ),
    "rounds-and-epochs": (
        ("let t = r", "units as written"),
        ("let t = r", "units as written"),
        [
            (
                s.gap_round,
                (1 - eta_0 * mu / 2) ** s.R * gap_0 + tau**2 * eta_0**2 * sigma_sq / mu + eta_0**2 * s.zeta_sq / mu,
            )
        ],
    ),
    "average-from-one-of-N": (("let x = w",), ("let x = w",), [(s.later_average_gap, L * Delta_0 / (2 * T))]),
    "sum-over-i": (
        ("let k = T", "start 1", "let x = w"),
        ("let k = T", "start 1", "let x = w"),
        [(2 * ETA_GAPS, Delta_0 + G_sq * ETA_SQUARES)],
    ),
}
QUOTIENT = (L - mu) / (L + mu)
MEASURED = Delta - 2 * eta * ALONG + eta**2 * STOCHASTIC
# The same of later.tex.
LATER_READ = {
    "later-alpha-k": [(Delta_next, (1 - 2 * eta * mu + eta**2 * L**2) * Delta)],
    "later-bounded-step": [BOUNDED],
    "later-summed": [(Delta_T, Delta_0 - 2 * eta_0 * gap_sum + T * eta_0**2 * G_sq)],
    "later-subgradient": [(Delta_next, Delta - 2 * eta * gap_t + eta**2 * STOCHASTIC)],
    "later-linear": [(Delta_next, (1 - mu / L) * Delta)],
    "later-rho": [(Delta_next, (1 - 2 * mu / (mu + L)) * Delta)],
    "later-kappa-power": [(Delta, QUOTIENT**t * Delta_0)],
    "later-alpha-power": [(Delta, (1 - mu**2 / (4 * L**2)) ** t * Delta_0)],
    "later-smooth-step": [(GAP_NEXT, gap_t + at.inner(SLOPE, at.w_next - at.w) + L / 2 * moved_sq)],
    "later-stochastic-G": [(GAP_NEXT, gap_t - eta * mean_slope_sq + L * eta**2 / 2 * STOCHASTIC)],
    "later-first-order": [(gap_t, ALONG)],
    "later-expanded": [
        (Delta_next, Delta_next),
        (
            Delta_next,
            Delta - 2 * eta * at.inner((at.w - at.w_next) / eta, at.w - at.w_star) + eta**2 * STOCHASTIC,
        ),
    ],
    "later-sum": [(gap_sum, Delta_0 / (2 * eta_0) + eta_0 * G_sq * T / 2)],
    "later-mean": [(average_gap, Delta_0 / (2 * eta_0 * T) + eta_0 * G_sq / 2)],
    "later-mean-from-one": [(s.later_average_gap, Delta_0 / (2 * eta_0 * T))],
    "later-jensen": [
        (average_gap, gap_sum / T),
        (gap_sum / T, Delta_0 / (2 * eta_0 * T) + eta_0 * G_sq / 2),
    ],
}
LATER_ASKED = {
    "later-odd-units": (
        ("units as written",),
        ("units as written",),
        [(Delta_next, (1 - 2 * mu * eta / (1 + mu * eta * L)) * Delta)],
    ),
    "later-odd-chain": (
        ("units as written",),
        ("units as written",),
        [
            (Delta_next, (1 - 2 * mu * L / (mu + L)) * Delta),
            ((1 - 2 * mu * L / (mu + L)) * Delta, QUOTIENT**2 * Delta),
        ],
    ),
    "later-half-slope": (("in expectation",), ("in expectation",), [(GAP_NEXT, gap_t - eta * mean_slope_sq / 2)]),
    "later-alpha-over-L": (("units as written",), ("units as written",), [(Delta_next, (1 - eta / L) * Delta)]),
    "later-inner": (
        ("in expectation",),
        ("in expectation",),
        [(Delta_next, Delta - 2 * eta * ALONG + eta**2 * G_sq)],
    ),
    "later-two-conditions": (("in expectation",), ("in expectation",), [(Delta_next, MEASURED)]),
}
LATER_REFUSED = {
    "later-dove": "put words outside of the display",
    "later-misprint": "numbers and vectors cannot be added",
}
ORDER = "order without constants"
# label -> what the refusal of an explicit inequality says.
REFUSED = {
    "best-and-sums": "w_{Best}^{T}",
    "best-so-far": r"w_{\mathrm{best}}",
    "decreasing-average": "different units",
    "chain-at-a-point": "an expectation over clients must name their weights",
    "least-of-k": "a least value over steps must be over all of them",
    "least-expected-slope": "a least expectation is not expressible",
    "local-optima": "w_{k}^{\\star}",
    "drift-in-descent": r"where w_r = w_{r\tau}",
}
# The same of the others.
OTHERS = {
    "kaczmarz": "received A",
    "swarm": r"received \beta",
    "unknown-rate": r"received \rho",
    "honest-clients": "received H",
    "asynchronous-order": ORDER,
    "some-c": "c is the growth of the variance",
    "svrg-epochs": r"received \tilde{x}_{s}",
    "recycled-layers": ORDER,
    "feedback": r"received \sigma_{g}",
    "rounds-order": ORDER,
    "auxiliary-tasks": r"received \alpha",
    "linear-speedup-order": ORDER,
    "heterogeneous-order": ORDER,
    "chain-to-C": "C is the share of the clients",
    "matched-pairs": "is this U times what follows, or a function of it",
    "robust-remainder": r"received \epsilon_{Byzantine}",
}


def test_most_explicit_inequalities_are_read_and_none_of_the_others():
    explicit, _, others = (HERE / "fresh.tex").read_text().partition("%%% Others")
    assert {*READ, *ASKED, *REFUSED} == {label for label in THEOREMS if f"{{{label}}}" in explicit}
    assert set(OTHERS) == {label for label in THEOREMS if f"{{{label}}}" in others}
    assert (len(READ), len(ASKED), len(REFUSED)) == (48, 11, 8)
    assert len(READ) + len(ASKED) >= 0.8 * (len(THEOREMS) - len(OTHERS))


def test_most_of_those_that_were_found_later_are_read():
    assert set(LATER_THEOREMS) == {*LATER_READ, *LATER_ASKED, *LATER_REFUSED}
    assert (len(LATER_READ), len(LATER_ASKED), len(LATER_REFUSED)) == (16, 6, 2)


@pytest.mark.parametrize("label", [*READ, *LATER_READ])
def test_a_display_reads_as_its_author_means_it(label):
    assert_says(EVERY[label], *{**READ, **LATER_READ}[label])


@pytest.mark.parametrize("label", [*ASKED, *LATER_ASKED])
def test_a_display_reads_as_meant_with_the_lines_that_its_errors_ask_for(label):
    asked, lines, sides = {**ASKED, **LATER_ASKED}[label]
    assert_says(with_asked(EVERY[label], lines, asked), *sides)


@pytest.mark.parametrize("label", [*REFUSED, *OTHERS, *LATER_REFUSED])
def test_a_display_is_refused_for_the_reason(label):
    assert_refused(EVERY[label], {**REFUSED, **OTHERS, **LATER_REFUSED}[label], claims_of)
