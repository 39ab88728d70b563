"""Weightings: simplex, limits, ties, permutation, extreme temperatures, and clear refusals."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from problem_zoo import ZOO

from fedbounds.engine.simulate import simulate
from fedbounds.errors import InputError
from fedbounds.model.experiment import Experiment
from fedbounds.model.schedule import ConstantStep
from fedbounds.model.weighting import PlainRule, as_weighting, check_simplex
from fedbounds.plugins import weighting_named
from fedbounds.weightings.fedavg import FedAvg
from fedbounds.weightings.fedmax import TIE, FedMax, top_k
from fedbounds.weightings.fedsoftmax import FedSoftMax
from fedbounds.weightings.power_of_choice import PowerOfChoice
from fedbounds.weightings.uniform import Uniform


class Stream:
    """A round stream for tests, from a seeded generator."""

    def __init__(self, replicates, seed=0):
        self.replicates, self.rng = replicates, np.random.default_rng(seed)

    def uniform(self, count):
        return self.rng.random((self.replicates, count))


gaps = arrays(float, (5, 4), elements=st.floats(0, 1e6))
simplex = arrays(float, 4, elements=st.floats(0.01, 1)).map(lambda x: x / x.sum())


@settings(max_examples=30)
@given(p=simplex, e=gaps)
def test_softmax_limits_are_exact(p, e):
    hot = FedSoftMax(np.inf)(p, e, 0, Stream(5))
    np.testing.assert_array_equal(hot, np.broadcast_to(p, e.shape))
    cold = FedSoftMax(5e-324)(p, e, 0, Stream(5))
    restricted = p * (e == e.max(axis=1, keepdims=True))
    np.testing.assert_allclose(cold, restricted / restricted.sum(axis=1, keepdims=True), rtol=1e-14)
    single = (e >= (1 - 2 * TIE) * e.max(axis=1, keepdims=True)).sum(axis=1) == 1  # FedMax shares what is that close
    np.testing.assert_allclose(cold[single], FedMax()(p, e, 0, Stream(5))[single], rtol=1e-14)


@settings(max_examples=30)
@given(e=gaps, k=st.integers(1, 4), order=st.permutations(range(4)))
def test_fedmax_commutes_with_renaming_the_clients(e, k, order):
    p = np.full(4, 0.25)
    alpha = FedMax(k)(p, e, 0, Stream(5))
    np.testing.assert_allclose(FedMax(k)(p, e[:, order], 0, Stream(5)), alpha[:, order], atol=1e-15)


def test_the_plain_mean_shares_equally_among_those_present_and_exactly_in_fractions():
    p = np.array([[0.7, 0.0, 0.3], [0.2, 0.2, 0.6]])
    assert Uniform()(p, np.ones((2, 3)), 0, None).tolist() == [[0.5, 0.0, 0.5], [1 / 3] * 3]
    exact = np.array([Fraction(7, 10), Fraction(0), Fraction(3, 10)])
    assert Uniform()(exact, exact, 0, None).tolist() == [Fraction(1, 2), 0, Fraction(1, 2)]


def test_ties_are_shared():
    np.testing.assert_allclose(
        FedMax()(np.full(3, 1 / 3), np.array([[2.0, 2.0, 1.0]]), 0, Stream(1)), [[0.5, 0.5, 0]]
    )
    np.testing.assert_allclose(top_k(np.array([3.0, 2.0, 2.0, 1.0]), 2), [1, 0.5, 0.5, 0])
    np.testing.assert_allclose(top_k(np.array([3.0, -np.inf, -np.inf]), 2), [1, 0, 0])


@pytest.mark.parametrize("kind", ["binary", "multinomial"])
def test_power_of_choice_shares_the_losses_that_are_equal_but_for_rounding(kind):
    """At w = 0 every client's loss is log K, and F_i* + (F_i - F_i*) is off in its last digits."""
    problem = ZOO[kind](0)
    rule, p = PowerOfChoice(problem.N, 2).bind(problem), np.full((1, problem.N), 1 / problem.N)
    e = problem.excess(np.zeros((1, problem.d)))
    for off in np.random.default_rng(1).uniform(-1, 1, (50, 1, problem.N)):
        np.testing.assert_allclose(rule(p, e * (1 + 1e-13 * off), 0, Stream(1)), 1 / problem.N, rtol=1e-14)
    experiment = Experiment(problem, rule, ConstantStep(0.1), 1, 3, batch_size=None)
    ours, plain = (simulate(experiment.with_(engine=engine)).alpha for engine in ("kernels", "reference"))
    np.testing.assert_allclose(ours[:, 0], 1 / problem.N, rtol=1e-14)
    np.testing.assert_array_equal(ours, plain)


def test_losses_that_differ_visibly_are_no_tie_and_absent_clients_set_no_scale():
    np.testing.assert_array_equal(FedMax()(np.full(2, 0.5), np.array([[1.0, 1.0 + 1e-8]]), 0, Stream(1)), [[0, 1]])
    e = np.array([[1e-12, 3e-12, -1.0]])
    np.testing.assert_array_equal(FedMax()(np.array([0.5, 0.5, 0.0]), e, 0, Stream(1)), [[0, 1, 0]])


def test_power_of_choice_candidates_follow_p():
    p = np.array([0.7, 0.2, 0.1])
    alpha = PowerOfChoice(1, 1)(p, np.zeros((20000, 3)), 0, Stream(20000))
    np.testing.assert_allclose(alpha.mean(axis=0), p, atol=4 * np.sqrt(0.25 / 20000))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("fedsoftmax:0", "positive"),
        ("fedsoftmax:-1", "positive"),
        ("fedsoftmax:warm", "positive"),
        ("fedmax:0", "k >= 1"),
        ("fedmx", "did you mean 'fedmax'"),
        ("fixed:0.5,0.6", "sum 1.1"),
        ("power-of-choice:2,3", "1 <= M <= D"),
        ("fedavg:1", "no argument"),
    ],
)
def test_bad_weightings_are_refused_in_one_sentence(text, words):
    with pytest.raises(InputError, match=words.replace("(", r"\(")):
        weighting_named(text)


def test_weights_off_the_simplex_and_k_beyond_N_are_refused():
    for weights, words in (
        (np.array([[0.5, 0.6]]), "non-negative weights"),
        (np.array([0.5, 0.5]), "one row of weights"),
    ):
        with pytest.raises(InputError, match=words):
            check_simplex(np.array(weights), (1, 2), "mine")
    with pytest.raises(InputError, match="k = 9"):
        FedMax(9)(np.full(3, 1 / 3), np.ones((1, 3)), 0, Stream(1))


def test_bound_and_unbound_rules_have_one_name_but_not_one_ranking():
    problem = ZOO["quadratic"](1)
    rule = PowerOfChoice(4, 2)
    assert rule.bind(problem).name == rule.name and rule.bind(problem) != rule
    experiment = Experiment(problem, rule, ConstantStep(0.01), rounds=2, replicates=2)
    assert experiment.rule == rule.bind(problem)
    assert experiment.with_(seed=3).rule is experiment.rule
    assert experiment.with_(weighting=FedMax()).rule == FedMax()


def test_a_plain_callable_is_a_rule_without_randomness():
    def equal(p, excess, round, stream):
        return np.broadcast_to(p, excess.shape)

    rule = as_weighting(equal)
    assert rule.name == "equal" and isinstance(rule, PlainRule) and rule.depends_on_w and not rule.random
    with pytest.raises(InputError, match="random = True"):
        as_weighting(lambda p, excess, round, stream: stream.uniform(4))(np.full(4, 0.25), np.ones((1, 4)), 0, None)


def test_what_says_more_must_be_a_weighting():
    class Old:
        constant = True

        def __call__(self, p, excess, round, stream):
            return p

    for wrong in (Old(), FedAvg, "fedavg"):
        with pytest.raises(InputError, match="must be a Weighting or a plain callable"):
            as_weighting(wrong)
