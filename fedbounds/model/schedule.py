"""Step-size schedules eta_t, t = 0, 1, 2, ... counted in local steps."""

from collections.abc import Callable
from dataclasses import dataclass

from fedbounds.errors import reject

StepSize = Callable[[int], float]


@dataclass(frozen=True)
class InverseTime:
    """eta_t = numerator / (mu (t + gamma)), the form of the paper's corollary."""

    mu: float
    gamma: float
    numerator: float = 1.0

    def __post_init__(self) -> None:
        if not (self.gamma > 0 and self.mu > 0):
            raise reject(
                "eta_t = c/(mu (t + gamma)) needs gamma > 0 and mu > 0", (self.mu, self.gamma), "give both above 0"
            )

    def __call__(self, t: int) -> float:
        return self.numerator / (self.mu * (t + self.gamma))


@dataclass(frozen=True)
class Geometric:
    """eta_t = eta0 * decay^r with r = floor(t / tau), the paper's experiments (1e-4 * 0.99^r)."""

    eta0: float
    decay: float
    tau: int

    def __call__(self, t: int) -> float:
        return self.eta0 * self.decay ** (t // self.tau)


@dataclass(frozen=True)
class ConstantStep:
    """eta_t = eta0."""

    eta0: float

    def __call__(self, t: int) -> float:
        return self.eta0
