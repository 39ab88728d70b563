"""An instance near the worst case of R rounds: two mirrored quadratics in the plane, run in the engine.

Clients of equal weight with gradients +/- zeta_* e_2 at w* = 0 and Hessians of eigenvalues mu and h whose axes are
turned by +/- theta: the local models part along e_2, and their Hessians turn that into a push along e_1, away from
w*. The two numbers theta and h are found by search; whatever they are, the run is a lower bound on the worst case, up
to rounding: it is computed in floating point, and enclosed by `surely` where it is to refute.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb

from fedbounds.engine.simulate import simulate
from fedbounds.evidence.digits import enclosed, in_digits
from fedbounds.evidence.sdp.horizon import Run
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array
from fedbounds.problems.quadratic import QuadraticProblem
from fedbounds.weightings.fedavg import FedAvg

# Points a side of the search's grid, how often it is made finer, and how much.
POINTS, TIMES, FINER = 41, 6, 0.2
# Digits in which a run is enclosed: intervals grow by a small factor in each of a few hundred steps.
SURE_DIGITS = 400


@dataclass(frozen=True)
class Attained:
    """The instance (``angle``, ``high``, ``problem``) and ||w_r||^2 after every round as it was run: (R + 1,)."""

    angle: float
    high: float
    problem: QuadraticProblem
    path: Array

    @property
    def value(self) -> float:
        return float(self.path[-1])


def attained(run: Run, delta_0: float = 1.0, zeta_sq: float = 1.0) -> Attained:
    """The best such instance, replayed."""
    mu, L = float(run.mu), float(run.L)
    centre, reach = np.array([np.pi / 4, (mu + L) / 2]), np.array([np.pi / 4, (L - mu) / 2])
    for _ in range(TIMES):
        angles, highs = (c + r * np.linspace(-1, 1, POINTS) for c, r in zip(centre, reach, strict=True))
        angle, high = np.meshgrid(angles, np.clip(highs, mu, L), indexing="ij")
        best = np.argmax(_ends(run, angle, high, delta_0, zeta_sq))
        centre, reach = np.array([angle.flat[best], high.flat[best]]), reach * FINER
    problem = mirrored(_hessian(mu, *centre), zeta_sq)
    path: Array = simulate(experiment(run, problem, np.array([delta_0**0.5, 0.0])), record="distance").distance_sq[0]
    return Attained(float(centre[0]), float(centre[1]), problem, path)


def surely(run: Run, found: Attained, delta_0: Fraction, zeta_sq: Fraction) -> float:
    """A number that ||w_R||^2 of an instance of that angle and ``high`` is not below, in interval arithmetic."""
    with in_digits(SURE_DIGITS):
        mu, eta, c = (enclosed(number) for number in (run.mu, run.eta, found.angle))
        high = enclosed(min(max(Fraction(found.high), run.mu), run.L))
        c, s = c.cos(), c.sin()
        one, two, mixed = mu * c * c + high * s * s, mu * s * s + high * c * c, (mu - high) * c * s
        m, zeta = (enclosed(number).sqrt() for number in (delta_0, zeta_sq))
        for _ in range(run.rounds):
            d = arb(0)
            for _ in range(run.tau):
                m, d = m - eta * (one * m + mixed * d), d - eta * (mixed * m + two * d - zeta)
        return math.nextafter(float((m**2).lower()), 0.0)


def _hessian(mu: float, angle: Array, high: Array) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    mixed = (mu - high) * c * s
    return np.array([[mu * c * c + high * s * s, mixed], [mixed, mu * s * s + high * c * c]])


def _ends(run: Run, angle: Array, high: Array, delta_0: float, zeta_sq: float) -> Array:
    """||w_R||^2 of every instance of a grid: the client that is pulled by -zeta_* e_2, its mirror image with it."""
    (a, b), (_, c) = _hessian(float(run.mu), angle, high)
    eta, zeta, m = float(run.eta), zeta_sq**0.5, np.full(np.shape(angle), delta_0**0.5)
    for _ in range(run.rounds):
        d = np.zeros_like(m)
        for _ in range(run.tau):
            m, d = m - eta * (a * m + b * d), d - eta * (b * m + c * d - zeta)
    return m**2


def mirrored(H: Array, zeta_sq: float) -> QuadraticProblem:
    """Two clients with Hessian H and its mirror image, gradients -/+ zeta_* e_2 at w* = 0 and F* = 0."""
    mirror = np.diag([1.0, -1.0])
    both = np.stack([H, mirror @ H @ mirror])
    pull = np.array([[0.0, zeta_sq**0.5], [0.0, -(zeta_sq**0.5)]])
    own = np.linalg.solve(both, pull[..., None])[..., 0]
    return QuadraticProblem(both, own, -np.einsum("nd,nd->n", own, pull) / 2, np.full(2, 0.5))


def experiment(run: Run, problem: QuadraticProblem, start: Array) -> Experiment:
    """FedAvg with full gradients."""
    eta = float(run.eta)
    return Experiment(
        problem, FedAvg(), lambda t: eta, tau=run.tau, rounds=run.rounds, replicates=1, batch_size=None, w0=start
    )
