"""Commands from plain functions: the signature gives the flags, and the docstring the help.

Parameters before the star are arguments of the command line, those after it are options. The annotation gives the
values: a ``Literal`` its choices, ``bool`` a switch, ``tuple[X, ...]`` a value that may be repeated, a type of click
in ``Annotated`` itself. A last paragraph of lines "name: text" in the docstring describes the parameters.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import sys
import types
import typing
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import click

# The groups of commands in ``fedbounds --help``, in their order.
Group = Literal["Judge a theorem", "Study a problem", "The paper", "Files"]
# Parameters that many commands have.
COMMON = {
    "plugins": "A Python file with claims of your own.",
    "format": "How to print.",
    "fresh": "Run it even where it was run before, and keep nothing.",
    "quiet": "No progress and no remarks on standard error.",
    "verbose": "Also the grounds of every verdict, with what a HOLDS covers.",
}
SPELLED = {"plugins": "--plugin", "verbose": "--verbose,-v", "Delta_0": "--delta0"}
ENVIRONMENT = {"fresh": "FEDBOUNDS_FRESH"}
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

    def invoke(self, ctx: click.Context) -> Any:
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
    more: type | None


def command(
    group: Group,
    name: str = "",
    *,
    settings: Collection[str] | None = None,
    but: Collection[str] = (),
    more: type | None = None,
    **spelled: str,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a function as a command; ``spelled`` gives flags that are not the parameter's name.

    ``settings`` names the fields of `Settings` that arrive as keywords of the function, () all ``but`` some. The
    fields of the dataclass ``more`` are further options, which several commands share, and arrive as keywords too.
    """

    def marked(function: Callable[..., Any]) -> Callable[..., Any]:
        entry = Entry(name or function.__name__.replace("_", "-"), group, {**SPELLED, **spelled}, settings, but, more)
        function.entry = entry  # type: ignore[attr-defined]
        return function

    return marked


def built(function: Callable[..., Any]) -> click.Command:
    """The click command of a marked function."""
    entry: Entry = function.entry  # type: ignore[attr-defined]
    text, parameters = _parameters(function, entry.spelled)
    if entry.more is not None:
        mine = {parameter.name for parameter in parameters}
        shared = _parameters(entry.more, entry.spelled, only_options=True)[1]
        parameters += [parameter for parameter in shared if parameter.name not in mine]
    kind: type[click.Command] = FunctionCommand
    if entry.settings is not None:
        from fedbounds.cli.options import SettingsCommand, settings_options

        kind, parameters = SettingsCommand, [*settings_options(entry.settings, entry.but), *parameters]
    short = text.partition("\n\n")[0].replace("\n", " ")
    last = entry.name.rpartition(" ")[2]
    return kind(last, callback=function, params=parameters, help=text, short_help=short)


def _parameters(
    what: Callable[..., Any], spelled: Mapping[str, str], only_options: bool = False
) -> tuple[str, list[click.Parameter]]:
    """The help of a function, or of a dataclass, and what its parameters are on the command line."""
    hints = typing.get_type_hints(what, include_extras=True)
    items = [item for item in inspect.signature(what).parameters.values() if item.kind is not item.VAR_KEYWORD]
    text, helps = _described(inspect.getdoc(what) or "", {item.name for item in items})
    found = []
    for item in items:
        about = helps.get(item.name) or COMMON.get(item.name, "")
        kept = item.replace(kind=item.KEYWORD_ONLY) if only_options else item
        found.append(_parameter(kept, hints[item.name], about, spelled))
    return text, found


def _described(doc: str, names: Collection[str]) -> tuple[str, dict[str, str]]:
    """The text of a docstring, and name -> help from the lines of its last paragraph."""
    *paragraphs, last = doc.split("\n\n")
    helps: dict[str, str] = {}
    for line in last.splitlines():
        name, colon, words = line.partition(": ")
        if colon and name in names:
            helps[name] = words
        elif helps:
            helps[next(reversed(helps))] += f" {line.strip()}"
    return "\n\n".join(paragraphs if helps else [*paragraphs, last]), helps


def _parameter(item: inspect.Parameter, hint: Any, text: str, spelled: Mapping[str, str]) -> click.Parameter:
    """The argument or option of one parameter of a function."""
    kind, several = _type_of(hint)
    required = item.default is item.empty
    default = None if required else item.default
    if item.kind is not item.KEYWORD_ONLY:
        return click.Argument([item.name], type=kind, nargs=-1 if several else 1, required=required, default=default)
    flags = spelled.get(item.name, f"--{item.name.replace('_', '-')}").split(",")
    switch = kind is bool
    shown = not (several or required or default is None or default is False or default == "")
    return click.Option(
        [*flags, item.name],
        type=None if switch else kind,
        is_flag=switch,
        multiple=several,
        required=required,
        default=default,
        show_default=shown,
        envvar=ENVIRONMENT.get(item.name),
        help=text,
    )


def _type_of(hint: Any) -> tuple[Any, bool]:
    """The type of click for an annotation, and whether the value may be repeated."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        (hint,) = (part for part in typing.get_args(hint) if part is not type(None))
    if typing.get_origin(hint) is typing.Annotated:
        return next(extra for extra in hint.__metadata__ if isinstance(extra, click.ParamType)), False
    if typing.get_origin(hint) is tuple:
        return _type_of(typing.get_args(hint)[0])[0], True
    if typing.get_origin(hint) is Literal:
        return click.Choice(typing.get_args(hint)), False
    return {Path: Place(), ModuleType: Plugin()}.get(hint, hint), False


def show(text: str) -> None:
    """Print a result; whatever else prints is sent to standard error."""
    context = click.get_current_context(silent=True)
    stream = None if context is None else context.meta.get(STDOUT)
    click.echo(text, file=stream, nl=not text.endswith("\n"))


def show_json(value: Any) -> None:
    show(json.dumps(value, indent=1, allow_nan=False))


def say(text: str) -> None:
    """A remark on standard error."""
    click.echo(text, err=True)


def colour() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ
