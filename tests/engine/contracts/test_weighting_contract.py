"""The battery over weightings: rules that lie about themselves are refused with the gaps that show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problem_zoo import ZOO

import fedbounds
from fedbounds.errors import InputError
from fedbounds.model.weighting import Weighting
from fedbounds.testing import check_weighting
from fedbounds.weightings.fedsoftmax import FedSoftMax

PROBLEM = ZOO["quadratic"](0)


@dataclass(frozen=True)
class Rule(Weighting):
    """A weighting of one's own that does what ``act(p, excess, round, stream)`` does."""

    act: object = None
    name: ClassVar[str] = "mine"

    def __call__(self, p, excess, round, stream):
        return self.act(p, excess, round, stream)


class Constant(Rule):
    depends_on_w: ClassVar[bool] = False


class Plain(Constant):
    returns_p: ClassVar[bool] = True


class Random(Rule):
    random: ClassVar[bool] = True


def soft(p, e, *_):
    return FedSoftMax(1.0)(p, e, 0, None)


def plain(p, e, *_):
    return np.broadcast_to(p, e.shape).copy()


def editing(p, e, *_):
    e -= e.min()
    return soft(p, e)


def drawn(p, e, r, stream):
    weights = p * (0.5 + stream.uniform(e.shape[1]))
    return weights / weights.sum(-1, keepdims=True)


def globally_drawn(p, e, *_):
    weights = p * (0.5 + np.random.random(e.shape))  # noqa: NPY002
    return weights / weights.sum(-1, keepdims=True)


def seldom_drawn(p, e, r, stream):
    if r == 100:
        np.random.random()  # noqa: NPY002
    return plain(p, e)


COUNT = []


def counting(p, e, *_):
    COUNT.append(0)
    return plain(p, e) if len(COUNT) % 2 else np.roll(plain(p, e), 1, axis=-1)


def across(p, e, *_):
    return soft(p, e - e.mean(axis=0))


LIES = {
    "negative": (Rule(lambda p, e, r, s: plain(p, e) * [2, -1, 1, 1]), "non-negative"),
    "sum": (Rule(lambda p, e, r, s: plain(p, e) * 0.9), "sum 0.9"),
    "shape": (Rule(lambda p, e, r, s: p[0]), "shape"),
    "nan": (Rule(lambda p, e, r, s: e / e.sum(-1, keepdims=True)), "nan"),
    "overflow": (Rule(lambda p, e, r, s: np.exp(e) / np.exp(e).sum(-1, keepdims=True)), "nan"),
    "depends on w": (Constant(soft), "depends_on_w = False"),
    "returns p": (Plain(lambda p, e, *_: np.roll(plain(p, e), 1, axis=-1)), "under returns_p = True"),
    "returns p, one absent": (
        Plain(lambda p, e, *_: plain(p, e) if (p > 0).all() else plain(np.eye(4)[p[0].argmax()], e)),
        "absent under returns_p = True",
    ),
    "random": (Rule(drawn), "random = False"),
    "edits": (Rule(editing), "arguments that it changes"),
    "global generator": (Rule(globally_drawn), "draw from stream.uniform"),
    "global generator, random": (Random(globally_drawn), "draw from stream.uniform"),
    "global generator, seldom": (Rule(seldom_drawn), "a global generator that it moves"),
    "state": (Rule(counting), "keep no state"),
    "rows": (Rule(across), "change with the others"),
    "absent": (Rule(lambda p, e, r, s: np.where(e < 0, np.nan, plain(p, e))), "absent"),
    "raises": (Rule(lambda p, e, r, s: 1 / 0), "ZeroDivisionError"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_rule_that_lies_is_refused_in_one_sentence(lie):
    rule, word = LIES[lie]
    with pytest.raises(InputError, match="weighting mine must keep") as refused:
        check_weighting(rule, PROBLEM)
    assert word in str(refused.value) and "\n" not in str(refused.value)


def turning(p, e, r, _):
    return np.roll(plain(p, e), r, axis=-1)


@pytest.mark.parametrize(
    "rule", [Rule(soft), Rule(plain), Constant(plain), Constant(turning), Plain(plain), Random(drawn), soft]
)
def test_a_rule_that_keeps_its_word_is_let_through(rule):
    assert len(check_weighting(rule)) == 4


@settings(max_examples=20)
@given(st.floats(-8, 0), st.integers(0, 3))
def test_weights_off_the_simplex_are_found_to_a_billionth(exponent, client):
    def off(p, e, *_):
        alpha = plain(p, e)
        alpha[:, client] += 2e-9 + 10**exponent
        return alpha

    with pytest.raises(InputError):
        check_weighting(off, PROBLEM)


def test_a_study_refuses_a_weighting_that_lies():
    with pytest.raises(InputError, match="say depends_on_w = True"):
        fedbounds.check(PROBLEM, weightings=[Constant(soft)], claims=["theorem-1"], rounds=2, replicates=2, batch=1)
