"""What claims need of a run of Algorithm 1, over a population of instances in floats or in fractions.

A run holds every outcome of chance, so expectations are sums over outcomes and extremes are over all of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedbounds.engine.reference import Step
from fedbounds.evidence.ball_arithmetic import largest, smallest
from fedbounds.evidence.exact.quadratics import Numbers, Quadratics
from fedbounds.theory import path_formulas as on
from fedbounds.theory.quantity import Path

VIRTUALS = ("alpha", "p")
# A share of the weight this far from 1/m is another share: in floats these are sums of a few terms.
SHARE_ROUNDING = 1e-9


@dataclass(frozen=True)
class Stretch:
    """Consecutive times (n,) with K outcomes of probabilities ``odds`` (K,), which may be signed weights of paths.

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
        odds = self.odds.reshape(-1, *(1,) * (values.ndim - 2))
        return np.moveaxis((odds * values).sum(1), 0, -1)


@dataclass(frozen=True)
class Measured:
    """Constants (...,) by name, expectations ``paths[virtual][field]`` (..., T + 1), and what was visited.

    Local models visited, all outcomes: their times and clients (m,), ||grad F_i||^2 and e_i (..., m). ``alphas`` and
    ``excesses`` (visits, ..., N); the smallest rho at the starts of rounds and everywhere (...,).
    """

    constants: dict[str, Numbers]
    rho_sync: Numbers
    rho_all: Numbers
    paths: dict[str, dict[str, Numbers]]
    times: Any
    clients: Any
    grad_sq: Numbers
    excess: Numbers
    alphas: Numbers
    ratios: Numbers
    excesses: Numbers


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


def whole_paths(
    steps: Sequence[Step], odds: Numbers, tau: int, eta: Numbers, losses: Any, virtual: str
) -> Iterator[tuple[Any, Path]]:
    """(probability, path) of every outcome of a run of one instance."""
    front, d = steps[-1].x.shape[:-2], steps[-1].x.shape[-1]
    N = steps[-1].x.shape[-2]
    w = [np.broadcast_to(s.virtual(s.alpha if virtual == "alpha" else s.p), (*front, d)) for s in steps]
    x = [np.broadcast_to(s.x, (*front, N, d)) for s in steps[:-1]]
    alpha = [np.broadcast_to(s.alpha, (*front, N)) for s in steps[:-1]]
    rows = (
        np.stack([one.reshape(-1, *shape) for one in part], axis=1)
        for part, shape in ((w, (d,)), (x, (N, d)), (alpha, (N,)))
    )
    for chance, *path in zip(odds, *rows, strict=True):
        yield chance, Path(tau, eta, losses, *path)


def measure(losses: Quadratics, parts: Iterable[Stretch], eta: Numbers, tau: int, pairs: bool = True) -> Measured:
    """Everything of a run; rho_pairs only where ``pairs``, as it compares all weights with all points."""
    parts = list(parts)
    T, leading = parts[-1].times[-1], losses.p.ndim - 1
    exact = losses.p.dtype == object
    one_iterate = exact and all((part.alpha == part.p)[~np.array(part.synchronised)].all() for part in parts)
    paths = {"alpha": _path(losses, parts, "alpha")}
    paths["p"] = paths["alpha"] if one_iterate else _path(losses, parts, "p")
    columns: list[list[Numbers]] = [[] for _ in range(10)]
    times, clients, grad_sq, excess, variance, alphas, ratios, excesses, rho, sync = columns
    for part in parts:
        e = losses.excess(part.w["alpha"])
        excesses.append(e.reshape(-1, *e.shape[2:]))
        n = len(part.times) - (part.times[-1] == T)
        x, alpha, p, e = part.x[:n], part.alpha[:n], part.p[:n], e[:n]
        skew = on.skew(alpha, p, e)
        rho.append(skew.reshape(-1, *skew.shape[2:]))
        sync += [skew[k] for k in range(n) if part.synchronised[k]]
        grads = losses.client_grads(x)
        noise = losses.variance(grads)
        K, N = x.shape[1], x.shape[-2]
        times.append(np.repeat(part.times[:n], K * N))
        clients.append(np.tile(np.arange(N), n * K))
        for rows, values in (
            (grad_sq, on.norm_sq(grads)),
            (excess, losses.client_excess(x)),
            (variance, noise),
        ):
            rows.append(np.moveaxis(values, (0, 1), (leading, leading + 1)).reshape(*values.shape[2:-1], -1))
        alphas.append(alpha.reshape(-1, *alpha.shape[2:]))
        ratios.append(on.ratio(alpha, p, otherwise=-1).reshape(-1, *alpha.shape[2:]))
    moments = [np.concatenate(rows, axis=-1) for rows in (grad_sq, excess, variance)]
    visits = [np.concatenate(rows) for rows in (alphas, ratios, excesses)]
    rho_sync, rho_all = smallest(np.concatenate(sync), 0), smallest(np.concatenate(rho), 0)
    constants = _constants(losses, parts, eta, tau, visits, moments, pairs)
    where = np.concatenate(times), np.concatenate(clients)
    return Measured(constants, rho_sync, rho_all, paths, *where, moments[0], moments[1], *visits)


def _path(losses: Quadratics, parts: Sequence[Stretch], name: str) -> dict[str, Numbers]:
    fields: dict[str, list[Numbers]] = {"distance_sq": [], "gap": [], "drift": []}
    for part in parts:
        w = part.w[name]
        values = {
            "distance_sq": on.norm_sq(w - losses.w_star),
            "gap": losses.gap(w),
            "drift": on.deviation(part.alpha, w, part.x),
        }
        for field, value in values.items():
            fields[field].append(part.expected(value))
    return {field: np.concatenate(rows, axis=-1) for field, rows in fields.items()}


def _constants(
    losses: Quadratics,
    parts: Sequence[Stretch],
    eta: Numbers,
    tau: int,
    visits: Sequence[Numbers],
    moments: Sequence[Numbers],
    pairs: bool,
) -> dict[str, Numbers]:
    """Constant symbols (...,) but rho_bar."""
    alphas, ratios, excesses = visits
    grad_sq, _, variance = moments
    one = losses.p[..., 0] * 0 + 1
    star, N = losses.star_excess, losses.p.shape[-1]
    Gamma = on.heterogeneity(losses)
    highest, lowest = ratios.max(axis=(0, -1)), np.where(ratios < 0, np.inf, ratios).min(axis=(0, -1))
    # Where alpha = p on the clients present, rho is 1 by definition.
    is_p = (lowest == 1) & (highest == 1)
    count = (alphas > 0).sum(-1)
    slack = 0 if alphas.dtype == object else SHARE_ROUNDING
    equal = (abs(alphas.max(-1) * count - 1) <= slack).all(0) & (count == count[:1]).all(0)
    present = (parts[0].p[0, 0] > 0).sum(-1)
    constants = {
        "L": losses.L,
        "mu": losses.mu,
        "Gamma": Gamma,
        "tau": one * tau,
        "N": one * N,
        "Delta_0": on.norm_sq(parts[0].w["alpha"][0, 0] - losses.w_star),
        "sigma_sq": largest(variance),
        "sigma_p_sq": on.variance_of_mean(losses.p, variance.reshape(*variance.shape[:-1], -1, N)),
        "G_sq": largest(grad_sq + variance),
        "rho_tilde": one * on.skew_at_optimum((alphas * star).sum(-1).max(0), Gamma, is_p),
        "pi_min": lowest,
        "pi_max": highest,
        "p_min": losses.p.min(-1),
        "m": one * np.where(equal, count[0], 0),
        "C": one * present / N,
        "eta_0": eta[..., 0],
        "eta_ratio": on.ratios_of_steps(eta, tau).max(-1),
        "eta_growth": on.growth_of_steps(eta, tau).max(-1),
    }
    return {**constants, "rho_pairs": smallest_pair(losses, alphas, excesses)} if pairs else constants


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
