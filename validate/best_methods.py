"""The best step sizes over a table of classes and runs, with their minimax gaps, and random runs below them.

    python -m validate.best_methods        (half an hour on one core)

A cell that the record has is not computed again, and each is stored at once. At kappa = 2 and zeta_* = 0 eight steps
or more leave less than a solver resolves: there is no such cell.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction as Q
from typing import Any

import numpy as np

from fedbounds.model.problem import Array
from fedbounds.study.best_method import BestMethod, best_method
from validate.runner import RESULTS, cells, options

# (tau, rounds), with at most 12 steps in all, kappa and zeta_*.
RUNS = ((1, 1), (2, 1), (3, 1), (1, 3), (2, 2), (4, 1), (6, 1), (3, 2), (1, 6), (2, 4), (4, 3), (3, 4), (6, 2))
KAPPAS, ZETAS = (2, 10, 100), (Q(0), Q(1, 10), Q(1))
# Random runs of every cell; the best of each of a few numbers of clients.
RANDOM = 1200


def runs_of_quadratics(item: BestMethod, count: int, rng: np.random.Generator) -> Array:
    """||w_R - w*||^2 of random quadratic clients of the class of a method, equally weighted: (count,)."""
    run, eta, mu = item.run, item.eta, float(item.run.mu)
    N, d = int(rng.integers(2, 5)), 3
    frames = np.linalg.qr(rng.normal(size=(count, N, d, d)))[0]
    spectra = mu + (1 - mu) * rng.beta(0.3, 0.3, size=(count, N, d))
    H = np.einsum("bnij,bnj,bnkj->bnik", frames, spectra, frames)
    s = rng.normal(size=(count, N, d))
    s -= s.mean(axis=1, keepdims=True)
    s *= item.zeta_star / np.sqrt((s**2).sum(axis=2).mean(axis=1))[:, None, None]
    w = rng.normal(size=(count, d))
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    for _ in range(run.rounds):
        x = np.repeat(w[:, None], N, axis=1)
        for _ in range(run.tau):
            x = x - eta * (np.einsum("bnij,bnj->bni", H, x) + s)
        w = w + float(run.server) * (x.mean(axis=1) - w)
    return np.asarray((w**2).sum(axis=1))


def cell(tau: int, rounds: int, kappa: int, zeta_star: Q) -> dict[str, Any]:
    (item,) = best_method(rounds=rounds, tau=tau, kappa=kappa, zeta_star=zeta_star)
    seed = list(places()).index({"tau": tau, "rounds": rounds, "kappa": kappa, "zeta_star": zeta_star})
    highest = float(runs_of_quadratics(item, RANDOM, np.random.default_rng(seed)).max())
    return item.row() | {"random": RANDOM, "highest": highest}


def places() -> Iterator[dict[str, Any]]:
    """Every cell of the table; its number is its seed."""
    for (tau, rounds), kappa, zeta in itertools.product(RUNS, KAPPAS, ZETAS):
        yield {"tau": tau, "rounds": rounds, "kappa": kappa, "zeta_star": zeta}


def main() -> None:
    options(__doc__)
    small = (
        {"kappa": 2, "zeta_star": Q(0)}.items() <= one.items() and one["tau"] * one["rounds"] >= 8 for one in places()
    )
    cells(RESULTS / "design.json", (one for one, less in zip(places(), small, strict=True) if not less), cell)


if __name__ == "__main__":
    main()
