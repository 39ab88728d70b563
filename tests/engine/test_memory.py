"""What cannot fit in memory is refused before it starts, with what it would need and what there is."""

import tracemalloc

import numpy as np
import pytest
from click.testing import CliRunner

import fedbounds
from fedbounds.cli.app import main
from fedbounds.engine import memory
from fedbounds.engine.simulate import run_in_full, simulate
from fedbounds.errors import InputError
from fedbounds.model.experiment import Experiment
from fedbounds.model.schedule import ConstantStep
from fedbounds.problems.least_squares import LeastSquaresProblem
from fedbounds.weightings.fedavg import FedAvg

HUGE = [
    {"dimension": 10**7},
    {"problem": "logistic", "dimension": 10**9},
    {"samples": 10**9},
    {"replicates": 10**9},
    {"clients": 10**6},
    {"rounds": 10**9},
]


@pytest.mark.parametrize("settings", HUGE, ids=str)
def test_a_study_that_cannot_fit_is_refused_at_once(settings, monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 16 * 10**9)
    tracemalloc.start()
    with pytest.raises(InputError, match=r"needs at least .* of memory, most of it for .*, and 16 GB are there"):
        fedbounds.check(**settings)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10**8


def experiment(**changes):
    rng = np.random.default_rng(0)
    problem = LeastSquaresProblem(
        [rng.standard_normal((6, 3)) for _ in range(20)], [rng.standard_normal(6)] * 20, 0.1
    )
    return Experiment(problem, FedAvg(), ConstantStep(0.01), **{"tau": 4, "rounds": 50, "replicates": 32} | changes)


@pytest.mark.parametrize("record", ["full", "distance"])
def test_an_experiment_of_one_s_own_is_refused_too(record):
    with pytest.raises(InputError, match=r"This study needs at least .*B of memory"):
        simulate(experiment(replicates=10**13), record=record)


@pytest.mark.parametrize("changes", [{"stride": 7, "replicates": 200}])
def test_the_estimate_is_below_what_a_run_takes_and_of_its_size(changes):
    asked = experiment(**changes)
    sizes = {name: getattr(asked, name) for name in ("tau", "rounds", "replicates", "stride")}
    least = sum(memory.run_parts(20, 3, **sizes, batch=asked.batch_size).values())
    run_in_full(asked.with_(replicates=1, rounds=1))  # what is compiled and cached is not this run's
    tracemalloc.start()
    run_in_full(asked, threads=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.1 * peak < least < peak


def test_a_full_memory_on_the_way_is_a_sentence(monkeypatch):
    def full(*_, **__):
        raise MemoryError("Unable to allocate 3.00 TiB for an array with shape (3,)")

    monkeypatch.setattr("fedbounds.study.run_study.run_condensed", full)
    result = CliRunner().invoke(main, ["check", "--quiet"])
    assert result.exit_code == 2
    assert result.stderr == (
        "The memory is not enough for this: Unable to allocate 3.00 TiB for an array with shape (3,).\n"
    )


def test_what_there_is_heeds_the_group_of_processes(tmp_path, monkeypatch):
    whole = memory.available()
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "LIMITS", (str(limit),))
    for text, result in (("max\n", None), ("1000000\n", 10**6)):
        limit.write_text(text)
        assert memory.available() == result if result else memory.available() > 10**6
    assert whole > 10**6
