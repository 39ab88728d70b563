"""Who holds which training images: counts, shares and skew of the vision path's split, and its failures."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbounds.errors import InputError
from fedbounds.vision import images

# Ten labels in unequal amounts, shuffled: 1255 images.
LABELS = np.random.default_rng(7).permutation(
    np.repeat(np.arange(10), [80, 95, 110, 125, 140, 155, 170, 185, 100, 95])
)
SHARES = np.bincount(LABELS) / len(LABELS)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def counts(parts) -> np.ndarray:
    return np.array([np.bincount(LABELS[part], minlength=10) for part in parts])


@given(
    clients=st.integers(1, 30),
    samples=st.integers(8, 40),
    text=st.sampled_from(
        ["iid", "stratified", "stratified:1", "shards:8", "shards:8,even", "dirichlet:0.5", "power:1"]
    ),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_split_has_the_mean_size_and_the_shares_of_the_whole(clients, samples, text, seed):
    parts = images.client_indices(LABELS, text, clients, samples, rng(seed))
    together = np.concatenate(parts)
    assert len(parts) == clients and all(len(part) and part.dtype == np.int64 for part in parts)
    assert len(together) == clients * samples == len(np.unique(together))
    assert np.all(np.abs(counts(parts).sum(axis=0) - clients * samples * SHARES) < 1)
    again = images.client_indices(LABELS, text, clients, samples, rng(seed))
    assert all(np.array_equal(a, b) for a, b in zip(parts, again, strict=True))


def test_plain_shards_are_the_papers_unbalanced_ones():
    plain, dealt, even = (
        images.client_indices(LABELS, text, 4, 180, rng(3))
        for text in ("shards:60", "shards:60,unbalanced", "shards:60,even")
    )
    assert all(np.array_equal(a, b) for a, b in zip(plain, dealt, strict=True))
    assert [len(part) for part in even] == [180] * 4
    assert [len(part) for part in plain] != [180] * 4 and all(len(part) % 60 == 0 for part in plain)
    # Labels have 46 to 106 images here, so 60 in a row touch three at most.
    assert np.all((counts(plain) > 0).sum(axis=1) <= 3 * np.array([len(part) // 60 for part in plain]))


@pytest.mark.parametrize(
    ("text", "spelling"),
    [
        ("shards:60", "shards:60,unbalanced"),
        ("shards:060", "shards:60,unbalanced"),
        ("shards:60,even", "shards:60,even"),
        ("shards:60,unbalanced", "shards:60,unbalanced"),
        ("iid", "iid"),
        ("stratified:1.5", "stratified:1.5"),
    ],
)
def test_results_record_how_shards_were_dealt(text, spelling):
    assert images.canonical(text) == spelling
    assert images.canonical(spelling) == spelling


@pytest.mark.parametrize(
    ("text", "clients", "samples", "message"),
    [
        ("iid", 50, 200, "50 clients of 200 images on average need 10000 training images, but received a training "
         "set of 1255: use at most 25 samples a client"),
        ("iid", 2000, 1, "but received a training set of 1255: use at most 1255 clients"),
        ("identical", 4, 2000, "use at most 1255 samples a client"),
        ("shards:60", 30, 40, "1200 samples make 20 shards of 60, but received 30 clients: use at most 20"),
        ("iid", 0, 5, "at least 1, but received 0 and 5"),
        ("iid", 5, 0, "at least 1, but received 5 and 0"),
        ("stratfied", 5, 10, "did you mean 'stratified'"),
        ("shards:0", 5, 10, "shard size must be at least 1"),
    ],
)  # fmt: skip
def test_splits_that_cannot_be(text, clients, samples, message):
    with pytest.raises(InputError, match=message) as caught:
        images.client_indices(LABELS, text, clients, samples, rng())
    assert "\n" not in str(caught.value)
