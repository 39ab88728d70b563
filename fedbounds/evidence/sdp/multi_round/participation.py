"""Who takes part in a round: K of N equal clients, or each with a probability; and vectors averaged over the draw.

Given that k of N take part they are k drawn without replacement, so that only the first two moments of a draw matter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from fedbounds.evidence.sdp.program import Expression, Vector

# (K, N), N None where it is any of at least max(K, 2); or (q, N), q < 1 a `Fraction`: each of N with probability q.
Present = tuple[int | Fraction, int | None]


def checks(present: Present) -> Iterator[tuple[bool, str, object, str]]:
    """(whether it is so, what must be, what was received, the remedy) of everything that may be wrong."""
    (K, N), received = present, "{} of {}".format(present[0], present[1] or "any")
    if isinstance(K, Fraction):
        yield not (0 < K < 1 and N and N > 1), "each of N >= 2 has a probability 0 < q < 1", received, "mend them"
    else:
        wrong = K < 1 or (N is not None and not max(K, 2) <= N)
        yield wrong, "K of N >= 2 clients take part, K >= 1", received, "mend them"


def nobody(present: Present | None) -> Fraction:
    """The probability of a round of nobody, which changes nothing.

    >>> nobody((Fraction(1, 2), 3)), nobody((1, 3))
    (Fraction(1, 8), Fraction(0, 1))
    """
    if present is None or present[1] is None or not isinstance(present[0], Fraction):
        return Fraction(0)
    return (1 - present[0]) ** present[1]


def sampling(present: Present | None) -> Fraction:
    """The variance of the mean of those present, if there are any, over that of the clients.

    It is (N - K)/(K (N - 1)) or its limit, and the mean of that over K.

    >>> sampling((2, 4)), sampling((2, None)), sampling((Fraction(1, 2), 2))
    (Fraction(1, 3), Fraction(1, 2), Fraction(2, 3))
    """
    if present is None:
        return Fraction(0)
    K, N = present
    if N is None:
        return 1 / Fraction(K)
    several: dict[int, Fraction] = {}
    if isinstance(K, Fraction):
        busy = 1 - nobody(present)
        several = {k: math.comb(N, k) * K**k * (1 - K) ** (N - k) / busy for k in range(1, N + 1)}
    else:
        several = {K: Fraction(1)}
    return sum((share * Fraction(N - k, k * (N - 1)) for k, share in several.items()), Fraction(0))


def inverse(present: Present) -> Fraction:
    """The mean of one over the number of those present, if there are any.

    >>> inverse((2, 4)), inverse((2, None)), inverse((Fraction(1, 2), 2))
    (Fraction(1, 2), Fraction(1, 2), Fraction(5, 6))
    """
    alone = Fraction(1, present[1]) if present[1] else Fraction(0)
    return alone + sampling(present) * (1 - alone)


class Moment(Vector):
    """A mean and deviations from it, of clients: their inner products are summed over the clients, so do not mix."""

    def __matmul__(self, other: Vector) -> Expression:
        letters = dict.fromkeys(key.letter for key in self.terms)
        parts = [Vector.__matmul__(part(self, letter), part(other, letter)) for letter in letters]
        return Expression.mean([1] * len(parts), parts)


class Each(NamedTuple):
    """A vector of every client: the mean, and the deviations from it in each group."""

    mean: Moment
    apart: tuple[Moment, ...]

    def of(self, group: int) -> Moment:
        return self.mean + self.apart[group]

    def plus(self, other: Each, factor: Any, own: Any) -> Each:
        """own times it + factor times another."""
        apart = (own * a + factor * b for a, b in zip(self.apart, other.apart, strict=True))
        return Each(own * self.mean + factor * other.mean, tuple(apart))


def part(vector: Vector, letter: str) -> Moment:
    """What a vector has of one letter."""
    return Moment({key: value for key, value in vector.terms.items() if key.letter == letter})
