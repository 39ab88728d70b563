"""What a cell of a ledger says: the statuses of one kind of evidence, counted and never merged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from fedbounds.show.numbers import number, readable, times
from fedbounds.show.table import ORDER, Cell, Said, Table
from fedbounds.study.ledger import Line, Remarked
from fedbounds.theory.verdict import Evidence, Verdict
from fedbounds.theory.words import LABELS, shown


def evidence_cell(line: Line, kind: Evidence) -> Cell:
    """One kind of evidence on one claim: a word a status, how often if more than once, and the numbers beside it."""
    verdicts = line.verdicts(kind)
    said = []
    for status in ORDER:
        own = [verdict for verdict in verdicts if verdict.status is status]
        if own:
            count = "" if len(verdicts) == 1 else f" {len(own)}"
            said.append(Said(shown(status, kind) + count, status, _note(own)))
    return ranked(said, kind, "; ".join(dict.fromkeys(map(line.grounds, verdicts))))


def ranked(said: Sequence[Said], kind: Evidence, hint: str = "") -> Cell:
    """A cell of a kind of evidence that sorts by its leading status."""
    cell = Cell(tuple(said), hint, evidence=str(kind))
    return replace(cell, place=str(cell.rank))


def _note(verdicts: Sequence[Verdict]) -> str:
    """The two sides of a counterexample; else the smallest margin and the smallest bound over measured."""
    if verdicts[0].evidence is Evidence.EXACT:
        return verdicts[0].detail
    if verdicts[0].evidence is Evidence.SDP:
        noisy = sum("stochastic" in v.coverage.axes.get("gradients", ()) for v in verdicts if v.coverage)
        return f"{noisy} with noise" if noisy else ""
    margin = min((v.margin for v in verdicts if v.margin is not None), default=None)
    # A margin of 1 means a left side of 0: one that only rounds to 1 must not look so.
    text = ">0.999" if margin is not None and 0.9995 <= margin < 1 else readable(number(margin, 3))
    ratio = times(min((v.tightness for v in verdicts if v.tightness is not None), default=None))
    return ", ".join(filter(None, [f"margin {text}" if margin is not None else "", ratio]))


def ledger_table(lines: Iterable[Line]) -> Table:
    """Claims in their readings by kinds of evidence."""
    body = [[line.claim.key, line.reading, *(evidence_cell(line, kind) for kind in Evidence)] for line in lines]
    return Table.of(("claim", "reading", *(LABELS[kind] for kind in Evidence)), body)


def remark_table(remarks: Iterable[Remarked]) -> Table:
    """What the paper remarks without a formula: how it is read, and what exact instances say of it."""
    body = [
        [
            item.remark.key,
            item.remark.words,
            item.remark.reading,
            Said(str(verdict.status), verdict.status),
            _because(verdict),
        ]
        for item in remarks
        for verdict in item.verdicts
    ]
    head = ("remark", "the paper", "read as", "verdict", "because")
    return Table.of(head, body, "Remarks, each by exact instances alone")


def _because(verdict: Verdict) -> str:
    place = verdict.coverage.words() if verdict.coverage and verdict.coverage.axes else ""
    return f"{verdict.detail} (at {place})" if place else verdict.detail
