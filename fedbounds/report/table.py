"""One table, four outputs: Markdown and JSON here, HTML in ``report/table.html.jinja``, text in `terminal`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from fedbounds.report.number_format import MISSING
from fedbounds.theory.verdict import Status

# Shapes that tell the statuses apart without colour; the first in this order leads a cell.
MARKS = {
    Status.REFUTED: "✗",
    Status.UNDECIDED: "?",
    Status.HOLDS: "✓",
    Status.NOT_APPLICABLE: "∅",
    Status.VACUOUS: "○",
}
ORDER = tuple(MARKS)


@dataclass(frozen=True)
class Said:
    """One thing that a cell says: words, the status that they stand for, if any, and what is noted beside them."""

    text: str
    status: Status | None = None
    note: str = ""

    def __str__(self) -> str:
        return f"{Markup(self.text).striptags() if isinstance(self.text, Markup) else self.text} {self.note}".rstrip()


@dataclass(frozen=True)
class Entry:
    """What one place of a table says; nothing is a dash. ``hint`` is for a pointer, ``place`` for sorting."""

    said: tuple[Said, ...] = ()
    hint: str = ""
    place: str = ""
    evidence: str = ""

    def __str__(self) -> str:
        return ", ".join(map(str, self.said)) or MISSING

    @property
    def statuses(self) -> list[Status]:
        return [item.status for item in self.said if item.status is not None]

    @property
    def rank(self) -> int:
        """The place of the leading status in the order; beyond the last where there is none."""
        return min(map(ORDER.index, self.statuses), default=len(ORDER))


@dataclass(frozen=True)
class Table:
    """A head and rows of cells below it; the first cell of a row names it."""

    head: tuple[Any, ...]
    rows: tuple[tuple[Entry, ...], ...]
    caption: str = ""

    @staticmethod
    def of(head: Iterable[Any], body: Iterable[Iterable[object]], caption: str = "") -> Table:
        """A table of cells, or of what is written as plain words; None is a dash."""
        return Table(tuple(head), tuple(tuple(map(_cell, row)) for row in body), caption)

    def without_empty(self) -> Table:
        """The table without the columns in which no row says anything."""
        keep = [j for j in range(len(self.head)) if any(row[j].said for row in self.rows)]
        rows = tuple(tuple(row[j] for j in keep) for row in self.rows)
        return Table(tuple(self.head[j] for j in keep), rows, self.caption)

    def to_json(self) -> list[dict[str, str]]:
        """One object a row: head -> text."""
        return [dict(zip(map(str, self.head), map(str, row), strict=True)) for row in self.rows]

    def to_markdown(self) -> str:
        body = [_pipes(["**REFUTED**".join(plain(str(cell)).split("REFUTED")) for cell in row]) for row in self.rows]
        return (
            "\n".join([_pipes(plain(str(name)) for name in self.head), "|" + "---|" * len(self.head), *body]) + "\n"
        )

    def to_latex(self) -> str:
        """The table as a ``tabular`` with the rules of booktabs."""
        from fedbounds.evidence.symbolic.render import escape

        lines = [" & ".join(escape(str(cell)) for cell in row) + r" \\" for row in (self.head, *self.rows)]
        rows = [lines[0], r"\midrule", *lines[1:]]
        begin = f"\\begin{{tabular}}{{{'l' * len(self.head)}}}"
        return "\n".join([begin, r"\toprule", *rows, r"\bottomrule", r"\end{tabular}"]) + "\n"


@dataclass(frozen=True)
class Listed:
    """A title and what is listed under it."""

    title: str
    items: tuple[str, ...]


# What is printed: a paragraph, whose lines stay apart, a list, or a table.
Block = str | Listed | Table


def _cell(value: object) -> Entry:
    if isinstance(value, Entry):
        return value
    if isinstance(value, Said):
        return Entry((value,))
    return Entry(() if value is None else (Said(value if isinstance(value, str) else str(value)),))


def _pipes(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def plain(text: str) -> str:
    """Words as Markdown, none of whose characters means anything else."""
    return "".join("\\" + c if c in r"\<>*_`[]|" else c for c in text.replace("\n", " "))
