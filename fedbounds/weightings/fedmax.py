"""FedMax and FedMax(k): all weight on the clients with the largest gaps F_i(w_t) - F_i*."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fedbounds.errors import reject
from fedbounds.model.problem import Array
from fedbounds.model.weighting import RoundStream, Weighting, WeightingPlugin

# Losses that differ by less, relative to their size, are one loss: numerical minima are certified to 1e-12, and two
# orders of additions agree to about 1e-13. Without it rounding decides where all losses are equal, as at w = 0.
TIE = 1e-9


def top_k(scores: Any, k: int, size: Any = 0) -> Any:
    """Indicator weights of the k largest scores of each row, summing to min(k, finite scores).

    Clients within TIE * ``size`` (..., 1) of the k-th score share what is left equally, so that the result depends on
    neither their order nor rounding; fractions tie where they are equal. A score of -inf is never chosen.
    (..., N) -> (..., N), floats or fractions.
    """
    exact = scores.dtype == object
    slack = 0 if exact else TIE * size
    eligible = (scores > -np.inf) & (scores < np.inf)
    count = np.minimum(k, eligible.sum(axis=-1, keepdims=True))
    ranked = np.sort(scores, axis=-1)
    threshold = np.take_along_axis(ranked, scores.shape[-1] - np.maximum(count, 1), axis=-1)
    above = scores > threshold + slack
    tied = (scores >= threshold - slack) & eligible & ~above
    left = (count - above.sum(axis=-1, keepdims=True)) * (Fraction(1) if exact else 1.0)
    return above + tied * (left / np.maximum(tied.sum(axis=-1, keepdims=True), 1))


@dataclass(frozen=True)
class FedMax(Weighting):
    """alpha = 1/k on the k clients with the largest e_i(w_t) (k = 1: FedMax, ties shared).

    ``weights`` ``"equal"`` gives 1/k each, ``"p"`` renormalises p on the chosen clients.
    """

    k: int = 1
    weights: str = "equal"

    @property
    def name(self) -> str:
        suffix = ",p" if self.weights == "p" else ""
        return "fedmax" if self.k == 1 and not suffix else f"fedmax:{self.k}{suffix}"

    def __call__(self, p: Array, excess: Array, round: int, stream: RoundStream) -> Array:
        if self.k > excess.shape[-1]:
            raise reject(f"fedmax:k chooses k of N = {excess.shape[-1]} clients", f"k = {self.k}", "use k <= N")
        size = 0 if excess.dtype == object else np.where(np.isfinite(excess), excess, 0.0).max(-1, keepdims=True)
        chosen = top_k(excess, self.k, size)
        if self.weights == "p":
            chosen = chosen * p
        return chosen / chosen.sum(axis=-1, keepdims=True)


def build(argument: str | None) -> FedMax:
    """``fedmax``, ``fedmax:K`` or ``fedmax:K,p``."""
    if argument is None:
        return FedMax()
    number, _, weights = argument.partition(",")
    if not number.isdigit() or int(number) < 1 or weights not in ("", "equal", "p"):
        raise reject(
            "fedmax takes a whole number k >= 1, and optionally ,p", argument, "write fedmax:3 or fedmax:3,p"
        )
    return FedMax(int(number), weights or "equal")


WEIGHTING = WeightingPlugin("fedmax", build, "fedmax[:K[,p]]", "1/K on the K clients with the largest F_i - F_i*")
