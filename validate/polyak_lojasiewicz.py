"""Non-convex clients with a Polyak-Lojasiewicz inequality: least squares behind a bi-Lipschitz bend.

With the bend phi(v) = v + s tanh(v), whose slope lies in (1, 1 + s], applied to every coordinate,

    F_i(w) = sum_k c_ik (phi(w_k) - phi(m_ik))^2 / 2,        ||grad F_i(w)||^2 >= 2 mu F_i(w),   mu = min c_ik,

and no larger mu will do, as the slope of phi tends to 1 far out. Every mixture sum_i alpha_i F_i is of the
same kind in phi, so it satisfies the same inequality and has one stationary point, in closed form.
Source of the inequality and its uses: Karimi, Nutini and Schmidt (2016).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import reject
from fedbounds.model.problem import Array, Optimum, check_distribution, check_finite, client_weights
from fedbounds.problems.data.synthetic import QuadraticIngredients
from fedbounds.problems.quadratic import AdditiveNoise, shaped
from fedbounds.problems.registry import ProblemPlugin
from fedbounds.theory.constant import Constant, Provenance

# Strength of the bend where none is given: strong enough that minima a few units apart make F_i non-convex.
BEND = 2.0
# Newton's method for the inverse of phi climbs monotonically, quadratically at the end; it needs under ten steps.
NEWTON_STEPS = 60
# sup |v| tanh|v| sech^2 v = 0.32006..., sup tanh^2 sech^2 = 1/4 and sup |tanh| sech^2 = 2/sqrt(27), for L.
SUP_LINEAR, SUP_SQUARE, SUP_PLAIN = 0.3201, 0.25, 2 / np.sqrt(27)


@dataclass(frozen=True, eq=False)
class BentProblem(AdditiveNoise):
    """Clients with curvatures c (N, d), minimisers w_i_star (N, d), weights p (N,) and a bend of strength s > 0.

    The ``mu`` of its constants is the Polyak-Lojasiewicz constant, as it is not convex. Raises InputError on
    non-finite or wrongly shaped input, curvatures or a bend that are not positive.
    """

    kind: ClassVar[str] = "polyak-lojasiewicz"
    convex: ClassVar[bool] = False

    curvatures: Array = field(repr=False)
    w_i_star: Array = field(repr=False)
    p: Array = field(repr=False)
    bend: float = BEND
    noise_std: Array = field(default=0.0, repr=False)  # type: ignore[arg-type]  # a scalar is broadcast

    def __post_init__(self) -> None:
        minima = check_finite(self.w_i_star, "w_i_star")
        if minima.ndim != 2 or 0 in minima.shape:
            raise reject("w_i_star needs shape (N, d)", f"shape {minima.shape}", "give one minimiser a client")
        self._fix(
            {
                "w_i_star": minima,
                "curvatures": shaped(self.curvatures, minima.shape, "curvatures"),
                "p": client_weights(self.p, len(minima)),
            }
        )
        if self.curvatures.min() <= 0:
            raise reject("curvatures must be positive", float(self.curvatures.min()), "give numbers above 0")
        if not 0 < self.bend < np.inf:
            raise reject("the bend must be positive", self.bend, "use a quadratic problem where nothing is bent")

    @cached_property
    def client_optima(self) -> tuple[Optimum, ...]:
        """The prescribed minimisers, exact; every F_i* is 0."""
        return tuple(Optimum(w, 0.0, 0.0) for w in self.w_i_star)

    @cached_property
    def F_i_star(self) -> Array:
        """Zeros (N,)."""
        return np.zeros(self.N)

    def client_losses(self, x: Array) -> Array:
        """e_i(x_i), as F_i* = 0: (..., N, d) -> (..., N)."""
        return self.client_excess(x)

    def client_excess(self, x: Array) -> Array:
        """sum_k c_ik (phi(x_ik) - phi(m_ik))^2 / 2: (..., N, d) -> (..., N)."""
        return (self.curvatures * rise(np.asarray(x, dtype=float), self.w_i_star, self.bend) ** 2).sum(-1) / 2

    def client_grads(self, x: Array, draws: NDArray | None = None) -> Array:
        """c phi'(x) (phi(x) - phi(m)), plus noise_std_i draws_i / sqrt(d) where draws (..., N, d) are given."""
        x = np.asarray(x, dtype=float)
        slope = 1 + self.bend / np.cosh(np.minimum(np.abs(x), 350.0)) ** 2  # beyond 350 the square overflows
        return self._noisy(self.curvatures * slope * rise(x, self.w_i_star, self.bend), draws)

    def gap(self, w: Array) -> Array:
        """sum_k (sum_i p_i c_ik) (phi(w_k) - phi(w*_k))^2 / 2: (..., d) -> (...)."""
        return rise(np.asarray(w, dtype=float), self.w_star, self.bend) ** 2 @ (self.p @ self.curvatures) / 2

    def argmin(self, weights: Array) -> Optimum:
        """phi(w_k) = the mean of phi(m_ik) weighted by weights_i c_ik, exact up to rounding."""
        weights = check_distribution(weights, self.N, "weights")
        shares = weights[:, None] * self.curvatures
        # Measured from a client's own minimiser, so that coinciding minimisers are returned bit for bit.
        origin = self.w_i_star[np.argmax(weights)]
        shift = (shares * rise(self.w_i_star, origin, self.bend)).sum(0) / shares.sum(0)
        w = np.where(shift == 0, origin, unbent(origin + self.bend * np.tanh(origin) + shift, self.bend))
        return Optimum(w, float(weights @ self.losses(w)), 0.0)

    def constants(self) -> Mapping[str, Constant]:
        """``mu``, the Polyak-Lojasiewicz constant, exact; ``L``, a bound on |F_i''| in every coordinate.

        |F_i''|/c = |phi'^2 + phi'' (phi - phi(m))| with phi'' = -2 s tanh sech^2, term by term.
        """
        s, level = self.bend, np.abs(self.w_i_star + self.bend * np.tanh(self.w_i_star))
        bound = self.curvatures * ((1 + s) ** 2 + 2 * s * (SUP_LINEAR + s * SUP_SQUARE + SUP_PLAIN * level))
        return {
            "L": Constant(float(bound.max()), Provenance.BOUND, "bound on every second derivative"),
            "mu": Constant(float(self.curvatures.min()), Provenance.EXACT, "Polyak-Lojasiewicz, not convexity"),
        }


def rise(v: Array, m: Array, bend: float) -> Array:
    """phi(v) - phi(m) = d + s tanh(d) (1 - tanh(v) tanh(m)), d = v - m, without cancellation near m."""
    return v - m + bend * np.tanh(v - m) * (1 - np.tanh(v) * np.tanh(m))


def unbent(y: Array, bend: float) -> Array:
    """The v with phi(v) = y, by Newton's method on |y|, where phi is concave: it climbs to the root from below."""
    target = np.abs(np.asarray(y, dtype=float))
    v = np.maximum(target / (1 + bend), target - bend)
    for _ in range(NEWTON_STEPS):
        higher = v + (target - v - bend * np.tanh(v)) / (1 + bend / np.cosh(np.minimum(v, 350.0)) ** 2)
        if np.all(higher <= v):
            break
        v = np.maximum(v, higher)
    return np.copysign(v, y)


def from_quadratics(made: QuadraticIngredients) -> BentProblem:
    """Generated spectra, minima and noise, with the default bend."""
    return BentProblem(made.spectra, made.minima, made.p, noise_std=np.asarray(made.noise_std))


PROBLEM = ProblemPlugin(
    "pl", "bent quadratics: non-convex, Polyak-Lojasiewicz, minima in closed form", from_quadratics=from_quadratics
)
