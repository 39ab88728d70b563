"""What a check says about one fact that a plug-in states."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fedbounds.errors import InputError
from fedbounds.model.problem import Array

# A point in a sentence shows so many coordinates; the finding holds all of them.
SHOWN = 6


@dataclass(frozen=True)
class Finding:
    """One ``fact``, whether it ``holds`` where it was tried, what was ``observed``, and what to mend.

    Where it fails, ``point`` (d,) or (N,) is where, and ``client`` whose.
    """

    fact: str
    holds: bool
    observed: str = ""
    remedy: str = ""
    point: tuple[float, ...] | None = None
    client: int | None = None

    def __str__(self) -> str:
        text = self.observed if self.client is None else f"{self.observed} of client {self.client}"
        if self.point is None:
            return text
        more = ", ..." if len(self.point) > SHOWN else ""
        return f"{text} at ({', '.join(f'{value:.6g}' for value in self.point[:SHOWN])}{more})"


def worst(fact: str, excess: Array, points: Array, remedy: str, text: str, *values: Array | float) -> Finding:
    """The finding of a fact that fails where ``excess`` (..., N) is above 0 or no number.

    ``points`` (..., N or 1, d) are where it was computed; ``text`` is filled with the ``values`` (..., N) there.
    """
    bad = np.where(np.isnan(excess), np.inf, excess)
    index = np.unravel_index(np.argmax(bad), bad.shape)
    if bad[index] <= 0:
        return Finding(fact, True)
    point = np.broadcast_to(points, (*bad.shape, points.shape[-1]))[index]
    observed = text.format(*(np.broadcast_to(value, bad.shape)[index] for value in values))
    return Finding(fact, False, observed, remedy, tuple(point.tolist()), int(index[-1]))


def examine(fact: str, test: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """The findings of one test; a plug-in may raise anything in it, which is a finding too."""
    try:
        with np.errstate(all="ignore"):
            return list(test())
    except Exception as error:
        return [Finding(fact, False, f"{type(error).__name__}: {error}", "make it run at every point")]


def refuse(what: str, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings if all hold; else InputError with the first that does not, in one sentence."""
    for finding in findings:
        if not finding.holds:
            raise InputError(f"{what} must keep {finding.fact}, but received {finding}: {finding.remedy}.")
    return tuple(findings)
