"""Algorithm 1 of the paper: in each round tau local steps of every client, then a weighted mean of their models.

    alpha^i  from the gaps F_i(w) - F_i* of the global model w at the round's start
    x^i  <-  w
    x^i  <-  x^i - eta_t g_i(x^i)          tau times; t counts the local steps of the whole run
    w    <-  sum_i alpha^i x^i

Numbers are floats or fractions (numpy arrays of objects); nothing below depends on which. Any number of axes may
lead: replicates, or a population of instances. A random draw with several outcomes adds one axis in front of these.
Models before the draw lack that axis, models after it have it, and the two combine by broadcasting. One run then
holds every outcome, and an expectation is a mean over the axes in front.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from fedbounds.model.weighting import ABSENT_EXCESS, RoundStream, Weighting, check_simplex

# Floats, or fractions in an array of objects.
Numbers = Any


class Losses(Protocol):
    """The clients' losses: their weights ``p`` (..., N), their gaps and the gradients of local steps."""

    @property
    def p(self) -> Numbers: ...

    def excess(self, w: Numbers) -> Numbers:
        """F_i(w) - F_i* of a global model: (..., d) -> (..., N)."""

    def gradient(self, x: Numbers, t: int) -> Numbers:
        """g_i(x_i) at local step t, full or stochastic: (..., N, d) -> (..., N, d), or one axis more in front."""


@dataclass(frozen=True)
class Step:
    """The run before local step ``t``: local models ``x`` (..., N, d), and the round's ``p`` and ``alpha`` (..., N).

    ``ends`` (..., N, d) are the local models as the step before left them, so not averaged where a round begins.
    ``synchronised`` where every client has the global model: at the start of a round, and at t = T after the last.
    """

    t: int
    x: Numbers
    p: Numbers
    alpha: Numbers
    synchronised: bool
    ends: Numbers

    def virtual(self, weights: Numbers) -> Numbers:
        """The virtual iterate w_t = sum_i weights_i x_i (..., d), which is the global model where there is one."""
        return self.x[..., 0, :] if self.synchronised else mean(weights, self.x)


def algorithm_1(
    losses: Losses,
    w: Numbers,
    eta: Numbers,
    tau: int,
    weighting: Weighting,
    participants: Callable[[int, Numbers], Numbers] | None = None,
    stream: Callable[[int], RoundStream] | None = None,
    server_step: Numbers | None = None,
) -> Iterator[Step]:
    """Run from w (..., d) with step sizes eta (..., T): what stands before each step, and at last after the run.

    ``participants(round, gaps)`` says who takes part (..., N), everyone unless given, and in a round of nobody no
    model moves; ``stream(round)`` is what a
    random weighting draws from. With a ``server_step`` eta_s (...,), else 1, a round ends in
    w <- w + eta_s (sum_i alpha^i x^i - w). Units: w in metres, F in joules, eta in metre^2/joule.
    """
    T, ends = eta.shape[-1], at_every_client(w, losses.p)
    for r in range(T // tau):
        gaps = losses.excess(w)
        present = None if participants is None else participants(r, gaps)
        p, alpha = round_weights(weighting, losses.p, gaps, r, present, None if stream is None else stream(r))
        x, moves = at_every_client(w, alpha), None if present is None else anybody_present(present)[..., None]
        for t in range(r * tau, (r + 1) * tau):
            yield Step(t, x, p, alpha, t == r * tau, ends=ends if t == r * tau else x)
            size = eta[..., t, None, None]
            x = x - (size if moves is None else moves * size) * losses.gradient(x, t)
        ends, last, w = x, w, mean(alpha, x)
        if server_step is not None:
            w = last + server_step[..., None] * (w - last)
    yield Step(T, at_every_client(w, losses.p), losses.p, losses.p, True, ends)


def at_every_client(w: Numbers, weights: Numbers) -> Numbers:
    """The global model w (..., d) at each of the clients that have ``weights`` (..., N): (..., N, d)."""
    shape = np.broadcast_shapes((*w.shape[:-1], 1), weights.shape)
    return np.broadcast_to(w[..., None, :], (*shape, w.shape[-1]))


def mean(weights: Numbers, x: Numbers) -> Numbers:
    """sum_i weights_i x_i: (..., N) and (..., N, d) -> (..., d)."""
    return (weights[..., None] * x).sum(-2)


def round_weights(
    weighting: Weighting,
    p: Numbers,
    gaps: Numbers,
    round: int,
    present: Numbers | None = None,
    stream: RoundStream | None = None,
) -> tuple[Numbers, Numbers]:
    """p and alpha (..., N) of a round from the gaps e_i(w) (..., N) at its start.

    Where ``present`` (..., N) is given, p is renormalised over these clients and 0 for the others. The weighting sees
    that p, and ABSENT_EXCESS for the gaps of the others; what it still gives to them is taken away, and the row
    renormalised (p itself if nothing is left). Both are p where nobody is present.
    """
    if present is None:
        p = np.broadcast_to(p, gaps.shape)
        return p, check_simplex(weighting(p, gaps, round, stream), gaps.shape, weighting.name)  # type: ignore[arg-type]
    present, gaps = np.broadcast_arrays(present, gaps)
    anybody = anybody_present(present)
    present = present | ~anybody
    equal = present * unit(p) / present.sum(-1, keepdims=True)
    p = renormalised(np.broadcast_to(p, gaps.shape), present, equal)
    absent: Any = ABSENT_EXCESS if gaps.dtype != object else Fraction(ABSENT_EXCESS)
    seen = np.where(present, gaps, absent)
    alpha = check_simplex(weighting(p, seen, round, stream), gaps.shape, weighting.name)  # type: ignore[arg-type]
    return p, np.where(anybody, renormalised(alpha, present, p), p)


def anybody_present(present: Numbers) -> Numbers:
    """Whether anybody takes part: (..., N) -> (..., 1)."""
    return present.any(-1, keepdims=True)


def renormalised(weights: Numbers, present: Numbers, otherwise: Numbers) -> Numbers:
    """``weights`` set to 0 for the absent and renormalised; ``otherwise`` in rows where nothing is left."""
    rest = np.where(present, weights, 0)
    total = rest.sum(-1, keepdims=True)
    return np.where(total > 0, rest / np.where(total > 0, total, 1), otherwise)


def unit(numbers: Numbers) -> Any:
    """1 of the kind of number that an array holds, so that a quotient of counts is no float among fractions."""
    return Fraction(1) if numbers.dtype == object else 1.0
