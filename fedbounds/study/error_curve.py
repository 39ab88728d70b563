"""How far a run has come after every round, with a band, and the round from which on it stays at a level."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fedbounds.evidence.empirical.bands import band
from fedbounds.model.problem import Array


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
    known = np.full(values.shape[1], not random)
    known[0] = True
    found = band(values, error_rate, deterministic=known)
    return ErrorCurve(found.mean, np.maximum(found.lower, 0.0), found.upper)


def stays_from(line: Array, level: float) -> int | None:
    """The first index from which on a line stays at most a level; None where it ends above."""
    above = np.flatnonzero(~(line <= level))
    at = int(above[-1]) + 1 if above.size else 0
    return at if at < len(line) else None
