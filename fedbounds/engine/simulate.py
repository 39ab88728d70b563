"""Run an experiment."""

from typing import Literal, overload

from fedbounds.engine.contracts.admission import admitted
from fedbounds.engine.memory import require_run
from fedbounds.errors import of_kind, reject
from fedbounds.model.experiment import Experiment, Statistics
from fedbounds.model.protocol import Progress
from fedbounds.model.trajectory import Distances, Trajectory


@overload
def simulate(
    experiment: Experiment,
    progress: Progress | None = None,
    exact: bool = False,
    statistics: Statistics = "auto",
    record: Literal["full", "iterates"] = "full",
) -> Trajectory: ...


@overload
def simulate(
    experiment: Experiment, progress: Progress | None = None, *, record: Literal["distance"]
) -> Distances: ...


def simulate(
    experiment: Experiment,
    progress: Progress | None = None,
    exact: bool = False,
    statistics: Statistics = "auto",
    record: Literal["full", "distance", "iterates"] = "full",
) -> Trajectory | Distances:
    """Run the experiment; the same seed gives the same bits for any number of threads or replicates.

    ``progress(done, total)`` is called as local steps are taken. ``exact`` gives expectations in place of replicates,
    for constant Hessians and weights that do not depend on w. ``statistics``: every replicate ``stored``, or
    ``streamed`` into means and covariances; ``auto`` streams where a check of the record would take over 1 GB, or a
    quarter of the machine's memory. ``record``: ``full``; ``distance``, which keeps ||w - w*||^2 and F(w) - F* at
    the ends of rounds; ``iterates``, full with w_t itself.

    >>> found = simulate(experiment, record="distance")
    >>> found.times.tolist(), found.gap.mean(axis=0).shape
    ([0, 2, 4, 6], (4,))

    A user's problem or weighting is tried first, once: InputError where it breaks its contract, and where the record
    cannot fit in memory.
    """
    of_kind("what is simulated", experiment, Experiment, "an Experiment")
    require_run(experiment.with_(replicates=1) if exact else experiment, statistics, record)
    admitted(experiment.problem, experiment.weighting)
    if record not in ("full", "distance", "iterates"):
        remedy = "use full, which every claim can be examined on"
        raise reject("record must be full, distance or iterates", repr(record), remedy)
    if exact and record != "full":
        raise reject("exact expectations have the full record", "exact=True", f'leave out record="{record}"')
    if record == "distance":
        from fedbounds.engine.observers import run_endpoints

        return run_endpoints(experiment, progress)
    if exact:
        from fedbounds.engine.expectations import expectations

        return expectations(experiment, progress)
    from fedbounds.engine.observers import run

    return run(experiment, progress, statistics=statistics, iterates=record == "iterates")
