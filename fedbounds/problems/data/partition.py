"""Who holds which samples: index arrays, one a client, from IID to one-class clients.

Every partition is a tuple of ``clients`` sorted int64 index arrays, disjoint and non-empty, that together hold
every sample once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import reject
from fedbounds.model.problem import Array, Indices
from fedbounds.plugins import nearest
from fedbounds.problems.data.dataset import Dataset


def apportion(n: int, share: Array) -> Indices:
    """n whole samples by largest remainder: one for each client first, the others by ``share`` (sums to 1)."""
    exact = (n - len(share)) * np.asarray(share, dtype=float)
    counts = np.floor(exact).astype(np.int64)
    missing = n - len(share) - int(counts.sum())  # between 0 and len(share): floors lose less than 1 each
    counts[np.argsort(counts - exact, kind="stable")[:missing]] += 1
    return counts + 1


def proportional(
    rows: Sequence[int] | Indices, columns: Sequence[int] | Indices, rng: np.random.Generator
) -> Indices:
    """A whole table (R, K) with these row and column sums (n each), every entry within 1 of rows_i columns_k / n.

    What is left above the floors is a flow from rows to columns with capacity 1, hence a whole one exists (Cox, 1987,
    "A constructive procedure for unbiased controlled rounding"). Rows and columns are shuffled first.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import maximum_flow

    rows, columns = np.asarray(rows, dtype=np.int64), np.asarray(columns, dtype=np.int64)
    n, high, wide = int(rows.sum()), len(rows), len(columns)
    counts, rest = np.divmod(rows[:, None] * columns, n)
    i, k = np.nonzero(rest)
    row, column = 1 + rng.permutation(high), 1 + high + rng.permutation(wide)
    sink = 1 + high + wide
    start = np.concatenate([np.zeros(high, dtype=np.int64), row[i], column]).astype(np.int32)
    end = np.concatenate([row, column[k], np.full(wide, sink)]).astype(np.int32)
    capacities = np.concatenate(
        [rows - counts.sum(axis=1), np.ones(len(i), dtype=np.int64), columns - counts.sum(axis=0)]
    )
    graph = coo_array((capacities.astype(np.int32), (start, end)), shape=(sink + 1, sink + 1)).tocsr()
    flow = maximum_flow(graph, 0, sink).flow.tocsr()
    return counts + flow[row][:, column].toarray()


Parts = tuple[Indices, ...]

# Real-valued targets have no labels: label skew then acts on this many bins of equal probability.
QUANTILE_BINS = 10
# Dirichlet proportions overflow or lose all meaning beyond these; both ends are already extreme.
CONCENTRATION_RANGE = (1e-6, 1e6)
# How shards reach the clients: in turn (the default), or each to a random client once everyone has one.
DEALINGS = ("even", "unbalanced")


def iid(n: int, clients: int, rng: np.random.Generator) -> Parts:
    """n shuffled samples in equal parts: sizes differ by at most one."""
    _check_clients(clients, n)
    return _tidy(np.array_split(rng.permutation(n), clients))


def stratified(labels: NDArray, clients: int, rng: np.random.Generator) -> Parts:
    """Every client has the label shares of the whole: |c_ik - n_i m_k / n| < 1 for m_k samples of label k.

    The sizes n_i are equal to within one; which of a label's samples is random.
    Source: the paper's IID framework, "an identical label distribution over the clients".
    """
    labels = np.asarray(labels)
    _check_clients(clients, len(labels))
    sizes = apportion(len(labels), np.full(clients, 1 / clients))
    return by_counts(labels, proportional(sizes, np.unique(labels, return_counts=True)[1], rng), rng)


def shards(
    labels: NDArray, clients: int, shard_size: int, rng: np.random.Generator, unbalanced: bool = False
) -> Parts:
    """Sort by label (ties at random), cut into shards of ``shard_size``, deal them at random in turn.

    The last shard holds what remains, and where the number of shards is not a multiple of ``clients`` some
    clients hold one more. Source: McMahan et al. (2017), section 3, there with two shards a client.
    ``unbalanced`` gives every client one shard and each of the others to a client drawn uniformly: our reading
    of the paper's non-IID framework ("unbalanced", and "each client has at least one shard").
    """
    n = len(labels)
    _check_clients(clients, n)
    if shard_size < 1:
        raise reject("the shard size must be at least 1", str(shard_size), "give the samples of a shard")
    count = -(-n // shard_size)
    if clients > count:
        raise reject(
            f"every client needs a shard, and {n} samples make {count} shards of {shard_size}",
            f"{clients} clients",
            f"use at most {count} clients or shards of at most {n // clients} samples",
        )
    order = rng.permutation(n)
    order = order[np.argsort(np.asarray(labels)[order], kind="stable")]
    shard_rows = np.split(order, np.arange(shard_size, n, shard_size))
    dealt = rng.permutation(count)
    owner = np.arange(count) % clients
    if unbalanced:
        owner[clients:] = rng.integers(clients, size=count - clients)
    return _tidy([np.concatenate([shard_rows[k] for k in dealt[owner == i]]) for i in range(clients)])


def dirichlet(labels: NDArray, clients: int, concentration: float, rng: np.random.Generator) -> Parts:
    """Each label's samples go to the clients in proportions ~ Dirichlet(concentration, ..., concentration).

    Small concentrations give clients few labels, large ones approach IID. Clients left with nothing get a
    random sample of the largest client (not redrawn: at strong skew no draw would pass).
    Source: Yurochkin et al. (2019), as in Li et al. (2022), "Federated learning on non-IID data silos".
    """
    labels = np.asarray(labels)
    _check_clients(clients, len(labels))
    _check_concentration(concentration)
    held: list[list[Indices]] = [[] for _ in range(clients)]
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        share = rng.dirichlet(np.full(clients, concentration))
        cuts = np.rint(np.cumsum(share)[:-1] * len(members)).astype(np.int64)
        for i, piece in enumerate(np.split(members, cuts)):
            held[i].append(piece)
    parts = [np.concatenate(rows) for rows in held]
    while min(sizes := [len(part) for part in parts]) == 0:
        poor, rich = sizes.index(0), sizes.index(max(sizes))
        mixed = rng.permutation(parts[rich])
        parts[poor], parts[rich] = mixed[:1], mixed[1:]
    return _tidy(parts)


def quantity(n: int, clients: int, concentration: float, rng: np.random.Generator) -> Parts:
    """IID samples in unequal amounts: n_i ~ n Dirichlet(concentration, ..., concentration), at least 1.

    Small concentrations give a few clients nearly everything. Source: Li et al. (2022), quantity skew.
    """
    _check_clients(clients, n)
    _check_concentration(concentration)
    sizes = apportion(n, rng.dirichlet(np.full(clients, concentration)))
    return _tidy(np.split(rng.permutation(n), np.cumsum(sizes)[:-1]))


def by_counts(labels: NDArray, counts: Indices, rng: np.random.Generator) -> Parts:
    """Client i holds ``counts[i, k]`` random samples of the k-th sorted label; the others stay out."""
    columns = []
    for k, label in enumerate(np.unique(labels)):
        members = rng.permutation(np.flatnonzero(labels == label))
        columns.append(np.split(members, np.cumsum(counts[:, k]))[:-1])
    return _tidy([np.concatenate([column[i] for column in columns]) for i in range(len(counts))])


def label_bins(dataset: Dataset) -> NDArray:
    """The labels a partition acts on (n,): classes, or for real targets the index of their quantile bin.

    Bins are (q_(k-1), q_k] for the QUANTILE_BINS-quantiles of the targets; equal targets share a bin.
    """
    if dataset.classes is not None:
        return dataset.targets
    edges = np.quantile(dataset.targets, np.arange(1, QUANTILE_BINS) / QUANTILE_BINS)
    return np.searchsorted(edges, dataset.targets, side="left")


@dataclass(frozen=True)
class Spec:
    """A partition by name, its parameter, the text it came from, and how shards are dealt."""

    kind: str
    text: str
    value: float = 0.0
    dealing: str = ""


_Maker = Callable[[Spec, NDArray, int, np.random.Generator], Parts]
# Each name, how it is written, and what it makes.
KINDS: dict[str, tuple[tuple[str, ...], _Maker]] = {
    "iid": (("iid",), lambda s, labels, N, rng: iid(len(labels), N, rng)),
    "stratified": (("stratified",), lambda s, labels, N, rng: stratified(labels, N, rng)),
    "shards": (
        ("shards:SIZE", *(f"shards:SIZE,{dealing}" for dealing in DEALINGS)),
        lambda s, labels, N, rng: shards(labels, N, int(s.value), rng, s.dealing == "unbalanced"),
    ),
    "dirichlet": (("dirichlet:CONCENTRATION",), lambda s, labels, N, rng: dirichlet(labels, N, s.value, rng)),
    "quantity": (("quantity:CONCENTRATION",), lambda s, labels, N, rng: quantity(len(labels), N, s.value, rng)),
}


def parse(text: str) -> Spec:
    """The partition named by ``iid``, ``stratified``, ``shards:60`` (``shards:60,even``, ``shards:60,unbalanced``),
    ``dirichlet:0.3`` or ``quantity:1.5``.
    """
    kind, colon, rest = text.partition(":")
    if kind not in KINDS:
        raise nearest("partition", kind, [form for forms, _ in KINDS.values() for form in forms])
    forms = KINDS[kind][0]
    rest, comma, dealing = rest.partition(",")
    if bool(colon) != (":" in forms[0]) or (comma and (kind != "shards" or dealing not in DEALINGS)):
        raise reject(f"partition {kind!r} has the form {' or '.join(forms)}", repr(text), "write it so")
    if not colon:
        return Spec(kind, text)
    try:
        value = int(rest) if kind == "shards" else float(rest)
    except ValueError:
        number = "a whole number" if kind == "shards" else "a number"
        raise reject(f"{forms[0]} needs {number}", repr(rest), f"for example {kind}:60") from None
    return Spec(kind, text, value, dealing)


def apply(spec: Spec, dataset: Dataset, clients: int, rng: np.random.Generator) -> Parts:
    """The index arrays of ``spec`` on ``dataset``; real targets take part through their quantile bins."""
    return deal(spec, label_bins(dataset), clients, rng)


def deal(spec: Spec, labels: NDArray, clients: int, rng: np.random.Generator) -> Parts:
    """The index arrays of ``spec`` on samples with these ``labels`` (n,)."""
    return KINDS[spec.kind][1](spec, labels, clients, rng)


def _check_clients(clients: int, n: int) -> None:
    if clients < 1:
        raise reject("a partition needs at least one client", f"{clients}", "give more")
    if clients > n:
        raise reject(f"{n} samples must give every client a sample", f"{clients} clients", "use fewer clients")


def _check_concentration(value: float) -> None:
    low, high = CONCENTRATION_RANGE
    if not low <= value <= high:
        raise reject(f"the concentration must lie in [{low:g}, {high:g}]", str(value), "small means more skew")


def _tidy(parts: Sequence[Indices]) -> Parts:
    # Order within a client has no meaning; sorted indices read memory in order and compare easily.
    return tuple(np.sort(part).astype(np.int64) for part in parts)
