"""Algorithm 1 over a whole population of instances at once, in plain numpy, every outcome of chance included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbounds.evidence.quantity_values import Quadratic, Values, values
from fedbounds.model.problem import Array
from fedbounds.referee.search.family import Batch
from fedbounds.theory.claim import Claim
from fedbounds.theory.measurement import Measurement
from fedbounds.theory.quantity import Path
from fedbounds.theory.reading import Reading
from fedbounds.theory.symbols import Scope

# A share of the weight this far from 1/m is another share: these are sums of a few doubles.
SHARE_ROUNDING = 1e-9


@dataclass(frozen=True)
class Record:
    """What the claims need of a population's runs: constants (P, 1), expected paths (P, T + 1), and of the local
    models every outcome, (P, T, K, N); the iterates ``w`` (P, K, T + 1, d) by name, ``X`` (P, K, T + 1, N, d) and the
    weights ``alpha`` (P, K, T, N)."""

    constants: Mapping[str, Array]
    rho_sync: Array
    rho_all: Array
    paths: Mapping[str, Mapping[str, Array]]
    grad_sq: Array
    excess: Array
    w: Mapping[str, Array]
    X: Array
    alpha: Array

    def own(self, claim: Claim, batch: Batch, reading: Reading) -> Values:
        """The values of the claim's own symbols, as `observed` has the others; nan where a member has none."""
        if not claim.computed:
            return Values()
        members = [self._member(claim, batch, reading, k) for k in range(len(batch.p))]
        nothing = np.full(1, np.nan)
        names = {symbol.name for symbol in claim.computed}
        constants = {n for found in members for n in found.constants}
        rows = {n: [np.atleast_1d(m.constants.get(n, m.fields.get(n, nothing))) for m in members] for n in names}
        longest = {n: max(map(len, found)) for n, found in rows.items()}
        table = {n: np.stack([np.broadcast_to(row, longest[n]) for row in found]) for n, found in rows.items()}
        table = {n: found.astype(float) for n, found in table.items()}
        return Values(
            {n: found for n, found in table.items() if n in constants},
            {n: found for n, found in table.items() if n not in constants},
        )

    def _member(self, claim: Claim, batch: Batch, reading: Reading, k: int) -> Values:
        eta, tau = batch.eta[k], batch.family.tau
        losses = Quadratic(batch.curvatures[k], batch.minima[k], batch.p[k], batch.L[k], batch.mu[k])
        w, X, alpha = self.w[reading.virtual][k], self.X[k, :, :-1], self.alpha[k]
        paths = [(1 / len(w), Path(tau, eta, losses, *path)) for path in zip(w, X, alpha, strict=True)]
        return values(claim, losses, Path(tau, eta), lambda: paths)

    def measurement(self, batch: Batch, reading: Reading, own: Values | None = None) -> Measurement[Array]:
        """The population as claims see it in a reading: constants (P, 1), fields (P, m), times and eta too."""
        own = own or Values()
        path, (P, T, K, N) = self.paths[reading.virtual], self.grad_sq.shape
        steps, horizons = np.arange(T), np.arange(T + 1)
        times = {"constant": np.zeros(1, dtype=int), "point": np.repeat(steps, K * N), "step": steps}
        rho_bar = self.rho_sync if reading.skew == "sync" else self.rho_all
        fields = {
            "eta": batch.eta,
            "next_mean": path["distance_sq"][:, 1:],
            "grad_sq": self.grad_sq.reshape(P, -1),
            "local_excess": self.excess.reshape(P, -1),
        }

        def field(scope: Scope, name: str) -> Array:
            if name == "time":
                return found(scope)[None, :].astype(float)
            return fields[name] if name in fields else path[name][:, : len(found(scope))]

        def found(scope: Scope) -> NDArray:
            return times.get(scope, horizons)

        constants = {**self.constants, "rho_bar": rho_bar[:, None], **own.constants}
        return Measurement(constants, found, field, own.fields)


def simulate_batch(batch: Batch) -> Record:
    """Run Algorithm 1 on every instance of a population, over each of its K equally likely outcomes."""
    family = batch.family
    c, m = batch.curvatures[:, None, None], batch.minima[:, None, None]
    signs, present = family.outcomes
    shares = present * batch.p[:, None, None]
    shares = shares / shares.sum(-1, keepdims=True)
    X, alphas = _fixed_direction(batch) if family.straight else _round_by_round(batch, signs, shares)
    weighted = batch.p[..., None] * batch.curvatures
    mean_curvature = weighted.sum(1)[:, None, None]
    star = (weighted * batch.minima).sum(1) / weighted.sum(1)
    A, q = (np.repeat(row, family.tau, axis=2) for row in (alphas, shares))
    paths, visited, excess = {}, {}, np.empty(0)
    for virtual, weights in (("p", q), ("alpha", A)):
        w = np.concatenate([(weights[..., None] * X[:, :, :-1]).sum(3), X[:, :, -1:, 0]], axis=2)
        w[:, :, :: family.tau] = X[:, :, :: family.tau, 0]  # all are one model there, not a rounded mean
        away, visited[virtual] = w - star[:, None, None], w
        apart = ((w[:, :, :-1, None] - X[:, :, :-1]) ** 2).sum(-1)
        drift = np.pad((A * apart).sum(-1), ((0, 0), (0, 0), (0, 1)))
        found = {"distance_sq": (away**2).sum(-1), "gap": (mean_curvature * away**2).sum(-1) / 2, "drift": drift}
        paths[virtual] = {name: values.mean(1) for name, values in found.items()}
        excess = (c * (w[:, :, :, None] - m) ** 2).sum(-1) / 2
    below = (q * excess[:, :, :-1]).sum(-1)
    rho = np.where(below > 0, (A * excess[:, :, :-1]).sum(-1) / np.where(below > 0, below, 1), 1).min(1)
    slope = c * (X[:, :, :-1] - m)
    grad_sq, local = (slope**2).sum(-1), (slope * (X[:, :, :-1] - m)).sum(-1) / 2
    constants = _constants(batch, star, grad_sq, alphas, shares, excess)
    points = grad_sq.swapaxes(1, 2), local.swapaxes(1, 2)
    return Record(constants, rho[:, :: family.tau].min(1), rho.min(1), paths, *points, visited, X, A)


def _round_by_round(batch: Batch, signs: Array, shares: Array) -> tuple[Array, Array]:
    """Local models at every time (P, K, T + 1, N, d) and the weights of every round (P, K, rounds, N)."""
    family, (P, N, d) = batch.family, batch.curvatures.shape
    c, m = batch.curvatures[:, None], batch.minima[:, None]
    X, alphas = np.empty((P, len(signs), family.total + 1, N, d)), np.empty((P, len(signs), family.rounds, N))
    w = np.broadcast_to(batch.w0[:, None], (P, len(signs), d))
    for r in range(family.rounds):
        excess = (c * (w[:, :, None] - m) ** 2).sum(-1) / 2
        alpha = alphas[:, :, r] = choose(batch, r, excess, shares[:, :, r])
        x = np.repeat(w[:, :, None], N, axis=2)
        for t in range(r * family.tau, (r + 1) * family.tau):
            X[:, :, t] = x
            slope = c * (x - m)
            slope[..., 0] += signs[:, t] * batch.noise[:, None]
            x = x - batch.eta[:, None, t, None, None] * slope
        w = (alpha[..., None] * x).sum(2)
    X[:, :, -1] = w[:, :, None]
    return X, alphas


def _fixed_direction(batch: Batch) -> tuple[Array, Array]:
    """The same in closed form, for one step a round with weights that are always the same and no chance.

    w_T - v = prod_t (1 - eta_t a) (w_0 - v) in each coordinate, a = sum_i alpha_i c_i and v the point where the
    weighted gradient vanishes; so a long run costs no more than a short one.
    """
    family = batch.family
    alpha = batch.p if family.weighting == "fedavg" else batch.weights[:, 0]
    a = (alpha[..., None] * batch.curvatures).sum(1)
    v = (alpha[..., None] * batch.curvatures * batch.minima).sum(1) / a
    kept = np.cumprod(1 - batch.eta[:, :, None] * a[:, None], axis=1)
    w = np.concatenate([batch.w0[:, None], v[:, None] + kept * (batch.w0 - v)[:, None]], axis=1)
    X = np.repeat(w[:, None, :, None], family.N, axis=3)
    return X, np.repeat(alpha[:, None, None], family.rounds, axis=2)


def choose(batch: Batch, r: int, excess: Array, shares: Array) -> Array:
    """Aggregation weights of round r (P, K, N), absent clients and ties as in the exact evaluator."""
    kind, present = batch.family.weighting, shares > 0
    if kind == "fedavg":
        return shares
    if kind == "fixed":
        kept = np.where(present, batch.weights[:, None, min(r, batch.weights.shape[1] - 1)], 0.0)
        total = kept.sum(-1, keepdims=True)
        return np.where(total > 0, kept / np.where(total > 0, total, 1), shares)
    k = min(int(kind.partition(":")[2] or 1), batch.family.present)
    scores = np.where(present, excess, -1.0)
    threshold = np.sort(scores, axis=-1)[..., -k, None]
    above, tied = scores > threshold, scores == threshold
    share = (k - above.sum(-1, keepdims=True)) / tied.sum(-1, keepdims=True)
    return (above + tied * share) / k


def _constants(
    batch: Batch, w_star: Array, grad_sq: Array, alphas: Array, shares: Array, visited: Array
) -> dict[str, Array]:
    """Constant symbols (P, 1) but rho_bar."""
    p, family = batch.p, batch.family
    P, N = p.shape
    star = (batch.curvatures * (w_star[:, None] - batch.minima) ** 2).sum(-1) / 2
    Gamma = (p * star).sum(-1)
    there = shares > 0
    ratios = alphas / np.where(there, shares, 1)
    low, high = (np.where(there, ratios, other).reshape(P, -1) for other in (np.inf, -np.inf))
    distinct = (alphas[:, :, :1] if family.straight else alphas).reshape(P, -1, N)
    star_max = (distinct * star[:, None, :]).sum(-1).max(-1)
    plain = (Gamma <= 0) | ((low.min(-1) == 1) & (high.max(-1) == 1))
    points = np.concatenate([visited.reshape(P, -1, N), star[:, None, :]], axis=1)  # rho_pairs ranges over w* too
    numerator, below = np.einsum("prn,ptn->prt", distinct, points), (p[:, None] * points).sum(-1)[:, None, :]
    pairs = np.where(below > 0, numerator / np.where(below > 0, below, 1), np.inf)
    count = (distinct > 0).sum(-1)
    equal = (np.abs(distinct.max(-1) * count - 1) < SHARE_ROUNDING).all(-1) & (count == count[:, :1]).all(-1)
    inside = batch.eta.reshape(P, family.rounds, family.tau)
    columns = {
        "L": batch.L,
        "mu": batch.mu,
        "Gamma": Gamma,
        "tau": np.full(P, float(family.tau)),
        "N": np.full(P, float(N)),
        "Delta_0": ((batch.w0 - w_star) ** 2).sum(-1),
        "sigma_sq": (batch.noise**2).max(-1),
        "sigma_p_sq": (p**2 * batch.noise**2).sum(-1),
        "G_sq": (grad_sq + batch.noise[:, None, None] ** 2).max(axis=(1, 2, 3)),
        "rho_tilde": np.where(plain, 1.0, star_max / np.where(plain, 1.0, Gamma)),
        "rho_pairs": pairs.min(axis=(1, 2)),
        "pi_min": low.min(-1),
        "pi_max": high.max(-1),
        "p_min": p.min(-1),
        "m": np.where(equal, count[:, 0], 0).astype(float),
        "C": np.full(P, family.present / N),
        "eta_0": batch.eta[:, 0],
        "eta_ratio": (np.maximum.accumulate(inside, axis=-1) / inside).max(axis=(1, 2)),
    }
    return {name: column[:, None] for name, column in columns.items()}
