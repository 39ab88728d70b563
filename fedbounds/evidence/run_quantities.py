"""A run with the values of a claim's own symbols, for which its paths are taken again."""

from dataclasses import replace

import numpy as np

from fedbounds.engine.expectations import ENGINE as EXPECTATIONS
from fedbounds.engine.replay import replay
from fedbounds.evidence.measured_run import MeasuredRun
from fedbounds.evidence.quantity_values import EXTREMES, Values, values
from fedbounds.theory.claim import Claim
from fedbounds.theory.constant import Constant, Provenance
from fedbounds.theory.quantity import Path

# Iterates that are kept at once at most, in numbers (256 MB).
MOST_ENTRIES = 2**25


def with_quantities(claim: Claim, run: MeasuredRun) -> MeasuredRun:
    """The run with the values of the claim's own symbols, at the times of its scope."""
    wanted = frozenset(claim.computed)
    if run.evaluated == (wanted, claim.scope) or not (wanted or run.evaluated):
        return run
    if run.evaluated is not None:  # what another claim had measured, or lacked, is not this one's
        gone = {symbol.name for symbol in run.evaluated[0]}
        constants = {name: constant for name, constant in run.constants.items() if name not in gone}
        run = replace(run, constants=constants, quantities=Values(), evaluated=None)
    if not wanted:
        return run
    experiment, times = run.trajectory.experiment, run._times(claim.scope)
    losses, eta = experiment.problem, run.trajectory.eta
    unknown = {symbol for symbol in wanted if symbol.statistic in EXTREMES and run.trajectory.random}
    result = values(claim, losses, Path(experiment.tau, eta), lambda: _paths(run), unknown)
    for symbol in unknown:
        result.lacking[symbol.name] = (
            f"the {symbol.statistic} on any path is not known from the paths that were drawn"
        )
    constants = {
        symbol.name: Constant(float(result.constants[symbol.name]), Provenance.EXACT, symbol.meaning)
        for symbol in wanted
        if symbol.name in result.constants
    }
    fields = {name: np.asarray(rows, dtype=float)[..., times] for name, rows in result.fields.items()}
    quantities = replace(result, fields=fields)
    constants = {**run.constants, **constants}
    return replace(run, constants=constants, quantities=quantities, evaluated=(wanted, claim.scope))


def _paths(run: MeasuredRun) -> list[tuple[None, Path]]:
    """Every repetition's path. Raises ValueError where there is none."""
    experiment, eta = run.trajectory.experiment, run.trajectory.eta
    entries = experiment.replicates * len(eta) * experiment.problem.N * experiment.problem.d
    if run.trajectory.engine == EXPECTATIONS:
        raise ValueError("exact expectations have no paths")
    if experiment.aggregation != "algorithm-1" or run.trajectory.streamed or entries > MOST_ENTRIES:
        raise ValueError("the iterates of this run are not kept: it is too large, or aggregates as equation 2 says")
    models, *others = replay(experiment)
    rows = zip(models[run.reading.virtual], *others, strict=True)
    losses = experiment.problem
    return [(None, Path(experiment.tau, eta, losses, w, X, alpha, X_next=last)) for w, X, alpha, last in rows]
