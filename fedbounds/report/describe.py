"""What a verdict is called and what stands beside it, for every table, page and message."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from fedbounds.report.number_format import number, readable, times
from fedbounds.report.table import ORDER, Cell, Phrase
from fedbounds.study.ledger import Line
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.coverage import Span
from fedbounds.theory.labels import shown
from fedbounds.theory.symbols import QUANTITIES
from fedbounds.theory.verdict import Evidence, Status, Verdict


def describe(verdict: Verdict) -> Phrase:
    """The word of a verdict with its bound over measured and the step where both sides come nearest."""
    where = "" if verdict.worst_t is None else f"t = {verdict.worst_t}"
    note = " ".join(filter(None, [times(verdict.tightness), where]))
    return Phrase(shown(verdict.status, verdict.evidence), verdict.status, note)


def evidence_cell(line: Line, kind: Evidence) -> Cell:
    """One kind of evidence on a claim: a phrase a status, counted where there are several verdicts."""
    verdicts = line.verdicts(kind)
    phrases = []
    for status in ORDER:
        of_status = [verdict for verdict in verdicts if verdict.status is status]
        if of_status:
            count = "" if len(verdicts) == 1 else f" {len(of_status)}"
            phrases.append(Phrase(shown(status, kind) + count, status, _note(of_status)))
    return evidence_cell_of(phrases, kind, "; ".join(dict.fromkeys(map(line.grounds, verdicts))))


def evidence_cell_of(phrases: Sequence[Phrase], kind: Evidence, hint: str = "") -> Cell:
    """A cell of a kind of evidence, sorted by its leading status."""
    rank = Cell(tuple(phrases)).rank
    return Cell(tuple(phrases), hint, str(rank), kind)


def _note(verdicts: Sequence[Verdict]) -> str:
    """Both sides of a counterexample, what certificates cover, or the smallest margin and bound over measured."""
    if verdicts[0].evidence is Evidence.EXACT:
        return verdicts[0].detail
    if verdicts[0].evidence is Evidence.SDP:
        covered = [verdict.coverage.axes for verdict in verdicts if verdict.coverage]
        counts = {
            "over an interval": sum(any(isinstance(region, Span) for region in axes.values()) for axes in covered),
            "with noise": sum("stochastic" in str(axes.get("gradients")) for axes in covered),
            "checked by Rocq": sum("kernel" in verdict.data for verdict in verdicts),
        }
        return ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    margin = min((v.margin for v in verdicts if v.margin is not None), default=None)
    # A margin of 1 means a left side of 0: one that only rounds to 1 must not look so.
    text = ">0.999" if margin is not None and 0.9995 <= margin < 1 else readable(number(margin, 3))
    ratio = times(min((v.tightness for v in verdicts if v.tightness is not None), default=None))
    return ", ".join(filter(None, [f"margin {text}" if margin is not None else "", ratio]))


SCOPES = {
    "point": "every point visited, and every client",
    "step": "every step t to t + 1",
    "horizon": "every number of steps T",
    "constant": "the constants of a run alone",
}


def claim_sentences(claim: Claim, lines: Iterable[Line]) -> str:
    """What a claim states and whether it is true, in two sentences, with the command that shows the grounds."""
    relations = {Kind.INEQUALITY: "is at most", Kind.IDENTITY: "equals", Kind.RATE: "falls as fast as"}
    left = QUANTITIES[claim.lhs.name].meaning if claim.lhs.is_Symbol else str(claim.lhs)
    terms = "1/T" if claim.kind is Kind.RATE else " + ".join(claim.terms) or "0"
    states = f"{claim.title} ({claim.source}): {left} {relations[claim.kind]} {terms}, for {SCOPES[claim.scope]}."
    answer = claim_answer(lines)
    if answer.startswith("False"):
        return (
            f"{states}\n{answer[:-1]}: fedbounds refute {claim.key} --reading {claim.readings[0]} finds an instance."
        )
    command = "derive" if answer.startswith("Proved") else "referee"
    return f"{states}\n{answer[:-1]}: see fedbounds {command} {claim.key}."


def claim_answer(lines: Iterable[Line]) -> str:
    """A claim in a sentence: false, proved or open as written, and what its repair is."""
    own = list(lines)
    if not own:
        return "Open."
    claim = own[0].claim
    by_reading = {line.reading: line for line in own}
    written, last = (by_reading.get(reading) for reading in (claim.readings[0], claim.readings[-1]))
    false = written is not None and any(v.status is Status.REFUTED for v in written.verdicts(Evidence.EXACT))
    proofs = (Evidence.SYMBOLIC, Evidence.KERNEL)
    proved = last is not None and any(v.status is Status.HOLDS for kind in proofs for v in last.verdicts(kind))
    if false and claim.repair is not None:
        return "False as written; true if repaired." if proved else "False as written; its repair is open."
    if false:
        return "False as written."
    if proved:
        return "Proved." if claim.repair is None else "Proved as repaired; open as written."
    return "Open: neither proved nor refuted."


def replicates_needed(verdict: Verdict, replicates: int) -> float | None:
    """About how many replicates would decide an UNDECIDED: the band's half-width falls as their square root.

    The mean of lhs - rhs, d, and the band's end u on the far side of 0 are those of the worst t: R ((u - d)/d)^2.
    None where nothing was estimated, where d is 0, and for rates, which a longer run decides.
    """
    lhs, rhs = verdict.data.get("lhs"), verdict.data.get("rhs")
    if verdict.status is not Status.UNDECIDED or verdict.margin is None or not verdict.error_rate:
        return None
    if not isinstance(lhs, float) or not isinstance(rhs, float) or lhs == rhs:
        return None
    mean, end = lhs - rhs, -verdict.margin * max(abs(lhs), abs(rhs))
    needed = replicates * ((end - mean) / mean) ** 2
    return needed if math.isfinite(needed) and needed > replicates else None
