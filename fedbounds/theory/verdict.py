"""What an examination of a claim can say, and how tables, pages and messages call it."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from fedbounds.theory.coverage import Coverage


class Status(enum.StrEnum):
    """The status of a claim by one kind of evidence. VACUOUS: both sides are 0, so nothing was compared."""

    HOLDS = "HOLDS"
    REFUTED = "REFUTED"
    UNDECIDED = "UNDECIDED"
    NOT_APPLICABLE = "NOT_APPLICABLE"
    VACUOUS = "VACUOUS"


class Evidence(enum.StrEnum):
    """The six kinds of evidence, in the order of their columns.

    ``label`` heads a column, ``about`` says what the kind covers, ``on_holds`` is its word for a HOLDS, ``on_run``
    says whether it is about one run.
    """

    label: str
    about: str
    on_holds: str
    on_run: bool

    def __new__(
        cls, value: str, label: str = "", about: str = "", on_holds: str = "NOT REFUTED", on_run: bool = False
    ) -> Evidence:
        kind = str.__new__(cls, value)
        kind._value_ = value
        kind.label, kind.about, kind.on_holds, kind.on_run = label, about, on_holds, on_run
        return kind

    EMPIRICAL = "empirical", "Empirical", "this run, at a stated error rate", "NOT REFUTED", True
    EXPECTATION = "expectation", "Expectation", "this problem, no sampling error", "HOLDS HERE", True
    SYMBOLIC = "symbolic", "Symbolic", "each step of a proof, by our own checker", "PROVED (own checker)"
    KERNEL = "kernel", "Kernel", "a proof, by the kernel of a proof assistant", "PROVED"
    SDP = "sdp", "SDP", "every problem at given parameters", "CERTIFIED"
    EXACT = "exact", "Exact", "a counterexample in fractions"


@dataclass(frozen=True)
class Failure:
    """An assumption that an experiment does not meet: its ``key``, its ``statement``, what was ``found`` instead."""

    key: str
    statement: str
    found: str

    def __str__(self) -> str:
        return f"{self.statement}: {self.found}"


@dataclass(frozen=True)
class Verdict:
    """The outcome of one claim, in one reading, by one kind of evidence.

    ``margin`` is the smallest relative distance (rhs - lhs)/max(|rhs|, |lhs|), the band included, positive where the
    claim holds; ``tightness`` the smallest rhs/lhs; ``worst_t`` where the margin is attained; ``error_rate`` the
    family-wise rate; ``failed`` the assumptions not met; ``coverage`` the experiments that the status speaks of.
    """

    claim: str
    reading: str
    evidence: Evidence
    status: Status
    margin: float | None = None
    tightness: float | None = None
    worst_t: int | None = None
    error_rate: float = 0.0
    detail: str = ""
    data: Mapping[str, object] = field(default_factory=dict)
    failed: tuple[Failure, ...] = ()
    coverage: Coverage | None = None

    def to_json(self) -> dict[str, object]:
        """The verdict as a JSON object; non-finite numbers become null."""
        return {
            "claim": self.claim,
            "reading": self.reading,
            "evidence": str(self.evidence),
            "status": str(self.status),
            "margin": finite_or_none(self.margin),
            "tightness": finite_or_none(self.tightness),
            "worst_t": self.worst_t,
            "error_rate": self.error_rate,
            "detail": self.detail,
            **({"data": {name: _finite(value) for name, value in self.data.items()}} if self.data else {}),
            **({"failed": [asdict(failure) for failure in self.failed]} if self.failed else {}),
            **({"coverage": self.coverage.to_json()} if self.coverage is not None else {}),
        }


def finite_or_none(value: float | None) -> float | None:
    """``value`` as a float, or None where JSON has no number for it."""
    return float(value) if value is not None and math.isfinite(value) else None


def _finite(value: object) -> object:
    """``value`` with every non-finite number, alone or in a list, replaced by None."""
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return finite_or_none(value) if isinstance(value, float) else value


def word(status: Status, evidence: Evidence) -> str:
    """What a status is called when a kind of evidence says it."""
    return evidence.on_holds if status is Status.HOLDS else str(status)


def shown(status: Status, evidence: Evidence) -> str:
    """The word as tables print it, where nothing but REFUTED shouts."""
    if status is Status.REFUTED:
        return str(status)
    return "n/a" if status is Status.NOT_APPLICABLE else word(status, evidence).lower()


def grounds(verdict: Verdict, claimed: Coverage | None = None) -> str:
    """A verdict in words: what it is called, what a HOLDS covers of what the claim speaks of, and why."""
    covers = verdict.status is Status.HOLDS and verdict.coverage is not None
    covered = f" for {verdict.coverage.words(claimed)}" if covers and verdict.coverage is not None else ""
    return f"{word(verdict.status, verdict.evidence)}{covered}" + (f": {verdict.detail}" if verdict.detail else "")
