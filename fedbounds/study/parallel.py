"""A function of many items, on the cores of this machine (joblib) or on a Dask cluster: futures either way."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib.util
import itertools
import logging
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import resource_tracker
from typing import Any

from fedbounds.errors import InputError, reject
from fedbounds.plugins import loaded
from fedbounds.study.identity import versions

# Items handed out for each process: the next one waits beside it, and few are lost if a process dies.
AHEAD = 2
# Seconds to wait for a scheduler, and then for the first worker of its cluster.
SCHEDULER, WORKERS = 8, 60
# Items that a cluster is given at once: Dask shares them out, also to workers that come later.
AT_ONCE = 1_000
# Seconds between two looks of a process at whether its parent still lives, and at whether an item is taken up.
LOOK, TAKEN_UP = 1.0, 0.01
# What processes share that are forked from one: a study and its compiled kernels.
WARM = ("fedbounds.study.run_study", "fedbounds.engine.kernels.select")
Submit = Callable[..., Future]


@dataclass(frozen=True)
class Died:
    """The outcome of an item whose process died, also when no other item was under way."""

    reason: str

    def __str__(self) -> str:
        return f"the process that computed it was killed ({self.reason}; out of memory?)"


def as_completed(
    function: Callable[[Any], Any], items: Sequence[Any], jobs: int = 1, scheduler: str | None = None
) -> Generator[tuple[int, Any], None, None]:
    """(index, function(item)) of each item, in any order.

    ``jobs``: processes (-1: one a core); ``scheduler``: address of a Dask scheduler to use instead. A process that
    dies costs no item but its own, whose outcome is `Died`. Errors: InputError for a cluster that is not there.
    """
    count = processes(jobs, len(items))
    if not items:
        return
    if scheduler is None and count < 2:
        yield from ((k, function(item)) for k, item in enumerate(items))
        return
    task = functools.partial(_compute, _packed(function), versions(), None if scheduler else os.getpid())
    left, suspects = enumerate(items), []
    running: dict[Future, int] = {}
    with cluster(scheduler) if scheduler else _processes(count) as (submit, width):
        while True:
            for k, item in itertools.islice(left, AHEAD * width - len(running)):
                running[submit(task, item)] = k
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                k, outcome = running.pop(future), _outcome(future)
                if isinstance(outcome, Died):  # it may only have waited at the process that died
                    suspects.append(k)
                else:
                    yield k, outcome
        yield from ((k, _outcome(submit(task, items[k]))) for k in suspects)


def in_order(
    function: Callable[[Any], Any], items: Sequence[Any], jobs: int = 1, scheduler: str | None = None
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


def _outcome(future: Future) -> Any:
    """What a future holds, `Died` where its process did; of a cluster, Dask has tried it again before."""
    try:
        return future.result()
    except BrokenProcessPool as wrong:
        return Died(type(wrong).__name__)
    except Exception as wrong:
        if type(wrong).__name__ != "KilledWorker":
            raise
        return Died("KilledWorker")


@contextlib.contextmanager
def _processes(count: int) -> Iterator[tuple[Submit, int]]:
    """``count`` processes of this machine; those that died are replaced when the next item is submitted."""
    from joblib.externals.loky import get_reusable_executor

    last: Future | None = None

    def pool() -> Any:
        return get_reusable_executor(max_workers=count, **_warm())

    def submit(*task: Any) -> Future:
        nonlocal last
        with _deaf_to_the_keyboard():
            try:
                last = pool().submit(*task)
            except BrokenProcessPool:  # a process died just now
                last = pool().submit(*task)
        return last

    try:
        yield submit, count
    except BaseException:
        # The pool's thread forgets all items before it takes up one submitted just now, which it then misses.
        while last is not None and not (last.running() or last.done()):
            time.sleep(TAKEN_UP)
        pool().shutdown(wait=True, kill_workers=True)
        raise


def _packed(function: Callable[[Any], Any]) -> bytes:
    """A function that may be made of what a plug-in file defines, packed once."""
    import cloudpickle

    for module in loaded():
        cloudpickle.register_pickle_by_value(module)
    files = {module.__name__: module for module in loaded() if hasattr(module, "WEIGHTING")}
    return cloudpickle.dumps((function, files))


def _warm() -> dict[str, Any]:
    """How processes start: forked, where that is possible, from one that has imported what a study needs."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return {}
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*WARM])
    return {"context": context}


@functools.lru_cache(maxsize=1)
def _unpacked(packed: bytes) -> Any:
    function, files = pickle.loads(packed)
    sys.modules.update(files)  # weightings are found there by name
    return function


def _compute(packed: bytes, wanted: dict[str, str], command: int | None, item: Any) -> Any:
    """The item's outcome, on a worker with the same software: other versions give other bits, and other verdicts."""
    if command is not None:
        _end_with(command)
    _require_same_versions(wanted, versions())
    return _unpacked(packed)(item)


@functools.cache
def _end_with(command: int) -> None:
    """End this process when that of its ``command`` is gone: nobody would ever read what it computes."""
    parent = os.getppid()

    def lives() -> bool:
        if command == parent or os.name == "nt":
            return os.getppid() == parent
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(command, 0)
            return True
        return False

    def watch() -> None:
        while lives():
            time.sleep(LOOK)
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="follow-parent").start()


def _require_same_versions(wanted: dict[str, str], received: dict[str, str]) -> None:
    if received != wanted:
        raise reject(f"every worker needs the versions {wanted}", received, "install the same ones")


@contextlib.contextmanager
def _deaf_to_the_keyboard() -> Generator[None, None, None]:
    """Processes that start inside never hear the keyboard's interrupt, which waits here until they have started.

    The signal is blocked, since a process that is still starting Python cannot yet choose to ignore it. Another
    thread may hear it all the same, and a process whose start is broken off would be one that nobody ends.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its start unblocks the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    heard: list[int] = []
    main = threading.current_thread() is threading.main_thread()
    handlers = {s: signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM) if main}
    waiting = {s: handler for s, handler in handlers.items() if callable(handler)}
    for number in waiting:
        signal.signal(number, lambda number, _: heard.append(number))
    try:
        yield
    finally:
        for number, handler in waiting.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if heard:
            signal.raise_signal(heard[0])


@contextlib.contextmanager
def cluster(scheduler: str) -> Generator[tuple[Submit, int], None, None]:
    """Where to submit items to a Dask scheduler that has a worker, and how many at once.

    Errors: InputError where it cannot be reached or is lost.
    """
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
                _require_same_versions(versions(), received)
            yield client.get_executor(pure=False).submit, AT_ONCE
    except InputError:
        raise
    # What another kind of server answers is read as a length, for which there is no memory.
    except (OSError, ValueError, TypeError, MemoryError, CancelledError, asyncio.CancelledError) as wrong:
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
