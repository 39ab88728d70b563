"""One table, four outputs: HTML, Markdown and JSON here, the terminal in `fedbounds.show.terminal`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from fedbounds.show.numbers import MISSING
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
# Where no style sheet reaches, as in a notebook.
INLINE = {
    Status.HOLDS: "color:#00614d",
    Status.REFUTED: "color:#a83a00;font-weight:bold",
    Status.UNDECIDED: "color:#6b5d00;font-style:italic",
    Status.NOT_APPLICABLE: "color:#777",
    Status.VACUOUS: "color:#777",
}


@dataclass(frozen=True)
class Said:
    """One thing that a cell says: words, the status that they stand for, if any, and what is noted beside them."""

    text: str
    status: Status | None = None
    note: str = ""

    def __str__(self) -> str:
        return f"{Markup(self.text).striptags() if isinstance(self.text, Markup) else self.text} {self.note}".rstrip()


@dataclass(frozen=True)
class Cell:
    """What one place of a table says; nothing is a dash. ``hint`` is for a pointer, ``place`` for sorting."""

    said: tuple[Said, ...] = ()
    hint: str = ""
    place: str = ""
    evidence: str = ""

    def __str__(self) -> str:
        return ", ".join(map(str, self.said)) or MISSING

    @property
    def statuses(self) -> list[Status]:
        """The statuses that the cell stands for."""
        return [item.status for item in self.said if item.status is not None]

    @property
    def rank(self) -> int:
        """The place of the leading status in the order; beyond the last where there is none."""
        return min(map(ORDER.index, self.statuses), default=len(ORDER))


@dataclass(frozen=True)
class Table:
    """A head and rows of cells below it; the first cell of a row names it."""

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""

    @staticmethod
    def of(head: Iterable[str], body: Iterable[Iterable[object]], caption: str = "") -> Table:
        """A table of cells, or of what is written as plain words; None is a dash."""
        return Table(tuple(head), tuple(tuple(map(_cell, row)) for row in body), caption)

    def without_empty(self) -> Table:
        """The table without the columns in which no row says anything."""
        keep = [j for j in range(len(self.head)) if any(row[j].said for row in self.rows)]
        rows = tuple(tuple(row[j] for j in keep) for row in self.rows)
        return Table(tuple(self.head[j] for j in keep), rows, self.caption)

    def to_json(self) -> list[dict[str, str]]:
        """One object a row: head -> text."""
        return [dict(zip(self.head, map(str, row), strict=True)) for row in self.rows]

    def to_markdown(self) -> str:
        """The table in Markdown, refutations in bold."""
        body = [_pipes(["**REFUTED**".join(plain(str(cell)).split("REFUTED")) for cell in row]) for row in self.rows]
        return "\n".join([_pipes(map(plain, self.head)), "|" + "---|" * len(self.head), *body]) + "\n"

    def to_html(self, inline: bool = False) -> Markup:
        """The table as an element, every text escaped; ``inline`` styles need no style sheet."""
        head = Markup("").join(_tag("th", name, scope="" if inline else "col") for name in self.head)
        body = Markup("").join(_tag("tr", Markup("").join(_cells(row, inline)), newline=True) for row in self.rows)
        caption = _tag("caption", _tag("span", self.caption)) if self.caption and not inline else Markup("")
        return _tag("table", caption + _tag("thead", _tag("tr", head)) + _tag("tbody", body))


@dataclass(frozen=True)
class Listed:
    """A title and what is listed under it."""

    title: str
    items: tuple[str, ...]


# What is printed: a paragraph, whose lines stay apart, a list, or a table.
Block = str | Listed | Table


def chip(item: Said) -> Markup:
    """A status with its mark and word as the page shows it, and the note beside it."""
    if item.status is None:
        word = escape(item.text)
    else:
        mark = Markup('<span aria-hidden="true">{}</span> ').format(MARKS[item.status])
        word = _tag("span", mark + item.text, class_=f"chip {item.status.lower()}")
    return word + (Markup(" ") + _tag("span", item.note, class_="note") if item.note else Markup(""))


def _cell(value: object) -> Cell:
    if isinstance(value, Cell):
        return value
    if isinstance(value, Said):
        return Cell((value,))
    return Cell(() if value is None else (Said(value if isinstance(value, str) else str(value)),))


def _cells(row: Sequence[Cell], inline: bool) -> list[Markup]:
    if inline:
        return [_tag("td", str(cell), style=_style(cell), title=cell.hint) for cell in row]
    shown = [Markup("").join(_tag("div", chip(item), class_="said") for item in cell.said) for cell in row]
    shown = [
        chip(cell.said[0]) if len(cell.said) == 1 else made or Markup(MISSING)
        for cell, made in zip(row, shown, strict=True)
    ]
    first, *rest = shown
    return [
        _tag("th", first, scope="row"),
        *(_tag("td", made, title=c.hint) for c, made in zip(row[1:], rest, strict=True)),
    ]


def _style(cell: Cell) -> str:
    return INLINE[ORDER[cell.rank]] if cell.statuses else ""


def _tag(name: str, content: Any, newline: bool = False, class_: str = "", **attributes: str) -> Markup:
    given = {"class": class_, **attributes}
    words = Markup("").join(Markup(' {}="{}"').format(key, value) for key, value in given.items() if value)
    return Markup("<{}{}>{}</{}>{}").format(name, words, content, name, "\n" if newline else "")


def _pipes(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def plain(text: str) -> str:
    """Words as Markdown, none of whose characters means anything else."""
    return "".join("\\" + c if c in r"\<>*_`[]|" else c for c in text.replace("\n", " "))
