"""Constants that are called exact: attained by instances in fractions, refuted where smaller, exceeded by no run."""

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
from fedbounds.theory.symbols import Delta_T, T, gamma, gap_sum, gone_sq, mu, parting, rho_bar
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


REPAIRED = READINGS["repaired"]
AVERAGED = claim_named("averaged-corollary")
# What the derivation bounds before it drops the last distance, and puts the mean of the gaps above the mean's gap.
GAPS = replace(AVERAGED, key="gaps", lhs=gap_sum + mu * (T + gamma) * Delta_T / (2 * rho_bar))


def steps(mu, L, T):
    return [str(1 / (mu * (t + 4 * Q(L) / mu))) for t in range(T)]


def resting(L, small=Q(1, 10), T=200):
    """Constant weights on two clients of curvature 1, which w_0 = 0 balances; a third one has most of p."""
    return from_json(
        {
            "curvatures": [1, 1, L],
            "minima": [1, -1, 1],
            "p": [str(small), str(small), str(1 - 2 * small)],
            "w0": [0],
            "eta": steps(1, L, T),
            "weighting": "fixed",
            "weights": [["1/2", "1/2", 0]],
        }
    )


def at_rest(instance, alpha):
    """(gap, squared distance, rho_bar, rho_tilde, Gamma) where nothing moves."""
    star = instance.argmin(instance.p)
    here, there = instance.excess(instance.w0), instance.excess(star)
    mean = lambda weights, values: sum(a * e for a, e in zip(weights, values, strict=True))  # noqa: E731
    Gamma = mean(instance.p, there)
    rhos = mean(alpha, here) / mean(instance.p, here), mean(alpha, there) / Gamma
    return (
        mean(instance.p, here) - Gamma,
        sum((x - y) ** 2 for x, y in zip(instance.w0, star, strict=True)),
        *rhos,
        Gamma,
    )


@pytest.mark.parametrize("L", [1, 10])
def test_the_error_term_is_attained_at_every_kappa_and_the_limit_bound_at_one(L):
    instance = resting(L)
    gap, distance, rho_bar, rho_tilde, Gamma = at_rest(instance, (Q(1, 2), Q(1, 2), Q(0)))
    assert gap + distance / (2 * rho_bar) == Gamma * (rho_tilde / rho_bar - 1)
    limit = Gamma * (rho_tilde - rho_bar) / (rho_bar + Q(1, L))
    assert gap == limit if L == 1 else gap < limit
    nearly = at_rest(resting(L, Q(1, 10**6)), (Q(1, 2), Q(1, 2), Q(0)))
    close = nearly[4] * (nearly[3] - nearly[2]) / (nearly[2] + Q(1, L))
    assert nearly[0] > Q(9999, 10000) * close


def changed(claim, **terms):
    return replace(
        claim, terms={**claim.terms, **{name: claim.terms[name] * factor for name, factor in terms.items()}}
    )


def test_a_smaller_error_term_is_refuted():
    instance = resting(2, T=400)
    assert examine(instance, GAPS, REPAIRED).status is Status.HOLDS
    assert examine(instance, changed(GAPS, error=Q(24, 25)), REPAIRED).status is Status.REFUTED
    assert examine(instance, AVERAGED, REPAIRED).status is Status.HOLDS
