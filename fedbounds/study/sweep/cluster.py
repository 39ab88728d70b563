"""A sweep's cells on the workers of a Dask cluster (the only user of distributed)."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib.util
import itertools
import logging
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fedbounds.errors import InputError, reject
from fedbounds.study.sweep.grid import Cell
from fedbounds.study.sweep.table import CellOutcome

Compute = Callable[[Cell], CellOutcome]
# Seconds to wait for a scheduler, and then for the first worker of its cluster.
SCHEDULER, WORKERS = 8, 60
GIVEN_UP = "the cluster gave it up: the workers that computed it died, or could not load it"


def on_cluster(cells: Sequence[Cell], compute: Compute, scheduler: str) -> Generator[CellOutcome, None, None]:
    """Outcomes from the workers of a Dask scheduler; a task that the cluster gives up is its cell's outcome.

    Dask also gives up cells that only waited at workers that died, so each such cell is asked for once more, alone.
    """
    with cluster(scheduler) as client:
        from distributed import KilledWorker, as_completed

        from fedbounds.study.cache import versions

        alike = functools.partial(_alike, compute, versions())

        def asked(some: Sequence[Cell]) -> Generator[tuple[Cell, CellOutcome | BaseException], None, None]:
            futures = dict(zip(client.map(alike, some, pure=False), some, strict=True))
            for future in as_completed(futures, loop=client.loop):
                if future.cancelled():
                    raise ConnectionError("a connection that was lost")
                found = future.exception() or future.result()
                future.release()  # else the cluster computes it again where its worker dies
                yield futures[future], found

        suspects = []
        for cell, found in asked(cells):
            if isinstance(found, InputError):
                raise found
            if isinstance(found, KilledWorker):
                suspects.append(cell)
            else:
                yield _given_up(cell, found)
        for cell, found in itertools.chain.from_iterable(asked([suspect]) for suspect in suspects):
            yield _given_up(cell, found)


@contextlib.contextmanager
def cluster(scheduler: str) -> Generator[Any, None, None]:
    """A client of a Dask scheduler that has a worker. Errors: InputError where it cannot be reached or is lost."""
    if importlib.util.find_spec("distributed") is None:
        raise reject("--scheduler needs Dask", "an installation without it", 'pip install "fedbounds[dask]"')
    from distributed import Client

    from fedbounds.study.cache import versions

    remedy = "start it with its workers and give the same command again; every finished cell is kept"
    log = logging.getLogger("distributed.client")
    before = log.level
    # What goes wrong is said once, in the sentence below, and not also in its tracebacks.
    log.setLevel(logging.CRITICAL)
    try:
        # Asked by itself first: a client of what is no scheduler goes on trying while it is taken apart.
        with ThreadPoolExecutor(1) as one:
            one.submit(asyncio.run, _identity(scheduler)).result()
        with Client(scheduler, timeout=SCHEDULER, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=WORKERS)
            others = [found for found in client.run(versions).values() if found != versions()]
            if others:
                raise reject(f"every worker needs the versions {versions()}", others[0], "install the same ones")
            yield client
    except InputError:
        raise
    # What another kind of server answers is read as a length, for which there is no memory.
    except (OSError, ValueError, TypeError, MemoryError, asyncio.CancelledError) as wrong:
        received = str(wrong) or f"no answer in {SCHEDULER} s"
        raise reject(f"the Dask cluster at {scheduler} must be there", received, remedy) from wrong
    finally:
        log.setLevel(before)


async def _identity(scheduler: str) -> object:
    """What a Dask scheduler at the address says of itself."""
    from distributed.core import rpc
    from distributed.security import Security

    secured = Security().get_connection_args("client")
    async with asyncio.timeout(SCHEDULER), rpc(scheduler, connection_args=secured) as remote:
        return await remote.identity()


def _alike(compute: Compute, wanted: dict[str, str], cell: Cell) -> CellOutcome:
    """The cell's outcome, on a worker with the same software: other versions give other bits, and other verdicts."""
    from fedbounds.study.cache import versions

    if versions() != wanted:
        raise reject(f"every worker needs the versions {wanted}", versions(), "install the same ones")
    return compute(cell)


def _given_up(cell: Cell, found: CellOutcome | BaseException) -> CellOutcome:
    given_up = f"{GIVEN_UP} ({type(found).__name__})"
    return found if isinstance(found, CellOutcome) else CellOutcome(cell.key, 0.0, message=given_up)
