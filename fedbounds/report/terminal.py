"""The terminal: tables and progress bars (the only importer of rich)."""

import contextlib
import io
import shutil
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

from rich.console import Console, RenderableType
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.table import Table as Rows
from rich.text import Text

from fedbounds.model import Progress
from fedbounds.report.number_format import MISSING
from fedbounds.report.table import Block, Bullets, Cell, Table

# Columns of text where no terminal says how many it has.
WIDTH = 100
# Columns of the bar of a run, which leaves room for its name and note, and the seconds its speed is averaged over: a
# step of it may take a minute.
BAR, PERIOD = 16, 1800.0
# Seconds between two lines of progress where standard error is no terminal.
LINES = 30.0


def to_text(blocks: Iterable[Block], width: int | None = None, colour: bool = False) -> str:
    """The blocks as text of at most ``width`` columns (the terminal's); ``colour`` adds no information."""
    width = width or columns()
    return _render((renderable for block in blocks for renderable in _renderables(block, width)), width, colour)


def _renderables(block: Block, width: int) -> Iterator[RenderableType]:
    if isinstance(block, Table):
        if block.caption:
            yield Text(_wrapped(block.caption, width), style="bold")
        yield _drawn(block)
    elif isinstance(block, Bullets):
        yield Text(f"{block.title}:", style="bold")
        for item in block.items:
            yield Text(_wrapped(f"  - {item}", width, "    "))
    elif isinstance(block, str):
        for line in block.split("\n"):
            yield Text(_wrapped(line, width))
    else:
        yield Text(str(next(iter(vars(block).values()))))
    yield Text("")


def _wrapped(text: str, width: int, indent: str = "  ") -> str:
    return textwrap.fill(text, width, subsequent_indent=indent, break_on_hyphens=False)


def _drawn(table: Table) -> Rows:
    """A table for the terminal, statuses in colour."""
    made = Rows(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    broken = [any("\n" in str(row[k]) for row in table.rows) for k in range(len(table.head))]
    for k, name in enumerate(table.head):
        # Keys stay whole as long as other columns can give way, and lines of a cell's own always.
        made.add_column(Text(name), overflow="fold", no_wrap=broken[k] or (k == 0 and not any(broken)))
    for row in table.rows:
        made.add_row(*map(_cell, row))
    return made


def _cell(cell: Cell) -> Text:
    if not cell.phrases:
        return Text(MISSING, style="dim")
    return Text(", ").join(Text(str(item), style=item.look.terminal) for item in cell.phrases)


def _render(renderables: Iterable[RenderableType], width: int, colour: bool) -> str:
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
    for renderable in renderables:
        console.print(renderable, soft_wrap=False)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()).rstrip("\n") + "\n"


def plain_table(head: Sequence[str], body: Iterable[Iterable[object]], width: int | None = None) -> str:
    """A small table as text, of the terminal's width unless another is given."""
    return _render([_drawn(Table.of(head, body))], width or columns(), False)


def columns() -> int:
    """The width to print at: the terminal's, or 100 columns where there is none."""
    return shutil.get_terminal_size((WIDTH, 24)).columns


@contextlib.contextmanager
def progress(enabled: bool = True, lines: bool = False, first: str = "") -> Iterator[Progress | None]:
    """What is under way on standard error, fed by ``callback(name, done, total, note)``; None if nobody would see it.

    On a terminal a bar that each name takes over from the one before; elsewhere, if ``lines`` are wanted, a line now
    and then. ``first`` is said once work begins, so not before an error in what was asked for.
    """
    if enabled and sys.stderr.isatty():
        left = TimeRemainingColumn(elapsed_when_finished=True)
        columns = (TextColumn("{task.description}"), BarColumn(BAR), TextColumn("{task.percentage:>3.0f}%"), left)
        console = Console(stderr=True)
        with Bars(*columns, console=console, transient=True, speed_estimate_period=PERIOD) as bars:
            yield _after(first, _bar(bars))
    else:
        yield _after(first, _line()) if enabled and lines else None


@contextlib.contextmanager
def working(what: str, enabled: bool = True) -> Iterator[None]:
    """On a terminal a bar of unknown length, with how long it takes so far, while ``what`` is made."""
    with progress(enabled) as bar:
        if bar is not None:
            bar(what, 0, 0)
        yield


def _after(first: str, callback: Progress) -> Progress:
    """What says a sentence before it is first called."""
    unsaid = [first] if first else []

    def after(name: str, done: int, total: int, note: str = "") -> None:
        if unsaid:
            print(unsaid.pop(), file=sys.stderr, flush=True)
        callback(name, done, total, note)

    return after


def _bar(bars: Bars) -> Progress:
    current, names = bars.add_task("", total=None), set[str]()

    def callback(name: str, done: int, total: int, note: str = "") -> None:
        if name not in names:
            names.add(name)
            bars.reset(current, completed=done)
        bars.update(current, description=f"{name} {note}".rstrip(), completed=done, total=total or None)

    return callback


def _line() -> Progress:
    began: dict[str, tuple[float, int]] = {}
    last = time.monotonic()

    def callback(name: str, done: int, total: int, note: str = "") -> None:
        nonlocal last
        now = time.monotonic()
        start, before = began.setdefault(name, (now, done))
        if done == total or now - last >= LINES:
            last = now
            left = round((now - start) * (total - done) / (done - before)) if before < done < total else 0
            words = [
                f"{done:,}/{total:,}" if total > 1 else "done",
                note,
                f"{timedelta(seconds=left)} left" if left else "",
            ]
            print(f"{name}: {', '.join(filter(None, words))}", file=sys.stderr, flush=True)

    return callback
