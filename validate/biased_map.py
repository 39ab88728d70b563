"""The map of when loss-biased aggregation helps in the worst case: FedMax against FedAvg, both with steps 1/L.

    python -m validate.biased_map        (six minutes on one core)

FedMax is certified worse where a run of it, in fractions, ends above FedAvg's certified worst case, and certified
better where its certified bound is below a run of FedAvg. The clients are two of equal weight; as many copies of each
change neither rule. A cell that the file has is not computed again.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction as Q
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import fedbounds
from fedbounds.report.figure_styles import save
from fedbounds.report.number_format import downward
from validate.runner import IMAGES, RESULTS, cells, grid, options

KAPPAS, TAUS, ROUNDS, ZETAS = (2, 10, 100), (1, 2, 4), (1, 2, 4, 8), (Q(1, 100), Q(3, 100), Q(1, 10), Q(3, 10), Q(1))
# Factors above this are written in white.
BRIGHT = 150
NAMES = ("kappa", "tau", "rounds", "zeta_star")


def cell(kappa: int, tau: int, rounds: int, zeta_star: Q, rule: str = "fedmax") -> dict[str, Any]:
    """Runs and certified bounds of both, and by how many times FedMax's worst case is FedAvg's, from and to."""
    at: dict[str, Any] = {"kappa": kappa, "tau": tau, "rounds": rounds, "zeta_star": zeta_star, "step": 1}
    (plain,), (biased,) = fedbounds.worst(**at), fedbounds.worst(**at, weights=rule, p="1/2,1/2")
    certified = plain.certified and biased.certified
    row = {"kappa": kappa, "tau": tau, "rounds": rounds, "zeta_star": float(zeta_star), "certified": certified}
    row |= {"fedavg": [plain.lower, plain.worst], rule: [biased.lower, biased.worst]}
    low, high = biased.lower / (plain.worst or np.inf), (biased.worst or np.inf) / plain.lower
    return row | {"from": low, "to": high, "answer": "worse" if low > 1 else "better" if high < 1 else "open"}


def title(rows: Sequence[dict[str, Any]]) -> str:
    counts = {answer: sum(row["answer"] == answer for row in rows) for answer in ("worse", "better")}
    start = f"In the worst case FedMax never helps: certified worse than FedAvg in {counts['worse']} of {len(rows)}"
    return f"{start} cells, better in {counts['better']}"


def figure(rows: Sequence[dict[str, Any]]) -> Figure:
    """A panel for kappa and tau: by how many times at least FedMax's worst case exceeds FedAvg's."""
    result = Figure(figsize=(9.2, 7.6), layout="constrained")
    panels = result.subplots(len(KAPPAS), len(TAUS), sharex=True, sharey=True)
    for (i, kappa), (j, tau) in itertools.product(enumerate(KAPPAS), enumerate(TAUS)):
        axes, here = panels[i, j], [row for row in rows if (row["kappa"], row["tau"]) == (kappa, tau)]
        values = np.full((len(ZETAS), len(ROUNDS)), np.nan)
        for row in here:
            place = list(map(float, ZETAS)).index(row["zeta_star"]), ROUNDS.index(row["rounds"])
            values[place] = row["from"]
            low, color = float(downward(row["from"], 3)), "white" if row["from"] > BRIGHT else "black"
            text = "open" if row["answer"] == "open" else f"{low:.0f}" if low > BRIGHT else f"{low:g}"
            axes.text(
                *reversed(place), ">1" if text == "1" else text, ha="center", va="center", color=color, fontsize=8
            )
        image = axes.imshow(np.log10(values), origin="lower", aspect="auto", cmap="OrRd", vmin=0, vmax=3)
        axes.grid(visible=False)
        axes.set_title(f"kappa = {kappa}, tau = {tau}", fontsize=9)
        axes.set_xticks(range(len(ROUNDS)), [str(R) for R in ROUNDS])
        axes.set_yticks(range(len(ZETAS)), [f"{float(zeta):g}" for zeta in ZETAS])
    result.supxlabel("rounds R", fontsize=9)
    result.supylabel("zeta_*, in units of L ||w_0 - w*||", fontsize=9)
    bar = result.colorbar(image, ax=panels, ticks=range(4), shrink=0.6)
    bar.ax.set_yticklabels(["1", "10", "100", "1000"])
    bar.set_label("FedMax's worst case over FedAvg's, at least", fontsize=9)
    result.suptitle(title(rows), fontsize=10)
    return result


def main() -> None:
    options(__doc__)
    rows = cells(RESULTS / "biased_map.json", grid(kappa=KAPPAS, tau=TAUS, rounds=ROUNDS, zeta_star=ZETAS), cell)
    save(lambda: figure(rows), IMAGES, "biased_map")[1].unlink()


if __name__ == "__main__":
    main()
