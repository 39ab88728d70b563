"""What commands share: a flag for every setting, as `Settings` describes them, ways to print, and the alarm."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fedbounds.errors import InputError, reject
from fedbounds.study.settings import (
    DEFAULTS,
    FULL,
    PROBLEM,
    PROTOCOL,
    READING,
    SCHEME,
    Setting,
    checked,
    section_of,
    settings,
)

if TYPE_CHECKING:
    from fedbounds.study.ledger import Line

OUTPUT = "Output"
SECTIONS = (PROBLEM, SCHEME, PROTOCOL, READING, OUTPUT)
# Further spellings of a flag.
ALSO = {"claims": ("--claim",)}
# The exit code where two kinds of evidence contradict each other.
CONTRADICTION = 3


class Plugin(click.ParamType):
    """A Python file of the user's own, run as the command line is read."""

    name = "FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from fedbounds.plugins import load_file

        return load_file(value) if isinstance(value, str) else value


class Place(click.Path):
    """A file or a folder, which has a name: nothing in its place would mean the folder that one is in."""

    def __init__(self, dir_okay: bool = True) -> None:
        super().__init__(dir_okay=dir_okay, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            raise reject(
                f"{param.get_error_hint(ctx) if param else 'a path'} must be a path", "''", "write . for here"
            )
        return super().convert(value, param, ctx)


PLUGIN = click.option(
    "--plugin", "extra", type=Plugin(), multiple=True, help="A Python file with claims of your own."
)
FRESH = click.option(
    "--fresh", is_flag=True, envvar="FEDBOUNDS_FRESH", help="Run it even where it was run before, and keep nothing."
)
QUIET = click.option("--quiet", is_flag=True, help="No progress and no remarks on standard error.")


def formats(*names: str) -> Callable[..., Any]:
    """The option that says how to print, the first of ``names`` unless given."""
    return click.option(
        "--format", "form", type=click.Choice(names), default=names[0], show_default=True, help="How to print."
    )


def print_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=1, allow_nan=False))


def say(text: str) -> None:
    click.echo(text, err=True)


def colour() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def sounded(lines: Iterable[Line]) -> int:
    """The exit code: 0, or CONTRADICTION after saying on standard error which kinds of evidence disagree."""
    from fedbounds.study.contradictions import alarms

    found = alarms(lines)
    for alarm in found:
        say(f"ALARM: {alarm}.")
    return CONTRADICTION if found else 0


def _metavar(setting: Setting) -> str | None:
    """What stands for the value in the help, where it is not the name of its type."""
    return f"[{'|'.join(setting.choices)}]" if setting.choices else setting.about.metavar


def _help(setting: Setting) -> str:
    """The help with the default, written as one would type it."""
    text, default = setting.about.help, DEFAULTS[setting.name]
    if setting.several:
        return f"{text} Repeatable." + (f" [default: {' '.join(default)}]" if default else "")
    return text if default is None or isinstance(default, bool) else f"{text} [default: {default}]"


class SettingType(click.ParamType):
    """What a setting takes, checked as everywhere else."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.name = {int: "int", float: "float"}.get(type(setting.read("1")), "text")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            found = checked(self.setting.name, self.setting.read(value) if isinstance(value, str) else value)
        except InputError as wrong:
            raise InputError(f"{self.setting.spelling}: {wrong}") from None
        if self.setting.several:
            return found[0]
        return FULL if found is None else found


class SectionedCommand(click.Command):
    """A command whose help lists its options under the ``section`` of each."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title in SECTIONS:
            params = [param for param in self.get_params(ctx) if _section(param) == title]
            records = [record for param in params if (record := param.get_help_record(ctx)) is not None]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def _section(param: click.Parameter) -> str:
    return section_of(str(param.name)) if param.name in DEFAULTS else OUTPUT


def settings_options(command: Callable[..., Any], only: Collection[str] = tuple(DEFAULTS)) -> Callable[..., Any]:
    """Decorate a click function with the flags of the settings ``only``; values not given arrive as None or ()."""
    for setting in reversed(list(settings().values())):
        if setting.name not in only:
            continue
        boolean = isinstance(DEFAULTS[setting.name], bool)
        command = click.option(
            setting.spelling,
            *ALSO.get(setting.name, ()),
            setting.name,
            help=_help(setting),
            default=() if setting.several else None,
            multiple=setting.several,
            metavar=_metavar(setting),
            type=bool if boolean else SettingType(setting),
        )(command)
    return command


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments of ``check`` for the flags that were given; the rest keep their defaults."""
    return {name: value for name, value in values.items() if value is not None and value != ()}
