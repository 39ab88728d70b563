"""The weights of the smallest bound: grids and closed forms as oracles for the linear programme."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbounds.engine.rng import HashedStream
from fedbounds.errors import InputError
from fedbounds.problems.quadratic import quadratic
from fedbounds.weightings.bound_optimal import best_weights, build, consistent_weights, own_cost

positive = st.floats(0.1, 5)


@settings(deadline=None)
@given(
    st.lists(st.lists(positive, min_size=3, max_size=3), min_size=1, max_size=4),
    st.lists(positive, min_size=3, max_size=3),
    st.floats(0.01, 100),
)
def test_no_weights_on_a_grid_beat_the_best(rows, c, price):
    r, c = np.array(rows), np.array(c)
    alpha = best_weights(r, c, price)
    assert alpha.min() >= 0 and alpha.sum() == pytest.approx(1)

    def cost(a):
        return (price + c @ a) / (r @ a).min()

    grid = [np.array([i, j, 12 - i - j]) / 12 for i, j in itertools.product(range(13), repeat=2) if i + j <= 12]
    assert cost(alpha) <= min(cost(a) for a in grid) * (1 + 1e-7)


def test_two_extremes_beat_the_crowd_when_speed_is_dear():
    """Clients at 2, 4 (p = 0.1 each) and 3: rho = (x^2 + 1)/(x^2 + 0.2) at distance x = w - 3, never below 1."""
    problem = quadratic(np.ones(1), np.array([[2.0], [4.0], [3.0]]), np.array([0.1, 0.1, 0.8]))
    dear = consistent_weights(problem, 100.0)
    assert dear.min() >= 0 and dear.sum() == pytest.approx(1)
    # Equal weights on the two cost (100 + 5)/(10/9.2) against 101 for p; the search must find as much.
    assert own_cost(problem, dear, 100.0)[0] <= own_cost(problem, np.array([0.5, 0.5, 0.0]), 100.0)[0]
    assert own_cost(problem, np.array([0.5, 0.5, 0.0]), 100.0)[0] == pytest.approx(105 / (10 / 9.2))


def test_bound_optimal_is_constant_and_renormalises_on_the_present():
    problem = quadratic(np.ones(1), np.array([[2.0], [4.0], [3.0]]), np.array([0.1, 0.1, 0.8]))
    rule = build("100").bind(problem)
    stream = HashedStream(0, range(2), 0)
    first = rule(problem.p, np.ones((2, 3)), 0, stream)
    np.testing.assert_array_equal(first, rule(problem.p, np.arange(6.0).reshape(2, 3), 4, stream))
    present = np.array([[0.5, 0.0, 0.5], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(rule(present, np.ones((2, 3)), 0, stream).sum(axis=1), 1)
    with pytest.raises(InputError, match="bind"):
        build(None)(problem.p, np.ones((2, 3)), 0, stream)


def test_identical_clients_leave_nothing_to_trade():
    same = quadratic(np.ones(2), np.ones((3, 2)))
    np.testing.assert_allclose(consistent_weights(same, 1.0), same.p)
