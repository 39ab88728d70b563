"""FedProx (Li et al., 2020): a client minimises F_i(x) + (strength/2) ||x - w||^2, exactly or by tau steps."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fedbounds.algorithms.fedavg import FedAvg
from fedbounds.errors import reject
from fedbounds.model.algorithm import Round, State, spread
from fedbounds.model.problem import Array

# Gradient steps stop at this size of the gradient, relative to that at the server's model: the rounding of a sum.
SOLVED = 1e-14
# Enough for (L + strength)/(mu + strength) up to about 1e4.
MOST_STEPS = 10**6


@dataclass(frozen=True)
class FedProx(FedAvg):
    """Local SGD on F_i(x) + (strength/2) ||x - w||^2; its minimiser if exact."""

    key: ClassVar[str] = "fedprox"
    strength: float = 1.0
    exact: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.strength < np.inf:
            raise reject("the strength of FedProx must be finite and at least 0", self.strength, "give such a number")

    def local(self, x: Array, k: int, state: State, now: Round) -> Array:
        return x - now.eta[k] * (now.gradient(x, k) + self.strength * (x - state["w"][:, None]))

    def round(self, state: State, now: Round) -> State:
        if not self.exact:
            return super().round(state, now)
        w, problem = state["w"][:, None], now.problem
        x, step = spread(state["w"], problem.N), 1 / (problem.L + self.strength)
        first = np.abs(problem.client_grads(w)).max()
        for _ in range(MOST_STEPS):
            slope = problem.client_grads(x) + self.strength * (x - w)
            if np.abs(slope).max() <= SOLVED * first:
                return self.aggregate(x, state, now)
            x = x - step * slope
        raise reject("the proximal step must be solved", f"{MOST_STEPS} gradient steps", "take a larger strength")


ALGORITHM = FedProx
