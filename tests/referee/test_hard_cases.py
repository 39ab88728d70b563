"""Theorems that are hard to judge: they come out right, each by an instance in fractions."""

import numpy as np
import pytest
import sympy as sp

from fedbounds.evidence.exact.compare import examine
from fedbounds.referee import dimensions_and_limits
from fedbounds.referee.search import refute as search
from fedbounds.referee.search.family import families
from fedbounds.referee.search.populations import BUDGETS
from fedbounds.referee.trial import Outcome, try_claim
from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim
from fedbounds.theory.quantity import measured
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import Delta, Delta_0, Delta_next, L, T, eta, eta_0, mu
from fedbounds.theory.verdict import Status

PLAIN, SMALL = READINGS["plain"], BUDGETS["small"]
ALONE = (a.smooth, a.strongly_convex, a.full_gradients, a.one_client)
BENT = {"two-slope": families()["two-slope"]}


def draft(key, lhs, bound, *assumed, scope="step", **more):
    return Claim(key, key, "a draft", scope, lhs, {"bound": bound}, assumptions=assumed, **more)


def rises_of_slope(path):
    """2 F(w_t) - F(w_{t-1}) - F(w_{t+1}), where the curve bends down."""
    gap = path.losses.gap(path.w)
    return np.concatenate([gap[:1] * 0, 2 * gap[1:-1] - gap[:-2] - gap[2:]])


def curve(largest):
    """The values of gradient descent make a convex curve for steps up to so many 1/L."""
    bend = measured("bend", rises_of_slope, meaning="how far the curve bends down")
    return draft("convex-curve", bend, sp.Integer(0), *ALONE, eta=sp.Min(eta_0, largest / L))


def unequal_steps(path):
    """The squared distance to w* after t rounds in which client i takes 1 + (i mod 2) local steps."""
    losses, w, seen = path.losses, path.w[0], []
    steps = np.arange(len(losses.p)) % 2
    for k in range(len(path.eta) + 1):
        seen.append(((w - losses.w_star) ** 2).sum())
        eta = path.eta[min(k, len(path.eta) - 1)]
        once = w - eta * losses.grads(w)
        twice = once - eta * losses.grads(once)
        w = losses.p @ np.where(steps[:, None] == 1, twice, once)
    return np.array(seen)


def test_unequal_local_steps_tend_to_another_minimiser():
    apart = measured("apart", unequal_steps, meaning="||w_r - w*||^2 with unequal local steps")
    assumed = (a.smooth, a.strongly_convex, a.full_gradients, a.unbiased, a.one_local_step)
    claim = draft(
        "unequal", apart, (1 - eta_0 * mu) ** T * Delta_0, *assumed, scope="horizon", eta=sp.Min(eta_0, 1 / L)
    )
    violated = (item for item, violated in dimensions_and_limits.limit_cases.sweep(claim, PLAIN) if violated)
    assert examine(next(violated), claim, PLAIN).status is Status.REFUTED


def interrupted(instance, formula, violates, effort, so_far):
    so_far(instance)
    raise KeyboardInterrupt


def test_what_refutes_a_claim_outlives_an_interruption_while_it_is_made_smaller(monkeypatch):
    claim = draft("halved", Delta_next, (1 - eta * mu) * Delta / 2, *ALONE, eta=1 / (2 * L))
    monkeypatch.setattr(dimensions_and_limits, "shrink", interrupted)
    stopped = try_claim(claim)
    assert stopped.outcome is Outcome.FALSE and not stopped.finished and stopped.cut == ("sanity",)
    monkeypatch.setattr(search, "shrink", interrupted)
    so_far = []
    with pytest.raises(KeyboardInterrupt):
        search.refute(claim, PLAIN, SMALL, by_family=BENT, so_far=so_far.append)
    assert so_far[-1]().status is Status.REFUTED
