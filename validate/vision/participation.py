"""The paper's map of participation: who carries the weight, whose losses are largest, whom FedMax uses.

    python -m validate.vision.participation

Reads the stored records; writes validate/results/vision/participation.json and, in docs/img/vision, the maps
participation*.png and top-losses.png. The ten highest weights of a round are marked, as in the paper, which prints no
numbers. FedAvg's ten highest weights are those of the ten largest data sets, in every round: a map of weights mixes
sizes with losses, so the ten largest losses are counted too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fedbounds.show import series
from fedbounds.show.palette import BLACK, DASHES
from fedbounds.vision import canvas, estimates, paper, weights
from fedbounds.vision.estimates import Estimate
from fedbounds.vision.runs import Run
from validate.vision import _verdict
from validate.vision._common import Data, Stored, Study, described, flat, picture
from validate.vision._verdict import Case
from validate.vision.experiments import MAXIMA_FOLDERS, MNIST, SOFT


def _chosen(case: Mapping[str, list[Run]]) -> dict[str, list[Run]]:
    """FedSoftMax at the main temperature, FedMax and FedMax(k)."""
    return {name: group for name, group in case.items() if name == SOFT or name.startswith("fedmax")}


def measure(stored: Stored) -> Data:
    """How many clients are ever marked or used, how much of the group stays, and the claim."""
    cases = {f: _chosen(case) for f, case in stored.whole(MNIST).items()}
    data = {
        f: {**described(case), "weightings": {name: _row(group) for name, group in case.items()}}
        for f, case in cases.items()
        if case
    }
    judged = [_group(f, name, group) for f, case in cases.items() for name, group in case.items()]
    return {"marked": paper.MARKED, "data": data, "claims": [_verdict.claim("small-group", ("group",), judged)]}


def _row(group: Sequence[Run]) -> Data:
    found = {name: value and value.to_json() for name, value in weights.participation_summary(group).items()}
    first = weights.participation(group[0].alpha)
    return {
        **found,
        "overlap_by_chance": first.by_chance,
        "largest_data_sets": _sizes(group).to_json(),
        "clients": len(group[0].p),
    }


def _sizes(group: Sequence[Run]) -> Estimate:
    """Share of the marks of the weights that fall on the clients with the largest p (ties at the edge left out).

    nan where no p is larger than the others, or no weight.
    """
    shares = []
    for run in group:
        marks, largest = series.largest(run.alpha, paper.MARKED), series.largest(run.p[None], paper.MARKED)
        known = marks.any() and largest.any()
        shares.append(float((marks & largest).sum() / marks.sum()) if known else math.nan)
    return estimates.mean(shares, within=estimates.SHARE)


def _group(framework: str, name: str, group: Sequence[Run]) -> Case:
    """FedMax(k): the clients ever used. FedSoftMax trains all: the clients ever among the ten largest losses."""
    summary, clients = weights.participation_summary(group), len(group[0].p)
    soft = name == SOFT
    count = summary["losses-ever"] if soft else summary["ever-used"]
    assert count is not None
    what = "ever among the ten largest losses" if soft else "ever used"
    rounds = sorted({run.rounds for run in group})[-1]
    words = f"{estimates.text(count, 1)} of {clients} clients {what} in {rounds} rounds"
    shared = summary["effective-all"]
    if not soft and shared is not None:
        words += f", effectively {estimates.text(shared, 1)}"
    overlap, losses = summary["losses-overlap"], weights.top_losses(group[0])
    if overlap is not None and losses is not None:
        words += f"; the ten largest losses overlap by {estimates.text(overlap, 2)} from round to round"
        words += f" (by chance {losses.by_chance:.2f})"
    # The paper speaks of data that are not IID here.
    where = f"{framework}, largest losses under {name}" if soft else f"{framework}, {name}"
    return Case(where, _verdict.small_group(count, clients), words, extra=framework == "IID")


def losses_figure(cases: Mapping[str, Mapping[str, list[Run]]]) -> Any:
    """Above: whose losses are among the ten largest (FedSoftMax, one repetition); below: in which share of rounds.

    Below, clients are sorted by that share in each repetition, and the mean over repetitions is drawn, beside what
    ten clients drawn at random each round would give.
    """
    figure, grid = canvas.panels(2, len(cases))
    names = list(dict.fromkeys(name for case in cases.values() for name in case))
    styles = canvas.ordered_styles(names)
    for (above, below), (framework, case) in zip(grid.T, cases.items(), strict=True):
        run = case[SOFT][0]
        known = np.isfinite(run.client_losses[:-1]).all(axis=1)
        marks = series.largest(run.client_losses[:-1][known], paper.MARKED)
        canvas.head(above, f"{framework}: {run.partition}")
        extent = (0.5, marks.shape[1] + 0.5, 0.5, marks.shape[0] + 0.5)
        above.imshow(marks, origin="lower", aspect="auto", interpolation="nearest", extent=extent, cmap="cividis")
        above.grid(False)
        above.set_xlabel("client $i$")
        for name, group in case.items():
            curve = np.mean([np.sort(_shares(one))[::-1] for one in group], axis=0)
            below.plot(np.arange(1, len(curve) + 1), curve, label=name, **styles[name])
        below.plot(np.arange(1, len(curve) + 1), _by_chance(marks), color=BLACK, ls=DASHES[2], label="at random")
        below.set_xlabel("clients, most marked first")
        below.set_ylim(0, 1.02)
    grid[0, 0].set_ylabel("communication round $t$")
    grid[1, 0].set_ylabel("share of rounds among the\nten largest losses")
    figure.suptitle(f"The ten largest losses; above: {SOFT}, one repetition, light", parse_math=False, **canvas.TITLE)
    canvas.legend(figure, [grid[1, 0], *grid[1, 1:]])
    return figure


def _shares(run: Run) -> np.ndarray:
    found = weights.top_losses(run)
    assert found is not None
    return found.share


def _by_chance(marks: np.ndarray, draws: int = 200, seed: int = 0) -> np.ndarray:
    """The sorted shares of clients marked at random, ten each round, on average."""
    rng, (rounds, clients) = np.random.default_rng(seed), marks.shape
    marked = min(paper.MARKED, clients)
    ranks = rng.random((draws, rounds, clients)).argsort(axis=2).argsort(axis=2)
    return np.sort((ranks < marked).mean(axis=1), axis=1)[:, ::-1].mean(axis=0)


def draw(stored: Stored, out: Path) -> None:
    """participation.png and participation-fedmax.png (maps of weights), top-losses.png."""
    from fedbounds.vision.pictures_weights import participation_figure

    cases = {f: _chosen(case) for f, case in stored.whole(MNIST).items()}
    for name, stem in ((SOFT, "participation"), ("fedmax", "participation-fedmax")):
        shown = [run for case in cases.values() for run in flat(case, [name])]
        if shown:
            picture(lambda shown=shown, name=name: participation_figure(shown, name), out / f"{stem}.png")  # type: ignore[misc]
    soft = {f: case for f, case in cases.items() if SOFT in case}
    if soft:
        picture(lambda: losses_figure(soft), out / "top-losses.png")


def lines(data: Data) -> list[str]:
    """A line a row."""
    return [
        f"{framework} {name}: ever marked {row['ever']['value']}, ever used {row['ever-used']['value']}"
        for framework, case in data["data"].items()
        for name, row in case["weightings"].items()
    ]


STUDY = Study(
    "participation",
    ("mnist-iid", "mnist-niid", "mnist-tniid", *MAXIMA_FOLDERS),
    measure,
    draw,
    lines,
)


def main(arguments: list[str] | None = None) -> Data:
    """Measure, draw, print; ``--small --out DIR`` trains tiny runs first and writes in DIR alone."""
    return STUDY.command(__doc__, arguments)


if __name__ == "__main__":
    main()
