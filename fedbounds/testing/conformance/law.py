"""Rounds that have finitely many outcomes, and the exact law of the state after them.

On a problem with a handful of samples every choice of clients, batches and coins is listed, so that the mean and the
covariance of the next state are exact, and samples of a callable can be compared with them by Bernstein's inequality.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log

import numpy as np
from numpy.typing import NDArray

from fedbounds.model.algorithm import Algorithm, Round, State
from fedbounds.model.problem import Array, Problem
from fedbounds.problems.least_squares import LeastSquaresProblem

# What float32 leaves of a few hundred additions, relative to the largest entry of the states.
ROUNDING = 1e-4
# The tasks' local step size times L: large enough for a slip of second order in it to show.
STEP = 0.3


@dataclass(frozen=True)
class Task:
    """A round to be done: F_i(w) = mean_j (a_j.w - y_j)^2/2 over the samples of client i, p_i = n_i/n.

    ``features`` (n_i, d) and ``targets`` (n_i,) a client; ``eta`` the local step size; ``tau`` local steps;
    ``batch_size`` samples a step, drawn afresh with replacement (None: all); ``participants`` clients, drawn
    uniformly without replacement. ``algorithm`` holds its own parameters, such as ``server_step``.
    """

    name: str
    problem: Problem
    features: Sequence[Array]
    targets: Sequence[Array]
    algorithm: Algorithm
    eta: float
    tau: int
    batch_size: int | None
    participants: int

    @property
    def steps(self) -> list[int]:
        """Local steps of each client: tau, unless the algorithm says otherwise."""
        return self.algorithm.steps(self.problem, self.tau).tolist()

    def gradient(self, i: int, w: Array, rows: NDArray[np.int64] | None = None) -> Array:
        """The gradient (d,) of client i's loss on the samples ``rows`` (all, if not given) at w (d,)."""
        X, y = self.features[i], self.targets[i]
        X, y = (X, y) if rows is None else (X[rows], y[rows])
        return X.T @ (X @ w - y) / len(y)


@dataclass(frozen=True)
class Law:
    """The outcomes of a round as vectors (M, D), their probabilities (M,), and the names of the D entries."""

    outcomes: Array
    probability: Array
    names: tuple[str, ...]

    @property
    def mean(self) -> Array:
        return self.probability @ self.outcomes

    def features(self, states: Array) -> Array:
        """Every deviation from the mean, and every product of two: (S, D) -> (S, D + D (D + 1)/2)."""
        z = states - self.mean
        first, second = np.triu_indices(z.shape[1])
        return np.hstack([z, z[:, first] * z[:, second]])

    def against(self, states: Array, error_rate: float) -> str:
        """What tells samples (S, D) from this law, in words; empty where nothing does, at the error rate."""
        with np.errstate(over="ignore", invalid="ignore"):  # states may be as large as floats are
            return self._against(states, error_rate)

    def _against(self, states: Array, error_rate: float) -> str:
        scale = max(1.0, float(np.abs(self.outcomes).max()))
        exact = self.features(self.outcomes)
        expected = self.probability @ exact
        variance, reach = self.probability @ (exact - expected) ** 2, np.abs(exact - expected).max(0)
        level = log(2 * len(expected) / error_rate) / len(states)
        # The root of S e^2 = 2 (V + M e/3) log(2 n/rate): Bernstein's inequality, over n entries at once.
        radius = level * reach / 3 + np.sqrt((level * reach / 3) ** 2 + 2 * level * variance)
        excess = np.abs(self.features(states).mean(0) - expected) - radius - ROUNDING * scale**2
        D = len(self.names)
        if np.any(excess[:D] > 0):
            j = int(np.argmax(excess[:D]))
            return f"the mean of {self.names[j]} is {states.mean(0)[j]:.4g}, and should be {self.mean[j]:.4g}"
        if np.any(excess > 0):
            k = int(np.argmax(excess)) - D
            first, second = (self.names[int(index[k])] for index in np.triu_indices(D))
            found, right = self.features(states).mean(0)[D + k], expected[D + k]
            return f"the covariance of {first} and {second} is {found:.4g}, and should be {right:.4g}"
        apart = np.array([np.abs(self.outcomes - state).max(1).min() for state in np.unique(states, axis=0)])
        if apart.max() > ROUNDING * scale:
            return f"a state lies {apart.max():.3g} from each of the {len(self.outcomes)} that are possible"
        return ""


def law(algorithm: Algorithm, task: Task, state: Mapping[str, Array]) -> Law:
    """The exact law of the state after one round of ``task`` from ``state``."""
    now, probability = _every_round(algorithm, task)
    copies = {name: np.repeat(value[None], len(probability), axis=0) for name, value in state.items()}
    after = algorithm.round(copies, now)
    return Law(flat(after, state), probability, names(state))


def _every_round(algorithm: Algorithm, task: Task) -> tuple[Round, Array]:
    """Every outcome of a round's draws as one replicate each, and their probabilities."""
    problem, tau = task.problem, task.tau + getattr(algorithm, "spare", 0)
    N, everyone = problem.N, itertools.combinations(range(problem.N), task.participants)
    chosen = [np.isin(np.arange(N), subset) for subset in everyone]
    batches = [_batches(int(n), algorithm, tau, task.batch_size) for n in problem.sizes]
    flips = np.array(list(itertools.product((0.0, 1.0) if algorithm.everyone else (0.0,), repeat=tau)))
    grid = np.indices([len(chosen), *map(len, batches), len(flips)]).reshape(N + 2, -1)
    present = np.array(chosen)[grid[0]]
    alpha = problem.p * present / (problem.p * present).sum(-1, keepdims=True)
    draws = None
    if task.batch_size is not None:
        drawn = [one[index] for one, index in zip(batches, grid[1:-1], strict=True)]
        draws = np.stack(drawn, axis=1).transpose(2, 0, 1, 3)
    coins = flips[grid[-1]].T
    talk = getattr(algorithm, "q", 0.0) or 1 / tau
    weights = np.prod(np.where(coins == 0, talk, 1 - talk), axis=0)
    return Round(problem, alpha, present, np.full(tau, task.eta), draws, coins), weights / weights.sum()


def _batches(n: int, algorithm: Algorithm, tau: int, size: int | None) -> NDArray[np.int64]:
    """Every way of drawing the batches of a client with n samples: (ways, tau, b); one way where all are used."""
    if size is None:
        return np.zeros((1, tau, 1), dtype=np.int64)
    if getattr(algorithm, "distinct", False):  # a slip: no sample twice in a batch
        every: Iterator[object] = itertools.product(itertools.permutations(range(n), size), repeat=tau)
    elif algorithm.reshuffles:
        every = itertools.permutations(range(n), tau * size)
    else:
        every = itertools.product(range(n), repeat=tau * size)
    return np.array(list(every), dtype=np.int64).reshape(-1, tau, size)


def flat(state: Mapping[str, Array], like: Mapping[str, Array]) -> Array:
    """States (M, ...) by name as vectors (M, D), in the order of ``like``."""
    return np.concatenate(
        [np.asarray(state[name], dtype=float).reshape(len(state[name]), -1) for name in like], axis=1
    )


def names(state: Mapping[str, Array]) -> tuple[str, ...]:
    """The names of a state's entries in the order of its vector, such as c_i[2,0]."""
    return tuple(
        f"{name}[{','.join(map(str, at))}]" for name, value in state.items() for at in np.ndindex(value.shape)
    )


def tasks(
    algorithm: Algorithm, full: bool = True, batches: bool = True, partial: bool = True
) -> list[tuple[Task, State]]:
    """The rounds an implementation is tried on, each with the state it begins from (no axis of replicates).

    Clients hold equally many samples where they keep a state of their own, as such methods are stated for equal
    weights. ``full``, ``batches``, ``partial``: whether some rounds use all samples, draw them, leave clients out.
    """
    rng = np.random.default_rng(0)
    alike = any(value.ndim == 3 for value in algorithm.start(np.zeros((1, 2)), 3).values())
    sizes = (3, 3, 3) if alike else (3, 4, 5) if algorithm.reshuffles else (2, 3, 4)
    features = [rng.standard_normal((n, 2)) for n in sizes]
    targets = [rng.standard_normal(len(X)) for X in features]
    problem = LeastSquaresProblem(features, targets)
    given = (problem, features, targets, algorithm, STEP / problem.L)
    found = [Task("full gradients, every client", *given, tau=3, batch_size=None, participants=3)] if full else []
    if batches:
        found.append(Task("batches of one sample", *given, tau=2, batch_size=1, participants=3))
        # A single step: two steps of two samples have hundreds of thousands of outcomes.
        found.append(Task("batches of two samples", *given, tau=1, batch_size=2, participants=3))
    if partial and not algorithm.everyone:
        found.append(Task("two of three clients", *given, tau=2, batch_size=None if full else 1, participants=2))
    begun = [(task, _warm(algorithm, task, rng.standard_normal(2))) for task in found]
    rest = algorithm.rest(problem) if full else None
    if rest is None:
        return begun
    still = replace(found[0], name="full gradients from the fixed point")
    return [*begun, (still, {name: value[0] for name, value in rest.items()})]


def _warm(algorithm: Algorithm, task: Task, w: Array) -> State:
    """The state after two rounds of the algorithm with full gradients, in which nothing is zero by chance."""
    state, tau = algorithm.start(w[None], 3), task.tau
    present, eta = np.ones((1, 3), dtype=bool), np.full(tau, task.eta)
    coins = (np.arange(tau) > 0)[:, None].astype(float)
    for _ in range(2):
        state = algorithm.round(state, Round(task.problem, task.problem.p[None], present, eta, None, coins))
    return {name: value[0] for name, value in state.items()}
