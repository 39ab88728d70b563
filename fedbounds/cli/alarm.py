"""The alarm on the command line: an exit code of its own, and a sentence on standard error."""

from __future__ import annotations

from collections.abc import Iterable

import click

from fedbounds.study.alarm import alarms
from fedbounds.study.ledger import Line

CONTRADICTION = 3


def sounded(lines: Iterable[Line]) -> int:
    """The exit code: 0, or CONTRADICTION after saying on standard error which kinds of evidence disagree."""
    found = alarms(lines)
    for alarm in found:
        click.echo(f"ALARM: {alarm}.", err=True)
    return CONTRADICTION if found else 0
