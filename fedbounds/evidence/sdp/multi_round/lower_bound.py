"""An instance near the worst case of R rounds: two quadratics in the plane, run in the engine.

Their gradients at w* = 0 are opposite along e_2, and their Hessians have eigenvalues mu and h with turned axes: the
local models part along e_2, and the Hessians turn that into a push along e_1, away from w*. For equal weights the two
are mirror images, and two numbers are searched: the angle of the axes and h. The same run is that of any clients of
which none has more than half of the weight: their pulls of one size sum to 0 in the plane, and each has its own turn
of e_2. Where one has more, it stands against all the others; where the server's weights are not p, those who have too
much stand against the rest, with gradients that give the largest mean. Both Hessians and the start's direction are
searched for then. Where F is bounded the start always is, and one function on a line is tried besides: its curvature
is L up to a point and mu beyond. Any run is a lower bound on the worst case, up to rounding: it is computed in
floating point, and enclosed by `surely` where it is to refute.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fedbounds.algorithms.fedavg import FedAvg as WithServerStep
from fedbounds.engine.algorithms import run_algorithm
from fedbounds.engine.simulate import simulate
from fedbounds.evidence.ball_arithmetic import enclosed, in_digits
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array
from fedbounds.problems.quadratic import QuadraticProblem
from fedbounds.weightings.fedavg import FedAvg
from fedbounds.weightings.fixed import Fixed

# Points a side of the search's grid, how often it is made finer, and how much; points of one at random.
POINTS, TIMES, FINER, RANDOM = 41, 6, 0.2, 2000
# Digits in which a run is enclosed: intervals grow by a small factor in each of a few hundred steps.
SURE_DIGITS = 400
# (which Hessian, -grad F_i(w*) along e_2 as a signed square over zeta_*^2, alpha, p).
Client = tuple[int, Fraction, Fraction, Fraction]


@dataclass(frozen=True)
class Attained:
    """The instance and what is measured after every round as it was run: (R + 1,), or on a line after the last.

    ``shape`` is the angles of both clients, their larger curvatures, and the angle of the start; or where the
    curvature of a function on a line falls, and there is no ``problem``.
    """

    shape: tuple[float, ...]
    problem: QuadraticProblem | None
    path: Array

    @property
    def value(self) -> float:
        return float(self.path[-1])


def clients(run: Run) -> list[Client]:
    """The instance's clients."""
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
    for _ in range(0 if run.exact and run.star == run.T else 2 * TIMES):
        tried = shape[:, None] + reach[:, None] * np.append(np.zeros((5, 1)), rng.uniform(-1, 1, (5, RANDOM)), axis=1)
        tried[2:4] = np.clip(tried[2:4], mu, L)
        shape, reach = tried[:, np.argmax(_ends(run, tuple(tried), delta_0, zeta_sq))], reach / 2
    problem, start = instance(run, shape, zeta_sq), delta_0**0.5 * np.array([np.cos(shape[4]), np.sin(shape[4])])
    plane = Attained(tuple(map(float, shape)), problem, _path(run, problem, start))
    if run.star == run.T:
        return plane
    at, reach = delta_0**0.5 / 2, delta_0**0.5 / 2
    for _ in range(2 * TIMES):
        tried = np.clip(at + reach * np.linspace(-1, 1, POINTS), 0, delta_0**0.5)
        ends = _on_a_line(run, float, tried, delta_0**0.5, np.minimum)
        at, reach = tried[np.argmax(ends)], reach * FINER
    line = Attained((float(at),), None, ends.max(keepdims=True))
    return max(plane, line, key=lambda one: one.value)


def _path(run: Run, problem: QuadraticProblem, start: Array) -> Array:
    """What is measured after every round, of a mean of no iterate w_0."""
    begun = experiment(run, problem, start)
    if run.measure == "average":
        w: Any = simulate(begun, record="iterates").w
        means = [w[0, : max(1, r * run.tau)].mean(axis=0) for r in range(run.rounds + 1)]
        return np.array([float(problem.gap(item)) for item in means])
    if run.server == 1:
        trajectory = simulate(begun, record="distance")
    else:
        trajectory = run_algorithm(WithServerStep(float(run.server)), begun)
    path: Array = (trajectory.distance_sq if run.measure == "distance" else trajectory.gap)[0]
    return path


def surely(run: Run, instance: Attained, delta_0: Fraction, zeta_sq: Fraction) -> float:
    """A number that what is measured of an instance of that shape is not below, in interval arithmetic."""
    shape = instance.shape
    with in_digits(SURE_DIGITS):
        m = enclosed(delta_0).sqrt()
        if len(shape) == 1:
            end = _on_a_line(run, enclosed, enclosed(shape[0]), m, lambda x, y: x.min(y))
            return math.nextafter(float(end.lower()), 0.0)
        angles, highs = map(enclosed, shape[:2]), (min(max(Fraction(high), run.mu), run.L) for high in shape[2:4])
        turned = [
            _hessian(enclosed(run.mu), c.cos(), c.sin(), enclosed(h)) for c, h in zip(angles, highs, strict=True)
        ]
        several = [
            (*turned[k], enclosed(abs(pull) * zeta_sq).sqrt() * (1 if pull > 0 else -1), enclosed(alpha))
            for k, pull, alpha, _ in clients(run)
        ]
        direction = enclosed(shape[4])
        end = _run(run, enclosed, several, (m * direction.cos(), m * direction.sin()))
        return math.nextafter(float(end.lower()), 0.0)


def with_noise(run: Run, instance: Attained, sigma_sq: float) -> float:
    """E||w_R||^2 where each step of each client adds noise of that variance, in the direction that tells most.

    The clients are those of the run: two, or as many as one likes of equal weight.
    """
    several, end, value = clients(run), np.eye(2), instance.value
    turned = [np.array([[a, b], [b, c]]) for a, b, c in _turned(run, instance.shape)]
    for start in reversed(range(0, run.T, run.tau)):
        mean = np.zeros((2, 2))
        for k, _, _, p in several:
            later = np.eye(2)
            for size in map(float, reversed(run.sizes[start : start + run.tau])):
                value += sigma_sq * (float(p) * size) ** 2 * float(np.linalg.eigvalsh(later.T @ end @ later)[-1])
                later = later @ (np.eye(2) - size * turned[k])
            mean += float(p) * later
        end = mean.T @ end @ mean
    return value


def alike(run: Run, delta_0: Fraction, noise: Fraction) -> Fraction:
    """The same of equal clients of one curvature, ``noise`` being the variance of the mean of their noise."""
    ends = []
    for curvature in (run.mu, run.L):
        factor, added = Fraction(1), Fraction(0)
        for size in reversed(run.sizes):
            added, factor = added + (size * factor) ** 2, factor * (1 - size * curvature)
        ends.append(factor**2 * delta_0 + noise * added)
    return max(ends)


def _hessian(mu: Any, c: Any, s: Any, high: Any) -> tuple[Any, Any, Any]:
    """(first, mixed, second) entries, of eigenvalues mu and high."""
    return mu * c * c + high * s * s, (mu - high) * c * s, mu * s * s + high * c * c


def _turned(run: Run, shape: Iterable[Any]) -> list[tuple[Any, Any, Any]]:
    """Both Hessians."""
    one, other, high, higher, _ = shape
    return [_hessian(float(run.mu), np.cos(a), np.sin(a), h) for a, h in ((one, high), (other, higher))]


def _pulls(run: Run, zeta_sq: float) -> list[float]:
    """-grad F_i(w*) along e_2 of each of `clients`."""
    return [math.copysign(math.sqrt(abs(client[1]) * zeta_sq), client[1]) for client in clients(run)]


def _ends(run: Run, shape: tuple[Array, ...], delta_0: float, zeta_sq: float) -> Any:
    """What is measured of every instance of several shapes."""
    turned, pulls = _turned(run, shape), _pulls(run, zeta_sq)
    several = [(*turned[item[0]], pull, float(item[2])) for item, pull in zip(clients(run), pulls, strict=True)]
    start = delta_0**0.5 * np.cos(shape[4]), delta_0**0.5 * np.sin(shape[4])
    return _run(run, float, several, start)


def _run(run: Run, number: Any, clients: list[tuple[Any, ...]], w: tuple[Any, Any]) -> Any:
    """What is measured of clients (three entries of the Hessian, pull, weight), in any arithmetic."""
    sizes, server = [number(size) for size in run.sizes], number(run.server)

    def mean(several: list[Any], *places: int) -> tuple[Any, ...]:
        weighted = list(zip((client[-1] for client in clients), several, strict=True))
        return tuple(sum(weight * item[k] for weight, item in weighted) for k in places)

    def moved(eta: Any, client: tuple[Any, ...], x: Any, y: Any) -> tuple[Any, Any]:
        first, mixed, second, pull, _ = client
        return x - eta * (first * x + mixed * y), y - eta * (mixed * x + second * y - pull)

    summed: tuple[Any, ...] = (0, 0)
    for t, size in enumerate(sizes):
        if t % run.tau == 0:
            several = [w] * len(clients)
        if run.measure == "average":
            summed = tuple(a + b / run.T for a, b in zip(summed, mean(several, 0, 1), strict=True))
        several = [moved(size, client, *item) for client, item in zip(clients, several, strict=True)]
        if (t + 1) % run.tau == 0:
            w = _served(run, server, w, mean(several, 0, 1))
    x, y = summed if run.measure == "average" else w
    if run.measure == "distance":
        return x * x + y * y
    first, mixed, second = mean(list(clients), 0, 1, 2)
    return (first * x * x + 2 * mixed * x * y + second * y * y) / 2


def _served(run: Run, server: Any, start: tuple[Any, ...], mean: tuple[Any, ...]) -> tuple[Any, ...]:
    """The server's model after a round from ``start`` whose local models have that mean."""
    if run.server == 1:
        return mean
    return tuple(w + server * (x - w) for w, x in zip(start, mean, strict=True))


def _on_a_line(run: Run, number: Any, far: Any, x: Any, least: Any) -> Any:
    """F - F* where it is measured, of one function of curvature L up to ``far`` from 0 and mu beyond."""
    mu, K, summed, start = number(run.mu), number(run.L - run.mu), 0 * far, x
    for t, size in enumerate(run.sizes):
        start = x if t % run.tau == 0 else start
        summed = summed + x / run.T
        x = x - number(size) * (mu * x - K * least(far, -least(far, x)))
        if (t + 1) % run.tau == 0:
            (x,) = _served(run, number(run.server), (start,), (x,))
    x = abs(summed if run.measure == "average" else x)
    bent = least(x, far)
    return mu * x * x / 2 + K * bent * (x - bent / 2)


def instance(run: Run, shape: Array, zeta_sq: float) -> QuadraticProblem:
    """The clients of a shape, with F_i(w*) = 0 at w* = 0."""
    several, turned = clients(run), _turned(run, shape)
    H = np.array([[[a, b], [b, c]] for a, b, c in (turned[item[0]] for item in several)])
    pull = np.array([[0.0, pull] for pull in _pulls(run, zeta_sq)])
    own = np.linalg.solve(H, pull[..., None])[..., 0]
    p = np.array([float(item[3]) for item in several])
    return QuadraticProblem(H, own, -np.einsum("nd,nd->n", own, pull) / 2, p)


def experiment(run: Run, problem: QuadraticProblem, start: Array) -> Experiment:
    """FedAvg, or the server's weights, with full gradients."""
    sizes, alpha = ([float(item) for item in given] for given in (run.sizes, run.alpha))
    weighting = Fixed(tuple(alpha)) if run.biased else FedAvg()
    return Experiment(
        problem,
        weighting,
        lambda t: sizes[min(t, run.T - 1)],
        tau=run.tau,
        rounds=run.rounds,
        replicates=1,
        batch_size=None,
        w0=start,
    )
