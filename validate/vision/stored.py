"""The stored records by framework and weighting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fedbounds.vision.records import ImageRun, experiments
from validate.vision import storage
from validate.vision.experiments import FRAMEWORKS, RESULTS, Folder, grid
from validate.vision.mapped import Cell, cells

# Weighting -> its repetitions.
Group = dict[str, list[ImageRun]]


@dataclass(frozen=True, eq=False)
class Stored:
    """Records by folder, the grid that says what each folder is, and the cells of the map."""

    folders: Mapping[str, Folder]
    runs: Mapping[str, list[ImageRun]]
    cells: Sequence[Cell] = ()

    def cases(self) -> dict[str, Group]:
        """framework -> weighting -> its repetitions, from IID on."""
        result: dict[str, list[ImageRun]] = {framework: [] for framework in FRAMEWORKS}
        for name, group in self.runs.items():
            result[self.folders[name].framework] += group
        return {framework: by_weighting(group) for framework, group in result.items() if group}

    def whole(self) -> dict[str, Group]:
        """The same without the runs that ended once they had reached 90%: these count for R_90 alone."""
        kept = {name: [run for run in group if run.whole] for name, group in self.runs.items()}
        return Stored(self.folders, kept).cases()


def by_weighting(runs: list[ImageRun]) -> Group:
    """Weighting -> its repetitions; ``runs`` share their settings."""
    return {weighting: group for (_, weighting), group in experiments(runs).items()}


def load(where: Path = RESULTS, small: bool = False) -> Stored:
    """Every stored record. Errors: InputError for one that is not of the grid's settings."""
    folders = grid(small)
    runs = {name: storage.read(where / name, folder.settings) for name, folder in folders.items()}
    return Stored(folders, runs, cells(where, small))
