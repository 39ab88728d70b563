"""Critical values of the t-statistic of chi-square samples: the table in fedbounds/evidence/empirical/bands.py.

    python -m validate.critical_values        (three to four minutes on one core)

For R independent chi-square variables with one degree of freedom (mean 1) and
t = sqrt(R) (1 - xbar)/s, write v = s/xbar. The sum of gamma variables is independent of their
proportions (Lukacs 1955), so v is independent of S = R xbar ~ chi2_R and

    P(t > q) = P(S < R/(1 + q v/sqrt(R))) = mean over v of F_R(R/(1 + q v/sqrt(R))),

with F_R the chi-square distribution function: the sum is integrated exactly and only v is sampled.
Small v dominates far tails, so the proportions, Dirichlet(1/2, ..., 1/2), are drawn from a mixture of
Dirichlet(k, ..., k), k >= 1/2, and weighted by the density ratio, which the mixture bounds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from fedbounds.evidence.empirical.bands import LEVELS, TABLE
from validate.runner import Study

Array = NDArray[np.float64]

REPLICATES = tuple(TABLE)
# Shapes of the mixture are (1 + c/sqrt(R))/2: from no tilt (c = 0) to the tilt that level 1e-12 needs.
TILTS = (0.0, 1.0, 2.0, 4.0, 6.0, 9.0, 13.0)
SEED = 20240601
DRAWS = 700_000
# Numbers drawn at once, to bound the memory (32 MB).
CHUNK = 4_000_000
# Guards logarithms: a gamma variable of shape 1/2 underflows with probability about 1e-154, a tail for huge q.
TINY = 1e-300


def sample_v(replicates: int, draws: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Coefficients of variation v = s/xbar of chi-square samples, and their weights (mean 1): two (draws,)."""
    R = replicates
    shapes = 0.5 * (1 + np.array(TILTS) / np.sqrt(R))
    log_norm = special.gammaln(R * shapes) - R * special.gammaln(shapes)
    values, weights = [], []
    for shape in shapes:
        left = draws // len(shapes)
        while left > 0:
            size = min(left, max(1, CHUNK // R))
            left -= size
            x = np.maximum(rng.standard_gamma(shape, size=(size, R)), TINY)
            x /= x.sum(axis=1, keepdims=True)
            log_density = log_norm[:, None] + (shapes[:, None] - 1) * np.log(x).sum(axis=1)
            values.append(R * x.std(axis=1, ddof=1))
            mixture = special.logsumexp(log_density, axis=0) - np.log(len(shapes))
            weights.append(np.exp(log_density[0] - mixture))
    weight = np.concatenate(weights)
    return np.concatenate(values), weight / weight.mean()


def tail(q: float, replicates: int, v: Array, weight: Array) -> tuple[float, float]:
    """P(t > q) and its standard error, from the output of :func:`sample_v`."""
    inside = special.gammainc(replicates / 2, (replicates / 2) / (1 + q * v / np.sqrt(replicates)))
    p = float(np.mean(weight * inside))
    # The weights are normalised by their own mean, so the error is that of a ratio.
    return p, float(np.std(weight * (inside - p)) / np.sqrt(v.size))


def quantile(level: float, replicates: int, v: Array, weight: Array) -> tuple[float, float]:
    """q with P(t > q) = level, and its relative standard error."""

    def log_excess(log_q: float) -> float:
        p = max(tail(np.exp(log_q), replicates, v, weight)[0], TINY)
        return float(np.log(p) - np.log(level))

    log_q = optimize.brentq(log_excess, np.log(0.05), np.log(1e5), xtol=1e-10)
    p, error = tail(np.exp(log_q), replicates, v, weight)
    step = 1e-4
    slope = (log_excess(log_q + step) - log_excess(log_q - step)) / (2 * step)
    return float(np.exp(log_q)), error / p / abs(slope)


def table(draws: int = DRAWS, seed: int = SEED, replicates: tuple[int, ...] = REPLICATES) -> tuple[Array, float]:
    """Critical values (len(replicates), len(LEVELS)) and the largest relative standard error among them."""
    rows, worst = [], 0.0
    for R in replicates:
        v, weight = sample_v(R, draws, np.random.default_rng([seed, R]))
        row = [quantile(level, R, v, weight) for level in LEVELS]
        rows.append([q for q, _ in row])
        worst = max([worst, *(error for _, error in row)])
    return np.array(rows), worst


def printed(found: tuple[Array, float]) -> str:
    """The table as it stands in fedbounds/evidence/empirical/bands.py."""
    values, worst = found
    rows = zip(REPLICATES, values, strict=True)
    lines = [f"    {R}: ({', '.join(f'{q:.5g}' for q in row)})," for R, row in rows]
    return "\n".join([*lines, f"# largest relative standard error: {worst:.1e}"])


STUDY = Study(__doc__, "", table, printed)

if __name__ == "__main__":
    STUDY.main()
