"""A function of many items on the cores of this machine, each item's outcome as it ends."""

from __future__ import annotations

import contextlib
import functools
import itertools
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import resource_tracker
from typing import Any

from fedbounds.errors import reject
from fedbounds.plugins import loaded

# Items handed out for each process: the next one waits beside it, and few are lost if a process dies.
AHEAD = 2
# Seconds between two looks of a process at whether its parent still lives, and at whether an item is taken up.
LOOK, TAKEN_UP = 1.0, 0.01
# What processes share that are forked from one: a study and its compiled kernels.
WARM = ("fedbounds.study.run_study", "fedbounds.engine.kernels.select")


@dataclass(frozen=True)
class Died:
    """The outcome of an item whose process died, also when no other item was under way."""

    reason: str

    def __str__(self) -> str:
        return f"the process that computed it was killed ({self.reason}; out of memory?)"


def as_completed(
    function: Callable[[Any], Any], items: Sequence[Any], jobs: int = 1
) -> Generator[tuple[int, Any], None, None]:
    """(index, function(item)) of each item, in any order, by ``jobs`` processes (-1: one a core).

    A process that dies costs no item but its own, whose outcome is `Died`.
    """
    count = processes(jobs, len(items))
    if count < 2:
        yield from ((k, function(item)) for k, item in enumerate(items))
        return
    task = functools.partial(_compute, _packed(function), os.getpid())
    left, suspects = enumerate(items), []
    running: dict[Future, int] = {}
    with _processes(count) as submit:
        while True:
            for k, item in itertools.islice(left, AHEAD * count - len(running)):
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


def in_order(function: Callable[[Any], Any], items: Sequence[Any], jobs: int = 1) -> Generator[Any, None, None]:
    """The same results in the order of the items. Errors: InputError where an item's process died."""
    waiting: dict[int, Any] = {}
    due = 0
    with contextlib.closing(as_completed(function, items, jobs)) as outcomes:
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
    """What a future holds, `Died` where its process did."""
    try:
        return future.result()
    except BrokenProcessPool as wrong:
        return Died(type(wrong).__name__)


@contextlib.contextmanager
def _processes(count: int) -> Iterator[Callable[..., Future]]:
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
        yield submit
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


def _compute(packed: bytes, command: int, item: Any) -> Any:
    """An item's outcome, in a process of the pool."""
    _end_with(command)
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
