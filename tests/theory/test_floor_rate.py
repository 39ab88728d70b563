"""How fast biased weights reach their floor: what the derivation assumes, its bound attained, and on runs."""

from fractions import Fraction as Q

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import minimize

from fedbounds.engine.iterates import replay
from fedbounds.engine.simulate import simulate
from fedbounds.evidence.symbolic.definitions import AWAY_0, Z_SQ
from fedbounds.evidence.symbolic.verified_proofs import checked_named, installed
from fedbounds.model.experiment import Experiment
from fedbounds.model.schedule import InverseTime
from fedbounds.problems.quadratic import quadratic
from fedbounds.theory.symbols import L, T, gamma, mu, sigma_sq
from fedbounds.weightings.fedavg import FedAvg
from fedbounds.weightings.fedmax import FedMax
from fedbounds.weightings.fedsoftmax import FedSoftMax

TEMPERATURE = 0.3
# What each weighting minimises, of the gaps e (..., N) and p.
MINIMISED = {
    FedAvg(): lambda e, p: e @ p,
    FedMax(): lambda e, p: e.max(-1),
    FedMax(2): lambda e, p: np.sort(e)[..., -2:].mean(-1),
    FedSoftMax(TEMPERATURE): lambda e, p: TEMPERATURE * np.log(np.exp(e / TEMPERATURE) @ p),
}


@pytest.mark.parametrize("weighting", MINIMISED, ids=lambda one: one.name)
def test_the_weights_are_monotone_in_the_gaps(weighting):
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.ones(4))
    e, other = rng.exponential(size=(2, 500, 4))
    moved = weighting(p, e, 0, None) - weighting(p, other, 0, None)
    assert ((moved * (e - other)).sum(-1) >= -1e-12).all()


def bound(**values):
    """The bound on (T + gamma - 1)^2 ||w_T - w_+||^2."""
    named = {symbol.name: symbol for symbol in (L, mu, gamma, T, sigma_sq, AWAY_0, Z_SQ)}
    rate = next(step for step in installed()["floor-rate"].steps if step.label == "all")
    return rate.rhs.subs({named[name]: sp.nsimplify(value) for name, value in values.items()})


def test_it_is_attained_as_clients_are_added(N=1000, kappa=5, share=Q(3, 4)):
    """F_i = ||w + e_i||^2/2 on R^N from 0; round t follows client t, one of the largest e_i. w_+ = -(1, ..., 1)/N.

    One more client, of curvature kappa and minimum w_+, is never chosen.
    """
    steps = 30
    w = [Q(0)] * N
    for t in range(steps):
        away, size = sum((x + Q(1, N)) ** 2 for x in w), sum(x**2 for x in w)
        assert w[t] == max(w) and kappa * away < size + 2 * w[t] + 1  # twice e_i for i = t, and of the one more
        w = [x - (x + (i == t)) / (t + 4 * kappa) for i, x in enumerate(w)]
    away = (steps + 4 * kappa - 1) ** 2 * sum((x + Q(1, N)) ** 2 for x in w)
    values = {"L": kappa, "mu": 1, "gamma": 4 * kappa, "T": steps, "sigma_sq": 0, "Z_sq": 1 - Q(1, N)}
    at_most = bound(**values, away_0=Q(1, N))
    assert share * at_most < away <= at_most


def minimiser(problem, weighting):
    value = lambda w: float(MINIMISED[weighting](problem.excess(w), problem.p))  # noqa: E731
    best = problem.w_star
    for _ in range(20):  # Nelder-Mead shrinks too early at a kink; started anew it goes on
        best = minimize(value, best, method="Nelder-Mead", options={"xatol": 1e-12, "fatol": 1e-15}).x
    return best


@pytest.mark.parametrize("weighting", [FedMax(2), FedSoftMax(TEMPERATURE)], ids=lambda one: one.name)
def test_with_local_steps_no_run_is_farther_at_any_step(weighting, tau=3):
    rng = np.random.default_rng(8)
    problem = quadratic(rng.uniform(0.5, 1, (3, 2)), rng.standard_normal((3, 2)), rng.dirichlet(np.ones(3)), rng=rng)
    scale, start = 4 * problem.L / problem.mu, np.array([2.0, -1.0])
    steps = tau * (600 // tau)
    eta = InverseTime(problem.mu, scale)
    planned = Experiment(problem, weighting, eta, tau, steps // tau, replicates=1, w0=start)
    run = replay(planned)
    plus = minimiser(problem, weighting)
    away = ((run.w["alpha"][0] - plus) ** 2).sum(-1)
    G_max = simulate(planned.with_(batch_size=None)).grad_sq.max()
    most = checked_named("floor-rounds").abbreviations
    known = {"gamma": scale, "away_0": away[0], "tau": tau, "G_sq": G_max, "mu": problem.mu, "T": 1}
    (limit,) = (item.subs({s: known[s.name] for s in item.free_symbols}) for item in most.values())
    assert (away * (np.arange(steps + 1) + scale) <= float(limit)).all()
    assert away[-1] < away[0] / 100  # it is on its way to w_+, whatever tau
