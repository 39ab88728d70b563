"""The drift with the constants that its steps give: attained by an instance, exceeded by no run, false with noise."""

from dataclasses import replace
from fractions import Fraction as Q
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp

from fedbounds.evidence.evaluate import evaluate
from fedbounds.evidence.exact.compare import examine
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.plugins import claim_named
from fedbounds.problems.quadratic import QuadraticProblem
from fedbounds.theory.quantity import Path, largest, measured
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import gone_sq, parting
from fedbounds.theory.verdict import Status

L, MU = 1.0, 0.2
GAMMA = 4 * L / MU


def rhs(key, **values):
    return evaluate(claim_named(key).sides(READINGS["repaired"]).rhs, {"L": L, "mu": MU, **values})


def full(G_sq, tau, weights, total):
    """The bound of `drift-full` on the corollary's steps."""
    path = Path(tau, 1 / (MU * (np.arange(total) + GAMMA)), SimpleNamespace(mu=MU), alpha=np.array([weights]))
    return rhs("drift-full", gone_sq=gone_sq.on_path(path), parting=max(parting.on_path(path)), G_sq=G_sq)


def two(curvature, d=1):
    H = np.stack([np.eye(d) * curvature] * 2)
    return QuadraticProblem(H, np.array([[1.0] * d, [-1.0] * d]), np.zeros(2), np.full(2, 0.5))


# Smaller by a millionth, by a part of the step size, and the bracket without its square.
SMALLER = {
    "millionth": lambda stated: stated * (1 - sp.Rational(1, 10**6)),
    "by the step": lambda stated: stated.subs(
        gone_sq, measured("fewer", lambda path: gone_sq.on_path(path) * (1 - path.eta / 9))
    ),
    "no square": lambda stated: stated.subs(parting, largest("flat", lambda path: 2 - 2 * path.alpha.max(axis=-1))),
}


@pytest.mark.parametrize(
    ("p", "pulls"),
    [
        (["3/4", "1/4"], [["1"], ["-1"]]),
        (["3/5", "3/10", "1/10"], [["1"], ["-1"], ["-1"]]),
        (["2/5", "3/10", "3/10"], [["1", "0"], ["-2/3", "s"], ["-2/3", "-s"]]),
    ],
    ids=str,
)
def test_it_is_attained_in_fractions_by_unequal_weights_and_nothing_smaller_holds(p, pulls):
    """Clients of curvature mu, whose pulls of one size sum to as little as they can; steps at random."""
    # sqrt(5)/3 to eight digits, from below: the third case comes within a millionth of the bound.
    pulls = [[pull.replace("s", "745355992/1000000000") for pull in row] for row in pulls]
    data = {"curvatures": [["2"] * len(row) for row in pulls], "minima": pulls, "p": p, "w0": ["0"] * len(pulls[0])}
    instance = from_json({**data, "eta": ["1/9", "1/2", "1/7"], "tau": 3, "weighting": "fedavg"})
    claim, where = claim_named("drift-full"), READINGS["repaired"]
    assert examine(instance, claim, where).status is Status.HOLDS
    for name, smaller in SMALLER.items():
        less = replace(claim, terms={"drift": smaller(claim.terms["drift"])})
        same = name == "no square" and Q(p[0]) <= Q(1, 2)
        assert examine(instance, less, where).status is (Status.HOLDS if same else Status.REFUTED)


def test_with_noise_the_closed_form_is_false():
    """What the claim's remark says: noise that keeps E||g||^2 at G^2, two equal quadratics, the third step."""
    mu, eta = Q(1, 5), Q(1, 20)
    q, G_sq = 1 - eta * mu, mu**2
    way = eta + eta * q  # of the mean, over G: a step of eta G, then one of eta (1 - eta mu) G
    variance = eta**2 * G_sq * (1 - q**2)  # of the second step, whose mean gradient is (1 - eta mu) G
    drift, closed = way**2 * G_sq + variance / 2, G_sq / mu**2 * (1 - q**2) ** 2
    assert drift - closed == eta**2 * G_sq / 2 * (1 - q**2) > 0
    assert drift <= (2 * eta) ** 2 * G_sq


def test_it_is_false_once_steps_exceed_2_over_L():
    """Two mirrored quadratics of curvatures 1 and 4, steps 14/5 over L: one part of each model swings ever wider."""
    minima = [["84/85", "13/340"], ["-84/85", "-13/340"]]
    data = {"curvatures": [["1", "4"]] * 2, "minima": minima, "p": ["1/2"] * 2, "w0": ["0", "0"], "tau": 4}
    instance = from_json({**data, "eta": ["7/10"] * 4, "weighting": "fedavg"})
    claim, where = claim_named("drift-full"), READINGS["repaired"]
    assert examine(instance, claim, where).status is Status.NOT_APPLICABLE
    free = replace(
        claim,
        assumptions=tuple(assumption for assumption in claim.assumptions if assumption.key != "eta-below-2/(L+mu)"),
    )
    assert examine(instance, free, where).status is Status.REFUTED
