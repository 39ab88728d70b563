"""The flags of ``fedbounds check``: one for every setting, in sections, as `Settings` describes them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import click

from fedbounds.errors import InputError
from fedbounds.study.settings import (
    DEFAULTS,
    FULL,
    PROBLEM,
    PROTOCOL,
    READING,
    SCHEME,
    Setting,
    Settings,
    checked,
    settings,
)

OUTPUT = "Output"
SECTIONS = (PROBLEM, SCHEME, PROTOCOL, READING, OUTPUT)


@dataclass(frozen=True)
class Flag:
    """The flag of one setting."""

    name: str
    setting: Setting

    @property
    def spelling(self) -> str:
        """As it is typed: --name, or --on/--off."""
        return self.setting.about.flag or f"--{self.name.replace('_', '-')}"

    @property
    def metavar(self) -> str | None:
        """What stands for the value in the help, where it is not the name of its type."""
        choices = self.setting.choices
        return f"[{'|'.join(choices)}]" if choices else self.setting.about.metavar

    @property
    def help(self) -> str:
        """The help with the default, written as one would type it."""
        text, default = self.setting.about.help, DEFAULTS[self.name]
        if self.setting.several:
            return f"{text} Repeatable." + (f" [default: {' '.join(default)}]" if default else "")
        return text if default is None or isinstance(default, bool) else f"{text} [default: {default}]"

    def words(self, value: Any) -> list[list[str]]:
        """The flag with its value, once for each value it repeats; nothing where the value is the default."""
        if value == DEFAULTS[self.name]:
            return []
        if isinstance(value, bool):
            on, _, off = self.spelling.partition("/")
            return [[on if value else off]]
        if self.setting.several:
            return [[self.spelling, item] for item in value]
        if self.name == "batch" and value is None:
            return [[self.spelling, FULL]]
        return [[self.spelling, ",".join(map(str, value)) if isinstance(value, tuple) else str(value)]]


def flags() -> tuple[Flag, ...]:
    """Every flag, in the order of `Settings`."""
    return tuple(Flag(name, setting) for name, setting in settings().items())


def words(chosen: Settings) -> list[list[str]]:
    """The flags that give these settings again, each with its value."""
    return [pair for flag in flags() for pair in flag.words(getattr(chosen, flag.name))]


class SettingType(click.ParamType):
    """What a setting takes, checked as everywhere else."""

    def __init__(self, flag: Flag) -> None:
        self.flag = flag
        self.name = {int: "int", float: "float"}.get(type(flag.setting.read("1")), "text")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value of the setting; of a repeatable flag, one of its texts."""
        try:
            found = checked(self.flag.name, self.flag.setting.read(value) if isinstance(value, str) else value)
        except InputError as wrong:
            raise InputError(f"{self.flag.spelling}: {wrong}") from None
        if self.flag.setting.several:
            return found[0]
        return FULL if found is None else found


class SectionedCommand(click.Command):
    """A command whose help lists its options under the ``section`` of each."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one definition list a section."""
        for title in SECTIONS:
            params = [param for param in self.get_params(ctx) if getattr(param, "section", OUTPUT) == title]
            records = [record for param in params if (record := param.get_help_record(ctx)) is not None]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class SectionedOption(click.Option):
    """An option that knows its section."""

    def __init__(self, *args: Any, section: str = OUTPUT, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


def settings_options(command: Callable[..., Any], only: Collection[str] = tuple(DEFAULTS)) -> Callable[..., Any]:
    """Decorate a click function with the flags of the settings ``only``; values not given arrive as None or ()."""
    for flag in reversed(flags()):
        if flag.name not in only:
            continue
        several, boolean = flag.setting.several, isinstance(DEFAULTS[flag.name], bool)
        command = click.option(
            flag.spelling,
            flag.name,
            cls=SectionedOption,
            section=flag.setting.about.section,
            help=flag.help,
            default=() if several else None,
            multiple=several,
            metavar=flag.metavar,
            type=bool if boolean else SettingType(flag),
        )(command)
    return command


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments of ``check`` for the flags that were given; the rest keep their defaults."""
    return {name: value for name, value in values.items() if value is not None and value != ()}
