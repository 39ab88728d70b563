"""What bfloat16 products change: the same repetitions in float32, on the NIID framework.

    python -m validate.vision.precision

Partition, initial model and batches of a pair are the same. Reads the stored records; writes
validate/results/vision/precision.json and docs/img/vision/precision.png. The paper says nothing of precision.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from fedbounds.vision import measures
from fedbounds.vision.canvas import by_weighting
from fedbounds.vision.runs import Run
from validate.vision._common import Data, Stored, Study, described, flat, picture
from validate.vision.experiments import NIID, PRECISE

Groups = dict[str, list[Run]]


def _both(stored: Stored) -> tuple[Groups, Groups]:
    """The runs of the experiments, and those in the other precision under the same settings."""
    usual, other = stored.runs[NIID], stored.runs[PRECISE]
    precision = stored.grid[NIID].settings.precision
    again = [replace(run, settings={**run.settings, "precision": precision}) for run in other]
    return by_weighting(usual), by_weighting(again)


def precisions(stored: Stored) -> tuple[str, str]:
    """The experiments' precision and the other one."""
    usual, other = (stored.grid[name].settings.precision for name in (NIID, PRECISE))
    return usual, other


def measure(stored: Stored) -> Data:
    """R_90 of each pair, its difference (other minus usual), and how far accuracies are apart; no claim."""
    usual, other = _both(stored)
    shared = [name for name in usual if name in other and measures.pairs(other[name], usual[name])]
    rows = {name: _row(usual[name], other[name]) for name in shared}
    about = described(by_weighting(stored.runs[PRECISE])) if rows else {}
    return {"precisions": list(precisions(stored)), **about, "weightings": rows, "claims": []}


def _row(usual: list[Run], other: list[Run]) -> Data:
    found = measures.compare(other, usual)
    matched = measures.pairs(other, usual)
    apart = [_apart(a.accuracy, b.accuracy) for a, b in matched]
    return {
        "R_90": [[measures.rounds_to(run.accuracy) for run in (b, a)] for a, b in matched],
        "difference": found.to_json(),
        "largest_distance": max(largest for largest, _ in apart),
        "mean_difference": float(np.mean([mean for _, mean in apart])),
    }


def _apart(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """max_r |a_r - b_r| and the mean of a_r - b_r over the rounds that both have."""
    length = min(len(a), len(b))
    difference = a[:length] - b[:length]
    return float(np.abs(difference).max()), float(difference.mean())


def draw(stored: Stored, out: Path) -> None:
    """precision.png: accuracy and loss along rounds in both precisions, the same repetitions."""
    from fedbounds.vision.pictures import accuracy_figure

    usual, other = _both(stored)
    names = precisions(stored)
    pairs = [pair for name in usual if name in other for pair in measures.pairs(other[name], usual[name])]
    shown: Groups = {}
    for again, run in pairs:
        for precision, one in zip(names, (run, again), strict=True):
            name = f"{run.weighting}, {precision}"
            shown.setdefault(name, []).append(replace(one, weighting=name))
    if pairs:
        picture(lambda: accuracy_figure(flat(shown)), out / "precision.png")


def lines(data: Data) -> list[str]:
    """A line a weighting."""
    first, second = data["precisions"]
    return [
        f"{name}: R_90 in {first} and {second} {row['R_90']}, accuracies at most {row['largest_distance']:.4f} apart"
        for name, row in data["weightings"].items()
    ]


STUDY = Study("precision", (NIID, PRECISE), measure, draw, lines)


def main(arguments: list[str] | None = None) -> Data:
    """Measure, draw, print; ``--small --out DIR`` trains tiny runs first and writes in DIR alone."""
    return STUDY.command(__doc__, arguments)


if __name__ == "__main__":
    main()
