"""What a comparison found: a row a theorem, a row an algorithm, the order of both, and the rounds to a level.

And what a theorem promises on a problem: its own steps, and the rounds to the level by its bound.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fedbounds.evidence.assumption_checks import in_floats, unmet_assumptions
from fedbounds.evidence.empirical.bands import band
from fedbounds.evidence.evaluate import Numbers, evaluate, steps_asked
from fedbounds.evidence.measured_run import MeasuredRun
from fedbounds.io import plain
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array
from fedbounds.study.result import ProblemFacts
from fedbounds.study.settings import Settings
from fedbounds.theory.claim import Claim
from fedbounds.theory.sample_path import quotients_of_steps
from fedbounds.theory.symbols import Delta_T
from fedbounds.theory.verdict import Status, finite_or_none

# Below every number that is measured, and above 0, so that logarithms and ratios exist.
TINY = 1e-300
# A bound below what is measured by a smaller part than this lies there for rounding.
ROUNDING = 1e-9
# Nobody waits for more rounds.
MOST_ROUNDS = 10**9
# Rounds from 1 to that at which a bound is looked at; between two of them it is taken to fall, and bisected.
LOOKS = 400
# Steps, in units of 1/L, that are tried where a theorem leaves a constant one free: to look at a bound costs nothing.
# Below the last a model stays where it is for MOST_ROUNDS rounds of hundreds of steps.
FREE = tuple(2.0**-k for k in range(-3, 41))


@dataclass(frozen=True)
class TheoremRow:
    """A theorem on a run of its own: ``curve`` and ``bounds`` (R + 1,) of its left side, the ``quantity``.

    ``unmet`` says why it does not apply or has no number, and all else is then None or empty. ``step`` is its step
    size in words; ``promised`` are the rounds to the target by it, ``reached`` those of the run.
    """

    claim: str
    algorithm: str
    unmet: str = ""
    quantity: str = ""
    step: str = ""
    status: Status = Status.NOT_APPLICABLE
    curve: ErrorCurve | None = None
    bounds: Array | None = None
    promised: int | None = None
    reached: Reached | None = None

    @property
    def ends(self) -> tuple[float, float, float, float, float]:
        """(start, bound, mean, lower, upper): what was measured at first, and both sides after the last round."""
        assert self.curve is not None and self.bounds is not None
        last = (float(line[-1]) for line in (self.bounds, self.curve.mean, self.curve.lower, self.curve.upper))
        return (float(self.curve.mean[0]), *last)  # type: ignore[return-value]

    @property
    def consistent(self) -> bool:
        """Whether its run neither refutes it nor, where that decides nothing, has a mean above the bound."""
        if self.curve is None or self.bounds is None or self.status is Status.REFUTED:
            return False
        return self.status is Status.HOLDS or not (self.bounds < self.curve.mean * (1 - ROUNDING)).any()

    @property
    def looseness(self) -> float:
        """Bound over measured after the last round."""
        _, bound, mean, _, _ = self.ends
        return bound / mean if mean > 0 else math.inf

    @property
    def share(self) -> tuple[float, float, float]:
        """How much of the progress the bound certifies, log(start/bound) / log(start/measured), and its limits.

        Where both fall geometrically it is the rounds that the run needs over those that the bound asks for. A short
        step makes bound over measured 1 by doing nothing, and certifies nothing: 0 where the bound is at the start or
        above it.
        """
        start, bound, mean, lower, upper = self.ends
        if not bound < start:
            return 0.0, 0.0, 0.0
        given = math.log(start / max(bound, TINY))
        mean, least, most = (given / max(math.log(start / max(end, TINY)), TINY) for end in (mean, lower, upper))
        return mean, least, most

    def to_json(self) -> dict[str, Any]:
        if self.curve is None or self.bounds is None:
            return _json(self, ("claim", "algorithm", "unmet"))
        data = _json(self, ("claim", "algorithm", "unmet", "quantity", "step", "promised", "status"))
        data |= {"bound": _numbers(self.bounds), "looseness": finite_or_none(self.looseness)}
        return data | {"share": list(self.share)}


@dataclass(frozen=True)
class AlgorithmRow:
    """An algorithm with its best constant step, in units of 1/L; ``refused`` says why it was not run.

    ``central``: it communicates after every local step, and stands apart. ``promised`` are the fewest rounds to
    the target by any theorem about it that applies, and ``by`` is that theorem.
    """

    algorithm: str
    refused: str = ""
    central: bool = False
    step: float = math.nan
    curve: ErrorCurve | None = None
    reached: Reached | None = None
    by: str = ""
    promised: int | None = None

    def to_json(self) -> dict[str, Any]:
        names = ("algorithm", "refused", "central", "by", "promised")
        return _json(self, names if self.curve is None else (*names, "step"))


@dataclass(frozen=True)
class TheoremComparison:
    """Both tables; ``target`` is the fraction of ||w_0 - w*||^2 to be reached."""

    settings: Settings
    facts: ProblemFacts
    target: float
    theorems: tuple[TheoremRow, ...]
    algorithms: tuple[AlgorithmRow, ...]

    @property
    def applying(self) -> list[TheoremRow]:
        """The theorems that have a number here: those that stand first, by the progress that they certify."""
        rows = (row for row in self.theorems if row.curve is not None)
        return sorted(rows, key=lambda row: (not row.consistent, -row.share[0], row.looseness))

    @property
    def standing(self) -> list[TheoremRow]:
        return [row for row in self.applying if row.consistent]

    @property
    def ranked(self) -> list[AlgorithmRow]:
        """The algorithms that were run and communicate once a round, the first to reach the target first."""
        rows = ((row.reached, row) for row in self.algorithms if not row.central)
        met = [(_inf(reached.first), sum(reached.between), row) for reached, row in rows if reached is not None]
        return [row for *_, row in sorted(met, key=lambda item: item[:2])]

    @property
    def recommended(self) -> AlgorithmRow | None:
        """The rule with the fewest rounds; of equals one with a theorem, then a small error."""
        arriving = [row for row in self.ranked if row.reached is not None and row.reached.first is not None]
        return min(arriving, key=_recommendation_order, default=None)

    def to_json(self) -> dict[str, Any]:
        data = {"settings": self.settings.to_json(), "facts": plain(self.facts), "target": self.target}
        rows = {name: [row.to_json() for row in getattr(self, name)] for name in ("theorems", "algorithms")}
        return data | rows


def _recommendation_order(row: AlgorithmRow) -> tuple[float, bool, float]:
    assert row.reached is not None
    error = math.inf if row.curve is None else float(row.curve.mean[-1] / row.curve.mean[0])
    return _inf(row.reached.first), not row.by, error


def _inf(rounds: int | None) -> float:
    return math.inf if rounds is None else rounds


def _numbers(values: Array) -> list[float | None]:
    return [finite_or_none(float(value)) for value in values]


def _json(row: TheoremRow | AlgorithmRow, names: Sequence[str]) -> dict[str, Any]:
    """Some fields of a row, and its curve where it has one."""
    data = {name: plain(getattr(row, name)) for name in names}
    if row.curve is None:
        return data
    lines = {name: _numbers(getattr(row.curve, name)) for name in ("mean", "lower", "upper")}
    return {**data, **lines, "reached": plain(row.reached)}


@dataclass(frozen=True)
class Reached:
    """The round from which on an expectation stays at most a level, to the end of ``rounds``: ``first`` of the mean.

    At the band's error rate it is no earlier than ``earliest`` and no later than ``latest``; None: not within those.
    """

    first: int | None
    earliest: int | None
    latest: int | None
    rounds: int

    @property
    def between(self) -> tuple[float, float]:
        """The limits as numbers: beyond the last round where not within those run."""
        return (
            self.rounds + 1 if self.earliest is None else self.earliest,
            math.inf if self.latest is None else self.latest,
        )

    def __str__(self) -> str:
        if self.first is None:
            return f"> {self.rounds}" if self.earliest is None else f"> {self.rounds} (perhaps from {self.earliest})"
        if self.earliest == self.latest:
            return str(self.first)
        return f"{self.first} ({self.earliest} to {'> ' + str(self.rounds) if self.latest is None else self.latest})"


@dataclass(frozen=True)
class ErrorCurve:
    """The mean of a quantity after 0, 1 ... R rounds, with simultaneous limits of its expectation, each (R + 1,)."""

    mean: Array
    lower: Array
    upper: Array

    def reached(self, level: float) -> Reached:
        first, earliest, latest = (stays_from(line, level) for line in (self.mean, self.lower, self.upper))
        return Reached(first, earliest, latest, len(self.mean) - 1)


def error_curve(values: Array, error_rate: float, random: bool) -> ErrorCurve:
    """The curve of replicates (R, rounds + 1), all from one point; without a band where nothing is ``random``."""
    certain = np.full(values.shape[1], not random)
    certain[0] = True
    result = band(values, error_rate, deterministic=certain)
    return ErrorCurve(result.mean, np.maximum(result.lower, 0.0), result.upper)


def stays_from(line: Array, level: float) -> int | None:
    """The first index from which on a line stays at most a level; None where it ends above."""
    above = np.flatnonzero(~(line <= level))
    at = int(above[-1]) + 1 if above.size else 0
    return at if at < len(line) else None


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
    values |= {"eta_0": float(table[0]), **quotients_of_steps(table, experiment.tau)}
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
