"""Small families of noiseless federated quadratics, encoded as points of a unit cube."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from fedbounds.claims.corollary import ETA, GAMMA
from fedbounds.evidence.constants import evaluate
from fedbounds.model.problem import Array
from fedbounds.theory.claim import Claim

# Ranges of the families. Scales are fixed by mu = 1 and the first minimiser at 0, without loss of generality.
MAX_CONDITION = 64.0
MAX_IMBALANCE = 1e4
MAX_START = 3.0
MIN_STEP = 1e-3
# Longer runs with fixed weights keep the same weights throughout.
MAX_ROWS = 3
# Weights that are all 0 have no direction to normalise; this share keeps them on the simplex.
LEAST_WEIGHT = 1e-12


@dataclass(frozen=True)
class Family:
    """The discrete part of an instance: what stays fixed while the numbers are searched."""

    N: int
    d: int
    tau: int
    rounds: int
    weighting: str
    schedule: str
    homogeneous: bool = False

    @property
    def total(self) -> int:
        """T, the number of local steps."""
        return self.tau * self.rounds

    @property
    def rows(self) -> int:
        """Rows of fixed weights: one a round in short runs, one in all in long ones, where they would be too many."""
        return self.rounds if self.rounds <= MAX_ROWS else 1

    @property
    def blocks(self) -> dict[str, int]:
        """Name -> number of coordinates of the unit cube that encode it."""
        return {
            "curvatures": self.N * self.d,
            "minima": 0 if self.homogeneous else (self.N - 1) * self.d,
            "p": self.N,
            "w0": self.d,
            "eta": self.total if self.schedule == "free" else 0,
            "weights": self.N * self.rows if self.weighting == "fixed" else 0,
        }

    @property
    def dimension(self) -> int:
        """Number of coordinates searched."""
        return sum(self.blocks.values())

    @property
    def label(self) -> str:
        """A short name for progress and state files."""
        same = ",same minimisers" if self.homogeneous else ""
        return f"N={self.N},d={self.d},tau={self.tau},rounds={self.rounds},{self.weighting},{self.schedule}{same}"


@dataclass(frozen=True)
class Batch:
    """A population of P instances of one family: arrays with a leading axis P."""

    family: Family
    curvatures: Array
    minima: Array
    p: Array
    w0: Array
    eta: Array
    weights: Array

    @property
    def L(self) -> Array:
        """Largest curvature (P,)."""
        return self.curvatures.max(axis=(1, 2))

    @property
    def mu(self) -> Array:
        """Smallest curvature (P,)."""
        return self.curvatures.min(axis=(1, 2))


def decode(family: Family, cube: Array, claim: Claim) -> Batch:
    """Points of the unit cube (P, dimension) as instances of a family."""
    parts, start = {}, 0
    for name, size in family.blocks.items():
        parts[name] = cube[:, start : start + size]
        start += size
    P, N, d = len(cube), family.N, family.d
    c = MAX_CONDITION ** parts["curvatures"].reshape(P, N, d)
    m = np.zeros((P, N, d))
    if not family.homogeneous:
        m[:, 1:] = 2 * parts["minima"].reshape(P, N - 1, d) - 1
    share = MAX_IMBALANCE ** -parts["p"]
    weights = (
        parts["weights"].reshape(P, -1, N) + LEAST_WEIGHT if family.weighting == "fixed" else np.empty((P, 0, N))
    )
    w0 = MAX_START * (2 * parts["w0"] - 1)
    L = c.max(axis=(1, 2), keepdims=False)
    if family.schedule == "free":
        eta = MIN_STEP ** parts["eta"] / L[:, None]
    else:
        eta = steps_asked(schedule(claim, family), family, L, c.min(axis=(1, 2)))
    p = share / share.sum(-1, keepdims=True)
    return Batch(family, c, m, p, w0, eta, weights / weights.sum(-1, keepdims=True))


def schedule(claim: Claim, family: Family) -> sp.Expr | None:
    """The step size in t that a family uses: the claim's own, the paper's corollary's, or None (searched)."""
    if family.schedule == "free":
        return None
    if family.schedule == "paper":
        return sp.sympify(ETA).subs(GAMMA)
    return sp.sympify(claim.eta).subs(dict(claim.definitions))


def steps_asked(formula: sp.Expr, family: Family, L: Array, mu: Array) -> Array:
    """The step sizes (P, T) of a formula in L, mu, tau and t."""
    values: dict[str, Any] = {"L": L[:, None], "mu": mu[:, None], "tau": float(family.tau)}
    steps = evaluate(formula, values | {"t": np.arange(family.total)[None, :]})
    return np.broadcast_to(steps, (len(L), family.total))
