"""Rebuild a worst case from its Gram matrix as explicit functions, and run it in the simulator."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fedbounds.engine.replay import replay as iterates
from fedbounds.engine.simulate import simulate
from fedbounds.errors import reject
from fedbounds.evidence.assumption_checks import judged_on
from fedbounds.evidence.evaluate import evaluate, names_in
from fedbounds.evidence.measured_run import Policy, examine_run
from fedbounds.evidence.sdp.one_step.parameters import written_by
from fedbounds.evidence.sdp.one_step.point_expressions import of_weights
from fedbounds.evidence.sdp.one_step.program import Model
from fedbounds.evidence.sdp.solver import Solution
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array, Indices, Optimum, Problem
from fedbounds.theory.claim import OWN_STEPS, Claim
from fedbounds.theory.constant import Constant, Provenance
from fedbounds.theory.point_values import PointFormula
from fedbounds.theory.sample_path import Path
from fedbounds.theory.verdict import Failure

# Added to the diagonal of G, relative to its largest entry, so that the weights are unique.
RIDGE = 1e-9
# Weights above this are positive, and slopes above this lead upwards, relative to the largest of G and b.
POSITIVE, UPWARDS = 1e-13, 1e-12
# Changes of the active pieces at one point: far more than there are pieces.
CHANGES = 200
# Directions in which the worst case extends less than this part of its largest are the solver's rounding.
FLAT = 1e-9


@dataclass(frozen=True, eq=False)
class Interpolant:
    """F(x) = mu/2 ||x||^2 + the smallest convex K-smooth function through k points, K = L - mu.

    Without mu/2 ||x||^2, c_j and h_j being the gradients and values there, it is

        max over the simplex of  l . (b + C x) - l G l/2,   G = C C^T/K,   b_j = h_j - <c_j, x_j> + G_jj/2

    (Taylor, Hendrickx, Glineur, 2017), convex and K-smooth whatever the data are, also where G has a larger diagonal.
    ``slopes`` C (k, d), ``offsets`` b (k,).
    """

    mu: float
    slopes: Array
    offsets: Array
    G: Array

    @staticmethod
    def through(x: Array, slopes: Array, values: Array, mu: float, L: float) -> Interpolant:
        """The function through points x (k, d) with these slopes C and values h."""
        G = slopes @ slopes.T / (L - mu)
        G = G + RIDGE * np.abs(G).max() * np.eye(len(G))
        return Interpolant(mu, slopes, values - (slopes * x).sum(axis=1) + np.diag(G) / 2, G)

    def __call__(self, x: Array) -> tuple[Array, Array]:
        """(F, grad F) at x (B, d): (B,), (B, d)."""
        heights = self.offsets + x @ self.slopes.T
        weights = simplex_maxima(self.G, heights)
        values = (weights * (heights - weights @ self.G / 2)).sum(axis=1)
        return values + self.mu / 2 * (x**2).sum(axis=1), weights @ self.slopes + self.mu * x


def simplex_maxima(G: Array, heights: Array) -> Array:
    """argmax over the simplex of l . heights - l G l/2 for several heights (B, k): (B, k); G is positive definite.

    Pieces become active one by one, those that lead upwards most first, and leave where their weight would be
    negative.
    """
    scale = max(np.abs(G).max(), np.abs(heights).max(initial=0.0))
    result: Array = np.eye(len(G))[np.argmax(heights - np.diag(G) / 2, axis=1)]
    active: NDArray[np.bool_] = np.array(result > 0)
    todo = np.arange(len(heights))
    for _ in range(CHANGES):
        if not todo.size:
            break
        weights, price = _stationary(G, heights[todo], active[todo])
        before, mine = result[todo], active[todo]
        falls = np.logical_and(mine, weights < 0)
        ratios = np.where(falls, before / np.where(falls, before - weights, 1.0), 1.0)
        moved = before + ratios.min(axis=1, keepdims=True) * (weights - before)
        blocked = np.asarray(falls.any(axis=1))
        stays = ~blocked[:, None] | (moved > POSITIVE)
        result[todo] = np.where(blocked[:, None], np.where(stays, moved, 0.0), weights)
        slopes = np.where(mine, -np.inf, heights[todo] - weights @ G - price[:, None])
        upwards = ~blocked & (slopes.max(axis=1) > UPWARDS * scale)
        active[todo] = np.logical_and(mine, stays)
        active[todo[upwards], slopes[upwards].argmax(axis=1)] = True
        todo = todo[blocked | upwards]
    return result


def _stationary(G: Array, heights: Array, active: NDArray[Any]) -> tuple[Array, Array]:
    """(weights (B, k) with sum 1, multiplier (B,)) where the slope along active pieces is one number."""
    k = len(G)
    system = np.zeros((len(heights), k + 1, k + 1))
    system[:, :k, :k] = np.where(active[:, :, None] & active[:, None, :], G, np.eye(k))
    system[:, :k, k] = system[:, k, :k] = active
    right = np.concatenate([np.where(active, heights, 0.0), np.ones((len(heights), 1))], axis=1)
    solved = np.linalg.solve(system, right[..., None])[..., 0]
    return solved[:, :k], solved[:, k]


@dataclass(frozen=True, eq=False)
class InterpolatedProblem(Problem):
    """Clients that are interpolants through ``points``, the last of each its minimiser with F_i* = 0, and w* = 0.

    Points are positions (k, d), gradients (k, d) and values (k,); ``curvatures`` are mu and L.
    """

    kind: ClassVar[str] = "interpolated"
    points: tuple[tuple[Array, Array, Array], ...] = field(repr=False)
    p: Array = field(repr=False)
    curvatures: tuple[float, float]

    @cached_property
    def clients(self) -> tuple[Interpolant, ...]:
        """The losses."""
        mu, L = self.curvatures
        return tuple(
            Interpolant.through(x, g - mu * x, f - mu / 2 * (x**2).sum(axis=1), mu, L) for x, g, f in self.points
        )

    @property
    def d(self) -> int:
        return int(self.points[0][0].shape[1])

    @property
    def sizes(self) -> Indices:
        """Zeros (N,): these clients hold no samples."""
        return np.zeros(self.N, dtype=np.int64)

    def client_losses(self, x: Array) -> Array:
        return self._each(x)[0]

    client_excess = client_losses

    def client_grads(self, x: Array, draws: NDArray[Any] | None = None) -> Array:
        """grad F_i(x_i), without noise: (..., N, d) -> (..., N, d)."""
        return self._each(x)[1]

    def client_variance(self, x: Array, batch_size: int | None, replacement: bool = True) -> Array:
        """Zeros: these gradients are deterministic."""
        return np.zeros(np.broadcast_shapes(np.shape(x)[:-1], (self.N,)))

    @property
    def noise_lipschitz(self) -> Array:
        """Zeros (N,): there is no noise."""
        return np.zeros(self.N)

    def gap(self, w: Array) -> Array:
        return self.losses(w) @ self.p - self.optimum.value

    def argmin(self, weights: Array) -> Optimum:
        """w* for p, w_i* for a unit vector: the minimisers that are among the data."""
        weights = np.asarray(weights, dtype=float)
        if self.N > 1 and weights.max() == 1.0:
            return Optimum(self.points[int(np.argmax(weights))][0][-1], 0.0, 0.0)
        if not np.array_equal(weights, self.p):
            what = "an interpolated problem has the minimisers w* and every w_i* only"
            raise reject(what, weights, "ask for p or a unit vector")
        origin = np.zeros(self.d)
        return Optimum(origin, float(self.p @ self.losses(origin)), 0.0)

    def constants(self) -> Mapping[str, Constant]:
        note = "prescribed to the interpolation"
        named = zip(("mu", "L"), self.curvatures, strict=True)
        return {name: Constant(value, Provenance.EXACT, note) for name, value in named}

    def _each(self, x: Array) -> tuple[Array, Array]:
        x = np.broadcast_to(x, (*np.shape(x)[:-2], self.N, self.d))
        values, grads = np.empty(x.shape[:-1]), np.empty(x.shape)
        for i, client in enumerate(self.clients):
            of_client = client(x[..., i, :].reshape(-1, self.d))
            values[..., i] = of_client[0].reshape(x.shape[:-2])
            grads[..., i, :] = of_client[1].reshape(*x.shape[:-2], self.d)
        return values, grads


@dataclass(frozen=True)
class Replay:
    """A worst case run in the simulator: the claim's two sides there, with the run's own constants.

    ``failed`` are the claim's assumptions that the run breaks, ``unknown`` those that cannot be checked on it.
    """

    problem: InterpolatedProblem
    start: Array
    lhs: float
    rhs: float
    failed: tuple[Failure, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def violated(self) -> bool:
        """Whether the run itself breaks the claim, by more than its reconstruction can be off."""
        return self.lhs - self.rhs > 10 * FLAT * max(abs(self.lhs), abs(self.rhs))

    def to_json(self) -> dict[str, object]:
        """The instance's data as JSON: per client the points, gradients and values it interpolates."""
        clients = [{"x": x.tolist(), "g": g.tolist(), "f": f.tolist()} for x, g, f in self.problem.points]
        return {"start": self.start.tolist(), "clients": clients, "lhs": self.lhs, "rhs": self.rhs}


def rebuild(model: Model, solution: Solution) -> tuple[InterpolatedProblem, Array]:
    """(problem, w_t0): functions in R^r, r the rank of the Gram matrix, that interpolate the worst case."""
    eigenvalues, vectors = np.linalg.eigh(solution.gram)
    large = eigenvalues > FLAT * eigenvalues[-1]
    frame = vectors[:, large] * np.sqrt(eigenvalues[large])
    setting, points = model.setting, []
    for several in model.points:
        x, g = (np.stack([model.coordinates(getattr(q, name)) for q in several]) @ frame for name in "xg")
        points.append((x, g, np.array([model.form(q.f).lin @ solution.values for q in several])))
    p = np.array([float(v) for v in setting.p])
    problem = InterpolatedProblem(tuple(points), p, (float(setting.mu), float(setting.L)))
    return problem, frame[model.basis.index("w0")]


def replay(claim: Claim, model: Model, solution: Solution) -> Replay:
    """Run the worst case for one round in the simulator and evaluate the claim's two sides at its step."""
    setting, s = model.setting, model.setting.step
    if setting.local == "any":
        raise reject("a worst case is replayed as gradient steps", "local models of any kind", "use local steps")
    problem, start = rebuild(model, solution)
    alpha = np.array(list(map(float, setting.alpha)))
    experiment = full_gradient_run(
        problem,
        lambda p, excess, round, stream: np.broadcast_to(alpha, excess.shape).copy(),
        setting.eta,
        setting.tau,
        1,
        start,
    )
    trajectory = simulate(experiment)
    run, path = examine_run(trajectory, setting.how, Policy()), trajectory.paths[setting.how.virtual]
    measured = {
        "Delta": float(path.distance_sq[0, s]),
        "Delta_next": float(path.next_mean[0, s]),
        "drift": float(path.drift[0, s]),
        "grad_sq": float(trajectory.grad_sq[0, s, 0]),
        "excess": float(trajectory.local_excess[0, s, 0]),
    }
    models, X, weights, _ = iterates(experiment)
    along = Path(setting.tau, trajectory.eta, problem, models[setting.how.virtual][0], X[0], weights[0])
    for name, expression in written_by(claim, setting.how).items():
        measured[name] = float(PointFormula(expression)(along)[s])
    lhs, values = measured[str(claim.lhs)], {**run.values(claim.symbols), **measured, "eta": float(setting.eta[-1])}
    of_path = [q for q in claim.computed if of_weights(q) or q.statistic == "scheduled"]
    values |= {q.name: float(q.on_path(along)[s]) for q in of_path if q.name not in values}  # type: ignore[misc]
    terms = claim.sides(setting.how).terms.values()
    of_setting = {q.name: q.in_class(setting) for q in claim.computed if q.in_class and q.name not in values}
    values |= {name: float(value) for name, value in of_setting.items()}
    if lacking := sorted(set().union(*map(names_in, terms)) - values.keys()):
        return Replay(problem, start, lhs, math.inf, (), tuple(lacking))
    rhs = sum(float(np.min(evaluate(term, values))) for term in terms)
    # The experiment takes the setting's step sizes, which are the claim's own or those that were asked for.
    failed, unknown = judged_on(claim, run)
    failed = tuple(failure for failure in failed if failure.key != OWN_STEPS)
    return Replay(problem, start, lhs, rhs, failed, unknown)


def full_gradient_run(
    problem: Problem, weighting: Any, sizes: Sequence[Fraction], tau: int, rounds: int, start: Array
) -> Experiment:
    """An experiment with these step sizes, of which the last is repeated."""
    eta = list(map(float, sizes))
    return Experiment(
        problem,
        weighting,
        lambda t: eta[min(t, len(eta) - 1)],
        tau=tau,
        rounds=rounds,
        replicates=1,
        batch_size=None,
        w0=start,
    )
