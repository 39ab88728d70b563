"""Whole numbers from shares: how many samples each client gets, of each label."""

from collections.abc import Sequence

import numpy as np

from fedbounds.errors import reject
from fedbounds.model.problem import Array, Indices

# 1000 clients at this power still have a positive smallest share (1e-300).
MAX_POWER = 100.0


def power_shares(clients: int, power: float) -> Array:
    """Shares (clients,) proportional to i^(-power), i = 1..clients, 0 <= power <= MAX_POWER."""
    if not 0 <= power <= MAX_POWER:
        raise reject(f"the power of the sizes must lie in [0, {MAX_POWER:g}]", str(power), "give for example 1.5")
    share = np.arange(1, clients + 1, dtype=float) ** -power
    return share / share.sum()


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
