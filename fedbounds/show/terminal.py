"""The terminal: tables and progress bars (the only importer of rich)."""

from __future__ import annotations

import contextlib
import io
import math
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table as Grid
from rich.text import Text

from fedbounds.show.numbers import MISSING
from fedbounds.show.table import Block, Cell, Listed, Table
from fedbounds.theory.verdict import Status

STYLES = {
    Status.HOLDS: "green",
    Status.REFUTED: "bold red",
    Status.UNDECIDED: "yellow",
    Status.NOT_APPLICABLE: "dim",
    Status.VACUOUS: "dim",
}
# Columns of text where no terminal says how many it has.
WIDTH = 100
# Columns of the bar of a run, which leaves room for its name and note, and the seconds its speed is averaged over: a
# step of it may take a minute.
BAR, PERIOD = 16, 1800.0


def render_blocks(blocks: Iterable[Block], width: int, colour: bool) -> str:
    """Paragraphs, lists and tables as text of at most ``width`` columns."""
    return _render((piece for block in blocks for piece in _pieces(block, width)), width, colour)


def _pieces(block: Block, width: int) -> Iterator[RenderableType]:
    if isinstance(block, Table):
        yield Text(_wrapped(block.caption, width), style="bold")
        yield _drawn(block, width)
    elif isinstance(block, Listed):
        yield Text(f"{block.title}:", style="bold")
        for item in block.items:
            yield Text(_wrapped(f"  - {item}", width, "    "))
    else:
        for line in block.split("\n"):
            yield Text(_wrapped(line, width))
    yield Text("")


def _wrapped(text: str, width: int, indent: str = "  ") -> str:
    return textwrap.fill(text, width, subsequent_indent=indent, break_on_hyphens=False)


def _drawn(table: Table, width: int) -> Grid:
    """A table for the terminal, statuses in colour."""
    texts = [[name, *(str(row[j]) for row in table.rows)] for j, name in enumerate(table.head)]
    natural = sum(max(map(len, column)) for column in texts)
    gap = 2 if natural + 2 * (len(texts) - 1) <= width else 1
    made = Grid(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="bold")
    for name, wide in zip(table.head, fitted(texts, width - gap * (len(texts) - 1)), strict=True):
        made.add_column(Text(name), overflow="fold", width=wide)
    for row in table.rows:
        made.add_row(*map(_cell, row))
    return made


def fitted(columns: list[list[str]], room: int) -> list[int]:
    """The widths of ``columns`` of texts in ``room``: the fewest lines, no word broken while there is a choice."""
    widths = [max(map(len, texts)) for texts in columns]
    least = [max(len(word) for text in texts for word in text.split() or [""]) for texts in columns]

    @cache
    def lines(j: int, width: int) -> int:
        return sum(len(textwrap.wrap(text, width, break_on_hyphens=False)) for text in columns[j])

    while sum(widths) > room:
        free = [j for j, width in enumerate(widths) if width > least[j]] or [widths.index(max(widths))]
        j = min(free, key=lambda j: (lines(j, widths[j] - 1) - lines(j, widths[j]), -widths[j]))
        widths[j] -= 1
    return widths


def _cell(cell: Cell) -> Text:
    if not cell.said:
        return Text(MISSING, style="dim")
    return Text(", ").join(Text(str(item), style=STYLES[item.status] if item.status else "") for item in cell.said)


def _render(pieces: Iterable[RenderableType], width: int, colour: bool) -> str:
    """Rich renderables as text, with ANSI colours or without; no trailing blanks."""
    file = io.StringIO()
    console = Console(
        file=file,
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        no_color=not colour,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    for piece in pieces:
        console.print(piece, soft_wrap=False)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def plain_table(
    head: Sequence[str], body: Iterable[Iterable[object]], width: int | None = None, colour: bool = False
) -> str:
    """A small table as text, of the terminal's width unless another is given."""
    width = width or columns()
    return _render([_drawn(Table.of(head, body), width)], width, colour)


def columns() -> int:
    """The width to print at: the terminal's, or 100 columns where there is none."""
    return shutil.get_terminal_size((WIDTH, 24)).columns


@contextlib.contextmanager
def progress(enabled: bool = True) -> Iterator[Callable[[str, int, int], None] | None]:
    """A progress bar a weighting on standard error, fed by ``callback(name, done, total)``; None if not enabled."""
    if not enabled:
        yield None
        return
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def callback(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=total)
            bars.update(tasks[name], completed=done, total=total)

        yield callback


@contextlib.contextmanager
def runs(count: int, enabled: bool = True) -> Iterator[Callable[[str, int, int, str], None] | None]:
    """A bar of the run at hand above one of all ``count``, fed by ``callback(name, done, total, note)``; None if not
    enabled. A finished run makes way for the next, so that any number of them takes two lines.
    """
    if not enabled:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(BAR), TextColumn("{task.percentage:>3.0f}%"))
    left = TimeRemainingColumn(elapsed_when_finished=True)
    console = Console(stderr=True)
    with Progress(*columns, left, console=console, transient=True, speed_estimate_period=PERIOD) as bars:
        own, whole = bars.add_task("", total=None), bars.add_task(f"0 of {count} runs", total=count)
        shares: dict[str, float] = {}

        def callback(name: str, done: int, total: int, note: str) -> None:
            fresh = name not in shares
            shares[name] = done / total
            if fresh:
                bars.reset(own, completed=done)
            if fresh and done:  # what was done before this call is no measure of its speed
                bars.reset(whole, completed=math.fsum(shares.values()))  # type: ignore[arg-type]
            bars.update(own, description=f"{name} {note}", completed=done, total=total)
            finished = list(shares.values()).count(1.0)
            bars.update(whole, description=f"{finished} of {count} runs", completed=math.fsum(shares.values()))

        yield callback


# Seconds between two lines of progress where standard error is no terminal.
LINES = 30.0


@contextlib.contextmanager
def counter(what: str, enabled: bool = True) -> Iterator[Callable[[int, int, float, float], None] | None]:
    """Progress of counted work, fed by ``callback(done, total, rate, left)``: a bar, or now and then a line."""
    if not enabled:
        yield None
        return
    if not sys.stderr.isatty():
        last = time.monotonic()

        def line(done: int, total: int, rate: float, left: float) -> None:
            nonlocal last
            if time.monotonic() - last >= LINES or done == total:
                last = time.monotonic()
                print(_counted(what, done, total, rate, left), file=sys.stderr, flush=True)

        yield line
        return
    columns = (BarColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("", total=None)

        def bar(done: int, total: int, rate: float, left: float) -> None:
            bars.update(task, completed=done, total=total, description=_counted(what, done, total, rate, left))

        yield bar


def _counted(what: str, done: int, total: int, rate: float, left: float) -> str:
    """``12/40 cells, 3.1 a minute, 0:09:02 left``."""
    speed = f", {60 * rate:.3g} a minute" if rate else ""
    minutes, seconds = divmod(round(left) if math.isfinite(left) else 0, 60)
    time_left = (
        f", {minutes // 60}:{minutes % 60:02}:{seconds:02} left" if math.isfinite(left) and done < total else ""
    )
    return f"{done}/{total} {what}{speed}{time_left}"
