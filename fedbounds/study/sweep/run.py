"""Sweeps: every cell of a grid examined by ``check``, on all cores or on a cluster, and continued after any end.

    study = sweep.read("study.toml")
    sweep.run(study, "out")                  # again, after an interruption: the cells that are left
    sweep.export("out", "out/sweep.csv", (cell.key for cell in study.cells))

Workers compute, this process alone writes, so a cell is in the table with all its rows or not at all.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from importlib import metadata
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbounds.errors import DivergedError, InputError, readable, reject
from fedbounds.model.protocol import Progress
from fedbounds.study.sweep.cluster import Compute, on_cluster
from fedbounds.study.sweep.grid import Cell, Grid, parse, read
from fedbounds.study.sweep.lines import Series, series
from fedbounds.study.sweep.table import CellOutcome, SweepTable, export, failures, verdicts
from fedbounds.theory.verdict import finite_or_none

if TYPE_CHECKING:
    from fedbounds.study.result import Result, WeightingRun

# Seconds between two looks of a worker at whether its parent still lives.
LOOK = 1.0
# Cells handed out for each process: the next one waits beside it, and few are lost if a process dies.
AHEAD = 2
KILLED = "its process was killed while computing it (out of memory?)"


@dataclass(frozen=True)
class Summary:
    """What a run of a sweep did: cells of the study, those computed now, and those that failed (now or before)."""

    total: int
    computed: int
    failed: int


def run(
    study: Grid,
    out: str | Path,
    *,
    jobs: int = -1,
    scheduler: str | None = None,
    retry_failed: bool = False,
    progress: Progress | None = None,
    compute: Compute | None = None,
) -> Summary:
    """Compute the cells of ``study`` that the table in ``out`` lacks, each committed as it finishes.

    ``jobs``: processes (-1: one a core); ``scheduler``: address of a Dask scheduler to use instead;
    ``retry_failed``: also the cells that failed; ``compute`` replaces ``check`` (a picklable function).
    Errors: InputError for a folder that cannot be written, a full disk or a cluster that cannot be reached.
    """
    with SweepTable(out) as table:
        table.claim_version(metadata.version("fedbounds"))
        table.keep_study(study.text)
        known = table.known()
        left = [cell for cell in study.cells if not (known.get(cell.key) or (cell.key in known and not retry_failed))]
        total, done = len(study.cells), len(study.cells) - len(left)
        cells = {cell.key: cell for cell in left}
        if progress is not None:
            progress("cells", done, total)
        with contextlib.closing(_outcomes(left, compute or compute_cell, jobs, scheduler)) as stream:
            for outcome in stream:
                table.add(cells[outcome.key], outcome)
                done += 1
                if progress is not None:
                    progress("cells", done, total)
        known = table.known()
        return Summary(total, len(left), sum(not known[cell.key] for cell in study.cells))


def _outcomes(
    cells: Sequence[Cell], compute: Compute, jobs: int, scheduler: str | None
) -> Generator[CellOutcome, None, None]:
    """The outcomes of ``cells`` as they finish, in any order."""
    count = processes(jobs, len(cells))
    if cells and scheduler is not None:
        yield from on_cluster(cells, compute, scheduler)
    elif cells:
        yield from _on_this_machine(cells, compute, count)


def processes(jobs: int, items: int) -> int:
    """How many processes ``jobs`` asks for (-1: one a core), at most one an item."""
    from joblib import effective_n_jobs

    if jobs == 0:
        raise reject("the number of processes must not be 0", jobs, "use 1 or more, or -1 for one a core")
    return min(effective_n_jobs(jobs), items)


def _on_this_machine(cells: Sequence[Cell], compute: Compute, count: int) -> Generator[CellOutcome, None, None]:
    """Outcomes from processes of this machine; a process that dies costs the cell it died on, and no other."""
    left = {cell.key: cell for cell in cells}
    while left:
        try:
            for outcome in _parallel(list(left.values()), compute, count):
                del left[outcome.key]
                yield outcome
        except BrokenProcessPool:
            # The cell that killed its process is among those under way, the first left: each gets a process.
            for cell in list(itertools.islice(left.values(), AHEAD * count)):
                del left[cell.key]
                yield _alone(cell, compute)


def _alone(cell: Cell, compute: Compute) -> CellOutcome:
    """The outcome of one cell in a process of its own, whose death is the outcome."""
    start = time.monotonic()
    try:
        # With one job joblib would use this process.
        (outcome,) = _parallel([cell], compute, 2)
    except BrokenProcessPool:
        return CellOutcome(cell.key, time.monotonic() - start, message=KILLED)
    return outcome


def _parallel(cells: Sequence[Cell], compute: Compute, jobs: int) -> Generator[CellOutcome, None, None]:
    from joblib import Parallel

    parent = None if jobs == 1 else os.getpid()
    # One cell a task, so that each is kept as soon as it is done.
    pool = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1, pre_dispatch=AHEAD * jobs)
    return stream(pool, functools.partial(followed, compute, parent), cells)


def stream(pool: Any, compute: Callable[[Any], Any], cells: Sequence[Any]) -> Generator[Any, None, None]:
    """What joblib's ``pool`` computes, as it finishes; an early end is no cause for its warning."""
    from joblib import delayed

    with _unheard():
        outcomes = pool(delayed(compute)(cell) for cell in cells)
    try:
        # Not "yield from", which would close the pool before the warning is silenced.
        for outcome in outcomes:  # noqa: UP028
            yield outcome
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            outcomes.close()


@contextlib.contextmanager
def _unheard() -> Generator[None, None, None]:
    """What starts inside never hears the keyboard's interrupt, where it would only print: its parent ends it.

    Blocked, since a process that is still starting Python cannot yet choose to ignore it.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its start unblocks the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def followed(compute: Callable[[Any], Any], parent: int | None, cell: Any) -> Any:
    """What is computed of a cell, in a process that ends with ``parent`` (None: this very process)."""
    if parent is not None:
        _follow(parent)
    return compute(cell)


@functools.cache
def _follow(parent: int) -> None:
    """End this worker when ``parent`` was killed: nobody would ever read what it computes."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK)
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="follow-parent").start()


def compute_cell(cell: Cell) -> CellOutcome:
    """``check`` on the settings of a cell; whatever goes wrong becomes the outcome's message."""
    from threadpoolctl import threadpool_limits

    start = time.monotonic()
    rows: list[dict[str, Any]] = []
    message = None
    try:
        from fedbounds.study.check import check

        # Sums of BLAS depend on its number of threads in the last bits; processes use the cores already.
        with threadpool_limits(1):
            rows = measured(check(**cell.settings))
    except (InputError, DivergedError) as wrong:
        message = str(wrong)
    except Exception as wrong:
        message = readable(f"{type(wrong).__name__}: {wrong}")
    return CellOutcome(cell.key, time.monotonic() - start, rows, message)


def measured(result: Result) -> list[dict[str, Any]]:
    """One row a weighting, claim, reading and evidence: the columns `sweep_table.MEASURED`."""
    rows: list[dict[str, Any]] = []
    problem = result.problem
    about = {"N": problem.N, "d": problem.d, "L": problem.L, "mu": problem.mu, "kappa": problem.L / problem.mu}
    for run in result.runs:
        shared = about | {"Gamma": problem.Gamma.value} | _of_run(run, result)
        for verdict in run.verdicts:
            told = verdict.to_json()
            names = ("claim", "reading", "evidence", "status", "margin", "tightness", "worst_t", "detail")
            rows.append(shared | {name: told[name] for name in names} | {"number": len(rows)})
    return [{name: finite_or_none(v) if isinstance(v, float) else v for name, v in row.items()} for row in rows]


def _of_run(run: WeightingRun, result: Result) -> dict[str, Any]:
    """What every verdict of a run shares: skews, both terms of the bound, the last gap and the floor."""
    from fedbounds.evidence.empirical.error_floor import floor_fit
    from fedbounds.model.trajectory import PATH_FIELDS
    from fedbounds.study.bounds import gamma_of

    trajectory, problem = run.trajectory, result.problem
    gap, streamed = trajectory.paths["alpha"].gap, trajectory.streamed
    fit = floor_fit(
        gap,
        trajectory.times,
        gamma_of(problem.L, problem.mu),
        result.settings.error_rate,
        deterministic=not trajectory.experiment.stochastic,
        resolution=problem.optimum.excess_bound,
    )
    return {
        "weighting": run.weighting,
        **{name: getattr(run, name) for name in ("rho_bar", "rho_bar_sync", "rho_tilde")},
        "speed": run.speed,
        "error": run.error,
        "gap_last": float(
            streamed.paths["alpha"].mean[-1, PATH_FIELDS.index("gap")] if streamed else gap[:, -1].mean()
        ),
        "floor_low": float(fit.c0[0]),
        "floor_high": float(fit.c0[1]),
        "floor": fit.decision,
        "engine_used": trajectory.engine,
    }


__all__ = ["Cell", "CellOutcome", "Grid", "Series", "Summary", "export", "failures", "parse", "read", "run", "series"]
__all__ += ["verdicts"]
