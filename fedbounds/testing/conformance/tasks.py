"""The small rounds on which an implementation is tried, each with the state it begins from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedbounds.model.algorithm import Algorithm, Round, State
from fedbounds.model.problem import Array, Problem
from fedbounds.problems.least_squares import LeastSquaresProblem

# The tasks' local step size times L: large enough for a slip of second order in it to show.
STEP = 0.3
# A proximal term weaker than this share of L would move the models by less than float32 resolves.
WEAK = 0.1


@dataclass(frozen=True)
class Task:
    """A round to be done: F_i(w) = mean_j (a_j.w - y_j)^2/2 over the samples of client i, p_i = n_i/n.

    ``features`` (n_i, d) and ``targets`` (n_i,) a client; ``eta`` the local step size; ``tau`` local steps;
    ``batch_size`` samples a step, drawn afresh with replacement (None: all); ``participants`` clients, drawn
    uniformly without replacement. ``algorithm`` holds its own parameters, such as ``server_step``.
    ``weights_may_be_equal``: a method stated for clients of equal weight may weight them equally here too.
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
    weights_may_be_equal: bool = False

    @property
    def steps(self) -> list[int]:
        """Local steps of each client: tau, unless the algorithm says otherwise."""
        return self.algorithm.steps(self.problem, self.tau).tolist()

    def gradient(self, i: int, w: Array, rows: NDArray[np.int64] | None = None) -> Array:
        """The gradient (d,) of client i's loss on the samples ``rows`` (all, if not given) at w (d,)."""
        X, y = self.features[i], self.targets[i]
        X, y = (X, y) if rows is None else (X[rows], y[rows])
        return X.T @ (X @ w - y) / len(y)


def tasks(
    algorithm: Algorithm, full: bool = True, batches: bool = True, partial: bool = True
) -> list[tuple[Task, State]]:
    """The rounds an implementation is tried on, each with the state it begins from (no axis of replicates).

    Clients hold equally many samples where they keep a state of their own, as such methods are stated for equal
    weights; one task more then has clients of unequal sizes. ``full``, ``batches``, ``partial``: whether some rounds
    use all samples, draw them, leave clients out.
    """
    rng = np.random.default_rng(0)
    stateful = any(value.ndim == 3 for value in algorithm.start(np.zeros((1, 2)), 3).values())
    sizes = (3, 3, 3) if stateful else (3, 4, 5) if algorithm.reshuffles else (2, 3, 4)
    data = _data(rng, sizes, algorithm)

    def task(name: str, tau: int, batch_size: int | None, participants: int = 3) -> Task:
        return Task(name, *data, algorithm, STEP / data[0].L, tau, batch_size, participants)

    chosen = [task("full gradients, every client", 3, None)] if full else []
    if batches:
        # Batches of two take a single step: two steps of two samples have hundreds of thousands of outcomes.
        chosen += [task("batches of one sample", 2, 1), task("batches of two samples", 1, 2)]
    leave_out = partial and not algorithm.everyone
    if leave_out:
        chosen.append(task("two of three clients", 2, None if full else 1, 2))
    begun = [(item, warm_state(algorithm, item, rng.standard_normal(2))) for item in chosen]
    rest = algorithm.rest(data[0]) if full else None
    if rest is not None:
        still = replace(chosen[0], name="full gradients from the fixed point")
        begun.append((still, {name: value[0] for name, value in rest.items()}))
    later = []
    if leave_out and batches and full:
        later.append(task("two of three clients, batches of one sample", 2, 1, 2))
    if stateful and full:
        data = _data(rng, (2, 3, 4), algorithm)
        later.append(replace(task("clients of unequal sizes", 3, None), weights_may_be_equal=True))
    return begun + [(item, warm_state(algorithm, item, rng.standard_normal(2))) for item in later]


def equally_weighted(task: Task) -> Task:
    """The task under weights 1/N, as methods that keep a state at the clients are stated."""
    problem = LeastSquaresProblem(task.features, task.targets, p=np.full(task.problem.N, 1 / task.problem.N))
    return replace(task, problem=problem)


def warm_state(algorithm: Algorithm, task: Task, w: Array) -> State:
    """The state after two rounds of the algorithm with full gradients, in which nothing is zero by chance."""
    state, tau = algorithm.start(w[None], 3), task.tau
    present, eta = np.ones((1, 3), dtype=bool), np.full(tau, task.eta)
    coins = (np.arange(tau) > 0)[:, None].astype(float)
    for _ in range(2):
        state = algorithm.round(state, Round(task.problem, task.problem.p[None], present, eta, None, coins))
    return {name: value[0] for name, value in state.items()}


def _data(
    rng: np.random.Generator, sizes: Sequence[int], algorithm: Algorithm
) -> tuple[Problem, list[Array], list[Array]]:
    """Clients with two features; curvatures are as small as the proximal term where that one is weak."""
    features = [rng.standard_normal((n, 2)) for n in sizes]
    targets = [rng.standard_normal(len(X)) for X in features]
    problem = LeastSquaresProblem(features, targets)
    strength = getattr(algorithm, "strength", 0.0)
    if 0 < strength < WEAK * problem.L:
        features = [np.sqrt(strength / problem.L) * X for X in features]
        problem = LeastSquaresProblem(features, targets)
    return problem, features, targets
