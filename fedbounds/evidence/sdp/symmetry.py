"""What no exchange of clients with the same weights changes: a smaller programme, and its solution in the whole one.

A proof, or a worst case, averaged over all exchanges of clients with equal alpha_i and p_i is one again. Left are one
multiplier for the constraints that differ in the client alone, and by Schur's lemma a block of S for what clients
share and one a class of k >= 2 for how its clients differ, which stands k - 1 times (Gatermann and Parrilo, 2004).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbounds.evidence.sdp.program import Expression, Form, Program, Symbol

# A form that an exchange changes by less, relative to its largest number, is unchanged up to rounding.
SAME = 1e-9
Symbols = tuple[Symbol, ...]
# Kind, client and points of each constraint.
Kinds = tuple[tuple[str, int, str], ...]
Classes = tuple[tuple[int, ...], ...]
# Client -> the place of its vector among those of the basis.
Places = dict[int, int]


@dataclass(frozen=True)
class Exchange:
    """Coordinates, the columns of ``frame`` (n, n), in which an unchanged S is made of blocks.

    ``used`` (r,) are the columns of each block's first copy, ``twin`` (n,) says which of them a column repeats,
    ``block`` (n,) numbers the copies and ``parts`` (n,) counts them. ``orbit`` (m,) says to which multiplier a
    constraint belongs, the first of each being ``first`` (m',); all values are ``shared`` (q, q') times those left.
    A kind's mean is its first constraint, packed, times ``weight`` (m', K).
    """

    frame: NDArray[Any]
    block: NDArray[Any]
    twin: NDArray[Any]
    parts: NDArray[Any]
    used: NDArray[Any]
    orbit: NDArray[Any]
    first: NDArray[Any]
    shared: NDArray[Any]
    weight: NDArray[Any]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many columns each block has."""
        return _orbit_sizes(self.block[self.used])

    def packed(self, quad: NDArray[Any]) -> NDArray[Any]:
        """(..., n, n) -> (..., K): the blocks' triangles."""
        frame = self.frame[:, self.used]
        return triangles(frame.T @ quad @ frame, self.sizes)

    def rows(self, model: Program) -> tuple[NDArray[Any], NDArray[Any]]:
        """The mean constraint of each kind: packed (m', K), and of the values (m', q')."""
        return self.packed(model.quad[self.first]) * self.weight, model.lin[self.first] @ self.shared

    def multipliers(self, result: NDArray[Any]) -> NDArray[Any]:
        """(m',) -> (m,): each kind's in equal parts."""
        return np.asarray((result / np.bincount(self.orbit))[self.orbit])

    def gram(self, packed: NDArray[Any]) -> NDArray[Any]:
        """(K,) -> (n, n): the multiplier of S >= 0, in equal parts too."""
        rows, columns, root = corners(self.sizes)
        small = np.zeros((len(self.used),) * 2)
        small[rows, columns] = small[columns, rows] = packed / root
        return np.asarray(self.frame @ (self._every(small) / self.parts) @ self.frame.T)

    def keep(self, forms: Sequence[Form]) -> bool:
        """Whether exchanges leave all forms as they are."""
        quad = self.frame.T @ np.stack([form.quad for form in forms]) @ self.frame
        lin = np.stack([form.lin for form in forms])
        changed = quad - self._every(quad[:, self.used[:, None], self.used])
        parted = lin - (lin @ self.shared / self.shared.sum(axis=0)) @ self.shared.T
        return bool((_largest(changed, parted) <= SAME * _largest(quad, lin)).all())

    def _every(self, small: NDArray[Any]) -> NDArray[Any]:
        """All copies of the blocks of matrices (..., r, r), and nothing beside them: (..., n, n)."""
        return np.asarray(small[..., self.twin[:, None], self.twin] * (self.block[:, None] == self.block))


def _largest(quad: NDArray[Any], lin: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(np.maximum(np.abs(quad).max(axis=(1, 2)), np.abs(lin).max(axis=1, initial=0.0)))


def _orbit_sizes(block: NDArray[Any]) -> tuple[int, ...]:
    return tuple(np.unique(block, return_counts=True)[1].tolist())


def triangles(quad: NDArray[Any], sizes: tuple[int, ...]) -> NDArray[Any]:
    """The blocks' upper triangles by columns, what is off the diagonal times sqrt(2): (..., r, r) -> (..., K)."""
    rows, columns, root = corners(sizes)
    return np.asarray(quad[..., rows, columns] * root)


@lru_cache(maxsize=64)
def corners(sizes: tuple[int, ...]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """(rows, columns, factors) of the entries of `triangles`."""
    pairs = [np.tril_indices(size) for size in sizes]
    starts = np.cumsum((0, *sizes[:-1]))
    columns, rows = (np.concatenate([pair[k] + at for pair, at in zip(pairs, starts, strict=True)]) for k in (0, 1))
    return rows, columns, np.where(rows == columns, 1.0, np.sqrt(2))


def exchange(model: Program, *used: Expression, any_client: bool = True) -> Exchange:
    """The exchanges that leave the class and what is ``used`` as they are: none where one of them is changed."""
    if model.apart:
        return of_blocks(model)
    classes = dict[Any, list[int]]()
    for i, weights in enumerate(model.weights):
        classes.setdefault(weights if any_client else i, []).append(i)
    kinds = tuple(constraint[:3] for constraint in model.constraints)
    alpha, p = zip(*model.weights, strict=True)
    given = (alpha, p, model.vectors, model.values, kinds)
    result = coordinates(*given, tuple(map(tuple, classes.values())))
    forms = [model.form(item) for item in used]
    return result if not forms or result.keep(forms) else exchange(model, any_client=False)


def of_blocks(model: Program) -> Exchange:
    """No exchange: the blocks are those of the vectors' letters."""
    n, m, q = len(model.vectors), len(model.constraints), len(model.values)
    block = np.zeros(n, dtype=int)
    for k, indices in enumerate(model.blocks):
        block[indices] = k
    sizes = np.bincount(block)
    weight = np.ones((m, int((sizes * (sizes + 1)).sum()) // 2))
    return Exchange(
        np.eye(n), block, np.arange(n), np.ones(n), np.arange(n), np.arange(m), np.arange(m), np.eye(q), weight
    )


@lru_cache(maxsize=64)
def coordinates(alpha: Any, p: Any, vectors: Symbols, values: Symbols, kinds: Kinds, classes: Classes) -> Exchange:
    """The exchanges within ``classes``: once for all settings of the same clients and points."""
    head = {i: members[0] for members in classes for i in members}

    frame, block, twin, parts = _frame(alpha, p, vectors, classes)
    used = np.unique(twin)
    sought, alike = ([(a, head.get(i, i), b) for a, i, b in given] for given in (kinds, values))
    orbits = list(dict.fromkeys(sought))
    # Two clients of a class of k differ in its first copy: constraints of the others vanish there.
    share = np.where(block > 0, 2 / (parts + 1), 1.0)[used]
    rows = corners(_orbit_sizes(block[used]))[0]
    return Exchange(
        frame,
        block,
        np.searchsorted(used, twin),
        parts,
        used,
        np.array([orbits.index(item) for item in sought]),
        np.array([sought.index(orbit) for orbit in orbits]),
        np.array([[float(item == other) for other in dict.fromkeys(alike)] for item in alike]),
        np.array([share[rows] if i >= 0 else np.ones(len(rows)) for _, i, _ in orbits]),
    )


def _frame(alpha: Any, p: Any, vectors: Symbols, classes: Classes) -> list[NDArray[Any]]:
    """The ``frame``, ``block``, ``twin`` (among all columns) and ``parts`` of an exchange."""
    n, kinds, columns = len(vectors), dict[tuple[str, int], Places](), list[NDArray[Any]]()
    for place, (letter, client, step) in enumerate(vectors):
        if client < 0:
            columns.append(np.eye(n)[place])
        else:
            kinds.setdefault((letter, step), {})[client] = place
    for (letter, _), indices in kinds.items():
        columns += _shared(n, indices, alpha if letter == "y" else p, classes)
    block, twin, parts = [0] * len(columns), list(range(len(columns))), [1] * len(columns)
    for c, members in enumerate(classes, 1):
        begin = len(columns)
        for d in range(1, len(members)):
            # Client d against the mean of those before it: orthonormal.
            vector = dict(zip(members, np.array([1.0] * d + [-d]) / np.sqrt(d * (d + 1)), strict=False))
            columns += [_column(n, indices, vector) for indices in kinds.values()]
            block += [c + len(classes) * (d - 1)] * len(kinds)
            twin += range(begin, begin + len(kinds))
            parts += [len(members) - 1] * len(kinds)
    return [np.stack(columns, axis=1), *map(np.array, (block, twin, parts))]


def _shared(n: int, indices: Places, weights: Any, classes: Classes) -> list[NDArray[Any]]:
    """The vectors in which the clients of every class agree, of one kind: a column a class."""
    # One client's may be substituted, as their weighted sum is 0: sum_i p_i s_i or sum_i alpha_i y_i.
    last = next((members for members in classes if not indices.keys() >= set(members)), ())
    columns = []
    for members in classes:
        if members != last:
            entry, whole = len(members) ** -0.5, sum(weights[i] for i in members)
            paid = -entry * float(whole / sum(weights[i] for i in last)) if last else 0.0
            columns.append(_column(n, indices, dict.fromkeys(members, entry) | dict.fromkeys(last, paid)))
    return columns


def _column(n: int, indices: Places, values: dict[int, Any]) -> NDArray[Any]:
    column = np.zeros(n)
    for i in indices.keys() & values.keys():
        column[indices[i]] = values[i]
    return column
