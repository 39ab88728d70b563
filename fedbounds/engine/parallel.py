"""Independent tasks on threads or on forked processes, with results in order.

An error or an interrupt stops the rest.
"""

import contextlib
import os
import signal
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, wait
from functools import partial
from itertools import islice
from multiprocessing import active_children, current_process, get_context
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from fedbounds.errors import interruptible
from fedbounds.model import Progress

T = TypeVar("T")
S = TypeVar("S")


class _Stopped(Exception):
    """Raised inside a task whose result nobody wants any more."""


def default_threads() -> int:
    """The processors this process may use, or fewer where NUMBA_NUM_THREADS says so (joblib sets it in workers)."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("NUMBA_NUM_THREADS", "")
    return min(available, int(limit)) if limit.isdigit() and int(limit) > 0 else available


def blocks_of(replicates: int, size: int) -> list[range]:
    """The replicates in blocks of ``size``; the last may be shorter."""
    return [range(start, min(start + size, replicates)) for start in range(0, replicates, size)]


def in_threads(
    task: Callable[[T, Callable[[int], None]], S],
    items: Sequence[T],
    total: int,
    progress: Progress | None = None,
    threads: int | None = None,
) -> Iterator[S]:
    """task(item, tick) for every item, results in the order of the items.

    A task calls tick(units) as it advances; ``progress(done, total)`` then hears the sum over all tasks.
    The first failing task's error, in the order of the items, is raised once the tasks before it are done.
    At most two tasks a thread are begun or waiting to be taken, so that finished results do not pile up.
    """
    done, lock, stop = 0, threading.Lock(), threading.Event()

    def tick(units: int) -> None:
        nonlocal done
        if stop.is_set():
            raise _Stopped
        if progress is not None:
            with lock:
                done += units
                progress(done, total)

    workers = min(default_threads() if threads is None else max(threads, 1), len(items))
    if workers == 1:
        for item in items:
            with interruptible():
                result = task(item, tick)
            yield result
        return
    with ThreadPoolExecutor(workers) as pool:
        waiting = iter(items)
        futures = deque(pool.submit(task, item, tick) for item in islice(waiting, 2 * workers))
        try:
            while futures:
                yield futures.popleft().result()
                futures.extend(pool.submit(task, item, tick) for item in islice(waiting, 1))
        finally:
            stop.set()
            for future in futures:
                future.cancel()


Tick = Callable[[int, int], None]


def in_processes(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """What each task returns, in order, from `each_in_processes`."""

    def without_tick(task: Callable[[], T], _: Tick) -> T:
        return task()

    return list(each_in_processes([partial(without_tick, task) for task in tasks]))


# Seconds between two looks at how far the processes have come.
LOOK = 0.1
_tasks: list[Callable[[Tick], Any]] = []
_counts: Any = None


def each_in_processes(
    tasks: Sequence[Callable[[Tick], T]],
    progress: Callable[[int, int, int], None] | None = None,
    workers: int | None = None,
) -> Iterator[T]:
    """What each ``task(tick)`` returns, in order; the first failing task's error is raised.

    A task calls ``tick(done, total)`` as it advances, and ``progress(number of the task, done, total)`` hears of it.
    A fork sees the tasks as they are, and what they return is sent back (pickled, between this process and its own
    children). One after the other here where there is one processor or no safe fork: off Linux, and beside threads,
    which may hold a lock that nobody would release in the child; those that move a bar of rich do not count.
    """
    workers = min(default_threads() if workers is None else workers, len(tasks))
    tell = progress or (lambda *_: None)
    if workers < 2 or not _may_fork():
        for k, task in enumerate(tasks):
            yield task(partial(tell, k))
        return
    context, before = get_context("fork"), set(active_children())
    counts = context.Array("q", 2 * len(tasks), lock=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 also counts the threads of BLAS
        with ProcessPoolExecutor(workers, context, _begin, (tasks, counts)) as pool:
            futures = [pool.submit(_run, k) for k in range(len(tasks))]
            seen: dict[int, tuple[int, int]] = {}
            try:
                for future in futures:
                    while not wait([future], LOOK).done:
                        _look(counts, seen, tell)
                    _look(counts, seen, tell)
                    yield future.result()
            except BaseException:
                # Not cancelled: a broken pool cannot tell a cancelled one, and its thread would complain. Killed, as
                # one that has only just begun may still have the parent's answer to SIGTERM.
                for process in set(active_children()) - before:
                    process.kill()
                raise


def _may_fork() -> bool:
    """Whether a fork is safe: no other thread may hold a lock; those that move a bar of rich do not count."""
    others = [thread for thread in threading.enumerate() if type(thread).__module__.partition(".")[0] != "rich"]
    return len(others) < 2 and sys.platform == "linux" and not current_process().daemon


@contextlib.contextmanager
def beside(task: Callable[[], T]) -> Iterator[Callable[[], T]]:
    """A task that another process computes meanwhile: what is given waits for the result, or computes it here.

    The latter where there is one processor or no safe fork, or where the task failed there, and then fails here too.
    The process ends with the block, and with it what it has started.
    """
    if default_threads() < 2 or not _may_fork():
        yield task
        return
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # as in `each_in_processes`
        process = context.Process(target=_send, args=(task, sender), daemon=True)
        process.start()
    sender.close()

    def result() -> T:
        try:
            answer: T = receiver.recv()
        except (EOFError, OSError):
            return task()
        return answer

    try:
        yield result
    finally:
        receiver.close()
        process.kill()
        with contextlib.suppress(OSError):  # it leads a group of its own once it has begun
            os.killpg(process.pid or 0, signal.SIGTERM)
        process.join()


def _send(task: Callable[[], Any], sender: Connection) -> None:
    """Send what a task returns; nothing where it fails."""
    _end_with_the_parent()
    os.setpgid(0, 0)  # a compiler that it has started ends with it
    with contextlib.suppress(Exception):
        sender.send(task())


def _look(counts: Any, seen: dict[int, tuple[int, int]], tell: Callable[[int, int, int], None]) -> None:
    """Tell what changed in ``counts``, two numbers a task, since they were ``seen``."""
    for k in range(len(counts) // 2):
        done, total = counts[2 * k], counts[2 * k + 1]
        if total and seen.get(k) != (done, total):
            seen[k] = done, total
            tell(k, done, total)


def _begin(tasks: Sequence[Callable[[Tick], Any]], counts: Any) -> None:
    global _counts
    _tasks[:], _counts = tasks, counts
    _end_with_the_parent()


def _end_with_the_parent() -> None:
    """Leave the interrupt to the parent, which tells of it and ends its children; a file begun is ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The parent's handler would raise in the child, perhaps just when it holds the lock that the others wait for.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _run(number: int) -> Any:
    def tick(done: int, total: int) -> None:
        _counts[2 * number], _counts[2 * number + 1] = done, total

    return _tasks[number](tick)
