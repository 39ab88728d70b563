"""Displays of public papers, notes and drafts (collected.tex): each reads as meant, or is refused for the reason."""

import pytest
import sympy as sp
from corpus import HERE, assert_refused, assert_says, labelled, with_asked

from fedbounds.latex.marked_theorems import theorems
from fedbounds.latex.statement import claim_of
from fedbounds.plugins import claim_named
from fedbounds.theory import symbols as s
from fedbounds.theory.point_quantities import mean_slope_sq
from fedbounds.theory.symbols import (
    Delta,
    Delta_0,
    Delta_next,
    Delta_T,
    G_sq,
    Gamma,
    L,
    N,
    R,
    T,
    average_gap,
    drift,
    eta,
    eta_0,
    gamma,
    gap,
    gap_0,
    gap_round,
    gap_sum,
    gap_t,
    m,
    mu,
    sigma_0_sq,
    sigma_p_sq,
    sigma_sq,
    t,
    tau,
    zeta_sq,
    zeta_star_sq,
)

PAPER, THEOREMS = labelled("paper.tex"), labelled("collected.tex")
B = sigma_p_sq + 6 * L * Gamma + 8 * (tau - 1) ** 2 * G_sq
SLOPES = s.sum_over_steps(mean_slope_sq)
ONE_STEP = (Delta_next, (1 - eta * mu) * Delta + eta**2 * sigma_sq)
AVERAGE = (gap_sum / T, Delta_0 / (2 * eta_0 * T) + eta_0 * G_sq / 2)
SUBLINEAR = (gap_t, Delta_0 / (2 * eta_0 * t))
ROOT = (sp.sqrt(Delta), (1 - eta_0 * mu) ** t * sp.sqrt(Delta_0))
SQUARE = (1 - eta_0 * mu) ** t * Delta_0
FLOOR = eta_0 * L * sigma_sq / (2 * mu)


def li(extra):
    return gap, L / mu / (gamma + T) * (2 * (B + extra) / mu + mu * gamma / 2 * Delta_0)


# label -> both sides, as the author means them.
READ = {
    "li-1": li(0),
    "li-2": li(4 * tau**2 * G_sq / m),
    "li-3": li((N - m) / (N - 1) * 4 * tau**2 * G_sq / m),
    "khaled-lemma-1": (
        Delta_next,
        Delta + eta_0 * L * (1 + 2 * eta_0 * L) * drift - 2 * eta_0 * (1 - 2 * eta_0 * L) * gap_t,
    ),
    "khaled-theorem-1": (average_gap, 2 * Delta_0 / (eta_0 * T) + 24 * eta_0**2 * zeta_star_sq * tau**2 * L),
    "khaled-corollary-1": (
        average_gap,
        8 * L * Delta_0 / sp.sqrt(N * T) + 3 * N * zeta_star_sq * tau**2 / (2 * L * T),
    ),
    "linear": ROOT,
    "pl-gap": (gap_t, (1 - eta_0 * mu) ** t * gap_0),
    "gd-gap": (gap_t, (1 - eta_0 * mu) ** t * gap_0),
    "exponential": (Delta, SQUARE),
    "trace-noise": (Delta, SQUARE + eta_0 * sigma_sq / mu),
    "trace-slope": (SLOPES / T, 2 * gap_0 / (eta_0 * T) + L * eta_0 * sigma_sq),
    "escaped-stars": (gap, (1 - eta_0 * mu) ** T * gap_0),
    "fedavg-exponential": (
        gap_round,
        L / mu * sp.exp(-mu * R / L) * gap_0 + sigma_sq / (mu * N) + tau * zeta_sq / mu,
    ),
    "lipschitz": ROOT,
    "batch-step": (Delta_next, (1 - mu * eta_0) * Delta + eta_0**2 * sigma_sq),
    "batch-floor": (Delta, SQUARE + eta_0 * sigma_sq / mu),
    "convex-gd": SUBLINEAR,
    "from-one": (gap, (1 - mu * eta_0) ** T * gap_0 + FLOOR),
    "boxed": (gap, (1 - mu * eta_0) ** T * gap_0 + FLOOR),
    "squares": ONE_STEP,
    "edge-step": (Delta_next, (1 - eta * mu) * Delta + eta**2 * G_sq),
    "edge-rate": (Delta_T, 4 * G_sq / (mu**2 * T)),
    "edge-federated": ONE_STEP,
    "edge-federated-rate": (Delta_T, sigma_sq / (mu**2 * (T + 1))),
    "constant-steps": (Delta_T, (1 - mu * eta_0) ** T * Delta_0 + eta_0 * sigma_sq / mu),
    "condition-number": (gap, (1 - mu / L) ** T * gap_0 + FLOOR),
    "floor-on-both-sides": (gap_t - FLOOR, (1 - eta_0 * mu) ** t * (gap_0 - FLOOR)),
    "last-slope": (mean_slope_sq, 2 * gap_0 / (eta_0 * T) + eta_0 * L * sigma_sq),
    "rounds-slope": (
        s.sum_over_rounds(mean_slope_sq) / R,
        2 * gap_0 / (eta_0 * tau * R) + eta_0 * L * sigma_sq / N + 4 * eta_0**2 * L**2 * tau**2 * G_sq,
    ),
    "named-gradients": (SLOPES / T, 2 * gap_0 / (eta_0 * T) + L * eta_0 * sigma_sq),
    "radius": AVERAGE,
    "sums-on-both-sides": (2 * s.sum_over_steps(eta * gap_t), Delta_0 + G_sq * s.sum_over_steps(eta**2)),
    "average-written-out": (average_gap, sp.sqrt(Delta_0 * G_sq / T)),
    "batch-in-bars": (SLOPES / T, gap_0 / (eta_0 * T) + eta_0 * L * sigma_sq),
    "participants": (
        s.sum_over_rounds(mean_slope_sq) / R,
        2 * L * gap_0 / sp.sqrt(R) + 4 * tau**2 * G_sq / m,
    ),
    "average-gap": AVERAGE,
    "average-from-one": (s.later_average_gap, Delta_0 / (2 * eta_0 * T) + eta_0 * sigma_sq / 2),
    "denominator": (Delta, (1 - 2 * eta_0 * mu / (1 + eta_0 * L)) ** t * Delta_0),
    "best-step": (Delta, ((L / mu - 1) / (L / mu + 1)) ** t * Delta_0),
    "projected": SUBLINEAR,
    "full-tuning": (Delta, (1 - mu / L) ** t * Delta_0),
    "bounded-noise": (Delta, SQUARE + eta_0 * G_sq / mu),
    "expected-smoothness": (Delta, SQUARE + eta_0 * sigma_sq / mu),
    "growing-noise": (gap_t, eta_0 * L * sigma_0_sq / (2 * mu) + (1 - eta_0 * mu) ** t * gap_0),
    "abbreviated-step": (Delta_next, (1 - 2 * eta * mu + eta**2 * L**2) * Delta + eta**2 * sigma_sq),
    "slope-in-step": (Delta_next, Delta - 2 * eta * gap_t + eta**2 * (mean_slope_sq + sigma_sq)),
    "geometric-sum": (
        Delta_T,
        (1 - mu * eta_0) ** T * Delta_0 + 2 * eta_0 * sigma_sq * (1 - (1 - mu * eta_0) ** T) / mu,
    ),
    "half-step": (Delta_next, (1 - eta_0 * L / 2) * Delta + eta_0**2 * sigma_sq / 2),
    "bold-step": ONE_STEP,
    "decaying": (Delta_T, 4 * sigma_sq / (mu**2 * T)),
    "three-terms": (Delta_next, (1 - 2 * eta * mu) * Delta + eta**2 * sigma_sq + eta**2 * L**2 * Delta),
    "proximal": SUBLINEAR,
    "exp-in-letters": (gap, sp.exp(-eta_0 * mu * T) * gap_0 + FLOOR),
    # As it was misquoted: the brackets of Li et al. are lost.
    "li-misquoted": (gap, L / mu / (gamma + T) * 2 * B / mu + mu * gamma / 2 * Delta_0),
}
# label -> the line that its error asks for, and both sides, which are then read.
LOCAL = (1 - eta_0 * mu / 2) ** T * gap_0 + L * eta_0**2 * sigma_sq / (2 * mu * N)
ANSWERED = {
    "conditional-step": ("in expectation", (1 - mu * eta_0) * gap_t + L * eta_0**2 * sigma_sq / 2),
    "given-the-iterate": ("in expectation", gap_t - eta * mean_slope_sq + L * eta**2 * sigma_sq / 2),
    "fedavg-main": ("units as written", LOCAL + L * eta_0**2 * G_sq * tau**2 / (2 * mu)),
    "fedavg-iid": ("units as written", LOCAL),
    "fedavg-nonconvex": (
        "units as written",
        2 * L * gap_0 / (eta_0 * T) + eta_0 * L**2 * (sigma_sq + 2 * G_sq * tau**2),
    ),
    "wrong-units": ("units as written", Delta - 2 * eta * mu * gap_t + L * eta**2 * (G_sq + sigma_sq)),
}
# label -> what the refusal says.
REFUSED = {
    "li-4": "order without constants",
    "khaled-lemma-2": "a sum must be over",
    "spsa": "a function of it",
    "anchor": r"received \delta",
    "sublinear": "order without constants",
    "fedavg-main": "different units",
    "fedavg-nonconvex": "different units",
    "least-slope-order": "order without constants",
    "filtered": r"received \rho",
    "fedavg-order": "order without constants",
    "clipped": r"received \delta",
    "over-the-air": "F_{0}",
    "byzantine": "w_{i}^{T}",
    "chain": "must have one relation",
    "conditional-step": "one is a condition",
    "heavy-ball": "not t=1",
    "quantised": r"\epsilon_{q}",
    "equals-an-order": "must have one relation",
    "over-the-selection": r"received \rho",
    "lost-norms": "received P",
    "two-times": "one of horizon, step",
    "forgotten-loss": r"received \bar{w}",
    "slash": "a / b c is ambiguous",
    "krum": "algorithm must be a known name",
    "biased-step": r"received \delta",
    "fedavg-iid": "different units",
    "reshuffling": r"\sigma_{\mathrm{rad}}",
    "wrong-units": "different units",
    "two-starts": "must be of w_t alone",
    "one-dimension": "w_{t+1}^{2}",
    "moving-optimum": r"w_{t+1}^{\star}",
    "given-the-iterate": "one is a condition",
    "fedpaq": "a sum must be over",
    "fedprox-dissimilarity": "received B",
}


# The refused that are explicit inequalities about GD, SGD or FedAvg in letters their texts define; the others are
# orders, misprints, and of other algorithms or of constants without a value. A chain is two claims for the command.
OF_THE_MODEL = {
    *ANSWERED,
    *(
        "khaled-lemma-2",
        "two-times",
        "forgotten-loss",
        "slash",
        "one-dimension",
        "two-starts",
        "chain",
    ),
}


def test_every_display_is_expected_to_be_something():
    assert set(THEOREMS) == set(READ) | set(REFUSED)
    assert len(THEOREMS) == len(READ) + len(REFUSED) >= 50
    assert set(REFUSED) >= OF_THE_MODEL and (len(READ), len(ANSWERED), len(OF_THE_MODEL)) == (55, 6, 13)
    assert len(READ) + len(ANSWERED) >= 0.8 * (len(READ) + len(OF_THE_MODEL))


@pytest.mark.parametrize("label", READ)
def test_a_display_reads_as_its_author_means_it(label):
    assert_says(THEOREMS[label], READ[label])


@pytest.mark.parametrize("label", ANSWERED)
def test_a_display_is_read_with_the_line_that_its_error_asks_for(label):
    line, right = ANSWERED[label]
    assert_says(with_asked(THEOREMS[label], [line]), (None, right))


@pytest.mark.parametrize("label", REFUSED)
def test_a_display_is_refused_for_the_reason(label):
    assert_refused(THEOREMS[label], REFUSED[label])


def test_steps_that_count_from_one_are_counted_from_zero():
    assert claim_of(THEOREMS["li-1"]).eta == 2 / (mu * (gamma + t + 1))
    assert claim_of(THEOREMS["edge-federated-rate"]).eta == 1 / (mu * (t + 1))


def test_the_displays_of_the_paper_that_are_claims_read_as_the_shipped_claims():
    read = {label: claim_of(theorem) for label, theorem in PAPER.items()}
    for label, key in (("discrepancy", "lemma-2"), ("one-step", "theorem-1")):
        shipped = claim_named(key)
        assert read[label].lhs == shipped.lhs and sp.expand(read[label].rhs - shipped.rhs) == 0
    assert (read["smoothness"].lhs, read["smoothness"].rhs) == (s.grad_sq, 2 * L * s.excess)
    assert (read["rate"].lhs, read["rate"].kind) == (gap, "rate")
    noise = 32 * tau**2 * G_sq + sigma_sq
    step = (1 - eta * mu * (1 + sp.Rational(3, 8) * s.rho_bar)) * Delta + eta**2 * noise
    assert sp.expand(read["homogeneous-step"].rhs - step) == 0
    bound = (4 * L * noise / (3 * mu**2 * s.rho_bar) + L * gamma * Delta_0 / 2) / (T + gamma)
    assert sp.expand(read["homogeneous-bound"].rhs - bound) == 0


# The left sides of stranger.tex, in its order.
STRANGER = (
    *(Delta_next, s.Delta_round_next, gap, s.Delta_round_next, "gap_next", s.Delta_round_next),
    *(s.Delta_round_next, gap, average_gap, s.Delta_round, "slope_sq", Delta_T, drift, Delta_next),
    *(average_gap, s.Delta_round_next, s.gap_round_next, s.Delta_round, s.Delta_round_next, Delta_next),
    *("optimum_to_mean", s.Delta_round_next, gap, gap),
)


def test_a_stranger_s_theorems_are_read_and_what_their_text_repeats_is_no_warning():
    every = [claim_of(theorem) for theorem in theorems(HERE / "stranger.tex")]
    assert [str(claim.lhs) for claim in every] == list(map(str, STRANGER))
    assert {claim.key: claim.unread for claim in every if claim.unread}.keys() == {"15", "22"}
    by_key = {claim.key: claim for claim in every}
    floor = eta_0**2 * (tau - 1) ** 2 * zeta_star_sq
    assert by_key["12"].rhs.coeff(zeta_star_sq) * zeta_star_sq - floor == 0
    assert sp.expand(by_key["08"].rhs - by_key["24"].rhs).has(sigma_sq) and not by_key["08"].rhs.has(G_sq)


# The left sides of later_stranger.tex, in its order.
LATER_STRANGER = (
    *(gap, s.Delta_round_next, "gap_next", s.eta_average_gap, average_gap, average_gap, "optimum_to_mean", drift),
    *(s.Delta_round_next, s.Delta_round_next, Delta_next, s.Delta_round, s.Delta_round_next, Delta_next, Delta_next),
    *(drift, "slope_sq", s.gap_round_next, s.gap_round_next, "slope_variance", Delta_T, Delta_T),
)


def test_what_a_stranger_s_text_repeats_of_its_lines_is_no_warning():
    every = [claim_of(theorem) for theorem in theorems(HERE / "later_stranger.tex")]
    assert [str(claim.lhs) for claim in every] == list(map(str, LATER_STRANGER))
    assert not [claim.key for claim in every if claim.unread]
    by_key = {claim.key.partition(":")[2]: claim for claim in every}
    assert by_key["round-floor"].rhs.coeff(s.Delta_round) == (1 - eta * mu) ** (2 * s.tau)
    assert by_key["last"].definitions[gamma] == 8 * L / mu + s.tau
