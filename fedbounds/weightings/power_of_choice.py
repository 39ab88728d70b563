"""Power-of-Choice: the m worst of d random candidates (Cho, Wang and Joshi, 2020)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fedbounds.errors import reject
from fedbounds.model.problem import Array, Problem
from fedbounds.model.weighting import RoundStream, Weighting, WeightingPlugin
from fedbounds.weightings.fedmax import top_k


@dataclass(frozen=True)
class PowerOfChoice(Weighting):
    """d candidates drawn without replacement with probabilities p; 1/m on the m of largest loss.

    Candidates are ranked by F_i(w_t), as in the source; ``F_i_star`` is added to the gaps for that, and
    is found by `bind` when a run starts (without it, as for networks, F_i* is taken as 0).
    """

    candidates: int
    m: int
    F_i_star: tuple[float, ...] | None = None
    random: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return f"power-of-choice:{self.candidates},{self.m}"

    def bind(self, problem: Problem) -> PowerOfChoice:
        return replace(self, F_i_star=tuple(problem.F_i_star.tolist()))

    def __call__(self, p: Array, excess: Array, round: int, stream: RoundStream) -> Array:
        N = excess.shape[-1]
        if self.candidates > N:
            raise reject(f"power-of-choice draws d of N = {N} clients", f"d = {self.candidates}", "use d <= N")
        # Keys log(u)/p: the d largest are a draw without replacement with probabilities p (Efraimidis, Spirakis).
        uniform = np.maximum(stream.uniform(N), np.finfo(float).tiny)
        weights = np.broadcast_to(p, excess.shape).astype(float)
        keys = np.where(weights > 0, np.log(uniform) / np.where(weights > 0, weights, 1.0), -np.inf)
        chosen = top_k(keys, self.candidates) > 0
        minima = np.zeros(N, dtype=int) if self.F_i_star is None else np.array(self.F_i_star)
        size = np.where(chosen, excess + np.abs(minima), 0).max(axis=-1, keepdims=True)
        alpha = top_k(np.where(chosen, excess + minima, -np.inf), self.m, size)
        return alpha / alpha.sum(axis=-1, keepdims=True)


def build(argument: str | None) -> PowerOfChoice:
    """``power-of-choice:D,M`` with 1 <= M <= D."""
    parts = (argument or "").split(",")
    if len(parts) != 2 or not all(part.isdigit() for part in parts) or not 1 <= int(parts[1]) <= int(parts[0]):
        raise reject("power-of-choice takes D,M with 1 <= M <= D", repr(argument), "write power-of-choice:6,3")
    return PowerOfChoice(int(parts[0]), int(parts[1]))


WEIGHTING = WeightingPlugin(
    "power-of-choice",
    build,
    "power-of-choice:D,M",
    "1/M on the M largest losses of D random candidates",
    example="power-of-choice:3,2",
)
