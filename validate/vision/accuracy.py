"""The paper's accuracy figures: IID, non-IID and very non-IID data, FedAvg beside FedSoftMax, and FedMax.

    python -m validate.vision.accuracy

Reads the stored records; writes validate/results/vision/accuracy.json and docs/img/vision/accuracy*.png. The paper
prints no final accuracy: its printed R_90 stands in the picture, as diamonds where it says that 90% is reached.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedbounds.vision import canvas, estimates, measures, paper
from fedbounds.vision.runs import Run
from validate.vision import _verdict
from validate.vision._common import PERCENT, Data, Stored, Study, described, flat, picture
from validate.vision._verdict import Case
from validate.vision.experiments import (
    BASELINE,
    FASHION,
    FASHION_FOLDERS,
    MAIN,
    MAXIMA_FOLDERS,
    MNIST,
    MNIST_FOLDERS,
    SOFT,
    SOFT_LOCAL,
)

# "Fast at first": rounds to this accuracy. The paper names none.
EARLY = 0.5
# A difference in rounds to EARLY that would count: the resolution.
EARLY_SIZE = 1.0
POINTS = "points"


def measure(stored: Stored) -> Data:
    """Final accuracies, their paired differences from FedAvg, and the two claims about them."""
    data = {name: {f: _case(case) for f, case in stored.whole(name).items()} for name in (MNIST, FASHION)}
    cases = [_same(f, case, name) for name in data for f, case in stored.whole(name).items() if _both(case, SOFT)]
    maxima = [
        found
        for f, case in stored.whole(MNIST).items()
        for name in case
        if name.startswith("fedmax") and _both(case, name)
        for found in _maximum(f, case, name)
    ]
    claims = [
        _verdict.claim("final", ("margin",), cases),
        _verdict.claim("fedmax-final", ("direction", "margin"), maxima),
    ]
    return {"data": data, "early_level": EARLY, "margin": _verdict.SAME_ACCURACY, "claims": claims}


def _both(case: Mapping[str, list[Run]], name: str) -> bool:
    return BASELINE in case and name in case


def _case(case: Mapping[str, list[Run]]) -> Data:
    rows = {}
    for name, group in case.items():
        rows[name] = {
            "final_accuracy": measures.final_accuracy(group).to_json(),
            "best_accuracy": estimates.mean([float(run.accuracy.max()) for run in group]).to_json(),
        }
        if name != BASELINE and BASELINE in case:
            rows[name]["minus_fedavg"] = measures.compare(group, case[BASELINE], "final accuracy").to_json()
            rows[name]["early"] = measures.compare(group, case[BASELINE], "R_90", EARLY).to_json()
    return {**described(case), "weightings": rows}


def _same(framework: str, case: Mapping[str, list[Run]], data: str) -> Case:
    """ "Rather low": the interval of the difference of the last accuracies lies within a percentage point."""
    found = measures.compare(case[SOFT], case[BASELINE], "final accuracy")
    words = _verdict.said(found, ("lower", "higher"), POINTS, 2, PERCENT)
    where = framework if data == MNIST else f"{framework}, {data}"
    return Case(where, _verdict.within(found.difference, _verdict.SAME_ACCURACY), words, extra=data != MNIST)


def _maximum(framework: str, case: Mapping[str, list[Run]], name: str) -> list[Case]:
    """ "Speeding at the beginning" and "poor results when it comes to the final accuracy"."""
    early = measures.compare(case[name], case[BASELINE], "R_90", EARLY)
    fast = _verdict.directional(early.difference, early.test, -1, EARLY_SIZE)
    last = measures.compare(case[name], case[BASELINE], "final accuracy")
    poor = _verdict.beyond(last.difference, _verdict.SAME_ACCURACY)
    level = f"{PERCENT * EARLY:g}%"
    return [
        Case(f"{framework}, {name}, fast at first", fast, _verdict.said(early, ("sooner", "later"), _to(level), 1)),
        Case(
            f"{framework}, {name}, poorer at the end",
            poor,
            _verdict.said(last, ("lower", "higher"), POINTS, 2, PERCENT),
        ),
    ]


def _to(level: str) -> str:
    return f"rounds to {level}"


def figure(stored: Stored, data: str, weightings: tuple[str, ...] | None) -> Any:
    """Accuracy and loss along rounds, with the paper's R_90 as diamonds at 90%."""
    from fedbounds.vision.pictures import accuracy_figure

    cases = {f: flat(case, weightings) for f, case in stored.whole(data).items()}
    shown = [run for group in cases.values() for run in group]
    sheet = accuracy_figure(shown)
    styles = canvas.styles(shown)
    for axes, group in zip(sheet.axes, canvas.by_partition(shown).values(), strict=False):
        for name in canvas.by_weighting(group):
            framework = paper.framework(data, group[0].partition)
            printed = paper.R_90.get((framework or "", paper.weighting(name) or "")) if name in MAIN else None
            if printed:
                half = (printed.upper - printed.lower) / 2
                style = {"color": styles[name]["color"], "ms": 4, "capsize": 3, "zorder": 5}
                axes.errorbar(printed.mean, paper.LEVEL, xerr=half, fmt="D", **style)
    return sheet


def draw(stored: Stored, out: Path) -> None:
    """accuracy.png (FedAvg and FedSoftMax), accuracy-fedmax.png, accuracy-fashion.png, of what there are records."""
    if stored.whole(MNIST):
        picture(lambda: figure(stored, MNIST, (*MAIN, SOFT_LOCAL)), out / "accuracy.png")
    if any(name.startswith("fedmax") for case in stored.whole(MNIST).values() for name in case):
        picture(lambda: figure(_with_maxima(stored), MNIST, None), out / "accuracy-fedmax.png")
    if stored.whole(FASHION):
        picture(lambda: figure(stored, FASHION, MAIN), out / "accuracy-fashion.png")


def _with_maxima(stored: Stored) -> Stored:
    """The frameworks in which FedMax was run, without other temperatures and local losses."""
    frameworks = {stored.grid[name].framework for name, group in stored.runs.items() if "fedmax" in name and group}
    kept = {
        name: group
        for name, group in stored.runs.items()
        if stored.grid[name].framework in frameworks and not name.endswith(("-temperatures", "-local"))
    }
    return Stored(stored.grid, kept)


def lines(data: Data) -> list[str]:
    """A line a row."""
    return [
        f"{name} {framework} {weighting}: final accuracy {row['final_accuracy']['value']}"
        for name, cases in data["data"].items()
        for framework, case in cases.items()
        for weighting, row in case["weightings"].items()
    ]


STUDY = Study(
    "accuracy",
    (*MNIST_FOLDERS, *MAXIMA_FOLDERS, *FASHION_FOLDERS),
    measure,
    draw,
    lines,
)


def main(arguments: list[str] | None = None) -> Data:
    """Measure, draw, print; ``--small --out DIR`` trains tiny runs first and writes in DIR alone."""
    return STUDY.command(__doc__, arguments)


if __name__ == "__main__":
    main()
