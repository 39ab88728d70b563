"""What a theorem promises on a problem: its own steps, and its bound after any number of rounds."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from fedbounds.engine.record import make_time_grid
from fedbounds.evidence.assumption_checks import in_floats, unmet_assumptions
from fedbounds.evidence.evaluate import Numbers, evaluate, steps_asked
from fedbounds.evidence.measured_run import MeasuredRun
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array
from fedbounds.study.comparison_rows import stays_from
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import Delta_T

# Nobody waits for more rounds.
MOST_ROUNDS = 10**9
# Rounds from 1 to that at which a bound is looked at; between two of them it is taken to fall, and bisected.
LOOKS = 400

# Steps, in units of 1/L, that are tried where a theorem leaves a constant one free: to look at a bound costs nothing.
# Below the last a model stays where it is for MOST_ROUNDS rounds of hundreds of steps.
FREE = tuple(2.0**-k for k in range(-3, 41))


def claim_steps(claim: Claim, pilot: MeasuredRun, level: float) -> Array:
    """The claim's own steps (T,): those it prescribes; where a constant is free, the best power of two over L.

    That is the one of `FREE` that its assumptions allow with the fewest rounds to the target, or the smallest bound
    at T where none reaches it, by the constants of the pilot's run; a step between two of them may promise more.
    """
    experiment = pilot.trajectory.experiment
    if claim.steps is not None and "eta_0" not in {symbol.name for symbol in claim.steps.free_symbols}:
        return steps_asked(claim.steps, pilot.values(), experiment.total_steps)
    tried = [_tried(claim, pilot, share / experiment.problem.L, level) for share in FREE]
    return min(tried, key=lambda pair: pair[0])[1]


def _tried(claim: Claim, pilot: MeasuredRun, eta: float, level: float) -> tuple[tuple[bool, float, float], Array]:
    """How good a free constant step is by a claim, the least the best, and the steps (T,) that it gives."""
    experiment, values = pilot.trajectory.experiment, {**pilot.values(claim.symbols), "eta_0": eta}
    total = experiment.total_steps
    table = np.full(total, eta) if claim.steps is None else steps_asked(claim.steps, values, total)
    grid = make_time_grid(experiment.with_(eta=table.__getitem__))
    values |= {"eta_0": float(table[0]), "eta_ratio": grid.eta_ratio, "eta_growth": grid.eta_growth}
    there = {**values, "eta": table, "t": np.arange(total, dtype=float)}
    failed, _ = unmet_assumptions(
        (item for item in claim.assumptions_in(pilot.reading) if item.on_run is None),
        lambda assumption: in_floats(assumption, there),
    )
    bound = partial(_bound, claim, pilot, values)
    rounds = _falls_to(bound, _left_side_target(claim, experiment, level))
    return (bool(failed), math.inf if rounds is None else rounds, float(bound(experiment.rounds))), table


def _bound(claim: Claim, run: MeasuredRun, values: Mapping[str, Numbers], rounds: Array | float) -> Array:
    """The right-hand side after ``rounds``, with these constants."""
    steps = np.asarray(rounds, dtype=float) * run.trajectory.experiment.tau
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is no bound
        bound = evaluate(claim.sides(run.reading).rhs, {**values, "T": steps})
    return np.broadcast_to(bound, steps.shape)


def _left_side_target(claim: Claim, experiment: Experiment, level: float) -> float:
    """What a claim's left side must be at most for the squared distance to be at most ``level``."""
    return level if claim.lhs == Delta_T else level * experiment.problem.mu / 2


def rounds_to_target(claim: Claim, run: MeasuredRun, bounds: Array, level: float) -> int | None:
    """The rounds to the target by a claim; within those run only, where its bound is not known beyond them."""
    target, values = _left_side_target(claim, run.trajectory.experiment, level), run.values(claim.symbols)
    if {symbol.name for symbol in claim.sides(run.reading).rhs.free_symbols} <= {*values, "T"}:
        return _falls_to(partial(_bound, claim, run, values), target)
    return stays_from(bounds, target)  # of symbols that vary along a run


def _falls_to(bound: Callable[[Array], Array], level: float) -> int | None:
    """The rounds after which a falling ``bound`` of rounds (m,) is at most a level; None: not within MOST_ROUNDS."""
    looks = np.unique(np.geomspace(1, MOST_ROUNDS, LOOKS).round())
    at = stays_from(bound(looks), level)
    if not at:
        return None if at is None else 1
    between = range(int(looks[at - 1]) + 1, int(looks[at]))
    return between.start + bisect_left(between, True, key=lambda rounds: bound(np.array([float(rounds)]))[0] <= level)
