"""What no exchange of clients with the same weights changes: a smaller programme, and its solution in the whole one.

A proof, or a worst case, averaged over all exchanges of clients with equal alpha_i and p_i is one again. Left are one
multiplier for the constraints that differ in the client alone, and by Schur's lemma a block of S for what clients
share and one a class of k >= 2 for how its clients differ, which stands k - 1 times (Gatermann and Parrilo, 2004).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbounds.evidence.sdp.program import Expression, Program

# A form that an exchange changes by less, relative to its largest number, is unchanged up to rounding.
SAME = 1e-9
# What has a client second: a vector or value, or a constraint's kind, client and points.
Named = tuple[Any, int, Any]
Classes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Exchange:
    """Blocks of an unchanged S, and which multipliers and values are one.

    Each of ``blocks`` (copies, n, r) has the columns in which S is that block, the same for every copy; ``orbits``
    are constraints with one multiplier; all values are ``shared`` (q, q') times those left.
    """

    blocks: tuple[NDArray[Any], ...]
    orbits: tuple[tuple[int, ...], ...]
    shared: NDArray[Any]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many columns each block has."""
        return tuple(block.shape[2] for block in self.blocks)

    def packed(self, quad: NDArray[Any]) -> NDArray[Any]:
        """(..., n, n) -> (..., K): the blocks' triangles."""
        return np.concatenate([triangles(V[0].T @ quad @ V[0], V.shape[2:]) for V in self.blocks], axis=-1)

    def rows(self, model: Program, expressions: Iterable[Expression]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Unchanged expressions, or sums of what one exchange makes of another: packed (k, K), and values (k, q')."""
        quad, lin = map(np.stack, zip(*map(model.form, expressions), strict=True))
        return self.packed(quad), lin @ self.shared

    def sums(self, model: Program) -> list[Expression]:
        """The sum of the constraints of each orbit."""
        several = ([model.constraints[j].expression for j in orbit] for orbit in self.orbits)
        return [Expression.mean([1] * len(rows), rows) for rows in several]

    def multipliers(self, result: NDArray[Any]) -> NDArray[Any]:
        """(m',) -> (m,): those of the constraints, from those of the sums."""
        every = np.empty(sum(map(len, self.orbits)))
        for value, orbit in zip(result, self.orbits, strict=True):
            every[list(orbit)] = value
        return every

    def gram(self, packed: NDArray[Any]) -> NDArray[Any]:
        """(K,) -> (n, n): the multiplier of S >= 0, in equal parts for the copies of a block."""
        parts = np.split(packed, np.cumsum([size * (size + 1) // 2 for size in self.sizes])[:-1])
        whole = np.zeros((self.blocks[0].shape[1],) * 2)
        for V, part in zip(self.blocks, parts, strict=True):
            rows, columns, root = corners(V.shape[2:])
            small = np.zeros(V.shape[2:] * 2)
            small[rows, columns] = small[columns, rows] = part / root
            whole += (V @ small @ V.transpose(0, 2, 1)).mean(axis=0)
        return whole

    def keep(self, model: Program, expressions: Sequence[Expression]) -> bool:
        """Whether exchanges leave all expressions as they are."""
        from scipy.linalg import block_diag

        frame = np.concatenate([copy for V in self.blocks for copy in V], axis=1)
        for quad, lin in map(model.form, expressions):
            turned = frame.T @ quad @ frame
            same = block_diag(*(V[0].T @ quad @ V[0] for V in self.blocks for _ in V))
            parted = lin - self.shared @ (lin @ self.shared / self.shared.sum(axis=0))
            largest, changed = (
                max(np.abs(pair[0]).max(), np.abs(pair[1]).max(initial=0.0))
                for pair in ((turned, lin), (turned - same, parted))
            )
            if changed > SAME * largest:
                return False
        return True


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
    """The exchanges that leave the class and what is ``used`` as they are: none where one of them is changed.

    Of a programme whose vectors are apart, the blocks are those of their letters.
    """
    if model.apart:
        unit, single = np.eye(len(model.vectors)), tuple((j,) for j in range(len(model.constraints)))
        return Exchange(tuple(unit[None, :, part] for part in model.blocks), single, np.eye(len(model.values)))
    classes = dict[Any, list[int]]()
    for i, weights in enumerate(model.weights):
        classes.setdefault(weights if any_client else i, []).append(i)
    named = model.vectors, model.values, tuple(constraint[:3] for constraint in model.constraints)
    result = coordinates(model.weights, *named, tuple(map(tuple, classes.values())))
    return result if result.keep(model, used) else exchange(model, any_client=False)


@lru_cache(maxsize=64)
def coordinates(weights: Any, vectors: Any, values: Any, constraints: Any, classes: Classes) -> Exchange:
    """The exchanges within ``classes``: once for all settings of the same clients and points."""
    shared = np.zeros((len(values), len(alike := _orbits(values, classes))))
    for k, orbit in enumerate(alike):
        shared[list(orbit), k] = 1.0
    unit, several, alone = np.eye(len(vectors)), dict[Any, dict[int, Any]](), list[NDArray[Any]]()
    for column, (letter, client, step) in zip(unit, vectors, strict=True):
        if client < 0:
            alone.append(column)
        else:
            several.setdefault((letter, step), {})[client] = column
    for (letter, _), of_clients in several.items():
        # One client's may be substituted, as their weighted sum is 0: sum_i p_i s_i or sum_i alpha_i y_i.
        alone += _shared(of_clients, [pair[letter != "y"] for pair in weights], classes)
    blocks = [np.stack(alone, axis=1)[None]]
    for members in classes:
        copies = [
            np.stack([_sum(of_clients, vector) for of_clients in several.values()], axis=1)
            for vector in _differences(members)
        ]
        blocks += [np.stack(copies)] if copies else []
    return Exchange(tuple(blocks), _orbits(constraints, classes), shared)


def _orbits(items: Sequence[Named], classes: Classes) -> tuple[tuple[int, ...], ...]:
    """The places of what differs in the client alone."""
    head, result = {i: members[0] for members in classes for i in members}, dict[Any, list[int]]()
    for place, (kind, client, at) in enumerate(items):
        result.setdefault((kind, head.get(client, client), at), []).append(place)
    return tuple(map(tuple, result.values()))


def _differences(members: Sequence[int]) -> Iterator[dict[int, float]]:
    """Each client of a class against the mean of those before it: orthonormal."""
    for d in range(1, len(members)):
        yield dict(zip(members, np.array([1.0] * d + [-d]) / np.sqrt(d * (d + 1)), strict=False))


def _shared(of_clients: dict[int, Any], weights: Sequence[Any], classes: Classes) -> Iterator[NDArray[Any]]:
    """The vectors in which the clients of every class agree, of one kind: a column a class."""
    last = next((members for members in classes if not of_clients.keys() >= set(members)), ())
    for members in classes:
        if members != last:
            entry, whole = len(members) ** -0.5, sum(weights[i] for i in members)
            paid = -entry * float(whole / sum(weights[i] for i in last)) if last else 0.0
            yield _sum(of_clients, dict.fromkeys(members, entry) | dict.fromkeys(last, paid))


def _sum(of_clients: dict[int, Any], values: dict[int, float]) -> NDArray[Any]:
    columns = [values.get(i, 0.0) * column for i, column in of_clients.items()]
    return np.asarray(np.sum(columns, axis=0))
