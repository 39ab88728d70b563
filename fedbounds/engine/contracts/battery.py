"""What was tried on a plug-in, fact by fact."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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

    ``points`` (..., N or 1, d) are where it was computed; ``text`` is filled with the ``values`` (..., N) there. A
    single column is that of F, which is no client's.
    """
    bad = np.where(np.isnan(excess), np.inf, excess)
    index = np.unravel_index(np.argmax(bad), bad.shape)
    if bad[index] <= 0:
        return Finding(fact, True)
    point = np.broadcast_to(points, (*bad.shape, points.shape[-1]))[index]
    observed = text.format(*(np.broadcast_to(value, bad.shape)[index] for value in values))
    client = int(index[-1]) if bad.shape[-1] > 1 else None
    return Finding(fact, False, observed, remedy, tuple(point.tolist()), client)


def examine(tests: Mapping[str, Callable[[Any], Iterable[Finding]]], tried: Any) -> tuple[Finding, ...]:
    """The findings on what is tried, test by test, up to the first test with a failure: later ones rest on it.

    A plug-in may raise anything in a test, which is a finding too.
    """
    findings: list[Finding] = []
    for fact, test in tests.items():
        try:
            with np.errstate(all="ignore"):
                findings += list(test(tried)) or [Finding(fact, True)]
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            findings.append(Finding(fact, False, text, "make it run at every point"))
        if not all(finding.holds for finding in findings):
            break
    return tuple(findings)


def refuse(what: str, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings if all hold; else InputError with the first that does not, in one sentence."""
    for finding in findings:
        if not finding.holds:
            raise InputError(f"{what} must keep {finding.fact}, but received {finding}: {finding.remedy}.")
    return tuple(findings)
