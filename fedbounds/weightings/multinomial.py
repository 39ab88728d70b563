"""Clients drawn with replacement by p_i; each draw counts 1/m, as in scheme I of Li et al. (2020)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fedbounds.errors import reject
from fedbounds.model.problem import Array
from fedbounds.model.weighting import RoundStream, Weighting, WeightingPlugin


@dataclass(frozen=True)
class Multinomial(Weighting):
    """alpha_i is the share of client i among m draws, which are independent and take i with probability p_i."""

    m: int
    depends_on_w: ClassVar[bool] = False
    random: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return f"multinomial:{self.m}"

    def __call__(self, p: Array, excess: Array, round: int, stream: RoundStream) -> Array:
        below = np.cumsum(np.broadcast_to(p, excess.shape).astype(float), axis=-1)
        uniform = stream.uniform(self.m)
        drawn = (uniform[..., None] >= (below / below[..., -1:])[..., None, :]).sum(-1)
        return (drawn[..., None] == np.arange(excess.shape[-1])).sum(-2) / self.m

    def outcomes(self, N: int) -> int:
        """How many there are in a round of N clients."""
        return math.comb(N + self.m - 1, self.m)

    def enumerated(self, p: Any) -> tuple[Drawn, Any]:
        """Every outcome of a round, as a weighting with an axis of outcomes in front, and their probabilities.

        p (..., N) in floats or fractions gives (K, ...).
        """
        N = p.shape[-1]
        rows = itertools.combinations_with_replacement(range(N), self.m)
        counts = np.array([[row.count(i) for i in range(N)] for row in rows], dtype=object)
        ways = [math.factorial(self.m) // math.prod(map(math.factorial, row)) for row in counts.tolist()]
        ones = p.flat[0] / p.flat[0]
        lead = counts.reshape(len(counts), *(1,) * (p.ndim - 1), N)
        chances = np.array(ways, dtype=object).reshape(len(ways), *(1,) * (p.ndim - 1)) * (p**lead).prod(-1)
        return Drawn((counts * ones / self.m).astype(p.dtype)), chances.astype(p.dtype)


@dataclass(frozen=True)
class Drawn(Weighting):
    """The weights of each outcome (K, N), along the axis in front."""

    weights: Any
    name: ClassVar[str] = "multinomial"

    def __call__(self, p: Array, excess: Array, round: int, stream: RoundStream) -> Array:
        K, N = self.weights.shape
        return np.broadcast_to(self.weights.reshape(K, *(1,) * (excess.ndim - 2), N), excess.shape)


def build(argument: str | None) -> Multinomial:
    """``multinomial:M`` with M >= 1."""
    if argument is None or not argument.isdigit() or int(argument) < 1:
        raise reject("multinomial takes the number of draws", repr(argument), "write multinomial:3")
    return Multinomial(int(argument))


WEIGHTING = WeightingPlugin(
    "multinomial", build, "multinomial:M", "the share of each client among M draws by p_i", example="multinomial:2"
)
