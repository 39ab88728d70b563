"""A sweep as one call: every cell of a study file computed, and what its table then holds."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedbounds.errors import of_kind, whole
from fedbounds.model.protocol import Progress
from fedbounds.study.sweep.grid import Grid, read
from fedbounds.study.sweep.run import Summary, run
from fedbounds.study.sweep.table import export, failures, tidy, verdicts
from fedbounds.study.tabular import Tabled


@dataclass(frozen=True, repr=False)
class Sweep(Tabled):
    """What a ``folder`` holds of the cells of a sweep: ``summary`` counts them, ``rows`` is the tidy table."""

    folder: Path
    keys: tuple[str, ...]
    summary: Summary

    def rows(self) -> list[dict[str, Any]]:
        return tidy(self.folder, self.keys)

    @property
    def counts(self) -> dict[tuple[str, ...], int]:
        """(claim, reading, evidence, status) -> how many verdicts."""
        return verdicts(self.folder, self.keys)

    @property
    def failures(self) -> list[tuple[str, int]]:
        """The messages of failed cells with how many have them, the commonest first."""
        return failures(self.folder, self.keys)


def sweep(
    study: str | Path | Grid,
    out: str | Path,
    *,
    jobs: int = -1,
    scheduler: str | None = None,
    retry_failed: bool = False,
    progress: Progress | None = None,
) -> Sweep:
    """Examine every cell of the grid in ``study`` (a TOML file) and keep the verdicts in one table in ``out``.

    The same call goes on where it stopped, however it was stopped; arguments and errors as of
    `fedbounds.study.sweep.run.run`. Writes sweep.sqlite and sweep.csv.

    >>> print(Path("grid.toml").read_text())
    base = {problem = "quadratic", claims = "lemma-1", weightings = "fedavg", rounds = 2, replicates = 8}
    grid = {tau = [1, 2]}
    >>> len(sweep("grid.toml", "swept", jobs=1).rows())
    2
    """
    of_kind("a sweep", study, (Grid, str, Path), "the path of a TOML file")
    of_kind("the output of a sweep", out, (str, Path), "the path of a folder")
    whole("jobs", jobs, -1)
    grid, folder = study if isinstance(study, Grid) else read(study), Path(out)
    done = run(grid, folder, jobs=jobs, scheduler=scheduler, retry_failed=retry_failed, progress=progress)
    keys = tuple(cell.key for cell in grid.cells)
    export(folder, folder / "sweep.csv", keys)
    return Sweep(folder, keys, done)
