"""Generators: the dial from identical to extreme clients, the published moments, the same seed the same bits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbounds.errors import InputError
from fedbounds.problems.data.synthetic import federated_regression, quadratics, synthetic
from fedbounds.problems.quadratic import quadratic


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def ridge_gamma(data, ridge: float = 0.1) -> float:
    """Gamma of F_i = mean (x^T w - y)^2 / 2 + ridge ||w||^2 / 2, as sum_i p_i ||w* - w_i*||^2 in H_i / 2."""
    H = np.stack([x.T @ x / len(x) + ridge * np.eye(x.shape[1]) for x in data.features])
    g = np.stack([x.T @ y / len(y) for x, y in zip(data.features, data.targets, strict=True)])
    own = np.linalg.solve(H, g[..., None])[..., 0]
    shared = np.linalg.solve(np.tensordot(data.p, H, 1), data.p @ g)
    return float(data.p @ np.einsum("ij,ijk,ik->i", shared - own, H, shared - own) / 2)


def test_regression_at_zero_gives_all_clients_the_same_bits():
    data = federated_regression(5, 3, 20, 0.0, rng(4))
    assert all(np.array_equal(x, data.features[0]) for x in data.features)
    assert all(np.array_equal(y, data.targets[0]) for y in data.targets)
    assert np.std(data.features[0]) > 0.5 and np.array_equal(data.p, np.full(5, 0.2))


def test_regression_heterogeneity_grows_with_the_dial():
    gammas = [ridge_gamma(federated_regression(8, 4, 60, h, rng(7))) for h in (0.0, 1e-3, 0.1, 1.0, 10.0, 1e3, 1e6)]
    assert gammas[0] < 1e-25  # equal up to the rounding of the solves
    assert np.all(np.diff(gammas) > 0) and gammas[-1] > 1e6


def test_synthetic_has_the_published_moments():
    alpha, beta, clients, d = 2.0, 3.0, 400, 60
    data = synthetic(alpha, beta, clients, rng(2), sizes=[30] * clients)
    means = np.stack([x.mean(axis=0) for x in data.features])
    # Var of the client means over clients: beta^2 + 1 + Sigma_jj / n_i; the level B_k is common to the coordinates.
    assert abs(means.mean(axis=1).std() / beta - 1) < 0.15
    within = np.var(means - means.mean(axis=1, keepdims=True)) * d / (d - 1)
    assert abs(within - 1) < 0.05
    pooled = np.mean([x.var(axis=0, ddof=1) for x in data.features], axis=0)
    assert np.allclose(pooled, np.arange(1, d + 1) ** -1.2, rtol=0.06)  # 11600 degrees of freedom: 4.5 sigma
    assert data.classes == tuple(range(10)) and all(y.max() < 10 for y in data.targets)


def test_quadratics_at_zero_are_one_function():
    q = quadratics(6, 5, 0.5, 8.0, 0.0, rng(1))
    assert all(
        np.array_equal(q.spectra[i], q.spectra[0]) and np.array_equal(q.minima[i], q.minima[0]) for i in range(6)
    )
    problem = quadratic(q.spectra, q.minima, q.p)
    assert float(problem.Gamma) == 0.0
    assert problem.mu == 0.5 and problem.L == 8.0


@settings(max_examples=50, deadline=None)
@given(
    st.integers(1, 6),
    st.integers(1, 5),
    st.floats(1e-6, 1e3),
    st.floats(1, 1e6),
    st.floats(0, 1e6),
    st.integers(0, 2**32 - 1),
    st.floats(0, 100),
)
def test_quadratic_spectra_lie_in_the_range_and_attain_it(clients, d, mu, ratio, h, seed, imbalance):
    q = quadratics(clients, d, mu, mu * ratio, h, rng(seed), noise_std=0.3, imbalance=imbalance)
    assert q.spectra.shape == q.minima.shape == (clients, d)
    assert q.spectra.min() == mu and (d == 1 or q.spectra.max() == mu * ratio) and q.spectra.max() <= mu * ratio
    assert q.p.shape == (clients,) and np.all(q.p > 0) and abs(q.p.sum() - 1) < 1e-12 and np.all(np.diff(q.p) <= 0)
    assert q.noise_std == 0.3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: federated_regression(0, 2, 5, 1.0, rng()), "clients must be at least 1"),
        (lambda: federated_regression(2, 2, 5, -1.0, rng()), "heterogeneity must lie in"),
        (lambda: synthetic(float("nan"), 0, 2, rng()), "alpha must lie in"),
        (lambda: synthetic(0, 0, 2, rng(), classes=1), "classes must be at least 2"),
        (lambda: quadratics(2, 2, 0.0, 1.0, 1.0, rng()), "0 < mu <= L"),
        (lambda: quadratics(2, 2, 2.0, 1.0, 1.0, rng()), "0 < mu <= L"),
        (lambda: quadratics(2, 2, 1.0, 2.0, 1.0, rng(), noise_std=-1), "noise_std must lie in"),
        (lambda: quadratics(2, 2, 1.0, 2.0, 1.0, rng(), imbalance=1e9), "power of the sizes"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(InputError, match=message):
        make()
