"""Methods with the least worst case: steps by exchange; with noise, absent clients or weights by local searches.

By exchange every instance is run at every method of a grid, so that the largest of its values is a lower bound there.
The method where that is least is asked for its worst case, whose instance joins the others (Blankenship and Falk,
1976). Where both meet the grid is made finer around the best method. The upper bound is that of one method; the lower
one is the least over the grid, run in floating point.

A step with noise or absent clients is searched for a few apart, then between the neighbours of the best; weights from
alpha = p and from equal ones, at eta_s = 1, without a lower bound. What no step size of a random run is below is the
largest value of a few instances over a grid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import reject
from fedbounds.evidence.sdp.multi_round.bound import COMMON, EVERY_CLIENT, solved, upper_bound
from fedbounds.evidence.sdp.multi_round.links import gradient_program, of_clients
from fedbounds.evidence.sdp.multi_round.lower_bound import MirroredClients, rebuilt
from fedbounds.evidence.sdp.multi_round.participation_lower_bound import sampled, second_moments
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.evidence.sdp.solver import Solved

Array = NDArray[Any]
# Points of the grid a side, and the least eta L on it: below, local steps are one step as long as all of them.
POINTS, LEAST = 40, 1e-3
# Points of a grid over a step a round, in all.
SCHEDULES = 4096
# Significant digits of step sizes.
DIGITS = 8
# Curvatures of the equal clients that are run before anything is solved, from mu to L.
CURVATURES = 9
# Both bounds meet where they differ by less, relatively.
MEET = 2e-4
# The most worst cases of a search: where not every inequality is used its instances stay below them.
MOST, MOST_FEWER = 150, 25
# Worst cases below this part of Delta_0 are the solver's rounding.
RESOLVED = 1e-7
# How often the grid is made finer.
FINER = 12
# eta L of the first step sizes, the digits of steps and weights, and the logarithm at which a search ends.
FIRST, FEW_DIGITS, CLOSE = np.geomspace(1e-3, 1.95, 10), 6, 1e-3
# What the best step size is multiplied by where instances are searched for, and how many are on their grid.
AROUND, GRID = (0.5, 0.8, 1.0, 1.25, 2.0), 81
# Evaluations of a search for weights, and where it ends: in the logarithms of ratios of weights, and relatively.
EVALUATIONS, NEAR, ACCURATE = 120, 1e-4, 1e-7
# Weights that gain less than this, relatively, over alpha = p are p.
GAIN = 1e-5


@dataclass(frozen=True)
class Found:
    """The best run of a search, its worst case, and what no method of its grid is below."""

    run: Run
    worst: float
    lower: float | None


class _Grid:
    """Methods (eta, eta_s) with the largest value of any instance there, and the worst cases that were computed.

    A method is given by eta L and ``reach`` = eta_s (1 - (1 - eta L)^tau), by which a round shortens the way of a
    client of curvature L: beyond 2 it lengthens it. Without a server's step ``reach`` follows from eta. ``varied``
    step sizes there are, one or that of each round.
    """

    def __init__(self, run: Run, delta_0: float, zeta_sq: float, server: bool, varied: int = 1) -> None:
        self.run, self.delta_0, self.zeta_sq, self.server, self.varied = run, delta_0, zeta_sq, server, varied
        self.eta, self.reach = np.empty((0, varied)), np.empty(0)
        self.values = self.solved = np.empty(0)
        self.instances: list[MirroredClients] = []
        points = POINTS if varied == 1 else min(POINTS, int(SCHEDULES ** (1 / varied) + 1e-9))
        self.width = np.log(2 / LEAST) / points, 1 / POINTS
        reach = (np.arange(POINTS) + 0.5) * 2 / POINTS if server else np.zeros(1)
        self.add(*_products([np.geomspace(LEAST, 1.99, points)] * varied, reach))

    def steps(self, eta: Array, reach: Array) -> tuple[Array, Array]:
        """(eta, eta_s)."""
        L, whole = float(self.run.L), 1 - (1 - eta[:, 0]) ** self.run.tau
        return eta / L, reach / whole if self.server else np.ones(len(eta))

    def add(self, eta: Array, reach: Array) -> None:
        values = self.of_equal_clients(*self.steps(eta, reach))
        for instance in reversed(self.instances):
            self.raise_values(instance, values, eta, reach)
        self.eta, self.reach = np.concatenate([self.eta, eta]), np.append(self.reach, reach)
        self.values = np.append(self.values, values)
        self.solved = np.append(self.solved, np.full(len(eta), np.nan))

    def of_equal_clients(self, eta: Array, server: Array) -> Array:
        """The largest value of equal quadratic clients."""
        run, values = self.run, np.zeros(len(eta))
        for h in np.linspace(float(run.mu), float(run.L), CURVATURES):
            factor = 1 - server[:, None] * (1 - (1 - eta * h) ** run.tau)
            with np.errstate(over="ignore"):
                square = factor.prod(axis=1) ** (2 * run.rounds // self.varied) * self.delta_0
            values = np.maximum(values, square if run.measure == "distance" else h / 2 * square)
        return values

    def method(self, k: int) -> Run:
        (etas,), (server,) = self.steps(self.eta[[k]], self.reach[[k]])
        *sizes, last = (Fraction(f"{value:.{DIGITS}g}") for value in (*etas, server))
        eta = sizes[0] if self.varied == 1 else tuple(size for size in sizes for _ in range(self.run.tau))
        return replace(self.run, eta=eta, server=last)

    @property
    def upper(self) -> float:
        return float(np.nanmin(self.solved, initial=np.inf))

    @property
    def candidate(self) -> int:
        """The method that may be the best: the worst cases that are not known are taken as low as they may be."""
        return int(np.argmin(np.where(np.isnan(self.solved), self.values, self.solved)))

    def solve(self, k: int) -> None:
        """Compute the worst case of a method, and run its instance at every method that may be better."""
        run = self.method(k)
        program = gradient_program(run, float, common=not self.zeta_sq)
        solution = solved(program, Fraction(self.delta_0), Fraction(self.zeta_sq))
        solvable = solution.outcome is Solved.OPTIMAL
        self.solved[k] = solution.value if solvable else np.inf
        if solvable:
            instance = rebuilt(run, solution, self.delta_0, self.zeta_sq)
            self.instances.append(instance)
            self.raise_values(instance, self.values, self.eta, self.reach)

    def raise_values(self, instance: MirroredClients, values: Array, eta: Array, reach: Array) -> None:
        """Run an instance at the methods that may still be better than the best, in place."""
        open_ = np.flatnonzero(values < self.upper * (1 - MEET / 2))
        ends = instance.run(self.run, *self.steps(eta[open_], reach[open_]))
        values[open_] = np.maximum(values[open_], ends)

    def refine(self, k: int) -> None:
        """Add methods around one, at half the distances of before."""
        self.width = self.width[0] / 2, self.width[1] / 2
        around = np.arange(-2, 3) if self.varied <= 2 else np.arange(-1, 2)
        etas = [eta * np.exp(around * self.width[0]) for eta in self.eta[k]]
        eta, reach = _products(
            etas, self.reach[k] * np.exp(around * self.width[1]) if self.server else self.reach[[k]]
        )
        inside = (eta < 2).all(axis=1) & (reach < 2)
        self.add(eta[inside], reach[inside])


def _products(etas: Sequence[Array], reach: Array) -> tuple[Array, Array]:
    """Every choice of step sizes (B, k) and of reach (B,)."""
    *sides, last = (side.ravel() for side in np.meshgrid(*etas, reach))
    return np.stack(sides, axis=1), last


def best_steps(
    run: Run, delta_0: Fraction, zeta_sq: Fraction, server: bool = True, known: Sequence[float] = (), varied: int = 1
) -> Found:
    """The constant eta, and eta_s unless it is 1, that make the worst case of the run the least.

    ``known`` are values of eta L that are tried at eta_s = 1 besides. With ``varied`` = R there is one eta a round.
    """
    grid, finer = _Grid(run, float(delta_0), float(zeta_sq), server and run.tau > 1, varied), 0
    usual = np.array([2 / (1 + float(run.mu / run.L)), *known])
    grid.add(np.tile(usual[:, None], (1, varied)), 1 - (1 - usual) ** run.tau)
    for _ in range(FINER + (MOST if run.short else MOST_FEWER)):
        k = grid.candidate
        if np.isnan(grid.solved[k]) and grid.values[k] < grid.upper * (1 - MEET):
            grid.solve(k)
        elif finer < FINER:
            grid.refine(int(np.nanargmin(grid.solved)))
            finer += 1
        else:
            break
    if not np.isfinite(grid.upper):
        raise reject("no worst case was computed", f"{run.T} steps", "take fewer rounds, or zeta_* nearer to 1")
    if grid.upper < RESOLVED * float(delta_0):
        what = f"a worst case below {RESOLVED:g} Delta_0 is beyond the solver's accuracy"
        raise reject(what, f"{grid.upper:.2g} after {run.T} steps", "take fewer rounds, or a larger kappa or zeta_*")
    best = int(np.nanargmin(grid.solved))
    return Found(grid.method(best), grid.upper, min(float(grid.values.min()), grid.upper))


def _least_step(value: Callable[[float], float], close: float) -> float:
    """The logarithm of eta L of the least value."""
    from scipy.optimize import minimize_scalar

    logs = np.log(FIRST)
    k = int(np.argmin([value(log) for log in logs]))
    ends = logs[max(k - 1, 0)], logs[min(k + 1, len(logs) - 1)]
    return float(minimize_scalar(value, bounds=ends, method="bounded", options={"xatol": close}).x)


def best_step(run: Run, delta_0: Fraction, zeta_sq: Fraction, sigma_sq: Fraction) -> Found:
    """The local step with the least bound, and what no step of a grid is below."""
    tried: dict[Fraction, float] = {}

    def value(log: float) -> float:
        at = _at(run, [log])
        bound = upper_bound(at, delta_0, zeta_sq, sigma_sq)
        if bound is None:
            return np.inf
        return tried.setdefault(at.sizes[0], bound.value)

    _least_step(value, CLOSE)
    if not tried:
        raise reject("no worst case was proved", f"{run.T} steps", "take fewer rounds")
    best = replace(run, eta=min(tried, key=lambda eta: tried[eta]))
    return Found(best, tried[best.sizes[0]], lower_bound_over_steps(best, delta_0, zeta_sq, sigma_sq))


def lower_bound_over_steps(run: Run, delta_0: Fraction, zeta_sq: Fraction, sigma_sq: Fraction) -> float:
    """The least over step sizes of the largest value of instances, which are searched for around the run's."""
    at, present = (float(delta_0), float(zeta_sq), float(sigma_sq)), run.present or (2, 2)
    sizes = [min(float(run.sizes[0]) * factor, float(FIRST[-1] / run.L)) for factor in AROUND]
    shapes = [sampled(replace(run, eta=Fraction(size), present=present), *at)[1] for size in sizes]
    whole, near = np.geomspace(FIRST[0], FIRST[-1], GRID) / float(run.L), np.linspace(sizes[1], sizes[3], GRID)
    runs = (replace(run, eta=Fraction(float(size)), present=present) for size in (*whole, *near))
    return min(float(second_moments(each, np.stack(shapes, axis=-1), *at).max()) for each in runs)


def best_weights(run: Run, delta_0: Fraction, zeta_sq: Fraction) -> tuple[Found, Found]:
    """(the best eta and alpha found, the best eta found for alpha = p), each with the solver's worst case."""
    from scipy.optimize import minimize

    if len(run.p) * run.T > EVERY_CLIENT:
        what = f"weights are searched for up to {EVERY_CLIENT} gradients of all clients in all"
        raise reject(what, f"{run.T} steps of {len(run.p)} clients", "take fewer")

    def value(x: Any) -> float:
        if not np.log(FIRST[0]) <= x[0] <= np.log(FIRST[-1]):
            return float("inf")
        at = _at(run, x)
        solution = solved(of_clients(at, float)[0], delta_0, zeta_sq or COMMON * at.L**2 * delta_0)
        return solution.value if np.isfinite(solution.value) else float("inf")

    log = _least_step(lambda log: value([log]), NEAR)
    usual = value([log])
    best, least = [log], usual
    p = np.array([float(item) for item in run.p])
    for ratios in (np.log(p[1:] / p[0]), np.zeros(len(p) - 1)):
        options = {"maxfev": EVALUATIONS, "xatol": NEAR, "fatol": ACCURATE}
        result = minimize(value, np.append(log, ratios), method="Nelder-Mead", options=options)
        if result.fun < min(least, usual * (1 - GAIN)):
            best, least = result.x, float(result.fun)
    return Found(_at(run, best), least, None), Found(_at(run, [log]), usual, None)


def _at(run: Run, x: Any) -> Run:
    """log eta L, and then where there are more the logarithms of alpha_i/alpha_1."""
    eta = Fraction(f"{np.exp(x[0]):.{FEW_DIGITS}g}") / run.L
    if len(x) == 1:
        return replace(run, eta=eta)
    ratios = np.exp(np.clip(np.append(0.0, x[1:]), -12, 12))
    alpha = [Fraction(f"{value:.{FEW_DIGITS}f}") for value in ratios[1:] / ratios.sum()]
    return replace(run, eta=eta, alpha=(max(1 - sum(alpha, Fraction(0)), Fraction(0)), *alpha))
