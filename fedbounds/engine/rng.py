"""Counter-based random numbers: every draw is a hash of (seed, replicate, purpose, ...), so it has no order.

A key absorbs its words one by one, key <- mix64(key + (word + 1) GOLDEN), and draw j of a key is
mix64(key + (j + 1) GOLDEN), where mix64 is the finaliser of splitmix64 (Steele, Lea and Flood, 2014;
constants by Stafford). What a replicate draws depends on neither the number of replicates nor threads.
The compiled kernels repeat these functions on scalars (``kernel_draws``); tests hold them equal bit for bit.
"""

from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedbounds.model.problem import Array, Indices

Words = NDArray[np.uint64]

GOLDEN = 0x9E3779B97F4A7C15  # 2^64 / golden ratio, odd: the Weyl increment of splitmix64
MIX_1 = 0xBF58476D1CE4E5B9
MIX_2 = 0x94D049BB133111EB
UNIT = 2.0**-53  # a float64 holds 53 bits, so u >> 11 times this is uniform on the grid of [0, 1)

# Purposes keep the draws of local steps, weightings, participation and coins apart under one seed.
LOCAL_STEP, WEIGHTING, PARTICIPATION, COINS = 0, 1, 2, 3
MANY, FEW = 1000, 100


def mix64(z: Words) -> Words:
    """The splitmix64 finaliser, a bijection of 64-bit words, elementwise."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(MIX_1)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(MIX_2)
    return z ^ (z >> np.uint64(31))


def absorb(key: Words, word: ArrayLike) -> Words:
    """The key after one more word: mix64(key + (word + 1) GOLDEN); arrays broadcast."""
    steps = np.atleast_1d(np.asarray(word)).astype(np.uint64) + np.uint64(1)
    return mix64(np.atleast_1d(key) + steps * np.uint64(GOLDEN))


def draw(key: Words, count: int) -> Words:
    """``count`` 64-bit words of each key: (...,) -> (..., count)."""
    counters = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(GOLDEN)
    return mix64(key[..., None] + counters)


def replicate_keys(seed: int, replicates: Iterable[int], purpose: int) -> Words:
    """The key of each replicate for one purpose: (R,). Seeds of more than 64 bits are absorbed whole."""
    words = [int(seed) >> shift & (2**64 - 1) for shift in range(0, max(int(seed).bit_length(), 1), 64)]
    key = np.zeros(1, dtype=np.uint64)
    for word in (len(words), *words):  # the length first, so that no seed is the beginning of another
        key = absorb(key, np.uint64(word))
    return absorb(absorb(key, np.fromiter(replicates, dtype=np.uint64)), purpose)


def client_keys(seed: int, replicates: Iterable[int], N: int) -> Words:
    """The key of every client's local steps, (R, N); absorb the step t to draw from it."""
    return absorb(replicate_keys(seed, replicates, LOCAL_STEP)[:, None], np.arange(N)[None, :])


def uniforms(key: Words, count: int) -> Array:
    """``count`` numbers of U[0, 1) of each key: (...,) -> (..., count)."""
    return (draw(key, count) >> np.uint64(11)).astype(float) * UNIT


def indices(key: Words, sizes: Indices, count: int) -> Indices:
    """``count`` indices in [0, n) with replacement, floor(u n): (...,) -> (..., count); sizes broadcast to keys.

    The bias, at most n 2^-53 relative, is far below what any run can see.
    """
    return (uniforms(key, count) * np.asarray(sizes, dtype=float)[..., None]).astype(np.int64)


def distinct_indices(key: Words, sizes: Indices, count: int) -> Indices:
    """``count`` distinct indices in [0, n), every subset equally likely (Floyd's algorithm): (..., count)."""
    u = uniforms(key, count)
    first = np.broadcast_to(np.asarray(sizes, dtype=np.int64) - count, key.shape)
    chosen = np.empty((*key.shape, count), dtype=np.int64)
    for j in range(count):
        last = first + j
        candidate = (u[..., j] * (last + 1).astype(float)).astype(np.int64)
        taken = (chosen[..., :j] == candidate[..., None]).any(-1)
        chosen[..., j] = np.where(taken, last, candidate)
    return chosen


def normals(key: Words, count: int) -> Array:
    """``count`` standard normals of each key by Box-Muller (both of each pair are used): (..., count)."""
    pairs = (count + 1) // 2
    u = uniforms(key, 2 * pairs)
    radius = np.sqrt(-2.0 * np.log(1.0 - u[..., 0::2]))
    angle = 2.0 * np.pi * u[..., 1::2]
    both = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    return both.reshape(*key.shape, 2 * pairs)[..., :count]


class HashedStream:
    """The stream a weighting draws from in one round; successive calls give fresh numbers."""

    def __init__(self, seed: int, replicates: Iterable[int], round: int) -> None:
        self._of, self._calls = (seed, replicates, round), 0

    @cached_property
    def _key(self) -> Words:
        seed, replicates, round = self._of
        return absorb(replicate_keys(seed, replicates, WEIGHTING), round)

    def uniform(self, count: int) -> Array:
        """Independent U[0, 1) numbers, (replicates, count)."""
        key = absorb(self._key, self._calls)
        self._calls += 1
        return uniforms(key, count)


def present_clients(seed: int, replicates: Iterable[int], round: int, N: int, count: int) -> Indices:
    """Who takes part in a round, a uniform subset in ascending order: (R, count).

    The clients with the smallest hashes; but of MANY clients or more, where up to FEW take part, distinct indices by
    Floyd's algorithm, as the hashes of all would be most of a round's work.
    """
    key = absorb(replicate_keys(seed, replicates, PARTICIPATION), round)
    if N >= MANY and count <= FEW:
        return np.sort(distinct_indices(key, np.asarray(N), count), axis=-1)
    order = np.argsort(draw(key, N), axis=-1, kind="stable")[:, :count]
    return np.sort(order, axis=-1)
