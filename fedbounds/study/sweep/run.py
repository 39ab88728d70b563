"""Sweeps: every cell of a grid examined by ``check``, on all cores or on a cluster, and continued after any end.

    study = sweep.read("study.toml")
    sweep.run(study, "out")                  # again, after an interruption: the cells that are left
    sweep.export("out", "out/sweep.csv", (cell.key for cell in study.cells))

Workers compute, this process alone writes, so a cell is in the table with all its rows or not at all.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib.util
import itertools
import logging
import math
import os
import threading
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from fedbounds.errors import reject
from fedbounds.study.sweep.cell import compute_cell
from fedbounds.study.sweep.grid import Cell, Study, parse, read
from fedbounds.study.sweep.lines import Series, series
from fedbounds.study.sweep.table import CellOutcome, SweepTable, export, failures, verdicts

# done, total, cells a second, seconds left (infinite before the first cell).
SweepProgress = Callable[[int, int, float, float], None]
Compute = Callable[[Cell], CellOutcome]
# Seconds between two looks of a worker at whether its parent still lives.
LOOK = 1.0
# Seconds to wait for the first worker of a cluster.
WORKERS = 60
# Cells handed out for each process: the next one waits beside it, and few are lost if a process dies.
AHEAD = 2
KILLED = "its process was killed while computing it (out of memory?)"
GIVEN_UP = "the cluster gave it up: the workers that computed it died, or could not load it"


@dataclass(frozen=True)
class Summary:
    """What a run of a sweep did: cells of the study, those computed now, and those that failed (now or before)."""

    total: int
    computed: int
    failed: int


def run(
    study: Study,
    out: str | Path,
    *,
    jobs: int = -1,
    scheduler: str | None = None,
    retry_failed: bool = False,
    progress: SweepProgress | None = None,
    compute: Compute | None = None,
) -> Summary:
    """Compute the cells of ``study`` that the table in ``out`` lacks, each committed as it finishes.

    ``jobs``: processes (-1: one a core); ``scheduler``: address of a Dask scheduler to use instead;
    ``retry_failed``: also the cells that failed; ``compute`` replaces ``check`` (a picklable function).
    Errors: InputError for a folder that cannot be written, a full disk or a cluster that cannot be reached.
    """
    with SweepTable(out) as table:
        table.claim_version(metadata.version("fedbounds"))
        known = table.known()
        left = [cell for cell in study.cells if not (known.get(cell.key) or (cell.key in known and not retry_failed))]
        total, before = len(study.cells), len(study.cells) - len(left)
        cells, start, computed = {cell.key: cell for cell in left}, time.monotonic(), 0
        if progress is not None:
            progress(before, total, 0.0, math.inf if left else 0.0)
        with contextlib.closing(_outcomes(left, compute or compute_cell, jobs, scheduler)) as stream:
            for outcome in stream:
                table.add(cells[outcome.key], outcome)
                computed += 1
                if progress is not None:
                    rate = computed / (time.monotonic() - start)
                    progress(before + computed, total, rate, (len(left) - computed) / rate)
        known = table.known()
        return Summary(total, computed, sum(not known[cell.key] for cell in study.cells))


def _outcomes(
    cells: Sequence[Cell], compute: Compute, jobs: int, scheduler: str | None
) -> Generator[CellOutcome, None, None]:
    """The outcomes of ``cells`` as they finish, in any order."""
    if jobs == 0:
        raise reject("the number of processes must not be 0", jobs, "use 1 or more, or -1 for one a core")
    if cells and scheduler is not None:
        yield from _on_cluster(cells, compute, scheduler)
    elif cells:
        yield from _on_this_machine(cells, compute, jobs)


def _on_this_machine(cells: Sequence[Cell], compute: Compute, jobs: int) -> Generator[CellOutcome, None, None]:
    """Outcomes from processes of this machine; a process that dies costs the cell it died on, and no other."""
    from joblib import effective_n_jobs

    left = {cell.key: cell for cell in cells}
    count = min(effective_n_jobs(jobs), len(cells))
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
    return _stream(pool, functools.partial(_followed, compute, parent), cells)


def _stream(pool: Any, compute: Compute, cells: Sequence[Cell]) -> Generator[CellOutcome, None, None]:
    """What joblib's ``pool`` computes, as it finishes; an early end is no cause for its warning."""
    from joblib import delayed

    outcomes = pool(delayed(compute)(cell) for cell in cells)
    try:
        # Not "yield from", which would close the pool before the warning is silenced.
        for outcome in outcomes:  # noqa: UP028
            yield outcome
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            outcomes.close()


def _on_cluster(cells: Sequence[Cell], compute: Compute, scheduler: str) -> Generator[CellOutcome, None, None]:
    """Outcomes from the workers of a Dask scheduler, through joblib's backend for it."""
    from joblib import Parallel

    remedy = "start it with its workers and give the same command again; every finished cell is kept"
    log = logging.getLogger("distributed.client")
    before = log.level
    try:
        backend = _dask_backend(scheduler)
        # What goes wrong is said once, in the sentence below, and not also in its tracebacks.
        log.setLevel(logging.CRITICAL)
        try:
            pool = Parallel(backend=backend, return_as="generator_unordered", batch_size=1, pre_dispatch="all")
            yield from _stream(pool, compute, cells)
        finally:
            backend.client.close()
    except (OSError, ValueError, asyncio.CancelledError) as wrong:
        raise reject(f"the Dask cluster at {scheduler} must be there", f"{wrong}", remedy) from wrong
    finally:
        log.setLevel(before)


def _dask_backend(scheduler: str) -> Any:
    """joblib's backend, connected; it also tells of a task that the cluster gives up (joblib waits for ever)."""
    if importlib.util.find_spec("distributed") is None:
        raise reject("--scheduler needs Dask", "an installation without it", 'pip install "fedbounds[dask]"')
    from joblib._dask import DaskDistributedBackend

    class Backend(DaskDistributedBackend):
        def effective_n_jobs(self, n_jobs: int) -> int:
            # With one, joblib would compute in this process and leave the cluster idle.
            return max(2, super().effective_n_jobs(n_jobs))

        def submit(self, func: Any, callback: Any = None) -> Any:
            future = super().submit(func, callback)
            (_, (cell,), _), *_ = func.items

            def given_up(done: Any) -> None:
                if done.exception() is not None:
                    callback([CellOutcome(cell.key, 0.0, message=f"{GIVEN_UP} ({type(done.exception()).__name__})")])

            future.add_done_callback(given_up)
            return future

        def retrieve_result_callback(self, out: Any) -> Any:
            if isinstance(out, BaseException):
                raise ConnectionError("a connection that was lost")
            return super().retrieve_result_callback(out)

    return Backend(scheduler_host=scheduler, wait_for_workers_timeout=WORKERS)


def _followed(compute: Compute, parent: int | None, cell: Cell) -> CellOutcome:
    """The cell's outcome, in a process that ends with ``parent`` (None: this very process)."""
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


__all__ = [
    "Cell",
    "CellOutcome",
    "Series",
    "Study",
    "Summary",
    "export",
    "failures",
    "parse",
    "read",
    "run",
    "series",
    "verdicts",
]
