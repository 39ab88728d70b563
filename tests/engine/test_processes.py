"""Tasks on forked processes: their order, their errors, and where none is forked."""

import os
import threading
from functools import partial

import pytest

from fedbounds.engine import parallel
from fedbounds.engine.parallel import in_processes
from fedbounds.errors import InputError, reject


@pytest.fixture
def two(monkeypatch):
    monkeypatch.setattr(parallel, "default_threads", lambda: 2)


def test_results_come_in_the_order_of_the_tasks_and_from_other_processes(two):
    result = in_processes([lambda k=k: (k, os.getpid()) for k in range(5)])  # closures, which no pickle takes
    assert [k for k, _ in result] == list(range(5))
    assert os.getpid() not in {process for _, process in result}


def test_an_error_is_the_one_that_was_raised(two):
    def wrong():
        raise reject("tau must be at least 1", 0, "give more")

    with pytest.raises(InputError, match="tau must be at least 1"):
        in_processes([os.getpid, wrong])


def test_nothing_is_forked_beside_a_thread(two):
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        assert in_processes([partial(os.getpid)] * 2) == [os.getpid()] * 2
    finally:
        done.set()
        other.join()
