"""How a server turns client losses into aggregation coefficients alpha_t^i (equation 3: they sum to 1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import reject
from fedbounds.model.problem import SIMPLEX_TOLERANCE, Array


class RoundStream(Protocol):
    """Randomness a weighting may use: keyed by (seed, replicate, round), so reproducible bit for bit."""

    def uniform(self, count: int) -> Array:
        """Independent U[0, 1) numbers, shape (replicates, count)."""


@runtime_checkable
class Weighting(Protocol):
    """alpha = weighting(p, excess, round, stream).

    ``p`` is (..., N) or (N,), ``excess`` is e_i(w_t) = F_i(w_t) - F_i_star with shape (replicates, N);
    the result has the shape of ``excess`` and each row lies on the simplex.
    """

    def __call__(self, p: Array, excess: Array, round: int, stream: RoundStream) -> Array: ...


@dataclass(frozen=True)
class WeightingPlugin:
    """One entry of the registry: ``key`` on the command line, and a builder from the text after its colon.

    ``example`` is a text that builds it for four clients (the key alone unless given): the contract
    tests run it.
    """

    key: str
    build: Callable[[str | None], Weighting]
    usage: str
    summary: str
    example: str = ""


def name_of(weighting: Weighting) -> str:
    """The name a table shows: the weighting's own ``name``, or the callable's."""
    return str(getattr(weighting, "name", None) or getattr(weighting, "__name__", type(weighting).__name__))


def is_constant(weighting: Weighting) -> bool:
    """True where alpha is known not to depend on w (FedAvg, fixed weights)."""
    return bool(getattr(weighting, "constant", False))


def needs_problem(weighting: Weighting) -> bool:
    """True where the rule is found from a strongly convex problem, and is another one without it."""
    return bool(getattr(weighting, "needs_problem", False))


def check_simplex(alpha: NDArray, shape: tuple[int, ...], name: str) -> Array:
    """``alpha`` if every row is on the simplex, else an input error that names the weighting."""
    alpha = np.asarray(alpha, dtype=float)
    if alpha.shape != shape:
        raise reject(
            f"weighting {name} must return one row of weights a replicate, shape {shape}",
            f"shape {alpha.shape}",
            "keep the leading axes of the losses it is given",
        )
    bad = ~np.isfinite(alpha).all(-1) | (alpha < 0).any(-1) | (np.abs(alpha.sum(-1) - 1) > SIMPLEX_TOLERANCE)
    if bad.any():
        row = alpha[np.argmax(bad)]
        raise reject(
            f"weighting {name} must return non-negative weights that sum to 1",
            f"{np.array2string(row, threshold=8)} with sum {row.sum():.12g}",
            "normalise its rows",
        )
    return alpha
