"""An instance near the worst case of R rounds: two quadratics in the plane, run by Algorithm 1.

Their gradients at w* = 0 are opposite along e_2, and their Hessians have eigenvalues mu and h with turned axes: the
local models part along e_2, and the Hessians turn that into a push along e_1, away from w*. For equal weights the two
are mirror images, and two numbers are searched: the angle of the axes and h. The same run is that of any clients of
which none has more than half of the weight: their pulls of one size sum to 0 in the plane, and each has its own turn
of e_2. Where one has more, it stands against all the others; where the server's weights are not p, those who have too
much stand against the rest, with gradients that give the largest mean. Both Hessians and the start's direction are
searched for then. Weights that depend on the losses are those of the run at hand. Where F is bounded the start always
is, and one function on a line is tried besides: its curvature is L up to a point and mu beyond. Any run is a lower
bound on the worst case, up to rounding: it is computed in floating point, and enclosed by `surely` where it is to
refute. What a solver's Gram matrix shows of a run of everybody is rebuilt by `rebuilt`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from fedbounds.engine.reference import algorithm_1
from fedbounds.errors import InputError
from fedbounds.evidence.ball_arithmetic import Ball, enclosed, in_digits
from fedbounds.evidence.exact.quadratics import Quadratics
from fedbounds.evidence.sdp.multi_round.links import gradient_program
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.evidence.sdp.one_step.worst_instance import Interpolant, full_gradient_run
from fedbounds.evidence.sdp.solver import Solution
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array
from fedbounds.problems.quadratic import QuadraticProblem
from fedbounds.weightings.fedavg import FedAvg
from fedbounds.weightings.fixed import Fixed, FixedByRound

# Points a side of the search's grid, how often it is made finer, and how much; points of one at random.
POINTS, TIMES, FINER, RANDOM = 41, 6, 0.2, 2000
# Digits in which a run is enclosed: intervals grow by a small factor in each of a few hundred steps.
SURE_DIGITS = 400
# Of the fractions in which a run is exact.
DENOMINATOR = 10**6
# By what the start is turned besides, as rounding decides which of two equal losses is the larger.
ASIDE = np.array([[0.0], [1e-5], [-1e-5]])
# Directions in which a solver's worst case extends less than this part of its largest are rounding.
NOTHING = 1e-10
# (which Hessian, -grad F_i(w*) along e_2 as a signed square over zeta_*^2, alpha, p).
Client = tuple[int, Fraction, Fraction, Fraction]
# A number, its cosine, sine and root, in floats and in intervals.
FLOATS: tuple[Any, ...] = (float, np.cos, np.sin, np.sqrt)
BALLS = tuple(
    np.frompyfunc(lambda x, of=of: Ball(getattr(enclosed(x), of)()), 1, 1) for of in ("__pos__", "cos", "sin", "sqrt")
)


def _fraction_valued(of: Any) -> Any:
    """A function of floats, with a fraction of few digits as value."""
    return np.frompyfunc(lambda x: Fraction(float(of(float(x)))).limit_denominator(DENOMINATOR), 1, 1)


def _half_angle(x: Any) -> Any:
    return _fraction_valued(math.tan)(np.asarray(x, dtype=float) / 2)


# The same in fractions, of points on the circle; a root is rounded down.
FRACTIONS: tuple[Any, ...] = (
    _fraction_valued(float),
    lambda x: (1 - _half_angle(x) ** 2) / (1 + _half_angle(x) ** 2),
    lambda x: 2 * _half_angle(x) / (1 + _half_angle(x) ** 2),
    np.frompyfunc(lambda x: Fraction(math.isqrt(int(x * DENOMINATOR**2)), DENOMINATOR), 1, 1),
)


@dataclass(frozen=True)
class Attained:
    """The instance and what is measured of it.

    ``shape`` is the angles of both clients, their larger curvatures, and the angle of the start; or where the
    curvature of a function on a line falls, and there is no ``problem``.
    """

    shape: tuple[float, ...]
    problem: QuadraticProblem | None
    value: float


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
    """The best such instance, its value rounded down unless a rule makes the weights."""
    mu, L = float(run.least_curvature), float(run.L)
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
    end = float(_ends(run, shape, delta_0, zeta_sq))
    plane = Attained(tuple(map(float, shape)), instance(run, shape, zeta_sq), end)
    at, reach, result = delta_0**0.5 / 2, delta_0**0.5 / 2, plane
    for _ in range(0 if run.measure == "distance" else 2 * TIMES):
        tried = np.clip(at + reach * np.linspace(-1, 1, POINTS), delta_0**0.5 / RANDOM, delta_0**0.5)
        ends = _on_a_line(run, float, tried, delta_0**0.5, np.minimum)
        at, reach = tried[np.argmax(ends)], reach * FINER
        line = Attained((float(at),), None, float(ends.max()))
        result = max(plane, line, key=lambda candidate: candidate.value)
    if run.rule is not None:
        return result
    return replace(result, value=surely(run, result, Fraction(delta_0), Fraction(zeta_sq)))


def surely(run: Run, instance: Attained, delta_0: Fraction, zeta_sq: Fraction) -> float:
    """A number that what is measured of an instance of that shape is not below, in interval arithmetic."""
    shape = instance.shape
    with in_digits(SURE_DIGITS):
        if len(shape) == 1:
            m = enclosed(delta_0).sqrt()
            end = _on_a_line(run, enclosed, enclosed(shape[0]), m, lambda x, y: x.min(y))
        else:
            highs = (min(max(Fraction(high), run.least_curvature), run.L) for high in shape[2:4])
            end = _ends(run, (*shape[:2], *highs, shape[4]), delta_0, zeta_sq, BALLS).ball
        return math.nextafter(float(end.lower()), 0.0)


def in_fractions(run: Run, instance: Attained, delta_0: Fraction, zeta_sq: Fraction) -> float:
    """What is measured of nearly that shape, run in fractions and rounded down; in floats if the rule has exp."""
    try:
        ends = [_ends(run, instance.shape + move, delta_0, zeta_sq, FRACTIONS) for move in ASIDE * np.eye(5)[4]]
    except InputError:
        return instance.value
    return math.nextafter(float(max(ends)), 0.0)


def with_noise(run: Run, instance: Attained, sigma_sq: float) -> float:
    """E||w_R||^2 where each step of each client adds noise of that variance, in the direction that tells most.

    The clients are those of the run: two, or as many as one likes of equal weight.
    """
    several, end, value = clients(run), np.eye(2), instance.value
    turned = _hessians(quadratics(run, instance.shape, 0.0))
    for start in reversed(range(0, run.T, run.tau)):
        mean = np.zeros((2, 2))
        for i, (_, _, _, p) in enumerate(several):
            later = np.eye(2)
            for size in map(float, reversed(run.sizes[start : start + run.tau])):
                value += sigma_sq * (float(p) * size) ** 2 * float(np.linalg.eigvalsh(later.T @ end @ later)[-1])
                later = later @ (np.eye(2) - size * turned[i])
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


def quadratics(run: Run, shape: Any, zeta_sq: Any, arithmetic: tuple[Any, ...] = FLOATS) -> Quadratics:
    """The clients of a shape, or of several (P,), with w* = 0 and grad F_i(w*) along e_2."""
    number, cos, sin, root = arithmetic
    rows: list[tuple[Any, ...]] = []
    for k, pull, _, _ in clients(run):
        c, s, mu, high = (
            cos(shape[k]),
            sin(shape[k]),
            0 * shape[2 + k] + number(run.least_curvature),
            shape[2 + k] + number(0),
        )
        along = root(number(abs(pull) * zeta_sq)) * (1 if pull > 0 else -1)
        rows.append(((mu, high), (s * along / mu, c * along / high), (c, s)))
    pairs = ([np.stack(row[part], axis=-1) for row in rows] for part in range(3))
    curvatures, minima, turns = (np.stack(part, axis=-2) for part in pairs)
    p = np.array([number(client[3]) for client in clients(run)])
    return Quadratics(curvatures, minima, p, number(run.L), number(run.least_curvature), turns=turns)


def _ends(run: Run, shape: Any, delta_0: Any, zeta_sq: Any, arithmetic: tuple[Any, ...] = FLOATS) -> Any:
    """What is measured of every instance of several shapes."""
    number, cos, sin, root = arithmetic
    losses, m = quadratics(run, shape, zeta_sq, arithmetic), root(number(delta_0))
    start = begun = np.stack([m * cos(shape[4]), m * sin(shape[4])], axis=-1)
    alpha = np.array([[number(client[2]) if arithmetic is FLOATS else client[2] for client in clients(run)]])
    eta = np.array([number(size) for size in run.sizes])
    summed: Any = 0
    # The server's step comes between rounds, which are then run one by one.
    rule = run.rule or FixedByRound(alpha)
    for sizes in (eta,) if run.server == 1 else np.split(eta, run.rounds):
        for step in algorithm_1(losses, start, sizes, run.tau, rule):
            if run.measure == "average" and step.t < run.T:
                summed = summed + step.virtual(step.alpha) * number(Fraction(1, run.T))
        w = step.x[..., 0, :]
        start = w if run.server == 1 else start + (w - start) * number(run.server)
    w = summed if run.measure == "average" else start
    slope = (losses.p[..., None] * losses.grads(w)).sum(-2) if run.measure == "slope" else w
    value = (slope * slope).sum(-1) if run.measure in ("distance", "slope") else losses.gap(w)
    return value if run.start == "distance" else value / losses.gap(begun)


def _on_a_line(run: Run, number: Any, far: Any, x: Any, least: Any) -> Any:
    """What is measured, other than a distance, of one function of curvature L up to ``far`` from 0 and mu beyond."""
    mu, K, summed, start = number(run.mu), number(run.L - run.mu), 0 * far, x

    def gap(x: Any) -> Any:
        bent = least(x, far)
        return mu * x * x / 2 + K * bent * (x - bent / 2)

    known = 1 if run.start == "distance" else gap(x)
    for t, size in enumerate(run.sizes):
        summed = summed + x / run.T
        x = x - number(size) * (mu * x - K * least(far, -least(far, x)))
        if (t + 1) % run.tau == 0:
            start = x = x if run.server == 1 else start + number(run.server) * (x - start)
    x = abs(summed if run.measure == "average" else x)
    return ((mu * x + K * least(x, far)) ** 2 if run.measure == "slope" else gap(x)) / known


def instance(run: Run, shape: Array, zeta_sq: float) -> QuadraticProblem:
    """The clients of a shape, with F_i(w*) = 0 at w* = 0."""
    losses = quadratics(run, shape, zeta_sq)
    return QuadraticProblem(_hessians(losses), losses.w_i_star, -losses.client_excess(0 * losses.minima), losses.p)


def _hessians(losses: Quadratics) -> Array:
    return symmetric(*losses.hessians)


def symmetric(first: Array, mixed: Array, second: Array) -> Array:
    """Symmetric matrices (..., 2, 2) from their three entries."""
    return np.stack([np.stack([first, mixed], axis=-1), np.stack([mixed, second], axis=-1)], axis=-2)


def experiment(run: Run, problem: QuadraticProblem, start: Array) -> Experiment:
    """FedAvg, or the server's weights, with full gradients."""
    weighting = run.rule or (Fixed(tuple(map(float, run.alpha))) if run.biased else FedAvg())
    return full_gradient_run(problem, weighting, run.sizes, run.tau, run.rounds, start)


@dataclass(frozen=True, eq=False)
class MirroredClients:
    """The first of two clients that are mirror images, and the start; ``means`` coordinates are those of the mean."""

    first: Interpolant
    start: Array
    means: int

    def run(self, run: Run, eta: Array, server: Array) -> Array:
        """What R rounds measure at several step sizes, (B, 1) or (B, R), with those of the server (B,): (B,)."""
        w = np.tile(self.start, (len(eta), 1))
        for sizes in np.broadcast_to(eta, (len(eta), run.rounds)).T:
            x = w
            for _ in range(run.tau):
                x = x - sizes[:, None] * self.first(x)[1]
            w = w + server[:, None] * (np.where(np.arange(x.shape[1]) < self.means, x, 0.0) - w)
        if run.measure == "distance":
            return np.asarray((w**2).sum(axis=1))
        return np.asarray(self.first(w)[0] - self.first(np.zeros((1, w.shape[1])))[0])


def rebuilt(run: Run, solution: Solution, delta_0: float, zeta_sq: float) -> MirroredClients:
    """The clients of a solver's worst case, where the two blocks are those of the run.

    Points with the coordinates of means and deviations, in orthogonal spaces, are the first client's. Made sure
    besides are the gradient at w* = 0, a deviation of length zeta_*, and ||w_0||: so every run is a lower bound on
    its class, up to the rounding of the run.
    """
    program, frames = gradient_program(run, float, common=not zeta_sq), []
    for block in program.blocks:
        eigenvalues, vectors = np.linalg.eigh(solution.gram[np.ix_(block, block)])
        large = eigenvalues > NOTHING * eigenvalues[-1]
        frame = np.zeros((len(program.vectors), large.sum()))
        frame[block] = vectors[:, large] * np.sqrt(eigenvalues[large])
        frames.append(frame)
    frame, means = np.hstack(frames), frames[0].shape[1]
    x, c = (
        np.stack([program.coordinates(getattr(point, name)) for point in program.points]) @ frame for name in "xg"
    )
    c[-1, :means] = 0.0
    c[-1] *= np.sqrt(zeta_sq) / (np.linalg.norm(c[-1]) or 1.0)
    values = np.array([program.form(point.f).lin @ solution.values for point in program.points])
    first = Interpolant.through(x, c, values, float(run.mu), float(run.L))
    # At w* the piece of w* is the one that is active.
    first.offsets[:] = np.minimum(first.offsets, first.offsets[-1] - first.G[-1, -1] + first.G[-1])
    start = np.where(np.arange(x.shape[1]) < means, x[0], 0.0)
    return MirroredClients(first, start * np.sqrt(delta_0) / np.linalg.norm(start), means)
