"""A flag for every setting of a study, as `Settings` describes them, and the exit code of a contradiction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from fedbounds.cli.adapter import FunctionCommand, say
from fedbounds.errors import InputError
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


def contradiction_code(lines: Iterable[Line]) -> int:
    """0, or CONTRADICTION after saying on standard error which kinds of evidence disagree."""
    from fedbounds.study.contradictions import alarms

    result = alarms(lines)
    for alarm in result:
        say(f"ALARM: {alarm}.")
    return CONTRADICTION if result else 0


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
            result = checked(self.setting.name, self.setting.read(value) if isinstance(value, str) else value)
        except InputError as wrong:
            raise InputError(f"{self.setting.spelling}: {wrong}") from None
        if self.setting.several:
            return result[0]
        return FULL if result is None else result


class SettingsCommand(FunctionCommand):
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


def settings_options(only: Collection[str] = (), but: Collection[str] = ()) -> list[click.Parameter]:
    """The options of the settings ``only``, or of all ``but`` some; values not given arrive as None or ()."""
    return [
        click.Option(
            [setting.spelling, *ALSO.get(setting.name, ()), setting.name],
            help=_help(setting),
            default=() if setting.several else None,
            multiple=setting.several,
            metavar=f"[{'|'.join(setting.choices)}]" if setting.choices else setting.about.metavar,
            type=bool if isinstance(DEFAULTS[setting.name], bool) else SettingType(setting),
        )
        for setting in settings().values()
        if (not only or setting.name in only) and setting.name not in but
    ]


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that were given; the rest keep their defaults."""
    return {name: value for name, value in values.items() if value is not None and value != ()}
