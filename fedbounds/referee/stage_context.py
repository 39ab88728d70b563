"""What a stage of a trial is given, what it finds, and how it ends before it is done."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from fedbounds.referee.regimes import Suite
from fedbounds.referee.search.populations import BUDGETS, PROVED, Budget
from fedbounds.referee.search.refute import Each
from fedbounds.study.parallel import in_order
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading
from fedbounds.theory.verdict import Evidence, Status, Verdict

# Why a stage ended before it was done.
INTERRUPTED, OUT_OF_TIME = "interrupted", "out of time"

# Seconds: timers hold no number of any size.
YEAR = 3.2e7
PROOFS = (Evidence.KERNEL, Evidence.SYMBOLIC)


def processor_seconds() -> float:
    """Of this process, and of those that it started and that have ended."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


@dataclass(frozen=True)
class StageResult:
    """Sentences, and verdicts."""

    lines: tuple[str, ...]
    verdicts: tuple[Verdict, ...] = ()


SoFar = Callable[[Callable[[], StageResult]], None]


@dataclass(frozen=True)
class Case:
    """A claim in one reading, what may be spent on it, runs of regimes made so far, and the verdicts so far.

    A stage calls ``so_far`` with what it would find if it ended there; the call may end it. ``end`` is when the
    trial's processor seconds are spent, if they are limited; ``each`` computes the items of a long stage; ``extra``
    are the plug-in modules whose weightings and families a search tries; ``state`` a file from which it goes on.
    """

    claim: Claim
    reading: Reading
    budget: str
    seed: int
    suite: Suite
    verdicts: tuple[Verdict, ...] = ()
    each: Each = in_order
    so_far: SoFar = lambda result: None
    end: float | None = None
    extra: tuple[ModuleType, ...] = ()
    state: Path | None = None

    @property
    def proved(self) -> bool:
        """Whether a proof covers all that the claim speaks of."""
        claimed = self.claim.coverage(self.reading)
        proofs = (v for v in self.verdicts if v.status is Status.HOLDS and v.evidence in PROOFS)
        return any(v.coverage is None or v.coverage.includes(claimed) for v in proofs)

    @property
    def search_budget(self) -> Budget:
        """Of the search: the smallest for a claim that is proved, unless a larger one was asked for."""
        return PROVED if self.budget == "small" and self.proved else BUDGETS[self.budget]

    def verdict(self, kind: Evidence, status: Status, detail: str) -> Verdict:
        """A verdict on this claim in this reading."""
        return Verdict(self.claim.key, self.reading.name, kind, status, detail=detail)


@dataclass(frozen=True)
class Stage:
    """What one stage found, in sentences and verdicts, the seconds it took, and why it was ``cut``, if it was."""

    name: str
    seconds: float
    lines: tuple[str, ...]
    verdicts: tuple[Verdict, ...] = ()
    cut: str = ""

    def to_json(self) -> dict[str, Any]:
        """The stage as a JSON object."""
        result = [verdict.to_json() for verdict in self.verdicts]
        stage = {"name": self.name, "seconds": self.seconds, "lines": list(self.lines), "verdicts": result}
        return stage | ({"cut": self.cut} if self.cut else {})


class OutOfTime(Exception):
    """A stage has used its share of the time."""


class TimeSpent(BaseException):
    """What `at_most` ends with; no ``except Exception`` on the way takes it for a fault.

    Its argument: whether it is the time of an `at_most` further out that is spent.
    """


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """End what runs inside by a TimeSpent after so many processor seconds of this process.

    Only in the main thread of a system that has such timers; elsewhere nothing is ended. One inside another ends no
    later than that, which goes on counting.

    >>> with at_most(60):
    ...     print("in time")
    in time
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    outer, begun = signal.getitimer(signal.ITIMER_PROF)[0], time.process_time()

    def spent(*_: object) -> None:
        raise TimeSpent(0 < outer <= seconds)

    before = signal.signal(signal.SIGPROF, spent)
    # A second later again, should one be lost.
    signal.setitimer(signal.ITIMER_PROF, min(max(seconds, 1e-3), outer or YEAR, YEAR), 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        if outer:
            signal.setitimer(signal.ITIMER_PROF, max(outer - (time.process_time() - begun), 1e-3), 1.0)


Prover = Callable[[Claim, Reading], Verdict | None]
# Processor seconds for one proof, where many are looked for.
ONE_PROOF = 2.0


def in_time(prover: Prover, claim: Claim, reading: Reading, seconds: float | None = None) -> Verdict | None:
    """What a prover finds in so many processor seconds, a few unless given."""
    try:
        with at_most(ONE_PROOF if seconds is None else seconds):
            return prover(claim, reading)
    except TimeSpent as spent:
        if spent.args[0]:
            raise
        return None


class Watch:
    """Keeps what a stage has found so far, and ends it after so many processor seconds, if a number is given.

    A stage looks at the time between its pieces; one without pieces is ended after ``longest`` seconds, if given.
    """

    def __init__(self, seconds: float | None, longest: float | None = None) -> None:
        self._longest = longest
        self._end = None if seconds is None else time.process_time() + seconds
        self._latest: Callable[[], StageResult] | None = None

    def __call__(self, result_so_far: Callable[[], StageResult]) -> None:
        self._latest = result_so_far
        if self._end is not None and time.process_time() > self._end:
            raise OutOfTime

    def carry_out(self, examine: Callable[[Case], StageResult], case: Case) -> tuple[StageResult, str]:
        """What a stage finds, and why it was cut if it was."""
        try:
            with contextlib.nullcontext() if self._longest is None else at_most(self._longest):
                return examine(case), ""
        except OutOfTime:
            cut = OUT_OF_TIME
        except TimeSpent as spent:
            if spent.args[0]:
                raise
            cut = OUT_OF_TIME
        except KeyboardInterrupt:
            cut = INTERRUPTED
        return StageResult((cut,)) if self._latest is None else self._latest(), cut
