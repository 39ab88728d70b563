"""The engine's benchmark runs small: every engine follows the same curve before any time is printed."""

import shutil

import numpy as np
import pytest

from validate.benchmarks import engine


@pytest.mark.parametrize("kind", ["W", "L"])
def test_engines_agree_and_are_timed(kind, tmp_path):
    times = engine.compare(kind, rounds=2, replicates=3, repeats=1, folder=tmp_path)
    assert {"fedbounds", "plain numba kernel", "gathered numpy", "researcher's loop"} <= set(times)
    assert all(seconds > 0 for seconds in times.values())


def test_an_engine_that_goes_astray_is_not_timed():
    experiment = engine.workload("W", rounds=2, N=3, n=20, d=4, replicates=2)
    wrong = {"fedbounds": engine.fedbounds, "wrong": lambda e: engine.fedbounds(e.with_(seed=1))}
    with pytest.raises(AssertionError, match="wrong"):
        engine.best_times(wrong, experiment, 1)


# compare() leaves the engine out on such a machine too
@pytest.mark.skipif(not (shutil.which("cc") and engine.has_avx512()), reason="no C compiler or no AVX-512 here")
def test_the_limit_in_c_handles_any_number_of_replicates(tmp_path):
    limit = engine.c_limit(tmp_path)
    for replicates in (1, 2, 5):
        experiment = engine.workload("W", rounds=3, N=4, n=30, replicates=replicates)
        np.testing.assert_allclose(limit(experiment), engine.fedbounds(experiment), rtol=0, atol=engine.AGREEMENT)
