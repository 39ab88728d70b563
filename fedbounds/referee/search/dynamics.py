"""Algorithm 1 without noise over a whole population of instances at once, in plain numpy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbounds.model.problem import Array
from fedbounds.referee.search.family import Batch
from fedbounds.theory.observed import Observed
from fedbounds.theory.reading import Reading
from fedbounds.theory.symbols import Scope

# A share of the weight this far from 1/m is another share: these are sums of a few doubles.
SHARE_ROUNDING = 1e-9


@dataclass(frozen=True)
class Record:
    """What the claims need of a population's runs: constants (P, 1) and paths (P, T + 1)."""

    constants: Mapping[str, Array]
    rho_sync: Array
    rho_all: Array
    paths: Mapping[str, Mapping[str, Array]]
    grad_sq: Array
    excess: Array

    def observed(self, batch: Batch, reading: Reading) -> Observed[Array]:
        """The population as claims see it in a reading: constants (P, 1), fields (P, m), times and eta too."""
        family, path = batch.family, self.paths[reading.virtual]
        steps, horizons = np.arange(family.total), np.arange(family.total + 1)
        times = {"constant": np.zeros(1, dtype=int), "point": np.repeat(steps, family.N), "step": steps}
        rho_bar = self.rho_sync if reading.skew == "sync" else self.rho_all
        fields = {
            "eta": batch.eta,
            "next_mean": path["distance_sq"][:, 1:],
            "grad_sq": self.grad_sq.reshape(len(batch.p), -1),
            "local_excess": self.excess.reshape(len(batch.p), -1),
        }

        def field(scope: Scope, name: str) -> Array:
            if name == "time":
                return found(scope)[None, :].astype(float)
            return fields[name] if name in fields else path[name][:, : len(found(scope))]

        def found(scope: Scope) -> NDArray:
            return times.get(scope, horizons)

        return Observed({**self.constants, "rho_bar": rho_bar[:, None]}, found, field)


def simulate_batch(batch: Batch) -> Record:
    """Run Algorithm 1 without noise on every instance of a population."""
    family = batch.family
    p, c, m = batch.p, batch.curvatures, batch.minima
    w_star = (p[:, :, None] * c * m).sum(1) / (p[:, :, None] * c).sum(1)
    star = _excess(batch, w_star)
    P, T = len(p), family.total
    paths = {v: {f: np.zeros((P, T + 1)) for f in ("distance_sq", "gap", "drift")} for v in ("alpha", "p")}
    rho = np.ones((P, T))
    grad_sq, local = np.zeros((P, T, family.N)), np.zeros((P, T, family.N))
    alphas, visited = np.zeros((P, family.rounds, family.N)), np.zeros((P, T + 1, family.N))
    w = batch.w0
    for r in range(family.rounds):
        alpha = alphas[:, r] = choose(batch, r, _excess(batch, w))
        X = np.repeat(w[:, None, :], family.N, axis=1)
        current = {"alpha": w, "p": w}
        for t in range(r * family.tau, (r + 1) * family.tau):
            _measure(batch, paths, t, current, X, alpha, w_star)
            e = visited[:, t] = _excess(batch, current["alpha"])
            below = (p * e).sum(-1)
            rho[:, t] = np.where(below > 0, (alpha * e).sum(-1) / np.where(below > 0, below, 1), 1)
            slope = c * (X - m)
            grad_sq[:, t], local[:, t] = (slope**2).sum(-1), (slope * (X - m)).sum(-1) / 2
            X = X - batch.eta[:, t, None, None] * slope
            current = {"alpha": (alpha[..., None] * X).sum(1), "p": (p[..., None] * X).sum(1)}
        w = current["alpha"]
    visited[:, T] = _excess(batch, w)
    _measure(batch, paths, T, {"alpha": w, "p": w}, np.repeat(w[:, None], family.N, axis=1), p, w_star)
    constants = _constants(batch, w_star, star, grad_sq, alphas, visited)
    inside = batch.eta.reshape(P, family.rounds, family.tau)
    constants["eta_ratio"] = (np.maximum.accumulate(inside, axis=-1) / inside).max(axis=(1, 2))[:, None]
    return Record(constants, rho[:, :: family.tau].min(1), rho.min(1), paths, grad_sq, local)


def choose(batch: Batch, r: int, excess: Array) -> Array:
    """Aggregation weights of round r (P, N), ties shared as the exact evaluator shares them."""
    kind = batch.family.weighting
    if kind == "fedavg":
        return batch.p
    if kind == "fixed":
        return batch.weights[:, min(r, batch.weights.shape[1] - 1)]
    k = int(kind.partition(":")[2] or 1)
    threshold = np.sort(excess, axis=-1)[:, -k, None]
    above, tied = excess > threshold, excess == threshold
    share = (k - above.sum(-1, keepdims=True)) / tied.sum(-1, keepdims=True)
    return (above + tied * share) / k


def _excess(batch: Batch, w: Array) -> Array:
    return (batch.curvatures * (w[:, None, :] - batch.minima) ** 2).sum(-1) / 2


def _measure(
    batch: Batch,
    paths: Mapping[str, dict[str, Array]],
    t: int,
    current: Mapping[str, Array],
    X: Array,
    alpha: Array,
    w_star: Array,
) -> None:
    mean_curvature = (batch.p[..., None] * batch.curvatures).sum(1)
    for virtual, w in current.items():
        away = w - w_star
        paths[virtual]["distance_sq"][:, t] = (away**2).sum(-1)
        paths[virtual]["gap"][:, t] = (mean_curvature * away**2).sum(-1) / 2
        paths[virtual]["drift"][:, t] = (alpha * ((w[:, None, :] - X) ** 2).sum(-1)).sum(-1)


def _constants(
    batch: Batch, w_star: Array, star: Array, grad_sq: Array, alphas: Array, visited: Array
) -> dict[str, Array]:
    """Constant symbols (P, 1) but rho_bar."""
    p, family = batch.p, batch.family
    Gamma = (p * star).sum(-1)
    ratios = alphas / p[:, None, :]
    star_max = (alphas * star[:, None, :]).sum(-1).max(-1)
    zero = Gamma <= 0
    visited = np.concatenate([visited, star[:, None, :]], axis=1)  # rho_pairs ranges over w* too
    numerator, below = np.einsum("prn,ptn->prt", alphas, visited), (p[:, None] * visited).sum(-1)[:, None, :]
    pairs = np.where(below > 0, numerator / np.where(below > 0, below, 1), np.inf)
    count = (alphas > 0).sum(-1)
    equal = (np.abs(alphas.max(-1) * count - 1) < SHARE_ROUNDING).all(-1) & (count == count[:, :1]).all(-1)
    columns = {
        "L": batch.L,
        "mu": batch.mu,
        "Gamma": Gamma,
        "tau": np.full(len(p), float(family.tau)),
        "N": np.full(len(p), float(family.N)),
        "Delta_0": ((batch.w0 - w_star) ** 2).sum(-1),
        "sigma_sq": np.zeros(len(p)),
        "sigma_p_sq": np.zeros(len(p)),
        "G_sq": grad_sq.max(axis=(1, 2)),
        "rho_tilde": np.where(zero, 1.0, star_max / np.where(zero, 1.0, Gamma)),
        "rho_pairs": pairs.min(axis=(1, 2)),
        "pi_min": ratios.min(axis=(1, 2)),
        "pi_max": ratios.max(axis=(1, 2)),
        "p_min": p.min(-1),
        "m": np.where(equal, count[:, 0], 0).astype(float),
        "C": np.ones(len(p)),
        "eta_0": batch.eta[:, 0],
    }
    return {name: column[:, None] for name, column in columns.items()}
