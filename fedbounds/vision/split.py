"""Which training images the clients hold: a subsample with the labels' shares, then a partition of it.

The partitions are those of ``fedbounds.problems.data.partition``, under the same names. ``stratified`` is the paper's
IID framework (an identical label distribution over the clients) and ``iid`` a random split, whose label shares only
agree on average. ``shards:60`` is the paper's non-IID framework and ``shards:100`` its very non-IID one: here the
dealing is unbalanced unless the text says ``shards:60,even``, because the paper's is.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import reject
from fedbounds.model.problem import Indices
from fedbounds.problems.data import partition
from fedbounds.problems.data.shares import proportional

PAPER_DEALING = "unbalanced"


def canonical(text: str) -> str:
    """The spelling of a partition that results record: shards always say how they are dealt."""
    return _parse(text).text


def client_indices(
    labels: NDArray, text: str, clients: int, samples: int, rng: np.random.Generator
) -> tuple[Indices, ...]:
    """The training images (sorted int64 indices into ``labels`` (n,)) of every client, disjoint and none empty.

    First clients * samples images are drawn, every label within one of its share, then these are partitioned, so
    that ``samples`` is the mean size. ``identical`` draws ``samples`` images, which all clients hold; ``hand``
    takes what its table says from all n, whatever ``samples`` is. Raises InputError for an unknown partition,
    more images than there are, and more clients than shards.
    """
    spec = _parse(text)
    labels = np.asarray(labels)
    if clients < 1 or samples < 1:
        raise reject(
            "clients and samples per client must be at least 1", f"{clients} and {samples}", "give more of them"
        )
    if spec.kind == "hand":
        return partition.deal(spec, labels, clients, rng)
    holders = 1 if spec.kind == "identical" else clients
    total, most = holders * samples, len(labels) // holders
    if total > len(labels):
        raise reject(
            f"{clients} clients of {samples} images on average need {total} training images",
            f"a training set of {len(labels)}",
            f"use at most {most} samples a client" if most else f"use at most {len(labels)} clients",
        )
    chosen = subsample(labels, total, rng)
    return tuple(chosen[part] for part in partition.deal(spec, labels[chosen], clients, rng))


def subsample(labels: NDArray, total: int, rng: np.random.Generator) -> Indices:
    """``total`` of the n samples at random, sorted, each label's count within 1 of total m_k / n."""
    labels = np.asarray(labels)
    if total == len(labels):
        return np.arange(total)
    available = np.unique(labels, return_counts=True)[1]
    counts = proportional([total, len(labels) - total], available, rng)
    return partition.by_hand(labels, counts[:1], rng)[0]


def _parse(text: str) -> partition.Spec:
    spec = partition.parse(text)
    if spec.kind != "shards":
        return spec
    dealing = spec.dealing or PAPER_DEALING
    return replace(spec, text=f"shards:{int(spec.value)},{dealing}", dealing=dealing)
