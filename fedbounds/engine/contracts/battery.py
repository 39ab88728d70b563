"""What was tried on a plug-in, fact by fact; the points where a problem is tried, and the facts of its noise."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import InputError
from fedbounds.model.problem import Array, Problem

# A point in a sentence shows so many coordinates.
SHOWN = 6


class Broken(Exception):
    """A ``fact`` that does not hold: what was observed, at which point, of which client, and what to mend."""

    def __init__(
        self, fact: str, observed: str, remedy: str, point: Array | None = None, client: int | None = None
    ) -> None:
        text = observed if client is None else f"{observed} of client {client}"
        if point is not None:
            more = ", ..." if len(point) > SHOWN else ""
            text += f" at ({', '.join(f'{value:.6g}' for value in point[:SHOWN])}{more})"
        super().__init__(f"{fact}, but received {text}: {remedy}.")


def require(holds: object, fact: str, observed: str, remedy: str, client: int | None = None) -> None:
    """Raise `Broken` unless a fact holds."""
    if not holds:
        raise Broken(fact, observed, remedy, client=client)


def worst(fact: str, excess: Array, points: Array, remedy: str, text: str, *values: Array | float) -> None:
    """Raise `Broken` where ``excess`` (..., N) is above 0 or no number, at its largest.

    ``points`` (..., N or 1, d) are where it was computed; ``text`` is filled with the ``values`` (..., N) there. A
    single column is that of F, which is no client's.
    """
    bad = np.where(np.isnan(excess), np.inf, excess)
    index = np.unravel_index(np.argmax(bad), bad.shape)
    if bad[index] > 0:
        point = np.broadcast_to(points, (*bad.shape, points.shape[-1]))[index]
        observed = text.format(*(np.broadcast_to(value, bad.shape)[index] for value in values))
        raise Broken(fact, observed, remedy, point, int(index[-1]) if bad.shape[-1] > 1 else None)


def examine(what: str, tests: Mapping[str, Callable[[Any], None]], tried: Any) -> tuple[str, ...]:
    """The facts that were tried, one after the other; InputError with the first that does not hold.

    A plug-in may raise anything in a test, which is a fault too.
    """
    for fact, test in tests.items():
        try:
            with np.errstate(all="ignore"):
                test(tried)
        except Broken as broken:
            raise InputError(f"{what} must keep {broken}") from None
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            raise InputError(f"{what} must keep {fact}, but received {text}: make it run at every point.") from None
    return tuple(tests)


# A loss or gradient of doubles is off by a few hundred units in the last place at most, for 10^5 samples too.
ROUNDING = 1e-13
# Distances of the points from a minimum, in units of how far the minima lie from the start and each other.
RADII = (1e-3, 0.1, 1.0, 1.0, 10.0, 100.0)
# Krylov steps: exact extremes of the curvature up to this dimension, close ones beyond.
KRYLOV = 24
# Half the length of a pair along a Krylov direction, in units of the scale: short beside any curvature's change.
SHORT = 1e-4
# Multiply-adds that one fact may cost (half a second where they are exponentials); beyond, fewer points are tried.
BUDGET = 1e7


@dataclass(frozen=True, eq=False)
class Probe:
    """A problem and the points ``x`` (P, N, d) at which it is tried."""

    problem: Problem

    def rng(self, purpose: int) -> np.random.Generator:
        """A generator for one purpose, so that no fact's points depend on another's."""
        return np.random.default_rng([0, purpose])

    def affordable(self, most: int, cost: float = 1.0) -> int:
        """How many evaluations, each of ``cost`` gradients a client, the budget allows: 2 to ``most``."""
        evaluation = float(self.problem.sizes.sum() + 8 * self.problem.N) * self.problem.d * cost
        return int(min(max(BUDGET / evaluation, 2), most))

    @cached_property
    def scale(self) -> float:
        """How far the minima lie from the origin, where runs start; 1 where all lie there."""
        stars = np.vstack([self.problem.w_star, self.problem.w_i_star])
        return float(np.linalg.norm(stars, axis=-1).max()) or 1.0

    @cached_property
    def x(self) -> Array:
        """Points at all `RADII` of every client's minimum and of w*, these minima, and the origin."""
        minima, common = self.problem.w_i_star, np.broadcast_to(self.problem.w_star, self.problem.w_i_star.shape)
        steps = self.scale * np.array(RADII)[:, None, None] * self.directions(0, len(RADII))
        every = np.stack([minima, common, np.zeros_like(minima), *(minima + steps), *(common + steps)])
        return every[[5, 0, 2, 1, 8, 3, 4, 6, 7, *range(9, len(every))]]  # those that matter most first

    def directions(self, purpose: int, count: int) -> Array:
        """Random unit vectors, (count, N, d)."""
        u = self.rng(purpose).standard_normal((count, self.problem.N, self.problem.d))
        return u / np.linalg.norm(u, axis=-1, keepdims=True)

    @cached_property
    def losses(self) -> Array:
        """F_i(x_i) (P, N)."""
        return self.problem.client_losses(self.x)

    @cached_property
    def grads(self) -> Array:
        """grad F_i(x_i) (P, N, d)."""
        return self.problem.client_grads(self.x)

    @cached_property
    def rounding(self) -> Array:
        """What F_i(x_i) may be off by (P, N): its own digits, and those of x."""
        norms = np.linalg.norm(self.grads, axis=-1) * np.linalg.norm(self.x, axis=-1)
        return ROUNDING * (np.abs(self.losses) + norms)

    @cached_property
    def grain(self) -> Array:
        """What a gradient may be off by (P, N), even where its parts cancel."""
        return ROUNDING * self.problem.L * (np.linalg.norm(self.x, axis=-1) + self.scale)

    @cached_property
    def steep(self) -> tuple[Array, Array]:
        """Pairs (x, y), each (2, B, N, d), along the directions of least and of most curvature at the first B points.

        Ritz vectors of the Hessian after some Krylov steps, each a difference of gradients.
        """
        k, gradient = min(self.problem.d, self.affordable(KRYLOV, 2.0)), self.problem.client_grads
        x, h, rng = self.x[: self.affordable(5, 2.0 * k)], SHORT * self.scale, self.rng(1)
        basis, images = np.empty((2, *x.shape[:2], k, x.shape[-1]))
        q = rng.standard_normal(x.shape)
        for j in range(k):
            q = _orthogonal(q, basis[..., :j, :])
            norm = np.linalg.norm(q, axis=-1, keepdims=True)
            lost = norm <= 1e-8 * (1 if j == 0 else np.linalg.norm(images[..., j - 1, :], axis=-1, keepdims=True))
            # An invariant subspace is exhausted: go on with a new direction, or equal curvatures would hide others.
            q = np.where(lost, _orthogonal(rng.standard_normal(x.shape), basis[..., :j, :]), q)
            basis[..., j, :] = q = q / np.linalg.norm(q, axis=-1, keepdims=True)
            images[..., j, :] = q = (gradient(x + h * q) - gradient(x - h * q)) / (2 * h)
        small = basis @ images.swapaxes(-1, -2)
        _, vectors = np.linalg.eigh((small + small.swapaxes(-1, -2)) / 2)
        ritz = np.moveaxis(vectors[..., [0, -1]].swapaxes(-1, -2) @ basis, -2, 0)
        return x + h * ritz, x - h * ritz


def _orthogonal(q: Array, basis: Array) -> Array:
    """q (B, N, d) without its part in the span of an orthonormal basis (B, N, j, d); twice is enough."""
    for _ in range(2):
        q = q - ((basis @ q[..., None]) * basis).sum(axis=-2)
    return q


# A variance from all samples and a closed form agree to this, relatively.
VARIANCE_ROUNDING = 1e-9
# Points at which samples are enumerated, and doubles that one such enumeration may hold.
POINTS, ENTRIES = 4, 4e6
# Where not every sample can be: so many standard errors, a nominal rate of 1e-15 for the mean of a normal sample.
STANDARD_ERRORS = 8.0
BATCHES = (2, 5)
REMEDY, DRAWS = "mend client_variance or the stochastic gradient", "mend client_grads with draws"


def noise_facts(probe: Probe) -> None:
    """Unbiased gradients of batches, the variance and its fall with the batch, Lipschitz noise, smooth samples."""
    problem = probe.problem
    full = problem.client_variance(probe.x, None)
    worst("no variance of full gradients", np.abs(full), probe.x, REMEDY, "{:.3g}", full)
    x, noise, weight, exact = _enumerated(probe)
    size, grain = (probe.grads[: len(x)] ** 2).sum(-1), probe.grain[: len(x)]
    square = (noise**2).sum(-1)
    second = (weight[:, None, :] * square).sum(0)
    # A noise that is 0 comes out as the grain of a gradient, whatever the size of the gradient.
    slack = ROUNDING * size + grain**2
    single = problem.client_variance(x, 1)
    allowed = VARIANCE_ROUNDING * (single + second) + slack
    off = np.abs(second - single) - allowed
    if not exact:  # a rare large sample may be missing, so only a variance told too small can be found
        off = second - single - allowed - STANDARD_ERRORS * square.std(axis=0) / np.sqrt(len(square))
    text = "client_variance {:.9g} where the samples give {:.9g}"
    worst("the variance of the stochastic gradient", off, x, REMEDY, text, single, second)
    _batches(probe, x, single, slack)
    _lipschitz(probe)
    _linear(probe)
    if exact and problem.sampling == "indices":
        bias = np.linalg.norm((weight[:, None, :, None] * noise).sum(0), axis=-1)
        off = bias - VARIANCE_ROUNDING * np.sqrt(second + size) - grain
        worst("unbiased stochastic gradients", off, x, DRAWS, "a mean over all samples off by {:.3g}", bias)
    if exact and np.isfinite(problem.sample_smoothness):
        _smooth(probe, x, noise, weight)


def _enumerated(probe: Probe) -> tuple[Array, Array, Array, bool]:
    """Points (P, N, d), g - grad F_i of draws (J, P, N, d), the draws' weights (J, N), and whether they are all.

    Of samples, each is a draw; of Gaussian noise, linear in what is drawn, each unit vector is.
    """
    problem, N, d = probe.problem, probe.problem.N, probe.problem.d
    normal = problem.sampling == "normal"
    every = d if normal else int(problem.sizes.max())
    J = int(np.clip(ENTRIES / (N * d), 2, every))
    x, rng, exact = probe.x[: int(np.clip(ENTRIES / (N * d * J), 1, POINTS))], probe.rng(6), every == J
    weight, j = np.full((J, N), 1.0 if normal and exact else 1 / J), np.arange(J)[:, None]
    draws: NDArray
    if normal:
        units = np.eye(d) if exact else rng.standard_normal((J, d))
        draws = np.broadcast_to(units[:, None, :], (J, N, d))
    elif exact:
        draws, weight = (j % problem.sizes)[..., None], (j < problem.sizes) / problem.sizes
    else:
        draws = rng.integers(0, problem.sizes, (J, N))[..., None]
    return x, _noise(probe, x, draws), weight, exact


def _noise(probe: Probe, x: Array, draws: NDArray) -> Array:
    """g(x; draws) - grad F_i(x): (P, N, d) and (J, N, b) -> (J, P, N, d), with one leading axis as the engine has."""
    J, P = len(draws), len(x)
    points = np.broadcast_to(x, (J, *x.shape)).reshape(-1, *x.shape[1:])
    each = np.repeat(draws, P, axis=0)
    return probe.problem.client_grads(points, each).reshape(J, *x.shape) - probe.problem.client_grads(x)


def _batches(probe: Probe, x: Array, single: Array, slack: Array) -> None:
    """The variance of a batch from that of a single sample."""
    sizes, sampled = probe.problem.sizes, probe.problem.sampling == "indices"
    for b in BATCHES:
        for replacement in (True, False) if sampled and b <= sizes.min() else (True,):
            fall = 1.0 if replacement else np.where(sizes > 1, (sizes - b) / np.maximum(sizes - 1, 1), 1.0)
            wanted, value = single / b * fall, probe.problem.client_variance(x, b, replacement)
            fact = f"the variance of a batch of {b} {'with' if replacement else 'without'} replacement"
            off = np.abs(value - wanted) - VARIANCE_ROUNDING * wanted - slack
            worst(fact, off, x, REMEDY, "{:.9g} for {:.9g}", value, wanted)


def _linear(probe: Probe) -> None:
    """A batch is the mean of its samples; Gaussian noise is linear in what is drawn, so that z/sqrt(b) is a batch."""
    problem, x, rng = probe.problem, probe.x[:2], probe.rng(7)
    if problem.sampling == "normal":
        z = rng.standard_normal((2, problem.N, problem.d))
        a, b, both = (_noise(probe, x, draws[None])[0] for draws in (z[0], z[1], 2 * z[0] - z[1]))
        wanted = 2 * a - b
    else:
        draws = rng.integers(0, problem.sizes[:, None], (1, problem.N, 3))
        both = _noise(probe, x, draws)[0]
        wanted = sum(_noise(probe, x, draws[..., k : k + 1])[0] for k in range(3)) / 3
    size = np.linalg.norm(wanted, axis=-1) + np.linalg.norm(probe.grads[:2], axis=-1)
    off = np.linalg.norm(both - wanted, axis=-1)
    bad = off - VARIANCE_ROUNDING * size - probe.grain[:2]
    worst("gradients that are the mean of their batch", bad, x, DRAWS, "a difference of {:.3g}", off)


def _lipschitz(probe: Probe) -> None:
    first, second = np.triu_indices(len(probe.x), 1)
    deviation = np.sqrt(probe.problem.client_variance(probe.x, 1))
    apart = np.linalg.norm(probe.x[first] - probe.x[second], axis=-1)
    change = np.abs(deviation[first] - deviation[second])
    size = np.linalg.norm(probe.grads, axis=-1) + probe.grain
    # The root of a rounded variance near 0 is off by the root of its rounding.
    rounding = VARIANCE_ROUNDING * deviation + np.sqrt(ROUNDING) * size
    stated = np.asarray(probe.problem.noise_lipschitz)
    off = change - np.where(apart > 0, stated * apart, 0.0) - rounding[first] - rounding[second]
    text = "noise that changes by {:.6g} over {:.6g}, above {:.6g} times that,"
    remedy = "declare a larger noise_lipschitz, or infinity"
    worst("noise_lipschitz", off, probe.x[first], remedy, text, change, apart, stated)


def _smooth(probe: Probe, x: Array, noise: Array, weight: Array) -> None:
    """E||g_i(x) - g_i(y)||^2 <= 2 L_sample D_i(x, y) at every pair of the enumerated points."""
    L, (first, second) = probe.problem.sample_smoothness, (k.ravel() for k in np.mgrid[: len(x), : len(x)])
    grads, losses = probe.grads[: len(x)], probe.losses[: len(x)]
    change = ((grads[first] - grads[second]) ** 2).sum(-1)
    change = change + (weight[:, None, :] * ((noise[:, first] - noise[:, second]) ** 2).sum(-1)).sum(0)
    bregman = losses[first] - losses[second] - (grads[second] * (x[first] - x[second])).sum(-1)
    off = change - 2 * L * (bregman + probe.rounding[first] + probe.rounding[second]) - ROUNDING * change
    text = "samples whose gradients change by {:.6g}, above {:.6g},"
    remedy = "declare a larger sample_smoothness, or infinity"
    worst("sample_smoothness", off, x[first], remedy, text, change, 2 * L * bregman)
