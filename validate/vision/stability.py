"""The paper's table of stability: std / |mean| of the one-round changes of accuracy, FedAvg beside FedSoftMax.

    python -m validate.vision.stability

Reads the stored records; writes validate/results/vision/stability.json and docs/img/vision/stability.png.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fedbounds.vision import measures, paper
from fedbounds.vision.runs import Run
from validate.vision import _verdict
from validate.vision._common import Data, Stored, Study, described, flat, picture
from validate.vision._verdict import Case
from validate.vision.experiments import BASELINE, MAIN, MNIST, MNIST_FOLDERS, SOFT, SOFT_LOCAL


def measure(stored: Stored) -> Data:
    """Stability over all rounds and from the first trained model on, the paper's beside it, and the claim."""
    cases = {f: _main(case) for f, case in stored.whole(MNIST).items()}
    data = {f: _case(f, case) for f, case in cases.items() if case}
    judged = [_less_stable(f, case) for f, case in cases.items() if _both(case)]
    return {"data": data, "claims": [_verdict.claim("stability", ("direction",), judged)]}


def _main(case: Mapping[str, list[Run]]) -> dict[str, list[Run]]:
    return {name: group for name, group in case.items() if name in (*MAIN, SOFT_LOCAL)}


def _both(case: Mapping[str, list[Run]]) -> bool:
    return all(name in case for name in MAIN)


def _case(framework: str, case: Mapping[str, list[Run]]) -> Data:
    rows = {}
    for name, group in case.items():
        printed = paper.STABILITY.get((framework, paper.weighting(name) or ""))
        found = {variant: value.to_json() for variant, value in measures.stabilities(group).items()}
        rows[name] = {**found, "paper": printed and printed.value}
    found_case = {**described(case), "weightings": rows}
    if _both(case):
        found_case["difference"] = measures.compare(case[SOFT], case[BASELINE], "stability").to_json()
    return found_case


def _less_stable(framework: str, case: Mapping[str, list[Run]]) -> Case:
    """The claim is about non-IID data; the printed numbers of IID data do not show it."""
    found = measures.compare(case[SOFT], case[BASELINE], "stability")
    printed = paper.STABILITY[framework, "FedSoftMax"].value - paper.STABILITY[framework, "FedAvg"].value
    words = f"{_verdict.said(found, ('smoother', 'rougher'), '', 2)} (paper: {printed:+.2f})".replace(" ,", ",")
    # No size: the printed values were hardly made over all rounds (see the column "until 90%").
    return Case(framework, _verdict.directional(found.difference, found.test, 1, None), words, framework == "IID")


def draw(stored: Stored, out: Path) -> None:
    """stability.png: every partition and weighting with the paper's value."""
    from fedbounds.vision.pictures import stability_figure

    shown = [run for case in stored.whole(MNIST).values() for run in flat(_main(case))]
    if shown:
        picture(lambda: stability_figure(shown), out / "stability.png")


def lines(data: Data) -> list[str]:
    """A line a row."""
    return [
        f"{framework} {name}: {row['all']['value']}, paper {row['paper']}"
        for framework, case in data["data"].items()
        for name, row in case["weightings"].items()
    ]


STUDY = Study("stability", MNIST_FOLDERS, measure, draw, lines)


def main(arguments: list[str] | None = None) -> Data:
    """Measure, draw, print; ``--small --out DIR`` trains tiny runs first and writes in DIR alone."""
    return STUDY.command(__doc__, arguments)


if __name__ == "__main__":
    main()
