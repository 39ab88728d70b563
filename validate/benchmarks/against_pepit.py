"""Seconds a solve: this package's compiled programme against PEPit, on one curve of local gradient descent.

    python -m validate.benchmarks --only pepit           (about a minute on one core)

Both solve sup ||w+ - w*||^2 over ||w_0 - w*||^2 <= 1 and mean ||grad F_i(w*)||^2 <= 1 (mu = 1/kappa, L = 1,
eta = 1/2, uniform weights) for a run of kappas, with the same solver.
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction as F
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
KAPPAS = tuple(range(3, 23))
SIZES = ((2, 1), (2, 2), (2, 4), (3, 3), (5, 2))


def ours(N: int, tau: int) -> tuple[float, list[float]]:
    """(seconds a solve, values) along the curve, compilation included."""
    from fedbounds.evidence.sdp.model import build
    from fedbounds.evidence.sdp.setting import round_setting
    from fedbounds.evidence.sdp.solve import compiled, worst_case

    compiled.cache_clear()
    begun, values = time.perf_counter(), []
    for kappa in KAPPAS:
        model = build(round_setting(N, tau, kappa=kappa, eta=F(1, 2)), float, bounds=())
        against = [model.forms["Delta_start"], model.forms["star_grad_sq"]]
        values.append(worst_case(model, model.forms["Delta_next"], against, "nonneg").value)
    return (time.perf_counter() - begun) / len(KAPPAS), values


def theirs(N: int, tau: int) -> tuple[float, list[float]]:
    """The same in PEPit."""
    sys.path.insert(0, str(ROOT / "tests"))
    from pepit_oracle import local_descent

    begun = time.perf_counter()
    values = [local_descent(N, tau, 1 / kappa, 1.0, 0.5) for kappa in KAPPAS]
    return (time.perf_counter() - begun) / len(KAPPAS), values


def measure() -> list[dict[str, float]]:
    """Both on every size, after one solve each to warm up."""
    ours(2, 1), theirs(2, 1)
    rows = []
    for N, tau in SIZES:
        (a, mine), (b, other) = ours(N, tau), theirs(N, tau)
        gap = max(abs(x - y) / y for x, y in zip(mine, other, strict=True))
        rows.append({"N": N, "tau": tau, "seconds": a, "pepit_seconds": b, "largest_difference": gap})
    return rows


def table(found: list[dict[str, float]]) -> str:
    """One line a size."""
    line = (
        "N = {N}, tau = {tau}: {seconds:.4f} s, PEPit {pepit_seconds:.4f} s, values within {largest_difference:.1e}"
    )
    return "\n".join(line.format(**row) for row in found)
