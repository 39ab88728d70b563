"""Constants that bounds are evaluated at: given by hand, or those of a problem."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fedbounds.errors import reject
from fedbounds.evidence.evaluate import Array
from fedbounds.model.problem import Problem

Measure = Literal["gap", "distance"]
# Local steps tried where tau is free.
LARGEST_TAU = 50


@dataclass(frozen=True)
class ProblemConstants:
    """Constants of a problem and a run of FedAvg with full participation. InputError for those that no problem has.

    L: Smoothness constant of every F_i (needed).
    mu: Strong-convexity constant of every F_i (needed).
    N: Number of clients N.
    zeta_star: Root mean square of ||grad F_i(w*)||.
    rounds: Rounds; T = rounds * tau.
    tau: Local steps a round.
    G_sq: Bound on the second moment of gradients.
    sigma_sq: Bound on the variance of gradients.
    Delta_0: ||w_0 - w*||^2 (default: its bound G^2/mu^2).
    Gamma: Heterogeneity F* - sum_i p_i F_i*.
    weights: The p_i, with commas (default: 1/N each).
    L_sample: Smoothness of every sample's convex loss.
    assumed: The key of an assumption that no constant shows.
    measure: What is bounded (default: gap).
    """

    L: float
    mu: float
    N: int
    zeta_star: float
    rounds: int
    tau: int | None = None
    G_sq: float | None = None
    sigma_sq: float = 0.0
    Delta_0: float | None = None
    Gamma: float | None = None
    weights: str | tuple[float, ...] = ()
    L_sample: float | None = None
    assumed: tuple[str, ...] = ()
    measure: Measure = "gap"

    def __post_init__(self) -> None:
        if self.zeta_star < 0:
            raise reject("zeta_* is at least 0", self.zeta_star, "give the root of a mean of squares")
        sizes = {"Delta_0": self.Delta_0, "zeta_*^2": self.zeta_sq, "sigma^2": self.sigma_sq}
        optional = {"G^2": self.G_sq, "Gamma": self.Gamma}
        counts = {"N": self.N, "rounds": self.rounds, "tau": 1 if self.tau is None else self.tau}
        require_constants(self.L, self.mu, sizes | optional, counts)
        if self.Delta_0 is None:
            if self.G_sq is None or self.mu**2 == 0:
                remedy = "give --delta0, or another unit of length"
                raise reject("mu^2 must be a number above 0", f"mu = {self.mu}", remedy)
            object.__setattr__(self, "Delta_0", self.G_sq / self.mu**2)
        if self.L_sample is not None and self.L_sample < self.mu:
            raise reject("L_sample is at least mu", self.L_sample, "give the smoothness of every sample's loss")
        p = self.p
        if p and (len(p) != self.N or min(p) <= 0 or not math.isclose(sum(p), 1)):
            raise reject("the weights must be N positive numbers that sum to 1", p, "change them")

    @property
    def p(self) -> tuple[float, ...]:
        """The weights; none stands for equal ones."""
        given = self.weights.split(",") if isinstance(self.weights, str) else self.weights
        try:
            return tuple(map(float, given))
        except ValueError:
            what = "weights are numbers with commas between"
            raise reject(what, repr(self.weights), "write 0.5,0.5") from None

    @property
    def zeta_sq(self) -> float:
        """What bounds sum_i p_i ||grad F_i(w*)||^2."""
        return self.zeta_star * self.zeta_star

    def values(self) -> dict[str, float]:
        """Symbol -> number; Gamma <= zeta_*^2/(2 mu) where it is not given, and clients draw independently."""
        of_mean = self.sigma_sq * (sum(share**2 for share in self.p) if self.p else 1 / self.N)
        optional = {"G_sq": self.G_sq, "L_sample": self.L_sample}
        return {
            **dict.fromkeys(("rho_bar", "rho_tilde", "rho_pairs", "pi_min", "pi_max", "C"), 1.0),
            "L": self.L,
            "mu": self.mu,
            "N": float(self.N),
            "p_min": min(self.p, default=1 / self.N),
            "Delta_0": self.Delta_0 or 0.0,
            "sigma_sq": self.sigma_sq,
            "sigma_p_sq": of_mean,
            "sigma_opt_sq": of_mean,
            "m": float(self.N) if len(set(self.p)) < 2 else 0.0,
            "sigma_dif_sq": self.zeta_sq + self.sigma_sq,
            "Gamma": self.zeta_sq / (2 * self.mu) if self.Gamma is None else self.Gamma,
        } | {name: value for name, value in optional.items() if value is not None}

    @property
    def taus(self) -> Array:
        """The local steps to choose from: (n, 1)."""
        return np.arange(1.0, LARGEST_TAU + 1)[:, None] if self.tau is None else np.array([[float(self.tau)]])


def constants_of(problem: Problem) -> dict[str, Any]:
    """L, mu, Gamma, N, zeta_*, ||w_0 - w*||^2 from the origin and the weights of a problem, by the options' names."""
    constants = problem.constants()
    slopes = (problem.grads(problem.w_star) ** 2).sum(-1)
    return {
        "L": constants["L"].value,
        "mu": constants["mu"].value,
        "Gamma": problem.Gamma.value,
        "N": problem.N,
        "zeta_star": math.sqrt(problem.p @ slopes),
        "Delta_0": float((problem.w_star**2).sum()),
        "weights": tuple(problem.p.tolist()),
    }


def require_constants(L: float, mu: float, sizes: Mapping[str, float | None], counts: Mapping[str, int]) -> None:
    """Raise InputError unless 0 < mu <= L, every size is finite and not negative, and every count is at least 1."""
    for name, value in {"L": L, "mu": mu, **sizes}.items():
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise reject(f"{name} must be a finite non-negative number", value, f"give another {name}")
    for name, count in counts.items():
        if count < 1:
            raise reject(f"{name} must be at least 1", count, f"set {name} to 1 or more")
    if not 0 < mu <= L:
        raise reject("constants need 0 < mu <= L", f"mu = {mu:g}, L = {L:g}", "swap or change them")
