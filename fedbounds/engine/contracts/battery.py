"""What was tried on a plug-in, fact by fact, and the points where a problem is tried."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

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
