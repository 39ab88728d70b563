"""Fixed weights: the same alpha at every round, whatever the losses."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from fedbounds.errors import reject
from fedbounds.model.problem import Array, Problem, check_distribution
from fedbounds.model.weighting import RoundStream, Weighting, WeightingPlugin, number


@dataclass(frozen=True)
class Fixed(Weighting):
    """alpha = ``weights`` (N,) at every round, renormalised on the clients present; floats or fractions."""

    weights: tuple[Any, ...]
    depends_on_w: ClassVar[bool] = False

    @property
    def name(self) -> str:
        return "fixed:" + ",".join(f"{float(weight):g}" for weight in self.weights)

    def to_text(self) -> str:
        return "fixed:" + ",".join(map(number, self.weights))

    def bind(self, problem: Problem) -> Fixed:
        check_distribution(np.array(self.weights), problem.N, "fixed weights")
        return self

    def __call__(self, p: Array, excess: Array, round: int, stream: RoundStream) -> Array:
        exact = excess.dtype == object
        alpha = np.array([Fraction(str(a)) for a in self.weights] if exact else self.weights)
        check_distribution(alpha.astype(float), excess.shape[-1], "fixed weights")
        present = np.where(np.broadcast_to(p, excess.shape) > 0, alpha, 0) if np.ndim(p) > 1 else alpha
        present = np.broadcast_to(present, excess.shape)
        return present / present.sum(axis=-1, keepdims=True)


@dataclass(frozen=True)
class FixedByRound(Weighting):
    """alpha of round r is row r of ``rows`` (..., rounds, N), and the last row in later rounds."""

    rows: Any
    name: ClassVar[str] = "fixed"
    depends_on_w: ClassVar[bool] = False

    def __call__(self, p: Array, excess: Array, round: int, stream: RoundStream) -> Array:
        return np.broadcast_to(self.rows[..., min(round, self.rows.shape[-2] - 1), :], excess.shape)


def build(argument: str | None) -> Fixed:
    """``fixed:A1,A2,...``, one weight a client."""
    try:
        weights = tuple(float(part) for part in (argument or "").split(","))
    except ValueError:
        raise reject("fixed takes one weight a client", repr(argument), "write fixed:0.5,0.3,0.2") from None
    return Fixed(tuple(check_distribution(np.array(weights), len(weights), "fixed weights").tolist()))


WEIGHTING = WeightingPlugin(
    "fixed", build, "fixed:A1,A2,...", "the same weights every round", example="fixed:0.1,0.2,0.3,0.4"
)
