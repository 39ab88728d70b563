"""What the studies share: stored records by case, the described settings, pictures, and one command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedbounds import files
from fedbounds.errors import reject
from fedbounds.vision import estimates
from fedbounds.vision.canvas import by_weighting
from fedbounds.vision.measures import Speed
from fedbounds.vision.runs import NOT_A_CHOICE, Run
from validate.vision import _records
from validate.vision.experiments import APART, RESULTS, ROOT, SMALL_REPETITIONS, Grid, grid, train

Data = dict[str, Any]
PICTURES = ROOT / "docs" / "img" / "vision"
PERCENT = 100.0
# Significant digits of stored numbers: what differs between machines is far below.
STORED_DIGITS = 8


@dataclass(frozen=True, eq=False)
class Stored:
    """Records by folder, and the grid that says what each folder is."""

    grid: Grid
    runs: Mapping[str, list[Run]]

    def cases(self, data: str) -> dict[str, dict[str, list[Run]]]:
        """framework -> weighting -> its repetitions, over the folders of a data set, from IID on.

        Without the repeats under other settings, which have tables of their own.
        """
        found: dict[str, list[Run]] = {}
        for name, group in self.runs.items():
            if group and self.grid[name].data == data and name not in APART:
                found.setdefault(self.grid[name].framework, []).extend(group)
        return {framework: by_weighting(group) for framework, group in found.items()}

    def whole(self, data: str) -> dict[str, dict[str, list[Run]]]:
        """The same without the runs that ended once they had reached 90%: these count for R_90 alone."""
        cases = {framework: only_whole(case) for framework, case in self.cases(data).items()}
        return {framework: case for framework, case in cases.items() if case}


def load(where: Path = RESULTS, small: bool = False) -> Stored:
    """Every stored record. Errors: InputError for one that is not of the grid's settings."""
    described = grid(small)
    found = {name: _records.read(where / name, experiment.settings) for name, experiment in described.items()}
    return Stored(described, found)


def flat(case: Mapping[str, Sequence[Run]], weightings: Sequence[str] | None = None) -> list[Run]:
    """The runs of some weightings of a case, or of all."""
    return [run for name, group in case.items() if weightings is None or name in weightings for run in group]


def whole(group: Sequence[Run]) -> list[Run]:
    """The runs that did all their rounds."""
    return [run for run in group if run.whole]


def only_whole(case: Mapping[str, Sequence[Run]]) -> dict[str, list[Run]]:
    """The whole runs of each weighting that has some."""
    return {name: whole(group) for name, group in case.items() if whole(group)}


def described(case: Mapping[str, Sequence[Run]]) -> Data:
    """Settings, and each weighting's seed and repetitions."""
    first = next(iter(case.values()))[0]
    return {
        "settings": {key: value for key, value in first.settings.items() if key not in NOT_A_CHOICE - {"seed"}},
        "runs": {
            name: {
                "seeds": sorted({run.seed for run in group}),
                "repetitions": [run.repetition for run in group],
                "whole": [run.repetition for run in whole(group)],
            }
            for name, group in case.items()
        },
    }


def speed(found: Speed) -> Data:
    """R_90 of repetitions as JSON."""
    return {"values": list(found.values), "reached": found.reached, **found.estimate.to_json()}


def rounded(value: Any) -> Any:
    """The JSON value with its floats at STORED_DIGITS significant digits."""
    if isinstance(value, float):
        return float(f"{value:.{STORED_DIGITS}g}")
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    return [rounded(inner) for inner in value] if isinstance(value, list | tuple) else value


def picture(build: Callable[[], Any], path: Path) -> Path:
    """Write the figure that ``build`` makes as a PNG."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from fedbounds.show.palette import RC

    with mpl.rc_context(RC):
        return files.write(path, FigureCanvasAgg(build()).print_png)


@dataclass(frozen=True)
class Study:
    """A study: the folders it reads, what it computes from them, what it draws, and the lines it prints."""

    name: str
    folders: tuple[str, ...]
    measure: Callable[[Stored], Data]
    draw: Callable[[Stored, Path], None]
    lines: Callable[[Data], list[str]]

    def command(self, doc: str | None, arguments: list[str] | None) -> Data:
        """Parse the command line and run; see :func:`run`."""
        parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("--records", type=Path, help=f"stored records (default: {RESULTS.relative_to(ROOT)})")
        parser.add_argument("--out", type=Path, help="write the numbers and pictures here instead")
        parser.add_argument("--small", action="store_true", help="tiny runs on digits, trained first; needs --out")
        chosen = parser.parse_args(arguments)
        if chosen.small and not chosen.out:
            raise reject("small runs are no results", "no folder for them", "give --out")
        records = chosen.records or (chosen.out / "records" if chosen.small else RESULTS)
        if chosen.small:
            names = [name for name in self.folders if name in grid(small=True)]
            train(names, range(SMALL_REPETITIONS), small=True, results=records, work=chosen.out / "work", quiet=True)
        return self.run(load(records, chosen.small), chosen.out or RESULTS, chosen.out or PICTURES)

    def run(self, stored: Stored, out: Path, pictures: Path) -> Data:
        """Measure, write NAME.json and the pictures, print. Errors: InputError without records."""
        if not any(stored.runs[name] for name in self.folders if name in stored.runs):
            raise reject(
                f"{self.name} needs stored records", "none", "run python -m validate.vision.experiments first"
            )
        data = rounded({"study": self.name, "confidence": estimates.CONFIDENCE, **self.measure(stored)})
        files.write_json(out / f"{self.name}.json", data)
        self.draw(stored, pictures)
        print("\n".join([*self.lines(data), *judged(data)]))
        return data


def judged(data: Data) -> list[str]:
    """A line a claim and a line a case."""
    lines = []
    for claim in (found for found in data["claims"] if found["cases"]):
        lines.append(f"{claim['verdict']}: {claim['says']}")
        lines += [f"  {case['case']}: {case['verdict']}: {case['sentence']}" for case in claim["cases"]]
    return lines
