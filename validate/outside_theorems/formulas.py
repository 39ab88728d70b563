"""Functions of a path or of the losses that the statements speak of, for floats and for fractions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from fedbounds.theory.quantity import Losses, Numbers, Path

# More sets of clients than this are not enumerated.
MOST_SETS = 1000


def norm_sq(vectors: Numbers) -> Numbers:
    return (vectors**2).sum(-1)


def mean(p: Numbers, vectors: Numbers) -> Numbers:
    """sum_i p_i v_i of vectors (..., N, d)."""
    return (p[..., None] * vectors).sum(-2)


def own_gradients(path: Path) -> Numbers:
    """grad F_i(w_i) at the local models (T, N, d)."""
    every = path.losses.grads(path.X)
    return every[:, np.arange(every.shape[1]), np.arange(every.shape[1])]


def average(path: Path) -> Numbers:
    """sum_i p_i w_i of the local models."""
    return mean(path.losses.p, path.X)


def gaps(path: Path) -> Numbers:
    """e_i(w_t) before each step (T, N)."""
    return path.losses.excess(path.w[:-1])


def a_ratio(above: Numbers, below: Numbers) -> Numbers:
    """above / below, and 1 where both are 0."""
    positive = below > 0
    return np.where(positive, above / np.where(positive, below, 1), 1)


def sets(path: Path, m: int) -> list[tuple[int, ...]]:
    """Every set of m clients."""
    n = len(path.losses.p)
    if math.comb(n, m) > MOST_SETS:
        raise ValueError("too many sets of clients")
    return list(itertools.combinations(range(n), m))


def drawn(path: Path, value: Callable[[Numbers, Numbers], Numbers]) -> Iterator[tuple[int, Numbers]]:
    """(m, the mean of value(p_S, X_S) over the sets S of m clients), m = 1 ... N."""
    p, X = path.losses.p, path.X
    for m in range(1, len(p) + 1):
        result = [value(p[list(S)], X[:, list(S)]) for S in sets(path, m)]
        yield m, sum(result) / len(result)


def sampled_mean(p: Numbers, X: Numbers) -> Numbers:
    """sum_S p_i w_i / sum_S p_i."""
    return mean(p, X) / p.sum()


def biased(path: Path) -> Numbers:
    """The largest ||E w_S - wbar||^2 over m."""
    return np.max([norm_sq(w - average(path)) for _, w in drawn(path, sampled_mean)], axis=0)


def gap_of_sample(path: Path) -> list[tuple[int, Numbers]]:
    return list(drawn(path, lambda p, X: path.losses.gap(sampled_mean(p, X))))


def advance(path: Path) -> Numbers:
    """The updates of the round so far, w_i - w."""
    return path.X - path.w[path.begun[:-1], None]


def inverse_probability(path: Path, power: int) -> Numbers:
    """||E Delta - vbar||^2, or m/N E||Delta - vbar||^2, the largest over m."""
    n, p, v = len(path.losses.p), path.losses.p, advance(path)
    vbar, worst = mean(p, v), []
    for m in range(1, n + 1):
        off = [n * mean(p[list(S)], v[:, list(S)]) / m - vbar for S in sets(path, m)]
        worst.append(norm_sq(sum(off) / len(off)) if power == 1 else m * sum(map(norm_sq, off)) / len(off) / n)
    return np.max(worst, axis=0)


def sampling_error(path: Path) -> Numbers:
    """The largest m N/(N - m) E||w_S - wbar||^2 over m < N."""
    n, wbar = len(path.losses.p), average(path)
    errors = drawn(path, lambda p, X: norm_sq(sampled_mean(p, X) - wbar))
    return np.max([0 * wbar[:, 0], *(m * n * item / (n - m) for m, item in errors if m < n)], axis=0)


def tops(path: Path) -> Numbers:
    """The sums of the k largest gaps of clients, k = 1 ... N (T + 1, N)."""
    return np.cumsum(np.sort(path.losses.excess(path.w), axis=-1)[:, ::-1], axis=-1)


def least_top(path: Path) -> Numbers:
    """The smallest mean of the k largest losses over k, where every F_i* is 0 (a common shift changes nothing)."""
    top = tops(path)
    return np.min([top[:, k] / (k + 1) for k in range(top.shape[1])], axis=0)


def admissible_top(path: Path) -> list[Numbers]:
    """The sums of the k largest gaps for the k with p_i <= 1/k."""
    return [tops(path)[:, k] for k in range(len(path.losses.p)) if path.losses.p.max() * (k + 1) <= 1]


def softmax(p: Numbers, losses: Numbers) -> Numbers:
    """p_i exp(F_i), normalised; in fractions each exponential is rounded to a float."""
    powers = np.exp((losses - losses.max(axis=-1, keepdims=True)).astype(float))
    weights = p * (np.vectorize(Fraction, otypes=[object])(powers) if p.dtype == object else powers)
    return weights / weights.sum(axis=-1, keepdims=True)


def floors(path: Path, multiples: tuple[int, ...]) -> Iterator[Numbers]:
    """Choices of the minimum values F_i*, in multiples of half the largest gap (T + 1, N); one of them is 0."""
    e = path.losses.excess(path.w)
    if e.shape[1] > 4:
        raise ValueError("too many choices of the minimum values")
    half = e.max(axis=-1, keepdims=True) / 2
    for chosen in itertools.product(multiples, repeat=e.shape[1]):
        yield half * np.array(chosen, dtype=e.dtype)


def of_largest_loss(path: Path) -> Numbers:
    """The smallest gap of a client of largest loss, over choices of the minimum values."""
    e = path.losses.excess(path.w)
    worst = [
        np.where(e + f == (e + f).max(axis=-1, keepdims=True), e, e.max(axis=-1, keepdims=True)).min(axis=-1)
        for f in floors(path, (0, 1, 2, 4))
    ]
    return np.min(worst, axis=0)


def of_softmax_losses(path: Path) -> Numbers:
    """The smallest sum_i alpha_i e_i, alpha the soft-max of e_i + F_i*; F_i* is 0, e_i/2 or e_i, once 0."""
    e, p = path.losses.excess(path.w), path.losses.p
    if len(p) > 4:
        raise ValueError("too many choices of the minimum values")
    chosen = (half for half in itertools.product((0, 1, 2), repeat=len(p)) if min(half) == 0)
    return np.min([(softmax(p, e + e * np.array(half) / 2) * e).sum(-1) for half in chosen], axis=0)


def min_max_gap(losses: Losses) -> Numbers:
    """F(w_max) - F*, w_max the minimiser of max_i F_i in one dimension to 2^-60 of the bracket."""
    low, high = losses.w_i_star.min(axis=0), losses.w_i_star.max(axis=0)
    if len(low) > 1:
        raise ValueError("only in one dimension")
    for _ in range(60):
        middle = (low + high) / 2
        steep = losses.grads(middle)[int(np.argmax(losses.excess(middle)))]
        low, high = (low, middle) if steep[0] > 0 else (middle, high)
    return losses.gap((low + high) / 2)


def since_start(path: Path, values: Numbers) -> Numbers:
    """Sums of values (T,) over the steps of the round so far."""
    sums = np.append([0 * values[0]], np.cumsum(values))[:-1]
    return sums - sums[path.begun[:-1]]


def pseudo_gradient(path: Path) -> tuple[Numbers, Numbers]:
    """(P_tau(w) - grad F(w), grad F_i(w)) at the start of the round of each step."""
    begin = path.begun[:-1]
    grads = path.losses.grads(path.w[begin])
    moved = (path.w[begin] - path.w[begin + path.tau]) / (path.eta[0] * path.tau)
    return moved - mean(path.losses.p, grads), grads


def length(vectors: Numbers) -> Numbers:
    """||v||, in fractions where d = 1."""
    return abs(vectors[..., 0]) if vectors.shape[-1] == 1 else np.sqrt(norm_sq(vectors))


def deviation(coordinate: int) -> Callable[[Path], Numbers]:
    """A coordinate of w_T - w*, whose expectation is taken."""

    def along(path: Path) -> Numbers:
        off = path.w - path.losses.w_star
        if off.shape[1] > 2:
            raise ValueError("two coordinates at most")
        return off[:, coordinate] if coordinate < off.shape[1] else 0 * off[:, 0]

    return along
