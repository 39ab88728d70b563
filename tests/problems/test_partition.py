"""Partitions and generators: nothing lost, skew where it is asked for, the published moments, one clear sentence."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbounds.errors import InputError
from fedbounds.problems.data import partition
from fedbounds.problems.data.dataset import Dataset, split
from fedbounds.problems.data.synthetic import federated_regression, quadratics, synthetic
from fedbounds.problems.quadratic import quadratic

DIGITS = np.repeat(np.arange(10), 60)  # 600 samples, balanced


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def dataset(targets: np.ndarray, classification: bool = True) -> Dataset:
    classes = tuple(int(k) for k in np.unique(targets)) if classification else None
    return Dataset(np.ones((len(targets), 1)), targets, "made up", classes)


def assert_partition(parts, n: int, clients: int) -> None:
    assert len(parts) == clients
    assert all(len(part) > 0 and part.dtype == np.int64 for part in parts)
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(n))


def label_distance(labels: np.ndarray, parts) -> float:
    """Mean total variation between a client's label shares and the overall ones."""
    known = np.unique(labels)
    overall = np.array([(labels == k).mean() for k in known])
    shares = [np.array([(labels[part] == k).mean() for k in known]) for part in parts]
    return float(np.mean([np.abs(share - overall).sum() / 2 for share in shares]))


@settings(max_examples=30, deadline=None)
@given(
    labels=st.lists(st.integers(0, 4), min_size=1, max_size=80),
    share=st.floats(0, 1),
    text=st.sampled_from(["iid", "stratified", "shards", "dealt", "dirichlet", "quantity"]),
    dial=st.floats(-6, 6),
    seed=st.integers(0, 2**32 - 1),
    classification=st.booleans(),
)
def test_every_partition_is_a_partition(labels, share, text, dial, seed, classification):
    n = len(labels)
    clients = 1 + int(share * (n - 1))
    size = max(1, n // clients)
    special = {name: name for name in ("iid", "stratified")}
    special |= {"shards": f"shards:{size}", "dealt": f"shards:{size},unbalanced"}
    data = dataset(np.array(labels) * (1 if classification else 0.5), classification)
    spec = partition.parse(special.get(text, f"{text}:{10**dial}"))
    parts = partition.apply(spec, data, clients, rng(seed))
    assert_partition(parts, n, clients)
    assert sum(len(x) for x in split(data, parts).targets) == n
    again = partition.apply(spec, data, clients, rng(seed))
    assert all(np.array_equal(a, b) for a, b in zip(parts, again, strict=True))


def test_shards_as_in_mcmahan_et_al():
    labels = rng(3).permutation(DIGITS)
    parts = partition.shards(labels, 10, 30, rng())  # 20 shards: two a client, each of one label
    assert all(len(part) == 60 for part in parts)
    assert all(len(np.unique(labels[part])) <= 2 for part in parts)
    assert_partition(parts, 600, 10)


def test_dirichlet_skews_the_labels():
    skews = [label_distance(DIGITS, partition.dirichlet(DIGITS, 10, c, rng(5))) for c in (1e-6, 0.1, 1.0, 1e6)]
    assert skews[0] > skews[1] > skews[2] > skews[3]
    assert skews[0] > 0.7  # one owner a label; 0.9 would be one label a client
    assert skews[3] < 0.02
    assert label_distance(DIGITS, partition.iid(600, 10, rng())) < 0.3


def test_real_targets_are_binned_by_quantile():
    targets = rng(8).normal(size=500)
    bins = partition.label_bins(dataset(targets, classification=False))
    assert np.array_equal(np.unique(bins), np.arange(partition.QUANTILE_BINS))
    assert np.all(np.bincount(bins) == 50)
    order = np.argsort(targets)
    assert np.all(np.diff(bins[order]) >= 0)
    parts = partition.apply(partition.parse("shards:50"), dataset(targets, classification=False), 10, rng())
    means = np.sort([targets[part].mean() for part in parts])
    assert np.all(np.diff(means) > 0.1)  # each client sees another range of the target
    tied = partition.label_bins(dataset(np.array([0.0] * 90 + [1.0] * 10), classification=False))
    assert len(np.unique(tied[:90])) == 1 and tied[0] != tied[-1]


def test_parse_the_command_line():
    assert partition.parse("iid") == partition.Spec("iid", "iid")
    dealings = [partition.parse(f"shards:60{dealing}").dealing for dealing in ("", ",even", ",unbalanced")]
    assert partition.parse("shards:60").value == 60 and dealings == ["", "even", "unbalanced"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dirichlte:0.3", "did you mean 'dirichlet"),
        ("iid:3", "has the form iid, but received 'iid:3'"),
        ("shards", "has the form shards:SIZE"),
        ("shards:60,lopsided", "form shards:SIZE or shards:SIZE,even or shards:SIZE,unbalanced, but received"),
        ("quantity:1,even", "has the form quantity:CONCENTRATION"),
        ("shards:6.5", "SIZE needs a whole number, but received '6.5'"),
        ("dirichlet:lots", "CONCENTRATION needs a number"),
    ],
)  # fmt: skip
def test_parse_errors(text, message):
    with pytest.raises(InputError, match=message):
        partition.parse(text)


@pytest.mark.parametrize("text", ["stratified", "shards:1,unbalanced"])
def test_too_many_or_no_clients(text):
    data = dataset(np.array([0, 1, 0]))
    with pytest.raises(InputError, match="3 samples must give every client a sample, but received 4 clients"):
        partition.apply(partition.parse(text), data, 4, rng())
    with pytest.raises(InputError, match="at least one client"):
        partition.apply(partition.parse(text), data, 0, rng())


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


@settings(max_examples=25, deadline=None)
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
