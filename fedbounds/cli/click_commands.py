"""The click command of a marked function: flags from its signature, help from its docstring."""

from __future__ import annotations

import inspect
import pkgutil
import sys
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

import click

from fedbounds.cli.adapter import COMMON, Entry, FunctionCommand, Place, Plugin, say
from fedbounds.errors import InputError
from fedbounds.study.settings import DEFAULTS, FULL, NAMES, SECTIONS, Setting, Settings, checked, settings

if TYPE_CHECKING:
    from fedbounds.study.ledger import Line


def click_command(function: Callable[..., Any]) -> click.Command:
    """The click command of a marked function."""
    entry: Entry = function.entry  # type: ignore[attr-defined]
    text, parameters = _parameters(function, entry.spelled)
    if entry.more is not None:
        mine = {*entry.but, *(parameter.name for parameter in parameters)}
        more: Any = pkgutil.resolve_name(entry.more) if isinstance(entry.more, str) else entry.more
        parameters += _parameters(more, entry.spelled, mine, only_options=True, optional=entry.optional)[1]
    kind: type[click.Command] = FunctionCommand
    if entry.settings is not None:
        kind, parameters = SettingsCommand, [*settings_options(entry.settings, entry.but), *parameters]
    short = text.partition("\n\n")[0].replace("\n", " ")
    last = entry.name.rpartition(" ")[2]
    return kind(last, callback=function, params=parameters, help=text, short_help=short)


def _parameters(
    what: Callable[..., Any],
    spelled: Mapping[str, str],
    but: Collection[str] = (),
    only_options: bool = False,
    optional: bool = False,
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
        parameter = item.replace(kind=item.KEYWORD_ONLY) if only_options else item
        if optional and item.default is item.empty:
            parameter = parameter.replace(default=None)
        result.append(_parameter(parameter, hints[item.name], about, spelled))
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


OUTPUT = "Other options"
# Further spellings of a flag, and what stands for its value.
ALSO = {"claims": ("--claim",)}
METAVARS = {"p": "LIST", "batch": f"INT|{FULL}", "plugins": "FILE"}
# The exit code where two kinds of evidence contradict each other.
CONTRADICTION = 3


def contradiction_code(lines: Iterable[Line]) -> int:
    """0, or CONTRADICTION after saying on standard error which kinds of evidence disagree."""
    from fedbounds.study.contradictions import alarms

    result = alarms(lines)
    for alarm in result:
        say(f"ALARM: {alarm}.")
    return CONTRADICTION if result else 0


def _help(setting: Setting, text: str) -> str:
    """The help with the default, written as one would type it."""
    default = DEFAULTS[setting.name]
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
            result = checked(self.setting.name, self.setting.read(value) if isinstance(value, str) else value)
        except InputError as wrong:
            raise InputError(f"{self.setting.spelling}: {wrong}") from None
        if self.setting.several:
            return result[0]
        return FULL if result is None else result


class SettingsCommand(FunctionCommand):
    """A command whose help lists its options under the section of each."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections = {name: title for title, names in SECTIONS.items() for name in names}
        for title in (*SECTIONS, OUTPUT):
            params = [param for param in self.get_params(ctx) if sections.get(str(param.name), OUTPUT) == title]
            records = [record for param in params if (record := param.get_help_record(ctx)) is not None]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def settings_options(only: Collection[str] = (), but: Collection[str] = ()) -> list[click.Parameter]:
    """The options of the settings ``only``, or of all ``but`` some; values not given arrive as None or ()."""
    helps = _described(inspect.getdoc(Settings) or "", NAMES)[1]
    return [
        click.Option(
            [setting.spelling, *ALSO.get(setting.name, ()), setting.name],
            help=_help(setting, helps[setting.name]),
            default=() if setting.several else None,
            multiple=setting.several,
            metavar=f"[{'|'.join(setting.choices)}]" if setting.choices else METAVARS.get(setting.name),
            type=bool if isinstance(DEFAULTS[setting.name], bool) else SettingType(setting),
        )
        for setting in settings().values()
        if (not only or setting.name in only) and setting.name not in but
    ]


def given_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that were given; the rest keep their defaults."""
    return {
        name: value for name, value in values.items() if value is not None and (value or not isinstance(value, tuple))
    }
