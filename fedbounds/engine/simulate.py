"""Run an experiment."""

from __future__ import annotations

from collections.abc import Callable

from fedbounds.model.experiment import Experiment, Statistics
from fedbounds.model.trajectory import Trajectory


def simulate(
    experiment: Experiment,
    progress: Callable[[int, int], None] | None = None,
    exact: bool = False,
    statistics: Statistics = "auto",
) -> Trajectory:
    """Run the experiment; the same seed gives the same bits for any number of threads or replicates.

    ``progress(done, total)`` is called as local steps are taken. ``exact`` gives expectations without
    replicates in place of sampled ones, for quadratic and least-squares problems under weights that do not
    depend on w (`fedbounds.engine.moments.expectations`). ``statistics``: every replicate ``stored``, or
    ``streamed`` into means and covariances (`Streamed`); ``auto`` streams what would fill over 1 GiB.
    """
    if exact:
        from fedbounds.engine.moments import expectations

        return expectations(experiment, progress)
    from fedbounds.engine.loop import run

    return run(experiment, progress, statistics=statistics)
