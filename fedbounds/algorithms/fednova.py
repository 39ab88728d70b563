"""FedNova (Wang, Liu, Liang, Joshi and Poor, NeurIPS 2020): clients that take unequal numbers of local steps."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fedbounds.model.algorithm import Algorithm, Round, State
from fedbounds.model.problem import Array, Problem


@dataclass(frozen=True)
class FedNova(Algorithm):
    """Unequally many local steps; w <- w + (sum_i alpha_i tau_i) sum_i alpha_i (x_i - w)/tau_i."""

    key: ClassVar[str] = "fednova"

    def steps(self, problem: Problem, tau: int) -> NDArray[np.int64]:
        """In proportion to the samples, tau for the most; 1, 2 ... tau in turn where there are none."""
        if not problem.sizes.any():
            return 1 + np.arange(problem.N) % tau
        return np.maximum(1, np.rint(tau * problem.sizes / problem.sizes.max())).astype(np.int64)

    def aggregate(self, x: Array, state: State, now: Round) -> State:
        steps = self.steps(now.problem, len(now.eta))
        average = now.mean((x - state["w"][:, None]) / steps[:, None])
        return {"w": state["w"] + (now.alpha @ steps)[:, None] * average}


ALGORITHM = FedNova
