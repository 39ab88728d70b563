"""What a search for counterexamples is of, its tasks, and what each of them found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fedbounds.referee.search.candidates import Arm, Budget
from fedbounds.referee.search.family import InstanceFamily, Population, decode
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading

# A floating-point margin above this may be rounding: not worth making rational.
WORTH_TRYING = -1e-7


@dataclass(frozen=True)
class Task:
    """One arm in one rung: so many ``generations``, from the point where the rung before ended."""

    arm: Arm
    rung: int
    number: int
    generations: int
    start: tuple[float, ...] = ()
    last: bool = False


@dataclass(frozen=True)
class Outcome:
    """One arm searched in a rung: evaluations spent, the smallest margin met, and at which instance."""

    arm: Arm
    rung: int
    evaluations: int
    margin: float
    point: tuple[float, ...]


@dataclass(frozen=True)
class Search:
    """What a search is of."""

    claim: Claim
    reading: Reading
    budget: Budget
    seed: int
    known: Mapping[str, InstanceFamily]

    def population(self, outcome: Outcome) -> Population:
        """The best instance of an outcome."""
        shape = outcome.arm.shape
        return decode(shape, self.known[shape.family], np.array([outcome.point]), self.claim)
