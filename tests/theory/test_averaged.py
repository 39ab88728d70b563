"""The sum of the gaps: its error term attained in fractions, and constants called exact refuted when smaller."""

from dataclasses import replace
from fractions import Fraction as Q

import pytest

from fedbounds.evidence.exact.compare import examine
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.plugins import claim_named
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import Delta_T, T, gamma, gap_sum, mu, rho_bar
from fedbounds.theory.verdict import Status

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
