"""A federated algorithm as data: the state of server and clients, a local step, an aggregation."""

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fedbounds.model.problem import Array, Problem

# "w" (R, d) is the server's model; what an algorithm adds is (R, d) on the server and (R, N, d) on the clients.
State = dict[str, Array]


@dataclass(frozen=True)
class Round:
    """All that one round of R replicates is given, its randomness drawn.

    ``alpha`` (R, N) weights the clients, 0 for the absent, each row summing to 1; ``present`` (R, N) says who takes
    part; ``eta`` (tau,) step sizes; ``draws`` (tau, R, N, ...) those of the gradients, None where they are full;
    ``coins`` (tau, R) uniform on [0, 1). ``watch`` is shown the points of every gradient of a local step.
    """

    problem: Problem
    alpha: Array
    present: NDArray[np.bool_]
    eta: Array
    draws: NDArray[Any] | None
    coins: Array
    watch: Callable[[Array], None] | None = None

    def gradient(self, x: Array, k: int) -> Array:
        """The gradients g_i(x_i) of local step k: (R, N, d) or (R, 1, d) -> (R, N, d)."""
        if self.watch is not None:
            self.watch(x)
        return self.problem.client_grads(x, None if self.draws is None else self.draws[k])

    def mean(self, x: Array) -> Array:
        """sum_i alpha_i x_i: (R, N, d) -> (R, d)."""
        mean: Array = np.einsum("rn,rnd->rd", self.alpha, x)
        return mean


class Algorithm(abc.ABC):
    """One round is tau local steps of every client from the server's model, then an aggregation.

    A subclass is a frozen dataclass. Its fields are its parameters, and tables show the first line of its docstring;
    ``key`` is its name on the command line. ``reshuffles``: a round draws the samples of a client without
    replacement; ``everyone``: it is defined only where every client takes part; ``invariant``: what `zero` gives;
    ``central``: it communicates after every local step, so that no round of it is one communication; ``tosses``: it
    looks at a round's coins, so that it is random where gradients are full too.
    """

    key: ClassVar[str]
    reshuffles: ClassVar[bool] = False
    everyone: ClassVar[bool] = False
    central: ClassVar[bool] = False
    tosses: ClassVar[bool] = False
    invariant: ClassVar[str] = ""

    def start(self, w: Array, N: int) -> State:
        """The state before the first round: w (R, d)."""
        return {"w": w}

    def steps(self, problem: Problem, tau: int) -> NDArray[np.int64]:
        """How many of the tau local steps each client takes (N,)."""
        return np.full(problem.N, tau)

    def local(self, x: Array, k: int, state: State, now: Round) -> Array:
        """Local step k: (R, N, d) -> (R, N, d)."""
        stepped: Array = x - now.eta[k] * now.gradient(x, k)
        return stepped

    def move(self, x: Array, state: State, now: Round) -> Array:
        """The clients' mean move sum_i alpha_i x_i - w (R, d)."""
        moved: Array = now.mean(x) - state["w"]
        return moved

    @abc.abstractmethod
    def aggregate(self, x: Array, state: State, now: Round) -> State:
        """The next state, from the local models (R, N, d) after the last step."""

    def walk(self, x: Array, state: State, now: Round) -> Array:
        """Every client's local steps, from x: (R, N, d) -> (R, N, d)."""
        taken = self.steps(now.problem, len(now.eta))[:, None]
        for k in range(len(now.eta)):
            x = np.where(k < taken, self.local(x, k, state, now), x)
        return x

    def round(self, state: State, now: Round) -> State:
        """The state after one round."""
        return self.aggregate(self.walk(spread(state["w"], now.problem.N), state, now), state, now)

    def zero(self, state: State, p: Array) -> Array:
        """What is zero in every state that a run reaches, (R, ...); empty where nothing need be."""
        return np.zeros((len(state["w"]), 0))

    def rest(self, problem: Problem) -> State | None:
        """The state that full gradients of every client leave alone, with w = w*; None where there is none."""
        return None


def spread(w: Array, N: int) -> Array:
    """The server's vector at every client: (R, d) -> (R, N, d)."""
    spread: Array = np.repeat(w[:, None, :], N, axis=1)
    return spread
