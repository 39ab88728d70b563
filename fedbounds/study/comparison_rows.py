"""What a comparison found: a row a theorem, a row an algorithm, the order of both, and the rounds to a level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedbounds.evidence.empirical.bands import band
from fedbounds.io import plain
from fedbounds.model.problem import Array
from fedbounds.study.result import ProblemFacts
from fedbounds.study.settings import Settings
from fedbounds.theory.verdict import Status, finite_or_none

# Below every number that is measured, and above 0, so that logarithms and ratios exist.
TINY = 1e-300
# A bound below what is measured by a smaller part than this lies there for rounding.
ROUNDING = 1e-9


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
