"""Small families of noiseless federated quadratics, encoded as points of a unit cube."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import sympy as sp

from fedbounds.evidence.evaluate import steps_asked
from fedbounds.model.problem import Array
from fedbounds.study.bound import main_bound
from fedbounds.theory.claim import Claim

# Ranges of the families. Scales are fixed by mu = 1 and the first minimiser at 0, without loss of generality.
MAX_CONDITION = 1e6
MAX_IMBALANCE = 1e4
MAX_START = 3.0
MIN_STEP = 1e-3
# Longer runs with fixed weights keep the same weights throughout.
MAX_ROWS = 3
# Weights that are all 0 have no direction to normalise; this share keeps them on the simplex.
LEAST_WEIGHT = 1e-12


# What a step size that is searched may be a formula in.
STEP_SYMBOLS = frozenset({"L", "mu", "tau", "N", "eta_0", "t"})


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
            "eta": {"free": self.total, "start": 1}.get(self.schedule, 0),
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
        constants = {"L": L[:, None], "mu": c.min(axis=(1, 2))[:, None], "tau": float(family.tau), "N": float(N)}
        if family.schedule == "start":
            constants["eta_0"] = MIN_STEP ** parts["eta"] / L[:, None]
        eta = np.broadcast_to(steps_asked(schedule(claim, family), constants, family.total), (P, family.total))
    p = share / share.sum(-1, keepdims=True)
    return Batch(family, c, m, p, w0, eta, weights / weights.sum(-1, keepdims=True))


def schedule(claim: Claim, family: Family) -> sp.Expr | None:
    """The step size in t that a family uses: the claim's own (from a searched ``start`` eta_0 where it leaves that
    open), that of the theory under study (``paper``), or None where every step is searched (``free``)."""
    if family.schedule == "free":
        return None
    if family.schedule == "paper":
        return main_bound().steps
    return claim.steps
