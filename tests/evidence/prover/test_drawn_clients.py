"""Clients drawn for each step: the definitions hold for every set of clients, and statements that need them."""

from fractions import Fraction
from itertools import combinations, product

import pytest
import sympy as sp

from fedbounds.evidence.prover import automatic
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import W_STAR, W, X
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import Delta_0, Delta_T, L, T, eta_0, m, mu, sigma_sq, zeta_sq

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


def test_a_shared_minimiser_and_one_drawn_client():
    assert proved(FASTER, (*SHARED, ONE_DRAWN))
    assert not proved(FASTER**2 / Delta_0, (*SHARED, ONE_DRAWN))


@pytest.mark.parametrize(
    "without", ["equal-p", "unbiased", "one-a-round", "homogeneous", "below-2/L", "constant-steps"]
)
def test_an_assumption_that_draws_need_is_missed(without):
    assert not proved(FASTER, (*[item for item in SHARED if item.key != without], ONE_DRAWN))


def test_drawn_clients_of_bounded_dissimilarity():
    steps = {"eta": sp.Min(eta_0, 1 / L)}
    assert proved((1 - eta_0 * mu) ** (2 * T) * Delta_0 + FLOOR, NOISY, **steps)
    for wrong in (FLOOR / 2, FLOOR / m):
        assert not proved((1 - eta_0 * mu) ** (2 * T) * Delta_0 + wrong, NOISY, **steps)


def fault(key, *points, assumed=SHARED):
    """Why a proof may not use a definition at points."""
    last = d.step("conclude", Delta_T, "<=", FASTER).by(d.premise(key, *points))
    proof = d.Derivation("mine", "Mine", (last,), claim="mine", readings=("plain",))
    return automatic.check(proof, claim(FASTER, assumed), READINGS["plain"]).fault


@pytest.mark.parametrize("key", ["drawn-clients", "drawn-at-most", "some-drawn", "dissimilarity", "one-drawn-client"])
def test_nobody_draws_clients_but_a_claim_that_says_so(key):
    for without in ("equal-p", "unbiased", "one-a-round"):
        assumed = (*[item for item in SHARED if item.key != without], ONE_DRAWN)
        assert "is no assumption" in fault(key, *((W_STAR,) if "drawn-" in key else ()), assumed=assumed)
    if key == "one-drawn-client":
        assert "is no assumption" in fault(key, W_STAR)


@pytest.mark.parametrize("point", [X, sy.L, W + W_STAR])
def test_draws_are_seen_from_fixed_points(point):
    assert "gives nothing" in fault("drawn-clients", point) and "gives nothing" in fault("drawn-at-most", point)
