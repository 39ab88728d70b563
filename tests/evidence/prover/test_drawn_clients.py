"""Clients drawn for each step: the definitions hold for every set of clients, and statements that need them."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import prod
from pathlib import Path

import pytest
import sympy as sp

from fedbounds.evidence.prover import automatic
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import ALPHA, NOISE, SHARE, START, W_NEXT, W_STAR, G, P, W, X, grad
from fedbounds.evidence.symbolic.permitted_assumptions import granted
from fedbounds.latex.reader import claims_in_order
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.path_quantities import average_models_gap, dispersion, p_sq
from fedbounds.theory.points import weight_ratio
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import Delta_0, Delta_T, L, N, T, eta_0, gap_t, m, mu, sigma_sq, zeta_sq
from fedbounds.theory.vectors import Centre

ONE_STEP, ONE_DRAWN = Assumption("one-a-round", "tau = 1", sp.Eq(sy.tau, 1)), Assumption("one", "m = 1", sp.Eq(m, 1))
BELOW = Assumption("below-2/L", "eta_t < 2/L", sp.Lt(sy.eta * L, 2))
UNIFORM = (a.equal_selection, a.unbiased, a.equal_p)
SHARED = (a.smooth, a.strongly_convex, a.full_gradients, a.homogeneous, *UNIFORM, ONE_STEP, a.constant_steps, BELOW)
FASTER = (1 - eta_0 * mu * (2 - eta_0 * L)) ** T * Delta_0
NOISY = (a.smooth, a.strongly_convex, a.bounded_variance, *UNIFORM, ONE_STEP)
FLOOR = eta_0 / (mu * m) * (sigma_sq + zeta_sq)


def claim(bound, assumed, **more):
    return Claim("mine", "Mine", "a textbook", "horizon", Delta_T, {"all": bound}, assumptions=assumed, **more)


def proved(*stated, **more):
    return automatic.examine(claim(*stated, **more), READINGS["plain"]) is not None


def mean(values):
    return sum(values) / Fraction(len(values))


def test_the_second_moment_of_a_draw_is_that_over_every_set_of_clients():
    """Of a_i, to which each client adds 1 or -1, all signs alike: a stands for w - eta grad F_i(w) - v."""
    for models in ([Fraction(3)], [Fraction(1), Fraction(-2)], [Fraction(k * k, 3) - 1 for k in range(4)]):
        n = len(models)
        noisy = [[x + e for x, e in zip(models, signs, strict=True)] for signs in product((1, -1), repeat=n)]
        squares, of_mean = mean([mean([x**2 for x in item]) for item in noisy]), mean([mean(x) ** 2 for x in noisy])
        for drawn in range(1, n + 1):
            moment = mean([mean([mean(S) ** 2 for S in combinations(item, drawn)]) for item in noisy])
            assert drawn * (n - 1) * moment == (n - drawn) * squares + n * (drawn - 1) * of_mean
            assert drawn * moment <= squares + (drawn - 1) * mean(models) ** 2
            assert drawn > 1 or moment == squares
            assert mean([mean(S) for S in combinations(models, drawn)]) == mean(models)


def test_the_second_moment_of_a_draw_by_p_is_that_over_every_sequence_of_clients():
    """Of a_i, to which each client adds 1 or -1: a client that is drawn twice adds the same twice."""
    quarter, third = Fraction(1, 4), Fraction(1, 3)
    for models, p in (([3], [1]), ([1, -2], [third, 2 * third]), ([5, 0, -1], [quarter, quarter, 2 * quarter])):
        noisy = [[x + e for x, e in zip(models, signs, strict=True)] for signs in product((1, -1), repeat=len(p))]
        squares = mean([sum(w * x**2 for w, x in zip(p, item, strict=True)) for item in noisy])
        of_mean = mean([sum(w * x for w, x in zip(p, item, strict=True)) ** 2 for item in noisy])
        for drawn in range(1, 4):
            draws = list(product(range(len(p)), repeat=drawn))
            moment = mean(
                [sum(prod(p[k] for k in S) * mean([item[k] for k in S]) ** 2 for S in draws) for item in noisy]
            )
            assert drawn * moment == squares + (drawn - 1) * of_mean


RUNS = {item.key.removeprefix("thm:"): item for item in claims_in_order(Path(__file__).with_name("drawn_runs.tex"))}


def test_a_client_that_is_drawn_twice_brings_its_noise_twice():
    stated = RUNS["replaced-noise"]
    first, second, _ = stated.terms
    for noise in (sigma_sq / m + p_sq * sigma_sq, sigma_sq / m, sigma_sq * (1 / m + p_sq / 2)):
        terms = {**{key: stated.terms[key] for key in (first, second)}, "noise": eta_0 * noise}
        answer = automatic.examine(replace(stated, terms=terms), READINGS["plain"])
        assert (answer is not None) is (noise == sigma_sq / m + p_sq * sigma_sq)


@pytest.mark.parametrize("reading", ["plain", "literal"])
def test_draws_by_p_are_of_the_mean_over_those_drawn(reading):
    stated = RUNS["replaced-mean"]
    assert ("drawn-by-p" in granted(READINGS[reading], stated)) is (READINGS[reading].virtual == "alpha")


def test_a_shared_minimiser_and_one_drawn_client():
    assert proved(FASTER, (*SHARED, ONE_DRAWN))
    assert not proved(FASTER**2 / Delta_0, (*SHARED, ONE_DRAWN))


@pytest.mark.parametrize("without", ["equal-p", "unbiased", "one-a-round", "homogeneous", "below-2/L"])
def test_an_assumption_that_draws_need_is_missed(without):
    assert not proved(FASTER, (*[item for item in SHARED if item.key != without], ONE_DRAWN))


def test_drawn_clients_of_bounded_dissimilarity():
    steps = {"eta": sp.Min(eta_0, 1 / L)}
    assert proved((1 - eta_0 * mu) ** (2 * T) * Delta_0 + FLOOR, NOISY, **steps)
    for wrong in (FLOOR / 2, FLOOR / m):
        assert not proved((1 - eta_0 * mu) ** (2 * T) * Delta_0 + wrong, NOISY, **steps)


@pytest.mark.parametrize(("share", "said"), [((N - m) / (m * (N - 1)), True), ((N - m) / (m * N), False)])
def test_one_step_of_drawn_clients(share, said):
    assumed = (a.smooth, a.strongly_convex, a.full_gradients, *UNIFORM, ONE_STEP, a.small_steps)
    bound = {"kept": (1 - sy.eta * mu) * sy.Delta, "drawn": sy.eta**2 * share * zeta_sq}
    stated = Claim("mine", "Mine", "a textbook", "step", sy.Delta_next, bound, assumptions=assumed)
    assert (automatic.examine(stated, READINGS["plain"]) is not None) is said


def fault(key, *points, assumed=SHARED):
    """Why a proof may not use a definition at points."""
    last = d.step("conclude", Delta_T, "<=", FASTER).by(d.premise(key, *points))
    proof = d.Derivation("mine", "Mine", (last,), claim="mine", readings=("plain",))
    return automatic.check(proof, claim(FASTER, assumed), READINGS["plain"]).fault


@pytest.mark.parametrize("key", ["drawn-clients", "drawn-at-most", "some-drawn", "dissimilarity", "one-drawn-client"])
def test_nobody_draws_clients_but_a_claim_that_says_so(key):
    for without in ("equal-p", "unbiased", *(("one-a-round",) if key != "some-drawn" else ())):
        assumed = (*[item for item in SHARED if item.key != without], ONE_DRAWN)
        assert "is no assumption" in fault(key, *((W_STAR,) if "drawn-" in key else ()), assumed=assumed)
    if key == "one-drawn-client":
        assert "is no assumption" in fault(key, W_STAR)


@pytest.mark.parametrize("point", [X, sy.L, W + W_STAR])
def test_draws_are_seen_from_fixed_points(point):
    assert "gives nothing" in fault("drawn-clients", point) and "gives nothing" in fault("drawn-at-most", point)


# Of the mean of drawn clients' models, after any number of local steps.

CONVEX = (a.smooth, a.strongly_convex, *UNIFORM)


def of_models(left, right, assumed=CONVEX):
    return Claim("mine", "Mine", "a textbook", "step", left, {"all": right}, assumptions=assumed)


def found(*stated):
    return automatic.examine(of_models(*stated), READINGS["plain"]) is not None


def test_the_loss_of_the_mean_of_drawn_models():
    assert found(average_models_gap, gap_t)
    assert found(gap_t, average_models_gap + L / (2 * m) * dispersion)
    assert not found(gap_t, average_models_gap)
    assert not found(average_models_gap + mu / (2 * m) * dispersion, gap_t)
    for wrong in (L / (2 * m**2), L / (3 * m), L / (2 * m) * (1 - 1 / N)):
        assert not found(gap_t, average_models_gap + wrong * dispersion)


@pytest.mark.parametrize("without", ["equal-p", "unbiased", "equal-selection"])
def test_models_are_drawn_by_a_claim_that_says_so(without):
    assumed = tuple(item for item in CONVEX if item.key != without)
    assert not found(average_models_gap, gap_t, assumed)
    assert not found(gap_t, average_models_gap + L / (2 * m) * dispersion, assumed)


def draws_used(*uses):
    """Why a proof may not use facts about the drawn models' weights."""
    last = d.step("conclude", average_models_gap, "<=", gap_t).by(*uses)
    proof = d.Derivation("mine", "Mine", (last,), claim="mine", readings=("plain",))
    return automatic.check(proof, of_models(average_models_gap, gap_t), READINGS["plain"]).fault


@pytest.mark.parametrize("vector", [W, W_NEXT, G, NOISE, Centre(ALPHA, X), weight_ratio * X, gap_t * X, grad(W), L])
def test_what_is_drawn_from_does_not_depend_on_the_draw(vector):
    for key in ("drawn-weights", "drawn-weights-at-most"):
        assert "gives nothing" in draws_used(d.premise(key, vector))
    assert "gives nothing" in draws_used(d.premise("drawn-weights-mean", vector, W_STAR))
    assert "gives nothing" in draws_used(d.premise("drawn-weights-mean", X, vector))
    assert "gives nothing" in draws_used(d.premise("drawn-weights-mean", X, X))


def test_what_holds_over_draws_is_not_averaged_by_the_draw():
    """sum_i alpha_i <wbar - w_alpha, w_i - w*> is a variance, not 0."""
    fact = d.premise("drawn-weights-mean", X, Centre(P, X) - W_STAR)
    assert "random weights" in draws_used(d.averaged(ALPHA, (SHARE, fact)))
    assert "random weights" in draws_used(d.averaged(ALPHA, d.premise("drawn-weights", X - START)))
    assert "random" in draws_used((gap_t, fact))
    assert "there remains" in draws_used(fact)


def test_a_claim_that_divides_by_zero_at_some_m_is_answered():
    assert not found(gap_t, average_models_gap + L / (2 * (m - 2)) * dispersion)
