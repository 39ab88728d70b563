"""Sweeps: every cell of a grid examined by ``check``, on all cores or on a cluster, and continued after any end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbounds import io
from fedbounds.errors import DivergedError, InputError, of_kind, readable, whole
from fedbounds.model.protocol import Progress
from fedbounds.study import parallel
from fedbounds.study.study_file import Cell, Grid, read_grid
from fedbounds.study.sweep_table import (
    TABLE,
    CellResult,
    Measured,
    Summary,
    SweepResult,
    cells_of,
    keep,
    opened,
    prepare,
    read_table,
)
from fedbounds.theory.verdict import finite_or_none

if TYPE_CHECKING:
    from fedbounds.study.result import Result


OF_RUN = ("weighting", "rho_bar", "rho_bar_sync", "rho_tilde", "speed", "error")
OF_VERDICT = ("claim", "reading", "evidence", "status", "margin", "tightness", "worst_t", "detail")


def sweep(
    study: str | Path | Grid | None = None,
    out: str | Path | None = None,
    *,
    jobs: int = -1,
    scheduler: str | None = None,
    retry_failed: bool = False,
    progress: Progress | None = None,
) -> SweepResult:
    """Examine every cell of the grid in ``study`` (a TOML file) and keep the verdicts in one table in ``out``.

    The same call continues a sweep that was stopped; arguments and errors as of `run`. Writes
    sweep.sqlite and sweep.csv.

    >>> print(Path("grid.toml").read_text())
    base = {problem = "quadratic", claims = "lemma-1", weightings = "fedavg", rounds = 2, replicates = 8}
    grid = {tau = [1, 2]}
    >>> len(sweep("grid.toml", "swept", jobs=1).rows())
    2
    """
    study = of_kind("a sweep", study, (Grid, str, Path), "the path of a TOML file")
    folder = Path(of_kind("the output of a sweep", out, (str, Path), "the path of a folder"))
    whole("jobs", jobs, -1)
    grid = study if isinstance(study, Grid) else read_grid(study)
    summary = run(grid, folder, jobs=jobs, scheduler=scheduler, retry_failed=retry_failed, progress=progress)
    stored = read_table(folder, [cell.key for cell in grid.cells])
    stored.export(folder / "sweep.csv")
    return replace(stored, summary=summary)


def run(
    study: Grid,
    out: str | Path,
    *,
    jobs: int = -1,
    scheduler: str | None = None,
    retry_failed: bool = False,
    progress: Progress | None = None,
    compute: Callable[[Cell], CellResult] | None = None,
) -> Summary:
    """Compute the cells of ``study`` that the table in ``out`` lacks, each committed as it finishes.

    ``jobs``: processes (-1: one a core); ``scheduler``: address of a Dask scheduler to use instead;
    ``retry_failed``: also the cells that failed; ``compute`` replaces ``check`` (a picklable function).
    Errors: InputError for a folder that cannot be written, a full disk or a cluster that cannot be reached.
    """
    with io.locked(out) as folder, opened(folder / TABLE) as table:
        prepare(table, folder / TABLE, study)
        before = cells_of(table, folder / TABLE)
        left = [
            cell
            for cell in study.cells
            if cell.key not in before or (retry_failed and before[cell.key].message is not None)
        ]
        total, done = len(study.cells), len(study.cells) - len(left)
        if progress is not None:
            progress("cells", done, total)
        # Workers compute and this process alone writes, so a cell is in the table with all its rows or not at all.
        with contextlib.closing(parallel.as_completed(compute or compute_cell, left, jobs, scheduler)) as outcomes:
            for k, outcome in outcomes:
                died = isinstance(outcome, parallel.Died)
                keep(table, left[k].key, CellResult(left[k].settings, message=str(outcome)) if died else outcome)
                done += 1
                if progress is not None:
                    progress("cells", done, total)
        after = cells_of(table, folder / TABLE)
        return Summary(total, len(left), sum(after[cell.key].message is not None for cell in study.cells))


def compute_cell(cell: Cell) -> CellResult:
    """``check`` on the settings of a cell; whatever goes wrong becomes the result's message."""
    from threadpoolctl import threadpool_limits

    try:
        from fedbounds.study.request import resolve
        from fedbounds.study.run_study import run_condensed

        # Sums of BLAS depend on its number of threads in the last bits; processes use the cores already.
        with threadpool_limits(1):
            chosen = dict(cell.settings)
            problem, weightings, claims = (chosen.pop(name, None) for name in ("problem", "weightings", "claims"))
            request = resolve(problem, weightings, claims, chosen)
            result, gaps = run_condensed(request, lambda run: float(run.trajectory.paths["alpha"].gap[:, -1].mean()))
            return CellResult(cell.settings, measured(result, gaps))
    except (InputError, DivergedError) as wrong:
        return CellResult(cell.settings, message=str(wrong))
    except Exception as wrong:
        return CellResult(cell.settings, message=readable(f"{type(wrong).__name__}: {wrong}"))


def measured(result: Result, last_gaps: Sequence[float]) -> tuple[Measured, ...]:
    """One row a weighting, claim, reading and evidence; ``last_gaps`` are the mean gaps at the end of each run."""
    problem, rows = result.problem, []
    of_problem = {"N": problem.N, "d": problem.d, "L": problem.L, "mu": problem.mu, "kappa": problem.L / problem.mu}
    of_problem["Gamma"] = problem.Gamma.value
    for run, last in zip(result.runs, last_gaps, strict=True):
        of_run = {name: getattr(run, name) for name in OF_RUN} | {"engine_used": run.engine, "gap_last": last}
        if run.decay is not None:
            of_run |= {name: getattr(run.decay, name) for name in ("floor_low", "floor_high")}
            of_run["floor"] = run.decay.decision
        for verdict in run.verdicts:
            row: dict[str, Any] = of_problem | of_run | {name: getattr(verdict, name) for name in OF_VERDICT}
            rows.append(Measured(**row | {name: finite_or_none(v) for name, v in row.items() if type(v) is float}))
    return tuple(rows)
