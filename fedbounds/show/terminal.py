"""The terminal: tables and progress bars (the only importer of rich)."""

from __future__ import annotations

import contextlib
import io
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from fedbounds.show import ledger
from fedbounds.theory.verdict import Evidence, Status

STYLES = {
    Status.HOLDS: "green",
    Status.REFUTED: "bold red",
    Status.UNDECIDED: "yellow",
    Status.NOT_APPLICABLE: "dim",
}
# Columns of the claim and of the reading, each with the space that follows it.
CLAIM, READING = 17, 9
FIRST = CLAIM + READING + 2
# Columns of the bar of a run, which leaves room for its name and note, and the seconds its speed is averaged over: a
# step of it may take a minute.
BAR, PERIOD = 16, 1800.0


def render_ledger(result: Mapping[str, Any], width: int, colour: bool) -> str:
    """The whole ledger as text of at most ``width`` columns."""
    return render(_pieces(result, width), width, colour)


def _pieces(result: Mapping[str, Any], width: int) -> Iterator[Any]:
    for line in ledger.heading(result):
        yield Text(line, style="bold" if line == ledger.heading(result)[0] else "")
    runs = len(result["runs"])
    block = max(1, (width - FIRST) // (ledger.CELL + 1))
    for start in range(0, runs, block):
        yield Text("")
        yield _verdict_table(result, range(start, min(start + block, runs)))
    yield Text("")
    yield Text(ledger.LEGEND.format(rate=result["settings"]["error_rate"]), style="dim")
    yield from _listed("Refuted on this run", ledger.findings(result))
    yield from _listed("Undecided", ledger.findings(result, Status.UNDECIDED))
    yield from _listed("Not applicable", ledger.inapplicable(result))
    others = ledger.other_evidence(result)
    if others:
        yield Text("")
        kinds = [str(kind) for kind in Evidence]
        yield _table(["claim", "reading", *kinds], [[row[k] for k in ("claim", "reading", *kinds)] for row in others])


def _listed(title: str, lines: Sequence[str]) -> Iterator[Any]:
    if lines:
        yield Text(f"\n{title}:", style="bold")
        for line in lines:
            yield Padding(_hanging(line), (0, 0, 0, 2))


def _hanging(line: str) -> Table:
    """A bullet whose continuation lines are indented."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_row(Text("-"), Text(line))
    return grid


def _verdict_table(result: Mapping[str, Any], columns: range) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    table.add_column("", width=CLAIM, overflow="fold", vertical="bottom")
    table.add_column("", width=READING, overflow="fold")
    for j in columns:
        name = result["runs"][j]["weighting"]
        table.add_column(Text(broken(name, ledger.CELL)), width=ledger.CELL, overflow="fold", vertical="top")
    for name, note, values in ledger.constant_rows(result):
        table.add_row(name, Text(note, style="dim"), *(Text(values[j]) for j in columns))
    table.add_row("")
    previous = None
    for row in ledger.shown_rows(result):
        claim = row["claim"] if row["claim"] != previous else ""
        previous = row["claim"]
        table.add_row(Text(claim), Text(row["reading"]), *(_styled(row["cells"][j]) for j in columns))
    return table


def _styled(verdict: Mapping[str, Any] | None) -> Text:
    style = STYLES[Status(verdict["status"])] if verdict else "dim"
    return Text(ledger.cell(verdict), style=style)


def broken(name: str, width: int) -> str:
    """``name`` on lines of at most ``width``, broken after a hyphen, colon or comma where there is one."""
    lines = []
    while len(name) > width:
        cut = max(name.rfind(mark, 0, width) for mark in "-:,") + 1 or width
        lines.append(name[:cut])
        name = name[cut:]
    return "\n".join([*lines, name])


def _table(head: Sequence[str], body: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for name in head:
        table.add_column(Text(name), overflow="fold")
    for row in body:
        table.add_row(*(Text(str(item)) for item in row))
    return table


def render(pieces: Iterator[Any] | Sequence[Any], width: int, colour: bool) -> str:
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


def plain_table(head: Sequence[str], body: Sequence[Sequence[str]], width: int = 100, colour: bool = False) -> str:
    """A small table as text."""
    return render([_table(head, body)], width, colour)


@contextlib.contextmanager
def progress(enabled: bool = True) -> Iterator[Callable[[str, int, int], None] | None]:
    """A progress bar a weighting on standard error, fed by ``callback(name, done, total)``; None if not enabled."""
    if not enabled:
        yield None
        return
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bars:
        tasks: dict[str, Any] = {}

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
