"""The click command of a marked function: flags from its signature, help from its docstring."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import click

from fedbounds.cli.adapter import COMMON, ENVIRONMENT, Entry, FunctionCommand, Place, Plugin
from fedbounds.cli.options import SettingsCommand, settings_options


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
    result = []
    for item in items:
        about = helps.get(item.name) or COMMON.get(item.name, "")
        kept = item.replace(kind=item.KEYWORD_ONLY) if only_options else item
        result.append(_parameter(kept, hints[item.name], about, spelled))
    return text, result


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
