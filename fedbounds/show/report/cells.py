"""Statuses for a reader: a chip a status, the numbers beside it, and the ledger made of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from fedbounds.show.ledger import compact, number
from fedbounds.show.report.mathml import prose
from fedbounds.study.survey import DASH, Line
from fedbounds.theory.verdict import Evidence, Status

Json = Mapping[str, Any]

# The status first in this order leads a cell, and orders the ledger's columns.
ORDER = (Status.REFUTED, Status.UNDECIDED, Status.HOLDS, Status.NOT_APPLICABLE)
WORDS = {
    Status.REFUTED: "refuted",
    Status.UNDECIDED: "undecided",
    Status.HOLDS: "holds",
    Status.NOT_APPLICABLE: "n/a",
}
# Shapes that tell the statuses apart without colour.
MARKS = {Status.REFUTED: "✗", Status.UNDECIDED: "?", Status.HOLDS: "✓", Status.NOT_APPLICABLE: "∅"}
NOTHING = "none"
# How a kind of evidence is written.
LABELS = {kind: "SDP" if kind is Evidence.SDP else str(kind).capitalize() for kind in Evidence}
ABOUT = {
    Evidence.EMPIRICAL: "this run, at a stated error rate",
    Evidence.EXPECTATION: "this problem, no sampling error",
    Evidence.SYMBOLIC: "each step of a proof",
    Evidence.SDP: "every problem at given parameters",
    Evidence.EXACT: "a counterexample in fractions",
}


@dataclass(frozen=True)
class Chip:
    """One status, its mark and word, and the numbers or words beside it."""

    status: str
    mark: str
    word: str
    note: str = ""


@dataclass(frozen=True)
class Cell:
    """What one kind of evidence says of one claim: a chip a status, empty where it says nothing."""

    evidence: str
    chips: tuple[Chip, ...] = ()

    @property
    def statuses(self) -> str:
        """The statuses, for the filter."""
        return " ".join(chip.status for chip in self.chips) or NOTHING

    @property
    def rank(self) -> int:
        """The place of the leading status in the order, for sorting."""
        names = [str(status) for status in ORDER]
        return min((names.index(chip.status) for chip in self.chips), default=len(names))


@dataclass(frozen=True)
class LedgerRow:
    """One claim in one reading, a cell a kind of evidence."""

    claim: str
    reading: str
    title: Markup
    cells: tuple[Cell, ...]


def chip(status: str, note: str = "", count: str = "") -> Chip:
    """The chip of a status."""
    known = Status(status)
    return Chip(status, MARKS[known], f"{WORDS[known]}{count}", note)


def ledger_rows(lines: Iterable[Line], result: Json) -> list[LedgerRow]:
    """The rows of the ledger: run evidence from the result, the other kinds as the survey verified them."""
    return [
        LedgerRow(
            line.claim, line.reading, prose(line.title), tuple(_cell(line, str(kind), result) for kind in Evidence)
        )
        for line in lines
    ]


def _cell(line: Line, kind: str, result: Json) -> Cell:
    seen = verdicts(result, line.claim, line.reading, kind)
    if seen:
        return Cell(kind, _counted(seen, len(result["runs"])))
    text = line.cells[kind]
    head, _, note = text.partition(" ")
    if text == DASH or head not in [str(status) for status in Status]:
        return Cell(kind)
    return Cell(kind, (chip(head, readable(note)),))


def verdicts(result: Json, claim: str, reading: str, kind: str) -> list[Json]:
    """The verdicts of a result on a claim in a reading, by one kind of evidence."""
    wanted = (claim, reading, kind)
    return [
        verdict
        for run in result["runs"]
        for verdict in run["verdicts"]
        if (verdict["claim"], verdict["reading"], verdict["evidence"]) == wanted
    ]


def _counted(seen: Sequence[Json], runs: int) -> tuple[Chip, ...]:
    """A chip a status with how many weightings, the smallest margin and the smallest bound over measured."""
    chips = []
    for status in ORDER:
        own = [verdict for verdict in seen if verdict["status"] == status]
        if own:
            count = f" {len(own)}/{runs}" if runs > 1 else ""
            chips.append(chip(str(status), margins(own), count))
    return tuple(chips)


def margins(seen: Sequence[Json]) -> str:
    """The smallest margin and the smallest bound over measured among verdicts, where they have any."""
    margin = min((v["margin"] for v in seen if v["margin"] is not None), default=None)
    # A margin of 1 means a left side of 0: one that only rounds to 1 must not look so.
    text = ">0.999" if margin is not None and 0.9995 <= margin < 1 else readable(number(margin, 3))
    parts = [] if margin is None else [f"margin {text}"]
    ratio = times(min((v["tightness"] for v in seen if v["tightness"] is not None), default=None))
    return ", ".join([*parts, ratio] if ratio else parts)


def times(ratio: float | None) -> str:
    """Bound over measured, as "1.07×"; in words where the bound is negative."""
    text = compact(ratio)
    return "bound < 0" if text == "<0" else f"{readable(text)}×" if text else ""


def readable(text: str) -> str:
    """2.1e+04 as 2.1·10⁴, and a true minus sign."""
    powers = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    text = re.sub(r"(?<=\d)e([+-]?\d+)", lambda found: f"·10{str(int(found[1])).translate(powers)}", text)
    return re.sub(r"(?<![\w)])-(?=\d)", "−", text)


def tally(rows: Sequence[LedgerRow]) -> list[tuple[str, str, list[int]]]:
    """(evidence, what it is about, rows that contain each status of ORDER) for the summary."""
    return [
        (
            LABELS[kind],
            ABOUT[kind],
            [sum(status in row.cells[k].statuses.split() for row in rows) for status in map(str, ORDER)],
        )
        for k, kind in enumerate(Evidence)
    ]
