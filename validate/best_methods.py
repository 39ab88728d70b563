"""The best step sizes over a table of classes and runs, with their minimax gaps, and random runs below them.

    nice python -m validate.best_methods --out validate/results/design.json        (a quarter of an hour on one core)

A cell that the file has is not computed again, and the file is written after every cell. At kappa = 2 and
zeta_* = 0 eight steps or more leave less than a solver resolves: there is no such cell.
"""

from __future__ import annotations

import argparse
import itertools
from fractions import Fraction as Q
from pathlib import Path
from typing import Any

import numpy as np

from fedbounds.io import read_json, write_json
from fedbounds.model.problem import Array
from fedbounds.study.best_method import BestMethod, best_method

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


def cell(tau: int, rounds: int, kappa: int, zeta: Q, seed: int) -> dict[str, Any]:
    (item,) = best_method(rounds=rounds, tau=tau, kappa=kappa, zeta_star=zeta)
    highest = float(runs_of_quadratics(item, RANDOM, np.random.default_rng(seed)).max())
    return item.row() | {"random": RANDOM, "highest": highest}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    rows = read_json(out) if out.exists() else []
    stored = {(row["tau"], row["rounds"], row["kappa"], row["zeta_star"]) for row in rows}
    for seed, ((tau, rounds), kappa, zeta) in enumerate(itertools.product(RUNS, KAPPAS, ZETAS)):
        small = kappa == 2 and zeta == 0 and tau * rounds >= 8
        if not small and (tau, rounds, float(kappa), float(zeta)) not in stored:
            rows.append(cell(tau, rounds, kappa, zeta, seed))
            write_json(out, rows)
            print(*(rows[-1][name] for name in ("tau", "rounds", "kappa", "zeta_star", "worst", "gap")), flush=True)


if __name__ == "__main__":
    main()
