"""One table with its outputs: text, LaTeX and, through its templates, HTML."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fedbounds.report.number_format import MISSING
from fedbounds.theory.verdict import Status


@dataclass(frozen=True)
class Look:
    """How a status looks: a ``mark`` that needs no colour, and a style for the terminal."""

    mark: str
    terminal: str


# The first status in this order leads a cell.
LOOKS = {
    Status.REFUTED: Look("✗", "bold red"),
    Status.UNDECIDED: Look("?", "yellow"),
    Status.HOLDS: Look("✓", "green"),
    Status.NOT_APPLICABLE: Look("∅", "dim"),
    Status.VACUOUS: Look("○", "dim"),
}
ORDER = tuple(LOOKS)


# A run that did not refute a claim is no success: it has neither a tick nor a colour.
SURVIVED = Look("·", "")


@dataclass(frozen=True)
class Phrase:
    """Words in a cell, the status that they stand for, if any, a note beside them, and whether one run says so."""

    text: str
    status: Status | None = None
    note: str = ""
    on_run: bool = False

    @property
    def survived(self) -> bool:
        """Whether it says no more than that a run did not refute a claim."""
        return self.on_run and self.status is Status.HOLDS

    @property
    def look(self) -> Look:
        """How the status looks; of words without one this is not asked."""
        return SURVIVED if self.survived or self.status is None else LOOKS[self.status]

    def __str__(self) -> str:
        return f"{self.text} {self.note}".rstrip()


@dataclass(frozen=True)
class Cell:
    """A place of a table; without phrases it is a dash. ``hint`` is shown to a pointer."""

    phrases: tuple[Phrase, ...] = ()
    hint: str = ""

    def __str__(self) -> str:
        return ", ".join(map(str, self.phrases)) or MISSING


@dataclass(frozen=True)
class Table:
    """A head and rows of cells; the first cell of a row names it."""

    head: tuple[Any, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""

    @staticmethod
    def of(head: Iterable[Any], body: Iterable[Iterable[object]], caption: str = "") -> Table:
        """A table of cells, phrases or plain words; None is a dash."""
        return Table(tuple(head), tuple(tuple(map(_cell, row)) for row in body), caption)

    def without_empty(self) -> Table:
        """The table without columns that are empty in every row."""
        keep = [j for j in range(len(self.head)) if any(row[j].phrases for row in self.rows)]
        rows = tuple(tuple(row[j] for j in keep) for row in self.rows)
        return Table(tuple(self.head[j] for j in keep), rows, self.caption)

    def to_latex(self) -> str:
        """A ``tabular`` with the rules of booktabs."""
        head, *rows = (" & ".join(escape(str(cell)) for cell in row) + r" \\" for row in (self.head, *self.rows))
        begin = f"\\begin{{tabular}}{{{'l' * len(self.head)}}}"
        return "\n".join([begin, r"\toprule", head, r"\midrule", *rows, r"\bottomrule", r"\end{tabular}"]) + "\n"


@dataclass(frozen=True)
class Bullets:
    """A title and the items below it."""

    title: str
    items: tuple[str, ...]


@dataclass(frozen=True)
class Heading:
    """The title of what follows, and the name by which a link finds it."""

    heading: str
    level: int = 2
    anchor: str = ""


@dataclass(frozen=True)
class Formula:
    """A displayed formula in LaTeX."""

    latex: str


@dataclass(frozen=True)
class Code:
    """Lines that stay as they are."""

    verbatim: str


# What is printed: a paragraph whose lines stay apart, a list, a table, a title, a formula, or lines as they are.
Block = str | Bullets | Table | Heading | Formula | Code


def _cell(value: object) -> Cell:
    if isinstance(value, Cell):
        return value
    if isinstance(value, Phrase):
        return Cell((value,))
    return Cell(() if value is None else (Phrase(value if isinstance(value, str) else str(value)),))


def escape(text: str) -> str:
    """Plain words as LaTeX."""
    table = {
        "\\": r"\textbackslash{}",
        "^": r"\^{}",
        "~": r"\~{}",
        "<": "$<$",
        ">": "$>$",
        "|": "$|$",
        "*": "$*$",
        "✓": r"$\checkmark$",
        **{c: "\\" + c for c in "_&%#${}"},
    }
    text = text.replace("->", "\1").replace("<=", "\2").replace(">=", "\3")
    escaped = "".join(table.get(character, character) for character in text)
    return escaped.replace("\1", r"$\to$").replace("\2", r"$\le$").replace("\3", r"$\ge$")
