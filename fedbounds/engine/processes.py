"""Independent tasks on forked processes, with results in order."""

import signal
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import current_process, get_context
from typing import Any, TypeVar

from fedbounds.engine.threads import default_threads

T = TypeVar("T")
_tasks: list[Callable[[], Any]] = []


def in_processes(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """What each task returns, in order; the first failing task's error is raised.

    A fork sees the tasks as they are, and what they return is sent back (pickled, between this process and its own
    children). One after the other here where there is one processor or no safe fork: off Linux, and beside threads,
    which may hold a lock that nobody would release in the child; those that move a bar of rich do not count.
    """
    workers = min(default_threads(), len(tasks))
    others = [thread for thread in threading.enumerate() if type(thread).__module__.partition(".")[0] != "rich"]
    if workers < 2 or len(others) > 1 or sys.platform != "linux" or current_process().daemon:
        return [task() for task in tasks]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 also counts the threads of BLAS
        with ProcessPoolExecutor(workers, get_context("fork"), _begin, (tasks,)) as pool:
            return list(pool.map(_run, range(len(tasks))))


def _begin(tasks: Sequence[Callable[[], Any]]) -> None:
    _tasks[:] = tasks
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the parent's to tell of; a file begun is ended


def _run(number: int) -> Any:
    return _tasks[number]()
