"""Does the comparison of FedSoftMax with FedAvg hinge on the reading? The NIID framework under other readings.

    python -m validate.vision.readings

The experiments' reading was chosen on FedAvg alone; here one choice at a time is another. Reads the stored records;
writes validate/results/vision/readings.json and docs/img/vision/readings.png. No claim is judged: the paper was
run in one reading, and these are farther from its FedAvg numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from fedbounds.vision import measures, paper
from fedbounds.vision.canvas import by_weighting
from fedbounds.vision.runs import Run
from validate.vision._common import Data, Stored, Study, described, flat, picture, speed
from validate.vision.experiments import BASELINE, MAIN, NIID, SOFT, VARIANTS

LEVELS = (paper.LEVEL, 0.8)
Case = Mapping[str, list[Run]]


def _cases(stored: Stored) -> dict[str, dict[str, list[Run]]]:
    """Folder -> weighting -> runs, where both weightings were run; the experiments' own reading first."""
    found = {name: by_weighting(stored.runs[name]) for name in (NIID, *VARIANTS) if stored.runs[name]}
    return {name: case for name, case in found.items() if all(weighting in case for weighting in MAIN)}


def measure(stored: Stored) -> Data:
    """R_90 of both weightings under each reading, and the paired difference; no claim."""
    data = {name: _case(name, case) for name, case in _cases(stored).items()}
    return {"data": data, "claims": []}


def _case(name: str, case: Case) -> Data:
    """Levels below 90% too: some readings are far from it."""
    levels = {
        f"{level:g}": {
            "weightings": {weighting: speed(measures.speed(case[weighting], level)) for weighting in MAIN},
            "difference": measures.compare(case[SOFT], case[BASELINE], "R_90", level).to_json(),
        }
        for level in LEVELS
    }
    return {"change": dict(VARIANTS.get(name, {})), **described(case), "levels": levels}


def draw(stored: Stored, out: Path) -> None:
    """readings.png: accuracy and loss along rounds, a column a reading."""
    from fedbounds.vision.pictures import accuracy_figure

    shown = [
        replace(run, settings={**run.settings, "partition": f"NIID, {said(VARIANTS[name])}"})
        for name, case in _cases(stored).items()
        if name in VARIANTS
        for run in flat(case)
    ]
    if shown:
        picture(lambda: accuracy_figure(shown), out / "readings.png")


def said(change: Mapping[str, object]) -> str:
    """``lr 0.05``; of no change, ``as chosen``."""
    return ", ".join(f"{key} {value}" for key, value in change.items()) or "as chosen"


def lines(data: Data) -> list[str]:
    """A line a reading."""
    return [
        f"{said(case['change'])}: rounds to {level}: "
        + ", ".join(f"{name} {row['values']}" for name, row in found["weightings"].items())
        for case in data["data"].values()
        for level, found in case["levels"].items()
    ]


STUDY = Study("readings", (NIID, *VARIANTS), measure, draw, lines)


def main(arguments: list[str] | None = None) -> Data:
    """Measure, draw, print; ``--small --out DIR`` trains tiny runs first and writes in DIR alone."""
    return STUDY.command(__doc__, arguments)


if __name__ == "__main__":
    main()
