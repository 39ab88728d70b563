"""Evidence on theorems that FedAvg's referee cannot try: other algorithms, lower bounds, leading terms.

Expectations are exact wherever chance is finite: Scaffnew's coins are enumerated, a client drawn at random is every
client in turn, and a chain in one dimension is integrated by quadrature.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import sympy as sp

from fedbounds.algorithms.scaffnew import Scaffnew
from fedbounds.engine.algorithms import run_algorithm
from fedbounds.evidence.assumption_checks import in_floats
from fedbounds.evidence.empirical.bands import band
from fedbounds.evidence.evaluate import evaluate
from fedbounds.model.algorithm import Round
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array, Problem
from fedbounds.model.schedule import ConstantStep
from fedbounds.plugins import algorithm_named
from fedbounds.problems.least_squares import LeastSquaresProblem
from fedbounds.problems.quadratic import QuadraticProblem, quadratic
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import Delta_T
from fedbounds.weightings.fedavg import FedAvg

# Family-wise error rate of what replicates are compared with.
ERROR_RATE = 1e-3
# Bounds that are attained are computed with errors of a few units in the last place.
ROUNDING = 1e-9
# Paths of coins enumerated at once: 2^12 of a few small vectors.
LONGEST = 12
# Directions of a grid of step sizes: so many a factor of ten.
GRID = 400


@dataclass(frozen=True)
class Tried:
    """A claim on one run: its ``verdict`` in words, and the smallest ``ratio`` bound over measured."""

    verdict: str
    ratio: float = math.nan


def constants(problem: Problem, experiment: Experiment) -> dict[str, float]:
    """What a claim on the distance may speak of with constant steps, exact for quadratics with additive noise."""
    slopes = problem.grads(problem.w_star)
    noise = problem.client_variance(np.tile(problem.w_star, (problem.N, 1)), experiment.batch_size)
    steps = experiment.eta
    return {
        "L": problem.L,
        "mu": problem.mu,
        "N": float(problem.N),
        "tau": float(experiment.tau),
        "eta_0": float(steps(0)),
        "eta": float(steps(0)),
        "t": 0.0,
        "Delta_0": float(((experiment.start - problem.w_star) ** 2).sum()),
        "zeta_star_sq": float(problem.p @ (slopes**2).sum(-1)),
        "sigma_sq": float(noise.max()),
        "C": experiment.participation,
        "pi_min": 1.0,
        "pi_max": 1.0,
    }


def tried(claim: Claim, experiment: Experiment) -> Tried:
    """A claim on E||w_T - w*||^2 against a run of its own algorithm with FedAvg's weights, at the end of every round.

    Exact where the coins of Scaffnew are all the chance there is, else replicates and a one-sided limit, Bonferroni
    over the rounds.
    """
    if claim.lhs != Delta_T:
        return Tried(f"not tried: its left side is {claim.lhs}")
    known = constants(experiment.problem, experiment)
    reading = READINGS[claim.readings[0]]
    asked = [one for one in claim.assumptions_in(reading) if one.parts]
    for answer, one in ((in_floats(one, known), one) for one in asked):
        if answer is not None and not answer.holds:
            return Tried(f"assumption fails: {one.statement}: {answer.found}")
    rounds = np.arange(experiment.rounds + 1)
    right = evaluate(claim.sides(reading).rhs, {**known, "T": rounds * float(experiment.tau)}) + 0 * rounds
    if claim.algorithm == Scaffnew.key and experiment.batch_size is None:
        low = mean = coins_of_scaffnew(experiment)[0]
    else:
        distance = run_algorithm(algorithm_named(claim.algorithm), experiment).distance_sq
        mean, low = distance.mean(0), band(distance, ERROR_RATE, distance.std(0) == 0).lower
    ratio = float((right[1:] / np.maximum(mean[1:], np.finfo(float).tiny)).min())
    wrong = low > right * (1 + ROUNDING)
    return Tried("refuted" if wrong.any() else "not refuted on these runs", ratio)


def coins_of_scaffnew(experiment: Experiment, q: float | None = None) -> tuple[Array, Array]:
    """(E||w_r - w*||^2, E Psi_r) (rounds + 1,) with full gradients, every sequence of coins run and weighed."""
    problem, tau, rounds = experiment.problem, experiment.tau, experiment.rounds
    if tau * rounds > LONGEST:
        raise ValueError(f"at most {LONGEST} steps can be enumerated, but received {tau * rounds}")
    q, eta = q or 1 / tau, float(experiment.eta(0))
    heads = np.array(list(itertools.product((True, False), repeat=tau * rounds)))
    chance = np.where(heads, q, 1 - q).prod(-1)
    algorithm, R = Scaffnew(q), len(heads)
    state = algorithm.start(np.tile(experiment.start, (R, 1)), problem.N)
    alpha, slopes = np.tile(problem.p, (R, 1)), problem.grads(problem.w_star)
    distances, psis = [], []
    for r in range(rounds + 1):
        apart = ((state["x_i"] - problem.w_star) ** 2).sum(-1) @ problem.p
        variates = ((state["h_i"] - slopes) ** 2).sum(-1) @ problem.p
        distances.append(chance @ ((state["w"] - problem.w_star) ** 2).sum(-1))
        psis.append(chance @ (apart + (eta / q) ** 2 * variates))
        if r < rounds:
            coins = np.where(heads[:, r * tau : (r + 1) * tau], 0.0, 1.0).T
            state = algorithm.round(state, Round(problem, alpha, alpha > 0, np.full(tau, eta), None, coins))
    return np.array(distances), np.array(psis)


def attaining(N: int, eta: float, L: float, mu: float, R: float, zeta: float) -> tuple[QuadraticProblem, Array]:
    """Clients, and a start at distance R of w* = 0, at which one step of SGD over clients attains PEPit's bound."""
    angles = 2 * np.pi * np.arange(N) / N
    y = np.array([R, 0.0, 0.0])
    slopes = zeta * np.stack([np.zeros(N), np.cos(angles), np.sin(angles)], -1)
    wanted = eta * slopes - (1 - eta * (L + mu) / 2) * y
    mirror = y / R - wanted / np.linalg.norm(wanted, axis=-1, keepdims=True)
    Q = np.eye(3) - 2 * mirror[:, :, None] * mirror[:, None, :] / (mirror**2).sum(-1)[:, None, None]
    H = (L + mu) / 2 * np.eye(3) + (L - mu) / 2 * Q
    minima = -np.linalg.solve(H, slopes[..., None])[..., 0]
    return QuadraticProblem(H=H, w_i_star=minima, F_i_star=np.zeros(N), p=np.full(N, 1 / N)), y


def one_step(problem: Problem, x: Array, eta: float) -> float:
    """E||x - eta grad F_i(x) - w*||^2 over clients: every one of them in turn."""
    return float(problem.p @ ((x - eta * problem.grads(x) - problem.w_star) ** 2).sum(-1))


def attained(claim: Claim, N: int, eta: float, L: float, mu: float, R: float, zeta: float) -> float:
    """The claim's bound over what its attaining instance reaches."""
    problem, x = attaining(N, eta, L, mu, R, zeta)
    known = {"L": L, "mu": mu, "eta": eta, "Delta": R**2, "zeta_star_sq": zeta**2, "sigma_sq": 0.0}
    return float(evaluate(claim.sides(READINGS[claim.readings[0]]).rhs, known)) / one_step(problem, x, eta)


def fedavg_gap(curvatures: Array, slopes: Array, start: Array, tau: int, rounds: int, eta: Array) -> Array:
    """F - F* after FedAvg on separable quadratics with w* = 0, for many step sizes: (P,).

    ``curvatures`` and ``slopes`` = grad F_i(0), of mean 0, are (d, N); ``start`` (d,); full gradients.
    """
    kept = (1 - eta[:, None, None] * curvatures) ** tau
    moved = (-(1 - kept) * slopes / curvatures).mean(-1)
    factor = kept.mean(-1)
    gathered = np.where(factor == 1, rounds, (1 - factor**rounds) / np.where(factor == 1, 1, 1 - factor))
    w = factor**rounds * start + gathered * moved
    return (curvatures.mean(-1) * w**2 / 2).sum(-1)


def floor_of(slow: float, steep: float, zeta: float, tau: int, rounds: int) -> float:
    """The smallest gap at any constant step: one coordinate is slow to reach, in the other steps make a bias.

    The first has curvature ``slow`` for both clients and the start at 1, the second curvatures ``steep`` and ``slow``
    and slopes +-zeta at w*.
    """
    curvatures = np.array([[slow, slow], [steep, slow]])
    slopes = np.array([[0.0, 0.0], [zeta, -zeta]])
    eta = np.geomspace(1e-8, 2, 8 * GRID) / steep
    return float(fedavg_gap(curvatures, slopes, np.array([1.0, 0.0]), tau, rounds, eta).min())


def slope(values: Array, over: Array) -> float:
    """The exponent of a power law."""
    return float(np.polyfit(np.log(over), np.log(values), 1)[0])


def local_exponents(floors: Callable[[int], float], rounds: Array) -> Array:
    """The exponent in R from each value of R to the next."""
    found = np.array([floors(int(R)) for R in rounds])
    return np.diff(np.log(found)) / np.diff(np.log(rounds))


def worst_floor(steep: float, zeta: float, tau: int, rounds: int) -> float:
    """The largest `floor_of` over curvatures of the slow coordinate: those a lower bound may choose for its R."""
    return max(floor_of(slow, steep, zeta, tau, rounds) for slow in np.geomspace(1e-5, 0.3, 60) * steep)


def scaffold_on(kappa: float, seed: int, tau: int, rounds: int) -> tuple[float, float, float]:
    """(factor a round in truth, that of the theorem's exponent, smallest constant before it) with full gradients.

    The local step is 1/(81 tau L), the largest the theorem admits; D^2 = ||w_0 - w*||^2 + zeta_*^2/(2 L^2).
    """
    rng = np.random.default_rng(seed)
    spectra = np.exp(rng.uniform(0, np.log(kappa), (4, 3)))
    spectra[0, 0], spectra[1, 1] = 1.0, kappa
    problem = quadratic(spectra, rng.standard_normal((4, 3)), rng=rng)
    eta = ConstantStep(1 / (81 * tau * problem.L))
    experiment = Experiment(problem, FedAvg(), eta, tau=tau, rounds=rounds, replicates=1, batch_size=None)
    distance = run_algorithm(algorithm_named("scaffold"), experiment).distance_sq[0]
    exponent = min(1 / 30, problem.mu / (162 * problem.L))
    known = constants(problem, experiment)
    scale = known["Delta_0"] + known["zeta_star_sq"] / (2 * problem.L**2)
    needed = (distance / scale * np.exp(exponent * np.arange(rounds + 1))).max()
    return float((distance[-1] / distance[rounds // 2]) ** (2 / rounds)), math.exp(-exponent), float(needed)


def shuffled_floors(key: str, steps: Array, replicates: int, rounds: int) -> Array:
    """The mean gap over the second half of a long run, for each step size: a round is one pass over the samples."""
    rng = np.random.default_rng(7)
    tau = 8
    X = [rng.standard_normal((tau, 2)) for _ in range(3)]
    truth = rng.standard_normal(2)
    problem = LeastSquaresProblem(X, [x @ truth + rng.standard_normal(tau) for x in X], 0.3)
    start = Experiment(
        problem, FedAvg(), ConstantStep(1.0), tau=tau, rounds=rounds, replicates=replicates, batch_size=1
    )
    runs = [run_algorithm(algorithm_named(key), replace(start, eta=ConstantStep(s / problem.L))) for s in steps]
    return np.array([run.gap[:, rounds // 2 :].mean() for run in runs])


@dataclass(frozen=True)
class Curve:
    """A loss in one dimension: its slope as a function, w*, and F'', F''' there."""

    slope: Callable[[Array], Array]
    star: float
    second: float
    third: float


def bent() -> Curve:
    """w^2/10 plus the logistic loss log(1 + exp(-w)), whose third derivative is not 0 at w*."""
    w = sp.Symbol("w", real=True)
    loss = w**2 / 10 + sp.log(1 + sp.exp(-w))
    first = sp.diff(loss, w)
    star = float(sp.nsolve(first, w, 1))
    second, third = (float(sp.diff(loss, w, k).subs(w, star)) for k in (2, 3))
    return Curve(sp.lambdify(w, first, "numpy"), star, second, third)


def _centres(curve: Curve, w: Array, eta: float, sigma: float, N: int, tau: int) -> Iterator[tuple[float, Array]]:
    """(chance, mean of the next server model) given the noise of every local step but the last."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(6)
    weights = weights / weights.sum()
    for pick in itertools.product(range(len(nodes)), repeat=N * (tau - 1)):
        x = np.tile(w, (N, 1))
        for k in range(tau - 1):
            drawn = nodes[list(pick[k * N : (k + 1) * N])]
            x = x - eta * (curve.slope(x) + sigma * drawn[:, None])
        yield float(weights[list(pick)].prod()), (x - eta * curve.slope(x)).mean(0)


def stationary_bias(curve: Curve, eta: float, sigma: float, N: int, tau: int = 1) -> float:
    """E w - w* under the stationary law of FedAvg with N equal clients and Gaussian noise, by quadrature.

    The kernel of a round is a mixture of Gaussians of standard deviation eta sigma/sqrt N, for which the trapezoidal
    rule is exact to rounding once the nodes are closer than that; earlier local steps take six Gauss-Hermite nodes.
    """
    width = eta * sigma / math.sqrt(N)
    reach = 9 * math.sqrt(eta * sigma**2 / (2 * curve.second * N)) + 9 * width
    nodes = curve.star + np.linspace(-reach, reach, 2 * math.ceil(reach / (0.8 * width)) + 1)
    kernel = np.zeros((len(nodes), len(nodes)))
    for chance, centre in _centres(curve, nodes, eta, sigma, N, tau):
        kernel += chance * np.exp(-((nodes[None] - centre[:, None]) ** 2) / (2 * width**2))
    kernel /= kernel.sum(1, keepdims=True)
    system = np.vstack([kernel.T - np.eye(len(nodes)), np.ones(len(nodes))])
    law = np.linalg.lstsq(system, np.append(np.zeros(len(nodes)), 1.0), rcond=None)[0]
    return float(law @ (nodes - curve.star))


def leading_bias(curve: Curve, eta: float, sigma: float, N: int) -> float:
    """-F''' sigma^2 eta/(4 F''^2 N): what E F'(w) = 0 and the variance eta sigma^2/(2 F'' N) give to first order."""
    return -curve.third * sigma**2 * eta / (4 * curve.second**2 * N)
