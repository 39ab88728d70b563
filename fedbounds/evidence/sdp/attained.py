"""An instance near the worst case of R rounds: two quadratics in the plane, run in the engine.

Their gradients at w* = 0 are opposite along e_2, and their Hessians have eigenvalues mu and h with turned axes: the
local models part along e_2, and the Hessians turn that into a push along e_1, away from w*. For equal weights the two
are mirror images, and two numbers are searched: the angle of the axes and h. The same run is that of any clients of
which none has more than half of the weight: their pulls of one size sum to 0 in the plane, and each has its own turn
of e_2. Where one has more, it stands against all the others; where the server's weights are not p, those who have too
much stand against the rest, with gradients that give the largest mean. Both Hessians are searched for then, and the
direction of the start. Whatever is found, the run is a lower bound on the worst case, up to
rounding: it is computed in floating point, and enclosed by `surely` where it is to refute.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fedbounds.engine.simulate import simulate
from fedbounds.evidence.digits import enclosed, in_digits
from fedbounds.evidence.sdp.horizon import Run
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array
from fedbounds.problems.quadratic import QuadraticProblem
from fedbounds.weightings.fedavg import FedAvg
from fedbounds.weightings.fixed import Fixed

# Points a side of the search's grid, how often it is made finer, and how much; points of one at random.
POINTS, TIMES, FINER, RANDOM = 41, 6, 0.2, 2000
# Digits in which a run is enclosed: intervals grow by a small factor in each of a few hundred steps.
SURE_DIGITS = 400


@dataclass(frozen=True)
class Attained:
    """The instance and ||w_r||^2 after every round as it was run: (R + 1,).

    ``shape`` is the angles of both clients, their larger curvatures, and the angle of the start.
    """

    shape: tuple[float, ...]
    problem: QuadraticProblem
    path: Array

    @property
    def value(self) -> float:
        return float(self.path[-1])


def clients(run: Run) -> list[tuple[int, Fraction, Fraction, Fraction]]:
    """(which Hessian, signed square of -grad F_i(w*) along e_2 over zeta_*^2, alpha, p) of the instance's clients."""
    if run.exact:
        return [(k, Fraction(sign), Fraction(1, 2), Fraction(1, 2)) for k, sign in enumerate((1, -1))]
    if not run.biased:
        p = max(run.p)
        return [(0, (1 - p) / p, p, p), (1, -p / (1 - p), 1 - p, 1 - p)]
    most = run.spread[1]
    pairs = zip(run.alpha, run.p, strict=True)
    return [(int(a <= p), (a - p) * abs(a - p) / (p**2 * most), a, p) for a, p in pairs]


def attained(run: Run, delta_0: float = 1.0, zeta_sq: float = 1.0) -> Attained:
    """The best such instance, replayed."""
    mu, L = float(run.mu), float(run.L)
    centre, reach = np.array([np.pi / 4, (mu + L) / 2]), np.array([np.pi / 4, (L - mu) / 2])
    for _ in range(TIMES):
        angles, highs = (c + r * np.linspace(-1, 1, POINTS) for c, r in zip(centre, reach, strict=True))
        angle, high = np.meshgrid(angles, np.clip(highs, mu, L), indexing="ij")
        best = np.argmax(_ends(run, (angle, -angle, high, high, 0 * high), delta_0, zeta_sq))
        centre, reach = np.array([angle.flat[best], high.flat[best]]), reach * FINER
    angle, high = centre
    shape = np.array([angle, -angle, high, high, 0.0])
    reach, rng = np.array([np.pi / 2, np.pi / 2, L - mu, L - mu, np.pi / 2]), np.random.default_rng(0)
    for _ in range(0 if run.exact else 2 * TIMES):
        tried = shape[:, None] + reach[:, None] * np.append(np.zeros((5, 1)), rng.uniform(-1, 1, (5, RANDOM)), axis=1)
        tried[2:4] = np.clip(tried[2:4], mu, L)
        shape, reach = tried[:, np.argmax(_ends(run, tuple(tried), delta_0, zeta_sq))], reach / 2
    problem, start = instance(run, shape, zeta_sq), delta_0**0.5 * np.array([np.cos(shape[4]), np.sin(shape[4])])
    path: Array = simulate(experiment(run, problem, start), record="distance").distance_sq[0]
    return Attained(tuple(map(float, shape)), problem, path)


def surely(run: Run, found: Attained, delta_0: Fraction, zeta_sq: Fraction) -> float:
    """A number that ||w_R||^2 of an instance of that shape is not below, in interval arithmetic."""
    with in_digits(SURE_DIGITS):
        angles, highs = found.shape[:2], (min(max(Fraction(high), run.mu), run.L) for high in found.shape[2:4])
        turned = [
            _hessian(enclosed(run.mu), c.cos(), c.sin(), enclosed(high))
            for c, high in zip(map(enclosed, angles), highs, strict=True)
        ]
        several = [
            (*turned[k], enclosed(abs(pull) * zeta_sq).sqrt() * (1 if pull > 0 else -1), enclosed(alpha))
            for k, pull, alpha, _ in clients(run)
        ]
        m, start = enclosed(delta_0).sqrt(), enclosed(found.shape[4])
        end = _run(run, enclosed(run.eta), several, (m * start.cos(), m * start.sin()))
        return math.nextafter(float(end.lower()), 0.0)


def _hessian(mu: Any, c: Any, s: Any, high: Any) -> tuple[Any, Any, Any]:
    """(first, mixed, second) entries, of eigenvalues mu and high."""
    return mu * c * c + high * s * s, (mu - high) * c * s, mu * s * s + high * c * c


def _ends(run: Run, shape: tuple[Array, ...], delta_0: float, zeta_sq: float) -> Any:
    """||w_R||^2 of every instance of several shapes."""
    turned = _turned(run, shape)
    several = [(*turned[k], pull, float(alpha)) for (k, _, alpha, _), pull in _pulled(run, zeta_sq)]
    start = delta_0**0.5 * np.cos(shape[4]), delta_0**0.5 * np.sin(shape[4])
    return _run(run, float(run.eta), several, start)


def _turned(run: Run, shape: Iterable[Any]) -> list[tuple[Any, Any, Any]]:
    """Both Hessians."""
    one, other, high, higher, _ = shape
    return [_hessian(float(run.mu), np.cos(a), np.sin(a), h) for a, h in ((one, high), (other, higher))]


def _pulled(run: Run, zeta_sq: float) -> list[tuple[tuple[int, Fraction, Fraction, Fraction], float]]:
    """Each of `clients` with -grad F_i(w*) along e_2."""
    return [(one, math.copysign(math.sqrt(abs(one[1]) * zeta_sq), one[1])) for one in clients(run)]


def _run(run: Run, eta: Any, clients: list[tuple[Any, ...]], w: tuple[Any, Any]) -> Any:
    """||w_R||^2 of clients (three entries of the Hessian, pull, weight), in any arithmetic."""
    for _ in range(run.rounds):
        ends = [_local(run.tau, eta, client, w) for client in clients]
        weights = [client[-1] for client in clients]
        w = tuple(sum(weight * end[k] for weight, end in zip(weights, ends, strict=True)) for k in (0, 1))
    return w[0] * w[0] + w[1] * w[1]


def _local(tau: int, eta: Any, client: tuple[Any, ...], w: tuple[Any, Any]) -> tuple[Any, Any]:
    (first, mixed, second, pull, _), (x, y) = client, w
    for _ in range(tau):
        x, y = x - eta * (first * x + mixed * y), y - eta * (mixed * x + second * y - pull)
    return x, y


def instance(run: Run, shape: Array, zeta_sq: float) -> QuadraticProblem:
    """The clients of a shape, with F_i(w*) = 0 at w* = 0."""
    turned, several = _turned(run, shape), _pulled(run, zeta_sq)
    H = np.array([[[a, b], [b, c]] for a, b, c in (turned[one[0]] for one, _ in several)])
    pull = np.array([[0.0, pull] for _, pull in several])
    own = np.linalg.solve(H, pull[..., None])[..., 0]
    p = np.array([float(one[3]) for one, _ in several])
    return QuadraticProblem(H, own, -np.einsum("nd,nd->n", own, pull) / 2, p)


def experiment(run: Run, problem: QuadraticProblem, start: Array) -> Experiment:
    """FedAvg, or the server's weights, with full gradients."""
    eta = float(run.eta)
    weighting = Fixed(tuple(map(float, run.alpha))) if run.biased else FedAvg()
    return Experiment(
        problem, weighting, lambda t: eta, tau=run.tau, rounds=run.rounds, replicates=1, batch_size=None, w0=start
    )
