"""How fast biased weights reach their floor: what the derivation assumes, and its bound attained."""

from fractions import Fraction as Q

import numpy as np
import pytest
import sympy as sp

from fedbounds.evidence.symbolic.definitions import AWAY_0, Z_SQ
from fedbounds.evidence.symbolic.verified_proofs import installed
from fedbounds.theory.symbols import L, T, gamma, mu, sigma_sq
from fedbounds.weightings.fedavg import FedAvg
from fedbounds.weightings.fedmax import FedMax
from fedbounds.weightings.fedsoftmax import FedSoftMax


@pytest.mark.parametrize("weighting", [FedAvg(), FedMax(), FedMax(2), FedSoftMax(0.3)], ids=lambda one: one.name)
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
