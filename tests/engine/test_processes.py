"""Tasks on forked processes: their order, their errors, and where none is forked."""

import multiprocessing
import os
import signal
import subprocess
import threading
import time
from functools import partial

import pytest

from fedbounds.engine import parallel
from fedbounds.engine.parallel import beside, each_in_processes, in_processes
from fedbounds.errors import InputError, reject


@pytest.fixture
def two(monkeypatch):
    """Two processors, and none of the threads that other tests have left."""
    left, every = set(threading.enumerate()) - {threading.main_thread()}, threading.enumerate
    monkeypatch.setattr(parallel, "default_threads", lambda: 2)
    monkeypatch.setattr(threading, "enumerate", lambda: [thread for thread in every() if thread not in left])


def test_results_come_in_the_order_of_the_tasks_and_from_other_processes(two):
    result = in_processes([lambda k=k: (k, os.getpid()) for k in range(5)])  # closures, which no pickle takes
    assert [k for k, _ in result] == list(range(5))
    assert os.getpid() not in {process for _, process in result}


def test_an_error_is_the_one_that_was_raised(two):
    def wrong():
        raise reject("tau must be at least 1", 0, "give more")

    with pytest.raises(InputError, match="tau must be at least 1"):
        in_processes([os.getpid, wrong])


def test_an_error_ends_also_a_child_that_has_the_parents_answer_to_sigterm(two, monkeypatch, tmp_path):
    """As one has that has only just begun."""

    def wrong():
        raise reject("tau must be at least 1", 0, "give more")

    def lasts():
        time.sleep(3)
        (tmp_path / "lived").touch()

    monkeypatch.setattr(parallel, "_end_with_the_parent", lambda: None)
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        with pytest.raises(InputError, match="tau must be at least 1"):
            in_processes([wrong, lasts])
    finally:
        signal.signal(signal.SIGTERM, before)
    assert not (tmp_path / "lived").exists()


def test_nothing_is_forked_beside_a_thread(two):
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        assert in_processes([partial(os.getpid)] * 2) == [os.getpid()] * 2
    finally:
        done.set()
        other.join()


def test_progress_is_told_once_a_change_and_by_task(two):
    told = []

    def task(tick):
        tick(1, 2)
        tick(2, 2)
        return os.getpid()

    assert os.getpid() not in each_in_processes([task, task], lambda *count: told.append(count))
    assert len(told) == len(set(told)) and {(0, 2, 2), (1, 2, 2)} <= set(told)


def test_who_stops_listening_stops_the_processes(two):
    results = each_in_processes([lambda _: os.getpid(), lambda _: time.sleep(600)])
    assert next(results) != os.getpid()
    with pytest.raises(KeyboardInterrupt):
        results.throw(KeyboardInterrupt)
    assert not multiprocessing.active_children()


def test_the_parents_handler_of_a_termination_raises_in_no_child(two):
    """It would within the lock on the results, which the other child and the parent then await forever."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        assert in_processes([partial(signal.getsignal, signal.SIGTERM)] * 2) == [signal.SIG_DFL] * 2
    finally:
        signal.signal(signal.SIGTERM, before)


def test_what_another_process_computes_meanwhile_is_waited_for_and_a_failure_is_raised_here(two):
    with beside(os.getpid) as result:
        assert result() != os.getpid()

    def wrong():
        raise reject("tau must be at least 1", 0, "give more")

    with beside(wrong) as result, pytest.raises(InputError, match="tau must be at least 1"):
        result()


def test_what_nobody_waits_for_ends_with_the_block_and_so_does_what_it_started(two, tmp_path):
    begun = tmp_path / "begun"

    def long():
        subprocess.run(["sh", "-c", f"echo $$ > {begun}; exec sleep 600"], check=False)

    with beside(long):
        while not (begun.exists() and begun.read_text().strip()):
            time.sleep(0.01)
    compiler = int(begun.read_text())
    for _ in range(500):
        try:
            os.kill(compiler, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    raise AssertionError("it still runs")
