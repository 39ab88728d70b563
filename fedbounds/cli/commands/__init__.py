"""The commands, a module for a few of them, found by looking; and what they print with."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

import click

from fedbounds.cli.adapter import BAD_INPUT, CONTRADICTION, STDOUT
from fedbounds.errors import InputError, InputErrors

if TYPE_CHECKING:
    from fedbounds.study.ledger import Line


def show(text: str) -> None:
    """Print a result; whatever else prints is sent to standard error."""
    context = click.get_current_context(silent=True)
    stream = None if context is None else context.meta.get(STDOUT)
    click.echo(text, file=stream, nl=not text.endswith("\n"))


def show_json(value: Any) -> None:
    show(json.dumps(value, indent=1, allow_nan=False))


def show_as(format: str, value: Any, blocks: Iterable[Any]) -> None:
    """Print a result as JSON, or else for the terminal, where its blocks are in colour."""
    from fedbounds.report.terminal import to_text

    if format == "json":
        show_json(value)
    else:
        show(to_text(blocks, colour=colour()))


def say(text: str) -> None:
    """A remark on standard error."""
    click.echo(text, err=True)


def contradiction_code(lines: Iterable[Line]) -> int:
    """0, or CONTRADICTION after saying on standard error which kinds of evidence disagree."""
    from fedbounds.study.ledger import alarms

    result = alarms(lines)
    for alarm in result:
        say(f"ALARM: {alarm}.")
    return CONTRADICTION if result else 0


def say_faults(faults: Collection[InputError]) -> int:
    """Each error of a file whose other parts could be read; the exit code."""
    if faults:
        say(str(InputErrors(faults)))
    return BAD_INPUT if faults else 0


def colour() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ
