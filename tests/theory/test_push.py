"""The proof of `fedavg-push`: its multipliers, its algebra, and that nothing less is true."""

import itertools
import random
from dataclasses import replace
from fractions import Fraction as Q

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from run_oracle import by_clients

from fedbounds.engine.simulate import simulate
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.evidence.evaluate import evaluate
from fedbounds.evidence.run_constants import examine_run
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.model.experiment import Experiment
from fedbounds.model.schedule import ConstantStep
from fedbounds.plugins import claim_named
from fedbounds.problems.quadratic import quadratic
from fedbounds.study.worst_case import bounds
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status
from fedbounds.weightings.fedavg import FedAvg


def geometric(ratio, k):
    return sum((ratio**j for j in range(k)), 0 * ratio)


def multipliers(q, r, tau):
    """lambda_k, a_k and b_k of the docstring, over E, for k = 0 .. n."""
    n = tau - 1
    A, B = ([geometric(x, k) for k in range(tau + 1)] for x in (q, r))
    lam, b = [0 * q] * (n + 1), [0 * q] * (n + 1)
    for k in range(1, n + 1):
        if k < n:
            g = sum((q**j * r ** (n - k - 1 - j) for j in range(n - k)), 0 * q)
            lam[k] = g * (A[k + 1] - B[k + 1]) / (A[k] * B[k + 1])
        b[k] = (r ** (n - k) + r**k * lam[k]) / B[k]
    return lam, [0 * q, *(b[k] + lam[k] - lam[k - 1] for k in range(1, n + 1))], b


def rest(q, r, tau):
    """(coefficients of the h_k, the form that is left in v, c_1 .. c_n) of the docstring's difference, over E."""
    n, K = tau - 1, q - r
    lam, a, b = multipliers(q, r, tau)
    E = geometric(q, tau) - geometric(r, tau)
    unit = [[0 * q + (i == j) for j in range(tau)] for i in range(tau)]
    zero, c = [0 * q] * tau, [[0 * q] * tau, *unit[1:]]
    x = [zero]
    for k in range(tau):
        x.append([r * old + new + push for old, new, push in zip(x[k], unit[0], c[k], strict=True)])
    S, values = [[0 * q] * tau for _ in range(tau)], [0 * q] * tau

    def add(factor, u, w):
        for i in range(tau):
            for j in range(tau):
                S[i][j] += factor * (u[i] * w[j] + u[j] * w[i]) / 2

    def less(u, w):
        return [one - other for one, other in zip(u, w, strict=True)]

    ends = ([one - geometric(y, tau) * other for one, other in zip(x[tau], unit[0], strict=True)] for y in (q, r))
    add(-1 / E, *ends)
    for k in range(1, n + 1):
        if k < n:
            values[k + 1] += lam[k]
            values[k] -= lam[k]
            add(lam[k], c[k], less(x[k + 1], x[k]))
            add(lam[k] / (2 * K), less(c[k + 1], c[k]), less(c[k + 1], c[k]))
        values[k] += a[k] - b[k]
        add((a[k] + b[k]) / (2 * K), c[k], c[k])
        add(-b[k], c[k], x[k])
    return values, S


@given(st.integers(2, 12), st.integers(1, 60), st.integers(0, 60), st.integers(60, 90))
@settings(max_examples=120, deadline=None)
def test_the_multipliers_are_a_proof(tau, top, bottom, of):
    """0 <= r < q <= 1, in fractions: none negative, values and <v, c> cancel, the form has A in its kernel."""
    q, r = Q(top, of) if top < 60 else Q(1), Q(min(bottom, top - 1), of)
    assert all(min(some) >= 0 for some in multipliers(q, r, tau))
    values, S = rest(q, r, tau)
    assert not any(values) and not any(S[0])
    A = [geometric(q, k) for k in range(tau)]
    assert all(S[i][j] <= 0 for i in range(tau) for j in range(tau) if i != j)
    assert not any(sum(S[i][j] * A[j] for j in range(tau)) for i in range(tau))


@pytest.mark.parametrize("tau", range(2, 6))
def test_in_symbols_it_is_an_identity(tau):
    q, r = sp.symbols("q r", positive=True)
    values, S = rest(q, r, tau)
    rows = [sum(S[i][j] * geometric(q, j) for j in range(tau)) for i in range(tau)]
    assert all(sp.cancel(sp.together(one)) == 0 for one in (*values, *S[0], *rows))


def test_the_algebra_of_every_tau():
    """The rows and R_k at k in the letters A_k, B_k, g_{n-k}, r^(n-k); B_k a_k; and the signs of f."""
    q, r, A, B, g, s = sp.symbols("q r A B g s", positive=True)  # A_k, B_k, g_{n-k}, r^(n-k)
    K, after, later = q - r, (1 + q * A, 1 + r * B), (1 + q + q**2 * A, 1 + r + r**2 * B)
    before, g_before = ((A - 1) / q, (B - 1) / r), q * g + s
    lam, lam_before = g * (after[0] - after[1]) / (A * after[1]), g_before * (A - B) / (before[0] * B)
    beta, R, R_before = (lam + s) / B, K * g * after[0] / after[1], K * g_before * A / B
    assert sp.cancel(lam * after[0] + beta * (A - B) - R - lam_before * before[0]) == 0
    assert sp.cancel(K * A * beta + r * R - R_before) == 0
    assert sp.cancel(later[0] - (1 + q * after[0])) == sp.cancel(later[1] - (1 + r * after[1])) == 0
    # r^k = 1 - (1 - r) B_k, and likewise of q.
    gone = 1 - (1 - r) * B
    a = (s + gone * lam) / B + lam - lam_before
    f = q * (1 - q) * A + (q * A / before[0] - 1) * (B - 1) - gone
    assert sp.cancel(B * a - s * (1 - q + r * before[1] / before[0]) - g * f / A) == 0
    rng = random.Random(0)
    for k in range(2, 40):
        top = Q(rng.randint(1, 50), 50)
        slope = top * geometric(top, k) / geometric(top, k - 1) - 1
        signs = [top * (1 - top**k), *[slope] * (k - 1), Q(-1)]
        changes = [x for x in signs if x]
        assert sum((x > 0) != (y > 0) for x, y in itertools.pairwise(changes)) == 1
        assert sum(x * top**j for j, x in enumerate(signs)) == 0


@pytest.mark.parametrize(("tau", "eta", "m"), [(2, 0.5, 0.5), (5, 1.0, 0.5), (20, 0.3, 0.5), (5, 1.0, 0.9)])
def test_two_quadratics_on_the_line_attain_it(tau, eta, m):
    """Curvatures 1/10 and 1, w* = 0: all the way at equal weights, else 2 sqrt(m (1 - m)) of it."""
    s = np.sqrt((1 - m) / m), -np.sqrt(m / (1 - m))
    problem = quadratic(np.array([[0.1], [1.0]]), np.array([[-10 * s[0]], [-s[1]]]), p=np.array([m, 1 - m]))
    ran = simulate(
        Experiment(problem, FedAvg(), ConstantStep(eta), tau=tau, rounds=1, replicates=1, w0=problem.w_star)
    )
    known = {"L": 1.0, "mu": 0.1, "eta_0": eta, "tau": tau, "T": tau, "Delta_0": 0.0, "sigma_dif_sq": 1.0}
    bound = float(evaluate(claim_named("fedavg-push").sides(READINGS["literal"]).rhs, known))
    assert ran.paths["alpha"].distance_sq[0, -1] == pytest.approx(4 * m * (1 - m) * bound, rel=1e-9)


def test_beyond_1_over_L_more_is_possible():
    """docs/worst.md: at eta L = 1.3 and tau = 3 two clients go 2.4% farther than the formula."""
    eta, far = Q(13, 10), 100
    run = Run(1, 3, Q(1, 10), Q(1), eta, (Q(1, 2),) * 2, (Q(1, 2),) * 2)
    push = ((1 - (1 - eta / 10) ** 3) * 10 - (1 - (1 - eta) ** 3)) / 2
    excess = by_clients(run, far**2) / float(far * push + (1 - eta / 10) ** 3) ** 2
    assert excess > 1.024**2
    assert "fedavg-push" not in bounds(run, Q(1), Q(1)) and "fedavg-push" in bounds(
        replace(run, eta=Q(1)), Q(1), Q(1)
    )


def test_with_noise_it_is_not_asked():
    noisy = quadratic(np.ones((2, 1)), np.array([[-1.0], [1.0]]), noise_std=1.0)
    ran = simulate(Experiment(noisy, FedAvg(), ConstantStep(0.5), tau=2, rounds=2, replicates=16, batch_size=1))
    found = empirical.examine(claim_named("fedavg-push"), examine_run(ran, READINGS["literal"]))
    assert found.status is Status.NOT_APPLICABLE and "gradients are full" in found.detail


@given(st.integers(0, 2**31), st.integers(2, 8), st.floats(0.05, 1.0))
@settings(max_examples=25, deadline=None)
def test_descent_on_other_functions_ends_in_the_ball(seed, tau, eta):
    """Convex functions of three coordinates whose curvature changes from 1 to 1/10 along many directions."""
    rng = np.random.default_rng(seed)
    ways = rng.standard_normal((40, 3))
    shift, weight = rng.standard_normal(40), rng.uniform(0, 1, 40)
    weight *= 0.9 / np.linalg.eigvalsh((ways.T * weight) @ ways)[-1]
    x0 = 2 * rng.standard_normal(3)

    def slope(x):
        return 0.1 * x + (weight * np.clip(ways @ x - shift, 0, None)) @ ways

    x, s = x0, slope(x0)
    for _ in range(tau):
        x = x - eta * slope(x)
    ends = [eta * geometric(1 - eta * curvature, tau) * s for curvature in (0.1, 1.0)]
    assert (x - x0 + ends[0]) @ (x - x0 + ends[1]) <= 1e-12 * (s @ s)
