"""How outcomes are called: one mapping of words for every table, page and message."""

from __future__ import annotations

from fedbounds.theory.coverage import Coverage
from fedbounds.theory.verdict import Evidence, Status, Verdict


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
