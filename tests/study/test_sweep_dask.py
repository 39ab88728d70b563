"""Sweeps on a real Dask scheduler with worker processes, all on the loopback address."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import sweep_cells
from test_sweep import STUDY, exported, made, stored

from fedbounds.errors import InputError
from fedbounds.study import study_file, sweep
from fedbounds.study.sweep import read_table

# Seconds after which a test that waits for a cluster has failed.
TOO_LONG = 600
TESTS = Path(__file__).resolve().parents[1]
# Seconds for a scheduler and its workers to start on a busy machine.
START = 300
# Dask gives a cell up after this many more deaths of its worker than one; each takes as long as a worker to start.
DEATHS = "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"


@pytest.fixture(autouse=True)
def never_for_ever():
    """Turn a hang into a failure."""

    def fail(*_):
        raise TimeoutError("the cluster does not answer")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(TOO_LONG)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def process(*arguments, deaths=1):
    """A Dask process that can import the tests, ended with this block."""
    environment = os.environ | {"PYTHONPATH": str(TESTS), DEATHS: str(deaths)}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    started = subprocess.Popen([sys.executable, "-m", "dask", *arguments], env=environment, cwd=TESTS.parent, **quiet)
    try:
        yield started
    finally:
        started.kill()
        started.wait()


def worker(address, *flags):
    return process("worker", address, "--nthreads", "1", "--no-dashboard", *flags)


@contextlib.contextmanager
def scheduler(**more):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with process("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard", **more) as started:
        end = time.monotonic() + START
        while time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.1)
        yield f"tcp://127.0.0.1:{port}", started


@pytest.fixture(scope="module")
def cluster():
    """(address, the two workers) of a cluster on loopback."""
    with scheduler() as (address, _), worker(address, "--no-nanny") as one, worker(address, "--no-nanny") as two:
        yield address, [one, two]


def test_a_cluster_computes_what_one_process_does(cluster, tmp_path):
    study = study_file.parse_grid(STUDY)
    address, _ = cluster
    assert sweep.sweep(study, tmp_path / "many", scheduler=address).summary == sweep.Summary(12, 12, 4)
    sweep.sweep(study, tmp_path / "one", jobs=1)
    assert exported(study, tmp_path / "many") == exported(study, tmp_path / "one")


def test_a_worker_killed_in_mid_run_loses_nothing(cluster, tmp_path):
    address, workers = cluster
    log, out = tmp_path / "log", tmp_path / "out"
    study, kept = made(log, 24), {}

    def kill(name, done, total):
        if done == 8:
            kept.update(stored(out))
            # The first worker of these two that has computed something, by the log.
            victim = next(item for item in workers if any(str(item.pid) in who for who in who_computed().values()))
            os.kill(victim.pid, signal.SIGKILL)

    def who_computed():
        return sweep_cells.logged(log)

    result = sweep.sweep(study, out, scheduler=address, compute=sweep_cells.slow, progress=kill)
    assert result.summary == sweep.Summary(24, 24, 0)
    assert len(kept) == 8
    assert sum(item.poll() is not None for item in workers) == 1
    # What was finished is there still, and was begun once.
    assert kept.items() <= stored(out).items()
    begun = who_computed()
    seeds = {key: cell.settings["seed"] for key, cell in read_table(out).cells.items()}
    assert all(len(begun[seeds[name.removesuffix(".json")]]) == 1 for name in kept)
    assert len(begun) == 24
    here = tmp_path / "here"
    sweep.sweep(study, here, jobs=1, compute=sweep_cells.quick)
    assert exported(study, out) == exported(study, here)


# With one worker a cell waits beside the deadly one at every death, so that Dask gives it up too.
def test_a_cell_that_kills_every_worker_is_recorded_and_the_others_go_on(tmp_path):
    log, out = tmp_path / "log", tmp_path / "out"
    with scheduler(deaths=0) as (address, _), worker(address):  # its nanny starts the worker again
        assert sweep.sweep(made(log), out, scheduler=address, compute=sweep_cells.deadly).summary == sweep.Summary(
            12, 12, 1
        )
    ((message, _),) = read_table(out).failures
    assert "KilledWorker" in message
    assert [cell.settings["seed"] for cell in read_table(out).cells.values() if cell.message] == [3]


def test_a_lost_scheduler_ends_in_one_sentence_and_the_sweep_goes_on_elsewhere(tmp_path):
    log, out = tmp_path / "log", tmp_path / "out"
    with scheduler() as (address, started), worker(address, "--no-nanny"):

        def kill(name, done, total):
            if done == 3:
                started.kill()

        with pytest.raises(InputError, match="every finished cell is kept") as wrong:
            sweep.sweep(made(log), out, scheduler=address, compute=sweep_cells.slow, progress=kill)
    assert address in str(wrong.value)
    kept = dict.fromkeys(stored(out))
    assert 3 <= len(kept) < 12
    assert sweep.sweep(made(log), out, jobs=1, compute=sweep_cells.quick).summary.computed == 12 - len(kept)
    assert kept.keys() <= dict.fromkeys(stored(out)).keys()
