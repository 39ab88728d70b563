"""A function of many items, on the cores of this machine (joblib) or on a Dask cluster."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib.util
import itertools
import logging
import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import resource_tracker
from typing import Any

from fedbounds.errors import InputError, reject
from fedbounds.plugins import PLUGIN
from fedbounds.study.cache import versions

# Items handed out for each process: the next one waits beside it, and few are lost if a process dies.
AHEAD = 2
# Seconds between two looks of a process at whether its parent still lives.
LOOK = 1.0
# Seconds to wait for a scheduler, and then for the first worker of its cluster.
SCHEDULER, WORKERS = 8, 60
Function = Callable[[Any], Any]
Indexed = tuple[int, Any]


@dataclass(frozen=True)
class Died:
    """The outcome of an item whose process died, also when the item had a process of its own."""

    reason: str

    def __str__(self) -> str:
        return f"the process that computed it was killed ({self.reason}; out of memory?)"


def as_completed(
    function: Function, items: Sequence[Any], jobs: int = 1, scheduler: str | None = None
) -> Generator[Indexed, None, None]:
    """(index, function(item)) of each item, in any order.

    ``jobs``: processes (-1: one a core); ``scheduler``: address of a Dask scheduler to use instead. A process that
    dies costs no item but its own, whose outcome is `Died`. Errors: InputError for a cluster that is not there.
    """
    count = processes(jobs, len(items))
    if not items:
        return
    if scheduler is None and count < 2:
        for k, item in enumerate(items):
            yield k, function(item)
        return
    parent = os.getpid() if scheduler is None else None
    task = functools.partial(_compute, _packed(function), versions(), parent)
    if scheduler is not None:
        with cluster(scheduler) as client:
            yield from _on_cluster(task, list(enumerate(items)), client)
        return
    left = dict(enumerate(items))
    while left:
        try:
            for k, result in _pool(task, list(left.items()), count):
                del left[k]
                yield k, result
        except BrokenProcessPool:
            # The item that killed its process is among those under way, the first left: each is computed alone.
            for k in list(itertools.islice(left, AHEAD * count)):
                yield _alone(task, (k, left.pop(k)))


def in_order(
    function: Function, items: Sequence[Any], jobs: int = 1, scheduler: str | None = None
) -> Generator[Any, None, None]:
    """The same results in the order of the items. Errors: InputError where an item's process died."""
    waiting: dict[int, Any] = {}
    due = 0
    with contextlib.closing(as_completed(function, items, jobs, scheduler)) as outcomes:
        for k, result in outcomes:
            if isinstance(result, Died):
                raise reject("every process must live until it is done", str(result), "use fewer --jobs")
            waiting[k] = result
            while due in waiting:
                yield waiting.pop(due)
                due += 1


def processes(jobs: int, items: int) -> int:
    """How many processes ``jobs`` asks for (-1: one a core), at most one an item."""
    from joblib import effective_n_jobs

    if jobs == 0:
        raise reject("the number of processes must not be 0", jobs, "use 1 or more, or -1 for one a core")
    return min(effective_n_jobs(jobs), items)


def _pool(task: Function, items: Iterable[Indexed], count: int) -> Iterator[Indexed]:
    """(index, result) of each item from processes of this machine, as it finishes."""
    from joblib import Parallel, delayed

    with _deaf_to_the_keyboard():
        # One item a task, so that each is kept as soon as it is done.
        pool = Parallel(n_jobs=count, return_as="generator_unordered", batch_size=1, pre_dispatch=AHEAD * count)
        outcomes = pool(delayed(task)(item) for item in items)
    try:
        # Not "yield from", which would close the pool before its warning of an early end is silenced.
        for outcome in outcomes:  # noqa: UP028
            yield outcome
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            outcomes.close()


def _alone(task: Function, item: Indexed) -> Indexed:
    """The outcome of an item in a process of its own; with one job joblib would use this process."""
    try:
        (outcome,) = _pool(task, [item], 2)
    except BrokenProcessPool as wrong:
        return item[0], Died(type(wrong).__name__)
    return outcome


def _on_cluster(task: Function, items: Sequence[Indexed], client: Any) -> Generator[Indexed, None, None]:
    """(index, result) of each item from the workers of a cluster, which itself tries an item again.

    Dask also gives up items that only waited at workers that died, so each of these is asked for once more, alone.
    joblib's backend for Dask is not used: it never ends where Dask gives an item up, and with one worker it computes
    in this process.
    """
    given_up = []
    for item, outcome in _futures(task, items, client):
        if isinstance(outcome, BaseException):
            given_up.append(item)
        else:
            yield outcome
    for item in given_up:
        ((_, outcome),) = _futures(task, [item], client)
        yield (item[0], Died(type(outcome).__name__)) if isinstance(outcome, BaseException) else outcome


def _futures(task: Function, items: Sequence[Indexed], client: Any) -> Iterator[tuple[Indexed, Any]]:
    """Each item with its outcome, or the error by which the cluster gave it up."""
    from distributed import as_completed

    futures = dict(zip(client.map(task, items, pure=False), items, strict=True))
    for future in as_completed(futures, loop=client.loop):
        if future.cancelled():
            raise ConnectionError("a connection that was lost")
        wrong = future.exception()
        if isinstance(wrong, InputError):
            raise wrong
        outcome = wrong or future.result()
        future.release()  # else the cluster computes it again where its worker dies
        yield futures[future], outcome


def _packed(function: Function) -> bytes:
    """A function that may be made of what a plug-in file defines, packed once."""
    import cloudpickle

    for name, module in list(sys.modules.items()):
        if name.startswith(PLUGIN):
            cloudpickle.register_pickle_by_value(module)
    return cloudpickle.dumps(function)


@functools.lru_cache(maxsize=1)
def _unpacked(packed: bytes) -> Any:
    return pickle.loads(packed)


def _compute(packed: bytes, wanted: dict[str, str], parent: int | None, item: Indexed) -> Indexed:
    """The item's outcome, on a worker with the same software: other versions give other bits, and other verdicts."""
    if parent is not None:
        _end_with(parent)
    _require_versions(wanted, versions())
    return item[0], _unpacked(packed)(item[1])


@functools.cache
def _end_with(parent: int) -> None:
    """End this process when its ``parent`` was killed: nobody would ever read what it computes."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK)
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="follow-parent").start()


def _require_versions(wanted: dict[str, str], received: dict[str, str]) -> None:
    if received != wanted:
        raise reject(f"every worker needs the versions {wanted}", received, "install the same ones")


@contextlib.contextmanager
def _deaf_to_the_keyboard() -> Generator[None, None, None]:
    """Processes that start inside never hear the keyboard's interrupt: they would only print, and their parent ends
    them. The signal is blocked, since a process that is still starting Python cannot yet choose to ignore it.
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


@contextlib.contextmanager
def cluster(scheduler: str) -> Generator[Any, None, None]:
    """A client of a Dask scheduler that has a worker. Errors: InputError where it cannot be reached or is lost."""
    if importlib.util.find_spec("distributed") is None:
        raise reject("--scheduler needs Dask", "an installation without it", 'pip install "fedbounds[dask]"')
    from distributed import Client

    log = logging.getLogger("distributed.client")
    level = log.level
    # What goes wrong is said once, in the sentence below, and not also in its tracebacks.
    log.setLevel(logging.CRITICAL)
    try:
        # Asked by itself first: a client of what is no scheduler goes on trying while it is taken apart.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, _identity(scheduler)).result()
        with Client(scheduler, timeout=SCHEDULER, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=WORKERS)
            for received in client.run(versions).values():
                _require_versions(versions(), received)
            yield client
    except InputError:
        raise
    # What another kind of server answers is read as a length, for which there is no memory.
    except (OSError, ValueError, TypeError, MemoryError, asyncio.CancelledError) as wrong:
        received = str(wrong) or f"no answer in {SCHEDULER} s"
        remedy = "start it with its workers and give the same command again; every finished cell is kept"
        raise reject(f"the Dask cluster at {scheduler} must be there", received, remedy) from wrong
    finally:
        log.setLevel(level)


async def _identity(scheduler: str) -> object:
    """What a Dask scheduler at the address says of itself."""
    from distributed.core import rpc
    from distributed.security import Security

    secured = Security().get_connection_args("client")
    async with asyncio.timeout(SCHEDULER), rpc(scheduler, connection_args=secured) as remote:
        return await remote.identity()
