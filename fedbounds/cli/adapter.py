"""Commands from plain functions: the signature gives the flags, and the docstring the help.

Help imports neither what commands call nor the settings of a study. Parameters before the star are arguments of the
command line, those after it are options. The annotation gives the values: a ``Literal`` its choices, ``bool`` a
switch, ``tuple[X, ...]`` a value that may be repeated, a type of click in ``Annotated`` itself. A last paragraph of
lines "name: text" in the docstring describes the parameters.
"""

from __future__ import annotations

import contextlib
import inspect
import pkgutil
import sys
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

import click

from fedbounds.cli import while_running
from fedbounds.errors import InputError

if TYPE_CHECKING:
    from fedbounds.study.settings import Setting

# The groups of commands in ``fedbounds --help``, in their order.
Group = Literal["Judge a theorem", "Study a problem", "The paper", "Files"]
# Parameters that many commands have.
COMMON = {
    "plugins": "A Python file with a claim, weighting, problem, algorithm or family of instances of your own.",
    "format": "How to print.",
    "quiet": "No progress and no remarks on standard error.",
}
SPELLED = {"plugins": "--plugin", "verbose": "--verbose,-v", "Delta_0": "--delta0"}
# Further spellings of a setting's flag, and what stands for its value.
ALSO = {"claims": ("--claim",)}
METAVARS = {"p": "LIST", "batch": "INT|full", "plugins": "FILE"}
# Exit codes: what was asked for is wrong; two kinds of evidence contradict each other.
BAD_INPUT, CONTRADICTION = 2, 3
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
    """A command whose function prints with `show`: whatever else prints, a plug-in say, goes to standard error.

    Its help lists the settings of a study under the section of each.
    """

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

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from fedbounds.study.settings import SECTIONS

        sections = {name: title for title, names in SECTIONS.items() for name in names}
        if not any(isinstance(param.type, SettingType) for param in self.params):
            sections = {}
        other = "Other options" if sections else "Options"
        for title in (*dict.fromkeys(sections.values()), other):
            params = [param for param in self.get_params(ctx) if sections.get(str(param.name), other) == title]
            records = [record for param in params if (record := param.get_help_record(ctx)) is not None]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

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


def command(
    group: Group,
    name: str = "",
    *,
    settings: Collection[str] | None = None,
    but: Collection[str] = (),
    more: type | str | None = None,
    **spelled: str,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a function as a command; ``spelled`` gives flags that are not the parameter's name.

    ``settings`` names the fields of `Settings` that arrive as keywords of the function, () all ``but`` some. The
    parameters of ``more``, or of what is at "module:name", are further options, which arrive as keywords too: None
    where they have no default and are not given.
    """

    def marked(function: Callable[..., Any]) -> Callable[..., Any]:
        called = name or function.__name__.replace("_", "-")
        entry = Entry(called, group, {**SPELLED, **spelled}, settings, but, more)
        function.entry = entry  # type: ignore[attr-defined]
        return function

    return marked


def click_command(function: Callable[..., Any]) -> click.Command:
    """The click command of a marked function."""
    entry: Entry = function.entry  # type: ignore[attr-defined]
    text, parameters = _parameters(function, entry.spelled)
    if entry.more is not None:
        mine = {*entry.but, *(parameter.name for parameter in parameters)}
        more: Any = pkgutil.resolve_name(entry.more) if isinstance(entry.more, str) else entry.more
        parameters += _parameters(more, entry.spelled, mine, further=True)[1]
    if entry.settings is not None:
        parameters = [*settings_options(entry.settings, entry.but), *parameters]
    short = text.partition("\n\n")[0].replace("\n", " ")
    last = entry.name.rpartition(" ")[2]
    return FunctionCommand(last, callback=function, params=parameters, help=text, short_help=short)


def _parameters(
    what: Callable[..., Any],
    spelled: Mapping[str, str],
    but: Collection[str] = (),
    further: bool = False,
) -> tuple[str, list[click.Parameter]]:
    """The help of a function, or of a dataclass, and what its parameters ``but`` some are on the command line."""
    every = [item for item in inspect.signature(what).parameters.values() if item.kind is not item.VAR_KEYWORD]
    items = [item for item in every if item.name not in but]
    # The others may be of types that are imported for the checker of types alone.
    annotated = SimpleNamespace(__annotations__={item.name: item.annotation for item in items})
    hints = typing.get_type_hints(annotated, vars(sys.modules[what.__module__]), include_extras=True)
    text, helps = _described(inspect.getdoc(what) or "", {item.name for item in every})
    result = []
    for item in items:
        about = helps.get(item.name) or COMMON.get(item.name, "")
        default = None if further and item.default is item.empty else item.default
        option = item.replace(kind=item.KEYWORD_ONLY, default=default) if further else item
        result.append(_parameter(option, hints[item.name], about, spelled))
    return text, result


def _described(doc: str, names: Collection[str]) -> tuple[str, dict[str, str]]:
    """The text of a docstring, and name -> help from the lines of its last paragraph before any example."""
    *paragraphs, last = doc.partition("\n\n>>>")[0].split("\n\n")
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
    default = None if required or (item.default == () and not several) else item.default
    if item.kind is not item.KEYWORD_ONLY:
        # A default of None would stand for an argument that is required.
        also = {} if required else {"default": default}
        return click.Argument([item.name], type=kind, nargs=-1 if several else 1, required=required, **also)
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
        help=text,
    )


def _type_of(hint: Any) -> tuple[Any, bool]:
    """The type of click for an annotation, and whether the value may be repeated."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        parts = [part for part in typing.get_args(hint) if part is not type(None)]
        hint = str if str in parts else parts[0]
    if typing.get_origin(hint) is typing.Annotated:
        return next(extra for extra in hint.__metadata__ if isinstance(extra, click.ParamType)), False
    if typing.get_origin(hint) is tuple:
        return _type_of(typing.get_args(hint)[0])[0], True
    if typing.get_origin(hint) is Literal:
        return click.Choice(typing.get_args(hint)), False
    if typing.get_origin(hint) is Iterable:  # plug-ins, as files or modules
        return Plugin(), True
    return {Path: Place(), ModuleType: Plugin()}.get(hint, hint), False


class SettingType(click.ParamType):
    """What a setting takes, checked as everywhere else."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.name = {int: "int", float: "float"}.get(setting.scalar, "text")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from fedbounds.study.settings import FULL, checked

        try:
            result = checked(self.setting.name, self.setting.read(value) if isinstance(value, str) else value)
        except InputError as wrong:
            raise InputError(f"{self.setting.spelling}: {wrong}") from None
        if self.setting.several:
            return result[0]
        return FULL if result is None else result


def settings_options(only: Collection[str] = (), but: Collection[str] = ()) -> list[click.Parameter]:
    """The options of the settings ``only``, or of all ``but`` some; values not given arrive as None or ()."""
    from fedbounds.study.settings import NAMES, Settings, settings

    helps = _described(inspect.getdoc(Settings) or "", NAMES)[1]
    return [
        _setting_option(setting, helps[setting.name])
        for setting in settings().values()
        if (not only or setting.name in only) and setting.name not in but
    ]


def _setting_option(setting: Setting, text: str) -> click.Option:
    """The option of a setting; its help ends with the default, written as one would type it."""
    from fedbounds.study.settings import DEFAULTS

    default = DEFAULTS[setting.name]
    typed = " ".join(default) if setting.several else "" if default is None or isinstance(default, bool) else default
    return click.Option(
        [setting.spelling, *ALSO.get(setting.name, ()), setting.name],
        help=f"{text}{' Repeatable.' * setting.several}{f' [default: {typed}]' if typed != '' else ''}",
        default=() if setting.several else None,
        multiple=setting.several,
        metavar=f"[{'|'.join(setting.choices)}]" if setting.choices else METAVARS.get(setting.name),
        type=bool if isinstance(default, bool) else SettingType(setting),
    )


def given_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that were given; the rest keep their defaults."""
    return {
        name: value for name, value in values.items() if value is not None and (value or not isinstance(value, tuple))
    }
