"""The steps of a run as arrays, its axes of chance as one: stretches of time, and whole paths.

A population of instances has one axis in front of the clients'.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedbounds.engine.reference import Step
from fedbounds.evidence.exact.quadratics import Numbers
from fedbounds.theory.quantity import Path


@dataclass(frozen=True)
class Stretch:
    """Consecutive times (n,) with K outcomes of probabilities ``odds`` (K,), which may be signed weights of paths.

    They are (K, P) where the members of a population differ in them.

    ``x`` (n, K, ..., N, d); ``p`` and ``alpha`` (n, K, ..., N); the virtual iterates ``w`` (n, K, ..., d) by name.
    """

    times: range
    synchronised: tuple[bool, ...]
    odds: Numbers
    x: Numbers
    p: Numbers
    alpha: Numbers
    w: dict[str, Numbers]

    def expected(self, values: Numbers) -> Numbers:
        """The expectation of values (n, K, ...) at each time (..., n)."""
        if len(self.odds) == 1:
            return np.moveaxis(values[:, 0], 0, -1)
        odds = self.odds.reshape(*self.odds.shape, *(1,) * (values.ndim - 1 - self.odds.ndim))
        return np.moveaxis((odds * values).sum(1), 0, -1)


def grouped_by_outcomes(steps: Sequence[Step], odds: Sequence[Numbers]) -> Iterator[Stretch]:
    """The steps of a run, those with equally many outcomes together; one axis is of the population."""
    rows: list[Any] = [(step, weights, *outcomes(step)) for step, weights in zip(steps, odds, strict=True)]
    for _, group in itertools.groupby(rows, key=lambda row: len(row[1])):
        several = list(group)
        begin = several[0][0].t
        x, p, alpha = (np.stack([row[k] for row in several]) for k in (2, 3, 4))
        together = tuple(row[0].synchronised for row in several)
        w = {name: (weights[..., None] * x).sum(-2) for name, weights in (("alpha", alpha), ("p", p))}
        for name in w:
            w[name][np.array(together)] = x[np.array(together)][..., 0, :]  # one model there, not a rounded mean
        yield Stretch(range(begin, begin + len(several)), together, several[0][1], x, p, alpha, w)


def outcomes(step: Step) -> tuple[Numbers, Numbers, Numbers]:
    """x (K, ..., N, d), p and alpha (K, ..., N) of a step, with its axes of chance as one."""
    shape, d = np.broadcast_shapes(step.x.shape[:-1], step.alpha.shape), step.x.shape[-1]
    rest = shape[-2:]
    p, alpha = (np.broadcast_to(weights, shape).reshape(-1, *rest) for weights in (step.p, step.alpha))
    return np.broadcast_to(step.x, (*shape, d)).reshape(-1, *rest, d), p, alpha


@dataclass(frozen=True)
class WholePaths:
    """Every outcome of a population's runs: ``w`` (K, P, T + 1, d), ``x`` (K, P, T, N, d), ``alpha`` (K, P, T, N).

    ``ends`` are the models after each step, before they are averaged; ``odds`` (K,) the probabilities of outcomes.
    """

    w: Numbers
    x: Numbers
    alpha: Numbers
    ends: Numbers
    odds: Numbers

    def of(self, k: int, tau: int, eta: Numbers, losses: Any) -> Iterator[tuple[Any, Path]]:
        """(probability, path) of every outcome of member k."""
        odds = self.odds if self.odds.ndim == 1 else self.odds[:, k]
        rows = (part[:, k] for part in (self.w, self.x, self.alpha, self.ends))
        for chance, w, x, alpha, ends in zip(odds, *rows, strict=True):
            yield chance, Path(tau, eta, losses, w, x, alpha, X_next=ends)


def whole_paths(steps: Sequence[Step], odds: Numbers, virtual: str) -> WholePaths:
    """The paths of a run of a population that its steps hold."""
    *chance, members = steps[-1].x.shape[:-2]
    front, (N, d) = (*chance, members), steps[-1].x.shape[-2:]
    rows = (
        ([s.virtual(s.alpha if virtual == "alpha" else s.p) for s in steps], (d,)),
        ([s.x for s in steps[:-1]], (N, d)),
        ([s.alpha for s in steps[:-1]], (N,)),
        ([s.ends for s in steps[1:]], (N, d)),
    )
    stacked: list[Numbers] = []
    for values, shape in rows:
        whole = np.stack([np.broadcast_to(value, (*front, *shape)) for value in values], axis=len(front))
        stacked.append(whole.reshape(-1, members, *whole.shape[len(front) :]))
    w, x, alpha, ends = stacked
    return WholePaths(w, x, alpha, ends, odds)
