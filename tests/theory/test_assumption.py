"""Assumptions: a relation is written once, and every kind of evidence reads it."""

import pickle
from dataclasses import replace
from fractions import Fraction as F

import cloudpickle
import numpy as np
import pytest
import sympy as sp

from fedbounds import plugins
from fedbounds.evidence.assumption_checks import in_floats, in_fractions, penalty
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.plugins import claim_named
from fedbounds.referee.search.family import Shape, decode, dimension, families
from fedbounds.referee.search.populations import BUDGETS, OUTSIDE, objectives
from fedbounds.referee.search.refute import refute
from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.coverage import Span
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import Delta_0, Delta_T, L, eta, m, mu, sigma_sq, tau
from fedbounds.theory.verdict import Status

LITERAL = READINGS["literal"]
DIAGONAL = {"diagonal": families()["diagonal"]}
TINY = replace(BUDGETS["small"], generations=2, population=4, polish=5, shrink=1000)


@pytest.mark.parametrize("bad", [m > 0, eta >= 0, sp.true])
def test_a_relation_that_declared_signs_decide_is_refused(bad):
    with pytest.raises(ValueError, match="evaluate=False"):
        Assumption("positive", "m > 0", bad)


def test_what_is_no_relation_is_refused():
    with pytest.raises(TypeError, match="on_run"):
        Assumption("odd", "odd", lambda run: (True, ""))
    with pytest.raises(TypeError, match="made of"):
        Assumption("odd", "odd", sp.Ne(eta, L)).parts  # noqa: B018


@pytest.mark.parametrize(("step", "holds"), [(F(1, 4), True), (F(1, 2), True), (F(51, 100), False)])
def test_one_relation_says_the_same_in_floats_fractions_and_as_a_penalty(step, holds):
    half = Assumption("half", "eta <= 1/(2L)", sp.Le(2 * eta * L, 1), observed="2 eta L = {left:.4g}")
    exactly = {"eta": step, "L": F(1), "t": F(0)}
    floats = {name: np.array([[float(value)]]) for name, value in exactly.items()}
    assert in_fractions(half, [exactly]).holds is in_floats(half, floats).holds is holds
    assert (penalty([half], floats, 1)[0] == 0) is np.True_ or not holds
    assert in_fractions(half, [exactly]).observed == f"2 eta L = {float(2 * step):.4g}"
    assert in_fractions(half, [{"eta": step}]) is None and in_floats(half, {"eta": 1.0}) is None


def test_an_assumption_of_a_users_own_bounds_the_search():
    claim = replace(
        claim_named("lemma-2"), assumptions=(Assumption("mine", "eta <= 1/(10 L)", sp.Le(10 * eta * L, 1)),)
    )
    shape, diagonal = Shape("diagonal", 2, 1, 2, 1, "fedmax", "free"), families()["diagonal"]
    batch = decode(shape, diagonal, np.random.default_rng(0).random((200, dimension(shape, diagonal))), claim)
    outside = batch.eta.max(axis=1) * batch.losses.L > 0.1
    assert 0 < outside.sum() < 200
    assert ((objectives(claim, LITERAL, batch).values >= OUTSIDE) == outside).all()


def test_what_is_assumed_in_fractions_alone_is_looked_for():
    """One instance in twenty-five has curvatures so close: neither the families nor the search may miss them."""

    def mild(instance, values):
        return F(11, 10) * values["mu"] <= values["L"] <= F(19, 10) * values["mu"], "L/mu"

    claim = Claim(
        "halved", "", "", "horizon", Delta_T, {"halved": Delta_0 / 2},
        assumptions=(Assumption("mild", "1.1 <= L/mu <= 1.9", exactly=mild), a.small_steps), readings=("literal",),
    )  # fmt: skip
    verdict = refute(claim, LITERAL, TINY, by_family=DIAGONAL)
    assert verdict.status is Status.REFUTED
    instance = from_json(verdict.data["instance"])
    assert F(11, 10) <= instance.L / instance.mu <= F(19, 10)


@pytest.mark.parametrize(
    ("relation", "axis", "region"),
    [
        (sp.Le(tau, 3), "tau", Span(high=3)),
        (sp.Eq(tau, 1), "tau", Span(1, 1)),
        (sp.Le(eta * (L + mu), 2), "eta_L", Span(high=2)),
        (sp.Le(3 * eta * L, 1), "eta_L", Span(high=F(1, 3))),
        (sp.Eq(sigma_sq, 0), "gradients", frozenset({"full"})),
    ],
)
def test_a_claim_speaks_of_what_its_relations_allow(relation, axis, region):
    claim = replace(claim_named("lemma-1"), assumptions=(Assumption("mine", "", relation),))
    assert claim.coverage(LITERAL).axes == {axis: region}


@pytest.mark.parametrize("claim", [*plugins.claims().values()][::12], ids=lambda claim: claim.key)
def test_a_claim_is_the_same_in_another_process(claim):
    """Sympy decides a relation anew as it reads it: p_min > 0 of a positive symbol came back as True."""
    again = cloudpickle.loads(cloudpickle.dumps(claim))
    assert again.terms == claim.terms and cloudpickle.loads(cloudpickle.dumps(a.smooth)) is a.smooth
    for ours, theirs in zip(claim.assumptions, again.assumptions, strict=True):
        assert (ours.key, ours.parts) == (theirs.key, theirs.parts)
    own = replace(a.positive_p, key="own")
    assert pickle.loads(pickle.dumps(own)) == own
