"""How outcomes are called: one mapping of words for every table, page and message."""

from __future__ import annotations

from fedbounds.theory.coverage import Coverage
from fedbounds.theory.verdict import Evidence, Status, Verdict

# What a HOLDS means by the kind of evidence that says it; any other kind has only not refuted the claim.
HOLDS = {
    Evidence.KERNEL: "PROVED",
    Evidence.SYMBOLIC: "PROVED (own checker)",
    Evidence.SDP: "CERTIFIED",
    Evidence.EXPECTATION: "DECIDED",
}
NOT_REFUTED = "NOT REFUTED"
# How a kind of evidence is headed, and what it speaks of.
LABELS = {kind: "SDP" if kind is Evidence.SDP else str(kind).capitalize() for kind in Evidence}
ABOUT = {
    Evidence.EMPIRICAL: "this run, at a stated error rate",
    Evidence.EXPECTATION: "this problem, no sampling error",
    Evidence.SYMBOLIC: "each step of a proof, by our own checker",
    Evidence.KERNEL: "a proof, by the kernel of a proof assistant",
    Evidence.SDP: "every problem at given parameters",
    Evidence.EXACT: "a counterexample in fractions",
}


def word(status: Status, evidence: Evidence) -> str:
    """What a status is called when a kind of evidence says it."""
    return HOLDS.get(evidence, NOT_REFUTED) if status is Status.HOLDS else str(status)


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
