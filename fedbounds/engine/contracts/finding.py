"""What a check says about one fact that a plug-in states."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import InputError

Array = NDArray[np.float64]

# A point in a sentence shows so many coordinates; the finding holds all of them.
SHOWN = 6


@dataclass(frozen=True)
class Finding:
    """One ``fact``, whether it ``holds`` where it was tried, what was ``observed``, and to which ``resolution``.

    ``remedy`` says what to mend. Where the fact fails, ``point`` (d,) or (N,) is where, and ``client`` whose.
    """

    fact: str
    holds: bool
    observed: str
    remedy: str = ""
    resolution: str = ""
    point: tuple[float, ...] | None = None
    client: int | None = None

    def __str__(self) -> str:
        who = "" if self.client is None else f" of client {self.client}"
        return f"{self.observed}{who}{self.where}"

    @property
    def where(self) -> str:
        """The point in words, shortened."""
        if self.point is None:
            return ""
        more = ", ..." if len(self.point) > SHOWN else ""
        return f" at ({', '.join(f'{value:.6g}' for value in self.point[:SHOWN])}{more})"


def worst(
    fact: str, excess: Array, points: Array, text: str, values: Sequence[Array], remedy: str, resolution: str = ""
) -> Finding:
    """The finding of a fact that fails where ``excess`` (..., N) is above 0 or no number.

    ``points`` (..., N or 1, d) are where it was computed; ``text`` is filled with the ``values`` (..., N) there.
    """
    bad = np.where(np.isnan(excess), np.inf, excess)
    index = tuple(int(k) for k in np.unravel_index(np.argmax(bad), bad.shape))
    if bad[index] <= 0:
        return Finding(fact, True, "", resolution=resolution)
    place = np.broadcast_to(points, (*bad.shape, points.shape[-1]))[index]
    shown = (np.broadcast_to(value, bad.shape)[index] for value in values)
    return Finding(fact, False, text.format(*shown), remedy, resolution, tuple(place.tolist()), index[-1])


def tried(fact: str, test: Callable[[], Iterable[Finding]]) -> Sequence[Finding]:
    """The findings of one test; a plug-in may raise anything in it, which is a finding too."""
    try:
        with np.errstate(all="ignore"):
            return tuple(test())
    except Exception as wrong:
        return (Finding(fact, False, f"{type(wrong).__name__}: {wrong}", "make it run at every point"),)


def try_in_order(tests: Mapping[str, Callable[[], Iterable[Finding]]]) -> tuple[Finding, ...]:
    """The findings of the tests by the facts they try, up to the first test with a fact that fails."""
    findings: list[Finding] = []
    for fact, test in tests.items():
        findings += tried(fact, test)
        if not all(finding.holds for finding in findings):
            break
    return tuple(findings)


def refuse(what: str, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings if all hold; else InputError with the first that does not, in one sentence."""
    for finding in findings:
        if not finding.holds:
            raise InputError(f"{what} must keep {finding.fact}, but received {finding}: {finding.remedy}.")
    return tuple(findings)
