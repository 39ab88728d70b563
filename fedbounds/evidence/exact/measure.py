"""What claims need of a run of Algorithm 1, over a population of instances in floats or in fractions.

A run holds every outcome of chance, so expectations are sums over outcomes and extremes are over all of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fedbounds.engine.reference import Step
from fedbounds.evidence.ball_arithmetic import largest, smallest
from fedbounds.evidence.exact.quadratics import Numbers, Quadratics
from fedbounds.theory import path as on
from fedbounds.theory.measurement import OnDemand
from fedbounds.theory.quantity import Path

VIRTUALS = ("alpha", "p")
# A share of the weight this far from 1/m is another share: in floats these are sums of a few terms.
SHARE_ROUNDING = 1e-9


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


def stretches(steps: Sequence[Step], odds: Sequence[Numbers], leading: int) -> Iterator[Stretch]:
    """The steps of a run, those with equally many outcomes together; ``leading`` axes are of the population."""
    rows: list[Any] = [(step, weights, *outcomes(step, leading)) for step, weights in zip(steps, odds, strict=True)]
    for _, group in itertools.groupby(rows, key=lambda row: len(row[1])):
        several = list(group)
        begin = several[0][0].t
        x, p, alpha = (np.stack([row[k] for row in several]) for k in (2, 3, 4))
        together = tuple(row[0].synchronised for row in several)
        w = {name: (weights[..., None] * x).sum(-2) for name, weights in (("alpha", alpha), ("p", p))}
        for name in w:
            w[name][np.array(together)] = x[np.array(together)][..., 0, :]  # one model there, not a rounded mean
        yield Stretch(range(begin, begin + len(several)), together, several[0][1], x, p, alpha, w)


def outcomes(step: Step, leading: int) -> tuple[Numbers, Numbers, Numbers]:
    """x (K, ..., N, d), p and alpha (K, ..., N) of a step, with its axes of chance as one."""
    shape, d = np.broadcast_shapes(step.x.shape[:-1], step.alpha.shape), step.x.shape[-1]
    rest = shape[len(shape) - leading - 1 :]
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


@dataclass(frozen=True)
class Measured:
    """What claims need of a run, with a number of steps a row, each computed when it is first looked up.

    ``constants`` (...,) by name, but rho_bar, and expectations ``paths[virtual][field]`` (..., T + 1).
    Of the local models visited, all outcomes: their ``times`` and ``clients`` (m,), ||grad F_i||^2, variances and
    e_i (..., m). ``alphas``, ``ratios`` and ``excesses`` (visits, ..., N); the smallest rho at the starts of rounds
    and everywhere (...,).
    """

    losses: Quadratics
    parts: tuple[Stretch, ...]
    eta: Numbers
    tau: int

    @cached_property
    def constants(self) -> OnDemand[Numbers]:
        losses, eta, tau = self.losses, self.eta, self.tau
        one, N = losses.p[..., 0] * 0 + 1, losses.p.shape[-1]
        return OnDemand(
            {
                "L": lambda: losses.L,
                "mu": lambda: losses.mu,
                "Gamma": lambda: self.Gamma,
                "tau": lambda: one * tau,
                "N": lambda: one * N,
                "Delta_0": lambda: on.norm_sq(self.parts[0].w["alpha"][0, 0] - losses.w_star),
                "sigma_sq": lambda: largest(self.variance),
                "sigma_p_sq": lambda: on.variance_of_mean(
                    losses.p, self.variance.reshape(*self.variance.shape[:-1], -1, N)
                ),
                "G_sq": lambda: largest(self.grad_sq + self.variance),
                "rho_tilde": lambda: one * self._skew_at_optimum(),
                "pi_min": lambda: self._ratio_range[0],
                "pi_max": lambda: self._ratio_range[1],
                "p_min": lambda: losses.p.min(-1),
                "m": lambda: one * self._equally_many(),
                "C": lambda: one * (self.parts[0].p[0, 0] > 0).sum(-1) / N,
                "eta_0": lambda: eta[..., 0],
                "eta_ratio": lambda: on.ratios_of_steps(eta, tau).max(-1),
                "eta_growth": lambda: on.growth_of_steps(eta, tau).max(-1),
                "rho_pairs": lambda: smallest_pair(losses, self.alphas, self.excesses),
            }
        )

    @cached_property
    def paths(self) -> dict[str, OnDemand[Numbers]]:
        alpha = self._path("alpha")
        exact = self.losses.p.dtype == object
        one_iterate = exact and all((part.alpha == part.p)[~np.array(part.synchronised)].all() for part in self.parts)
        return {"alpha": alpha, "p": alpha if one_iterate else self._path("p")}

    @cached_property
    def rho_sync(self) -> Numbers:
        starts = [
            row[k]
            for part, row in zip(self.parts, self._skews, strict=True)
            for k in range(len(row))
            if part.synchronised[k]
        ]
        return smallest(np.concatenate(starts), 0)

    @cached_property
    def rho_all(self) -> Numbers:
        return smallest(_visits(self._skews), 0)

    @cached_property
    def times(self) -> Any:
        return np.concatenate(
            [np.repeat(part.times[:n], part.x.shape[1] * part.x.shape[-2]) for part, n in self._before_the_end]
        )

    @cached_property
    def clients(self) -> Any:
        return np.concatenate(
            [np.tile(np.arange(part.x.shape[-2]), n * part.x.shape[1]) for part, n in self._before_the_end]
        )

    @cached_property
    def grad_sq(self) -> Numbers:
        return self._of_models([on.norm_sq(grads) for grads in self._grads])

    @cached_property
    def variance(self) -> Numbers:
        return self._of_models([self.losses.variance(grads) for grads in self._grads])

    @cached_property
    def excess(self) -> Numbers:
        return self._of_models([self.losses.client_excess(part.x[:n]) for part, n in self._before_the_end])

    @cached_property
    def alphas(self) -> Numbers:
        return _visits([part.alpha[:n] for part, n in self._before_the_end])

    @cached_property
    def ratios(self) -> Numbers:
        return _visits([on.ratio(part.alpha[:n], part.p[:n], otherwise=-1) for part, n in self._before_the_end])

    @cached_property
    def excesses(self) -> Numbers:
        return _visits(self._gaps)

    @cached_property
    def Gamma(self) -> Numbers:
        return on.heterogeneity(self.losses)

    @cached_property
    def _before_the_end(self) -> list[tuple[Stretch, int]]:
        """The parts, and how many of their times are steps."""
        T = self.parts[-1].times[-1]
        return [(part, len(part.times) - (part.times[-1] == T)) for part in self.parts]

    @cached_property
    def _grads(self) -> list[Numbers]:
        return [self.losses.client_grads(part.x[:n]) for part, n in self._before_the_end]

    @cached_property
    def _gaps(self) -> list[Numbers]:
        return [self.losses.excess(part.w["alpha"]) for part in self.parts]

    @cached_property
    def _skews(self) -> list[Numbers]:
        rows = zip(self._before_the_end, self._gaps, strict=True)
        return [on.skew(part.alpha[:n], part.p[:n], e[:n]) for (part, n), e in rows]

    @cached_property
    def _ratio_range(self) -> tuple[Numbers, Numbers]:
        ratios = self.ratios
        return np.where(ratios < 0, np.inf, ratios).min(axis=(0, -1)), ratios.max(axis=(0, -1))

    def _of_models(self, parts: Sequence[Numbers]) -> Numbers:
        """Values (n, K, ..., N) of each part as (..., m)."""
        leading = self.losses.p.ndim - 1
        rows = (np.moveaxis(v, (0, 1), (leading, leading + 1)).reshape(*v.shape[2:-1], -1) for v in parts)
        return np.concatenate(list(rows), axis=-1)

    def _path(self, name: str) -> OnDemand[Numbers]:
        losses = self.losses

        def expected(value: Callable[[Stretch], Numbers]) -> Callable[[], Numbers]:
            return lambda: np.concatenate([part.expected(value(part)) for part in self.parts], axis=-1)

        return OnDemand(
            {
                "distance_sq": expected(lambda part: on.norm_sq(part.w[name] - losses.w_star)),
                "gap": expected(lambda part: losses.gap(part.w[name])),
                "drift": expected(lambda part: on.deviation(part.alpha, part.w[name], part.x)),
            }
        )

    def _skew_at_optimum(self) -> Numbers:
        lowest, highest = self._ratio_range
        # Where alpha = p on the clients present, rho is 1 by definition.
        is_p = (lowest == 1) & (highest == 1)
        return on.skew_at_optimum((self.alphas * self.losses.star_excess).sum(-1).max(0), self.Gamma, is_p)

    def _equally_many(self) -> Numbers:
        """How many clients share the weight equally in every round; 0 where they do not."""
        alphas = self.alphas
        count = (alphas > 0).sum(-1)
        slack = 0 if alphas.dtype == object else SHARE_ROUNDING
        equal = (abs(alphas.max(-1) * count - 1) <= slack).all(0) & (count == count[:1]).all(0)
        return np.where(equal, count[0], 0)


def _visits(parts: Sequence[Numbers]) -> Numbers:
    """Values (n, K, ...) of each part as (visits, ...)."""
    return np.concatenate([values.reshape(-1, *values.shape[2:]) for values in parts])


def smallest_pair(losses: Quadratics, alphas: Numbers, excesses: Numbers) -> Numbers:
    """min over visited weights, and over visited points and w*, of the skew."""
    points = np.concatenate([excesses, losses.star_excess[None]])
    below = (losses.p * points).sum(-1)
    if alphas.dtype == object and (alphas == losses.p).all():
        return losses.p[..., 0] * 0 + 1  # the skew of p is 1
    per = points / np.where(below > 0, below, 1)[..., None]
    least = np.inf + 0 * below[0]
    exact = alphas.dtype == object
    distinct = alphas if exact else np.unique(alphas, axis=0)
    for alpha in {str(row): row for row in distinct}.values() if exact else distinct:
        skews = np.where(below > 0, (alpha * per).sum(-1), np.inf)
        least = smallest(np.concatenate([least[None], skews]), 0)
    return np.where(least < np.inf, least, 1)
