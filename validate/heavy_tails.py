"""How often is the band wrong on tails heavier than its reference law? Prints the table of docs/calibration.md.

python -m validate.heavy_tails    (half a minute)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fedbounds.evidence.empirical.band_validity import largest_share, share_limit
from fedbounds.evidence.empirical.bands import Array, band
from validate.markdown import markdown_table
from validate.runner import Study

RATE, TRIALS, SEED = 1e-3, 10_000, 1
Draw = Callable[[np.random.Generator, int], Array]


def lognormal(sigma: float) -> Draw:
    """Lognormal samples less their mean."""
    return lambda rng, R: rng.lognormal(0, sigma, R) - np.exp(sigma**2 / 2)


def pareto(index: float) -> Draw:
    """Pareto (Lomax) samples less their mean; of index 2 or less the variance is infinite."""
    return lambda rng, R: rng.pareto(index, R) - 1 / (index - 1)


LAWS: dict[str, Draw] = {"chi-square": lambda rng, R: rng.chisquare(1, R) - 1}
LAWS |= {f"lognormal, sigma = {sigma:g}": lognormal(sigma) for sigma in (1, 1.5, 2)}
LAWS |= {f"Pareto, index {index:g}": pareto(index) for index in (2, 1.2)}


def rates(draw: Draw, R: int, rng: np.random.Generator, trials: int = TRIALS) -> tuple[float, float]:
    """(share of trials with a wrong verdict, share left undecided) at nominal RATE, of means that are 0."""
    wrong = undecided = 0
    for _ in range(trials):
        x = draw(rng, R)[:, None]
        limits = band(x, RATE)
        share = largest_share(np.abs(x - x.mean(0)).max(0), x.var(0, ddof=1), R)
        doubtful = bool(share.max() > share_limit(R))
        undecided += doubtful
        wrong += not doubtful and not limits.lower[0] <= 0 <= limits.upper[0]
    return wrong / trials, undecided / trials


def compute() -> list[tuple[str, int, float, float]]:
    """Law, replicates and the two shares."""
    rng = np.random.default_rng(SEED)
    return [(name, R, *rates(draw, R, rng)) for R in (16, 64, 256) for name, draw in LAWS.items()]


def table(found: list[tuple[str, int, float, float]]) -> str:
    rows = ((name, R, *(f"{100 * share:.3g}" for share in shares)) for name, R, *shares in found)
    return markdown_table(("law", "replicates", "wrong, %", "undecided, %"), rows)


STUDY = Study(__doc__, "", compute, table)

if __name__ == "__main__":
    STUDY.main()
