"""Commands from plain functions: the signature gives the flags, and the docstring the help.

Parameters before the star are arguments of the command line, those after it are options. The annotation gives the
values: a ``Literal`` its choices, ``bool`` a switch, ``tuple[X, ...]`` a value that may be repeated, a type of click
in ``Annotated`` itself. A last paragraph of lines "name: text" in the docstring describes the parameters.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click

from fedbounds.cli import while_running
from fedbounds.errors import InputError, InputErrors

# The groups of commands in ``fedbounds --help``, in their order.
Group = Literal["Judge a theorem", "Study a problem", "The paper", "Files"]
# Parameters that many commands have.
COMMON = {
    "plugins": "A Python file with a claim, weighting, problem, algorithm or family of instances of your own.",
    "format": "How to print.",
    "quiet": "No progress and no remarks on standard error.",
}
SPELLED = {"plugins": "--plugin", "verbose": "--verbose,-v", "Delta_0": "--delta0"}
BAD_INPUT = 2
STDOUT = "fedbounds.stdout"


class Plugin(click.ParamType):
    """A Python file of the user's own, run as the command line is read."""

    name = "FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from fedbounds.plugins import load_file

        with contextlib.redirect_stdout(sys.stderr):
            return load_file(value) if isinstance(value, str) else value


class Place(click.Path):
    """A file or a folder, which has a name: an empty one would mean the current folder."""

    def __init__(self, dir_okay: bool = True) -> None:
        super().__init__(dir_okay=dir_okay, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            from fedbounds.errors import reject

            hint = param.get_error_hint(ctx) if param else "a path"
            raise reject(f"{hint} must be a path", "''", "write . for here")
        return super().convert(value, param, ctx)


class FunctionCommand(click.Command):
    """A command whose function prints with `show`: whatever else prints, a plug-in say, goes to standard error."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Name everything that is missing at once."""
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.MissingParameter:
            given = self.make_parser(ctx).parse_args(args=words)[0]
            needed = [param for param in self.get_params(ctx) if param.required]
            absent = [p for p in needed if p.name not in given or p.value_is_missing(given[p.name])]
            missing = [param.get_error_hint(ctx) for param in absent]
            raise click.UsageError(f"Missing {', '.join(missing)}.") from None

    def invoke(self, ctx: click.Context) -> Any:
        while_running()
        ctx.meta[STDOUT] = sys.stdout
        with contextlib.redirect_stdout(sys.stderr):
            return super().invoke(ctx)


@dataclass(frozen=True)
class Entry:
    """How a function becomes a command: its name, group, flags spelled otherwise, and the settings that it takes."""

    name: str
    group: Group
    spelled: Mapping[str, str]
    settings: Collection[str] | None
    but: Collection[str]
    more: type | str | None
    optional: bool


def command(
    group: Group,
    name: str = "",
    *,
    settings: Collection[str] | None = None,
    but: Collection[str] = (),
    more: type | str | None = None,
    optional: bool = False,
    **spelled: str,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a function as a command; ``spelled`` gives flags that are not the parameter's name.

    ``settings`` names the fields of `Settings` that arrive as keywords of the function, () all ``but`` some. The
    fields of the dataclass ``more``, or of that at "module:name", are further options, which several commands share
    and which arrive as keywords too; where ``optional``, those without a default are None if not given.
    """

    def marked(function: Callable[..., Any]) -> Callable[..., Any]:
        called = name or function.__name__.replace("_", "-")
        entry = Entry(called, group, {**SPELLED, **spelled}, settings, but, more, optional)
        function.entry = entry  # type: ignore[attr-defined]
        return function

    return marked


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


def say_faults(faults: Collection[InputError]) -> int:
    """Each error of a file whose other parts could be read; the exit code."""
    if faults:
        say(str(InputErrors(faults)))
    return BAD_INPUT if faults else 0


def colour() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ
