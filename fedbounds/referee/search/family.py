"""Small families of federated quadratics, encoded as points of a unit cube."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import sympy as sp

from fedbounds.evidence.evaluate import steps_asked
from fedbounds.model.problem import Array
from fedbounds.study.bounds import main_bound
from fedbounds.theory.claim import Claim

# Ranges of the families. Scales are fixed by mu = 1 and the first minimiser at 0, without loss of generality.
MAX_CONDITION = 1e6
MAX_IMBALANCE = 1e4
MAX_START = 3.0
# A noise of this many L moves a model, in a step of 1/L, ten times as far as the farthest start lies: it prevails.
MAX_NOISE = 30.0
MIN_STEP = 1e-3
# Longer runs with fixed weights keep the same weights throughout.
MAX_ROWS = 3
# Weights that are all 0 have no direction to normalise; this share keeps them on the simplex.
LEAST_WEIGHT = 1e-12
# What a step size that is searched may be a formula in.
STEP_SYMBOLS = frozenset({"L", "mu", "tau", "N", "eta_0", "t"})


@dataclass(frozen=True)
class Family:
    """The discrete part of an instance: what stays fixed while the numbers are searched.

    With ``noise`` the gradients have noise of two values; ``absent`` clients, drawn uniformly, miss a round;
    ``equal`` clients have p_i = 1/N; ``alike`` ones, homogeneous too, have one loss.
    """

    N: int
    d: int
    tau: int
    rounds: int
    weighting: str
    schedule: str
    homogeneous: bool = False
    equal: bool = False
    alike: bool = False
    noise: bool = False
    absent: int = 0

    @property
    def present(self) -> int:
        """Clients that take part in a round."""
        return self.N - self.absent

    @property
    def chance(self) -> bool:
        """Whether anything in it is random."""
        return self.noise or self.absent > 0

    @property
    def straight(self) -> bool:
        """Whether every step of a run goes by the same weights: it then has a closed form."""
        return self.tau == 1 and not self.chance and (self.weighting == "fedavg" or self.constant)

    @property
    def constant(self) -> bool:
        """Whether the weights are fixed, the same in every round."""
        return self.weighting == "fixed" and self.rows == 1

    @property
    def count(self) -> int:
        """How many outcomes of chance there are."""
        return 2 ** (self.N * self.total * self.noise) * math.comb(self.N, self.absent) ** self.rounds

    @property
    def outcomes(self) -> tuple[Array, Array]:
        """Every outcome of chance, equally likely: signs of the noise (K, T, N), who is present (K, rounds, N)."""
        return _outcomes(self.N, self.tau, self.rounds, self.noise, self.absent)

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
            "curvatures": self.d * (1 if self.alike else self.N),
            "minima": 0 if self.homogeneous else (self.N - 1) * self.d,
            "p": 0 if self.equal else self.N,
            "w0": self.d,
            "eta": {"free": self.total, "start": 1}.get(self.schedule, 0),
            "weights": self.N * self.rows if self.weighting == "fixed" else 0,
            "noise": self.N if self.noise else 0,
        }

    @property
    def dimension(self) -> int:
        """Number of coordinates searched."""
        return sum(self.blocks.values())

    @property
    def label(self) -> str:
        """A short name for progress and state files."""
        parts = [f"N={self.N},d={self.d},tau={self.tau},rounds={self.rounds},{self.weighting},{self.schedule}"]
        parts += ["one loss"] * self.alike + ["same minimisers"] * (self.homogeneous and not self.alike)
        parts += ["equal p"] * self.equal + ["noise"] * self.noise
        return ",".join(parts + [f"{self.present} present"] * (self.absent > 0))


@lru_cache(maxsize=64)
def _outcomes(N: int, tau: int, rounds: int, noise: bool, absent: int) -> tuple[Array, Array]:
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=tau * rounds * N if noise else 0)))
    groups = [[float(i in group) for i in range(N)] for group in itertools.combinations(range(N), N - absent)]
    present = np.array(list(itertools.product(groups, repeat=rounds)))
    shocks = signs.reshape(len(signs), tau * rounds, N) if noise else np.zeros((1, tau * rounds, N))
    return np.repeat(shocks, len(present), axis=0), np.tile(present, (len(shocks), 1, 1))


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
    noise: Array

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
    c = np.broadcast_to(MAX_CONDITION ** parts["curvatures"].reshape(P, -1, d), (P, N, d))
    m = np.zeros((P, N, d))
    if not family.homogeneous:
        m[:, 1:] = 2 * parts["minima"].reshape(P, N - 1, d) - 1
    share = np.ones((P, N)) if family.equal else MAX_IMBALANCE ** -parts["p"]
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
    noise = MAX_NOISE * L[:, None] * parts["noise"] if family.noise else np.zeros((P, N))
    return Batch(family, c, m, p, w0, eta, weights / weights.sum(-1, keepdims=True), noise)


def schedule(claim: Claim, family: Family) -> sp.Expr | None:
    """The step size in t that a family uses: the claim's own (from a searched ``start`` eta_0 where it leaves that
    open), that of the theory under study (``paper``), or None where every step is searched (``free``)."""
    if family.schedule == "free":
        return None
    if family.schedule == "paper":
        return main_bound().steps
    return claim.steps
