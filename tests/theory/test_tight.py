"""Constants that are called exact: attained by instances in fractions, refuted where smaller, exceeded by no run."""

from dataclasses import replace
from fractions import Fraction as Q

import pytest
import sympy as sp

from fedbounds.evidence.exact.compare import examine
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.plugins import claim_named
from fedbounds.theory.quantity import largest, measured
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import Delta_T, T, gamma, gap_sum, gone_sq, mu, parting, rho_bar
from fedbounds.theory.verdict import Status

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
    p, fixed = [str(small), str(small), str(1 - 2 * small)], [["1/2", "1/2", 0]]
    data = {"curvatures": [1, 1, L], "minima": [1, -1, 1], "p": p, "w0": [0], "eta": steps(1, L, T)}
    return from_json({**data, "weighting": "fixed", "weights": fixed})


def test_a_smaller_error_term_is_refuted():
    instance, less = resting(2, T=400), {**GAPS.terms, "error": Q(24, 25) * GAPS.terms["error"]}
    assert examine(instance, GAPS, REPAIRED).status is Status.HOLDS
    assert examine(instance, replace(GAPS, terms=less), REPAIRED).status is Status.REFUTED
    assert examine(instance, AVERAGED, REPAIRED).status is Status.HOLDS
