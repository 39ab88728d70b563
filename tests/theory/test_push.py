"""The proof of `fedavg-push`: its multipliers, its algebra, and that nothing less is true."""

from dataclasses import replace
from fractions import Fraction as Q

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_oracle import by_clients

from fedbounds.engine.simulate import simulate
from fedbounds.evidence.evaluate import evaluate
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.model.experiment import Experiment
from fedbounds.model.schedule import ConstantStep
from fedbounds.plugins import claim_named
from fedbounds.problems.quadratic import quadratic
from fedbounds.study.worst_case_and_theorems import bounds
from fedbounds.theory.reading import READINGS
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
        return [item - other for item, other in zip(u, w, strict=True)]

    ends = ([item - geometric(y, tau) * other for item, other in zip(x[tau], unit[0], strict=True)] for y in (q, r))
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
@settings(max_examples=15, deadline=None)
def test_the_multipliers_are_a_proof(tau, top, bottom, of):
    """0 <= r < q <= 1, in fractions: none negative, values and <v, c> cancel, the form has A in its kernel."""
    q, r = Q(top, of) if top < 60 else Q(1), Q(min(bottom, top - 1), of)
    assert all(min(some) >= 0 for some in multipliers(q, r, tau))
    values, S = rest(q, r, tau)
    assert not any(values) and not any(S[0])
    A = [geometric(q, k) for k in range(tau)]
    assert all(S[i][j] <= 0 for i in range(tau) for j in range(tau) if i != j)
    assert not any(sum(S[i][j] * A[j] for j in range(tau)) for i in range(tau))


@pytest.mark.parametrize("m", [0.5, 0.9])
def test_two_quadratics_on_the_line_attain_it(m, tau=5, eta=1.0):
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
